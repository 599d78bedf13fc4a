/** Answers of a page that are lost, over the reference gateway: `test/cli/assessment.test.ts` has what a person sees of it. */
import { setImmediate } from 'node:timers/promises'
import { expect, it } from 'vitest'
import type { RunLedger } from '../../src/ledger/ledger.ts'
import { loadAssessments } from '../../src/load/assessment.ts'
import { WaybillError } from '../../src/model/errors.ts'
import type { TestAnswer } from '../../src/model/record.ts'
import { answer, type Fault, PASS, type Passing } from '../faults/fault-proxy.ts'
import { client } from '../gateway/loopback.ts'
import { placed, SPEAKS, startLoading } from './loading.ts'
import { answeredTest, EXPORT_ID, entryOf, type Made } from './made-up-entries.ts'

const PAGES = '/assessments/bioage'
const GROUPS = ['size', 'sitting', 'tobacco-use', 'activity', 'sleep']
const ANSWERS: readonly TestAnswer[] = [
  { question: 'height', fact: 'height-feet', option: '5' },
  { question: 'height', fact: 'height-inches', option: '7' },
  { question: 'sitting-hours', fact: undefined, option: 'sits-little' },
  { question: 'tobacco', fact: undefined, option: 'tobacco-never' },
  { question: 'activity-kinds', fact: undefined, option: 'did-walk' },
  { question: 'sleep-hours', fact: undefined, option: 'sleep-good' },
]

/** Loads the tests of two people, one of whom stands on two rows. @param strike what happens to an answer of a page, by how often it was sent before */
async function take(
  strike: (group: string, earlier: number) => Fault,
  inApp: (url: string) => Promise<void> = async () => {},
  ledgerOf: (ledger: RunLedger) => RunLedger = (ledger) => ledger,
) {
  const tokens: string[] = []
  const sent: string[] = []
  const loading = await startLoading({
    gateway: {
      tokenOwners: Object.fromEntries(
        ['ann', 'ben'].map((reference) => [reference, { reference, type: 'partnerAccountId' as const }]),
      ),
    },
    faultOf: ({ method, path, body }: Passing) => {
      if (method !== 'POST' || path !== PAGES) return PASS
      const { questionGroupId: group } = JSON.parse(body)
      sent.push(group)
      return strike(group, sent.filter((one) => one === group).length - 1)
    },
  })
  await inApp(loading.reference.url)
  const userToken = async ({ reference }: { readonly reference: string }): Promise<string> => {
    tokens.push(reference)
    return reference
  }
  const gateway = client(loading.proxy.url, { userToken })
  const ledger = ledgerOf(loading.runLedger)
  const context = { ...loading.context, gateway, ledger, testsAtOnce: 1 }
  const entries = ['ann', 'ben', 'ann'].map((person, at) =>
    entryOf((made: Made) => answeredTest(ANSWERS, made), { person, row: at + 1 }),
  )
  const place = { exportRow: loading.exportRow, chunk: 1, exportId: EXPORT_ID, resumed: false, ...SPEAKS }
  const loaded = loadAssessments(context, { ...place, entries: placed(entries) })
  const { outcomes, failure } = await loaded.then(
    ({ outcomes }) => ({ outcomes, failure: undefined }),
    (failure: unknown) => ({ outcomes: [], failure }),
  )
  const answers = (await loading.batches()).map(({ state, answer }) => (state === 'settled' ? answer : state))
  const refused = (await loading.exceptions()).map(({ row, code }) => `${row} ${code}`)
  const accepted = (await loading.acceptedInLedger()).map((one) => Number(one.split(' ')[0]))
  return { sent, outcomes, failure, tokens, answers, refused, accepted }
}

const LOST: Fault = { do: 'reset' }
const TAKEN: Fault = { do: 'pass-then-reset' }
const isLast = (group: string): boolean => group === 'sleep'
const REFUSED = { outcome: 'rejected', reason: { code: 'refused' } }
const ACCEPTED = { outcome: 'accepted' }
const UNCHANGED = { outcome: 'unchanged', found: true }

