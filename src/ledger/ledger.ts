/**
 * The durable memory, as the stages see it: one member for each concern. Drivers pass the suites of `test/ledger/suite/`.
 * A run writes through a `RunLedger` alone.
 */
import type { Audit, PutAside } from './audit.ts'
import type {
  Expectations,
  Fires,
  Installation,
  LastTargets,
  Leases,
  Notifications,
  Overview,
  Paces,
  Pauses,
  Pruning,
  RightOfWay,
  SharedHome,
} from './concerns.ts'
import type { LeftBehind, Slots } from './left-records.ts'
import type { CareTeams, People } from './people.ts'
import type { Acknowledgements, Chunks, Exports, Jobs, PartRecord, Profiles, Reasons, Runs } from './runs.ts'

export * from './audit.ts'
export * from './concerns.ts'
export * from './left-records.ts'
export type { Held } from './packed-records.ts'
export * from './people.ts'
export type { RunLedger } from './run-ledger.ts'
export * from './run-writes.ts'
export * from './runs.ts'
export type { DeadlineState, LeftEvent } from './states.ts'
export type { CareTeamMark } from './tables.ts'
export * from './tables.ts'

export interface Ledger {
  readonly jobs: Jobs
  readonly leases: Leases
  readonly way: RightOfWay
  readonly runs: Runs
  readonly exports: Exports
  readonly profiles: Profiles
  readonly chunks: Chunks
  readonly parts: {
    /** Parts in order; none of an export that is read as one, and of an export that has ended. */
    ofExport(exportRow: number): Promise<PartRecord[]>
  }
  readonly reasons: Reasons
  readonly slots: Slots
  readonly left: LeftBehind
  readonly people: People
  readonly careTeams: CareTeams
  readonly acknowledgements: Acknowledgements
  readonly putAside: PutAside
  readonly audit: Audit
  readonly fires: Fires
  readonly pauses: Pauses
  readonly lastTargets: LastTargets
  readonly expectations: Expectations
  readonly notifications: Notifications
  readonly overview: Overview
  readonly pruning: Pruning
  readonly installation: Installation
  /** Absent in a file, which serves one machine. */
  readonly paces?: Paces
  /** Absent in a file. */
  readonly sharedHome?: SharedHome
  close(): Promise<void>
}
