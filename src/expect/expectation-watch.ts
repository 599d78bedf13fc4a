/** Decides when to check a job's sources for expected exports, and notifies of the results. The ledger has the judgements. */

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

/** Wait before the next check for a missing export, or of an unreachable source. */
const AGAIN_MS = 15 * 60_000

export interface ExpectationParts extends AssessmentParts {
  /** Names the gateway in the ledger. */
  readonly gatewayOf: (job: Job) => string
  /** Sends a notice. A process killed in between leads to a second call, with a subject that was notified already. */
  readonly tell: (job: Job, notice: UnsentNotice) => Promise<void>
}

/** Work of a schedule for a job now. */
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

/** Sources of the job with a deadline that has passed, and their earlier judgements. */
async function* passed({ ledger, now }: Pick<ExpectationParts, 'ledger' | 'now'>, job: Job) {
  for (const watched of watchedSources(job)) {
    const deadline = passedDeadline(watched, now())
    if (deadline !== undefined)
      yield { watched, deadline, judged: await ledger.expectations.judged(watched.key) }
  }
}

/** Time to judge the deadline, again or for the first time; undefined if nothing is open. */
function lookAgain(judged: readonly DeadlineRecord[], deadline: Deadline): number | undefined {
  const own = judged.find(({ due }) => due === deadline.due)
  if (own === undefined) return deadline.due
  const again = own.judged_at + AGAIN_MS
  if (own.state === 'unreachable') return again
  // Last instant at which a found file counts as late; a file found later has arrived later.
  const last = lateUntil(deadline)
  if (own.state === 'missing' && own.judged_at < last) return Math.min(again, last)
  return undefined
}

/** Judges the latest passed deadline of each source, also one judged before. */
export async function judgeJob(parts: ExpectationParts, job: Job): Promise<Assessment[]> {
  const due = await Array.fromAsync(passed(parts, job))
  // In parallel: a server may be slow.
  return allDone(
    due.map(({ watched, deadline, judged }) => judgeAndTell(parts, watched, deadline, judged, 'asked')),
  )
}

/** True if a check has found, and notified, that exports of the job are missing by now. */
export async function isReportedMissing(
  parts: Pick<ExpectationParts, 'ledger' | 'now'>,
  job: Job,
): Promise<boolean> {
  for await (const { deadline, judged } of passed(parts, job))
    if (judged.some(({ due, state }) => due === deadline.due && state === 'missing')) return true
  return false
}

/** Latest deadline for judgement. A file is complete only after resting for `stableForMs`: the judgement comes this much later. */
const passedDeadline = ({ source, expect }: WatchedSource, now: number): Deadline | undefined =>
  latestDeadline({ cron: expect.by, zone: expect.zone }, now - source.stableForMs)

/** @param asked given for a person's request; otherwise nothing was missed before the expectation was first seen */
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
    // Before the record: a process killed in between notifies again, and each subject is notified once.
    for (const notice of expectationNotices(assessment, parts.gatewayOf(watched.job)))
      await parts.tell(watched.job, notice)
  }
  await parts.ledger.expectations.judge(record)
  return assessment
}
