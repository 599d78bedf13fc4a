/**
 * What a batch is delivered with, and how it stands in the ledger when it is settled. How records are looked for in the profiles, with
 * time for a gateway that is late: absence is believed only when it can be.
 */

import type { CreateAnswer } from '../gateway/answer.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { ChunkKey, RunLedger } from '../ledger/ledger.ts'
import { packEntries } from '../ledger/packed-records.ts'
import type { Entry } from '../model/entry.ts'
import type { Identity } from '../model/ids.ts'
import type {
  AccountIds,
  AccountSign,
  EntryOutcome,
  InItsPlace,
  Matched,
  OnAccountSign,
  ShownRecord,
  StoredAs,
  Verdict,
} from '../model/outcome.ts'
import type { AccountKey, RecordKind } from '../model/record.ts'
import type { BatchWatch } from './batch-watch.ts'
import type { BodyBuffers, SizeLimits } from './batches.ts'
import { heldBy, toException } from './gateway-words.ts'
import type { Cause } from './outage.ts'
import type { Sending } from './sending.ts'

export interface Delivery extends BatchWatch {
  readonly gateway: Gateway
  readonly ledger: RunLedger
  readonly sending: Sending
  readonly reconciler: Reconciler
  readonly identity: Identity
  readonly buffers: BodyBuffers
  /** Ids of accounts that only answers of this run have told, by reference. */
  readonly toldIds: Map<string, string>
  /** What the gateway was found to take in one batch. */
  readonly sizes: SizeLimits
  readonly inDoubt: 'hold' | 'resend'
  /** Whether the gateway is known to store a batch whole or not at all. */
  readonly batchesAreAtomic: boolean
  /** How late a profile may show what the gateway has stored; milliseconds. */
  readonly readLagMs: number
  /** Waits, however impatient the job is; throws where the run is stopped. */
  readonly pause: (ms: number) => Promise<void>
  /** When the gateway last took a batch: what still fails after that fails by itself. */
  readonly progress: { takenAt: number }
  readonly random: () => number
  readonly stale: StaleAccounts
}

export interface StaleAccounts {
  /** Tells entries whose person's account this run has found stale. */
  readonly has: (entry: Entry) => boolean
  /** Says of a person whom the ledger knew before the run whether the account is stale. @throws WaybillError where the run must stop */
  readonly judge: (entry: Entry, sign: AccountSign) => Promise<boolean>
}

/** One batch and where it belongs. */
export interface BatchToDeliver extends ChunkKey {
  readonly exportId: string
  readonly kind: RecordKind
  readonly entries: readonly Entry[]
  readonly accountIds: AccountIds
  /** Of the rest of a batch that was refused: whether the refusal named the right records. */
  readonly namesHold?: Promise<boolean> | undefined
}

/** A batch that went out. */
export interface SentBatch {
  readonly batch: BatchToDeliver
  readonly batchId: string
  /** Its row in the ledger. */
  readonly row: number
  readonly attempts: number
  /** When it, or the batch of which it is the rest, went out first. */
  readonly firstSentAt: number
  /** HTTP status of the last try that failed and was answered. */
  readonly failedWith?: number | undefined
  readonly resends: number
}

export interface UnansweredBatch {
  readonly batch: BatchToDeliver
  /** Its row in the ledger. */
  readonly row: number
  readonly batchId: string
  /** How many it held when it was sent. */
  readonly records: number
}

/** What an answer says of a batch. */
export interface PartlyKnown {
  readonly answer: string
  readonly status: number | null
  readonly outcomes: readonly EntryOutcome[]
  /** Of these nothing is known yet. */
  readonly open: readonly Entry[]
  /** The words of errors that the gateway listed in an answer of success, for each record that they may be about. */
  readonly words?: ReadonlyMap<Entry, string>
  /** Records that such an error names, and no echo. */
  readonly named?: ReadonlyMap<Entry, string>
  /** Where nobody knows whether the batch was taken: why. */
  readonly cause?: Cause
}

type SettledBatch = Pick<BatchToDeliver, 'exportRow' | 'chunk' | 'entries'>

const isAccepted = ({ outcome }: EntryOutcome): boolean => outcome === 'accepted'
const isLeft = ({ outcome }: EntryOutcome): boolean => outcome === 'rejected' || outcome === 'in-doubt'

export async function settle(
  delivery: Pick<Delivery, 'ledger' | 'now' | 'identity'>,
  sent: Pick<SentBatch, 'row' | 'attempts'> & { readonly batch: SettledBatch },
  answer: string,
  status: number | null,
  outcomes: readonly EntryOutcome[],
): Promise<void> {
  const { exportRow, chunk } = sent.batch
  await delivery.ledger.settleBatch({
    id: sent.row,
    exportRow,
    chunk,
    answer,
    status,
    attempts: sent.attempts,
    accepted:
      outcomes.length === sent.batch.entries.length && outcomes.every(isAccepted)
        ? 'all'
        : packEntries(outcomes.filter(isAccepted).map(({ entry }) => entry)),
    exceptions: outcomes.filter(isLeft).flatMap((outcome) => toException(outcome) ?? []),
    held: heldBy(delivery.identity, outcomes),
    at: delivery.now(),
  })
}

