/** What a run tells those who watch it. Names, positions, counts and codes; no health data. */
import type { Exception, RunEnd, Tallies } from '../ledger/ledger.ts'
import type { BatchAnswer } from '../load/batch-answer.ts'
import type { ToldOutage } from '../load/sending.ts'
import type { Counts } from '../model/balance.ts'
import type { WaybillError } from '../model/errors.ts'
import type { SmallDelivery } from './small-exports.ts'

/** Of an export, so far; `counts` goes on counting, and holds what an earlier process has settled of it. */
export interface ExportProgress {
  readonly name: string
  readonly counts: Counts
  /** Of the file, from 0 to 1, that is settled. */
  readonly share: number
}

/** Where a delivery stands among those of a backfill. Bytes are those of the files as delivered. */
export interface RangePosition {
  readonly number: number
  readonly of: number
  readonly bytes: number
  readonly bytesBefore: number
  readonly bytesOfAll: number
}

/** A row or record that did not get through, or a warning about one that did. */
export interface LeftBehind
  extends Pick<Exception, 'row' | 'line' | 'rule' | 'outcome' | 'stage' | 'code' | 'batchId'> {
  /** Undefined for a row that was rejected as a whole, and a record that could not be made. */
  readonly transaction: string | undefined
}

export interface OutageProgress extends ToldOutage {
  /** Records in hand. */
  readonly pending: number
}

export interface RunEvents {
  /** `tallies` goes on counting, and holds what earlier processes have counted of a run that is resumed. */
  runStarted(run: {
    readonly id: string
    readonly job: string
    readonly gateway: string
    readonly resumed: boolean
    readonly tallies: Readonly<Tallies>
    /** Whether no more than what it has under way is settled, so that another run of its job can begin. */
    readonly settledOnly?: boolean | undefined
    /** Whether the ledger has no other run. */
    readonly isFirst?: boolean | undefined
  }): void
  /** Before it begins, a run that takes up what another one left looks for the exports of that one. */
  lookingAgain?:
    | ((at: { readonly run: string; readonly number: number; readonly of: number }) => void)
    | undefined
  /** It is strangely small against earlier ones of its source; nobody was told of it before. It is run as any other. */
  exportSmall?: ((small: SmallDelivery) => void) | undefined
  exportStarted(
    started: ExportProgress & {
      readonly bytes: number
      /** Of a backfill: which of its deliveries, where it is known. */
      readonly position?: RangePosition | undefined
    },
  ): void
  /** A chunk is settled. @param left what of it did not get through, put together when it is asked for */
  exportAdvanced(progress: ExportProgress, left: () => readonly LeftBehind[]): void
  exportEnded(name: string, counts: Counts): void
  /** It was not read to its end. What chunks before have delivered stays delivered. */
  exportFailed(name: string, error: WaybillError): void
  /** It was run, and stays where it is. */
  exportNotArchived(name: string, error: WaybillError): void
  /** A request that carried records came to an end. Where nobody is told, nothing is put together. */
  batchAnswered?: ((batch: BatchAnswer) => void) | undefined
  waiting(event: {
    readonly operation: string
    readonly waitMs: number
    readonly class: string
    /** What happened last: the call, and its answer or what was wrong with the connection. */
    readonly what: string
    readonly givesUpAt: number
  }): void
  /**
   * Nothing gets through to the gateway, or something does again. Told when that begins, when it has another cause, and when it is over; not
   * where the run ends first.
   */
  outage(outage: OutageProgress): void
  /** This run waits for another one. Told once for each that is waited for. */
  waitingForRun(other: {
    readonly job: string
    /** Undefined where that one waits, too, and has no run yet. */
    readonly run?: string
    /** `host:pid` */
    readonly owner: string
    /** Milliseconds since the epoch. */
    readonly since: number
    /** Whether that is a backfill, which lets this run go first. */
    readonly givesWay?: boolean | undefined
  }): void
  /** @param end with the milliseconds at work since it was begun or resumed */
  runEnded(end: Omit<RunEnd, 'endedAt' | 'detail'> & { readonly workedMs: number }): void
}
