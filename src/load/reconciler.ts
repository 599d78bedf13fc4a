/** What load needs of reconciliation; src/reconcile implements it, src/job hands it in. */
import type { CreateAnswer } from '../gateway/answer.ts'
import type { AccountIds, Entry, Matched, SentAs, ShownRecord, Verdict } from '../model/entry.ts'
import type { AccountKey } from '../model/record.ts'

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
