/** Collecting of one person, over the wire: which calls are made, what is kept of the answers, and what is said where there is nothing. */
import { describe, expect, test } from 'vitest'
import { type CollectedPerson, collectPerson, contentOf, itemTexts, textOf } from '../../src/collect/kinds.ts'
import { client, json, type Reply, type Seen, serve } from '../gateway/loopback.ts'

type CollectedKind = Parameters<typeof import('../../src/collect/kinds.ts').kindOf>[0]

type AskingContext = Parameters<typeof collectPerson>[0]

type AskedPerson = Parameters<typeof collectPerson>[2]

const ANN = { reference: 'ann', type: 'partnerAccountId' } as const
const PERSON = { named: ANN, account: ANN, accountId: 'acc-1' }
const NOT_FOUND = json(404, { code: 404, message: 'Not found.' })
const NOTHING = json(200, { code: 200, data: [] })
const test1 = { assessmentId: 'a-1', questions: [] }
const COMPLETED = json(200, [test1, { assessmentId: 'a-2', questions: [] }, test1])
const ADVICE = json(200, [{ teaser: 'Walk.' }])
const BIOMETRICS = '/health-profile/biometrics'
const AGE = '/bioage/result'
const TESTS = '/bioage/completed/questions'

/** @param replies by path; any other path is answered 404, as by a gateway that does not know the account */
async function collect(
  kinds: readonly CollectedKind[],
  replies: Readonly<Record<string, Reply>>,
  { person = PERSON, ...more }: Partial<AskingContext> & { person?: AskedPerson } = {},
): Promise<{ found: CollectedPerson; asked: string[]; seen: readonly Seen[] }> {
  const pathOf = (url: string): string => url.split('?')[0] ?? ''
  const server = await serve(({ url }) => replies[pathOf(url)] ?? NOT_FOUND)
  const context: AskingContext = {
    ...{ gateway: client(server.url), read: (_, call) => call() },
    ...{ language: undefined, deprecated: false, requests: [], ...more },
  }
  const found = await collectPerson(context, kinds, person)
  return { found, asked: server.seen.map(({ url }) => pathOf(url)), seen: server.seen }
}

const UNKNOWN = { named: ANN, account: ANN, accountId: undefined }

describe('a person of whom there is nothing', () => {
  test.each<[string, CollectedKind[], Record<string, Reply>, string, string[]]>([
    ['whose profile is empty', ['biometrics'], { [BIOMETRICS]: NOTHING }, 'none', [BIOMETRICS]],
    [
      'whose profile says that the account is there, whatever is asked behind it',
      ['biometrics', 'ageResult'],
      { [BIOMETRICS]: NOTHING },
      'none',
      [BIOMETRICS, AGE],
    ],
    [
      'of whom 404 is said, and whose profile is there',
      ['ageResult', 'completedQuestions'],
      { [BIOMETRICS]: NOTHING },
      'none',
      [AGE, TESTS, BIOMETRICS],
    ],
    ['of whom nothing is known', ['ageResult'], {}, 'account-not-there', [AGE, BIOMETRICS]],
    ['whose profile is not there', ['biometrics', 'ageResult'], {}, 'account-not-there', [BIOMETRICS]],
  ])('%s', async (_, kinds, replies, expected, calls) => {
    const { found, asked } = await collect(kinds, replies)
    expect([found.outcome === 'refused' ? found.fault.code : found.outcome, asked]).toEqual([expected, calls])
  })

  test('that is an article: it has no profile', async () => {
    const { found, asked } = await collect(['articles'], {})
    expect([found.outcome, asked]).toEqual(['none', ['/content/distribution/article/ann']])
  })
})

test('of whom there is something of one kind, and nothing of another, both are kept', async () => {
  const age = { status: 'COMPLETE' }
  const replies = { [BIOMETRICS]: NOTHING, [AGE]: json(200, age) }
  const { found } = await collect(['biometrics', 'ageResult', 'completedQuestions'], replies)
  expect(found).toEqual({
    outcome: 'collected',
    parts: { biometrics: [], ageResult: [age], completedQuestions: [] },
  })
})

test("a proxy's 404 is not nothing, where the gateway's own may be", async () => {
  const { found, asked } = await collect(['completedQuestions'], { [TESTS]: { status: 404, body: '<p>No' } })
  expect([found, asked]).toMatchObject([{ fault: { code: 'collect-refused' } }, [TESTS]])
})

test.each([
  [json(400, { code: 400, message: 'No, ann.' }), 'collect-refused', 'HTTP 400'],
  [json(404, { page: 'of a proxy' }), 'collect-refused', 'HTTP 404'],
  [json(500, { code: 500, message: 'Sorry, ann.' }), 'collect-fails', 'HTTP 500'],
  [json(200, 'no list'), 'collect-fails', 'HTTP 200'],
])('what the gateway answers instead of a profile is told by its code: %#', async (reply, code, words) => {
  const { found } = await collect(['biometrics'], { [BIOMETRICS]: reply })
  expect(found).toMatchObject({
    outcome: 'refused',
    fault: { code, message: expect.stringContaining(words) },
  })
  expect(JSON.stringify(found)).not.toContain('ann')
})

