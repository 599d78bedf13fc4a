/**
 * The durable memory, as the stages see it. Implementations pass `test/conformance/ledger.ts`.
 * A run writes through a `RunLedger` alone. The `RunLedger` is fenced: once another process has taken the run over, the old token can write
 * nothing more.
 */
import type { Acting, Audit, PutAside } from './audit.ts'
import type {
  Acknowledgements,
  Claimed,
  ClaimRequest,
  Expectations,
  ExportOrder,
  Fires,
  Installation,
  KnownCount,
  LastTargets,
  Lease,
  LeaseAnswer,
  LeaseRequest,
  Notifications,
  OpenExport,
  OpenMatters,
  OpenWork,
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

export * from './audit.ts'
export * from './concerns.ts'
export * from './left-records.ts'
export type { Held } from './packed-records.ts'
export type { CareTeamMark } from './people-tables.ts'
export * from './run-writes.ts'
export type { DeadlineState, LeftEvent } from './states.ts'
export * from './tables.ts'

/**
 * Writes of a run. Every call is a transaction fenced by the token of the lease; calls made together may share a transaction. A call is on the
 * disk when the promise resolves, unless documented as not waiting for the disk. A call that does not wait outlives the process at once, and the
 * machine after the next call that waits.
 */
export interface RunLedger {
  readonly lease: Lease
  /** Counts of the run, kept by the stages. Each write stores the current counts. */
  readonly tallies: Tallies
  /** Renews the lease. The time since the previous renewal counts as work. */
  renew(now: number, ttlMs: number): Promise<void>
  /**
   * Asserts the lease before a step that is not written to the ledger. Stores the counts without waiting for the disk.
   * @throws WaybillError `lease-lost`
   */
  assertHeld(): Promise<void>
  /** @param outage JSON: why the run waits for the gateway; null once the run no longer waits */
  noteOutage(outage: string | null): Promise<void>
  /** Stops counting time as work, until `goOnWorking`. */
  pauseWork(at: number): Promise<void>
  goOnWorking(at: number): Promise<void>
  addExport(start: ExportStart): Promise<ExportRecord>
  endExport(exportRow: number, state: 'finished' | 'failed', fault?: ExportFault): Promise<void>
  /** Notes the archived path of every export read from this file. */
  noteArchived(file: Pick<ExportRecord, 'path' | 'sha256'>, archived: string): Promise<void>
  /** @param drift JSON: differences from earlier deliveries */
  noteDrift(exportRow: number, drift: string): Promise<void>
  /** @param heldBack JSON: why rows of the chunk in which the run stops would have been left behind; nothing of the chunk was sent */
  noteHeldBack(exportRow: number, heldBack: string): Promise<void>
  /** @param collection JSON: the collected files of the run */
  noteCollection(collection: string): Promise<void>
  saveProfile(exportRow: number, profile: ProfileStart): Promise<void>
  /** Opens a chunk. A chunk that is open already stays open, with the new number of rows (a run may be resumed with another limit). */
  openChunk(exportRow: number, start: ChunkStart): Promise<void>
  /**
   * Write-ahead intents of a chunk: on disk when the promise resolves, in one transaction. Replaces batches planned before and not sent.
   * @returns the row of each batch
   */
  planBatches(intents: readonly BatchIntent[]): Promise<number[]>
  /**
   * Marks a planned batch before the bytes leave. Does not wait for the disk, unless the batch hides older records: the gateway shows only the
   * latest record of a series, so that everything settled until now must survive.
   */
  sendBatch(id: number, at: number, hidesOlder: boolean): Promise<void>
  /**
   * Write-ahead intent of an unplanned batch: on disk when the promise resolves. Resolves to the row of the batch; a batch sent again gets
   * another row.
   */
  beginBatch(intent: BatchIntent): Promise<number>
  /** Settles a batch. Does not wait for the disk, as all settlements: after a restart of the machine, unsettled batches are looked up. */
  settleBatch(settlement: BatchSettlement): Promise<void>
  splitBatch(id: number, answer: string, status: number | null, at: number): Promise<void>
  settleChunk(settlement: ChunkSettlement): Promise<void>
  /** @throws WaybillError `state-illegal` for an illegal move of an exception */
  rule(ruling: Ruling & Receipted, at: number): Promise<void>
  /**
   * Forgets a person as `Ledger.forgetPerson` does, unless another process has done so meanwhile.
   * @param accountId as the ledger had the account
   */
  forgetAccount(gateway: string, reference: string, accountId: string | null): Promise<void>
  /** Stores accounts. Does not wait for the disk: a repeated registration finds the person known. */
  saveAccounts(gateway: string, accounts: readonly KnownAccount[], at: number): Promise<void>
  /**
   * Stores the identity of people as exports give it. Does not wait for the disk: a repeated reading of the export gives the facts again.
   * @param births keyed hashes of birth dates, by hashed reference, of people without a known birth date
   * @param shared hashed references shared by people with different birth dates
   */
  saveBirths(gateway: string, births: ReadonlyMap<string, number>, shared: ReadonlySet<string>): Promise<void>
  /**
   * Claims accounts, across all jobs, until the lease ends. Each account is claimed or not, regardless of the rest. Does not wait for the disk:
   * no process survives a crash that loses the claim. Taking over a claim ends the lease behind the claim: the former owner can write nothing
   * more.
   * @param isDead true if the process of an owner on this machine has ended
   */
  claimAccounts(request: ClaimRequest, isDead: (owner: string) => boolean): Promise<Claimed>
  /** @param letGo accounts whose claims are released; without entries, the write does not wait for the disk */
  saveCareTeams(gateway: string, entries: readonly KnownCareTeam[], letGo?: readonly string[]): Promise<void>
  /** Stores marks and deletions owed for providers who are no longer listed, and forgets that they were listed. */
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
  /** As `jobId`, but adds nothing: undefined for a job that has never run. */
  knownJobId(name: string, gateway: string): Promise<number | undefined>
  /**
   * Acquires the lease of the job if free, expired, or held by a dead owner.
   * @param isDead true if the process of an owner on this machine has ended
   */
  acquireLease(request: LeaseRequest, isDead: (owner: string) => boolean): Promise<LeaseAnswer>
  releaseLease(lease: Lease): Promise<void>
  /** Current holder of the job. */
  holder(jobId: number, now: number, isDead: (owner: string) => boolean): Promise<LeaseRecord | undefined>
  /** Asks the process that runs it to stop; noted in the audit. @returns true if a process holds the run */
  askToStop(runId: string, person: Acting): Promise<boolean>
  /** Latest lease of the job, held or not. */
  lastLease(jobId: number): Promise<LeaseRecord | undefined>
  /** @throws WaybillError `lease-lost`: the search for exports may outlast the lease if the process sleeps */
  startRun(lease: Lease, start: RunStart): Promise<RunLedger>
  /**
   * @param at when work begins again
   * @param part scope of the rest, if the rest is not read as a whole
   * @throws WaybillError `lease-lost`: the present holder may have finished the run, or given the run up
   */
  resumeRun(lease: Lease, run: RunRecord, at: number, part?: RunPart): Promise<RunLedger>
  /** Settles rejects and doubts of a run. The state of the run stays unchanged. */
  amendRun(lease: Lease): RunLedger
  /** Unfinished (running or interrupted) run of this kind, if any. */
  unfinishedRun(jobId: number, kind: RunKind): Promise<RunRecord | undefined>
  run(id: string): Promise<(RunRecord & { job: string; gateway: string }) | undefined>
  /** Newest first. @param after number of runs to skip */
  runs(
    limit: number,
    only?: RunFilter,
    after?: number,
  ): Promise<(RunRecord & { job: string; gateway: string })[]>
  countRuns(only: RunFilter): Promise<number>
  /** Exports with the names of their mappings; null for a pruned mapping. */
  exportsOf(runId: string): Promise<(ExportRecord & { readonly mapping: string | null })[]>
  /** Open exports of unfinished runs, for all jobs of this name, at any gateway. */
  openExports(job: string): Promise<OpenExport[]>
  /** What runs left open, by run: neither settled by a later run nor acknowledged. Runs that left nothing are missing. */
  openMatters(): Promise<ReadonlyMap<string, OpenMatters>>
  exportRecord(exportRow: number): Promise<ExportRecord | undefined>
  exportsWithContent(exportId: string): Promise<ExportRecord[]>
  /** Latest first. */
  exportsNamed(name: string): Promise<ExportRecord[]>
  /**
   * Arrival of an export among all exports that the job has read: higher for a later export. A name with new bytes gets a new arrival. A file
   * read again keeps the arrival, and so does a retry of its rows. An export that was not read to the end counts as new.
   */
  arrivalOf(jobId: number, record: Pick<ExportRecord, 'id' | 'name' | 'sha256' | 'reading'>): Promise<number>
  mapping(digest: string): Promise<string | undefined>
  /** Profiles of finished exports, latest first. */
  profiles(key: ProfileKey, limit: number): Promise<Pick<ProfileStart, 'accepted' | 'content'>[]>
  /** Contents of the profiles of a run's exports, by `export_row`. Exports that were not compared, or were pruned since, are missing. */
  profilesOfRun(runId: string): Promise<ReadonlyMap<number, string>>
  /** True if an export of this content was finished and has a profile. */
  isProfiled(key: ProfileKey, sha256: string): Promise<boolean>
  /**
   * End of the latest finished export of the job by the mapping; undefined without an export.
   * @returns `read` if this content was finished before
   */
  lastEnd(key: ProfileKey, sha256: string): Promise<'read' | 'ended' | 'open' | undefined>
  chunksOf(exportRow: number): Promise<ChunkRecord[]>
  /** Chunks of all exports of the run, in the order of the exports. */
  chunksOfRun(runId: string): Promise<ChunkRecord[]>
  batchesOf(key: ChunkKey): Promise<BatchRecord[]>
  exceptionsOf(key: ChunkKey): Promise<ExceptionRecord[]>
  /** Exceptions of a run, grouped for reading, most frequent first. */
  reasonsOf(runId: string): Promise<Reason[]>
  /** Number of the run's exceptions that an earlier run had left behind, and since when. */
  knownOf(runId: string): Promise<KnownCount>
  /** Most frequent reason of the exceptions that no later run has settled. */
  mostFrequentReason(runId: string): Promise<Pick<Reason, 'code' | 'count'> | undefined>
  /** Slots by row key, for keys with slots. */
  delivered(jobId: number, rowKeys: readonly string[]): Promise<Map<string, readonly KeptSlot[]>>
  /**
   * Latest different export of this name and content that the job has read to the end. @param reading limits the search to this kind of reading
   */
  lastReading(
    jobId: number,
    record: Pick<ExportRecord, 'id' | 'name' | 'sha256'>,
    reading?: Reading,
  ): Promise<ExportRecord['id'] | undefined>
  /** Doubts by row key. */
  held(jobId: number, rowKeys: readonly string[]): Promise<Map<string, readonly HeldDoubt[]>>
  /** Hashes of series with a record in doubt that can still be looked up. */
  heldSeries(jobId: number): Promise<Set<string>>
  left: LeftBehind
  acknowledgements: Acknowledgements
  fires: Fires
  pauses: Pauses
  audit: Audit
  lastTargets: LastTargets
  putAside: PutAside
  expectations: Expectations
  notifications: Notifications
  /** Open matters by job. */
  standing(): Promise<Standing>
  /** Work beside the runs that may need somebody. */
  openWork(now: number): Promise<OpenWork>
  way: RightOfWay
  pruning: Pruning
  installation: Installation
  /**
   * Number of the copy, and the time up to which rows may be missing. @param now stored as the first use of a copy that was not used before:
   * milliseconds since the epoch
   */
  suspicion(now: number): Promise<Suspicion>
  /** Order of the backfilled exports that the job has read, by arrival. */
  orders(jobId: number): Promise<ReadonlyMap<number, ExportOrder>>
  /** Marks the ledger as a copy made at this instant: from now on, rows since then count as possibly lost. */
  noteBehind(at: number): Promise<void>
  accounts(gateway: string, references: readonly string[]): Promise<Map<string, KnownAccount>>
  /** Account ids shared by several people: the gateway has reassigned the id since. */
  sharedIds(gateway: string, accountIds: readonly string[]): Promise<Set<string | null>>
  /** Returns the references whose accounts the run has registered. */
  registeredBy(gateway: string, references: readonly string[], runId: string): Promise<Set<string>>
  /** Account ids of a gateway, sorted by reference, those after the reference `after`. Null if another key has sealed the id. */
  knownAccounts(
    gateway: string,
    after: string,
    limit: number,
  ): Promise<readonly { readonly reference: string; readonly accountId: string | null }[]>
  /**
   * Number of times each person was forgotten, for people who were forgotten.
   * @param references called only if anybody was forgotten
   */
  forgotten(gateway: string, references: () => readonly string[]): Promise<ReadonlyMap<string, number>>
  /** Hashed references shared by people with different birth dates, among the given references. */
  sharedReferences(gateway: string, references: readonly string[]): Promise<ReadonlySet<string>>
  /**
   * Confirms that each reference stands for a single person, despite earlier findings.
   * @param people by hashed reference, with the keyed hash of the birth date; null: the next birth date that an export gives
   * @param acting for the audit, a record for each person
   * @returns how many references were shared by several people
   */
  confirmPeople(gateway: string, people: ReadonlyMap<string, number | null>, acting?: Acting): Promise<number>
  /**
   * Forgets a person at a gateway: crosswalk, care teams, collected data of jobs. Deliveries to the person count as not delivered.
   * @param references hashes of the person's references
   * @param accountId finds further references of the person in the crosswalk
   * @param acting for the audit, with the action: the first reference stands for the person
   */
  forgetPerson(
    gateway: string,
    references: readonly string[],
    accountId: string | null,
    acting?: Acting & { readonly action: 'accounts-erase' | 'accounts-forget' },
  ): Promise<void>
  /**
   * Erases account ids of forgotten people from the bytes of the ledger's files.
   * @returns false if another process was reading: the log may hold account ids until the reader has ended
   */
  scrubAccounts(): Promise<boolean>
  /** Latest collection by hashed reference: the run, and a hash of the content. */
  collected(jobId: number, people: readonly string[]): Promise<ReadonlyMap<string, CollectedBefore>>
  /** Care-team entries by account, for accounts with known entries. */
  careTeams(gateway: string, accounts: readonly string[]): Promise<Map<string, KnownCareTeam[]>>
  /** Providers listed by the job's exports, for accounts that the exports list. */
  listedCareTeams(jobId: number, accounts: readonly string[]): Promise<Map<string, CareTeamListing>>
  /**
   * First providers that the export of this arrival no longer lists, of people with usable rows only.
   * @returns `unreadable` if a row of the export cannot be read: the row may have listed anybody
   */
  missingCareTeams(
    jobId: number,
    arrival: number,
    limit: number,
  ): Promise<readonly MissingCareTeam[] | 'unreadable'>
  /** Requests for medical records sent to the gateway, by hashed reference number. */
  medicalRequests(gateway: string, references: readonly string[]): Promise<Map<string, KnownRequest>>
  /** Hashes of accounts with a mark or a deletion owed by the job, those after `after`. */
  owedCareTeams(gateway: string, jobId: number, after: string, limit: number): Promise<string[]>
  /** Contents in doubt, among the given contents, in any job. */
  heldContents(contents: readonly string[]): Promise<Set<string>>
  close(): Promise<void>
}
