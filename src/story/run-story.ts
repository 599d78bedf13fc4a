/** Story of a run: the ledger's knowledge as one plain value, the source of every face of a run. Types only. */
import type {
  BackfillRange,
  Reading,
  Reason,
  Resolution,
  RunOrigin,
  Tallies,
  UntoldTarget,
} from '../ledger/ledger.ts'
import type { CodeCount, Counts, RecordCounts } from '../model/balance.ts'
import type { ExitCode } from '../model/errors.ts'
import type { Collection } from '../run/collection-files.ts'
import type { WaitsForGateway } from '../run/events.ts'
import type { RunEnd } from '../run/execute.ts'
import type { ExportDrift } from '../watch/drift-watch.ts'
import type { ExportProfile } from '../watch/export-profile.ts'

export interface RunStory {
  readonly summary: RunSummary
  /** Reasons of rows and records held back or left behind, most frequent first; empty once pruned. */
  readonly reasons: readonly Reason[]
}

/** A run in a list. */
export interface ListedRun extends RunSummary {
  /** Most frequent reason of the rows and records still left behind. */
  readonly mostFrequent?: CodeCount
}

/** Story of a run ended by this process. */
export interface JobEnd extends RunStory {
  readonly exit: ExitCode
  readonly error?: RunEnd['error']
  /** Unfinished run that was finished first. */
  readonly resumed?: RunStory
}

/** Story with the figures of a page. */
export interface DetailedStory extends RunStory {
  readonly startedAt: number
  /** End or interruption of the run; undefined for a run under way. */
  readonly endedAt: number | undefined
  /** IANA zone of the job's schedule, if known. */
  readonly zone: string | undefined
  readonly exports: readonly DetailedExport[]
  /** Rows of chunks in flight, without an outcome yet. */
  readonly rowsInHand: number
  /** A span for each settled chunk, in order; empty for a pruned run. */
  readonly work: readonly WorkSpan[]
}

export interface DetailedExport extends ExportSummary {
  readonly bytes: number
  /** SHA-256 of the mapping with catalog and tables, as used by the run. */
  readonly mappingDigest: string
}

/** Outcome and working time of one settlement. */
export interface WorkSpan {
  /** Working time of the run, in milliseconds, before the settlement. */
  readonly from: number
  /** Working time of the run, in milliseconds, with the settlement. */
  readonly to: number
  /** Milliseconds within the span in which the run did not work. */
  readonly paused: number
  readonly rows: number
  readonly records: RecordCounts
}

export interface ExportSummary {
  readonly name: string
  /** Parts read together by workers, until the export has ended. */
  readonly parts?: readonly {
    /** From 1. */
    readonly part: number
    /** `stopped`: by an error, perhaps of the worker alone; `failed`: as the export, or the run, is over. */
    readonly state: 'open' | 'settled' | 'stopped' | 'failed'
    /** Settled rows. */
    readonly rows: number
    /** Number of takes by workers. */
    readonly takes: number
    /** Worker with the part, alive or lately dead: `host:pid`. */
    readonly worker?: string
    /** ISO 8601, UTC: when the worker has taken the part. */
    readonly since?: string
  }[]
  readonly sha256: string
  readonly rows: number
  readonly state: string
  readonly counts: Counts
  readonly mapping?: string
  readonly reading: Reading
  /** Current path: where the export was read, or where Waybill archived it. Undefined for a missing, fetched or packed file. */
  readonly file?: string
  readonly rejects?: string
  /** Records by rule, and quartiles of many values, for a whole export compared with earlier deliveries. */
  readonly measured?: ExportProfile['measured']
  readonly error?: string
  readonly detail?: string
  /** Remedy, where the code alone does not give one. */
  readonly remedy?: string
  /** Message of the archive, if this delivered export was refused. */
  readonly unarchived?: string
  /** Path of a failed export, as named by the operator. */
  readonly named?: string
  /** Later run of the job with an export of this name read to the end, for a failed export. */
  readonly readSince?: string
  /** Decision by which later runs pass over this failed export. */
  readonly putAside?: { readonly by: string; readonly note?: string; readonly at: string }
}

/** The sum is all open problems of a run: rows and records rejected or in doubt, and actions owed on care teams. */
interface LeftBehind {
  readonly new: number
  readonly known: number
  /** Start of the first run with the earliest known problem: ISO 8601, UTC. */
  readonly since?: string
}

export interface RunSummary
  extends Omit<Counts, 'warnings' | 'leftOut'>,
    Pick<Tallies, 'accounts' | 'requests' | 'primaryCare' | 'careTeams'> {
  readonly run: string
  readonly job: string
  readonly gateway: string
  readonly state: string
  readonly reason?: string
  readonly detail?: string
  /** Exit code by the current state of the run; undefined until the run is over. */
  readonly exit?: ExitCode
  /** Activity of an unfinished run, if requested. */
  readonly activity?: RunActivity
  /** Gateway in the settings, if requested and different. */
  readonly settingsName?: string
  /** Targets not yet notified, if requested; undefined if all were notified. */
  readonly untold?: readonly UntoldTarget[]
  /** Exports with rejects, delivered again with new content, and the run that read the new content to the end, if requested. */
  readonly anew?: readonly { readonly export: string; readonly run: string }[]
  /** Run whose left-behind records this run took up. */
  readonly origin?: RunOrigin
  /** Range of a backfill, the folder of the exports if not the job's, and further options. */
  readonly backfill?: BackfillRange
  /** Number of rejects settled by each later run. */
  readonly settled?: readonly { readonly run: string; readonly count: number }[]
  /** Decisions by people, oldest first. */
  readonly decided?: readonly (Pick<Resolution, 'decision' | 'by'> & {
    readonly code?: string
    readonly note?: string
    readonly at: string
  })[]
  /** Acknowledgements in force: for one reason, or without a code for the whole run. */
  readonly acknowledged?: readonly { readonly code?: string; readonly by: string; readonly at: string }[]
  /** Counts of records left behind for the first time, and by an earlier run, too; undefined once the detail was pruned. */
  readonly leftBehind?: LeftBehind
  /** Time of pruning: batches, reasons and files are gone, the balance remains. */
  readonly pruned?: string
  readonly balanced: boolean
  /** The run is unfinished: no count includes unsettled work. */
  readonly soFar?: true
  /** Findings of checks with `warn`, most frequent first. */
  readonly warnings: readonly CodeCount[]
  /** Deliberate omissions of the mapping, by code, most frequent first. */
  readonly leftOut: readonly CodeCount[]
  readonly drift: readonly ExportDrift[]
  readonly exports: readonly ExportSummary[]
  readonly files: { readonly rejects?: string; readonly receipts?: string }
  /** Folder and files of a collecting run; an unfinished collection lies aside. */
  readonly collection?: Collection
  readonly startedAt: string
  readonly durationMs: number
}

/** `owner` is `host:pid`; instants in ISO 8601, UTC. */
export type RunActivity =
  | {
      readonly kind: 'under-way'
      readonly owner: string
      readonly since: string
      /** Set while nothing gets through to the gateway. */
      readonly waits?: WaitsForGateway
    }
  /** Killed, or the machine went down: the next run of the job resumes it. `owner`: the process that held the run, if known. */
  | {
      readonly kind: 'stopped'
      readonly owner?: string
      readonly lastSign: string
      /** True where workers share the ledger: one of them resumes the run, if a worker had it. */
      readonly byWorkers?: true
    }
