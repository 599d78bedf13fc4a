/** Decides when to check a job's sources for expected exports, and notifies of the results. The ledger has the judgements. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Job } from '../definitions/definition-files.ts'
import { expectationKey, type JobSource, sourceName } from '../definitions/export-definition.ts'
import { whileWanted } from '../extract/sources/receive-file.ts'
import { compilePattern, matchExportName } from '../extract/sources/source.ts'
import type { DeadlineRecord, Ledger } from '../ledger/ledger.ts'
import { allDone, WaybillError } from '../model/errors.ts'
import type { UnsentNotice } from '../notify/notice.ts'
import { createArrival, type SourceLook, type SourceSettings } from '../run/arrival.ts'
import { knownKeys, takenFrom } from '../run/find-exports.ts'
import type { LookPlan } from '../schedule/schedule-parts.ts'
import { type Assessment, expectationNotices, type WatchedSource } from './expectation-text.ts'
import {
  type ArrivedFile,
  type Deadline,
  type EarlierJudgement,
  judge,
  latestDeadline,
  lateUntil,
} from './judge.ts'

/** Wait before the next check for a missing export, or of an unreachable source. */
const AGAIN_MS = 15 * 60_000

export interface ExpectationParts extends AssessmentParts {
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
  // More files that arrive change no subject as long as the state is the same.
  const isNews = own === undefined || own.state !== record.state || own.small !== record.small
  if (isNews && record.state !== 'seen') {
    // Before the record: a process killed in between notifies again, and each subject is notified once.
    for (const notice of expectationNotices(assessment, parts.gatewayOf(watched.job)))
      await parts.tell(watched.job, notice)
  }
  await parts.ledger.expectations.judge(record)
  return assessment
}

const DATES = 3

interface AssessmentParts {
  readonly ledger: Pick<Ledger, 'expectations'>
  readonly sources: SourceSettings
  readonly now: () => number
  /** Makes a signal for one check: aborts when nobody waits for the answer any more; with a `TimeoutError` after too long a time. */
  readonly patience: () => AbortSignal
}

export const watchedSources = (job: Job): WatchedSource[] =>
  job.sources.flatMap((source) => {
    const { expect } = source
    if (expect === undefined) return []
    return [{ job, source, expect, key: expectationKey(job.definition.job, source, expect) }]
  })

/** @param judged earlier judgements of the source */
async function assess(
  { ledger, sources, now, patience }: AssessmentParts,
  watched: WatchedSource,
  deadline: Deadline,
  judged: readonly DeadlineRecord[],
): Promise<Assessment> {
  const { source, expect, key } = watched
  const at = now()
  const common = { watched, deadline, at }
  let look: SourceLook
  try {
    look = await lookAt(source, sources, at, patience())
  } catch (error) {
    if (!(error instanceof WaybillError) || error.code === 'interrupted') throw error
    const nothing = { arrived: [], small: [], waiting: [], latestDates: [], known: null }
    return { ...common, ...nothing, state: 'unreachable', error }
  }
  const found = look.complete.map(({ delivery }): ArrivedFile => delivery)
  const taken = await takenFrom(ledger, key, look.address)
  const question = { expected: expect, deadline, now: at, found, taken, earlier: judged.map(remembered) }
  const { state, arrived, small, known } = judge(question)
  const latestDates = datesOf(source.match, [...found, ...taken])
  return {
    ...common,
    state,
    arrived,
    small,
    waiting: look.waiting,
    latestDates,
    known: JSON.stringify(known),
  }
}

/** Record for the ledger. @param first true for the first judgement: its state becomes `seen` */
const recordOf = (
  { watched, deadline, at, state, arrived, small, known }: Assessment,
  first: boolean,
): DeadlineRecord => ({
  ...watched.key,
  due: deadline.due,
  judged_at: at,
  state: first && state !== 'unreachable' ? 'seen' : state,
  expected: watched.expect.count,
  arrived: arrived.length,
  small: small.length,
  known,
})

function remembered({ due, judged_at, state, expected, arrived, known }: DeadlineRecord): EarlierJudgement {
  return {
    due,
    judgedAt: judged_at,
    known: knownKeys(known),
    missing: state === 'missing' ? expected - arrived : 0,
    wasShort: state === 'missing' || state === 'late',
  }
}

/** Lists a source, in a folder of random name, readable by its owner alone: manifests are fetched to find complete exports. */
async function lookAt(
  source: JobSource,
  settings: SourceSettings,
  now: number,
  patience: AbortSignal,
): Promise<SourceLook> {
  const spool = await mkdtemp(join(tmpdir(), 'waybill-expect-'))
  const arrival = createArrival(spool, { ...settings, signal: patience })
  try {
    return await whileWanted(arrival.look(source, now), patience)
  } catch (error) {
    throw patience.aborted ? endedBy(patience.reason, source) : error
  } finally {
    const closed = arrival.close(false)
    // A server that does not answer may not answer the close either.
    if (patience.aborted) closed.catch(() => {})
    else await closed
    await rm(spool, { recursive: true, force: true })
  }
}

const endedBy = (reason: unknown, source: JobSource): WaybillError =>
  reason instanceof DOMException && reason.name === 'TimeoutError'
    ? new WaybillError('source-unreachable', `${sourceName(source)} did not answer in time`)
    : new WaybillError('interrupted', 'interrupted during the check for expected exports')

function datesOf(match: string, files: readonly ArrivedFile[]): string[] {
  const pattern = compilePattern(match)
  const dates = files.flatMap(({ name }) => matchExportName(pattern, name)?.date ?? [])
  return [...new Set(dates)].sort().slice(-DATES)
}
