/**
 * Tables of the ledger, as Kysely sees them. No column holds health data: references, accounts, people and
 * NPIs are hashed. `run-ledger.ts` and `concerns.ts` say more about fields of equal names.
 */
import type { ColumnType, Generated, Selectable } from 'kysely'
import type { SealedId } from './sealed-ids.ts'
import type { DeadlineState, LeftEvent, RunState, StateOf } from './states.ts'

/** Given with the row or never; null: never. */
type Fixed<T> = ColumnType<T | null, T | null | undefined, never>
/** Null at first. With `null`, noted and taken back. */
type Noted<T, None = never> = ColumnType<T | null, never, T | None>
/** Null until known. */
type Later<T> = ColumnType<T | null, T | null | undefined, T | null>
/** By default 0. */
type Counted = ColumnType<number, number | undefined, number>

/** A job at one gateway: deliveries to a gateway do not count for another gateway. */
interface JobTable {
  id: Generated<number>
  name: string
  gateway: string
}

interface RunTable {
  id: string
  job_id: number
  state: RunState
  started_at: number
  ended_at: number | null
  /** Code of the error that ended or interrupted the run. */
  reason: string | null
  /** Message of the error, without health data. */
  detail: Noted<string, null>
  /** Milliseconds of work, over all resumptions. */
  worked_ms: Counted
  /** Time up to which work is counted (`countWork`); null while no process works on the run. */
  worked_at: ColumnType<number | null, number | undefined, number | null>
  /** Files of the run, relative to the home. */
  rejects_path: string
  receipts_path: string
  /** JSON: counts of accounts and requests. */
  tallies: string
  /** Length in bytes of the settled receipts. */
  receipts_length: Counted
  /** Run that this run retries, and the selected part. */
  origin_run: Fixed<string>
  selection: Fixed<Selection>
  /** When pruning of the detail (chunks, batches, exceptions, files) began. */
  pruned_at: Noted<number>
  /** Backfills only: range and options (`backfillText`), and folder of the exports if different from the place of the job. */
  backfill: Fixed<string>
  backfill_folder: Fixed<string>
  /** Time of the latest resumption: a resumed run goes through the exports begun by then, and no others. */
  resumed_at: Noted<number>
  /** Scope of a run that does not read all exports of the job. */
  part: ColumnType<RunPart | null, RunPart | null | undefined, RunPart>
  /** JSON: the files of a collection, as far as settled. */
  collection: Noted<string>
  /** Name of the person who asked whoever runs it to stop; null: nobody. */
  stop_by: Noted<string, null>
}

/** Selected part of another run: rejects, doubts, both, or records that a person has decided to send again. */
export type Selection = 'rejected' | 'in-doubt' | 'left-behind' | 'decided'

/** `selected`: rows that another run left behind. `rejects`: a rejects file, whose rows keep their position in the original export. */
export type Reading = 'whole' | 'selected' | 'rejects'

/**
 * `limit`: at most this many rows of each export. `files`: the exports named on the command line. `owed`: no export, only owed marks and
 * deletions.
 */
export type RunPart = 'limit' | 'files' | 'owed'

/** A run's mapping, catalog and tables at the time, so that a resumption maps alike. */
interface MappingTable {
  digest: string
  name: string
  content: string
}

interface ExportTable {
  id: Generated<number>
  run_id: string
  ordinal: number
  export_id: string
  name: string
  path: string
  sha256: string
  bytes: number
  mapping_digest: string
  state: 'open' | 'finished' | 'failed'
  reason: string | null
  detail: Later<string>
  /** Remedy, if different from the remedy of the code. */
  remedy: Later<string>
  drift: string | null
  reading: ColumnType<Reading, Reading | undefined, never>
  /** For `selected`: the export of the rows, as read by the other run. */
  origin_export: Fixed<number>
  /** Path to which Waybill has moved the file; `path` keeps the original path. */
  archived: ColumnType<string | null, string | null | undefined, string>
  held_back: Noted<string, null>
  is_ended: Fixed<number>
  day: Fixed<number>
  /** Backfills only: arrival of the newest nightly export, by the date in the name, up to this export's day; 0 without a nightly export. */
  anchor: Fixed<number>
  /** JSON: counts of rows and records of a pruned run. Null: the chunks have the counts. */
  totals: Noted<string>
}

/**
 * Profile of an export: one row for each delivered content. Stored under the job's name, regardless of the gateway: the form of a vendor's
 * exports does not depend on the gateway.
 */
