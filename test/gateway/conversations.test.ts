import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { ContentListItem } from '../../src/gateway/contract/content.ts'
import { ENDPOINTS } from '../../src/gateway/contract/endpoints.ts'
import { documented } from '../../src/gateway/contract/shared-objects.ts'
import type { GatewayOptions } from '../../src/gateway/gateway.ts'
import type { ReferenceGatewayOptions } from '../../src/reference-gateway/server.ts'
import { NOW, startGateway } from '../reference-gateway/gateway-under-test.ts'
import { client, failureOf } from './loopback.ts'
import { BIOMETRIC, RECORDS_REQUEST, REGISTRATION } from './sample-records.ts'

const P1 = { reference: 'p-1', type: 'partnerAccountId' } as const
const P2 = { reference: 'p-2', type: 'partnerAccountId' } as const
const NPI = '1234567893'
const MARCH = Date.UTC(2024, 2, 1, 14, 5)
const WEIGHT = { ...BIOMETRIC, account: P1 }
const DIABETES = {
  transactionId: 'c-1',
  account: P1,
  name: 'Type 2 diabetes',
  observationDate: MARCH,
  source: { type: 'screening' },
  codes: [{ code: 'E11', codeSystem: '2.16.840.1.113883.6.90' }],
}
const PRACTICE = {
  account: P1,
  name: 'Test Practice',
  npi: NPI,
  observationDate: String(MARCH),
  source: { type: 'screening' },
}

/** The calls that were answered, in the words of their events. */
const held = new Set<string>()

/** A client in conversation with a reference gateway that knows p-1, for whom the token stands. */
async function converse(options: Partial<ReferenceGatewayOptions> = {}, own: Partial<GatewayOptions> = {}) {
  const reference = await startGateway({
    apiKeys: ['the-key'],
    tokens: [],
    tokenOwners: { 'the-token': P1 },
    ...options,
  })
  const onRequest: GatewayOptions['onRequest'] = (event) => {
    if (event.class === 'accepted') held.add(event.operation)
  }
  const gateway = client(reference.url, { onRequest, ...own })
  const { accountId = '' } = await gateway.accounts.register(REGISTRATION)
  return { ...gateway, accountId, url: reference.url }
}

it('accounts: registered, known, deleted with what they hold', async () => {
  const { accounts, biometrics, accountId } = await converse()
  expect(accountId).not.toBe('')
  expect(await accounts.register(REGISTRATION)).toEqual({ accountId, known: false })
  await biometrics.create([WEIGHT])
  await accounts.delete(P1)
  expect(await failureOf(biometrics.read(P1))).toMatchObject({ class: 'refused', status: 404 })
  await accounts.register(REGISTRATION)
  expect(await biometrics.read(P1)).toEqual([])
})

it('accounts: known, where the gateway says so', async () => {
  const { accounts } = await converse({ registeredAgain: 'conflict' })
  expect(await accounts.register(REGISTRATION)).toMatchObject({ known: true })
})

it('biometrics: of one user and of several, read by each name of the account', async () => {
  const { accounts, biometrics, accountId } = await converse()
  await accounts.register({ ...REGISTRATION, partnerAccountId: 'p-2' })
  expect(await biometrics.create([WEIGHT])).toMatchObject({
    status: 201,
    class: 'accepted',
    echoes: [{ transactionId: 't-1', observationDate: WEIGHT.observationDate, value: 81.5, unit: 'kg' }],
  })
  const later = { ...WEIGHT, transactionId: 't-2', value: 80, observationDate: '2024-04-01T00:00:00.000Z' }
  const bulk = [later, { ...WEIGHT, transactionId: 't-3', account: P2 }]
  const { echoes } = await biometrics.createBulk(JSON.stringify(bulk), 2)
  expect(echoes.map((echo) => echo.transactionId).sort()).toEqual(['t-2', 't-3'])
  const latest = [{ value: 80, observationDate: String(Date.UTC(2024, 3, 1)), created: String(NOW) }]
  expect(await biometrics.read(P1)).toMatchObject(latest)
  expect(await biometrics.read({ reference: accountId, type: 'accountId' })).toMatchObject(latest)
  expect(await biometrics.read({ entity: `https://gateway.example/accounts/${accountId}` })).toMatchObject(
    latest,
  )
  expect(await biometrics.read(P2)).toMatchObject([{ value: 81.5 }])
})

it.each([[true], [false]])(
  'conditions: of one user and of several, bearer token on the bulk call: %s',
  async (bearerOnConditionsBulk) => {
    const { conditions } = await converse({}, { bearerOnConditionsBulk })
    expect(await conditions.create([DIABETES])).toMatchObject({
      class: 'accepted',
      echoes: [{ id: expect.any(String) }],
    })
    const later = { ...DIABETES, transactionId: 'c-2', observationDate: MARCH + 1 }
    expect((await conditions.createBulk(JSON.stringify([later]), 1)).class).toBe('accepted')
    expect(await conditions.read(P1)).toMatchObject([
      { name: 'Type 2 diabetes', codes: [{ code: 'E11' }], createDate: String(NOW) },
    ])
  },
)

