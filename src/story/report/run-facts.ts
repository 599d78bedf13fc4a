/**
 * Facts of a run for a report, from the ledger; reads no file. Work over time comes from the working time of the run at the settlement of each
 * chunk.
 */
import type { ChunkRecord, Ledger, Reason } from '../../ledger/ledger.ts'
import { allRecords, type RecordCounts, readCounts } from '../../model/balance.ts'
import { WaybillError } from '../../model/errors.ts'
import { reasonsOfRun } from '../../run/held-back.ts'
import { present } from '../../system/shown-text.ts'
import { activityOf, type ExportSummary, type RunSummary, summarise } from '../facts.ts'

/** Instants are milliseconds since the epoch. */
export interface RunFacts {
  readonly summary: RunSummary
  /** Most frequent first; empty for a pruned run. */
  readonly reasons: readonly Reason[]
  readonly startedAt: number
  /** End or interruption of the run; undefined for a run under way. */
  readonly endedAt: number | undefined
  /** IANA zone of the job's schedule, if known. */
  readonly zone: string | undefined
  readonly exports: readonly ExportFacts[]
  /** Rows of chunks in flight, without an outcome yet. */
  readonly rowsInHand: number
  /** A span for each settled chunk, in their order; empty for a pruned run. */
  readonly work: readonly WorkSpan[]
}

export interface ExportFacts extends ExportSummary {
  readonly bytes: number
  /** SHA-256 of the mapping with its catalog and tables, as the run used them. */
  readonly mappingDigest: string
}

export interface FactSources {
  readonly ledger: Ledger
  /** Folder of the installation; the summary has paths within. */
  readonly home: string
  /** Milliseconds since the epoch. */
  readonly now: number
  /** True if the process is known to have ended. */
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
    // Chunks settled together follow the order of the clock, which may have been set back.
    const paused = Math.max(0, at - before.at - (to - from))
    work.push({ from, to, paused, rows: counts.rows.read, records: allRecords(counts) })
    before = { at, to }
  }
  const rowsInHand = chunks.reduce((sum, { state, rows }) => sum + (state === 'open' ? rows : 0), 0)
  return { rowsInHand, work }
}

/** Shortest pause to show: a batch that waits its turn takes as long. */
const SHORTEST_PAUSE_MS = 1_000

/** Outcome of one settlement, and its working time. */
export interface WorkSpan {
  /** Working time of the run, in milliseconds, before the settlement. */
  readonly from: number
  /** Working time of the run, in milliseconds, with the settlement. */
  readonly to: number
  /** Milliseconds within the span in which the run did not work. */
  readonly paused: number
  readonly rows: number
  /** All kinds together. */
  readonly records: RecordCounts
}

/** A part of the working time, and the work in it. */
export interface Bin {
  /** Working time before the bin, in milliseconds; `length` is the length of the bin. */
  readonly at: number
  readonly length: number
  readonly rows: number
  readonly records: RecordCounts
}

export interface Throughput {
  readonly worked: number
  readonly bins: readonly Bin[]
  /** Pauses by working time, in milliseconds, and their lengths. */
  readonly pauses: readonly { readonly at: number; readonly length: number }[]
}

/**
 * Distributes work over time: the rows and records of a span count as spread evenly over it.
 * @param spans in their order, each from the end of the one before
 * @param worked working time of the whole run: unsettled work takes time, too
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

/** Share of a span within a bin: 0 to 1, and 1 over all bins. A span without length belongs to the bin around it. */
function shareWithin({ from, to }: WorkSpan, index: number, length: number, binCount: number): number {
  if (to === from) return Math.min(binCount - 1, Math.floor(to / length)) === index ? 1 : 0
  const start = index * length
  // The last bin reaches to the end, despite rounding.
  const end = index === binCount - 1 ? Number.POSITIVE_INFINITY : start + length
  return Math.max(0, Math.min(to, end) - Math.max(from, start)) / (to - from)
}