interface ProfileTable {
  job: string
  mapping: string
  sha256: string
  /** The export of the profile. The profile counts once the export is finished. */
  export_row: number
  /** 1 if the export had drifted and was accepted. */
  accepted: number
  /** JSON: counts and names of columns, rules and units. Empty after pruning: only the fact of the delivery is left. */
  content: string
}

interface ChunkTable {
  export_row: number
  number: number
  first_row: number
  first_line: number
  byte_offset: number
  rows: number
  state: StateOf<'chunk'>
  /** JSON: counts of rows and records. */
  counts: string | null
  /** Length in bytes of the export's rejects file, once this chunk is settled. */
  rejects_length: number | null
  settled_at: number | null
  /** Milliseconds of the run's work by then; null until settled. */
  worked_ms: number | null
  accepted: Noted<Uint8Array, null>
}

/** Part of an export that several workers read, until the export has ended. */
interface PartTable {
  export_row: number
  number: number
  /** `stopped`: the error is of this try alone. `failed`: the export, or the run, is over. */
  state: 'open' | 'settled' | 'stopped' | 'failed'
  /** JSON (`PartFault`): why the part was stopped, or has failed. */
  fault: string | null
  tallies: string
  /** Length in bytes of the settled receipts of the part. */
  receipts_length: Counted
  rows_read: Counted
  rows_rejected: Counted
  rows_skipped: Counted
  /** Number of times that a process has taken the part. */
  takes: Counted
}

interface BatchTable {
  id: Generated<number>
  batch_id: string
  export_row: number
  chunk: number
  kind: string
  records: number
  state: StateOf<'batch'>
  attempts: number
  /** Class of the answer (docs/states.md) and HTTP status, once answered. */
  answer: string | null
  status: number | null
  /** Boot and PID namespace of the planning process: differs after each start of the machine. */
  place: string | null
  begun_at: number
  settled_at: number | null
}

/** Records of a batch, apart from the batch: moving a batch does not rewrite the records. */
interface BatchHoldsTable {
  batch: number
  /** Records of the batch until settled, then the accepted records. */
  holds: Uint8Array
}

/** Records in doubt. No later export may send them again before a person has decided. */
interface HeldTable {
  job_id: number
  row_key: Uint8Array
  content: Uint8Array
  rule: Uint8Array
  /** Hash of the series, 8 bytes, while newer records of the series wait. */
  series: Uint8Array | null
  sent_until: number | null
  /** Export that first left the record in doubt, or sent the record. */
  export_row: number
}

/** Present only in a copied ledger: the original may have delivered more since. */
interface CopyTable {
  /** A copy of a copy has a higher number. */
  number: Generated<number>
  taken_at: number
  /** When a run first used the copy; null until then. */
  used_at: ColumnType<number | null, number | null | undefined, number>
}

/** One row, once a key was used. */
interface InstallationTable {
  /** Keyed hash of a constant. Under another key, nothing in the ledger is recognised. */
  fingerprint: string
  /** 1: records at gateways were sent under another key, too. */
  had_other_key: number
}

/** Gateways that this ledger may send to: sampled profiles showed nothing lost, or a person has confirmed the gateway. */
interface GatewayMetTable {
  gateway: string
  at: number
}

export interface LedgerTables extends PeopleTables {
  job: JobTable
  lease: LeaseTable
  waiting: WaitingTable
  run: RunTable
  mapping: MappingTable
  export: ExportTable
  profile: ProfileTable
  chunk: ChunkTable
  part: PartTable
  batch: BatchTable
  batch_holds: BatchHoldsTable
  exception: ExceptionTable
  decision: DecisionTable
  resolution: ResolutionTable
  audit: AuditTable
  put_aside: PutAsideTable
  held: HeldTable
  timetable: TimetableTable
  pause: PauseTable
  last_targets: LastTargetsTable
  fire: FireTable
  notification: NotificationTable
  copy: CopyTable
  installation: InstallationTable
  gateway_met: GatewayMetTable
  delivery: DeliveryTable
  deadline: DeadlineTable
}

export type RunRecord = Selectable<RunTable>
export type ExportRecord = Selectable<ExportTable>
export type ChunkRecord = Selectable<ChunkTable>
export type BatchRecord = Selectable<BatchTable> & Pick<BatchHoldsTable, 'holds'>
export type ExceptionRecord = Selectable<ExceptionTable>
export type LeaseRecord = Selectable<LeaseTable>
export type FireRecord = Selectable<FireTable>
export type NotificationRow = Selectable<NotificationTable>

