/**
 * Looks for records in the profiles, with time for a gateway that is late: absence is believed only when it can be. What load needs of
 * reconciliation is handed in.
 */

import type { CreateAnswer } from '../gateway/answer.ts'
import type { AccountIds, Entry, Matched, ShownRecord, StoredAs, Verdict } from '../model/entry.ts'
import type { AccountKey } from '../model/record.ts'

export interface LookUp {
  readonly reconciler: Pick<Reconciler, 'readBack'>
  /**
   * Milliseconds for which a gateway may be late: still storing what it has not answered, or not showing yet what it has stored.
   * A profile that was read earlier cannot prove that something is not there.
   */
  readonly readLagMs: number
  /** Waits, however impatient the job is; throws where the run is stopped. */
  readonly pause: (ms: number) => Promise<void>
  readonly now: () => number
}

/**
 * What the profiles show of the entries. What is not there is looked for once more when the gateway can no longer be late with it:
 * one wait for all of them, and one read an account.
 * @param overAt when their batch had its answer, or was given up; milliseconds since the epoch
 */
export async function lookUp(
  { reconciler, readLagMs, pause, now }: LookUp,
  entries: readonly Entry[],
  accountIds: AccountIds,
  overAt: number,
): Promise<Map<Entry, Verdict>> {
  const inTimeAt = overAt + readLagMs
  const lookedAt = now()
  const verdicts = await reconciler.readBack(entries, accountIds)
  const absent = entries.filter((entry) => verdicts.get(entry) === 'absent')
  if (absent.length === 0 || lookedAt >= inTimeAt) return verdicts
  await pause(Math.max(0, inTimeAt - now()))
  return new Map([...verdicts, ...(await reconciler.readBack(absent, accountIds))])
}

export interface Reconciler {
  /** @param entries in the order in which they were sent */
  match(
    entries: readonly Entry[],
    answer: Pick<CreateAnswer, 'echoes' | 'errors'>,
    accountIds: AccountIds,
  ): Matched
  /** One read an account, however many of its records are open. */
  readBack(entries: readonly Entry[], accountIds: AccountIds): Promise<Map<Entry, Verdict>>
  /** The same of records that may have been sent before under the ids that they had in another export. */
  readBackAny(entries: readonly Entry[], accountIds: AccountIds): Promise<Map<Entry, Verdict | StoredAs>>
  /** All that the profile shows, of every kind; undefined where it cannot be read. */
  profile(account: AccountKey): Promise<readonly ShownRecord[] | undefined>
}