type Strike = (group: string, earlier: number) => Fault

it.each<[string, Strike, readonly string[], object, object]>([
  ['none', () => PASS, GROUPS, ACCEPTED, UNCHANGED],
  [
    'that of one page in two tries',
    (group, earlier) => (isLast(group) && earlier < 2 ? LOST : PASS),
    [...GROUPS, 'sleep', 'sleep'],
    ACCEPTED,
    UNCHANGED,
  ],
  // The row that comes next goes on where the test stands.
  [
    'that of one page in three tries',
    (group, earlier) => (isLast(group) && earlier < 3 ? LOST : PASS),
    [...GROUPS, 'sleep', 'sleep', 'sleep'],
    REFUSED,
    ACCEPTED,
  ],
  [
    'and then that of the only page that is left, which was taken',
    (group, earlier) => (isLast(group) && earlier < 3 ? LOST : earlier === 3 ? TAKEN : PASS),
    [...GROUPS, 'sleep', 'sleep', 'sleep'],
    REFUSED,
    ACCEPTED,
  ],
  // Each page has its tries.
  [
    'all, in two tries each',
    (_, earlier) => (earlier < 2 ? LOST : PASS),
    GROUPS.flatMap((group) => [group, group, group]),
    ACCEPTED,
    UNCHANGED,
  ],
  [
    'all, whose answers were taken',
    (_, earlier) => (earlier < 1 ? TAKEN : PASS),
    GROUPS,
    ACCEPTED,
    UNCHANGED,
  ],
])('of the answers of pages are lost: %s', async (_, strike, sentOfFirst, first, again) => {
  const { sent, outcomes, answers, refused, accepted } = await take(strike)
  expect(sent).toEqual([...sentOfFirst, ...GROUPS])
  expect(outcomes).toMatchObject([first, ACCEPTED, again])
  const isRefused = first === REFUSED
  expect(answers).toEqual([
    isRefused ? 'refused' : 'accepted',
    'accepted',
    isRefused ? 'accepted' : 'planned',
  ])
  expect(refused).toEqual(isRefused ? ['1 refused'] : [])
  expect(accepted).toEqual(isRefused ? [2, 3] : [1, 2])
})

it.each([
  [1, ['ann', 'ann', 'ann', 'ben'], ACCEPTED],
  [2, ['ann', 'ann', 'ann', 'ben'], { outcome: 'rejected', reason: { code: 'user-token-refused' } }],
])('that the token is refused for %i times in a row, with one new token', async (times, asked, first) => {
  const { tokens, outcomes } = await take((group, earlier) =>
    isLast(group) && earlier < times ? answer(401) : PASS,
  )
  expect(tokens).toEqual(asked)
  expect(outcomes).toMatchObject([first, ACCEPTED, {}])
})

it('do not leave before the ledger says so', async () => {
  const lost = new WaybillError('lease-lost', 'another process holds the job')
  const { sent, failure } = await take(
    () => PASS,
    undefined,
    (ledger) =>
      Object.create(ledger, {
        sendBatch: {
          value: async () => {
            for (let turn = 0; turn < 20; turn++) await setImmediate()
            throw lost
          },
        },
      }),
  )
  expect(failure).toBe(lost)
  expect(sent).toEqual([])
})

it('are not given twice to a page that comes again after it was answered', async () => {
  const { sent, outcomes } = await take((group, earlier) => {
    if (group !== 'sitting' || earlier > 0) return PASS
    const data = [{ moduleId: 'body-and-day', questionGroupId: 'size', questions: [] }]
    return { do: 'pass-then-edit', edit: (envelope) => ({ ...envelope, data }) }
  })
  expect(sent).toEqual([...GROUPS, ...GROUPS])
  const repeated = { outcome: 'rejected', reason: { code: 'page-repeated' } }
  expect(outcomes).toMatchObject([repeated, ACCEPTED, ACCEPTED])
})

