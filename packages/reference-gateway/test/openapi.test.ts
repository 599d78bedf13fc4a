import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import fc from 'fast-check'
import type { FastifyInstance } from 'fastify'
import { describe, expect, it } from 'vitest'
import { DOCUMENTED_CALLS } from '../../../test/gateway/documented-calls.ts'
import { biometric, careTeam, condition, startGateway } from './gateway-under-test.ts'
import { CALLS } from './hostile-calls.ts'
import { publishedDocument, readDocument } from './openapi-document.ts'

const placeOf = ({ method, path }: { method: string; path: string }): string =>
  `${method} ${path.startsWith('/') ? path : `/${path}`}`
const documented = new Map(DOCUMENTED_CALLS.map((call) => [placeOf(call), call]))

describe('the document', () => {
  it('is valid OpenAPI 3.1, served without credentials, and names the version it is given', async () => {
    const { status, headers, document, faults } = await readDocument('7.8.9')
    expect([status, headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8'])
    expect([document.openapi, document.info.version]).toEqual(['3.1.0', '7.8.9'])
    expect(await faults()).toEqual([])
  })

  it('has every endpoint of the interface and no other, each with its credentials, headers and media type', async () => {
    const { operations } = await publishedDocument()
    expect(operations.map(placeOf).sort()).toEqual([...documented.keys()].sort())
    const [key, both] = [{ apiKey: [] }, { apiKey: [], bearer: [] }]
    for (const { security, parameters, requestBody, ...operation } of operations) {
      const call = documented.get(placeOf(operation))
      const whole = call?.bearer ? [both] : call?.key ? [key] : []
      const expected = operation.operationId === 'createConditionsBulk' ? [key, both] : whole
      expect([operation.operationId, security]).toEqual([operation.operationId, expected])
      expect(Object.keys(requestBody?.content ?? {})[0] ?? '').toBe(call?.contentType)
      const headers = parameters.filter((parameter) => parameter.in === 'header')
      const version = headers.find(({ name }) => name === 'X-API-Version')?.schema['const'] ?? ''
      expect(version).toBe(call?.version)
      expect(headers.some(({ name }) => name === 'Accept-Language')).toBe(call?.language !== '')
    }
  })

  it('has the sections of the interface as tags, in their order', async () => {
    const { document, operations } = await publishedDocument()
    expect(document.tags.map(({ name }) => name).join('; ')).toBe(
      'Accounts; Biometrics; Conditions; Care teams; Age assessment; Content; Medical-records requester',
    )
    expect(new Set(operations.flatMap(({ tags }) => tags)).size).toBe(7)
  })

  it('marks the forms with an account id in the path as deprecated, and nothing else', async () => {
    const { operations } = await publishedDocument()
    expect(operations.filter(({ deprecated }) => deprecated).map(({ path }) => path)).toEqual([
      '/bioage/result/{accountId}',
      '/bioage/assessments/{assessmentId}/recommendations/{accountId}',
    ])
  })

  it('has a parameter for every place in a path, and the query of every user-centric call', async () => {
    const { operations, operation } = await publishedDocument()
    for (const { path, parameters } of operations) {
      const inPath = parameters.filter((parameter) => parameter.in === 'path')
      expect(inPath.map(({ name }) => `{${name}}`)).toEqual(path.match(/\{\w+\}/g) ?? [])
      expect(inPath.every(({ required }) => required)).toBe(true)
    }
    const query = (name: string) =>
      operation(name)
        .parameters.filter((parameter) => parameter.in === 'query')
        .map(({ name, required }) => [name, required])
    expect(query('readConditions')).toEqual([
      ['accountReference', true],
      ['accountReferenceType', true],
    ])
    expect(query('readBiometrics')).toEqual([
      ['accountReference', false],
      ['accountReferenceType', false],
      ['entity', false],
    ])
    expect(query('deleteCareTeams').slice(2)).toEqual([
      ['id', false],
      ['npi', false],
    ])
    expect(query('listArticles').map(([name]) => name)).toEqual(['type', 'tag', 'page', 'limit'])
  })

  it('gives the documented status of success, and a refusal for every call', async () => {
    const { operations, operation, document } = await publishedDocument()
    for (const { operationId, responses } of operations) {
      expect(Object.keys(responses)).toContain('4XX')
      const created = operationId.startsWith('createBiometrics')
      const deleted = operationId === 'deleteAccount' || operationId === 'deleteCareTeams'
      expect(Object.keys(responses)[0]).toBe(created ? '201' : deleted ? '204' : '200')
    }
    expect(Object.keys(operation('deleteCareTeams').responses)).toContain('404')
    expect(document.components.responses['Refused']?.content).toMatchObject({
      'application/json': { schema: { $ref: '#/components/schemas/ErrorEnvelope' } },
    })
  })

  it('refers to the schemas by the names of the contract', async () => {
    const { operation, document } = await publishedDocument()
    expect(operation('createBiometrics').requestBody?.content).toMatchObject({
      'application/json;charset=UTF-8': {
        schema: { type: 'array', items: { $ref: '#/components/schemas/BiometricSent' } },
      },
    })
    expect(document.components.schemas['BiometricSent']).toMatchObject({
      properties: {
        account: { $ref: '#/components/schemas/AccountReference' },
        source: { $ref: '#/components/schemas/Source' },
      },
    })
  })
})

it('describes the routes that the gateway serves, and the gateway serves what it describes', async () => {
  const served = new Map<string, string>()
  const others: string[] = []
  const watch = (message: unknown) => {
    const { fastify } = message as { fastify: FastifyInstance }
    fastify.addHook('onRoute', ({ method, url, config }) => {
      if (method === 'HEAD') return
      if (config?.endpoint === undefined) others.push(url)
      else served.set(config.endpoint, `${method} ${url}`)
    })
  }
  subscribe('fastify.initialization', watch)
  const { operations } = await readDocument('1.2.3')
  unsubscribe('fastify.initialization', watch)

  expect([...served.keys()].sort()).toEqual(operations.map(({ operationId }) => operationId).sort())
  for (const { operationId, method, path } of operations) {
    if (operationId === 'uploadAuthorization') continue
    expect(served.get(operationId)).toBe(`${method} ${path.replace(/\{(\w+)\}/g, ':$1')}`)
  }
  expect(others.filter((url) => !url.startsWith('/_reference/'))).toEqual(['/openapi.json'])
})

describe('what is sent', () => {
  it.each(CALLS)('$call: the published schema takes a body as it is sent, and no empty one', async (sent) => {
    const { operations, schemaOf } = await publishedDocument()
    const found = operations.find((operation) => placeOf(operation) === placeOf(sent))
    const schema = schemaOf(found?.requestBody?.content)
    expect(schema?.safeParse(sent.body).error).toBeUndefined()
    expect(schema?.safeParse([]).success).toBe(false)
    expect(schema?.safeParse('text').success).toBe(false)
    expect(schema?.safeParse(Array.isArray(sent.body) ? [{}] : {}).success).toBe(false)
  })

  it.each([
    ['createBiometrics', biometric()],
    ['createConditions', condition()],
    ['createCareTeams', careTeam()],
  ])(
    '%s: the published schema refuses a field of any form, or without it, exactly where the gateway does',
    async (name, sample) => {
      const { operation, schemaOf } = await publishedDocument()
      const { requestBody, path } = operation(name)
      const schema = schemaOf(requestBody?.content)
      const { call } = await startGateway({ open: true })
      await fc.assert(
        fc.asyncProperty(
          fc.constantFrom(...Object.keys(sample)),
          fc.option(fc.jsonValue(), { nil: undefined }),
          async (field, value) => {
            const body = JSON.stringify([{ ...sample, [field]: value }])
            const { status } = await call('POST', path, body)
            expect(schema?.safeParse(JSON.parse(body)).success).toBe(status !== 400)
          },
        ),
        { numRuns: 200 },
      )
    },
  )
})
