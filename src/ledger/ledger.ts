/**
 * The durable memory, as the stages see it. Implementations pass `test/conformance/ledger.ts`.
 * Everything a run writes goes through its `RunLedger`, which is fenced: once another process has taken the run over,
 * nothing more can be written with the old token.
 */
import type {
  Acknowledgements,
  Claimed,
  ClaimRequest,
  Expectations,
  ExportOrder,
  Fires,
  Installation,
  KnownCount,
  Lease,
  LeaseAnswer,
  LeaseRequest,
  Notifications,
  OpenExport,
  Pauses,
  Pruning,
  Reason,
  RightOfWay,
  RunFilter,
  Standing,
  Suspicion,
} from './concerns.ts'
import type { HeldDoubt, KeptSlot, LeftBehind, Ruling } from './left-records.ts'
import type {
  BatchIntent,
  BatchSettlement,
  CareTeamListing,
  ChunkKey,
  ChunkSettlement,
  ChunkStart,
  ExportFault,
  ExportStart,
  KnownAccount,
  KnownCareTeam,
  KnownRequest,
  MissingCareTeam,
  ProfileKey,
  ProfileStart,
  Receipted,
  RunEnd,
  RunKind,
  RunStart,
  Tallies,
} from './run-writes.ts'
import type {
  BatchRecord,
  ChunkRecord,
  ExceptionRecord,
  ExportRecord,
  LeaseRecord,
  Reading,
  RunPart,
  RunRecord,
} from './tables.ts'

export * from './concerns.ts'
export * from './left-records.ts'
export type { Held } from './packed-records.ts'
export type { CareTeamMark } from './people-tables.ts'
export * from './run-writes.ts'
export type { DeadlineState, LeftEvent } from './states.ts'
export * from './tables.ts'

/**
 * What a run writes. Every call is one transaction (calls made together may share one), fenced by the lease's token. It is on the disk when it
 * resolves, unless it says that it does not wait for that: then it outlives the process, and the machine once another call has waited.
 */
