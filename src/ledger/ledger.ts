/**
 * The durable memory, as the stages see it: one member for each concern. Drivers pass the suites of `test/ledger/suite/`.
 * A run writes through a `RunLedger` alone.
 */
import type { Acting, ActionsOfPeople } from './audit.ts'
import type { Lease, SmallConcerns } from './concerns.ts'
import type { KeptRecords } from './left-records.ts'
import type {
  CareTeamListing,
  ChunkKey,
  KnownAccount,
  KnownCareTeam,
  KnownRequest,
  MissingCareTeam,
  ProfileKey,
  ProfileStart,
  RunKind,
  RunLedger,
  RunStart,
  Tallies,
} from './run-ledger.ts'
import type { RunState } from './states.ts'
import type {
  BatchRecord,
  ChunkRecord,
  ExceptionRecord,
  ExportRecord,
  LedgerTables,
  Reading,
  RunPart,
  RunRecord,
} from './tables.ts'

export * from './audit.ts'
export * from './concerns.ts'
export * from './left-records.ts'
export type { Held } from './packed-records.ts'
export * from './run-ledger.ts'
export type { DeadlineState, LeftEvent } from './states.ts'
export type { CareTeamMark } from './tables.ts'
export * from './tables.ts'

export interface Ledger extends SmallConcerns, KeptRecords, ActionsOfPeople {
  readonly jobs: Jobs
  readonly runs: Runs
  readonly exports: Exports
  readonly profiles: Profiles
  readonly chunks: Chunks
  readonly parts: {
    /** Parts in order; none of an export that is read as one, and of an export that has ended. */
    ofExport(exportRow: number): Promise<PartRecord[]>
  }
  readonly reasons: Reasons
  readonly people: People
  readonly careTeams: CareTeams
  readonly acknowledgements: Acknowledgements
  close(): Promise<void>
}

/** Jobs at gateways. */
interface Jobs {
  id(name: string, gateway: string): Promise<number>
  /** As `id`, but adds nothing: undefined for a job that has never run. */
  known(name: string, gateway: string): Promise<number | undefined>
}

type RunOfJob = RunRecord & { readonly job: string; readonly gateway: string }

interface Runs {
  /** @throws `lease-lost`: the search for exports may outlast the lease if the process sleeps */
  start(lease: Lease, start: RunStart): Promise<RunLedger>
  /**
   * @param at when work begins again
   * @param part scope of the rest, if the rest is not read as a whole
   * @throws `lease-lost`: the present holder may have finished the run, or given the run up
   */
  resume(lease: Lease, run: RunRecord, at: number, part?: RunPart): Promise<RunLedger>
  /** Works on a part, counted as before. */
  ofPart(lease: Lease, tallies: Tallies): RunLedger
  /** Settles rejects and doubts of a run. The state of the run stays unchanged. */
  amend(lease: Lease): RunLedger
  /** Unfinished (running or interrupted) run of this kind, if any. */
  unfinished(jobId: number, kind: RunKind): Promise<RunRecord | undefined>
  find(id: string): Promise<RunOfJob | undefined>
  /** Newest first. @param after number of runs to skip */
  list(limit: number, only?: RunFilter, after?: number): Promise<RunOfJob[]>
  count(only: RunFilter): Promise<number>
  /** Open work by run: neither settled by a later run nor acknowledged. Runs without open work are missing. */
  openMatters(): Promise<ReadonlyMap<string, OpenMatters>>
  /** People of the rows and records that are left open in all runs, by job and reason; rows that name nobody count for none. */
  openPeople(): Promise<readonly OpenPeople[]>
}

export interface OpenPeople extends Pick<OpenMatters['left'][number], 'outcome' | 'code'> {
  readonly job: string
  readonly people: number
}

/** Filter of a list of runs. */
export interface RunFilter {
  readonly job?: string | undefined
  /**
   * True: only runs that need somebody: unfinished, failed, or with rejects or doubts, unless a later run or an acknowledgement has settled the
   * matter.
   */
  readonly failed?: boolean | undefined
  readonly since?: number | undefined
  readonly states?: readonly RunState[] | undefined
  readonly among?: readonly string[] | undefined
  readonly except?: readonly string[] | undefined
  /** Name of a run: the beginning of the id, or the part behind the hyphen. */
  readonly named?: string | undefined
  readonly reason?: string | undefined
  readonly export?: string | undefined
}

