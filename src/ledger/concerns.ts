/** Small concerns of the ledger beside runs: leases and waiting, the timetable, expectations, notices, pruning. */
import type { Acting } from './audit.ts'
import type { EventOf, RunState } from './states.ts'
import type {
  DeadlineRecord,
  DeliveryRecord,
  FireRecord,
  LeaseRecord,
  NotificationRow,
  RunRecord,
} from './tables.ts'

/** Members of the ledger beside runs, exports and records. */
export interface SmallConcerns {
  readonly leases: Leases
  readonly way: RightOfWay
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
}

/** The right to run a job, or to work on a part of an export, valid while renewed. */
export interface Lease {
  readonly jobId: number
  readonly runId: string
  /** Greater after each change of owner; unique to the job, over all its parts. */
  readonly token: number
  readonly part?: PartOf | undefined
}

/** A part of an export: the people of one worker. */
export interface PartOf {
  readonly exportRow: number
  readonly number: number
  readonly of: number
}

interface LeaseRequest {
  readonly jobId: number
  readonly runId: string
  /** Owner, unique to the process; `processName` gives `host:pid`. */
  readonly owner: string
  readonly now: number
  readonly ttlMs: number
  /** True if the holder releases the job when another owner asks (leases.ts). */
  readonly givesWay?: boolean | undefined
  /** Part whose lease is meant; undefined: the job's. */
  readonly part?: PartOf | undefined
  /** True to take the job while others work on its parts: for the run that waits for them. */
  readonly besideParts?: boolean | undefined
}

type LeaseAnswer =
  | { readonly ok: true; readonly lease: Lease }
  | { readonly ok: false; readonly holder: LeaseRecord }

/** Accounts of a gateway, by hash, that a job is about to read and write. */
export interface ClaimRequest {
  readonly gateway: string
  readonly accounts: readonly string[]
  readonly now: number
}

export interface Claimed {
  /** Accounts that were free, or already claimed by this job. */
  readonly accounts: ReadonlySet<string>
  /** Claimed accounts that a dead process of another run had claimed, and that run has not released since: milliseconds since then. */
  readonly abandoned: ReadonlyMap<string, number>
}

/** Silence after which a process counts as dead, where all processes share a machine. */
export const LEASE_MS = 60_000

interface Leases {
  /** Time of a lease without a renewal: `LEASE_MS`, or less where other machines wait. */
  readonly lastsMs: number
  /**
   * Acquires the lease of the job if free, expired, or held by a dead owner.
   * @param isDead true if the process of an owner on this machine has ended
   */
  acquire(request: LeaseRequest, isDead: (owner: string) => boolean): Promise<LeaseAnswer>
  release(lease: Lease): Promise<void>
  holder(jobId: number, now: number, isDead: (owner: string) => boolean): Promise<LeaseRecord | undefined>
  /**
   * Asks the process of a run, and the successor of a dead process, to stop. Noted in the audit.
   * @returns false if the run is over, or if another run holds the job
   */
  stop(runId: string, person: Acting, isDead: (owner: string) => boolean): Promise<boolean>
  /** Name of the person who asked the run of the lease to stop; undefined: nobody. */
  stopBy(lease: Lease): Promise<string | undefined>
  /**
   * Ends a run that is to stop and has no process.
   * @returns true while a process has yet to stop the run; false also for a run that was resumed since
   */
  isStopping(runId: string, now: number, isDead: (owner: string) => boolean): Promise<boolean>
  /** Latest lease of the job, or of its part, held or not. */
  last(jobId: number, part?: PartOf): Promise<LeaseRecord | undefined>
  /** True while somebody works on a part of the job. */
  hasParts(jobId: number, now: number, isDead: (owner: string) => boolean): Promise<boolean>
}

export interface Waiter {
  readonly owner: string
  readonly since: number
}

interface RightOfWay {
  /**
   * Asks a holder who gives way to release the job. Repeat within `ttlMs`: the request of a dead process expires. The request ends when the owner
   * acquires the lease.
   */
  ask(request: { jobId: number; owner: string; now: number; ttlMs: number }): Promise<void>
  withdraw(jobId: number, owner: string): Promise<void>
  /** Owner that has waited longest for the job. */
  waiter(jobId: number, now: number, isDead: (owner: string) => boolean): Promise<Waiter | undefined>
  /** Lease of another job at the gateway whose holder does not give way, the longest held first. */
  busy(
    gateway: string,
    jobId: number,
    now: number,
    isDead: (owner: string) => boolean,
  ): Promise<(LeaseRecord & { readonly job: string }) | undefined>
}

