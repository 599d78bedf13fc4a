/** When a job's sources are to be looked at, and what is told of what was found. What was judged is in the ledger. */

import type { Job } from '../definitions/definition-files.ts'
import type { DeadlineRecord } from '../ledger/ledger.ts'
import { allDone } from '../model/errors.ts'
import type { UnsentNotice } from '../notify/notice.ts'
import type { LookPlan } from '../schedule/schedule-parts.ts'
import {
  type Assessment,
  type AssessmentParts,
  assess,
  recordOf,
  type WatchedSource,
  watchedSources,
} from './assess.ts'
import { expectationNotices } from './expectation-text.ts'
import { type Deadline, latestDeadline, lateUntil } from './judge.ts'

/** What is missing is looked for again after this time, and so is a source that could not be reached. */
const AGAIN_MS = 15 * 60_000

export interface ExpectationParts extends AssessmentParts {
  /** Names the gateway in the ledger. */
  readonly gatewayOf: (job: Job) => string
  /** Told again where the process was killed in between; each subject is to be told once. */
  readonly tell: (job: Job, notice: UnsentNotice) => Promise<void>
}

/** What a schedule has to do for a job now. */
export async function planLooks(parts: ExpectationParts, job: Job): Promise<LookPlan> {
  const looks: (() => Promise<unknown>)[] = []
  const next: number[] = []
  for await (const { watched, deadline, judged } of passed(parts, job)) {
    const again = lookAgain(judged, deadline)
    if (again === undefined || again > parts.now()) next.push(deadline.next + watched.source.stableForMs)
    if (again === undefined) continue
    if (again > parts.now()) next.push(again)
    else looks.push(() => judgeAndTell(parts, watched, deadline, judged))
  }
  return {
    next: next.length === 0 ? undefined : Math.min(...next),
    look:
      looks.length === 0
        ? undefined
        : async () => {
            await allDone(looks.map((look) => look()))
          },
  }
}

/** Sources of the job whose deadline has passed, with how earlier ones were judged. */
async function* passed({ ledger, now }: Pick<ExpectationParts, 'ledger' | 'now'>, job: Job) {
  for (const watched of watchedSources(job)) {
    const deadline = passedDeadline(watched, now())
    if (deadline !== undefined)
      yield { watched, deadline, judged: await ledger.expectations.judged(watched.key) }
  }
}

/** When the deadline is to be judged, or judged again; undefined where nothing is open. */
function lookAgain(judged: readonly DeadlineRecord[], deadline: Deadline): number | undefined {
  const own = judged.find(({ due }) => due === deadline.due)
  if (own === undefined) return deadline.due
  const again = own.judged_at + AGAIN_MS
  if (own.state === 'unreachable') return again
  // The last time at which what is found counts as late: what is found from then on has come after it.
  const last = lateUntil(deadline)
  if (own.state === 'missing' && own.judged_at < last) return Math.min(again, last)
  return undefined
}

/** Judges the latest deadline of each source that has passed, however often it was judged before. */
export async function judgeJob(parts: ExpectationParts, job: Job): Promise<Assessment[]> {
  const due = await Array.fromAsync(passed(parts, job))
  // Beside each other: a server may take its time.
  return allDone(
    due.map(({ watched, deadline, judged }) => judgeAndTell(parts, watched, deadline, judged, 'asked')),
  )
}

/** Whether a look has found, and told, that exports of the job are missing by now. */
export async function isToldMissing(
  parts: Pick<ExpectationParts, 'ledger' | 'now'>,
  job: Job,
): Promise<boolean> {
  for await (const { deadline, judged } of passed(parts, job))
    if (judged.some(({ due, state }) => due === deadline.due && state === 'missing')) return true
  return false
}

/** What came by a deadline is complete only when it has been at rest for as long as the job says: so much later it is judged. */
const passedDeadline = ({ source, expect }: WatchedSource, now: number): Deadline | undefined =>
  latestDeadline({ cron: expect.by, zone: expect.zone }, now - source.stableForMs)

/** @param asked whether somebody wants to know; else nothing was missed before the expectation was first seen */
async function judgeAndTell(
  parts: ExpectationParts,
  watched: WatchedSource,
  deadline: Deadline,
  judged: readonly DeadlineRecord[],
  asked?: 'asked',
): Promise<Assessment> {
  const assessment = await assess(parts, watched, deadline, judged)
  const first = asked === undefined && judged.every(({ state }) => state === 'unreachable')
  const record = recordOf(assessment, first)
  const own = judged.find(({ due }) => due === deadline.due)
  const isNews =
    own === undefined || (['state', 'arrived', 'small'] as const).some((key) => own[key] !== record[key])
  if (isNews && record.state !== 'seen') {
    // Told before it is written down: a process that is killed in between tells again, and each subject is told once.
    for (const notice of expectationNotices(assessment, parts.gatewayOf(watched.job)))
      await parts.tell(watched.job, notice)
  }
  await parts.ledger.expectations.judge(record)
  return assessment
}