/** Left open by a run: neither settled by a later run nor acknowledged by a person. */
export interface OpenMatters {
  /** The run itself failed, and no later run has read its exports. */
  readonly isFailed: boolean
  /** Exports that were not delivered, with the error code. */
  readonly exports: readonly { readonly name: string; readonly reason: string }[]
  /** Exports that were delivered, and could not be moved into the archive, each with message and remedy. */
  readonly unarchived: readonly { readonly name: string; readonly message: string; readonly remedy: string }[]
  /** Rows and records by reason and export, most frequent first. */
  readonly left: readonly {
    readonly outcome: 'rejected' | 'in-doubt'
    readonly code: string
    readonly export: string
    readonly rows: number
    readonly records: number
    /** When an earlier run first left one of these behind; null if this run was the first. */
    readonly since: number | null
  }[]
}

interface Exports {
  /** Exports with the names of their mappings; null for a pruned mapping. */
  ofRun(runId: string): Promise<(ExportRecord & { readonly mapping: string | null })[]>
  open(job: string): Promise<OpenExport[]>
  find(exportRow: number): Promise<ExportRecord | undefined>
  withContent(exportId: string): Promise<ExportRecord[]>
  named(name: string): Promise<ExportRecord[]>
  /**
   * Arrival of an export among all exports that the job has read: higher for a later export. A name with new bytes gets a new arrival. A file
   * read again keeps the arrival, and so does a retry of its rows. An export that was not read to the end counts as new.
   */
  arrivalOf(jobId: number, record: Pick<ExportRecord, 'id' | 'name' | 'sha256' | 'reading'>): Promise<number>
  mapping(digest: string): Promise<string | undefined>
  /**
   * End of the latest finished export of the job by the mapping; undefined without an export.
   * @returns `read` if this content was finished before
   */
  lastEnd(key: ProfileKey, sha256: string): Promise<'read' | 'ended' | 'open' | undefined>
  /**
   * Latest different export of this name and content that the job has read to the end. @param reading limits the search to this kind of reading
   */
  lastReading(
    jobId: number,
    record: Pick<ExportRecord, 'id' | 'name' | 'sha256'>,
    reading?: Reading,
  ): Promise<ExportRecord['id'] | undefined>
  /** Order of the backfilled exports that the job has read, by arrival. */
  orders(jobId: number): Promise<ReadonlyMap<number, ExportOrder>>
}

/** An open export of an unfinished run. */
export interface OpenExport {
  readonly run: string
  readonly gateway: string
  readonly path: string
}

/** Position of a backfilled export among all exports. */
export interface ExportOrder {
  /** Arrival of the newest nightly export with a day up to this export's day; 0 without a nightly export. */
  readonly anchor: number
  /** Days since 1970 of the date in the name; 0 without a date. */
  readonly day: number
}

/** Profiles of exports, for the comparison with later deliveries. */
interface Profiles {
  /** Profiles of finished exports, latest first. */
  latest(key: ProfileKey, limit: number): Promise<Pick<ProfileStart, 'accepted' | 'content'>[]>
  /** Contents of the profiles of a run's exports, by `export_row`. Exports that were not compared, or were pruned since, are missing. */
  ofRun(runId: string): Promise<ReadonlyMap<number, string>>
  /** True if an export of this content was finished and has a profile. */
  has(key: ProfileKey, sha256: string): Promise<boolean>
}

/** A part of an export, as far as its worker has come. */
export interface PartRecord {
  /** From 0. */
  readonly number: number
  readonly state: LedgerTables['part']['state']
  /** JSON: error that has stopped or failed the part. */
  readonly fault: string | null
  readonly tallies: Tallies
  readonly receiptsLength: number
  /** Settled rows. */
  readonly rows: { readonly read: number; readonly rejected: number; readonly skipped: number }
  /** Number of times that a process has taken the part. */
  readonly takes: number
}

/** Chunks, with their batches and exceptions. */
interface Chunks {
  ofExport(exportRow: number): Promise<ChunkRecord[]>
  ofRun(runId: string): Promise<ChunkRecord[]>
  batches(key: ChunkKey): Promise<BatchRecord[]>
  exceptions(key: ChunkKey): Promise<ExceptionRecord[]>
}

/** Exceptions of runs, grouped for people. */
interface Reasons {
  /** Exceptions of a run, grouped for reading, most frequent first. */
  ofRun(runId: string): Promise<Reason[]>
  /** Number of the run's exceptions that an earlier run had left behind, and since when. */
  known(runId: string): Promise<KnownCount>
  /** Most frequent reason of the exceptions that no later run has settled. */
  mostFrequent(runId: string): Promise<Pick<Reason, 'code' | 'count'> | undefined>
}

