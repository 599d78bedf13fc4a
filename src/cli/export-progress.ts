/** What of a run's progress is shown: a bar for each export; of a backfill one for all of its range. */

import { addCounts, allRecords, type Counts, noCounts } from '../model/balance.ts'
import type { ExportProgress, RangePosition } from '../run/events.ts'
import { counted, n } from '../shown-text.ts'
import type { Progress, ProgressState } from '../telemetry/progress.ts'

/** Of more exports than this only those leave a line of which something was left behind. */
const LINES_OF_EXPORTS = 10

export interface ShownProgress {
  started(export_: ExportProgress & { readonly position?: RangePosition | undefined }): void
  advanced(export_: ExportProgress): void
  ended(name: string, counts: Counts): void
  /** Nothing of the export was sent. */
  failed(): void
  /** @param finished whether all exports were run */
  runEnded(finished: boolean): void
}

export function showProgress(progress: Progress): ShownProgress {
  /** Of the range: what this process has ended of it. */
  let ended: Counts | undefined
  let position: RangePosition | undefined
  let state: ProgressState | undefined
  const ofRange = ({ name, counts, share }: ExportProgress, at: RangePosition): ProgressState => {
    const { number, of, bytes, bytesBefore, bytesOfAll } = at
    const all = noCounts()
    addCounts(all, ended ?? noCounts())
    addCounts(all, counts)
    const done = bytesOfAll === 0 ? 0 : (bytesBefore + share * bytes) / bytesOfAll
    // Members of an archive are exports of their own, each from 0 to 1.
    state = { ...stateOf(all, Math.max(done, state?.share ?? 0)), at: { name, number, of } }
    return state
  }
  return {
    started(export_) {
      position = export_.position
      if (position === undefined) {
        if (ended !== undefined) progress.stop()
        ended = undefined
        progress.start(export_.name, stateOf(export_.counts, export_.share))
        return
      }
      if (ended !== undefined) {
        progress.advance(ofRange(export_, position))
        return
      }
      ended = noCounts()
      state = undefined
      progress.start(rangeLabel(position), ofRange(export_, position))
    },
    advanced(export_) {
      const { counts, share } = export_
      progress.advance(position === undefined ? stateOf(counts, share) : ofRange(export_, position))
    },
    ended(name, counts) {
      if (position === undefined || ended === undefined) {
        progress.end(stateOf(counts, 1))
        return
      }
      const { made, rejected, inDoubt } = allRecords(counts)
      const left = counts.rows.rejected + rejected + inDoubt
      if (left > 0 || position.of <= LINES_OF_EXPORTS) {
        const behind = left === 0 ? '' : `, ${n(left)} left behind`
        progress.note(`${name}: ${n(counts.rows.read)} rows, ${n(made)} records${behind}`)
      }
      progress.advance(ofRange({ name, counts, share: 1 }, position))
      addCounts(ended, counts)
    },
    failed() {
      if (ended === undefined) progress.stop()
    },
    runEnded(finished) {
      if (finished && ended !== undefined) progress.end({ ...stateOf(ended, 1) })
      else progress.stop()
      ended = undefined
    },
  }
}

/** Counts are those of this process: where it has gone on with the range, of the exports from there on. */
const rangeLabel = ({ number, of }: RangePosition): string =>
  number === 1 ? `Backfill of ${counted(of, 'export')}` : `Backfill, exports ${n(number)} to ${n(of)}`

const stateOf = (counts: Counts, share: number): ProgressState => ({
  rows: counts.rows.read,
  records: allRecords(counts).made,
  share,
})
