/**
 * What a report says of a run, as the ledger knows it. No file is looked at. What it did over its time at work is counted from what it
 * had worked when each chunk was settled.
 */
import type { ChunkRecord, Ledger, Reason } from '../ledger/ledger.ts'
import { allRecords, type RecordCounts, readCounts } from '../model/balance.ts'
import { WaybillError } from '../model/errors.ts'
import { reasonsOfRun } from '../run/held-back.ts'
import { activityOf, type ExportSummary, type RunSummary, summarise } from '../run/summary.ts'
import { present } from '../shown-text.ts'

/** Instants are milliseconds since the epoch. */
export interface RunFacts {
  readonly summary: RunSummary
  /** Most frequent first; none of a run that was pruned. */
  readonly reasons: readonly Reason[]
  readonly startedAt: number
  /** Also when it was interrupted; undefined while it is under way. */
  readonly endedAt: number | undefined
  /** IANA zone of the job's schedule, where one has been seen. */
  readonly zone: string | undefined
  readonly exports: readonly ExportFacts[]
  /** Rows of chunks that are begun and not settled: no outcome is known of them yet. */
  readonly rowsInHand: number
  /** One a settled chunk, in their order; none of a run that was pruned. */
  readonly work: readonly WorkSpan[]
}

export interface ExportFacts extends ExportSummary {
  readonly bytes: number
  /** SHA-256 of the mapping with what belongs to it, as it was used. */
  readonly mappingDigest: string
}

export interface FactSources {
  readonly ledger: Ledger
  /** Folder of the installation, in which the summary names files. */
  readonly home: string
  /** Milliseconds since the epoch. */
  readonly now: number
  /** Whether the process is known to be gone. */
  readonly isDead: (owner: string) => boolean
}

/** @throws WaybillError `run-not-found` */
export async function gatherFacts(
  { ledger, home, now, isDead }: FactSources,
  runId: string,
): Promise<RunFacts> {
  const run = await ledger.run(runId)
  if (run === undefined) throw new WaybillError('run-not-found', `there is no run ${runId}`)
  const activity = await activityOf(ledger, run, now, isDead)
  const summary = { ...(await summarise(ledger, home, runId)), ...present({ activity }) }
  const records = await ledger.exportsOf(runId)
  return {
    summary,
    reasons: await reasonsOfRun(ledger, runId),
    startedAt: run.started_at,
    endedAt: run.ended_at ?? undefined,
    zone: (await ledger.fires.timetable(run.job_id))?.zone,
    exports: summary.exports.flatMap((one, at) => {
      const record = records[at]
      return record === undefined
        ? []
        : [{ ...one, bytes: record.bytes, mappingDigest: record.mapping_digest }]
    }),
    ...workOf(await ledger.chunksOfRun(runId), run.started_at),
  }
}

/** @param chunks of all exports */
function workOf(chunks: readonly ChunkRecord[], startedAt: number): Pick<RunFacts, 'rowsInHand' | 'work'> {
  const settled = chunks.flatMap(({ settled_at: at, worked_ms: to, counts }) =>
    at === null || to === null ? [] : [{ at, to, counts: readCounts(counts) }],
  )
  settled.sort((a, b) => a.to - b.to || a.at - b.at)
  const work: WorkSpan[] = []
  let before = { at: startedAt, to: 0 }
  for (const { at, to, counts } of settled) {
    const from = before.to
    // Two that were settled together stand in the order of the clock, which may have been set back.
    const paused = Math.max(0, at - before.at - (to - from))
    work.push({ from, to, paused, rows: counts.rows.read, records: allRecords(counts) })
    before = { at, to }
  }
  const rowsInHand = chunks.reduce((sum, { state, rows }) => sum + (state === 'open' ? rows : 0), 0)
  return { rowsInHand, work }
}

/** Shorter ones are not told: a batch that waits its turn takes as long. */
const SHORTEST_PAUSE_MS = 1_000

/** What was settled at once, and the time at work that it took. */
export interface WorkSpan {
  /** What the run had worked before it, and with it. */
  readonly from: number
  readonly to: number
  /** Time within it in which the run was not at work. */
  readonly paused: number
  readonly rows: number
  /** All kinds together. */
  readonly records: RecordCounts
}

/** A share of the time at work, and what was done in it. */
export interface Bin {
  /** Milliseconds at work before it, and its length. */
  readonly at: number
  readonly length: number
  readonly rows: number
  readonly records: RecordCounts
}

export interface Throughput {
  readonly worked: number
  readonly bins: readonly Bin[]
  /** After how many milliseconds at work at the earliest, and how long. */
  readonly pauses: readonly { readonly at: number; readonly length: number }[]
}

/**
 * Work by time: what a span came to counts as done evenly within it.
 * @param spans in their order, one beginning where the one before ends
 * @param worked by the run as a whole: what it has not settled took time, too
 */
export function throughputOf(spans: readonly WorkSpan[], worked: number, binCount: number): Throughput {
  const length = worked / binCount
  const bins = Array.from({ length: worked > 0 ? binCount : 0 }, (_, index) => {
    const records = { made: 0, accepted: 0, rejected: 0, unchanged: 0, inDoubt: 0, pending: 0 }
    const bin = { at: index * length, length, rows: 0, records }
    for (const span of spans) {
      const share = shareWithin(span, index, length, binCount)
      if (share === 0) continue
      bin.rows += span.rows * share
      for (const key of Object.keys(records) as (keyof RecordCounts)[])
        records[key] += span.records[key] * share
    }
    return bin
  })
  const pauses = spans
    .filter(({ paused }) => paused >= SHORTEST_PAUSE_MS)
    .map(({ from, paused }) => ({ at: from, length: paused }))
  return { worked, bins, pauses }
}

/** What of a span lies within a bin: 0 to 1, and 1 over all bins. What took no time belongs to the bin that it lies in. */
function shareWithin({ from, to }: WorkSpan, index: number, length: number, binCount: number): number {
  if (to === from) return Math.min(binCount - 1, Math.floor(to / length)) === index ? 1 : 0
  const start = index * length
  // The last one reaches to the end, however the division came out.
  const end = index === binCount - 1 ? Number.POSITIVE_INFINITY : start + length
  return Math.max(0, Math.min(to, end) - Math.max(from, start)) / (to - from)
}
