import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { ReferenceGatewayOptions } from '../../packages/reference-gateway/src/server.ts'
import { NOW, startGateway } from '../../packages/reference-gateway/test/gateway-under-test.ts'
import type { ContentListItem } from '../../src/gateway/contract/content.ts'
import { documented } from '../../src/gateway/contract/shared-objects.ts'
import type { GatewayOptions } from '../../src/gateway/gateway.ts'
import { client, failureOf } from './loopback.ts'
import { BIOMETRIC, RECORDS_REQUEST, REGISTRATION } from './sample-records.ts'

const P1 = { reference: 'p-1', type: 'partnerAccountId' } as const

/** A client in conversation with a reference gateway that knows p-1, for whom the token stands. */
async function converse(own: Partial<GatewayOptions> = {}, options: Partial<ReferenceGatewayOptions> = {}) {
  const reference = await startGateway({
    apiKeys: ['the-key'],
    tokens: [],
    tokenOwners: { 'the-token': P1 },
    ...options,
  })
  const gateway = client(reference.url, own)
  const { accountId = '' } = await gateway.accounts.register(REGISTRATION)
  return { ...gateway, accountId }
}

it('biometrics are read by each name of the account', async () => {
  const { biometrics, accountId } = await converse()
  await biometrics.create([{ ...BIOMETRIC, account: P1 }])
  const entity = `https://gateway.example/accounts/${accountId}`
  for (const asked of [P1, { reference: accountId, type: 'accountId' } as const, { entity }])
    expect(await biometrics.read(asked)).toMatchObject([{ value: 81.5, created: String(NOW) }])
})

it('age assessment: no result, the test to its end, and all that follows from it', async () => {
  const { ageAssessment, assessment, accountId } = await converse()
  expect(await ageAssessment.result(P1)).toBeUndefined()
  expect(await ageAssessment.resultByAccountId(accountId)).toBeUndefined()

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
    const { moduleId, questionGroupId } = page
    page = await assessment.submit({ moduleId, questionGroupId, answers: Object.fromEntries(choices) })
  }
  expect(await assessment.currentPage()).toBeUndefined()

  const result = await ageAssessment.result(P1)
  expect(result).toMatchObject({ status: 'COMPLETE', completed: new Date(NOW).toISOString() })
  expect(await ageAssessment.resultByAccountId(accountId)).toEqual(result)
  const [completed] = await ageAssessment.completedQuestions(P1)
  expect(completed?.questions.map(({ id }) => id)).toEqual(answered)
  const assessmentId = completed?.assessmentId ?? ''
  const advice = await ageAssessment.recommendations(assessmentId, P1)
  expect(advice.length).toBeGreaterThan(0)
  expect(advice.map(({ benefitCost }) => benefitCost)).not.toContain(undefined)
  expect(await ageAssessment.recommendationsByAccountId(assessmentId, accountId)).toEqual(advice)
  expect(await failureOf(ageAssessment.recommendations('no-such-test', P1))).toMatchObject({ status: 404 })
})

it('the paged test of a token that is not known: the token is stale', async () => {
  const { assessment } = await converse({ accessToken: async () => 'another' })
  expect((await failureOf(assessment.currentPage())).class).toBe('stale-token')
})

it('content: filtered, page by page, and each article', async () => {
  const { content } = await converse()
  const tagOf = (item?: ContentListItem) =>
    documented(z.object({ id: z.string() }), item?.primaryTag)?.id ?? ''
  const all = await content.listArticles({ limit: 100 })
  const pages = [1, 2].map((page) => content.listArticles({ page, limit: 2 }))
  expect((await Promise.all(pages)).flat()).toEqual(all.slice(0, 4))
  const tag = tagOf(all[1])
  expect(await content.listArticles({ tag, limit: 100 })).toEqual(all.filter((item) => tagOf(item) === tag))
  expect(await content.article(all[1]?.id ?? '')).toMatchObject({ ...all[1], body: expect.any(String) })
  expect(await content.article('no-such-article')).toBeUndefined()
})

/** A conversation with a request of a type that the gateway lists. */
async function withRequestTypes(own: Partial<GatewayOptions> = {}) {
  const gateway = await converse(own)
  const types = await gateway.medicalRecords.requestTypes()
  const subtypes = documented(z.array(z.looseObject({ name: z.string() })), types[0]?.requestSubType)
  const subtype = subtypes?.find(({ disabled }) => disabled !== true)
  const asked = { requestType: types[0]?.name ?? '', requestSubType: subtype?.name ?? '' }
  return { ...gateway, request: { ...RECORDS_REQUEST, request: { ...RECORDS_REQUEST.request, ...asked } } }
}

describe('medical records', () => {
  it.each<Partial<GatewayOptions>>([
    {},
    { spelling: { datesOfService: 'dateOfService', requestSubType: 'requestSubtype', subType: 'subType' } },
  ])('are asked for, changed, found, deleted: %j', async (own) => {
    const { medicalRecords, request } = await withRequestTypes(own)
    const created = await medicalRecords.upsert([request, { ...request, referenceNumber: 'ref/2' }])
    const { requestSubType } = request.request
    expect(created.requests[0]?.request).toMatchObject({
      requestSubType,
      datesOfService: { start: '01/31/2020' },
    })
    const change = { referenceNumber: 'ref-1', patient: { zip: '00001' }, provider: { npi: null } }
    const [changed] = (await medicalRecords.upsert([change])).requests
    expect(changed?.patient).toMatchObject({ zip: '00001', firstName: 'Test' })
    expect(changed?.provider).not.toHaveProperty('npi')
    const filter = [{ patient: { lastName: 'Person' }, request: { type: '', subType: requestSubType } }]
    const found = async () => (await medicalRecords.search({ page: 1, limit: 100, filter })).results
    expect((await found()).map(({ referenceNumber }) => referenceNumber)).toEqual(['ref-1', 'ref/2'])
    expect(await medicalRecords.delete('ref/2')).toMatchObject({ referenceNumber: 'ref/2' })
    expect(await found()).toHaveLength(1)
  })

  it('say why they were refused: which block, which field', async () => {
    const { medicalRecords, request } = await withRequestTypes()
    const { patient: _, ...headless } = { ...request, referenceNumber: 'ref-2' }
    const missingBlock = await failureOf(medicalRecords.upsert([request, headless]))
    expect(missingBlock).toMatchObject({ class: 'refused', status: 400 })
    expect(missingBlock.gatewayMessage).toMatch(/^[^{]*patient[^{]*2 of 2/i)
    const nameless = { ...request, patient: { lastName: 'Person', dob: '1970-02-28' } }
    const missingField = await failureOf(medicalRecords.upsert([nameless]))
    expect(missingField.gatewayMessage).toMatch(/^[^{]*first ?name[^{]*$/i)
  })

  it('belong to the key of the requester', async () => {
    const requesterApiKey = 'the-requester-key'
    const { medicalRecords } = await converse({ requesterApiKey }, { apiKeys: ['the-key', requesterApiKey] })
    expect((await medicalRecords.requestTypes()).length).toBeGreaterThan(0)
    const stranger = await converse({ requesterApiKey })
    expect((await failureOf(stranger.medicalRecords.requestTypes())).status).toBe(401)
  })
})