describe('recommendations', () => {
  const advice = (id: string): string => `/bioage/assessments/${id}/recommendations`

  test('are those of each test, once, and name it', async () => {
    const replies = { [TESTS]: COMPLETED, [advice('a-1')]: ADVICE, [advice('a-2')]: ADVICE }
    const { found, asked, seen } = await collect(['recommendations'], replies, { language: 'de-CH' })
    expect(asked).toEqual([TESTS, advice('a-1'), advice('a-2')])
    expect(seen.slice(1).map(({ headers }) => headers['accept-language'])).toEqual(['de-CH', 'de-CH'])
    expect(found).toMatchObject({
      parts: {
        recommendations: [
          { assessmentId: 'a-1', teaser: 'Walk.' },
          { assessmentId: 'a-2', teaser: 'Walk.' },
        ],
      },
    })
  })

  test('are asked for by account id in the deprecated form, which needs one', async () => {
    const replies = {
      [TESTS]: COMPLETED,
      [`${advice('a-1')}/acc-1`]: ADVICE,
      [`${advice('a-2')}/acc-1`]: ADVICE,
    }
    const by = { deprecated: true, language: 'de-CH' }
    const { asked, seen } = await collect(['recommendations'], replies, by)
    expect(asked).toEqual([TESTS, `${advice('a-1')}/acc-1`, `${advice('a-2')}/acc-1`])
    expect(seen.slice(1).map(({ headers }) => headers['accept-language'])).toEqual(['de-CH', 'de-CH'])
    const { found } = await collect(['ageResult'], {}, { deprecated: true, person: UNKNOWN })
    expect(found).toMatchObject({ outcome: 'refused', fault: { code: 'account-id-unknown' } })
  })
})

test('of a request for medical records the address for uploads is not kept: who has it may write there', async () => {
  const request = {
    ...{ referenceNumber: 'r-1', authorizationUploadUrl: 'https://store.example/1?signature=x' },
    status: { status: 'Received' },
  }
  const replies = {
    '/medical-records/requester': json(200, { code: 200, data: [{ results: [request], total: 1 }] }),
  }
  const requests = [{ type: 'roi', subType: '' }]
  const { found } = await collect(['requestStatus'], replies, { requests })
  expect(found).toMatchObject({
    outcome: 'collected',
    parts: { requestStatus: [{ referenceNumber: 'r-1' }] },
  })
  expect(JSON.stringify(found)).not.toContain('signature')
})

test('requests for medical records are looked for by each of their types, and by the name that the job gives the person', async () => {
  const replies = { '/medical-records/requester': json(200, { code: 200, data: [{ results: [] }] }) }
  const requests = ['roi', 'aps'].map((type) => ({ type, subType: '1' }))
  const person = { ...PERSON, account: { reference: 'acc-1', type: 'accountId' } as const }
  const { seen } = await collect(
    ['requestStatus'],
    { ...replies, [BIOMETRICS]: NOTHING },
    { requests, person },
  )
  const filters = seen.flatMap(({ body }) => (body === '' ? [] : JSON.parse(body).filter))
  expect(filters).toMatchObject(requests.map(({ type }) => ({ patient: ANN, request: { type } })))
})

describe('what was collected', () => {
  const [one, two] = [
    { id: '1', codes: [{ code: 'a' }] },
    { id: '2', value: 5 },
  ]

  test('is the same in whatever order the gateway gives it, and another where an item has another kind', () => {
    const content = (parts: Parameters<typeof itemTexts>[0]): string => contentOf(itemTexts(parts))
    expect(content({ biometrics: [one, two] })).toBe(content({ biometrics: [two, one] }))
    expect(content({ biometrics: [one, two] })).not.toBe(content({ biometrics: [one, one] }))
    expect(content({ biometrics: [one], conditions: [two] })).not.toBe(content({ biometrics: [one, two] }))
    expect(content({ biometrics: [one], conditions: [] })).not.toBe(
      content({ biometrics: [], conditions: [one] }),
    )
  })

  test('is a line of NDJSON, or of CSV a row for each item, with the person in front', () => {
    const parts = { biometrics: [one, two], conditions: [] }
    expect(Object.fromEntries(textOf('ndjson', PERSON, parts, itemTexts(parts)))).toEqual({
      'people.ndjson':
        '{"account":{"reference":"ann","type":"partnerAccountId"},"accountId":"acc-1","biometrics":[{"id":"1","codes":[{"code":"a"}]},{"id":"2","value":5}],"conditions":[]}\n',
    })
    expect(Object.fromEntries(textOf('csv', UNKNOWN, parts, itemTexts(parts)))).toEqual({
      'biometrics.csv':
        'ann,partnerAccountId,,1,,,,,,,,,"[{""code"":""a""}]"\nann,partnerAccountId,,2,,,5,,,,,,\n',
      'conditions.csv': '',
    })
  })

  test('is of nobody where it is an article', () => {
    const parts = { articles: [{ id: 'x', title: 'Sleep', primaryTag: { type: 't', id: 7 } }] }
    expect(Object.fromEntries(textOf('ndjson', PERSON, parts, itemTexts(parts)))).toEqual({
      'articles.ndjson': '{"id":"x","title":"Sleep","primaryTag":{"type":"t","id":7}}\n',
    })
    expect(textOf('csv', PERSON, parts, itemTexts(parts)).get('articles.csv')).toMatch(/^x,,,Sleep,,t,7,/)
  })
})