it('care teams: created, listed, marked, unmarked, deleted', async () => {
  const { careTeams } = await converse()
  const pcps = async () => (await careTeams.list(P1)).filter(({ pcp }) => pcp).map(({ npi }) => npi)
  expect((await careTeams.create([PRACTICE])).class).toBe('accepted')
  const other = { ...PRACTICE, npi: '1987654328' }
  expect((await careTeams.createBulk(JSON.stringify([other]), 1)).class).toBe('accepted')
  await careTeams.setPrimary({ account: P1, npi: NPI })
  expect(await pcps()).toEqual([NPI])
  const [, second] = await careTeams.list(P1)
  await careTeams.setPrimary({ account: P1, id: second?.id })
  expect(await pcps()).toEqual(['1987654328'])
  await careTeams.unsetPrimary({ account: P1, npi: '1987654328' })
  expect(await pcps()).toEqual([])
  expect(await careTeams.delete(P1, { npi: [NPI, '1987654328'] })).toBe(true)
  expect(await careTeams.delete(P1, { npi: [NPI, '1987654328'] })).toBe(false)
  expect(await careTeams.list(P1)).toEqual([])
})

it('age assessment: no result, the test to its end, and all that follows from it', async () => {
  const { ageAssessment, assessment, accountId } = await converse()
  expect(await ageAssessment.result(P1)).toBeUndefined()
  expect(await ageAssessment.resultByAccountId(accountId)).toBeUndefined()
  expect(await ageAssessment.completedQuestions(P1)).toEqual([])

  // The first answer of every fact of the required questions, as any program could fill in the pages it is shown.
  const answered: string[] = []
  let page = await assessment.currentPage()
  while (page !== undefined) {
    const questions = page.questions.filter(({ required }) => required === true)
    const choices = questions.map(({ id, answers }) => {
      const facts = new Map(answers.toReversed().map(({ factId, answerId }) => [factId, answerId]))
      return [id, [...facts].map(([factId, answerId]) => ({ [factId]: answerId }))] as const
    })
    answered.push(...questions.map(({ id }) => id))
    expect(await assessment.currentPage()).toEqual(page)
    page = await assessment.submit({
      moduleId: page.moduleId,
      questionGroupId: page.questionGroupId,
      answers: Object.fromEntries(choices),
    })
  }
  expect(answered.length).toBeGreaterThan(2)
  expect(await assessment.currentPage()).toBeUndefined()

  const result = await ageAssessment.result(P1)
  expect(result).toMatchObject({ status: 'COMPLETE', completed: new Date(NOW).toISOString() })
  // From 1970-01-31 to 2024-07-01.
  expect(result?.calendarAge).toEqual({ year: 54, month: 5 })
  expect(await ageAssessment.resultByAccountId(accountId)).toEqual(result)
  const [completed] = await ageAssessment.completedQuestions(P1)
  expect(completed?.questions.map(({ id }) => id)).toEqual(answered)
  const assessmentId = completed?.assessmentId ?? ''
  const advice = await ageAssessment.recommendations(assessmentId, P1)
  expect(advice.length).toBeGreaterThan(0)
  expect(advice.map(({ benefitCost }) => benefitCost)).not.toContain(undefined)
  expect(await ageAssessment.recommendationsByAccountId(assessmentId, accountId)).toEqual(advice)
  const spanish = await ageAssessment.recommendations(assessmentId, P1, 'es')
  expect(spanish).toHaveLength(advice.length)
  expect(await failureOf(ageAssessment.recommendations('no-such-test', P1))).toMatchObject({ status: 404 })
})

it('the paged test of a token that is not known: the token is stale', async () => {
  const { assessment } = await converse({}, { accessToken: async () => 'another' })
  expect((await failureOf(assessment.currentPage())).class).toBe('stale-token')
})

const tagOf = (item: ContentListItem | undefined): string =>
  documented(z.object({ id: z.string() }), item?.primaryTag)?.id ?? ''

it('content: filtered, page by page, and each article', async () => {
  const { content } = await converse()
  const all = await content.listArticles({ limit: 100 })
  expect(all.length).toBeGreaterThan(2)
  const pages = [1, 2].map((page) => content.listArticles({ page, limit: 2 }))
  expect((await Promise.all(pages)).flat()).toEqual(all.slice(0, 4))
  const [type, tag] = [String(all[1]?.type), tagOf(all[1])]
  expect(await content.listArticles({ type, tag, limit: 100 })).toEqual(
    all.filter((item) => item.type === type && tagOf(item) === tag),
  )
  for (const item of all) {
    expect(await content.article(item.id)).toMatchObject({ ...item, body: expect.stringMatching(/^<\w+>/) })
  }
  expect(await content.article('no-such-article')).toBeUndefined()
})

