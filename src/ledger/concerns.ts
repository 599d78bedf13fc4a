/** The concerns of the ledger beside that of a run, each a few methods: who runs a job and who waits, the timetable, what is expected, notices, pruning. */
import type { FireEvent, NotificationEvent, RunState } from './states.ts'
import type {
  DeadlineRecord,
  DeliveryRecord,
  FireRecord,
  LeaseRecord,
  NotificationRow,
  RunRecord,
} from './tables.ts'

/** The right to run a job, for as long as it is renewed. */
export interface Lease {
  readonly jobId: number
  readonly runId: string
  readonly token: number
}

export interface LeaseRequest {
  readonly jobId: number
  readonly runId: string
  /** Of this process alone; `processName` of it is `host:pid`. */
  readonly owner: string
  readonly now: number
  readonly ttlMs: number
  /** Whether the holder lets the job go when another one asks for it (leases.ts). */
  readonly givesWay?: boolean | undefined
}

export type LeaseAnswer =
  | { readonly ok: true; readonly lease: Lease }
  | { readonly ok: false; readonly holder: LeaseRecord }

/** Accounts of a gateway, by their hashes, that a job is about to read and write. */
export interface ClaimRequest {
  readonly gateway: string
  readonly accounts: readonly string[]
  readonly now: number
}

export interface Claimed {
  /** Accounts that were free, or that this lease had claimed before. */
  readonly accounts: ReadonlySet<string>
  /** True where another job had claimed one and ended without releasing it: process dead, or lease expired. */
  readonly isTakenOver: boolean
}

export interface Waiter {
  /** Of that process alone; `processName` of it is `host:pid`. */
  readonly owner: string
  readonly since: number
}

export interface RightOfWay {
  /**
   * Asks whoever holds the job, and gives way, to let it go. To be repeated within `ttlMs`: a process that is gone asks for
   * nothing. Over as soon as the one who asks has the lease.
   */
  ask(request: { jobId: number; owner: string; now: number; ttlMs: number }): Promise<void>
  withdraw(jobId: number, owner: string): Promise<void>
  /** The one that has waited longest for the job. */
  waiter(jobId: number, now: number, isDead: (owner: string) => boolean): Promise<Waiter | undefined>
  /** The lease of another job at the gateway whose holder does not give way itself, the longest held first. */
  busy(
    gateway: string,
    jobId: number,
    now: number,
    isDead: (owner: string) => boolean,
  ): Promise<(LeaseRecord & { readonly job: string }) | undefined>
}

/** Identity of the installation: the key behind the ledger's hashes, and the gateways that the ledger has sent to. */
export interface Installation {
  /** Undefined: no key was used yet. */
  key(): Promise<InstallationKey | undefined>
  /**
   * Makes it the key of a ledger that has none. From then on, runs that this process begins are refused if another process changes the key.
   * @param changedAt a person says that records were sent under another key: then the ledger counts as a copy of this instant
   * @throws WaybillError `key-differs`; `run-unfinished` where the key is changed while a run is unfinished
   */
  useKey(fingerprint: string, changedAt: number | undefined): Promise<void>
  hasMet(gateway: string): Promise<boolean>
  meet(gateway: string, at: number): Promise<void>
}

export interface InstallationKey {
  readonly fingerprint: string
  /** True where records were sent under another key before. */
  readonly hadOther: boolean
}

/** An export that an unfinished run goes on with. */
export interface OpenExport {
  readonly run: string
  readonly gateway: string
  readonly path: string
}

/** Who has paused a job, since when and why: the schedule begins nothing of it. */
export interface Pause {
  readonly by: string
  readonly note: string | null
  /** Milliseconds since the epoch. */
  readonly at: number
}

export interface Pauses {
  of(jobId: number): Promise<Pause | undefined>
  /** @returns whether it was not paused already */
  begin(jobId: number, pause: Pause): Promise<boolean>
  /** @returns whether it was paused */
  end(jobId: number): Promise<boolean>
}

/** Which runs are listed. */
export interface RunFilter {
  readonly job?: string | undefined
  /** Those alone that no later run has finished, made up for or settled: unfinished, ended before their time, or with something left behind. */
  readonly failed?: boolean | undefined
  /** Begun then or later: milliseconds since the epoch. */
  readonly since?: number | undefined
  readonly states?: readonly RunState[] | undefined
  readonly among?: readonly string[] | undefined
  readonly except?: readonly string[] | undefined
  /** Of that name: the beginning of the id, or what stands behind its hyphen. */
  readonly named?: string | undefined
  /** Those alone that left something for this reason. */
  readonly reason?: string | undefined
}

