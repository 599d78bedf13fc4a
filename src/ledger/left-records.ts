/** Rejects and doubts of runs, as the ledger returns them, and later decisions on them. */

import type { ContentWords, RowPrint } from '../model/ids.ts'
import type { LeftEvent } from './states.ts'
import type { Decided, Selection } from './tables.ts'

/** Members of the ledger for delivered records, rejects and doubts. */
export interface KeptRecords {
  readonly slots: Slots
  readonly left: LeftBehind
}

/** Slots of a row (`load/decide.ts`). */
export interface DeliveredRow {
  /** Hashed row key, 32 hex digits. */
  readonly rowKey: string
  readonly records: readonly KeptSlot[]
  /** Set where the row as read gave these slots, each stored. */
  readonly print?: RowPrint
}

/** A row to save. */
export interface RowToSave extends Omit<DeliveredRow, 'records'> {
  readonly records: readonly (Omit<KeptSlot, 'word'> & Partial<Pick<KeptSlot, 'word'>>)[]
  /** Word of all slots, in the place of a word of each. */
  readonly word?: KeptWord
}

/** Origin of a slot's latest word, and knowledge about the slot: usually equal for all slots of a row. */
export interface KeptWord {
  /** Arrival of the word's export (`Exports.arrivalOf`). */
  readonly arrival: number
  /** Row in the export, from 1. */
  readonly row: number
  /** State of the result: 0 preliminary, 1 final, 2 corrected. */
  readonly rank: number
  /** Time of issue; 0 without one. */
  readonly issued: number
  /** True for an export that was read before, or belongs to a backfill. */
  readonly isLate: boolean
  /** True if the gateway has the content of the slot. False: the content is the latest word, and the gateway has nothing. */
  readonly isStored: boolean
  /** True if another rule of the row was sent and this rule gave no record. */
  readonly isLapsed: boolean
  /** Evidence of an answer or a profile: none; nothing against the stored content; the content at the gateway. */
  readonly seen: 'nothing' | 'stored' | 'whole'
  /** Number of the ledger's copy in use at the time: a later copy does not trust the evidence of an earlier copy. */
  readonly copy: number
}

/** A slot as stored. The content is the stored record or, if nothing is stored, the latest word. */
export interface KeptSlot extends ContentWords {
  /** Hash of the rule, 8 hex digits. */
  readonly ruleHash: string
  readonly word: KeptWord
  /** Latest word, if different from the content. `withdrawn`: the source has taken the result back, and a run has reported the withdrawal. */
  readonly latest?: ContentWords | 'withdrawn' | undefined
}

/** Rule of a row under another name: hashes of both, 8 hex digits. Doubts of the former are doubts of the other. */
export interface RenamedRule {
  readonly rowKey: string
  readonly from: string
  readonly to: string
}

/** Decision of a person on a run, by one command. */
export interface Resolution {
  readonly run: string
  readonly decision: Decided
  /** Acknowledged reason; null or absent: all reasons. */
  readonly code?: string | null
  readonly by: string
  readonly note: string | null
  /** Equal for all decisions of the command. */
  readonly at: number
}

/** Changes of earlier runs' exceptions. */
export interface Ruling {
  readonly decisions: readonly Ruled[]
  /** Run that delivered the records; null for a decision of a person or a look at the profile. */
  readonly run: string | null
  readonly resolution?: Resolution | undefined
  readonly released: readonly HeldRecord[]
  readonly delivered?: readonly DeliveredRow[]
}

export interface Ruled {
  readonly exception: number
  readonly event: LeftEvent
  /** Run that delivered the record, if different from the run of the ruling. */
  readonly run?: string
}

/** A content of a row, in doubt. */
export interface HeldDoubt {
  /** Hash, 16 hex digits. */
  readonly content: string
  /** Hash of the rule, 8 hex digits. */
  readonly rule: string
  /** True if the profile could not be read, and may show the record later. */
  readonly isOpen: boolean
  /**
   * When the run that sent the record was given up; null after a look-up. 0: the gateway has the record; the work behind is still to be done.
   */
  readonly sentUntil: number | null
}

export interface HeldRecord {
  readonly rowKey: string
  readonly rule: string
  readonly content: string
  /**
   * Hash of the series, 16 hex digits, if the profile could not be read: newer records of the series wait, as they would hide this record. Null
   * if a newer record already hides this record.
   */
  readonly series: string | null
}