/** Identity of the installation: the key behind the ledger's hashes, and the gateways that the ledger may send to. */
interface Installation {
  /** Undefined before a key is used. */
  key(): Promise<InstallationKey | undefined>
  /**
   * Sets the key of a ledger without a key. From then on, runs of this process are refused if another process changes the key.
   * @param changedAt given if a person states that records were sent under another key: the ledger then counts as a copy of this instant
   * @throws `key-differs`; `run-unfinished` if the key is changed while a run is unfinished
   */
  useKey(fingerprint: string, changedAt: number | undefined): Promise<void>
  hasMet(gateway: string): Promise<boolean>
  meet(gateway: string, at: number): Promise<void>
  /**
   * Number of the copy, and the time up to which rows may be missing. @param now stored as the first use of a copy that was not used before:
   * milliseconds since the epoch
   */
  suspicion(now: number): Promise<Suspicion>
  /** Marks the ledger as a copy made at this instant: from now on, rows since then count as possibly lost. */
  noteBehind(at: number): Promise<void>
}

interface InstallationKey {
  readonly fingerprint: string
  /** True if records were sent under another key before. */
  readonly hadOther: boolean
}

/** A pause of a job: the schedule starts nothing. */
export interface Pause {
  readonly by: string
  readonly note: string | null
  readonly at: number
  /** End of the pause; null for a pause that a person ends. */
  readonly until: number | null
}

interface Pauses {
  /** Undefined once the end has come. */
  of(jobId: number, now: number): Promise<Pause | undefined>
  /** Pauses the job, or gives a pause a new end. @returns false if the job was paused already and the pause gives no end */
  begin(jobId: number, pause: Pause): Promise<boolean>
  /** @returns true if the job was paused */
  end(jobId: number, acting: Acting): Promise<boolean>
}

/** Notification targets of jobs, as their files last named them: JSON. */
interface LastTargets {
  /** Undefined for a job without any, and for targets that another key has encrypted. */
  of(job: string): Promise<string | undefined>
  keep(job: string, targets: string): Promise<void>
}

/** Suspicion against a copied ledger: the original may have sent more since. */
export interface Suspicion {
  /** Number of the copy; 0 for an original. */
  readonly copy: number
  /** When the copy was first used: the original ledger has sent nothing observed later. */
  readonly until: number | undefined
}

export const NO_SUSPICION: Suspicion = { copy: 0, until: undefined }

/** When a job is due, as last seen by the schedule. */
interface Timetable {
  readonly cron: string
  readonly zone: string
  /** All fires up to this instant are in the ledger. */
  readonly seenUntil: number
}

/** Changes of a fire beside the state; absent values stay unchanged. */
export type FireChange = Partial<Omit<FireRecord, 'job_id' | 'due' | 'state'>>

/** Knowledge that all processes share about their gateways. */
interface Paces {
  /**
   * Changes the state of a gateway, one process after the other.
   * @param work takes the state, undefined at first, and the clock of the database
   */
  change<Result>(
    gateway: string,
    work: (state: string | undefined, now: number) => { readonly state: string; readonly result: Result },
  ): Promise<Result>
}

/** Mark of the home that all machines share. */
interface SharedHome {
  mark(): Promise<string | undefined>
  /** Sets the mark, unless another machine has done so. @returns the mark of the ledger */
  claim(mark: string): Promise<string>
}

