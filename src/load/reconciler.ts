/** What load needs to know of reconciliation; src/reconcile implements it, src/job hands it in. */
import type { CreateAnswer } from '../gateway/create-answer.ts'
import type { AccountKey } from '../transform/record.ts'
import type { Entry } from './entry.ts'

/** Account ids as the crosswalk knows them; reads and some answers name the account by its id only. */
export type AccountIds = (account: AccountKey) => string | undefined

/** What a profile says of a record whose answer never came. */
export type Verdict =
  | 'stored'
  /** It is not there and would be if it had been taken. */
  | 'absent'
  /** A newer record of its kind hides it: nobody can tell. */
  | 'hidden'
  /** The profile cannot be read, and may tell later. */
  | 'unreadable'

/** A record that a profile shows. */
export interface ShownRecord {
  /** `source.meta.persistentRecordId`, where the gateway keeps it. */
  readonly persistentId: string | undefined
  readonly sourceType: string | undefined
}

/** Under which transaction ids records can have been sent: those of this export, or of any. */
export type SentAs = 'own' | 'any'

/** What an answer of success says; of all other records it says nothing. */
export interface Matched {
  /** Taken, each with the gateway's id where it gives one. */
  readonly accepted: ReadonlyMap<Entry, string | undefined>
  /** Perhaps not taken: an error that the answer lists is about the record, or may be. With its words, which may be none. */
  readonly doubted: ReadonlyMap<Entry, string>
}

export interface Reconciler {
  /** @param entries in the order in which they were sent */
  match(
    entries: readonly Entry[],
    answer: Pick<CreateAnswer, 'echoes' | 'errors'>,
    accountIds: AccountIds,
  ): Matched
  /**
   * One read an account, however many of its records are open.
   * @param sentAs `any`: they may have been sent before under the ids that they had in another export
   */
  readBack(entries: readonly Entry[], accountIds: AccountIds, sentAs?: SentAs): Promise<Map<Entry, Verdict>>
  /** All that the profile shows, of every kind; undefined where it cannot be read. */
  profile(account: AccountKey): Promise<readonly ShownRecord[] | undefined>
}
