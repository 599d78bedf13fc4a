/** What a run begins as: an ordinary run of its job, one that takes up what another one left, or a backfill. */
import type { RunPart, Selection } from './tables.ts'

export interface RunStart {
  readonly id: string
  readonly jobId: number
  readonly startedAt: number
  readonly rejectsPath: string
  readonly receiptsPath: string
  /** Where it takes up what another run left behind. */
  readonly origin?: RunOrigin | undefined
  /** Where it is a backfill: of which range. */
  readonly backfill?: BackfillRange | undefined
  /** Where it does not read all that the job finds. */
  readonly part?: RunPart | undefined
}

/** Days of the names of exports, both included: `2026-01-31`. */
export interface BackfillRange {
  readonly from: string
  readonly to: string
  /** The folder that its exports lie in, where that is not the place of the job. */
  readonly in?: string | undefined
}

/** A job may have one unfinished run of each kind. */
export type RunKind = 'ordinary' | 'backfill'

export interface RunOrigin {
  readonly run: string
  readonly selection: Selection
}
