/** Writes of a run, and the data that a run hands to the ledger: exports and their profiles, chunks, batches, exceptions, people. */

import { z } from 'zod'
import type { Claimed, ClaimRequest, DeliveredFile, Lease } from './concerns.ts'
import type { HeldRecord, RenamedRule, Resolution, RowToSave, Ruling, SentRecord } from './left-records.ts'
import type { RunState } from './states.ts'
import type {
  CareTeamMark,
  ExportRecord,
  LedgerTables,
  MedicalRequestState,
  Reading,
  RunPart,
  RunRecord,
  Selection,
} from './tables.ts'

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
   * @param shown records in doubt that a profile has shown
   * @returns the row of each batch
   */
  planBatches(intents: readonly BatchIntent[], shown?: readonly HeldRecord[]): Promise<number[]>
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

export interface RunEnd {
  readonly state: Exclude<RunState, 'running'>
  readonly endedAt: number
  readonly reason: string | null
  readonly detail?: string | null
  readonly resolution?: Resolution | undefined
  /** Given-up runs only: rows delivered by open chunks, doubts that ended with these, and records possibly sent. */
  readonly left?: { readonly ruling: Ruling; readonly sent: readonly SentRecord[] }
  /** See `Receipted`. */
  readonly receiptsLength?: number | undefined
}

export interface ExportStart {
  readonly ordinal: number
  readonly exportId: string
  readonly name: string
  readonly path: string
  readonly sha256: string
  readonly bytes: number
  readonly mapping: { readonly name: string; readonly digest: string; readonly content: string }
  readonly delivered?: DeliveredFile | undefined
  /** Days since 1970 of the date in the name; undefined without a date. */
  readonly day?: number | undefined
  /** Default: `whole`. */
  readonly reading?: Reading
  readonly originExport?: number
  /** Present path of a file that was archived before. */
  readonly archived?: string | null
  /** True if the last line has a line end; undefined for formats without lines. */
  readonly isEnded?: boolean | undefined
  readonly failed?: ExportFault
}

/** Error that makes an export unusable. */
export interface ExportFault {
  readonly reason: string
  readonly detail: string
  /** Null: the remedy of the code. */
  readonly remedy: string | null
}

/** Key of exports that are compared with each other: exports of a job, read by a mapping. */
export interface ProfileKey {
  readonly job: string
  readonly mapping: string
}

/** Profile of an export, as JSON. The profile counts once the export is finished. */
export interface ProfileStart extends ProfileKey {
  readonly sha256: string
  readonly accepted: boolean
  readonly content: string
}

interface ChunkStart {
  readonly number: number
  readonly firstRow: number
  readonly firstLine: number
  readonly byteOffset: number
  readonly rows: number
}

/** Export and number of a chunk. */
export interface ChunkKey {
  readonly exportRow: number
  readonly chunk: number
}

export interface BatchIntent extends ChunkKey {
  readonly batchId: string
  readonly kind: string
  readonly records: number
  /** Packed by `packHolds`. */
  readonly holds: Uint8Array
  readonly at: number
}

/** A row or record with a warning, reject or doubt: positions, hashes and codes. The message holds no value of the record. */
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
  /** Transaction id of a withdrawn result at the gateway. */
  readonly sentAs?: string | undefined
  /** Hashed reference of the person; undefined for a row that names nobody. */
  readonly person?: string | undefined
}

/** Settlement at or after the end of the run: the receipts are written at once. */
export interface Receipted {
  /** Bytes of the run's receipts, including the receipts of this settlement; undefined without receipts. */
  readonly receiptsLength?: number | undefined
}

interface BatchSettlement extends ChunkKey, Receipted {
  readonly id: number
  readonly answer: string
  readonly status: number | null
  readonly attempts: number
  /** Records that the gateway has accepted, packed by `packHolds`. */
  readonly accepted: Uint8Array | 'all'
  readonly exceptions: readonly Exception[]
  readonly held: readonly HeldRecord[]
  readonly at: number
}

