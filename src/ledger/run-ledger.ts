import type { Claimed, ClaimRequest, Lease } from './concerns.ts'
import type { Ruling } from './left-records.ts'
import type {
  BatchIntent,
  BatchSettlement,
  ChunkSettlement,
  ChunkStart,
  ExportFault,
  ExportStart,
  KnownAccount,
  KnownCareTeam,
  KnownRequest,
  MissingCareTeam,
  ProfileStart,
  Receipted,
  RunEnd,
  Tallies,
} from './run-writes.ts'
import type { ExportRecord, LedgerTables } from './tables.ts'

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
   * @throws `lease-lost`
   */
  assertHeld(): Promise<void>
  /** @param outage JSON: why the run waits for the gateway; null once the run no longer waits */
  noteOutage(outage: string | null): Promise<void>
  /** Stops counting time as work, until `goOnWorking`. */
  pauseWork(at: number): Promise<void>
  goOnWorking(at: number): Promise<void>
  addExport(start: ExportStart): Promise<ExportRecord>
  endExport(exportRow: number, state: 'finished' | 'failed', fault?: ExportFault): Promise<void>
  /** Divides an export, or opens the stopped parts of a divided export again. */
  openParts(exportRow: number, count: number): Promise<void>
  /** Ends the work on the part of the lease. @param fault JSON: error that has stopped or failed the part */
  endPart(state: LedgerTables['part']['state'], fault: string | null): Promise<void>
  /** Ends an export in parts, with their counts, in one transaction: their files are one by now. */
  joinParts(
    exportRow: number,
    receiptsLength: number,
    state: 'finished' | 'failed',
    fault?: ExportFault,
  ): Promise<void>
  /** Notes the archived path of every export read from this file. */
  noteArchived(file: Pick<ExportRecord, 'path' | 'sha256'>, archived: string): Promise<void>
  /** Notes that a finished export was not moved into the archive. */
  noteUnarchived(exportRow: number, fault: Pick<ExportFault, 'detail' | 'remedy'>): Promise<void>
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
  /** @throws `state-illegal` for an illegal move of an exception */
  rule(ruling: Ruling & Receipted, at: number): Promise<void>
  /**
   * Forgets a person as `People.forget` does, unless another process has done so meanwhile.
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
