/** The job's own limit for bad exports: too many rejected rows, and the run stops before it sends more. */
import { WaybillError } from '../model/errors.ts'
import type { ChunkRow } from './chunks.ts'

export interface StopWhen {
  /**
   * Looks at a chunk before it is sent.
   * @param underWay whether an earlier process has begun with it: then it counts and stops nothing, as what of it was sent must be settled
   * @throws WaybillError `threshold-passed`
   */
  look(rows: readonly ChunkRow[], underWay: boolean): void
}

/** Rows of the run, as far as they are settled. */
export interface RowsBefore {
  readonly read: number
  readonly rejected: number
}

/**
 * @param limit share of rows rejected, judged once `after` rows were read; undefined: never stops
 * @param before what the run had read before it was resumed
 */
export function createStopWhen(
  limit: { rejectedRows: number; after: number } | undefined,
  before: RowsBefore = { read: 0, rejected: 0 },
): StopWhen {
  let { read, rejected } = before
  return {
    look(rows, underWay) {
      if (limit === undefined) return
      read += rows.length
      for (const { outcome } of rows) if (outcome.outcome === 'rejected') rejected++
      if (underWay) return
      if (read < limit.after || rejected / read <= limit.rejectedRows) return
      const share = (rate: number): string => `${(rate * 100).toFixed(1)} %`
      throw new WaybillError(
        'threshold-passed',
        `${rejected} of ${read} rows were rejected (${share(rejected / read)}); stopWhen.rejectedRows allows ${share(limit.rejectedRows)}`,
      )
    },
  }
}
