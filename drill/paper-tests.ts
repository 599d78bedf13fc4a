/**
 * Tests that people answer in the app, too, while Waybill answers them from paper; and the judgement of the receipts: one for each test whose answers
 * are those of the paper, none for a test that shows answers of the app.
 */
import { DatabaseSync } from 'node:sqlite'
import { z } from 'zod'
import type { OtherJobsPlan } from './other-jobs.ts'
import type { Wrong } from './verdict.ts'

/** Answers that the paper comes to; the app takes others. */
const ON_PAPER: ReadonlySet<string> = new Set([
  ...['feet-5', 'inches-7', 'sits-little', 'tobacco-never', 'did-walk', 'sleep-good'],
])

const Page = z.object({
  moduleId: z.string(),
  questionGroupId: z.string(),
  questions: z.array(
    z.object({
      id: z.string(),
      type: z.string(),
      factDataType: z.record(z.string(), z.string()),
      answers: z.array(z.object({ factId: z.string(), answerId: z.string() })),
    }),
  ),
})
type Page = z.infer<typeof Page>
const Pages = z.object({ data: z.array(Page) })

/** Answers what is left of the tests. The app meets no faults: where one strikes its request, the person gives up. */
export async function answerInApp(
  { papers, inApp }: OtherJobsPlan,
  night: number,
  when: 'before' | 'after-kill',
  data: string,
  url: string,
): Promise<void> {
  for (const [person, from] of papers) {
    if (from !== night || inApp.get(person) !== when || !isRegistered(data, person)) continue
    const headers = {
      'x-api-key': 'drill',
      'x-api-version': '1.0',
      authorization: `Bearer token-${person}`,
      'content-type': 'application/json',
    }
    const ask = async (init: RequestInit): Promise<Page | undefined> => {
      const answer = await fetch(`${url}${PATH}`, { ...init, headers, signal: AbortSignal.timeout(2_000) })
      return answer.ok ? Pages.parse(await answer.json()).data[0] : undefined
    }
    let page = await ask({}).catch(() => undefined)
    while (page !== undefined)
      page = await ask({ method: 'POST', body: JSON.stringify(chosenOn(page)) }).catch(() => undefined)
  }
}

const PATH = '/assessments/bioage'

function chosenOn({ moduleId, questionGroupId, questions }: Page): object {
  const answers = questions.map(({ id, type, factDataType, answers: offered }) => {
    const others = offered.filter(({ answerId }) => !ON_PAPER.has(answerId))
    const facts = Object.keys(factDataType)
    const picked = facts.flatMap((factId) => others.find((one) => one.factId === factId) ?? [])
    const sent = type === 'checkbox' ? picked.slice(-1) : picked
    return [id, sent.map((one) => ({ [one.factId]: one.answerId }))] as const
  })
  return { moduleId, questionGroupId, answers: Object.fromEntries(answers) }
}

function isRegistered(data: string, person: string): boolean {
  const database = new DatabaseSync(data, { readOnly: true })
  try {
    return database.prepare('select 1 from accounts where partner_account_id = ?').get(person) !== undefined
  } finally {
    database.close()
  }
}

const Progress = z.object({ chosen: z.array(z.tuple([z.string(), z.string()])) })

/** @param receipts transaction ids of all that the home has a receipt for */
export function judgeTests(
  { papers }: OtherJobsPlan,
  data: string,
  receipts: readonly string[],
  blame: (wrong: Wrong, words: string) => void,
): void {
  const ofTests = receipts.filter((id) => id.includes('-assessment-'))
  const database = new DatabaseSync(data, { readOnly: true })
  try {
    const rows = database
      .prepare(
        'select partner_account_id as person, progress from assessments join accounts on accounts.seq = account',
      )
      .all()
    const fromPaper = rows.filter((row) => {
      const { chosen } = Progress.parse(JSON.parse(String(row['progress'])))
      return papers.has(String(row['person'])) && chosen.every(([, answerId]) => ON_PAPER.has(answerId))
    })
    if (new Set(ofTests).size !== ofTests.length) blame('words', 'a test has two receipts')
    if (fromPaper.length !== ofTests.length)
      blame(
        'words',
        `${ofTests.length} tests have receipts, and ${fromPaper.length} show the answers of the paper`,
      )
  } finally {
    database.close()
  }
}
