import { expect, it } from 'vitest'
import {
  account,
  biometric,
  careTeam,
  condition,
  of,
  registration,
  startGateway,
} from './gateway-under-test.ts'
import { publishedDocument } from './openapi-document.ts'
import { filter, PDF, roi } from './requester-under-test.ts'
import { SHOWN_PAGES, submission } from './test-taker.ts'

/** A gateway, and its calls by the names that its document gives them; each answer is checked against the document. */
async function describedCalls() {
  const published = await publishedDocument()
  const { url, call } = await startGateway({
    tokenOwners: { token: { reference: 'p-1', type: 'partnerAccountId' } },
  })
  const checked = new Set<string>()

  const ask = async (name: string, { fill = {}, query = '', body }: Asked = {}) => {
    const { method, path, responses, parameters } = published.operation(name)
    const filled = path.replace(/\{(\w+)\}/g, (_, parameter: string) => fill[parameter] ?? '')
    const version = parameters.find((parameter) => parameter.name === 'X-API-Version')?.schema['const']
    const answer = await call(method, `${filled}?${query}`, body, {
      'x-api-key': 'key',
      authorization: 'Bearer token',
      ...(typeof version === 'string' ? { 'x-api-version': version } : {}),
    })
    const content = responses[answer.status]?.content
    expect([name, Object.keys(responses)]).toEqual([name, expect.arrayContaining([String(answer.status)])])
    // "The original query plus results": what is beside the results is not described.
    const schema =
      name === 'searchMedicalRecords' ? published.schemaOf(content) : published.strictSchemaOf(content)
    if (answer.status === 204) expect([schema, answer.text]).toEqual([undefined, ''])
    else
      expect([name, schema?.safeParse(answer.body)]).toEqual([
        name,
        expect.objectContaining({ success: true }),
      ])
    checked.add(name)
    return answer
  }
  return { ...published, url, call, ask, checked }
}

interface Asked {
  readonly fill?: Record<string, string>
  readonly query?: string
  readonly body?: unknown
}

it('the answer of every call passes the published schema, and has no field that is not described', async () => {
  const { ask, checked, operations, operation } = await describedCalls()
  const query = of('p-1')

  const { accountId } = (await ask('registerAccount', { body: registration() })).body
  for (const name of ['createBiometrics', 'createBiometricsBulk']) await ask(name, { body: [biometric()] })
  for (const name of ['createConditions', 'createConditionsBulk']) await ask(name, { body: [condition()] })
  const created = await ask('createCareTeams', { body: [careTeam()] })
  const entry = { account: account('p-1'), id: created.body.data[0]?.id }
  for (const name of ['setPrimaryCare', 'unsetPrimaryCare']) await ask(name, { body: entry })
  for (const name of ['readBiometrics', 'readConditions', 'listCareTeams']) await ask(name, { query })
  await ask('deleteCareTeams', { query: `${query}&npi=1234567893` })

  await ask('readAssessmentPage')
  for (const page of SHOWN_PAGES) await ask('submitAnswers', { body: submission(page) })
  await ask('readAgeResult', { query })
  await ask('readAgeResultByAccountId', { fill: { accountId } })
  const [completed] = JSON.parse((await ask('listCompletedQuestions', { query })).text)
  const { assessmentId } = completed
  await ask('listRecommendations', { fill: { assessmentId }, query })
  await ask('listRecommendationsByAccountId', { fill: { assessmentId, accountId } })

  await ask('listArticles')
  await ask('readArticle', { fill: { contentId: '1001' } })

  await ask('listRequestTypes')
  const requests = ['ref-1', 'ref-2'].map((referenceNumber) =>
    roi({ referenceNumber, provider: { type: 'clinic' } }),
  )
  const upserted = JSON.parse((await ask('upsertMedicalRecords', { body: requests })).text)
  await ask('searchMedicalRecords', {
    body: { page: 1, limit: 10, filter: [filter({ lastName: 'Person' })] },
  })
  await ask('deleteMedicalRecords', { fill: { referenceNumber: 'ref-2' } })
  await ask('deleteAccount', { query })

  const { requestBody, responses, security } = operation('uploadAuthorization')
  const uploaded = await fetch(upserted.data[0].authorizationUploadUrl, {
    method: 'PUT',
    headers: { 'content-type': Object.keys(requestBody?.content ?? {})[0] ?? '' },
    body: PDF,
  })
  expect([security, Object.keys(responses)[0]]).toEqual([[], String(uploaded.status)])

  const others = operations
    .map(({ operationId }) => operationId)
    .filter((name) => name !== 'uploadAuthorization')
  expect([...checked].sort()).toEqual(others.sort())
})

it.each([
  ['POST', '/health-profile/biometrics', 400],
  ['POST', '/assessments/bioage', 404],
  ['PATCH', '/medical-records/requester', 400],
  ['GET', '/bioage/result', 400],
  ['GET', '/nothing', 404],
])('the refusal of %s %s passes the published schema', async (method, path, status) => {
  const { call, document, schemaOf } = await describedCalls()
  const version = path.startsWith('/medical') ? '1.0.0' : '1.0'
  const headers = { 'x-api-key': 'key', authorization: 'Bearer token', 'x-api-version': version }
  const refused = await call(method, path, method === 'GET' ? undefined : [{}], headers)
  const schema = schemaOf(document.components.responses['Refused']?.content)
  expect([refused.status, schema?.safeParse(refused.body).error]).toEqual([status, undefined])
})
