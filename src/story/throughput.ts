/** Work of a run over time, from the working time of the run at the settlement of each chunk. Pure. */
import type { ChunkRecord } from '../ledger/ledger.ts'
import { allRecords, type RecordCounts, readCounts } from '../model/balance.ts'
import type { DetailedStory, WorkSpan } from './run-story.ts'

/** @param chunks of all exports */
export function workOf(
  chunks: readonly ChunkRecord[],
  startedAt: number,
): Pick<DetailedStory, 'rowsInHand' | 'work'> {
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