export interface RunLedger {
  readonly lease: Lease
  /** Counted by whoever sends: each write takes along what was counted by then. */
  readonly tallies: Tallies
  /** The time since the last sign of life counts as work. */
  renew(now: number, ttlMs: number): Promise<void>
  /**
   * Before what is not written down itself. Takes the counts along, without waiting for the disk: what is written so outlives the process,
   * and is on the disk with the next write that waits. @throws WaybillError `lease-lost`
   */
  assertHeld(): Promise<void>
  /** @param outage JSON: why it waits for the gateway; null: it does not any more */
  noteOutage(outage: string | null): Promise<void>
  /** From then on nothing counts as work, until it goes on. */
  pauseWork(at: number): Promise<void>
  goOnWorking(at: number): Promise<void>
  addExport(start: ExportStart): Promise<ExportRecord>
  endExport(exportRow: number, state: 'finished' | 'failed', fault?: ExportFault): Promise<void>
  /** For this export and for all that were read of the same file. */
  noteArchived(file: Pick<ExportRecord, 'path' | 'sha256'>, archived: string): Promise<void>
  /** @param drift JSON: in what the export differs from earlier deliveries */
  noteDrift(exportRow: number, drift: string): Promise<void>
  /** @param heldBack JSON: why rows were not sent in the middle of which the run is stopped */
  noteHeldBack(exportRow: number, heldBack: string): Promise<void>
  /** @param collection JSON: the files of what the run has collected */
  noteCollection(collection: string): Promise<void>
  saveProfile(exportRow: number, profile: ProfileStart): Promise<void>
  /** A chunk that is open already stays so, with the rows that it has by now (a run may be resumed with another limit). */
  openChunk(exportRow: number, start: ChunkStart): Promise<void>
  /**
   * The write-ahead intents of a chunk: on disk when it resolves, in one transaction. What of it was planned before is planned anew.
   * @returns the row of each batch
   */
  planBatches(intents: readonly BatchIntent[]): Promise<number[]>
  /**
   * Before the bytes of one that was planned leave. It does not wait for the disk, unless it hides older records: the gateway shows of a series the
   * latest alone, so that what was settled until now must be known whatever happens.
   */
  sendBatch(id: number, at: number, hidesOlder: boolean): Promise<void>
  /** The write-ahead intent of one that was not planned: on disk when it resolves. Resolves to the batch's row; sent again, a batch gets another. */
  beginBatch(intent: BatchIntent): Promise<number>
  /** It does not wait for the disk, as whatever settles: after a start of the machine what is not settled by the ledger is looked up. */
  settleBatch(settlement: BatchSettlement): Promise<void>
  splitBatch(id: number, answer: string, status: number | null, at: number): Promise<void>
  settleChunk(settlement: ChunkSettlement): Promise<void>
  /** @throws WaybillError `state-illegal` where an exception cannot make that move */
  rule(ruling: Ruling & Receipted, at: number): Promise<void>
  /**
   * Forgets a person as `Ledger.forgetPerson` does, unless another process has done so meanwhile.
   * @param accountId that the ledger had
   */
  forgetAccount(gateway: string, reference: string, accountId: string | null): Promise<void>
  /** Does not wait for the disk: a person who is registered twice is told as known. */
  saveAccounts(gateway: string, accounts: readonly KnownAccount[], at: number): Promise<void>
  /**
   * Writes down what exports say of who is who. It does not wait for the disk: the same export says it again.
   * @param births keyed hashes of birth dates, by hashed reference, of people of whom none was known
   * @param shared hashed references that stand for people with several birth dates
   */
  saveBirths(gateway: string, births: ReadonlyMap<string, number>, shared: ReadonlySet<string>): Promise<void>
  /**
   * Claims accounts, over all jobs, for as long as the lease lasts: each is claimed, or is not. It does not wait for the disk: no process survives
   * what the claim does not. Who takes over a claim ends the lease that it hung on: its owner can write nothing more.
   * @param isDead tells of an owner on this machine whether its process is gone
   */
  claimAccounts(request: ClaimRequest, isDead: (owner: string) => boolean): Promise<Claimed>
  /** @param letGo accounts whose claims end with it; where there are these alone, it does not wait for the disk */
  saveCareTeams(gateway: string, entries: readonly KnownCareTeam[], letGo?: readonly string[]): Promise<void>
  /** Writes down what is owed of providers who are listed no more, and forgets that they were. */
  noteMissing(
    gateway: string,
    missing: readonly MissingCareTeam[],
    owing: readonly KnownCareTeam[],
  ): Promise<void>
  /** Does not wait for the disk: a request may be sent again. */
  saveMedicalRequests(gateway: string, requests: readonly KnownRequest[]): Promise<void>
  endRun(end: RunEnd): Promise<void>
}

export interface CollectedBefore {
  readonly run: string
  readonly content: string | null
}

