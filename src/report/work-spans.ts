/** What a run did over its time at work, from what it had worked when each chunk was settled. Pure; times are milliseconds. */
import type { RecordCounts } from '../model/balance.ts'

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
