/**
 * What a run hands to the ledger to keep: its exports and what these look like, chunks, batches, what did not simply succeed, people, and its end.
 */

import { z } from 'zod'
import type { DeliveredFile } from './concerns.ts'
import type { DeliveredRow, HeldRecord, Resolution, Ruling, SentRecord } from './left-records.ts'
import type { CareTeamMark, MedicalRequestState } from './people-tables.ts'
import type { RunState } from './states.ts'
import type { Reading, RunPart, RunRecord, Selection } from './tables.ts'

export interface RunEnd {
  readonly state: Exclude<RunState, 'running'>
  readonly endedAt: number
  /** Code of the error that ended it, */
  readonly reason: string | null
  /** and its words. */
  readonly detail?: string | null
  /** Of a person who has ended it. */
  readonly resolution?: Resolution | undefined
  /** Of a run that is given up: what its open chunks have brought, and what they may have. */
  readonly left?: { readonly delivered: readonly DeliveredRow[]; readonly sent: readonly SentRecord[] }
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
  /** The file that it came in, as its source listed it; undefined for one that was named. */
  readonly delivered?: DeliveredFile | undefined
  /** Days since 1970 in its name; undefined without a date. */
  readonly day?: number | undefined
  /** Default: `whole`. */
  readonly reading?: Reading
  readonly originExport?: number
  /** Where it lies by now, of one that was archived before. */
  readonly archived?: string | null
  /** True if its last line has a line end; undefined where the format has no lines. */
  readonly isEnded?: boolean | undefined
  /** Error of an export that is over before it has begun. */
  readonly failed?: ExportFault
}

/** Why an export could not be used. */
export interface ExportFault {
  /** Code of the error. */
  readonly reason: string
  /** Its words. */
  readonly detail: string
  /** Null: what its code says. */
  readonly remedy: string | null
}

/** Exports that are compared with each other: those of one job that are read by one mapping. */
export interface ProfileKey {
  readonly job: string
  readonly mapping: string
}

/** What an export looks like, as JSON; it counts once the export is finished. */
export interface ProfileStart extends ProfileKey {
  readonly sha256: string
  readonly accepted: boolean
  readonly content: string
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
  readonly records: number
  /** As `packHolds` gives them. */
  readonly holds: Uint8Array
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
  /** Transaction id under which the gateway has a withdrawn result. */
  readonly sentAs?: string | undefined
}

/** What is settled once the run has come to its end, or without it: receipts of that are written at once. */
export interface Receipted {
  /** Bytes of the run's receipts with those of what is settled here; undefined where there are none. */
  readonly receiptsLength?: number | undefined
}

export interface BatchSettlement extends ChunkKey, Receipted {
  readonly id: number
  readonly answer: string
  readonly status: number | null
  readonly attempts: number
  /** What the gateway has taken of it, likewise. */
  readonly accepted: Uint8Array | 'all'
  readonly exceptions: readonly Exception[]
  /** Its records that are in doubt. */
  readonly held: readonly HeldRecord[]
  readonly at: number
}

export interface ChunkSettlement extends ChunkKey {
  readonly counts: string
  readonly receiptsLength: number
  readonly rejectsLength: number
  readonly delivered: readonly DeliveredRow[]
  /** Packed: what was accepted in no batch. */
  readonly accepted?: Uint8Array | undefined
  readonly held: readonly HeldRecord[]
  /** Of its export (`Ledger.arrivalOf`). */
  readonly arrival: number
  readonly exceptions: readonly Exception[]
  /** What of earlier runs the chunk has settled. */
  readonly ruling?: Ruling | undefined
  /** Where the job's exports list all care teams of a person. */
  readonly listed?: readonly ListedCareTeam[] | undefined
  readonly tallies: ChunkTallies
  /** By hashed reference, keyed hashes of names that the crosswalk does not have yet. */
  readonly names?: { readonly gateway: string; readonly named: ReadonlyMap<string, number> } | undefined
  /** Of a run that collects. */
  readonly collected?: CollectedChunk | undefined
  readonly at: number
}

