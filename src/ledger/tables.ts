/** The tables of runs and of what they left behind, as Kysely sees them. Instants are milliseconds since the epoch. No column holds health data. */

import type { ColumnType, Generated, Selectable } from 'kysely'
import type { PeopleTables } from './people-tables.ts'
import type {
  DeadlineTable,
  DeliveryTable,
  FireTable,
  NotificationTable,
  PauseTable,
  TimetableTable,
} from './schedule-tables.ts'
import type { BatchState, ChunkState, LeftEvent, LeftState, RunState } from './states.ts'

/** A job as known to one gateway: what was delivered to one gateway was not delivered to another. */
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
  /** Code of the error that ended or interrupted it. */
  reason: string | null
  /** The words of that error, which hold no health data. */
  detail: ColumnType<string | null, never, string | null>
  /** Milliseconds in which it was at work, over all its resumptions. */
  worked_ms: ColumnType<number, number | undefined, number>
  /** Up to when that is counted (worked-time.ts); null while nobody is at work on it. */
  worked_at: ColumnType<number | null, number | undefined, number | null>
  /** Files of the run, relative to the home. */
  rejects_path: string
  receipts_path: string
  /** JSON: counts of accounts and requests. */
  tallies: string
  /** Length in bytes of its receipts, as far as they are settled. */
  receipts_length: ColumnType<number, number | undefined, number>
  /** The run of which this one takes up what was left behind, and what of it. */
  origin_run: ColumnType<string | null, string | null | undefined, never>
  selection: ColumnType<Selection | null, Selection | null | undefined, never>
  /** Since when its detail (chunks, batches, exceptions, files) is gone, or going. */
  pruned_at: ColumnType<number | null, never, number>
  /** Of a backfill: its range and what it was begun with (`backfillText`), and the folder of its exports where that is not the place of the job. */
  backfill: ColumnType<string | null, string | null | undefined, never>
  backfill_folder: ColumnType<string | null, string | null | undefined, never>
  /** When it was taken up again, the last time: it has gone through the exports that it had begun by then, and no others. */
  resumed_at: ColumnType<number | null, never, number>
  /** Of a run that has not read all that the job finds: what of it. */
  part: ColumnType<RunPart | null, RunPart | null | undefined, RunPart>
  /** JSON: the files of what it collects, as far as they are settled. */
  collection: ColumnType<string | null, never, string>
}

/** What of another run is taken up: its rejects, what is in doubt, both; or what a person has decided to send again. */
export type Selection = 'rejected' | 'in-doubt' | 'left-behind' | 'decided'

/** `selected`: rows that another run left behind. `rejects`: a rejects file, whose rows keep their place in the export they came from. */
export type Reading = 'whole' | 'selected' | 'rejects'

/** `limit`: so many rows of each export at most. `files`: the exports that were named. `owed`: no export, but what the job owed. */
export type RunPart = 'limit' | 'files' | 'owed'

/** What a run maps with: mapping, catalog and tables as they were, so that a resumption maps the same way. */
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
  /** The words of the error with that code, which hold no health data. */
  detail: ColumnType<string | null, string | null | undefined, string | null>
  /** Remedy, where it is another one than that of the code. */
  remedy: ColumnType<string | null, string | null | undefined, string | null>
  /** JSON: in what it differs from earlier deliveries. */
  drift: string | null
  reading: ColumnType<Reading, Reading | undefined, never>
  /** Of `selected`: the export whose rows these are, as the other run read it. */
  origin_export: ColumnType<number | null, number | null | undefined, never>
  /** Where Waybill has moved it, as its `path` names where it was. */
  archived: ColumnType<string | null, string | null | undefined, string>
  /** JSON: why rows of the chunk in which the run was stopped would have been left behind, of which nothing was sent. */
  held_back: ColumnType<string | null, never, string | null>
  /** 1 where its last line has a line end, 0 where it has none; null where the format has no lines. */
  is_ended: ColumnType<number | null, number | null | undefined, never>
  /** Days since 1970 in its name; null without a date. */
  day: ColumnType<number | null, number | null | undefined, never>
  /** Of a backfilled one: arrival of the newest nightly export that was not later by its name when this one was begun; 0 where there was none. */
  anchor: ColumnType<number | null, number | null | undefined, never>
  /** JSON: the counts of rows and records of a run that was pruned; else its chunks have them. */
  totals: ColumnType<string | null, never, string>
}

/**
 * What an export looked like: one row for each content that was delivered. By the job's name, whatever the gateway: how a
 * vendor's exports look does not hang on where they are sent.
 */
interface ProfileTable {
  job: string
  mapping: string
  sha256: string
  /** The export that was read; the profile counts once that one is finished. */
  export_row: number
  /** 1 where it had drifted and was taken all the same. */
  accepted: number
  /** JSON: counts and names of columns, rules and units. Empty once it was pruned: the delivery is known, not what it looked like. */
  content: string
}