interface Fires {
  /** Undefined for a job that no schedule has seen. */
  timetable(jobId: number): Promise<Timetable | undefined>
  /**
   * Adds new fires, and replaces the timetable.
   * @param known the timetable as it was read
   * @returns false, without a write, if another process has changed the timetable since
   */
  comeDue(
    jobId: number,
    known: Timetable | undefined,
    timetable: Timetable,
    dues: readonly number[],
  ): Promise<boolean>
  /** Skips all open fires of a job that left the schedule. */
  forget(jobId: number, reason: string, at: number): Promise<void>
  /** Unfinished fires (`due`, `missed`, `running`, `interrupted`), oldest first. */
  open(jobId: number): Promise<FireRecord[]>
  /** Newest first. */
  latest(jobId: number, limit: number): Promise<FireRecord[]>
  /**
   * Moves a fire to the next state.
   * @param fire as it was read
   * @returns the changed fire; undefined if another process has moved the fire since
   * @throws `state-illegal`
   */
  move(fire: FireRecord, event: EventOf<'fire'>, change?: FireChange): Promise<FireRecord | undefined>
  noteRun(fire: FireRecord, runId: string): Promise<void>
}

/** Key of an expectation of a job's source. A new pattern, mapping, time or zone makes a new expectation, which begins anew. */
export interface ExpectationKey {
  readonly job: string
  readonly mapping: string
  /** Place and pattern. */
  readonly source: string
  /** Cron line and zone. */
  readonly timetable: string
}

/** A file as listed by the source. */
export interface DeliveredFile {
  readonly address: string
  readonly name: string
  readonly bytes: number
  readonly modifiedAt: number
}

interface Expectations {
  /** Files that runs of the job have begun to read by the mapping; latest first, each version once. */
  taken(job: string, mapping: string, limit: number): Promise<DeliveryRecord[]>
  /** Newest deadline first. */
  judged(key: ExpectationKey): Promise<DeadlineRecord[]>
  /** Stores a judgement, and replaces an earlier judgement of the deadline. Of two simultaneous looks, the later begun counts. */
  judge(record: DeadlineRecord): Promise<void>
}

/** Open matters of all jobs. */
interface Overview {
  standing(): Promise<Standing>
  /** Work beside the runs that may need somebody. */
  openWork(now: number): Promise<OpenWork>
}

/** Open matters by job. */
interface Standing {
  readonly notifications: readonly { readonly job: string; readonly state: string; readonly count: number }[]
  /** Expectations whose latest deadline has passed without the exports. */
  readonly overdue: readonly { readonly job: string; readonly count: number }[]
  readonly backfills: readonly string[]
}

/** Work beside the runs that may need somebody. */
export interface OpenWork {
  /** Notifications that were given up lately, or wait for long, by job and target. */
  readonly undelivered: readonly {
    readonly job: string
    /** Name of the target, without secrets. */
    readonly target: string
    /** Sixteen hex digits: tells apart targets with equal names. */
    readonly key: string
    /** State of the latest. */
    readonly state: 'pending' | 'given-up'
    readonly count: number
    readonly error: string | null
    readonly since: number
  }[]
  /** Expectations whose latest deadline has passed without the exports. */
  readonly overdue: readonly (Pick<DeadlineRecord, 'job' | 'source' | 'due' | 'expected' | 'arrived'> & {
    readonly state: 'missing' | 'unreachable'
  })[]
  readonly pauses: readonly (Pause & { readonly job: string })[]
  /** Fires that nothing has made up for, and that no run has followed. */
  readonly missed: readonly { readonly job: string; readonly due: number; readonly reason: string }[]
  readonly timetables: readonly (Timetable & { readonly job: string; readonly gateway: string })[]
  /** A copied ledger, and the jobs that have finished no run since its first use. */
  readonly copy: { readonly takenAt: number; readonly jobs: readonly string[] } | undefined
  readonly firstRunAt: number | undefined
  /** Latest finished run of each job that owes marks or deletions, and the number of people concerned. */
  readonly owing: readonly { readonly run: string; readonly people: number }[]
}

interface NewNotification {
  readonly messageId: string
  readonly kind: string
  readonly subject: string
  /** Digest that tells the targets of a job apart. */
  readonly target: string
  /** Name of the target for people, without secrets. */
  readonly address: string
  readonly notice: string
}

/** A notification, with the name of the job. */
export type NotificationRecord = NotificationRow & { readonly job: string }

interface NotificationChange {
  readonly at: number
  /** Time of the next try, for `fail`. */
  readonly nextAt?: number
  readonly error?: string
}

/** A target that was not notified of the end of a run, or not yet. */
export interface UntoldTarget {
  /** Name without secrets. */
  readonly target: string
  readonly state: 'pending' | 'given-up'
  readonly error?: string
}