export interface ChunkSettlement extends ChunkKey {
  readonly counts: string
  readonly receiptsLength: number
  readonly rejectsLength: number
  readonly delivered: readonly RowToSave[]
  readonly renamed?: readonly RenamedRule[] | undefined
  /** Packed: records accepted outside of batches. */
  readonly accepted?: Uint8Array | undefined
  readonly held: readonly HeldRecord[]
  readonly arrival: number
  readonly exceptions: readonly Exception[]
  /** Exceptions of earlier runs that the chunk has settled. */
  readonly ruling?: Ruling | undefined
  /** Care-team rows, if the job's exports list all care teams of a person. */
  readonly listed?: readonly ListedCareTeam[] | undefined
  readonly tallies: ChunkTallies
  /** Keyed hashes of names that the crosswalk lacks, by hashed reference. */
  readonly names?: { readonly gateway: string; readonly named: ReadonlyMap<string, number> } | undefined
  readonly collected?: CollectedChunk | undefined
  readonly at: number
}

interface CollectedChunk {
  readonly collection: string
  readonly people: readonly CollectedOf[]
}

/** Hashed reference (32 hex digits) of a person, and hash (16 hex digits) of the collected content; null if nothing was found. */
export interface CollectedOf {
  readonly person: string
  readonly content: string | null
}

/** A request for medical records sent to the gateway. */
export interface KnownRequest {
  /** Hashed reference number, 32 hex digits. */
  readonly reference: string
  /** Hash of the request as sent, 16 hex digits. */
  readonly content: string
  readonly state: MedicalRequestState
  /** Place of the latest row about the request (`placeOfWord`). */
  readonly heardAt: number
  /** The run that sent the current state; null once a later row has repeated the state. */
  readonly run: string | null
}

/** Time if the account may have entries of the provider, without a known date. */
export const UNDATED = 0

/** A care-team entry of an account. */
export interface KnownCareTeam {
  /** Hashed reference and NPI, 32 hex digits each. */
  readonly account: string
  readonly npi: string
  /** Time of the newest known entry, or `UNDATED`. */
  readonly observedAt: number
  /** When the ledger learned that the entry is stored. */
  readonly storedAt: number
  readonly mark: CareTeamMark
  /** The person's id at the gateway, if known. */
  readonly accountId: string | null
  /** Place of the latest row about the provider's mark (`placeOfWord`). */
  readonly heardAt: number
  /** Place of the latest entry with the date of the newest. */
  readonly place: number
  /** Content of a record in doubt that the mark waits for, 16 hex digits. */
  readonly content: string | null
  /** Newest last. */
  readonly deletions: readonly OwedDeletion[]
  /** Jobs that owe the mark and the deletions; null if nothing is owed. */
  readonly markBy: number | null
  readonly deletionsBy: number | null
  /** The account no longer has an entry of the provider: the ledger removes the row. */
  readonly isGone?: true
}

/** A row of an export that lists all care teams. */
export interface ListedCareTeam {
  /** Hashed reference, 32 hex digits; `UNKNOWN_PERSON` if the row cannot be read. */
  readonly account: string
  /** Hashed NPI, 32 hex digits; `THE_PERSON` for the person alone; `UNUSABLE` for an unusable row of the person. */
  readonly npi: string
  /** Time of observation. */
  readonly at: number
}

export const UNKNOWN_PERSON = ''
export const THE_PERSON = ''
export const UNUSABLE = '00'

/** Providers of a person in a job's exports. */
export interface CareTeamListing {
  /** Arrival of the newest export with the person. */
  readonly arrival: number
  /** Hashed NPIs that are listed, and were not missing since. */
  readonly npis: ReadonlySet<string>
}

/** A provider missing from the newest export with the person. */
export interface MissingCareTeam {
  readonly account: string
  readonly npi: string
  /** Time of the newest entry that the job has listed. */
  readonly at: number
}