interface ChunkTable {
  export_row: number
  number: number
  first_row: number
  first_line: number
  byte_offset: number
  rows: number
  state: ChunkState
  /** JSON: counts of rows and records. */
  counts: string | null
  /** Length in bytes of the export's rejects file, once this chunk is settled. */
  rejects_length: number | null
  settled_at: number | null
  /** What the run had worked by then, in milliseconds; null until it is settled. */
  worked_ms: number | null
  /** Packed: what the gateway has taken of it in no batch, as registrations and requests for medical records; null where that is nothing. */
  accepted: ColumnType<Uint8Array | null, never, Uint8Array | null>
}

interface BatchTable {
  id: Generated<number>
  batch_id: string
  export_row: number
  chunk: number
  kind: string
  records: number
  state: BatchState
  attempts: number
  /** Class of the answer (docs/states.md) and its HTTP status, once there is one. */
  answer: string | null
  status: number | null
  /** Where it was planned: another place after each start of the machine. */
  place: string | null
  begun_at: number
  settled_at: number | null
}

/** Apart from the batch, so that what moves that does not write this once more. */
interface BatchHoldsTable {
  batch: number
  /** Until it is settled: what it carries; then what the gateway has taken. */
  holds: Uint8Array
}

/** Records in doubt, which no later export may send again before a person has decided. */
interface HeldTable {
  job_id: number
  row_key: Uint8Array
  content: Uint8Array
  /** Hash of the rule, 4 bytes. */
  rule: Uint8Array
  /** Hash of the series, 8 bytes, while newer records of it wait. */
  series: Uint8Array | null
  /** When the run that has sent it was given up; null once somebody has looked; 0: the gateway has it, and what follows from it is still to be done. */
  sent_until: number | null
  /** The export of which it was left in doubt, or sent, first. */
  export_row: number
}

/** One row in a ledger that is a copy of another one: that may have delivered since what this one knows nothing of. */
interface CopyTable {
  /** A copy of a copy has a higher one. */
  number: Generated<number>
  taken_at: number
  /** When a run has used it first; null until then. */
  used_at: ColumnType<number | null, number | null | undefined, number>
}

/** One row, once a key was used. */
interface InstallationTable {
  /** Keyed hash of a constant: with another key nothing that the ledger holds is recognised. */
  fingerprint: string
  /** 1: what stands at gateways was sent under another key, too. */
  had_other_key: number
}

/** Gateways that this ledger may send to: a few profiles showed nothing that it has lost, or a person said so. */
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
  batch: BatchTable
  batch_holds: BatchHoldsTable
  exception: ExceptionTable
  decision: DecisionTable
  resolution: ResolutionTable
  held: HeldTable
  timetable: TimetableTable
  pause: PauseTable
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
  run_id: string
  /** `host:pid#…`: of one process alone. */
  owner: string
  token: number
  acquired_at: number
  expires_at: number
  /** 1: the holder lets the job go when another one asks for it. */
  gives_way: ColumnType<number, number | undefined, number>
  /** JSON, while the run waits as nothing gets through to the gateway: since when, why, until when. Null: it does not. */
  outage: ColumnType<string | null, null, string | null>
  /** Who has asked the holder to stop the run; null: nobody. */
  stop_by: ColumnType<string | null, null | undefined, string | null>
}

/** Who waits for a job whose holder gives way, and until when that counts unless it is said again. */
interface WaitingTable {
  job_id: number
  owner: string
  since: number
  expires_at: number
}

export type DeliveryRecord = Selectable<DeliveryTable>
export type DeadlineRecord = Selectable<DeadlineTable>

/** As people are shown an owner: `host:pid`, without what tells that process from all others (src/process-identity.ts). */
export const processName = (owner: string): string => owner.replace(/#[^#:]*$/, '')

/** A row or record that did not simply succeed. */
export interface ExceptionTable {
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
  /** What has become of it since. */
  state: LeftState | 'warning'
  stage: string
  code: string
  field: string | null
  /** Of the gateway's words those alone that are known to be of nobody (`src/load/gateway-words.ts`). */
  message: string
  batch_id: string | null
  /** When the run began in which the same one was met first; null of one that is new (known-since.ts). */
  known_since: ColumnType<number | null, never, number>
  /** Transaction id under which the gateway has a withdrawn result. */
  sent_as: ColumnType<string | null, string | null | undefined, never>
}

/** What has befallen an exception after its run: never changed, only added to. */
export interface DecisionTable {
  id: Generated<number>
  exception: number
  event: LeftEvent
  /** The run that it belongs to; null for what a person or a look at the profile has decided. */
  run_id: string | null
  /** What a person has decided; null for what came of itself. */
  resolution: number | null
  at: number
}

export type Decided = 'accept' | 'resend' | 'give-up' | 'acknowledge' | 'undo-acknowledge'

/** What a person has decided on a run, by one command. */
export interface ResolutionTable {
  id: Generated<number>
  run_id: string
  decision: Decided
  /** Of `acknowledge`: the reason that it is about; null where it is all that the run has left. */
  code: ColumnType<string | null, string | null | undefined, never>
  /** Of `acknowledge`: when it was undone. */
  undone_at: ColumnType<number | null, never, number>
  /** Who, */
  person: string
  /** and why, where that was said. */
  note: string | null
  at: number
}
