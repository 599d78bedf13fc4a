/**
 * The durable memory, as the stages see it. Implementations pass `test/conformance/ledger.ts`.
 * Everything a run writes goes through its `RunLedger`, which is fenced: once another process has taken the run over,
 * nothing more can be written with the old token.
 */
import type { Held } from './holds.ts'
import type { RunState } from './states.ts'
import type {
  BatchRecord,
  ChunkRecord,
  ExceptionRecord,
  ExportRecord,
  LeaseRecord,
  RunRecord,
} from './tables.ts'

export type { BatchRecord, ChunkRecord, ExceptionRecord, ExportRecord, Held, LeaseRecord, RunRecord }

/** The right to run a job, for as long as it is renewed. */
export interface Lease {
  readonly jobId: number
  readonly runId: string
  readonly token: number
}

export type LeaseAnswer =
  | { readonly ok: true; readonly lease: Lease }
  | { readonly ok: false; readonly holder: LeaseRecord }

export interface RunStart {
  readonly id: string
  readonly jobId: number
  readonly startedAt: number
  readonly rejectsPath: string
  readonly receiptsPath: string
}

export interface RunEnd {
  readonly state: Exclude<RunState, 'running'>
  readonly endedAt: number
  readonly workedMs: number
  readonly reason: string | null
}

/** Counts that belong to a run as a whole. */
export interface Tallies {
  accounts: { registered: number; known: number; refused: number }
  requests: { sent: number; retried: number; readBack: number }
  primaryCare: { marked: number; refused: number }
}

export const noTallies = (): Tallies => ({
  accounts: { registered: 0, known: 0, refused: 0 },
  requests: { sent: 0, retried: 0, readBack: 0 },
  primaryCare: { marked: 0, refused: 0 },
})

export interface ExportStart {
  readonly ordinal: number
  readonly exportId: string
  readonly name: string
  readonly path: string
  readonly sha256: string
  readonly bytes: number
  readonly mapping: { readonly name: string; readonly digest: string; readonly content: string }
}

export interface ChunkStart {
  readonly number: number
  readonly firstRow: number
  readonly firstLine: number
  readonly byteOffset: number
  readonly rows: number
}

/** Where a chunk belongs. */
export interface ChunkKey {
  readonly exportRow: number
  readonly chunk: number
}

export interface BatchIntent extends ChunkKey {
  readonly batchId: string
  readonly kind: string
  readonly holds: readonly Held[]
  readonly at: number
}

/** Something that did not simply succeed. Positions, hashes and codes; the message holds nothing of the record. */
export interface Exception {
  readonly row: number
  readonly line: number
  readonly byteOffset: number
  readonly kind: string | null
  readonly rule: string | null
  readonly content: string | null
  readonly outcome: 'rejected' | 'in-doubt' | 'warning'
  readonly stage: string
  readonly code: string
  readonly field: string | null
  readonly message: string
  readonly batchId: string | null
}

export interface BatchSettlement extends ChunkKey {
  readonly id: number
  readonly answer: string
  readonly status: number | null
  readonly attempts: number
  /** What the gateway has taken of it. */
  readonly accepted: readonly Held[]
  readonly exceptions: readonly Exception[]
  readonly at: number
}

/** What was delivered under a row key. */
export interface DeliveredRow {
  /** Hashed row key, 32 hex digits. */
  readonly rowKey: string
  /** Content hashes, 16 hex digits each: all that were ever delivered under the key. */
  readonly contents: readonly string[]
}

export interface ChunkSettlement extends ChunkKey {
  readonly counts: string
  readonly receiptsLength: number
  readonly rejectsLength: number
  readonly delivered: readonly DeliveredRow[]
  readonly held: readonly { readonly rowKey: string; readonly content: string }[]
  readonly exceptions: readonly Exception[]
  readonly tallies: Tallies
  readonly at: number
}

/** `accountId` is null where the gateway knows the account but did not tell its id. */
export interface KnownAccount {
  /** Hashed reference, 32 hex digits. */
  readonly reference: string
  readonly accountId: string | null
}

/** What a run writes. Every call is one durable transaction (calls made together may share one), fenced by the lease's token. */
export interface RunLedger {
  readonly lease: Lease
  renew(now: number, ttlMs: number): Promise<void>
  addExport(start: ExportStart): Promise<ExportRecord>
  endExport(exportRow: number, state: 'finished' | 'failed', reason: string | null): Promise<void>
  /** A chunk that is open already stays so, with the rows that it has by now (a run may be resumed with another limit). */
  openChunk(exportRow: number, start: ChunkStart): Promise<void>
  /** The write-ahead intent: on disk when it resolves. Resolves to the batch's row; sent again, a batch gets another. */
  beginBatch(intent: BatchIntent): Promise<number>
  settleBatch(settlement: BatchSettlement): Promise<void>
  splitBatch(id: number, answer: string, status: number | null, at: number): Promise<void>
  settleChunk(settlement: ChunkSettlement): Promise<void>
  saveAccounts(gateway: string, accounts: readonly KnownAccount[], at: number): Promise<void>
  endRun(end: RunEnd, tallies: Tallies): Promise<void>
}

export interface Ledger {
  jobId(name: string, gateway: string): Promise<number>
  /**
   * Takes the job's lease if it is free, has run out, or its owner is known to be dead.
   * @param isDead tells of an owner on this machine whether its process is gone
   */
  acquireLease(
    request: { jobId: number; runId: string; owner: string; now: number; ttlMs: number },
    isDead: (owner: string) => boolean,
  ): Promise<LeaseAnswer>
  releaseLease(lease: Lease): Promise<void>
  startRun(lease: Lease, start: RunStart): Promise<RunLedger>
  resumeRun(lease: Lease, run: RunRecord): Promise<RunLedger>
  /** The job's run that was left running or interrupted, if there is one. */
  unfinishedRun(jobId: number): Promise<RunRecord | undefined>
  run(id: string): Promise<(RunRecord & { job: string; gateway: string }) | undefined>
  runs(limit: number): Promise<(RunRecord & { job: string; gateway: string })[]>
  exportsOf(runId: string): Promise<ExportRecord[]>
  exportsWithContent(exportId: string): Promise<ExportRecord[]>
  mapping(digest: string): Promise<string | undefined>
  chunksOf(exportRow: number): Promise<ChunkRecord[]>
  batchesOf(key: ChunkKey): Promise<BatchRecord[]>
  exceptionsOf(key: ChunkKey): Promise<ExceptionRecord[]>
  /** Exceptions of a run, grouped for reading, most frequent first. */
  reasonsOf(runId: string): Promise<Reason[]>
  /** Delivered contents by row key, for those keys that have any. */
  delivered(jobId: number, rowKeys: readonly string[]): Promise<Map<string, Set<string>>>
  /** Contents in doubt by row key. */
  held(jobId: number, rowKeys: readonly string[]): Promise<Map<string, Set<string>>>
  accounts(gateway: string, references: readonly string[]): Promise<Map<string, string | null>>
  close(): Promise<void>
}

export interface Reason {
  readonly outcome: string
  readonly stage: string
  readonly code: string
  readonly rule: string | null
  readonly exportName: string
  readonly message: string
  readonly count: number
}
