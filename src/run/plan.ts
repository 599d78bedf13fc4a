/** What a run is to do, as data. Plans are made in `src/runs/`; `src/run/execute.ts` carries them out. */
import type { Job, LoadedMapping } from '../definitions/definition-files.ts'
import type { JobSource } from '../definitions/export-definition.ts'
import type {
  BackfillRange,
  ExportRecord,
  Resolution,
  Ruled,
  RunOrigin,
  RunRecord,
} from '../ledger/ledger.ts'
import type { Suspicion } from '../mapping-tools/judge-fit.ts'
import type { WithdrawnEntry } from '../model/entry.ts'
import type { Arrival, ReceivedExport } from './arrival.ts'
import type { Chunk } from './chunks.ts'
import type { DriftMemory } from './drift-watch.ts'
import type { RunDependencies } from './events.ts'
import type { FoundExport } from './find-exports.ts'
import type { HeldJob, Pausing } from './lease.ts'

/** Its records are sent. */
export interface RunPlan {
  readonly records: 'send'
  readonly job: Job
  /** Of the run, new or resumed. */
  readonly id: string
  /** The unfinished run to go on with; undefined: a new one. */
  readonly resumed: RunRecord | undefined
  readonly exports: PlannedExports
  /** Rows to take of each export at most. */
  readonly limit: number
  /** Of a new run that takes up what another one left behind. */
  readonly origin?: RunOrigin
  /** Part that a new run takes: exports that were named, or none. */
  readonly part?: 'files' | 'owed'
  /** No more than what the run has under way is settled, so that another run of its job can begin. */
  readonly settlesOnly?: true
  /** Of a backfill, new or resumed. */
  readonly backfill?: BackfillRange
}

/** Its records are counted, as far as mapping them tells: nothing is sent, and nothing written down. */
export interface CountPlan extends Pick<RunPlan, 'job' | 'limit'> {
  readonly records: 'count'
  readonly exports: Extract<PlannedExports, { readonly from: 'found' }>
}

/** Which exports, and with which mapping. */
export type PlannedExports =
  /** Those that an earlier process left open, with the mapping that they had. */
  | { readonly from: 'unfinished'; readonly run: RunRecord }
  /** Deliveries, with today's mappings. */
  | (WithMappings & { readonly from: 'found'; readonly found: readonly FoundExport[] })
  /** What of a range of days is not finished. `sources`: where its exports lie. */
  | (WithMappings & {
      readonly from: 'range'
      readonly range: BackfillRange
      readonly sources: readonly JobSource[]
    })
  /** Rows of another run's exports; what a person has decided on them is written down before they are read. */
  | {
      readonly from: 'run'
      readonly chosen: readonly ChosenExport[]
      readonly decided?: { readonly decisions: readonly Ruled[]; readonly resolution: Resolution }
    }

interface WithMappings {
  readonly mappings: ReadonlyMap<string, LoadedMapping>
  /** Take exports as they are, however they differ from earlier deliveries. */
  readonly acceptDrift: boolean
}

export interface ChosenExport {
  readonly record: ExportRecord
  readonly received: ReceivedExport
  readonly mapping: LoadedMapping
}

/** Records of a chunk that an earlier run of the job has brought to the gateway. */
export interface DeliveredBefore {
  /** Records, as they are. */
  readonly records: number
  /** Results that the source has taken back since, of which nobody was told yet. */
  readonly withdrawn: readonly WithdrawnEntry[]
  /** Hashed references of people with another name than before. */
  readonly renamed: readonly string[]
}

/** What a plan whose records are counted is carried out in. */
export interface CountWorld extends Pick<RunDependencies, 'identity' | 'events' | 'now'> {
  readonly arrival: Arrival
  /** Counts records of a chunk that were delivered before; undefined where the job was never run at this gateway. */
  readonly countDelivered?:
    | ((chunk: Pick<Chunk, 'entries' | 'withdrawn'>) => Promise<DeliveredBefore>)
    | undefined
  /** What the names of columns say against a mapping, by its name. */
  readonly doubts: ReadonlyMap<string, readonly Suspicion[]>
  /** Earlier deliveries; undefined where there is no ledger yet. */
  readonly ledger: DriftMemory['ledger'] | undefined
}

/** What a plan whose records are sent is carried out in, while this process holds the job. */
export interface World extends RunDependencies {
  readonly held: HeldJob
  readonly arrival: Arrival
  /**
   * Resolves when a chunk, by its number, may be begun. @throws what ends the run once the chunks under way are settled
   * @param signal aborted when the run is to stop
   * @param pausing what is awaited within does not count as work
   */
  readonly turn?: (signal: AbortSignal, chunk: number, pausing: Pausing) => Promise<void>
  /** Called before each delivery of a range. */
  readonly onDelivery?: () => void
}