/** Ann is registered, and answers the first page in the app. */
async function answerFirst(url: string, inches: string): Promise<void> {
  const post = async (path: string, body: unknown): Promise<number> => {
    const headers = {
      ...{ 'x-api-key': 'test-key', 'x-api-version': '1.0' },
      ...{ authorization: 'Bearer ann', 'content-type': 'application/json' },
    }
    return (await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })).status
  }
  const person = {
    ...{ partnerAccountId: 'ann', firstName: 'A', lastName: 'B', gender: 'FEMALE' },
    ...{ dateOfBirth: '1980-02-03', postalCode: '04884' },
  }
  expect(await post('/account/register', person)).toBeLessThan(300)
  const height = [{ 'height-feet': 'feet-5' }, { 'height-inches': inches }]
  const answered = { moduleId: 'body-and-day', questionGroupId: 'size', answers: { height } }
  expect(await post(PAGES, answered)).toBe(200)
}

it.each([
  ['the answer of the row', 'inches-7', ACCEPTED],
  ['another answer', 'inches-1', UNCHANGED],
])('a page that the person answered in the app has %s', async (_, inches, first) => {
  const { sent, outcomes } = await take(
    () => PASS,
    (url) => answerFirst(url, inches),
  )
  expect(sent).toEqual([...GROUPS.slice(1), ...GROUPS])
  expect(outcomes).toMatchObject([first, ACCEPTED, UNCHANGED])
})

/** Takes a test until the run stops behind so many answered pages, and then again, as the next process does, and the one behind it. */
async function goOn(answered: number) {
  const stopped = new WaybillError('interrupted', 'SIGTERM')
  const loading = await startLoading({
    gateway: { tokenOwners: { ann: { reference: 'ann', type: 'partnerAccountId' as const } } },
    faultOf: ({ method, path, earlier }: Passing) => {
      if (method === 'POST' && path === PAGES && earlier === answered - 1) loading.stop.abort(stopped)
      return PASS
    },
  })
  const entries = placed([entryOf((made: Made) => answeredTest(ANSWERS, made), { person: 'ann', row: 1 })])
  const place = { exportRow: loading.exportRow, chunk: 1, exportId: EXPORT_ID, ...SPEAKS }
  const gateway = client(loading.proxy.url, { userToken: async () => 'ann' })
  const { sending, ...context } = loading.context
  const next = loading.startSending()
  const load = (resumed: boolean, by = next) => {
    const accounts = { ...context.accounts, sending: by }
    return loadAssessments({ ...context, accounts, gateway, sending: by }, { ...place, resumed, entries })
  }
  const posts = async (work: () => Promise<unknown>) => {
    const before = loading.posts(PAGES)
    const result = await work().catch((error: unknown) => error)
    return { result, sent: loading.posts(PAGES) - before }
  }
  const first = await posts(() => load(false, sending))
  expect(first).toEqual({ result: stopped, sent: answered })
  const [second, third] = [await posts(() => load(true)), await posts(() => load(true))]
  const states = (await loading.batches()).map(({ state, answer: got }) => `${state} ${got}`)
  return { second, third, states }
}

it.each([1, 2, 4])(
  'a process that is stopped behind %i pages: the next one goes on there',
  async (answered) => {
    const { second, third, states } = await goOn(answered)
    const done = {
      outcomes: [
        { outcome: 'accepted', batchId: expect.any(String), ageResult: { completed: expect.any(String) } },
      ],
      accounts: { known: 0, refused: 0 },
      learned: { delivered: [{ rowKey: expect.any(String) }] },
    }
    expect(second).toMatchObject({ result: done, sent: GROUPS.length - answered })
    expect(states).toEqual(['settled accepted'])
    // A third process finds the test settled, and reads its result again.
    expect(third).toMatchObject({ result: done, sent: 0 })
  },
)

it('a test whose last page was taken, and never settled, counts as found', async () => {
  const { second, states } = await goOn(GROUPS.length)
  expect(second).toMatchObject({ result: { outcomes: [{ outcome: 'accepted', readBack: true }] }, sent: 0 })
  expect(states).toEqual(['settled ambiguous'])
})
