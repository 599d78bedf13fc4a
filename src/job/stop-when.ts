/** The job's own limit for bad exports: too many rejected rows, and the run stops before it sends more. */
import { WaybillError } from '../errors.ts'
import type { ChunkRow } from './chunks.ts'

export interface StopWhen {
  /** Looks at a chunk before it is sent. @throws WaybillError `threshold-passed` */
  look(rows: readonly ChunkRow[]): void
}

/** @param limit share of rows rejected, judged once `after` rows were read; undefined: never stops */
export function createStopWhen(limit: { rejectedRows: number; after: number } | undefined): StopWhen {
  let read = 0
  let rejected = 0
  return {
    look(rows) {
      if (limit === undefined) return
      read += rows.length
      for (const { outcome } of rows) if (outcome.outcome === 'rejected') rejected++
      if (read < limit.after || rejected / read <= limit.rejectedRows) return
      const share = (rate: number): string => `${(rate * 100).toFixed(1)} %`
      throw new WaybillError(
        'threshold-passed',
        `${rejected} of ${read} rows were rejected (${share(rejected / read)}); stopWhen.rejectedRows allows ${share(limit.rejectedRows)}`,
      )
    },
  }
}