/** Who has acknowledged what a run has left for good, when and why. */
export interface Acknowledgement {
  readonly run: string
  /** The reason that it is about; null: all that the run has left. */
  readonly code: string | null
  readonly by: string
  readonly note: string | null
  /** Milliseconds since the epoch. */
  readonly at: number
}

export interface Acknowledgements {
  /** Those of a run that were not undone. */
  of(runId: string): Promise<Acknowledgement[]>
  add(runs: readonly string[], acknowledgement: Omit<Acknowledgement, 'run'>): Promise<void>
  /** @returns the runs of which something was undone */
  undo(
    which: { readonly run?: string | undefined; readonly code?: string | undefined },
    decided: Pick<Acknowledgement, 'by' | 'note' | 'at'>,
  ): Promise<string[]>
}

export interface Reason {
  readonly outcome: string
  readonly stage: string
  readonly code: string
  readonly rule: string | null
  readonly exportName: string
  /** Column or path that the words are about. */
  readonly field: string | null
  readonly message: string
  readonly count: number
  /** How many of them later runs have settled. */
  readonly settled: number
  /** How many of them an earlier run had left behind as they are. */
  readonly known: number
  /** When the earliest of these was met first: ISO 8601, UTC. */
  readonly knownSince?: string
  /** One of those that are not settled, where it came so far as to be a record: one that the mapping rejected has no content. */
  readonly example?: LeftExample
  /** Transaction ids under which the gateway has some of the withdrawn results. */
  readonly sentAs?: readonly string[]
}

/** Of what a transaction id is made. */
export interface LeftExample {
  readonly exportId: string
  readonly row: number
  readonly rule: string
  readonly content: string
}

/** The words, behind the column that they are about: as a rejects file has them. */
export const wordsOf = ({ field, message }: Pick<Reason, 'field' | 'message'>): string =>
  field === null ? message : `${field}: ${message}`

/** Rows, records and follow-ups that a run has left behind, of which the ledger knows that an earlier run had left them so. */
export interface KnownCount {
  readonly known: number
  /** When the earliest of these was met first: milliseconds since the epoch. Null where there are none. */
  readonly since: number | null
}

/** A ledger that is a copy of another one does not know what that has sent since. */
export interface Suspicion {
  /** Number of the copy; 0 of a ledger that is none. */
  readonly copy: number
  /** When the copy was first used, milliseconds since the epoch: what was observed later the other ledger has not sent. */
  readonly until: number | undefined
}

export const NO_SUSPICION: Suspicion = { copy: 0, until: undefined }

/** Where a backfilled export stands among the others. */
export interface ExportOrder {
  /** Arrival of the newest nightly export that is not later by the day in its name; 0 where there is none. */
  readonly anchor: number
  /** Days since 1970 in its name; 0 without a date. */
  readonly day: number
}

/** When a job is due, as it was seen last. */
export interface Timetable {
  readonly cron: string
  readonly zone: string
  /** Fires up to this instant are written down. */
  readonly seenUntil: number
}

/** What a move of a fire writes down beside its state; what is left out stays as it is. */
export type FireChange = Partial<Omit<FireRecord, 'job_id' | 'due' | 'state'>>

export interface Fires {
  /** Undefined for a job that no schedule has seen. */
  timetable(jobId: number): Promise<Timetable | undefined>
  /**
   * Writes down what has come due, and the timetable as it is from now on.
   * @param known the timetable as it was read
   * @returns false, and nothing is written, where another process has done so since
   */
  comeDue(
    jobId: number,
    known: Timetable | undefined,
    timetable: Timetable,
    dues: readonly number[],
  ): Promise<boolean>
  /** The job is on no schedule any more: what was open is skipped. */
  forget(jobId: number, reason: string, at: number): Promise<void>
  /** Fires that are not over (`due`, `missed`, `running`, `interrupted`), oldest first. */
  open(jobId: number): Promise<FireRecord[]>
  /** Newest first. */
  latest(jobId: number, limit: number): Promise<FireRecord[]>
  /**
   * @param fire as it was read
   * @returns the fire as it is then; undefined where another process has moved it since
   * @throws WaybillError `state-illegal`
   */
  move(fire: FireRecord, event: FireEvent, change?: FireChange): Promise<FireRecord | undefined>
  /** Notes the run of a fire that is running. */
  noteRun(fire: FireRecord, runId: string): Promise<void>
}

/** What is expected of a source of a job. With another pattern, mapping, time or zone it is another one, which begins anew. */
export interface ExpectationKey {
  readonly job: string
  readonly mapping: string
  /** Place and pattern. */
  readonly source: string
  /** Cron line and zone. */
  readonly timetable: string
}

