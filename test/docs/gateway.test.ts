import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { SUITE } from '../../packages/conformance/src/suite.ts'
import { ENDPOINTS } from '../../src/gateway/contract/endpoints.ts'
import { createGateway } from '../../src/gateway/gateway.ts'
import { PROJECT, page, sections, tableRows } from './pages.ts'

const documented = sections(page('docs/gateway.md'), 2)
const endpoints = tableRows(documented.get('Endpoints') ?? '')
const questions = tableRows(documented.get('Where the document leaves a question open') ?? '')

/** Endpoints that the interface document writes in another way. */
const ROWS_OF_THE_DOCUMENT = new Map([
  ['GET /health-profile/care-teams', 'GET not shown'],
  ['PUT /authorizationUploadUrl', 'PUT authorizationUploadUrl (value returned by the create/update call)'],
])

const conformance = new Set(SUITE.map(({ section, row }) => `${section} / ${row}`))
const sources = (file: string): string =>
  globSync(`{test/gateway,packages/reference-gateway/test}/${file}.test.ts`, { cwd: PROJECT })
    .map((path) => readFileSync(join(PROJECT, path), 'utf8'))
    .join('')

/** Whether a test of this name is there: a case of the conformance suite, or a title in a test file. */
function isTest(name: string): boolean {
  const [file = '', ...title] = name.split(' › ')
  const rest = title.join(' › ')
  if (rest === '') return false
  if (file === 'conformance') return conformance.has(rest)
  return ["'", '`'].some((quote) => sources(file).includes(`${quote}${rest}${quote}`))
}

describe('docs/gateway.md', () => {
  it('has every endpoint, and no other', () => {
    const named = endpoints.map(([endpoint = '']) => endpoint.replaceAll('`', '')).sort()
    expect(named).toEqual(
      Object.values(ENDPOINTS)
        .map(({ method, path }) => `${method} ${path}`)
        .sort(),
    )
  })

  it('has every call of the client, and no other', () => {
    const gateway = createGateway({
      baseUrl: 'http://127.0.0.1:1',
      apiKey: 'key',
      accessToken: async () => 'token',
      now: () => 0,
      nextRequestId: () => '',
    })
    const calls = Object.entries(gateway).flatMap(([resource, methods]) =>
      typeof methods === 'function' ? [] : Object.keys(methods).map((method) => `${resource}.${method}`),
    )
    gateway.close()
    const named = endpoints.flatMap(([, client = '']) =>
      [...client.matchAll(/`([^`]+)`/g)].map(([, name]) => name),
    )
    expect(named.sort()).toEqual(calls.sort())
  })

  it('has every open point', () => {
    expect(questions.map(([number]) => Number(number))).toEqual(Array.from({ length: 57 }, (_, at) => at + 1))
  })

  it.each(Object.values(ENDPOINTS).map(({ method, path }) => `${method} ${path}`))(
    'is right that the suite has a case for %s',
    (endpoint) => {
      const row = ROWS_OF_THE_DOCUMENT.get(endpoint) ?? endpoint
      expect(SUITE.map((one) => one.row)).toContain(row)
    },
  )

  it.each(questions.map(([number, question, , , test = '']) => [number, question, test]))(
    'names a test that is there: %s %s',
    (_, __, test) => {
      expect(test).toSatisfy(isTest)
    },
  )

  it('is not satisfied by any name', () => {
    expect(isTest('accounts › does what nobody wrote')).toBe(false)
    expect(isTest('conformance › Endpoints: Accounts / GET /account')).toBe(false)
    expect(existsSync(join(PROJECT, 'docs/faults.md'))).toBe(true)
  })
})