export interface Ledger {
  jobId(name: string, gateway: string): Promise<number>
  /** The same for who only looks: undefined where it was never run. */
  knownJobId(name: string, gateway: string): Promise<number | undefined>
  /**
   * Takes the job's lease if it is free, has run out, or its owner is known to be dead.
   * @param isDead tells of an owner on this machine whether its process is gone
   */
  acquireLease(request: LeaseRequest, isDead: (owner: string) => boolean): Promise<LeaseAnswer>
  releaseLease(lease: Lease): Promise<void>
  /** Who holds the job now. */
  holder(jobId: number, now: number, isDead: (owner: string) => boolean): Promise<LeaseRecord | undefined>
  /** Asks whoever runs it to stop, in whatever process. @returns whether anybody does */
  askToStop(runId: string, by: string, now: number): Promise<boolean>
  /** Whoever held the job last, whether or not it does so still. */
  lastLease(jobId: number): Promise<LeaseRecord | undefined>
  /** @throws WaybillError `lease-lost`: looking for exports may take longer than a lease lasts without its process */
  startRun(lease: Lease, start: RunStart): Promise<RunLedger>
  /**
   * @param at since when it is at work again
   * @param part where the rest of it is not read as a whole
   * @throws WaybillError `lease-lost`: whoever holds the job now may have finished the run, or given it up
   */
  resumeRun(lease: Lease, run: RunRecord, at: number, part?: RunPart): Promise<RunLedger>
  /** To settle what a run left behind; its state stays as it is. */
  amendRun(lease: Lease): RunLedger
  /** The job's run of that kind that was left running or interrupted, if there is one. */
  unfinishedRun(jobId: number, kind: RunKind): Promise<RunRecord | undefined>
  run(id: string): Promise<(RunRecord & { job: string; gateway: string }) | undefined>
  /** Newest first. @param after so many are passed over */
  runs(
    limit: number,
    only?: RunFilter,
    after?: number,
  ): Promise<(RunRecord & { job: string; gateway: string })[]>
  countRuns(only: RunFilter): Promise<number>
  /** With the names of their mappings; null where a mapping was pruned. */
  exportsOf(runId: string): Promise<(ExportRecord & { readonly mapping: string | null })[]>
  /** What unfinished runs of jobs of that name have open, at whatever gateway. */
  openExports(job: string): Promise<OpenExport[]>
  exportRecord(exportRow: number): Promise<ExportRecord | undefined>
  exportsWithContent(exportId: string): Promise<ExportRecord[]>
  /** Latest first. */
  exportsNamed(name: string): Promise<ExportRecord[]>
  /**
   * The place of an export among all that the job has read: higher for a later one. A name that shows other bytes than when it was read last has a
   * new one; the same file read again keeps its own, and so does what takes up rows of it. What was not read to its end counts as new.
   */
  arrivalOf(jobId: number, record: Pick<ExportRecord, 'id' | 'name' | 'sha256' | 'reading'>): Promise<number>
  mapping(digest: string): Promise<string | undefined>
  /** Profiles of finished exports, latest first. */
  profiles(key: ProfileKey, limit: number): Promise<Pick<ProfileStart, 'accepted' | 'content'>[]>
  /** Contents of the profiles of a run's exports, by `export_row`; none of what was not compared, or was pruned since. */
  profilesOfRun(runId: string): Promise<ReadonlyMap<number, string>>
  /** Whether an export of this content was finished, and has a profile. */
  isProfiled(key: ProfileKey, sha256: string): Promise<boolean>
  /**
   * End of the latest finished export of the job by the mapping; undefined where there is none.
   * @returns `read` where this content was finished before
   */
  lastEnd(key: ProfileKey, sha256: string): Promise<'read' | 'ended' | 'open' | undefined>
  chunksOf(exportRow: number): Promise<ChunkRecord[]>
  /** Those of all its exports, in the order of these. */
  chunksOfRun(runId: string): Promise<ChunkRecord[]>
  batchesOf(key: ChunkKey): Promise<BatchRecord[]>
  exceptionsOf(key: ChunkKey): Promise<ExceptionRecord[]>
  /** Exceptions of a run, grouped for reading, most frequent first. */
  reasonsOf(runId: string): Promise<Reason[]>
  /** How much of what the run has left behind an earlier one had left so, and since when. */
  knownOf(runId: string): Promise<KnownCount>
  /** Why most of what no later run has settled was left behind. */
  mostFrequentReason(runId: string): Promise<Pick<Reason, 'code' | 'count'> | undefined>
  /** Slots by row key, for those keys that have any. */
  delivered(jobId: number, rowKeys: readonly string[]): Promise<Map<string, readonly KeptSlot[]>>
  /** The latest other export of that name and content that the job has read to its end. @param reading those alone that were read so */
  lastReading(
    jobId: number,
    record: Pick<ExportRecord, 'id' | 'name' | 'sha256'>,
    reading?: Reading,
  ): Promise<ExportRecord['id'] | undefined>
  /** Doubts by row key. */
  held(jobId: number, rowKeys: readonly string[]): Promise<Map<string, readonly HeldDoubt[]>>
  /** Hashes of the series of which a record in doubt is still asked about. */
  heldSeries(jobId: number): Promise<Set<string>>
  left: LeftBehind
  acknowledgements: Acknowledgements
  fires: Fires
  pauses: Pauses
  expectations: Expectations
  notifications: Notifications
  /** What stands open, by job. */
  standing(): Promise<Standing>
  way: RightOfWay
  pruning: Pruning
  installation: Installation
  /** The copy that the ledger is, and the time up to which it may have lost rows. @param now when it is used first, if it was not before: milliseconds since the epoch */
  suspicion(now: number): Promise<Suspicion>
  /** Places of the backfilled exports that the job has read, by arrival. */
  orders(jobId: number): Promise<ReadonlyMap<number, ExportOrder>>
  /** From now on it counts as a copy that was made at this instant: whoever uses it knows that it has lost something. */
  noteBehind(at: number): Promise<void>
  accounts(gateway: string, references: readonly string[]): Promise<Map<string, KnownAccount>>
  /** Account ids that several people have: the gateway has given them anew since. */
  sharedIds(gateway: string, accountIds: readonly string[]): Promise<Set<string | null>>
  /** Which of the accounts the run has registered. */
  registeredBy(gateway: string, references: readonly string[], runId: string): Promise<Set<string>>
  /** Account ids that a gateway has given, null where another key has sealed one, in a steady order, those behind `after`; `after` is `reference` of the last. */
  knownAccounts(
    gateway: string,
    after: string,
    limit: number,
  ): Promise<readonly { readonly reference: string; readonly accountId: string | null }[]>
  /**
   * How often people were forgotten, for those who were.
   * @param references asked for only where anybody was
   */
  forgotten(gateway: string, references: () => readonly string[]): Promise<ReadonlyMap<string, number>>
  /** Hashed references that stand for people with several birth dates, of those given. */
  sharedReferences(gateway: string, references: readonly string[]): Promise<ReadonlySet<string>>
  /**
   * Takes people as one each again, whatever was found before.
   * @param people by hashed reference, with the keyed hash of the birth date; null: the next one that an export gives
   * @returns how many references stood for several people
   */
  confirmPeople(gateway: string, people: ReadonlyMap<string, number | null>): Promise<number>
  /**
   * Forgets a person at a gateway: crosswalk, care teams, what jobs have collected of them. What was delivered to them counts as not delivered.
   * @param references hashes by which the person is known
   * @param accountId by which the crosswalk has the person, too
   */
  forgetPerson(gateway: string, references: readonly string[], accountId: string | null): Promise<void>
  /**
   * Takes the account ids of those who were forgotten out of the bytes of the ledger's files.
   * @returns false where another process was reading, so that its log may hold some until that has ended
   */
  scrubAccounts(): Promise<boolean>
  /** Of whom the job has collected, by hashed reference: which run did so last, and what. */
  collected(jobId: number, people: readonly string[]): Promise<ReadonlyMap<string, CollectedBefore>>
  /** Care-team entries by account, for those that are known to have any. */
  careTeams(gateway: string, accounts: readonly string[]): Promise<Map<string, KnownCareTeam[]>>
  /** What the job's exports have listed of accounts, for those that they have. */
  listedCareTeams(jobId: number, accounts: readonly string[]): Promise<Map<string, CareTeamListing>>
  /**
   * The first providers whom the export of that arrival no longer lists, of people of whom all that it says can be used.
   * @returns `unreadable` where a row of it cannot be read at all: nobody knows whom it would have listed
   */
  missingCareTeams(
    jobId: number,
    arrival: number,
    limit: number,
  ): Promise<readonly MissingCareTeam[] | 'unreadable'>
  /** Requests for medical records that the gateway was sent, by hashed reference number. */
  medicalRequests(gateway: string, references: readonly string[]): Promise<Map<string, KnownRequest>>
  /** Accounts of which the job owes a mark or a deletion, by their hashes, those behind `after`. */
  owedCareTeams(gateway: string, jobId: number, after: string, limit: number): Promise<string[]>
  /** Which of the contents are in doubt, in whatever job. */
  heldContents(contents: readonly string[]): Promise<Set<string>>
  close(): Promise<void>
}