export interface LookUp {
  readonly reconciler: Pick<Reconciler, 'readBack'>
  /** Left out where nothing may be sent. */
  readonly stale?: Pick<StaleAccounts, 'judge'> | undefined
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
  { reconciler, stale, readLagMs, pause, now }: LookUp,
  entries: readonly Entry[],
  accountIds: AccountIds,
  overAt: number,
): Promise<Map<Entry, Verdict>> {
  const inTimeAt = overAt + readLagMs
  const lookedAt = now()
  const verdicts = await reconciler.readBack(entries, accountIds, stale?.judge)
  const absent = entries.filter((entry) => verdicts.get(entry) === 'absent')
  if (absent.length === 0 || lookedAt >= inTimeAt) return verdicts
  // A clock that was set back must not draw the wait out.
  await pause(Math.min(readLagMs, Math.max(0, inTimeAt - now())))
  return new Map([...verdicts, ...(await reconciler.readBack(absent, accountIds, stale?.judge))])
}

/**
 * At a gateway that stores a batch whole or not at all, one record that was found, or was not, speaks for the others.
 * @param batch all records of one request, and no others
 * @param verdicts those that contradict each other speak for themselves alone: then the gateway is not what it was taken for
 */
export function spokenFor(
  { batchesAreAtomic }: Pick<Delivery, 'batchesAreAtomic'>,
  batch: readonly Entry[],
  verdicts: ReadonlyMap<Entry, Verdict>,
): ReadonlyMap<Entry, Verdict> {
  const own = new Set(batch.map((entry) => verdicts.get(entry)))
  if (!batchesAreAtomic || own.has('stored') === own.has('absent')) return verdicts
  const verdict = own.has('stored') ? 'stored' : 'absent'
  return new Map(batch.map((entry) => [entry, verdict]))
}

/** Ids that are known, or told by other answers: these are compared with, and nothing is read by them. */
export const comparedBy =
  ({ toldIds }: Delivery, { accountIds }: BatchToDeliver): AccountIds =>
  (account) =>
    accountIds(account) ?? toldIds.get(account.reference)

/**
 * An echo may name an account by an id that nobody knows. Where several agree, the id is learned; of one alone the profile is asked, and what it
 * does not show was not taken for this person. Where the profile cannot tell, the answer counts.
 */
export async function beliedBy(
  delivery: Delivery,
  { accountIds }: BatchToDeliver,
  { learned, unconfirmed }: Matched,
): Promise<ReadonlySet<Entry>> {
  const { toldIds } = delivery
  for (const [reference, id] of learned) toldIds.set(reference, id)
  const belied = new Set<Entry>()
  if (unconfirmed.size === 0) return belied
  const verdicts = await lookUp(delivery, [...unconfirmed.keys()], accountIds, delivery.now())
  for (const [entry, id] of unconfirmed) {
    const verdict = verdicts.get(entry)
    if (verdict === 'stored') toldIds.set(entry.account.reference, id)
    else if (verdict === 'absent') belied.add(entry)
  }
  return belied
}

/** An answer that names all records of the batch in their order, and says nothing else. */
export interface AnswerInOrder extends Pick<CreateAnswer, 'status' | 'requestId'> {
  readonly class: 'accepted'
  /** The gateway's id of each record, where it gave one. */
  readonly ids: readonly (string | undefined)[]
}

export interface Reconciler {
  /**
   * The gateway's ids, where the answer names all entries in their order and says nothing else; else undefined, and `match` judges it.
   * @param answer the body, as it came
   */
  matchInOrder(
    entries: readonly Entry[],
    answer: Uint8Array,
    accountIds: AccountIds,
  ): readonly (string | undefined)[] | undefined
  /** @param entries in the order in which they were sent */
  match(
    entries: readonly Entry[],
    answer: Pick<CreateAnswer, 'echoes' | 'errors'>,
    accountIds: AccountIds,
  ): Matched
  /** One read an account, however many of its records are open. */
  readBack(
    entries: readonly Entry[],
    accountIds: AccountIds,
    onSign?: OnAccountSign,
  ): Promise<Map<Entry, Verdict>>
  /** The same of records that may have been sent before under the ids that they had in another export. */
  readBackAny(
    entries: readonly Entry[],
    accountIds: AccountIds,
    onSign?: OnAccountSign,
  ): Promise<Map<Entry, Verdict | InItsPlace | StoredAs>>
  /** All that the profile shows, of every kind; undefined where it cannot be read. */
  profile(account: AccountKey): Promise<readonly ShownRecord[] | undefined>
}