export interface Reason {
  readonly outcome: string
  readonly stage: string
  readonly code: string
  readonly rule: string | null
  readonly exportName: string
  readonly field: string | null
  readonly message: string
  readonly count: number
  readonly settled: number
  /** Number of exceptions that an earlier run had left behind alike. */
  readonly known: number
  /** When the earliest known exception was first met: ISO 8601, UTC. */
  readonly knownSince?: string
  /** Latest decision on one of them, as of a record in doubt that is not stored: ISO 8601, UTC. */
  readonly decidedAt?: string
  /** An unsettled exception with a record. A row that the mapping rejected has no content, and so cannot serve as example. */
  readonly example?: LeftExample
  /** Transaction ids of some of the withdrawn results at the gateway. */
  readonly sentAs?: readonly string[]
}

/** Parts of a transaction id. */
export interface LeftExample {
  readonly exportId: string
  readonly row: number
  readonly rule: string
  readonly content: string
}

/** Message behind the column in question, as in a rejects file. */
export const wordsOf = ({ field, message }: Pick<Reason, 'field' | 'message'>): string =>
  field === null ? message : `${field}: ${message}`

/** Number of a run's exceptions that an earlier run had left behind. */
interface KnownCount {
  readonly known: number
  /** When the earliest known exception was first met. Null without known exceptions. */
  readonly since: number | null
}

/** An acknowledgement: a person accepts rejects or the failure of a run as final. */
export interface Acknowledgement {
  readonly run: string
  readonly code: string | null
  readonly by: string
  readonly note: string | null
  readonly at: number
}

interface Acknowledgements {
  /** Acknowledgements of a run, without undone ones. */
  of(runId: string): Promise<Acknowledgement[]>
  add(runs: readonly string[], acknowledgement: Omit<Acknowledgement, 'run'>): Promise<void>
  /** @returns runs with an acknowledgement undone */
  undo(
    which: {
      readonly run?: string | undefined
      readonly job?: string | undefined
      readonly code?: string | undefined
    },
    decided: Pick<Acknowledgement, 'by' | 'note' | 'at'>,
  ): Promise<string[]>
}

interface People {
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
  confirm(gateway: string, people: ReadonlyMap<string, number | null>, acting?: Acting): Promise<number>
  /**
   * Forgets a person at a gateway: crosswalk, care teams, collected data of jobs. Deliveries to the person count as not delivered.
   * @param references hashes of the person's references
   * @param accountId finds further references of the person in the crosswalk
   * @param acting for the audit, with the action: the first reference stands for the person
   */
  forget(
    gateway: string,
    references: readonly string[],
    accountId: string | null,
    acting?: Acting & { readonly action: 'accounts-erase' | 'accounts-forget' },
  ): Promise<void>
  /**
   * Erases account ids of forgotten people from the bytes of the ledger's files.
   * @returns false if the log may still hold account ids: another process was reading, or a server keeps the log
   */
  scrub(): Promise<boolean>
  /** Latest collection by hashed reference: the run, and a hash of the content. */
  collected(jobId: number, people: readonly string[]): Promise<ReadonlyMap<string, CollectedBefore>>
  /** Requests for medical records sent to the gateway, by hashed reference number. */
  medicalRequests(gateway: string, references: readonly string[]): Promise<Map<string, KnownRequest>>
}

interface CollectedBefore {
  readonly run: string
  readonly content: string | null
}

interface CareTeams {
  /** Care-team entries by account, for accounts with known entries. */
  ofAccounts(gateway: string, accounts: readonly string[]): Promise<Map<string, KnownCareTeam[]>>
  /** Providers listed by the job's exports, for accounts that the exports list. */
  listed(jobId: number, accounts: readonly string[]): Promise<Map<string, CareTeamListing>>
  /**
   * First providers that the export of this arrival no longer lists, of people with usable rows only.
   * @returns `unreadable` if a row of the export cannot be read: the row may have listed anybody
   */
  missing(jobId: number, arrival: number, limit: number): Promise<readonly MissingCareTeam[] | 'unreadable'>
  /** Hashes of accounts with a mark or a deletion owed by the job, those after `after`. */
  owed(gateway: string, jobId: number, after: string, limit: number): Promise<string[]>
}