export interface CollectedChunk {
  /** JSON: the files of the collection, as far as they are settled. */
  readonly collection: string
  readonly people: readonly CollectedOf[]
}

/** Of whom was collected: hashed reference, 32 hex digits, and hash of what, 16; null where there was nothing. */
export interface CollectedOf {
  readonly person: string
  readonly content: string | null
}

/** A request for medical records that the gateway was sent. */
export interface KnownRequest {
  /** Hashed reference number, 32 hex digits. */
  readonly reference: string
  /** Hash of the request as it was sent, 16 hex digits. */
  readonly content: string
  readonly state: MedicalRequestState
  /** The place of the latest row that was heard on it (`placeOfWord`). */
  readonly heardAt: number
  /** The run that has brought it about; null where a later row has said it again. */
  readonly run: string | null
}

/** The account may have entries of the provider, and no date of any is known. */
export const UNDATED = 0

/** A care-team entry that an account has. */
export interface KnownCareTeam {
  /** Hashed reference and NPI, 32 hex digits each. */
  readonly account: string
  readonly npi: string
  /** Of the newest that is known: milliseconds since the epoch, or `UNDATED`. */
  readonly observedAt: number
  /** When it was learned that it is stored: milliseconds since the epoch. */
  readonly storedAt: number
  readonly mark: CareTeamMark
  /** The gateway's id of the person, where it is known. */
  readonly accountId: string | null
  /** The place of the latest row that was heard on the provider (`placeOfWord`). */
  readonly heardAt: number
  /** Of a mark that waits for a record in doubt: its content, 16 hex digits. */
  readonly content: string | null
  /** The newest last. */
  readonly deletions: readonly OwedDeletion[]
  /** The jobs that owe the mark, and the deletions; null where nothing is owed. */
  readonly markBy: number | null
  readonly deletionsBy: number | null
  /** The account has none of the provider any more: the ledger forgets that it had. */
  readonly isGone?: true
}

/** What a row of an export that lists all care teams says. */
export interface ListedCareTeam {
  /** Hashed reference, 32 hex digits; `UNKNOWN_PERSON` of a row that cannot be read. */
  readonly account: string
  /** Hashed NPI, 32 hex digits; `THE_PERSON`, or `UNUSABLE` of a word that is of no use. */
  readonly npi: string
  /** When it was observed: milliseconds since the epoch. */
  readonly at: number
}

export const UNKNOWN_PERSON = ''
export const THE_PERSON = ''
export const UNUSABLE = '00'

/** What a job's exports have listed of a person. */
export interface CareTeamListing {
  /** Of the newest export that has the person. */
  readonly arrival: number
  /** Hashed NPIs that are listed and were not missing since. */
  readonly npis: ReadonlySet<string>
}

/** A provider whom the newest export that has the person no longer lists. */
export interface MissingCareTeam {
  readonly account: string
  readonly npi: string
  /** Of the newest entry that the job has listed: milliseconds since the epoch. */
  readonly at: number
}

/** Entries of a provider that were replaced are to be deleted, once what replaces them stands; those that an export no longer lists, at once. */
export interface OwedDeletion {
  /** Of each entry that replaces them, the ids by which a list may show it: the gateway's and ours. None: the export lists them no more. */
  readonly by: readonly (readonly string[])[]
  /** When those were observed: nothing that is newer goes. Milliseconds since the epoch. */
  readonly until: number
  /** Whether a list has shown what is to go. */
  readonly isSeen: boolean
  /** Contents of records in doubt that may turn out to be such an entry, 16 hex digits each. */
  readonly inDoubt: readonly string[]
}

/** `accountId` is null where the gateway knows the account but did not tell its id. */
export interface KnownAccount {
  /** Hashed reference, 32 hex digits. */
  readonly reference: string
  readonly accountId: string | null
  /** Whether the gateway did not know the person before. */
  readonly isNew?: boolean
  /** Keyed hash of the birth date that exports give (`Identity.born`); null, or left out, where none has. */
  readonly born?: number | null
  /** Keyed hash of the name (`Identity.named`), likewise. */
  readonly named?: number | null
  /**
   * Where the gateway has something of this person that may be ours though this ledger does not know of it: until when that may have been
   * sent. Null where it has nothing of ours.
   */
  readonly sentBefore: number | null
}

