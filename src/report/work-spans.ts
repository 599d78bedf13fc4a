/** When a run was at work, from the instants at which its chunks settled. Pure; instants are milliseconds since the epoch. */
import type { RecordCounts } from '../reconcile/balance.ts'

/** Longer than this without a sign of work is a pause: the run was interrupted, or the gateway did not answer. */
export const PAUSE_MS = 60_000

/** A stretch of work, and what it came to. */
export interface WorkSpan {
  readonly from: number
  readonly to: number
  readonly rows: number
  /** All kinds together. */
  readonly records: RecordCounts
}

/** From when on there was work that ended at `to`: after the last pause since `earliest`. @param signs of work in between, in any order */
export function workedFrom(earliest: number, to: number, signs: readonly number[]): number {
  let from = earliest
  let last = earliest
  for (const sign of [...signs.filter((one) => one > earliest && one < to), to].sort((a, b) => a - b)) {
    if (sign - last > PAUSE_MS && sign < to) from = sign
    last = sign
  }
  return from
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
  /** Milliseconds, without the pauses. */
  readonly worked: number
  readonly bins: readonly Bin[]
  /** After how many milliseconds at work, and how long. */
  readonly pauses: readonly { readonly at: number; readonly length: number }[]
}

/**
 * Work by time: what a span came to counts as done evenly within it. Pauses are cut out.
 * @param spans in the order of their ends, none reaching back behind the end of the one before
 */
export function throughputOf(spans: readonly WorkSpan[], binCount: number): Throughput {
  const pauses: { at: number; length: number }[] = []
  const placed: { from: number; to: number; span: WorkSpan }[] = []
  let worked = 0
  let last = spans[0]?.from ?? 0
  for (const span of spans) {
    const hole = span.from - last
    if (hole > PAUSE_MS) pauses.push({ at: worked, length: hole })
    else worked += Math.max(0, hole)
    const from = worked
    worked += Math.max(0, span.to - span.from)
    placed.push({ from, to: worked, span })
    last = Math.max(last, span.to)
  }
  const length = worked / binCount
  const bins = Array.from({ length: worked > 0 ? binCount : 0 }, (_, index) => {
    const records = { made: 0, accepted: 0, rejected: 0, unchanged: 0, inDoubt: 0, pending: 0 }
    const bin = { at: index * length, length, rows: 0, records }
    for (const { from, to, span } of placed) {
      const share = shareWithin(from, to, index, length, binCount)
      if (share === 0) continue
      bin.rows += span.rows * share
      for (const key of Object.keys(records) as (keyof RecordCounts)[])
        records[key] += span.records[key] * share
    }
    return bin
  })
  return { worked, bins, pauses }
}

/** What of a span lies within a bin: 0 to 1, and 1 over all bins. What took no time belongs to the bin that it lies in. */
function shareWithin(from: number, to: number, index: number, length: number, binCount: number): number {
  if (to === from) return Math.min(binCount - 1, Math.floor(to / length)) === index ? 1 : 0
  const start = index * length
  // The last one reaches to the end, however the division came out.
  const end = index === binCount - 1 ? Number.POSITIVE_INFINITY : start + length
  return Math.max(0, Math.min(to, end) - Math.max(from, start)) / (to - from)
}