describe.each<Partial<GatewayOptions>>([
  {},
  { spelling: { datesOfService: 'dateOfService', requestSubType: 'requestSubtype', subType: 'subType' } },
])('medical records, %j', (own) => {
  it('asked for, changed, found, deleted', async () => {
    const { medicalRecords, request } = await withRequestTypes(own)
    const created = await medicalRecords.upsert([request, { ...request, referenceNumber: 'ref/2' }])
    expect(created).toMatchObject({ status: 200, class: 'accepted', errors: [] })
    const [first] = created.requests.filter(({ referenceNumber }) => referenceNumber === 'ref-1')
    expect(first).toMatchObject({
      patient: { dob: '02/28/1970' },
      request: { requestSubType: request.request.requestSubType, datesOfService: { start: '01/31/2020' } },
      status: { status: 'Received', documentAvailable: false },
      authorizationUploadUrl: expect.stringContaining('http'),
    })
    const change = { referenceNumber: 'ref-1', patient: { zip: '00001' }, provider: { npi: null } }
    const changed = await medicalRecords.upsert([change])
    expect(changed.requests[0]?.patient).toMatchObject({ zip: '00001', firstName: 'Test' })
    expect(changed.requests[0]?.provider).not.toHaveProperty('npi', expect.any(String))
    const found = async () =>
      (
        await medicalRecords.search({
          page: 1,
          limit: 100,
          filter: [{ patient: { lastName: 'Person' }, request: { type: '', subType: '' } }],
        })
      ).results.map(({ referenceNumber }) => referenceNumber)
    expect((await found()).sort()).toEqual(['ref-1', 'ref/2'])
    expect(await medicalRecords.delete('ref/2')).toMatchObject({ referenceNumber: 'ref/2' })
    expect(await found()).toEqual(['ref-1'])
  })
})

describe('medical records', () => {
  it('keep their authorization, and are then not deleted', async () => {
    const { medicalRecords, request } = await withRequestTypes()
    const { requests } = await medicalRecords.upsert([request])
    const address = String(requests[0]?.authorizationUploadUrl)
    await medicalRecords.uploadAuthorization(address, Buffer.from('%PDF-1.7\n%%EOF\n'))
    expect(await failureOf(medicalRecords.delete('ref-1'))).toMatchObject({
      class: 'refused',
      status: 400,
      gatewayMessage: expect.stringContaining('Reference Number not found Or Request already processed'),
    })
  })

  it('take no authorization at an address that has expired', async () => {
    let now = NOW
    const { medicalRecords, request } = await withRequestTypes({}, { clock: () => now })
    const { requests } = await medicalRecords.upsert([request])
    now += 30 * 60_000
    const upload = medicalRecords.uploadAuthorization(
      String(requests[0]?.authorizationUploadUrl),
      Buffer.from('%PDF-1.7'),
    )
    expect((await failureOf(upload)).class).toBe('refused')
  })

  it('say why they were refused: which block, which field', async () => {
    const { medicalRecords, request } = await withRequestTypes()
    const { patient: _, ...headless } = { ...request, referenceNumber: 'ref-2' }
    const missingBlock = await failureOf(medicalRecords.upsert([request, headless]))
    expect(missingBlock).toMatchObject({ class: 'refused', status: 400 })
    expect(missingBlock.gatewayMessage).toMatch(/^[^{]*patient[^{]*2 of 2/i)
    const nameless = { ...request, patient: { lastName: 'Person', dob: '1970-02-28' } }
    const missingField = await failureOf(medicalRecords.upsert([nameless]))
    expect(missingField.gatewayMessage).toMatch(/^[^{]*first ?name/i)
    expect(missingField.gatewayMessage).not.toContain('{')
  })

  it('belong to the key of the requester', async () => {
    const keys = { apiKeys: ['the-key', 'the-requester-key'] }
    const { medicalRecords } = await converse(keys, { requesterApiKey: 'the-requester-key' })
    expect((await medicalRecords.requestTypes()).length).toBeGreaterThan(0)
    const stranger = await converse({}, { requesterApiKey: 'the-requester-key' })
    expect((await failureOf(stranger.medicalRecords.requestTypes())).status).toBe(401)
  })
})

/** A conversation with a request of a type that the gateway lists. */
async function withRequestTypes(
  own: Partial<GatewayOptions> = {},
  options: Partial<ReferenceGatewayOptions> = {},
) {
  const gateway = await converse(options, own)
  const types = await gateway.medicalRecords.requestTypes()
  const subtypes = documented(z.array(z.looseObject({ name: z.string() })), types[0]?.requestSubType)
  const subtype = subtypes?.find(({ disabled }) => disabled !== true)
  const asked = { requestType: types[0]?.name ?? '', requestSubType: subtype?.name ?? '' }
  return { ...gateway, request: { ...RECORDS_REQUEST, request: { ...RECORDS_REQUEST.request, ...asked } } }
}

it('the conversations above held every call of the interface', () => {
  const operations = Object.keys(ENDPOINTS).map((name) =>
    name.replace(/[A-Z]/g, (one) => ` ${one.toLowerCase()}`),
  )
  expect([...held].sort()).toEqual(operations.sort())
})