export interface RunStart {
  readonly id: string
  readonly jobId: number
  readonly startedAt: number
  readonly rejectsPath: string
  readonly receiptsPath: string
  /** Where it takes up what another run left behind. */
  readonly origin?: RunOrigin | undefined
  /** Where it is a backfill: of which range. */
  readonly backfill?: BackfillRange | undefined
  /** Where it does not read all that the job finds. */
  readonly part?: RunPart | undefined
}

/** Days of the names of exports, both included: `2026-01-31`. */
export interface BackfillRange {
  readonly from: string
  readonly to: string
  /** The folder that its exports lie in, where that is not the place of the job. */
  readonly in?: string | undefined
  /** Requests a second at most. */
  readonly rate?: number | undefined
  /** Whether exports are taken as they are, however they differ from earlier deliveries. */
  readonly acceptDrift?: boolean | undefined
  /** True to take exports that may be cut. */
  readonly acceptEnd?: boolean | undefined
}

/** As the ledger has it, without the folder: `2026-01-01/2026-03-31`, and then what else it was begun with: `/rate=5/accept-drift`. */
export const backfillText = ({ from, to, rate, acceptDrift, acceptEnd }: BackfillRange): string =>
  [
    ...[from, to],
    ...(rate === undefined ? [] : [`rate=${rate}`]),
    ...(acceptDrift === true ? ['accept-drift'] : []),
    ...(acceptEnd === true ? ['accept-end'] : []),
  ].join('/')

/** Characters of that text that are the range. */
export const RANGE_LENGTH = '2026-01-01/2026-03-31'.length

/** A job may have one unfinished run of each kind. */
export type RunKind = 'ordinary' | 'backfill'

export interface RunOrigin {
  readonly run: string
  readonly selection: Selection
}

/** The run that another one takes up. */
export function originOf({ origin_run: run, selection }: RunRecord): RunOrigin | undefined {
  return run === null || selection === null ? undefined : { run, selection }
}

const count = z.int()
const TalliesText = z.object({
  accounts: z.object({ registered: count, known: count, refused: count }),
  requests: z.object({ sent: count, retried: count, readBack: count }),
  /** `owed`: accounts whose mark could not be set or taken away; the next run does it. */
  primaryCare: z.object({ marked: count, unmarked: count, owed: count }),
  /** `owed`: marks, and providers of an account whose replaced entries could not be deleted; the next run does both. */
  careTeams: z.object({
    replaced: count,
    /** Entries that an export no longer lists, of an account and a provider, deleted. */
    removed: count.default(0),
    owed: count,
    /** Exports that list all, of which nobody knows what they no longer list, as a row cannot be read. */
    unjudged: count.default(0),
  }),
})

/** Counts that belong to a run as a whole. */
export type Tallies = z.infer<typeof TalliesText>

/** What of them is known once a chunk is settled, and is counted with it; all else is counted as it happens. */
export type ChunkTallies = { readonly [Part in keyof Tallies]?: Readonly<Partial<Tallies[Part]>> }

export const noTallies = (): Tallies => ({
  accounts: { registered: 0, known: 0, refused: 0 },
  requests: { sent: 0, retried: 0, readBack: 0 },
  primaryCare: { marked: 0, unmarked: 0, owed: 0 },
  careTeams: { replaced: 0, removed: 0, owed: 0, unjudged: 0 },
})

/** @param text JSON, as the ledger keeps it */
export const readTallies = (text: string): Tallies => TalliesText.parse(JSON.parse(text))

/** Adds the second to the first, or takes it away. */
export function addTallies(total: Tallies, more: ChunkTallies, sign: 1 | -1 = 1): void {
  for (const [part, counts] of Object.entries(more) as [keyof Tallies, Record<string, number>][]) {
    const own: Record<string, number> = total[part]
    for (const [name, count] of Object.entries(counts)) own[name] = (own[name] ?? 0) + sign * count
  }
}