interface Notifications {
  /** Targets without a notice of the run's end or stop, each once, with the state of the newest notification; sorted by name. */
  untold(jobId: number, runId: string): Promise<UntoldTarget[]>
  /**
   * True if the target was notified of the end of any run of the job, or still will be. False if the latest notice was given up, or without a
   * notice.
   */
  isNotified(jobId: number, target: string): Promise<boolean>
  /** True if the latest notice to the target on runs of the job told a failure: the target waits for good news. */
  heardFailure(jobId: number, target: string): Promise<boolean>
  /**
   * Stores notifications in one transaction, for delivery at once. Notifications already stored for a target are left out.
   * @returns number of new notifications
   */
  add(jobId: number, notifications: readonly NewNotification[], at: number): Promise<number>
  /**
   * Claims the due notification with the fewest tries, then the longest wait, so that no other process delivers the notification.
   * @param until when other processes may claim the notification: a process without a result by then is dead
   * @returns undefined if nothing is due
   */
  claim(now: number, until: number): Promise<NotificationRecord | undefined>
  /**
   * Stores the result of a claimed notification.
   * @returns false, without a write, if another process has claimed the notification since
   * @throws `state-illegal`
   */
  move(
    claimed: NotificationRecord,
    event: EventOf<'notification'>,
    change: NotificationChange,
  ): Promise<boolean>
  /** Makes all notifications of a job due that wait or were given up. @returns their number */
  revive(job: string, now: number): Promise<number>
  countOpen(job: string): Promise<number>
}

/** Facts about a run that decide whether the detail may be removed. */
export interface PrunableRun extends Pick<RunRecord, 'backfill' | 'backfill_folder'> {
  readonly id: string
  readonly job: string
  readonly state: RunState
  readonly startedAt: number
  readonly endedAt: number | null
  readonly prunedAt: number | null
  readonly origin: string | null
  /** Records still in doubt, or held after a look-up in vain. */
  readonly openDoubts: number
  readonly rejectsPath: string
  readonly receiptsPath: string
}

/** Rows of the ledger by kind. `bytes` is the size of the contents, without the pages around them. */
export type DetailCounts = ReturnType<typeof noDetail>

export const noDetail = () => ({
  chunks: 0,
  batches: 0,
  exceptions: 0,
  decisions: 0,
  mappings: 0,
  profiles: 0,
  fires: 0,
  notifications: 0,
  deliveries: 0,
  audit: 0,
  bytes: 0,
})

/** Obstacle to removing the detail of a run. */
export interface Fence {
  /** Run that holds the job, was left `running`, or has retried this run and keeps its detail. */
  readonly by: string
  readonly because: 'held' | 'referred-to'
}

/** Numbers kept of each job and mapping: enough for every reader. */
export interface KeptOfEach {
  readonly profiles: number
  readonly deliveries: number
  /** Records of the audit since then. */
  readonly auditSince: number
}

interface Pruning {
  /** All runs, newest first. */
  candidates(): Promise<PrunableRun[]>
  /** Obstacle to pruning a run. Checked again in each transaction that removes. */
  fenceOf(runId: string, now: number): Promise<Fence | undefined>
  detailOf(runId: string): Promise<DetailCounts>
  /**
   * Marks a run as pruned. @param totals export row → JSON of the counts
   * @returns the obstacle, including a later run that retried this run: nothing was changed
   */
  mark(runId: string, totals: ReadonlyMap<number, string>, now: number): Promise<Fence | undefined>
  /** Removes a part of the detail of a marked run, in a short transaction. @returns the removed rows; undefined if a fence is up */
  removeSome(runId: string, now: number): Promise<DetailCounts | undefined>
  /**
   * Counts leftovers: mappings of no run with detail; profiles beyond the latest `kept` of each job and mapping; files beyond the latest `kept`
   * that no run has found since `before`; finished fires and notifications from before `before`.
   * @param spared ids of runs that count as marked
   */
  leftovers(kept: KeptOfEach, before: number, spared: readonly string[]): Promise<DetailCounts>
  removeLeftovers(kept: KeptOfEach, before: number): Promise<DetailCounts>
}
