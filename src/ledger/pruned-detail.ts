/** What can be taken out of the ledger once a run is old: its detail. What was delivered stays, and so do run, exports and balance. */
import type { RunState } from './states.ts'

/** A run, as far as it decides whether its detail may go. Instants are milliseconds since the epoch. */
export interface PrunableRun {
  readonly id: string
  readonly job: string
  readonly state: RunState
  readonly startedAt: number
  readonly endedAt: number | null
  readonly prunedAt: number | null
  /** The run of which it took up what was left behind. */
  readonly origin: string | null
  /** Records of it that are in doubt still, or held because of it. */
  readonly openDoubts: number
  /** Files of the run, relative to the home. */
  readonly rejectsPath: string
  readonly receiptsPath: string
}

/** Rows of the ledger by what they are; `bytes` is what they hold, without the pages around them. */
export interface DetailCounts {
  chunks: number
  batches: number
  exceptions: number
  decisions: number
  mappings: number
  profiles: number
  fires: number
  notifications: number
  deliveries: number
  bytes: number
}

export const noDetail = (): DetailCounts => ({
  chunks: 0,
  batches: 0,
  exceptions: 0,
  decisions: 0,
  mappings: 0,
  profiles: 0,
  fires: 0,
  notifications: 0,
  deliveries: 0,
  bytes: 0,
})

/** What keeps the detail of a job from being removed: the run that a process holds it for, or one that was left `running`. */
export interface Fence {
  readonly run: string
  readonly held: boolean
}

/** How many are kept of each job and mapping: as many as are ever asked for. */
export interface KeptOfEach {
  /** What exports looked like. */
  readonly profiles: number
  /** Files that runs have begun with. */
  readonly deliveries: number
}

export interface Pruning {
  /** All runs, newest first. */
  candidates(): Promise<PrunableRun[]>
  /** What nothing may be removed under. Looked at again in each transaction that removes. */
  fenceOf(runId: string, now: number): Promise<Fence | undefined>
  detailOf(runId: string): Promise<DetailCounts>
  /** @param totals export row → JSON of its counts @returns false where the fence is up: nothing was changed */
  mark(runId: string, totals: ReadonlyMap<number, string>, now: number): Promise<boolean>
  /** Removes some of the detail of a run that is marked, in one short transaction. @returns what went; undefined where the fence is up */
  removeSome(runId: string, now: number): Promise<DetailCounts | undefined>
  /**
   * Mappings that no run with detail was read by; beyond the latest that are `kept` of each job and mapping, what exports looked like, and
   * files that no run has found since `before`; fires and notifications that are over and older than that.
   * @param spared ids of runs that count as marked
   */
  leftovers(kept: KeptOfEach, before: number, spared: readonly string[]): Promise<DetailCounts>
  removeLeftovers(kept: KeptOfEach, before: number): Promise<DetailCounts>
}