interface LeaseTable {
  job_id: number
  /** Part of the export that the run reads, from 1; 0 for the job. */
  part: ColumnType<number, number | undefined, never>
  run_id: string
  owner: string
  token: number
  acquired_at: number
  expires_at: number
  gives_way: Counted
  /** JSON, while the run waits during an outage of the gateway: since when, why, until when. Null: no outage. */
  outage: ColumnType<string | null, null, string | null>
}

/** Owners that wait for a job whose holder gives way, and when each request expires unless repeated. */
interface WaitingTable {
  job_id: number
  owner: string
  since: number
  expires_at: number
}

export type DeliveryRecord = Selectable<DeliveryTable>
export type DeadlineRecord = Selectable<DeadlineTable>

/** Owner as shown to people: `host:pid`, without the part that makes the process unique (src/system/process-identity.ts). */
export const processName = (owner: string): string => owner.replace(/#[^#:]*$/, '')

interface ExceptionTable {
  id: Generated<number>
  export_row: number
  chunk: number
  row: number
  line: number
  byte_offset: number
  /** Null for a row that was rejected as a whole. */
  kind: string | null
  rule: string | null
  content: string | null
  outcome: 'rejected' | 'in-doubt' | 'warning'
  state: StateOf<'record'> | 'warning'
  stage: string
  code: string
  field: string | null
  /** Message. Words of the gateway are included only if known to concern no person (`src/load/gateway-words.ts`). */
  message: string
  batch_id: string | null
  /** Begin of the run in which the exception was first met; null for a new exception (`noteKnown`). */
  known_since: Noted<number>
  sent_as: Fixed<string>
  /** Hashed reference of the person; null for a row that names nobody, and for an erased person. */
  person: Uint8Array | null
}

/** A change of an exception after the run: rows are only added, never changed. */
interface DecisionTable {
  id: Generated<number>
  exception: number
  event: LeftEvent
  run_id: string | null
  resolution: number | null
  at: number
}

/** Actions beside the decisions on runs, which `resolution` has. */
export type Audited =
  | 'stop'
  | 'pause'
  | 'unpause'
  | 'put-aside'
  | 'undo-put-aside'
  | 'acknowledge'
  | 'accounts-export'
  | 'accounts-confirm'
  | 'accounts-forget'
  | 'accounts-erase'
  | 'see-values'

export type Decided = 'accept' | 'resend' | 'give-up' | 'acknowledge' | 'undo-acknowledge'

interface ResolutionTable {
  id: Generated<number>
  run_id: string
  decision: Decided
  /** For `acknowledge`: the acknowledged reason; null for everything that the run left behind. */
  code: Fixed<string>
  /** For `acknowledge`: when the acknowledgement was undone. */
  undone_at: Noted<number>
  person: string
  note: string | null
  at: number
}

/** Action of a person that no other table keeps (`AuditRecord`). */
interface AuditTable {
  id: Generated<number>
  at: number
  person: string
  action: Audited | Decided
  job: string | null
  run_id: string | null
  subject: string | null
  note: string | null
}

/** Export that runs pass over while its content is the same (`asideContent`). */
interface PutAsideTable {
  job_id: number
  path: string
  name: string
  content: string
  export_row: number
  person: string
  note: string | null
  at: number
}

interface TimetableTable {
  job_id: number
  cron: string
  zone: string
  seen_until: number
}

interface PauseTable {
  job_id: number
  person: string
  note: string | null
  at: number
  until: number | null
}

/** Targets that a job listed when its file was last valid. */
interface LastTargetsTable {
  job: string
  /** JSON, encrypted by the key of the installation: addresses and commands may hold secrets. */
  targets: SealedId
}

/** A fire: an instant at which a job was due, and the result. */
interface FireTable {
  job_id: number
  due: number
  state: StateOf<'fire'>
  /** The fire whose run makes up for this fire: this or a later fire. Null if the job ran in time, or if nothing makes up for the fire. */
  made_up_by: Later<number>
  /** Owner (process) that began the run. */
  owner: Later<string>
  run_id: Later<string>
  begun_at: Later<number>
  ended_at: Later<number>
  exit: Later<number>
  error: Later<string>
  reason: Later<string>
  /** Owner that held the job, or place of the error in the job file. */
  detail: Later<string>
  /** Earliest next try of a `retrying` fire. */
  retry_at: Later<number>
}

/** A notice on the way to a target. A target is notified of a subject once. */
interface NotificationTable {
  id: Generated<number>
  /** Equal in every try: a receiver recognises a notice already received. */
  message_id: string
  job_id: number
  kind: string
  subject: string
  target: string
  address: string
  notice: string
  state: StateOf<'notification'>
  attempts: Counted
  /** Earliest next try. During a delivery: the instant at which the delivering process counts as dead. */
  next_at: number
  created_at: number
  delivered_at: Later<number>
  error: Later<string>
}

/** A file that a run has begun to read, as listed by the source. Stored under the job's name, regardless of the gateway. */
interface DeliveryTable {
  job: string
  mapping: string
  address: string
  modified_at: number
  bytes: number
  name: string
  taken_at: number
  seen_at: number
}

/** Judgement of a deadline for exports. */
interface DeadlineTable {
  job: string
  mapping: string
  source: string
  timetable: string
  due: number
  judged_at: number
  state: DeadlineState
  expected: number
  arrived: number
  /** Number of strangely small exports among the arrived. */
  small: number
  /** JSON: files that had arrived by then, which do not count for a later deadline. Null if the source could not be read. */
  known: string | null
}

interface PeopleTables {
  account: AccountTable
  claim: ClaimTable
  abandoned_claim: AbandonedClaimTable
  forgotten: ForgottenTable
  shared_reference: SharedReferenceTable
  care_team: CareTeamTable
  care_team_listed: CareTeamListedTable
  collected: CollectedTable
  medical_request: MedicalRequestTable
}

/** The crosswalk: hashed reference → account id. */
interface AccountTable {
  gateway: string
  reference: Uint8Array
  account_id: SealedId | null
  registered_at: number
  /** The run that registered the person; null if the gateway already knew the person. */
  registered_by: string | null
  sent_before: number | null
  born: number | null
  named: number | null
}

/** References shared by people with different birth dates: nothing is sent under them. */
interface SharedReferenceTable {
  gateway: string
  reference: Uint8Array
}

/** Accounts that a job reads and is about to write. A claim is valid as long as the lease of the job. */
interface ClaimTable {
  gateway: string
  account: Uint8Array
  job_id: number
}

/** Claims without a process: the run alone can find out about its requests. */
interface AbandonedClaimTable extends ClaimTable {
  run_id: string
  at: number
}

/** People whose account was erased or is no longer valid: deliveries to the account count as not delivered. */
interface ForgottenTable {
  gateway: string
  reference: Uint8Array
  /** Number of times: part of the hashes of the person's row keys from then on. */
  times: number
}

/** Known care-team entries of accounts: newest date, and mark. */
interface CareTeamTable {
  gateway: string
  account: Uint8Array
  npi: Uint8Array
  observed_at: number
  stored_at: number
  mark: CareTeamMark
  account_id: SealedId | null
  heard_at: number
  place: number
  content: Uint8Array | null
  deletions: string | null
  mark_by: number | null
  deletions_by: number | null
}

/**
 * Mark of the primary care physician. `none`: no mark, or another entry of the account has the mark. `withdrawn`: the newest word is that the
 * entry has no mark, or no longer. `to-set`, `to-unset`: owed, as the change failed when the export asked for the mark.
 */
export type CareTeamMark = 'none' | 'set' | 'withdrawn' | 'to-set' | 'to-unset'

/** Providers of each person in a job's exports, if the exports list all care teams. */
interface CareTeamListedTable {
  job_id: number
  /** Hashed reference of the person; empty for an unreadable row of an unknown person. */
  account: Uint8Array
  npi: Uint8Array
  arrival: number
  at: number
}

/** Collections of a job by person, with a hash of the content: no health data. */
interface CollectedTable {
  job_id: number
  person: Uint8Array
  content: Uint8Array | null
  /** The latest run that asked. */
  run_id: string
}

/** Requests for medical records sent to a gateway. */
interface MedicalRequestTable {
  gateway: string
  reference: Uint8Array
  content: Uint8Array
  state: MedicalRequestState
  heard_at: number
  run_id: string | null
}

/** `awaiting`: the request is sent, the authorization is not. */
export type MedicalRequestState = 'awaiting' | 'complete' | 'withdrawn'