/** A record that a given-up run had sent, or possibly sent, from an open chunk. Nobody has looked the record up since. */
export interface SentRecord extends HeldRecord {
  readonly exportRow: number
  /** True if the gateway has the record: a care-team entry, with consequences still to be done. */
  readonly isTaken: boolean
}

/** Position of a record in the export, and the batch of the record. */
export interface PlacedRecord {
  readonly exportId: string
  readonly row: number
  readonly rule: string | null
  readonly content: string | null
  /** Batch of the record; null for a record held back because an earlier run had left the record in doubt. */
  readonly batchId: string | null
}

/** An exception with the export. */
export interface LeftRecord extends PlacedRecord {
  readonly id: number
  readonly run: string
  readonly exportRow: number
  readonly kind: string | null
  readonly code: string
}

/** A record in doubt, with the arrival of the export (`Exports.arrivalOf`). */
export interface DoubtRecord extends LeftRecord {
  readonly arrival: number
}

interface Decision {
  readonly exception: number
  readonly event: LeftEvent
  readonly run: string | null
  /** Person and reason of the decision; null without a person. */
  readonly by: string | null
  readonly note: string | null
  readonly at: number
}

/** Records of a run with a changed outcome, counted by kind and new outcome. */
export interface OutcomeMove {
  readonly exportRow: number
  readonly kind: string
  readonly to: 'accepted' | 'unchanged' | 'rejected'
  readonly count: number
}

/** Rejects and doubts of settled chunks, and doubts in open chunks of given-up runs. */
interface LeftBehind {
  inDoubt(runId: string, after: number, limit: number): Promise<LeftRecord[]>
  /** Records in doubt with these contents, in every run of the job. */
  inDoubtWith(jobId: number, contents: readonly string[]): Promise<DoubtRecord[]>
  heldWith(jobId: number, contents: readonly string[]): Promise<(HeldRecord & Pick<HeldDoubt, 'sentUntil'>)[]>
  /** Records with these contents that given-up runs of the job had in flight and that were never answered: each as sent. */
  sentByGivenUp(jobId: number, contents: readonly string[]): Promise<ReadonlyMap<string, PlacedRecord>>
  resolutions(runId: string): Promise<Resolution[]>
  /** Number of records sent by the run without an answer or a look-up since the run was given up. */
  unasked(runId: string): Promise<number>
  /** Number of the job's records held in doubt, without records that nobody has looked up since a run was given up. */
  heldRecords(jobId: number): Promise<number>
  /** Unsettled rejects and doubts of these rows from earlier readings of the export by the job. */
  ofEarlierReadings(
    request: { jobId: number; exportId: string; before: number; selection: 'rejected' | 'left-behind' },
    rows: readonly number[],
  ): Promise<LeftRecord[]>
  /**
   * Rows of an export with rejects or doubts, in order, those after the offset `after`: rows selected now, and rows that `runId` has settled
   * already, so that a resumption selects the same rows.
   */
  rows(
    request: { exportRow: number; selection: Selection | 'any'; runId: string },
    after: number,
    limit: number,
  ): Promise<LeftRow[]>
  /** Contents that a person has decided to send again with this run. */
  decidedContents(exportRow: number, runId: string): Promise<Set<string>>
  decisions(exceptions: readonly number[]): Promise<Decision[]>
  moves(runId: string): Promise<OutcomeMove[]>
  /** Number of the run's rejects that later runs have settled, by run. */
  settledBy(runId: string): Promise<{ run: string; count: number }[]>
}

/** Position of a row in the export. */
export interface LeftRow {
  readonly row: number
  readonly line: number
  readonly byteOffset: number
}

/** Slots and doubts, by which a run decides each record. */
interface Slots {
  /** Slots by row key, for keys with slots. */
  delivered(jobId: number, rowKeys: readonly string[]): Promise<Map<string, readonly KeptSlot[]>>
  /** Prints by row key, for keys with a print. */
  prints(jobId: number, rowKeys: readonly string[]): Promise<Map<string, RowPrint>>
  held(jobId: number, rowKeys: readonly string[]): Promise<Map<string, readonly HeldDoubt[]>>
  /** Hashes of series with a record in doubt that can still be looked up. */
  heldSeries(jobId: number): Promise<Set<string>>
  /** Contents in doubt, among the given contents, in any job. */
  heldContents(contents: readonly string[]): Promise<Set<string>>
}
