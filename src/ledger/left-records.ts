/** What runs left behind, as the ledger gives it, and what can be said of it later. */

import type { ContentWords } from '../model/ids.ts'
import type { LeftEvent } from './states.ts'
import type { Decided, Selection } from './tables.ts'

/** What is remembered of the slots of a row (`load/decide.ts`). */
export interface DeliveredRow {
  /** Hashed row key, 32 hex digits. */
  readonly rowKey: string
  readonly records: readonly KeptSlot[]
}

/** How the latest word of a slot came, and what is known of the slot: nearly always the same of all slots of a row. */
export interface KeptWord {
  /** Of the export that said it (`Ledger.arrivalOf`). */
  readonly arrival: number
  /** Row in that export, from 1. */
  readonly row: number
  /** State of the result: 0 preliminary, 1 final, 2 corrected. */
  readonly rank: number
  /** Time of issue, milliseconds since the epoch; 0 without one. */
  readonly issued: number
  /** The export was read before, or is one of a backfill. */
  readonly isLate: boolean
  /** The gateway has the content of the slot; else it is what was said last, and the gateway has nothing. */
  readonly isStored: boolean
  /** Another rule of its row was sent, and this one not said. */
  readonly isLapsed: boolean
  /** What an answer or a profile has told of it: nothing; nothing against what is stored; what the gateway has. */
  readonly seen: 'nothing' | 'stored' | 'whole'
  /** Number of the ledger's copy that was in use then: what an earlier one has seen, a later one does not trust. */
  readonly copy: number
}

/** A slot, as it is kept. Its content is what is stored, or, where nothing is, what was said last. */
export interface KeptSlot extends ContentWords {
  /** Hash of the rule, 8 hex digits. */
  readonly rule: string
  readonly word: KeptWord
  /** The latest word, where that is not the content; `withdrawn`: the source has taken it back, and a person was told. */
  readonly latest?: ContentWords | 'withdrawn' | undefined
}

/** What a person has decided on a run, by one command. */
export interface Resolution {
  readonly run: string
  readonly decision: Decided
  /** Of what was acknowledged, the reason; null, or not there: all of it. */
  readonly code?: string | null
  readonly by: string
  /** Why, where that was said. */
  readonly note: string | null
  /** Milliseconds since the epoch; of all that the command has decided the same. */
  readonly at: number
}

/** What has become of exceptions of earlier runs. */
export interface Ruling {
  readonly decisions: readonly Ruled[]
  /** The run that has got them through; null for what a person or a look at the profile has decided. */
  readonly run: string | null
  /** The person's decision that it comes of. */
  readonly resolution?: Resolution | undefined
  /** Records that are held no longer. */
  readonly released: readonly HeldRecord[]
  readonly delivered?: readonly DeliveredRow[]
}

export interface Ruled {
  readonly exception: number
  readonly event: LeftEvent
  /** The run that has got it through, where it is not that of the ruling. */
  readonly run?: string
}

/** A content of a row that is in doubt. */
export interface HeldDoubt {
  /** Hash, 16 hex digits. */
  readonly content: string
  /** Hash of the rule, 8 hex digits. */
  readonly rule: string
  /** The profile could not be read, and may tell later. */
  readonly isOpen: boolean
  /**
   * When the run that has sent it was given up, milliseconds since the epoch; null once somebody has looked. 0: the gateway has it, and what follows from
   * it is still to be done.
   */
  readonly sentUntil: number | null
}

export interface HeldRecord {
  readonly rowKey: string
  /** Hash, 8 hex digits. */
  readonly rule: string
  /** Hash, 16 hex digits. */
  readonly content: string
  /**
   * Hash of its series, 16 hex digits, where its profile could not be read: what is newer waits, as it would hide this one. Null where a
   * newer one hides it already.
   */
  readonly series: string | null
}

/** A content that a run had sent, or may have sent, of an open chunk when it was given up: nobody has looked for it since. */
export interface SentRecord extends HeldRecord {
  readonly exportRow: number
  /** The gateway has it: a care-team entry, from which more follows. */
  readonly isTaken: boolean
}

/** Where a record stands in its export, and how it was sent. */
export interface PlacedRecord {
  readonly exportId: string
  readonly row: number
  readonly rule: string | null
  readonly content: string | null
  /** The batch that it was sent in; null where it was not sent, as an earlier run had left it in doubt. */
  readonly batchId: string | null
}

/** An exception, with the export that it belongs to. */
export interface LeftRecord extends PlacedRecord {
  readonly id: number
  readonly run: string
  readonly exportRow: number
  readonly kind: string | null
}

/** With the arrival of its export (`Ledger.arrivalOf`). */
export interface DoubtRecord extends LeftRecord {
  readonly arrival: number
}

/** What has befallen an exception: a line of its history. */
export interface Decision {
  readonly exception: number
  readonly event: LeftEvent
  readonly run: string | null
  /** Who has decided it, and why; null for what came of itself. */
  readonly by: string | null
  readonly note: string | null
  readonly at: number
}

/** Records of a run whose outcome has changed since: how many of a kind now have which. */
export interface OutcomeMove {
  readonly exportRow: number
  readonly kind: string
  readonly to: 'accepted' | 'unchanged' | 'rejected'
  readonly count: number
}

/** What runs left behind, in chunks that are settled; of a run that was given up, what is in doubt in open ones, too. */
export interface LeftBehind {
  /** Records of a run that are in doubt still, in the order of their ids, those behind `after`. */
  inDoubt(runId: string, after: number, limit: number): Promise<LeftRecord[]>
  /** Records in doubt with such contents, in every run of the job. */
  inDoubtWith(jobId: number, contents: readonly string[]): Promise<DoubtRecord[]>
  heldWith(jobId: number, contents: readonly string[]): Promise<(HeldRecord & Pick<HeldDoubt, 'sentUntil'>)[]>
  /** Records with such contents that runs of the job had in hand when they were given up, and that were never answered: each as it was sent. */
  sentByGivenUp(jobId: number, contents: readonly string[]): Promise<ReadonlyMap<string, PlacedRecord>>
  /** What people have decided on the run, oldest first. */
  resolutions(runId: string): Promise<Resolution[]>
  /** How many records the run had sent of which nobody knows more since it was given up. */
  unasked(runId: string): Promise<number>
  /** How many records of the job are held in doubt, but for what nobody has looked for since a run was given up. */
  heldRecords(jobId: number): Promise<number>
  /** What earlier readings of the same export by the job have left behind in these rows, and is not settled yet. */
  ofEarlierReadings(
    request: { jobId: number; exportId: string; before: number; selection: 'rejected' | 'left-behind' },
    rows: readonly number[],
  ): Promise<LeftRecord[]>
  /**
   * Rows of an export in which something was left behind, in their order, those behind the offset `after`: what is selected now, and what
   * `runId` has settled of it already, so that a resumption selects the same.
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
  /** How many of what the run counts as rejected later runs have settled. */
  settledBy(runId: string): Promise<{ run: string; count: number }[]>
}

/** Where a row stands in its export. */
export interface LeftRow {
  readonly row: number
  readonly line: number
  readonly byteOffset: number
}
