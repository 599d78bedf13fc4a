/** Plan of a run, as data. `src/runs/` makes plans; `src/run/execute.ts` carries them out. */
import type { Job, LoadedMapping } from '../definitions/definition-files.ts'
import type { JobSource } from '../definitions/export-definition.ts'
import type { AsideContents } from '../ledger/audit.ts'
import type {
  BackfillRange,
  ExportRecord,
  Resolution,
  Ruled,
  RunOrigin,
  RunRecord,
} from '../ledger/ledger.ts'
import type { WithdrawnEntry } from '../model/entry.ts'
import type { DriftMemory } from '../watch/drift-watch.ts'
import type { Suspicion } from '../watch/judge-fit.ts'
import type { Arrival, ReceivedExport } from './arrival.ts'
import type { Chunk } from './chunks.ts'
import type { RunDependencies } from './events.ts'
import type { FoundExport } from './find-exports.ts'
import type { HeldJob, Pausing } from './lease.ts'

/** Plan with records to be sent. */
export interface RunPlan {
  readonly records: 'send'
  readonly job: Job
  /** Id of the run, new or resumed. */
  readonly id: string
  /** Unfinished run to resume; undefined: a new run. */
  readonly resumed: RunRecord | undefined
  readonly exports: PlannedExports
  /** Rows to take of each export at most. */
  readonly limit: number
  /** Set for a new run that takes up records left behind by another run. */
  readonly origin?: RunOrigin
  /** Part that a new run takes: named exports, or no exports and only owed work. */
  readonly part?: 'files' | 'owed'
  /** Set if the run only settles work in flight, so that another run of its job can begin. */
  readonly settlesOnly?: true
  /** Range of a backfill, new or resumed. */
  readonly backfill?: BackfillRange
}

/** Plan with records to be counted, as far as mapping goes: nothing is sent, and nothing recorded. */
export interface CountPlan extends Pick<RunPlan, 'job' | 'limit'> {
  readonly records: 'count'
  readonly exports: Extract<PlannedExports, { from: 'found' }>
}

/** Exports of a plan, with their mappings. */
export type PlannedExports =
  /** Exports left open by an earlier process, with their original mapping. */
  | { from: 'unfinished'; run: RunRecord }
  /** Deliveries, with current mappings. */
  | (WithMappings & { from: 'found'; found: readonly FoundExport[] })
  /** Unfinished exports of a range of days. `sources`: where the exports lie. */
  | (WithMappings & {
      readonly from: 'range'
      readonly range: BackfillRange
      readonly sources: readonly JobSource[]
    })
  /** Rows from the exports of another run; decisions of a person on them are recorded before they are read. */
  | {
      readonly from: 'run'
      readonly chosen: readonly ChosenExport[]
      readonly decided?: { decisions: readonly Ruled[]; resolution: Resolution }
    }

interface WithMappings {
  readonly mappings: ReadonlyMap<string, LoadedMapping>
  /** Accepts exports, however different from earlier deliveries. */
  readonly acceptDrift: boolean
}

export interface ChosenExport {
  readonly record: ExportRecord
  readonly received: ReceivedExport
  readonly mapping: LoadedMapping
}

/** Records of a chunk delivered by an earlier run of the job. */
export interface DeliveredBefore {
  /** Number of unchanged records. */
  readonly records: number
  /** Results withdrawn by the source since, and not yet reported. */
  readonly withdrawn: readonly WithdrawnEntry[]
  /** Hashed references of people with a changed name. */
  readonly renamed: readonly string[]
}

/** Dependencies for carrying out a plan that counts. */
export interface CountWorld extends Pick<RunDependencies, 'identity' | 'events' | 'now'> {
  readonly arrival: Arrival
  /** Counts records of a chunk delivered before; undefined if the job never ran at this gateway. */
  readonly countDelivered?:
    | ((chunk: Pick<Chunk, 'entries' | 'withdrawn'>) => Promise<DeliveredBefore>)
    | undefined
  /** Suspicions against a mapping, from the names of columns, by the name of the mapping. */
  readonly doubts: ReadonlyMap<string, readonly Suspicion[]>
  /** Contents that a person has put aside, to pass over. */
  readonly aside: AsideContents
  /** Earlier deliveries; undefined without a ledger. */
  readonly ledger: DriftMemory['ledger'] | undefined
}

/** Dependencies for carrying out a plan that sends, while this process holds the job. */
export interface World extends RunDependencies {
  readonly held: HeldJob
  readonly arrival: Arrival
  /**
   * Resolves when a chunk, by number, may begin. @throws the error that ends the run once the chunks in flight are settled
   * @param signal aborted when the run is to stop
   * @param pausing awaits without counting the time as work
   */
  readonly turn?: (signal: AbortSignal, chunk: number, pausing: Pausing) => Promise<void>
  /** Called before each delivery of a range. */
  readonly onDelivery?: () => void
}
