/** Compares the expectation of a job's source with the files there: gathers the facts for the judgement. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Job } from '../definitions/definition-files.ts'
import {
  type Expectation,
  expectationKey,
  type JobSource,
  sourceName,
} from '../definitions/export-definition.ts'
import type { WaitingExport } from '../extract/arrival/verify-delivery.ts'
import { whileWanted } from '../extract/sources/receive-file.ts'
import { compilePattern, matchExportName } from '../extract/sources/source.ts'
import type { DeadlineRecord, DeadlineState, ExpectationKey, Ledger } from '../ledger/ledger.ts'
import { WaybillError } from '../model/errors.ts'
import { createArrival, type SourceLook, type SourceSettings } from '../run/arrival.ts'
import { knownKeys, takenFrom } from '../run/find-exports.ts'
import { type ArrivedFile, type Deadline, type EarlierJudgement, type Judgement, judge } from './judge.ts'

const DATES = 3

/** A source with an expectation. */
export interface WatchedSource {
  readonly job: Job
  readonly source: JobSource
  readonly expect: Expectation
  readonly key: ExpectationKey
}

export interface Assessment extends Omit<Judgement, 'state' | 'known'> {
  readonly watched: WatchedSource
  readonly deadline: Deadline
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly state: Exclude<DeadlineState, 'seen'>
  /** Exports at the source that are incomplete. */
  readonly waiting: readonly WaitingExport[]
  /** Latest dates in the names of arrived exports, of any time; `2026-03-02`. Empty for names without dates. */
  readonly latestDates: readonly string[]
  readonly error?: WaybillError
  /** Keys that count for no later deadline, as JSON; null if the source could not be checked. */
  readonly known: string | null
}

export interface AssessmentParts {
  readonly ledger: Pick<Ledger, 'expectations'>
  /** Credentials and keys of the sources. */
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
export async function assess(
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
export const recordOf = (
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
