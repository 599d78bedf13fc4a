/**
 * Parts needed to deliver a batch, and its settlement in the ledger. Looks for records in the profiles, and allows for a late gateway: absence counts
 * only once the gateway cannot be late.
 */

import type { CreateAnswer } from '../gateway/answer.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { type AnswerClass, GatewayError } from '../gateway/gateway-error.ts'
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
import type { createBodyBuffers, SizeLimits } from './batches.ts'
import { heldBy, toException } from './gateway-words.ts'
import type { Sending } from './sending.ts'

export interface Delivery extends BatchWatch {
  readonly gateway: Gateway
  readonly ledger: RunLedger
  readonly sending: Sending
  readonly reconciler: Reconciler
  readonly identity: Identity
  readonly buffers: ReturnType<typeof createBodyBuffers>
  /** Account ids known only from answers of this run, by reference. */
  readonly learnedIds: Map<string, string>
  /** Learned size limits of a batch at the gateway. */
  readonly sizes: SizeLimits
  readonly inDoubt: 'hold' | 'resend'
  /** True where the gateway is known to store a batch whole or not at all. */
  readonly batchesAreAtomic: boolean
  /** Longest delay, in milliseconds, until a profile shows a stored record. */
  readonly readLagMs: number
  /** Waits, however impatient the job is; throws when the run is stopped. */
  readonly pause: (ms: number) => Promise<void>
  /** Time of the last accepted batch: a later failure is the request's own. */
  readonly progress: { takenAt: number }
  readonly random: () => number
  readonly stale: StaleAccounts
}

export interface StaleAccounts {
  /** Recognises entries whose person's account this run has found stale. */
  readonly has: (entry: Entry) => boolean
  /** Judges whether the account of a person known before the run is stale. @throws WaybillError where the run must stop */
  readonly judge: (entry: Entry, sign: AccountSign) => Promise<boolean>
}

/** One batch and its place. */
export interface BatchToDeliver extends ChunkKey {
  readonly exportId: string
  readonly kind: RecordKind
  readonly entries: readonly Entry[]
  readonly accountIds: AccountIds
  /** For the rest of a refused batch: true if the refusal named the right records. */
  readonly namesHold?: Promise<boolean> | undefined
}

/** Batch that went out. */
export interface SentBatch {
  readonly batch: BatchToDeliver
  readonly batchId: string
  /** Row in the ledger. */
  readonly row: number
  readonly attempts: number
  /** First time that this batch, or the batch it is the rest of, went out. */
  readonly firstSentAt: number
  /** HTTP status of the last failed try with an answer. */
  readonly failedWith?: number | undefined
  readonly resends: number
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
    exceptions: outcomes.filter(isLeft).flatMap((outcome) => toException(delivery.identity, outcome) ?? []),
    held: heldBy(delivery.identity, outcomes),
    at: delivery.now(),
  })
}

interface LookUp {
  readonly reconciler: Pick<Reconciler, 'readBack'>
  /** Left out where nothing may be sent. */
  readonly stale?: Pick<StaleAccounts, 'judge'> | undefined
  /**
   * Longest delay of the gateway, in milliseconds: still storing an unanswered record, or not showing a stored one yet. A profile read earlier does
   * not prove absence.
   */
  readonly readLagMs: number
  /** Waits, however impatient the job is; throws when the run is stopped. */
  readonly pause: (ms: number) => Promise<void>
  readonly now: () => number
}

/**
 * Looks for the entries in the profiles. Looks once more for absent entries when the gateway can no longer be late: one wait for all of them, and one
 * read an account.
 * @param overAt end of the batch, by an answer or by giving up; milliseconds since the epoch
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
  // The limit keeps a clock that was set back from extending the wait.
  await pause(Math.min(readLagMs, Math.max(0, inTimeAt - now())))
  return new Map([...verdicts, ...(await reconciler.readBack(absent, accountIds, stale?.judge))])
}

/**
 * Extends the verdict on one record to the whole batch, at a gateway that stores a batch whole or not at all.
 * @param batch all records of one request, and no others
 * @param verdicts contradicting verdicts stay as they are: they disprove that the gateway is atomic
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

/**
 * Learns account ids from echoes with an unknown id. An id in several agreeing echoes is learned. For a single echo the profile decides: a record
 * absent there was not stored for this person. Where the profile cannot tell, the answer counts.
 */
export async function beliedBy(
  delivery: Delivery,
  { accountIds }: BatchToDeliver,
  { learned, unconfirmed }: Matched,
): Promise<ReadonlySet<Entry>> {
  const { learnedIds } = delivery
  for (const [reference, id] of learned) learnedIds.set(reference, id)
  const belied = new Set<Entry>()
  if (unconfirmed.size === 0) return belied
  const verdicts = await lookUp(delivery, [...unconfirmed.keys()], accountIds, delivery.now())
  for (const [entry, id] of unconfirmed) {
    const verdict = verdicts.get(entry)
    if (verdict === 'stored') learnedIds.set(entry.account.reference, id)
    else if (verdict === 'absent') belied.add(entry)
  }
  return belied
}

export interface Reconciler {
  /**
   * The gateway's ids, where the answer names all entries in their order and nothing else; else undefined, and `match` judges the answer.
   * @param answer the body as received
   */
  matchInOrder(
    entries: readonly Entry[],
    answer: Uint8Array,
    accountIds: AccountIds,
  ): readonly (string | undefined)[] | undefined
  /** @param entries in the order sent */
  match(
    entries: readonly Entry[],
    answer: Pick<CreateAnswer, 'echoes' | 'errors'>,
    accountIds: AccountIds,
  ): Matched
  /** Reads an account once, for all of its open records. */
  readBack(
    entries: readonly Entry[],
    accountIds: AccountIds,
    onSign?: OnAccountSign,
  ): Promise<Map<Entry, Verdict>>
  /** Reads back records that may have been sent before under the ids of another export. */
  readBackAny(
    entries: readonly Entry[],
    accountIds: AccountIds,
    onSign?: OnAccountSign,
  ): Promise<Map<Entry, Verdict | InItsPlace | StoredAs>>
  /** All records in the profile, of every kind; undefined where the profile is unreadable. */
  profile(account: AccountKey): Promise<readonly ShownRecord[] | undefined>
}

interface AnswerFacts {
  readonly class: AnswerClass
  /** Undefined without a status line. */
  readonly status: number | undefined
  readonly requestId: string
}

/** Codes and counts; no health data. */
export interface BatchAnswer extends AnswerFacts {
  readonly batchId: string
  readonly kind: RecordKind
  readonly records: number
  readonly bytes: number
  /** Number of the attempt, from 1. */
  readonly attempt: number
  readonly durationMs: number
}

interface BatchWatch {
  readonly now: () => number
  readonly onBatch?: ((answer: BatchAnswer) => void) | undefined
}

/** @throws what `call` throws */
export async function watchBatch<Answer extends AnswerFacts>(
  { now, onBatch }: BatchWatch,
  sent: Omit<BatchAnswer, keyof AnswerFacts | 'durationMs'>,
  call: () => Promise<Answer>,
): Promise<Answer> {
  if (onBatch === undefined) return call()
  const startedAt = now()
  const tell = ({ class: kind, status, requestId }: AnswerFacts): void =>
    onBatch({ ...sent, class: kind, status, requestId, durationMs: Math.max(0, now() - startedAt) })
  try {
    const answer = await call()
    tell(answer)
    return answer
  } catch (error) {
    if (error instanceof GatewayError) tell(error)
    throw error
  }
}