/** A file as its source listed it. */
export interface DeliveredFile {
  readonly address: string
  readonly name: string
  readonly bytes: number
  /** Milliseconds since the epoch. */
  readonly modifiedAt: number
}

export interface Expectations {
  /** Files that runs of the job have begun with, by the mapping that they were read by; latest first, each version once. */
  taken(job: string, mapping: string, limit: number): Promise<DeliveryRecord[]>
  /** Newest deadline first. */
  judged(key: ExpectationKey): Promise<DeadlineRecord[]>
  /** Writes a judgement down, in the place of an earlier one of the same deadline: of two looks at once that counts which was begun later. */
  judge(record: DeadlineRecord): Promise<void>
}

/** What stands open, by job. */
export interface Standing {
  /** On their way, or given up. */
  readonly notifications: readonly { readonly job: string; readonly state: string; readonly count: number }[]
  /** Expectations of exports whose latest deadline has passed without them. */
  readonly overdue: readonly { readonly job: string; readonly count: number }[]
  /** Jobs with a backfill that is not finished. */
  readonly backfills: readonly string[]
}

export interface NewNotification {
  readonly messageId: string
  readonly kind: string
  readonly subject: string
  /** A digest that tells the targets of a job apart. */
  readonly target: string
  /** Names the target for people, without secrets. */
  readonly address: string
  /** JSON. */
  readonly notice: string
}

/** With the name of its job. */
export type NotificationRecord = NotificationRow & { readonly job: string }

/** What a move writes down beside the state. */
export interface NotificationChange {
  readonly at: number
  /** Of `fail`: when it is tried again. */
  readonly nextAt?: number
  /** Why it was not delivered. */
  readonly error?: string
}

/** A target that was not told of how a run ended, or not yet. */
export interface UntoldTarget {
  /** Names it without secrets. */
  readonly target: string
  readonly state: 'pending' | 'given-up'
  /** Why, where it was tried. */
  readonly error?: string
}

export interface Notifications {
  /** Of how a run ended, or was stopped: who was not told, each once, with what became of the newest; in the order of their names. */
  untold(jobId: number, runId: string): Promise<UntoldTarget[]>
  /** Whether a target was told how a run of the job had ended, or is to be still: false where the latest such notice was given up, or there was none. */
  isTold(jobId: number, target: string): Promise<boolean>
  /** Writes them down in one transaction, to be delivered at once; what a target was told of before is left out. @returns how many are new */
  add(jobId: number, notifications: readonly NewNotification[], at: number): Promise<number>
  /**
   * Takes the one that was tried least and has waited longest, so that no other process delivers it.
   * @param until from when on others may: a process that has not said by then what became of it is dead
   * @returns undefined where none is due
   */
  claim(now: number, until: number): Promise<NotificationRecord | undefined>
  /**
   * What became of a claimed one.
   * @returns false where another process has claimed it since, and nothing was written
   * @throws WaybillError `state-illegal`
   */
  move(claimed: NotificationRecord, event: NotificationEvent, change: NotificationChange): Promise<boolean>
}

/** A run, as far as it decides whether its detail may go. Instants are milliseconds since the epoch. */
export interface PrunableRun extends Pick<RunRecord, 'backfill' | 'backfill_folder'> {
  readonly id: string
  readonly job: string
  readonly state: RunState
  readonly startedAt: number
  readonly endedAt: number | null
  readonly prunedAt: number | null
  /** The run of which it took up what was left behind. */
  readonly origin: string | null
  /** Records of it that are in doubt still, or held because somebody has looked in vain. */
  readonly openDoubts: number
  /** Files of the run, relative to the home. */
  readonly rejectsPath: string
  readonly receiptsPath: string
}

/** Rows of the ledger by what they are; `bytes` is what they hold, without the pages around them. */
export type DetailCounts = ReturnType<typeof noDetail>

export const noDetail = () => ({
  ...{ chunks: 0, batches: 0, exceptions: 0, decisions: 0, mappings: 0, profiles: 0 },
  ...{ fires: 0, notifications: 0, deliveries: 0, bytes: 0 },
})

/** What keeps the detail of a run from being removed. */
export interface Fence {
  /** The run for which its job is held, that was left `running`, or that has taken it up and keeps its own detail. */
  readonly by: string
  readonly because: 'held' | 'referred-to'
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
  /** @param totals export row → JSON of its counts @returns what it may not be marked under, also a run that has taken it up since: nothing was changed */
  mark(runId: string, totals: ReadonlyMap<number, string>, now: number): Promise<Fence | undefined>
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
