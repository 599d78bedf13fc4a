import { describe, expect, it } from 'vitest'
import type { Gateway } from '../../src/gateway/gateway.ts'
import { client, failureOf, json, serve } from './loopback.ts'
import { ACCOUNT, REGISTRATION } from './sample-records.ts'

describe('registering an account', () => {
  it.each([
    ['new', json(201, { accountId: 'a-1', partnerAccountId: 'p-1' }), { accountId: 'a-1', known: false }],
    ['new, without an echo', json(200, { accountId: 'a-1' }), { accountId: 'a-1', known: false }],
    ['known', json(409, { accountId: 'a-1', partnerAccountId: 'p-1' }), { accountId: 'a-1', known: true }],
    [
      'known, id not told',
      json(409, { code: 409, message: 'Exists.' }),
      { accountId: undefined, known: true },
    ],
    ['known, in no words', { status: 409, body: '<p>Exists</p>' }, { accountId: undefined, known: true }],
  ])('that is %s', async (_, reply, expected) => {
    const server = await serve(() => reply)
    const gateway = client(server.url)
    expect(await gateway.accounts.register(REGISTRATION)).toEqual(expected)
    expect(gateway.events).toMatchObject([{ class: 'accepted', status: reply.status }])
  })

  it.each([
    ['names no account', json(200, {})],
    ['names another partner account', json(200, { accountId: 'a-1', partnerAccountId: 'p-2' })],
    [
      'is a conflict that names another partner account',
      json(409, { accountId: 'a-1', partnerAccountId: 'p-2' }),
    ],
  ])('is ambiguous where the answer %s', async (_, reply) => {
    const server = await serve(() => reply)
    expect((await failureOf(client(server.url).accounts.register(REGISTRATION))).class).toBe('ambiguous')
  })
})

const RESULT = {
  status: 'COMPLETE',
  bioAge: { year: 41, month: 3 },
  calendarAge: { year: 44, month: 0 },
  bioAgeDelta: { year: -2, month: -9 },
  completed: '2024-03-01T14:05:00.000Z',
}
const RESULTS: readonly [string, (gateway: Gateway) => Promise<unknown>][] = [
  ['result', ({ ageAssessment }) => ageAssessment.result(ACCOUNT)],
  ['resultByAccountId', ({ ageAssessment }) => ageAssessment.resultByAccountId('a-1')],
]

describe.each(RESULTS)('%s', (_, call) => {
  it('gives the ages, and what it does not know', async () => {
    const server = await serve(() => json(200, { ...RESULT, later: 1 }))
    expect(await call(client(server.url))).toEqual({ ...RESULT, later: 1 })
  })

  it.each([
    ['a 404', json(404, { code: 404, message: 'No result.' })],
    ['a 404 in no words', { status: 404 }],
    ['a 204', { status: 204 }],
    ['null', json(200, null)],
  ])('is undefined where the answer is %s', async (_name, reply) => {
    const server = await serve(() => reply)
    const gateway = client(server.url)
    expect(await call(gateway)).toBeUndefined()
    expect(gateway.events).toMatchObject([{ class: 'accepted', status: reply.status }])
  })

  it.each([
    ['a refusal', json(400, {}), 'refused'],
    ['no JSON', { status: 200, body: '' }, 'ambiguous'],
    ['without a status', json(200, { bioAge: RESULT.bioAge }), 'ambiguous'],
  ])('fails where the answer is %s', async (_name, reply, expected) => {
    const server = await serve(() => reply)
    expect((await failureOf(call(client(server.url)))).class).toBe(expected)
  })
})

const PAGE = {
  moduleId: 'm-1',
  questionGroupId: 'g-2',
  pageNumber: '1.10',
  questions: [{ id: 'q-1', answers: [{ value: 'x', factId: 'f-1', answerId: 'a-1' }], required: true }],
}
const ANSWERS = { moduleId: 'm-1', questionGroupId: 'g-1', answers: { 'q-1': [{ 'f-1': 'a-1' }] } }
const PAGES: readonly [string, (gateway: Gateway) => Promise<unknown>][] = [
  ['currentPage', ({ assessment }) => assessment.currentPage()],
  ['submit', ({ assessment }) => assessment.submit(ANSWERS)],
]

describe.each(PAGES)('%s', (_, call) => {
  it('gives the page', async () => {
    const server = await serve(() => json(200, { code: 200, message: 'ok', data: [PAGE] }))
    expect(await call(client(server.url))).toEqual(PAGE)
  })

  it.each([
    ['an empty array', json(200, { code: 200, data: [] })],
    ['null', json(200, { code: 200, data: null })],
    ['nothing', json(200, { code: 200, message: 'Completed' })],
    ['no body', { status: 204 }],
  ])('gives no page where data is %s', async (_name, reply) => {
    const server = await serve(() => reply)
    expect(await call(client(server.url))).toBeUndefined()
  })

  it.each([
    ['no envelope', [PAGE]],
    ['a page without questions', { data: [{ ...PAGE, questions: undefined }] }],
    ['an envelope that tells of failure', { code: 500, data: [] }],
  ])('is ambiguous where the answer is %s', async (_name, body) => {
    const server = await serve(() => json(200, body))
    expect((await failureOf(call(client(server.url)))).class).toBe('ambiguous')
  })
})

it('sends no submission that is not as the contract has it', async () => {
  const server = await serve(() => json(200, { data: [] }))
  const { assessment } = client(server.url)
  await expect(assessment.submit({ ...ANSWERS, moduleId: '' })).rejects.toMatchObject({ name: 'ZodError' })
  expect(server.seen).toEqual([])
})

const ARTICLE = { id: 17, type: 'article', title: 'Sleep' }

it('lists articles, without a query where none is given', async () => {
  const server = await serve(() => json(200, { code: 200, message: 'ok', data: [ARTICLE], total: 1 }))
  const { content } = client(server.url)
  expect(await content.listArticles()).toEqual([ARTICLE])
  await content.listArticles({})
  expect(server.seen.map((seen) => seen.url)).toEqual(Array(2).fill('/content/distribution/article'))
})

it.each([
  ['a 404', json(404, { code: 404, message: 'No such article.' })],
  ['no item', json(200, { code: 200, data: [] })],
])('gives no article where the answer is %s', async (_, reply) => {
  const server = await serve(() => reply)
  expect(await client(server.url).content.article('17')).toBeUndefined()
})

it('a list that is not found is a refusal: its path is wrong', async () => {
  const server = await serve(() => json(404, {}))
  expect((await failureOf(client(server.url).content.listArticles())).class).toBe('refused')
})
