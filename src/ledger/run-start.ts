/** What a run begins as: an ordinary run of its job, one that takes up what another one left, or a backfill. */
import type { RunPart, RunRecord, Selection } from './tables.ts'

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
  /** Requests a second at most. */
  readonly rate?: number | undefined
  /** Whether exports are taken as they are, however they differ from earlier deliveries. */
  readonly acceptDrift?: boolean | undefined
}

/** As the ledger has it, without the folder: `2026-01-01/2026-03-31`, and then what else it was begun with: `/rate=5/accept-drift`. */
export const backfillText = ({ from, to, rate, acceptDrift }: BackfillRange): string =>
  [
    ...[from, to],
    ...(rate === undefined ? [] : [`rate=${rate}`]),
    ...(acceptDrift === true ? ['accept-drift'] : []),
  ].join('/')

/** Characters of that text that are the range. */
export const RANGE_LENGTH = '2026-01-01/2026-03-31'.length

/** A job may have one unfinished run of each kind. */
export type RunKind = 'ordinary' | 'backfill'

export interface RunOrigin {
  readonly run: string
  readonly selection: Selection
}

/** The run that another one takes up. */
export function originOf({ origin_run: run, selection }: RunRecord): RunOrigin | undefined {
  return run === null || selection === null ? undefined : { run, selection }
}
