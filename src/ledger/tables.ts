/** The ledger's tables as Kysely sees them. Instants are milliseconds since the epoch. No column holds health data. */
import type { ColumnType, Generated, Insertable, Selectable } from 'kysely'
import type { BatchState, ChunkState, RunState } from './states.ts'

/** A job as known to one gateway: what was delivered to one gateway was not delivered to another. */
interface JobTable {
  id: Generated<number>
  name: string
  gateway: string
}

interface LeaseTable {
  job_id: number
  run_id: string
  owner: string
  token: number
  acquired_at: number
  expires_at: number
}

interface RunTable {
  id: string
  job_id: number
  state: RunState
  started_at: number
  ended_at: number | null
  /** Code of the error that ended or interrupted it. */
  reason: string | null
  /** Milliseconds in which it was at work, over all its resumptions. */
  worked_ms: ColumnType<number, number | undefined, number>
  /** Files of the run, relative to the home. */
  rejects_path: string
  receipts_path: string
  /** JSON: counts of accounts and requests. */
  tallies: string
}

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
  /** Length in bytes of the run's receipts, and of the export's rejects file, once this chunk is settled. */
  receipts_length: number | null
  rejects_length: number | null
  settled_at: number | null
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
  /** While sending: what it carries. Once settled: what the gateway has taken. See holds.ts. */
  holds: Uint8Array
  begun_at: number
  settled_at: number | null
}

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
  stage: string
  code: string
  field: string | null
  /** The gateway's words without anything that the record holds. */
  message: string
  batch_id: string | null
}

interface DeliveredTable {
  job_id: number
  row_key: Uint8Array
  /** Hashes of the records delivered under this row key, 8 bytes each. */
  contents: Uint8Array
}

/** Records in doubt, which no later export may send again before a person has decided. */
interface HeldTable {
  job_id: number
  row_key: Uint8Array
  content: Uint8Array
  export_row: number
}

/** The crosswalk: hashed reference → account id. */
interface AccountTable {
  gateway: string
  reference: Uint8Array
  account_id: string | null
  registered_at: number
}

export interface LedgerTables {
  job: JobTable
  lease: LeaseTable
  run: RunTable
  mapping: MappingTable
  export: ExportTable
  chunk: ChunkTable
  batch: BatchTable
  exception: ExceptionTable
  delivered: DeliveredTable
  held: HeldTable
  account: AccountTable
}

export type RunRecord = Selectable<RunTable>
export type ExportRecord = Selectable<ExportTable>
export type ChunkRecord = Selectable<ChunkTable>
export type BatchRecord = Selectable<BatchTable>
export type ExceptionRecord = Selectable<ExceptionTable>
export type LeaseRecord = Selectable<LeaseTable>
export type NewRun = Insertable<RunTable>
export type NewExport = Insertable<ExportTable>
export type NewChunk = Insertable<ChunkTable>
export type NewBatch = Insertable<BatchTable>
export type NewException = Insertable<ExceptionTable>
