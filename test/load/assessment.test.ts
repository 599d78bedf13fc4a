/** Answers of a page that are lost, over the reference gateway: `test/cli/assessment.test.ts` has what a person sees of it. */
import { expect, it } from 'vitest'
import { loadAssessments } from '../../src/load/assessment.ts'
import type { TestAnswer } from '../../src/model/record.ts'
import { type Fault, PASS, type Passing } from '../faults/fault-proxy.ts'
import { client } from '../gateway/loopback.ts'
import { placed, startLoading } from './loading.ts'
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

/** Loads the tests of two people one after the other. @param strike what happens to an answer of a page, by how often it was sent before */
async function take(strike: (group: string, earlier: number) => Fault) {
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
  const gateway = client(loading.proxy.url, { userToken: async ({ reference }) => reference })
  const context = { ...loading.context.assessment, gateway, concurrency: 1 }
  const entries = ['ann', 'ben'].map((person, at) =>
    entryOf((made: Made) => answeredTest(ANSWERS, made), { person, row: at + 1 }),
  )
  const place = { exportRow: loading.exportRow, chunk: 1, exportId: EXPORT_ID, resumed: false }
  const { outcomes } = await loadAssessments(context, { ...place, entries: placed(entries) })
  return { sent, outcomes }
}

const LOST: Fault = { do: 'reset' }
const TAKEN: Fault = { do: 'pass-then-reset' }
const TWICE = [...GROUPS, ...GROUPS]
const isLast = (group: string): boolean => group === 'sleep'

it.each<[string, (group: string, earlier: number) => Fault, string, readonly string[]]>([
  ['none', () => PASS, 'accepted', TWICE],
  [
    'one in two tries',
    (group, earlier) => (isLast(group) && earlier < 2 ? LOST : PASS),
    'accepted',
    [...GROUPS, 'sleep', 'sleep', ...GROUPS],
  ],
  [
    'one in three tries',
    (group, earlier) => (isLast(group) && earlier < 3 ? LOST : PASS),
    'refused',
    [...GROUPS, 'sleep', 'sleep', ...GROUPS],
  ],
  // Each page has its tries.
  [
    'all, in two tries each',
    (_, earlier) => (earlier < 2 ? LOST : PASS),
    'accepted',
    [...GROUPS.flatMap((group) => [group, group, group]), ...GROUPS],
  ],
  ['all, whose answers were taken', (_, earlier) => (earlier < 1 ? TAKEN : PASS), 'accepted', TWICE],
])('of the answers of pages are lost: %s', async (_, strike, ending, expected) => {
  const { sent, outcomes } = await take(strike)
  expect(sent).toEqual(expected)
  expect(outcomes).toMatchObject([
    ending === 'accepted' ? { outcome: ending } : { outcome: 'rejected', reason: { code: ending } },
    { outcome: 'accepted' },
  ])
})

it('are not given twice to a page that comes again after it was answered', async () => {
  const { sent, outcomes } = await take((group, earlier) => {
    if (group !== 'sitting' || earlier > 0) return PASS
    const edit: Extract<Fault, { readonly do: 'pass-then-edit' }>['edit'] = (envelope) => ({
      ...envelope,
      data: [{ moduleId: 'body-and-day', questionGroupId: 'size', questions: [] }],
    })
    return { do: 'pass-then-edit', edit }
  })
  expect(sent).toEqual(['size', 'sitting', ...GROUPS])
  expect(outcomes).toMatchObject([
    { outcome: 'rejected', reason: { code: 'page-repeated' } },
    { outcome: 'accepted' },
  ])
})