/** Entries of a provider to delete. Replaced entries go once the replacements are stored; entries that an export no longer lists go at once. */
export interface OwedDeletion {
  /** Ids (the gateway's and ours) of each replacement, by which a list may show the entry. Empty: the export no longer lists the provider. */
  readonly by: readonly (readonly string[])[]
  /** Time of the replacements: newer entries stay. */
  readonly until: number
  /** True if a list has shown an entry to delete. */
  readonly isSeen: boolean
  /** Contents of records in doubt that may prove stored as entries of the provider, 16 hex digits each. */
  readonly inDoubt: readonly string[]
}

/** An account of the crosswalk. `accountId` is null if the gateway knows the account but did not give the id. */
export interface KnownAccount {
  /** Hashed reference, 32 hex digits. */
  readonly reference: string
  readonly accountId: string | null
  /** True if the gateway did not know the person before. */
  readonly isNew?: boolean
  /** Keyed hash of the birth date in exports (`Identity.born`); null or absent if no export gives a date. */
  readonly born?: number | null
  /** Keyed hash of the name (`Identity.named`); null or absent if no export gives a name. */
  readonly named?: number | null
  /**
   * Time until which records unknown to this ledger may have been sent: the gateway has records of the person that may be ours. Null if the
   * gateway has none of ours.
   */
  readonly sentBefore: number | null
}

export interface RunStart {
  readonly id: string
  readonly jobId: number
  readonly startedAt: number
  readonly rejectsPath: string
  readonly receiptsPath: string
  readonly origin?: RunOrigin | undefined
  readonly backfill?: BackfillRange | undefined
  readonly part?: RunPart | undefined
}

/** Days in the names of exports, both included: `2026-01-31`. */
export interface BackfillRange {
  readonly from: string
  readonly to: string
  /** Folder of the exports, if different from the place of the job. */
  readonly in?: string | undefined
  readonly rate?: number | undefined
  readonly acceptDrift?: boolean | undefined
  readonly acceptEnd?: boolean | undefined
}

/** A job may have one unfinished run of each kind. */
export type RunKind = 'ordinary' | 'backfill'

export interface RunOrigin {
  readonly run: string
  readonly selection: Selection
}

/** The run that this run retries. */
export function originOf({ origin_run: run, selection }: RunRecord): RunOrigin | undefined {
  return run === null || selection === null ? undefined : { run, selection }
}

const count = z.int()
const TalliesText = z.object({
  accounts: z.object({ registered: count, known: count, refused: count }),
  requests: z.object({ sent: count, retried: count, readBack: count }),
  /** `owed`: accounts with a mark to set or remove that failed; the next run tries again. */
  primaryCare: z.object({ marked: count, unmarked: count, owed: count }),
  /** `owed`: marks and deletions (counted by account and provider) that failed; the next run tries again. */
  careTeams: z.object({
    replaced: count,
    /** Deleted entries that an export no longer lists, counted by account and provider. */
    removed: count.default(0),
    owed: count,
    /** Complete lists with an unreadable row: the providers that are no longer listed are unknown. */
    unjudged: count.default(0),
  }),
})

/** Counts of a whole run. */
export type Tallies = z.infer<typeof TalliesText>

/** Counts that become known when a chunk is settled, and are added then. Other counts are added as they happen. */
type ChunkTallies = { readonly [Part in keyof Tallies]?: Readonly<Partial<Tallies[Part]>> }

export const noTallies = (): Tallies => ({
  accounts: { registered: 0, known: 0, refused: 0 },
  requests: { sent: 0, retried: 0, readBack: 0 },
  primaryCare: { marked: 0, unmarked: 0, owed: 0 },
  careTeams: { replaced: 0, removed: 0, owed: 0, unjudged: 0 },
})

/** @param text JSON, as the ledger keeps it */
export const readTallies = (text: string): Tallies => TalliesText.parse(JSON.parse(text))

/** Adds the second to the first, or subtracts the second. */
export function addTallies(total: Tallies, more: ChunkTallies, sign: 1 | -1 = 1): void {
  for (const [part, counts] of Object.entries(more) as [keyof Tallies, Record<string, number>][]) {
    const own: Record<string, number> = total[part]
    for (const [name, count] of Object.entries(counts)) own[name] = (own[name] ?? 0) + sign * count
  }
}
