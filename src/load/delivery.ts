/**
 * Delivers one batch: intent, bytes, answer, settlement. Ends with exactly one outcome for each record, or throws because the run must stop; then the
 * ledger still shows the batch as being sent. Looks for records in the profiles, and allows for a late gateway: absence counts only once the gateway
 * cannot be late.
 */

import type { CreateAnswer, Answer as GatewayAnswer } from '../gateway/answer.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { type AnswerClass, GatewayError, saysNotFound } from '../gateway/gateway-error.ts'
import type { BatchIntent, ChunkKey, HeldRecord, RunLedger } from '../ledger/ledger.ts'
import { carriedOf, packEntries } from '../ledger/packed-records.ts'
import type { Entry } from '../model/entry.ts'
import { allDone } from '../model/errors.ts'
import type { Identity } from '../model/ids.ts'
import {
  type AccountIds,
  type AccountSign,
  type EntryOutcome,
  type InItsPlace,
  type Matched,
  type OnAccountSign,
  ownReason,
  type ShownRecord,
  type StoredAs,
  type Verdict,
} from '../model/outcome.ts'
import type { AccountKey, RecordKind } from '../model/record.ts'
import { batchBytes, writeBatch } from './batch-text.ts'
import { type createBodyBuffers, cutBatches, fits, type SizeLimits, taken, tooLarge } from './batches.ts'
import {
  heldBy,
  leftByStale,
  listedAsError,
  refusalWords,
  rejection,
  toException,
  unclearByStale,
  type Words,
} from './gateway-words.ts'
import { type Cause, causeOf } from './outage.ts'
import { halve, sendInParts } from './refused-batch.ts'
import { decideAbsent } from './retry-policy.ts'
import { Outgrown, type Sending } from './sending.ts'

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
  /**
   * Longest delay of the gateway, in milliseconds: still storing an unanswered record, or not showing a stored one yet. A profile read earlier does
   * not prove absence.
   */
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

interface BatchToDeliver extends ChunkKey {
  readonly exportId: string
  readonly kind: RecordKind
  readonly entries: readonly Entry[]
  readonly accountIds: AccountIds
  /** True where the next chunk waits for the batch. */
  readonly isAwaited?: boolean
  /** For the rest of a refused batch: true if the refusal named the right records. */
  readonly namesHold?: Promise<boolean> | undefined
}

interface SentBatch {
  readonly batch: BatchToDeliver
  readonly batchId: string
  readonly row: number
  readonly attempts: number
  /** First time that this batch, or the batch it is the rest of, went out. */
  readonly firstSentAt: number
  /** HTTP status of the last failed try with an answer. */
  readonly failedWith?: number | undefined
  readonly resends: number
}

const isAccepted = ({ outcome }: EntryOutcome): boolean => outcome === 'accepted'

export async function settle(
  delivery: Pick<Delivery, 'ledger' | 'now' | 'identity'>,
  sent: Pick<SentBatch, 'row' | 'attempts'> & {
    batch: Pick<BatchToDeliver, 'exportRow' | 'chunk' | 'entries'>
  },
  answer: string,
  status: number | null,
  outcomes: readonly EntryOutcome[],
): Promise<void> {
  const { exportRow, chunk, entries } = sent.batch
  const others = outcomes.filter((one) => !isAccepted(one))
  await delivery.ledger.settleBatch({
    id: sent.row,
    exportRow,
    chunk,
    answer,
    status,
    attempts: sent.attempts,
    accepted:
      outcomes.length === entries.length && others.length === 0
        ? 'all'
        : packEntries(outcomes.filter(isAccepted).map(({ entry }) => entry)),
    exceptions: others.flatMap((outcome) => toException(delivery.identity, outcome) ?? []),
    held: heldBy(delivery.identity, others),
    at: delivery.now(),
  })
}

interface LookUp extends Pick<Delivery, 'readLagMs' | 'pause' | 'now'> {
  readonly reconciler: Pick<Reconciler, 'readBack'>
  /** Left out where nothing may be sent. */
  readonly stale?: Pick<StaleAccounts, 'judge'> | undefined
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
  readonly attempt: number
  readonly durationMs: number
}

interface BatchWatch {
  readonly now: () => number
  readonly onBatch?: ((answer: BatchAnswer) => void) | undefined
}

/** @throws what `call` throws */
async function watchBatch<Answer extends AnswerFacts>(
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

interface UnansweredBatch {
  readonly batch: BatchToDeliver
  readonly row: number
  readonly batchId: string
  readonly records: number
}

/** Result of an answer for a batch. */
interface PartlyKnown {
  readonly answer: string
  readonly status: number | null
  readonly outcomes: EntryOutcome[]
  /** Records of unknown outcome. */
  readonly open: readonly Entry[]
  /** Error messages in an answer of success, for each record that an error may concern. */
  readonly words?: ReadonlyMap<Entry, string>
  /** Error codes for records named by an error and not echoed. */
  readonly named?: ReadonlyMap<Entry, string>
  /** Cause of an unknown outcome of the whole batch. */
  readonly cause?: Cause
}

/** Answer that names all records of the batch in their order, and nothing else. */
interface AnswerInOrder extends Pick<CreateAnswer, 'status' | 'requestId'> {
  readonly class: 'accepted'
  /** The gateway's id of each record, if any. */
  readonly ids: readonly (string | undefined)[]
}

const NOT_ECHOED: Words = { ours: 'the gateway answered with success, twice, but did not store the record' }

/** Batch recorded in the ledger before it is sent. */
interface PlannedRow {
  readonly row: number
  readonly batchId: string
  /** Bytes as counted by `batchBytes`. */
  readonly bytes: number
  /** True where a record of the batch is newer than a record of its series in an earlier batch. */
  readonly hidesOlder: boolean
}

/** Records the batches of a chunk, and doubts that the chunk has ended, in the ledger before their first byte leaves. */
export async function planned(
  delivery: Planning,
  batches: readonly (BatchToDeliver & Pick<PlannedRow, 'bytes' | 'hidesOlder'>)[],
  shown: readonly HeldRecord[] = [],
): Promise<PlannedRow[]> {
  const intents = batches.map((batch) => intentOf(delivery, batch))
  const rows = await delivery.ledger.planBatches(intents, shown)
  return intents.flatMap(({ batchId }, at) => {
    const [row, batch] = [rows[at], batches[at]]
    if (row === undefined || batch === undefined) return []
    const { bytes, hidesOlder } = batch
    return [{ row, batchId, bytes, hidesOlder }]
  })
}

type Planning = Pick<Delivery, 'ledger' | 'identity' | 'now'>

const intentOf = (
  { identity, now }: Planning,
  { exportRow, exportId, chunk, kind, entries }: BatchToDeliver,
): BatchIntent => {
  const holds = packEntries(entries)
  const batchId = identity.batchId(exportId, chunk, kind, carriedOf(holds))
  return { exportRow, chunk, batchId, kind, records: entries.length, holds, at: now() }
}

/**
 * Delivers a batch.
 * @param plannedAs planned batch with equal records
 * @param earlier sent batch with the records, and not stored
 * @throws WaybillError where the run must stop
 */
export async function deliver(
  delivery: Delivery,
  batch: BatchToDeliver,
  plannedAs?: PlannedRow,
  earlier?: SentBatch,
): Promise<EntryOutcome[]> {
  const { ledger, sending, sizes, stale } = delivery
  const { kind, entries } = batch
  const left = entries.filter(stale.has)
  if (left.length > 0) {
    const others = entries.filter((entry) => !stale.has(entry))
    const sent = await deliverParts(delivery, batch, others.length === 0 ? [] : [others], earlier)
    return [...left.map((entry) => leftByStale(entry, earlier !== undefined)), ...sent]
  }
  const intent = plannedAs ?? intentOf(delivery, batch)
  const { batchId } = intent
  const begin = async (): Promise<number> => {
    if ('holds' in intent) return ledger.beginBatch({ ...intent, at: delivery.now() })
    await ledger.sendBatch(intent.row, delivery.now(), intent.hidesOlder)
    return intent.row
  }
  const recognise = ({ body, status, requestId }: GatewayAnswer): AnswerInOrder | undefined => {
    const ids = delivery.reconciler.matchInOrder(entries, body, comparedBy(delivery, batch))
    return ids && { status, requestId, class: 'accepted', ids }
  }
  let row: number | undefined
  let attempts = 0
  let firstSentAt = earlier?.firstSentAt
  const operation = `create ${kind} records`
  const size = { records: entries.length, bytes: plannedAs?.bytes ?? batchBytes(entries) }
  const answer = await sending
    .once(
      operation,
      () => fits(sizes.of(kind), size) && !entries.some(stale.has),
      async () => {
        firstSentAt ??= delivery.now()
        row ??= await begin()
        attempts++
        const buffer = delivery.buffers.take(size.bytes)
        const body = writeBatch(buffer, entries, batchId)
        const created = await watchBatch(delivery, { batchId, kind, ...size, attempt: attempts }, () =>
          createRecords(delivery.gateway, kind, body, entries.length, recognise),
        )
        sizes.learn(kind, taken, size)
        // Only an answer that names every record proves that the gateway has read the whole body.
        if (created.class === 'accepted') delivery.buffers.giveBack(buffer)
        return created
      },
      // The end of the chunk waits for the newest record of a series: the next chunks would go in between.
      { isAgain: earlier !== undefined, isAwaited: batch.isAwaited || plannedAs?.hidesOlder === true },
    )
    .catch((error: unknown) => {
      if (error instanceof GatewayError || error instanceof Outgrown) return error
      throw error
    })
  if (answer instanceof Outgrown) {
    const parts = cutBatches(entries, sizes.of(kind).limits).map((part) => part.entries)
    return deliverParts(delivery, batch, parts, earlier)
  }
  if (row === undefined || firstSentAt === undefined)
    throw new Error('a batch was answered that was never begun')
  const sent: SentBatch = {
    batch,
    batchId,
    row,
    attempts,
    firstSentAt,
    resends: earlier === undefined ? 0 : earlier.resends + 1,
    failedWith: (answer instanceof GatewayError ? answer.status : undefined) ?? earlier?.failedWith,
  }
  if (!(answer instanceof GatewayError)) return settleAnswer(delivery, sent, answer)
  if (answer.class === 'too-large') sizes.learn(kind, tooLarge, size)
  if (answer.class === 'refused' || answer.class === 'too-large') return refuse(delivery, sent, answer)
  const { class: lost, status = null } = answer
  const cause = causeOf(answer)
  return settleOpen(delivery, sent, { answer: lost, status, outcomes: [], open: entries, cause })
}

async function deliverParts(
  delivery: Delivery,
  batch: BatchToDeliver,
  parts: readonly (readonly Entry[])[],
  earlier: SentBatch | undefined,
): Promise<EntryOutcome[]> {
  const sent = parts.map((entries) => deliver(delivery, { ...batch, entries }, undefined, earlier))
  return (await allDone(sent)).flat()
}

async function settleAnswer(
  delivery: Delivery,
  sent: SentBatch,
  answer: CreateAnswer | AnswerInOrder,
): Promise<EntryOutcome[]> {
  const { batch, batchId } = sent
  const { status } = answer
  const accepted = (entry: Entry, gatewayId: string | undefined): EntryOutcome =>
    gatewayId === undefined
      ? { entry, outcome: 'accepted', batchId, status }
      : { entry, outcome: 'accepted', batchId, status, gatewayId }
  if ('ids' in answer) {
    delivery.progress.takenAt = delivery.now()
    const outcomes = batch.entries.map((entry, at) => accepted(entry, answer.ids[at]))
    return settleOpen(delivery, sent, { answer: 'accepted', status, outcomes, open: [] })
  }
  const matched = delivery.reconciler.match(batch.entries, answer, comparedBy(delivery, batch))
  await judgeAccounts(delivery, matched)
  const belied = await beliedBy(delivery, batch, matched)
  const isTaken = (entry: Entry): boolean => matched.accepted.has(entry) && !belied.has(entry)
  const taken = batch.entries.filter(isTaken)
  const open = batch.entries.filter((entry) => !isTaken(entry))
  if (taken.length > 0) delivery.progress.takenAt = delivery.now()
  return settleOpen(delivery, sent, {
    answer: open.length === 0 ? 'accepted' : 'accepted-in-part',
    status,
    outcomes: taken.map((entry) => accepted(entry, matched.accepted.get(entry))),
    open,
    words: matched.doubted,
    named: matched.named,
  })
}

async function settleOpen(delivery: Delivery, sent: SentBatch, known: PartlyKnown): Promise<EntryOutcome[]> {
  const { batch, resends, firstSentAt } = sent
  const overAt = delivery.now()
  let isOver = false
  if (known.cause !== undefined) {
    // The gateway may still be working on the batch, and may store a record just after a look.
    const people = new Set(batch.entries.map((entry) => entry.account.reference))
    const operation = `create ${batch.kind} records`
    // One timeout among answers does not mean the gateway is down.
    const cause = { ...known.cause, status: known.cause.status ?? sent.failedWith }
    const waiting = { since: firstSentAt, tries: resends + 1, people }
    isOver = !(await delivery.sending.wait(operation, cause, waiting))
  }
  if (known.open.length === 0) return settleJudged(delivery, sent, known, new Map())
  const toAsk = known.open.filter((entry) => !delivery.stale.has(entry))
  const verdicts = await lookUp(delivery, toAsk, batch.accountIds, overAt)
  const isWhole = known.answer === 'ambiguous'
  return settleJudged(
    delivery,
    sent,
    known,
    isWhole ? spokenFor(delivery, known.open, verdicts) : verdicts,
    isOver,
  )
}

/**
 * Settles a batch by the profiles of its open records.
 * @param isOver true once the job's patience with the batch has ended: a record still absent fails by itself
 */
async function settleJudged(
  delivery: Delivery,
  sent: SentBatch,
  known: PartlyKnown,
  verdicts: ReadonlyMap<Entry, Verdict>,
  isOver = false,
): Promise<EntryOutcome[]> {
  const { batchId, batch, resends, firstSentAt } = sent
  const { stale } = delivery
  const judged: EntryOutcome[] = []
  const again: Entry[] = []
  for (const entry of known.open) {
    const words = known.words?.get(entry) ?? ''
    const verdict = verdicts.get(entry)
    // An error that names the record is the answer, though the profile cannot tell.
    const isAnswered = known.named?.has(entry) === true && verdict !== 'stored'
    const learned = isAnswered ? undefined : learnedOf(delivery, entry, batchId, known.status, verdict)
    if (learned !== undefined) judged.push(learned)
    else if (isAnswered || words !== '')
      judged.push(listedAsError(entry, batchId, { words, code: known.named?.get(entry) }, stale.has(entry)))
    else again.push(entry)
  }
  const isAccepted = known.answer === 'accepted-in-part'
  const othersTaken = delivery.progress.takenAt >= firstSentAt
  const step = decideAbsent({
    isAccepted,
    status: known.status,
    tries: resends + 1,
    isGivenUp: isOver,
    othersTaken,
    records: again.length,
  })
  if (step.kind === 'give-up') {
    const words = isAccepted ? NOT_ECHOED : failsAlone(known.status ?? sent.failedWith)
    const code = isAccepted ? 'not-echoed' : 'refused'
    judged.push(...again.splice(0).map((entry) => rejection(entry, batchId, code, words)))
  }
  const outcomes = judged.length === 0 ? known.outcomes : [...known.outcomes, ...judged]
  await settle(delivery, sent, known.answer, known.status, outcomes)
  if (again.length === 0) {
    if (known.cause !== undefined) delivery.sending.settled()
    return outcomes
  }
  const [parts, before] =
    step.kind === 'halve' ? [halve(again), { ...sent, resends: step.resends }] : [[again], sent]
  return [...outcomes, ...(await deliverParts(delivery, batch, parts, before))]
}

const failsAlone = (status: number | undefined): Words => ({
  ours: `HTTP ${status} on every try; other requests succeed`,
})

/** Cuts a batch after a definite refusal, which stores nothing, until the bad records stand alone. */
async function refuse(delivery: Delivery, sent: SentBatch, error: GatewayError): Promise<EntryOutcome[]> {
  const { batch, batchId, row } = sent
  const status = error.status ?? null
  const [only] = batch.entries
  if (batch.entries.length === 1 && only !== undefined) {
    const sign = signIn(error.gatewayMessage, saysNotFound(error))
    const isStale = sign !== undefined && (await delivery.stale.judge(only, sign))
    const code = isStale ? 'account-stale' : error.class === 'too-large' ? 'too-large' : 'refused'
    const outcome = rejection(only, batchId, code, refusalWords(error))
    await settle(delivery, sent, error.class, status, [outcome])
    return [outcome]
  }
  await delivery.ledger.splitBatch(row, error.class, status, delivery.now())
  return sendInParts(batch.entries, {
    refusal: error.class === 'refused' ? error.refusal : undefined,
    idOf: ({ transactionId }) => transactionId,
    namesHold: batch.namesHold,
    send: (entries, namesHold) => deliver(delivery, { ...batch, entries, namesHold }),
    isRefused: ({ outcome }) => outcome === 'rejected',
  })
}

/** Outcome of a record by the verdict of its profile; undefined where the record may be sent again. */
function learnedOf(
  { inDoubt: doubts, stale }: Delivery,
  entry: Entry,
  batchId: string,
  status: number | null,
  verdict: Verdict = 'hidden',
): EntryOutcome | undefined {
  if (verdict === 'stored') return { entry, outcome: 'accepted', batchId, status, readBack: true }
  if (stale.has(entry)) return unclearByStale(entry, batchId)
  return verdict !== 'absent' && doubts === 'hold' ? inDoubt(entry, batchId, verdict) : undefined
}

/**
 * Settles all unanswered batches of a chunk, with one look at each account. Records to send again are planned anew with the rest of the chunk: a
 * record sent beside an older record of its series would hide the older one.
 * @throws WaybillError where the run must stop
 */
export async function settleUnanswered(
  delivery: Delivery,
  unanswered: readonly UnansweredBatch[],
  accountIds: AccountIds,
): Promise<EntryOutcome[]> {
  if (unanswered.length === 0) return []
  const overAt = delivery.now()
  const cause = { class: 'ambiguous', what: 'an earlier process had no answer' } as const
  await delivery.sending.wait('create records', cause, { since: overAt, tries: 1, people: new Set() })
  const open = unanswered.flatMap(({ batch }) => batch.entries)
  const verdicts = await lookUp(delivery, open, accountIds, overAt)
  const settled = unanswered.map(async ({ batch, row, batchId, records }) => {
    const isWhole = records === batch.entries.length
    const judged = isWhole ? spokenFor(delivery, batch.entries, verdicts) : verdicts
    const outcomes = batch.entries.flatMap(
      (entry) => learnedOf(delivery, entry, batchId, null, judged.get(entry)) ?? [],
    )
    const sent: SentBatch = { batch, batchId, row, attempts: 1, firstSentAt: overAt, resends: 0 }
    await settle(delivery, sent, 'ambiguous', null, outcomes)
    return outcomes
  })
  const outcomes = (await allDone(settled)).flat()
  delivery.sending.settled()
  return outcomes
}

function createRecords(
  gateway: Gateway,
  kind: RecordKind,
  body: Buffer,
  count: number,
  recognise: (answer: GatewayAnswer) => AnswerInOrder | undefined,
): Promise<CreateAnswer | AnswerInOrder> {
  switch (kind) {
    case 'biometric':
      return gateway.biometrics.sendBulk(body, count, recognise)
    case 'condition':
      return gateway.conditions.sendBulk(body, count, recognise)
    case 'careTeam':
      return gateway.careTeams.sendBulk(body, count, recognise)
    default:
      throw new TypeError(`no batches are made of kind ${kind}`)
  }
}

/** Known account ids, and ids from other answers: used to compare, never to read. */
const comparedBy =
  ({ learnedIds }: Delivery, { accountIds }: BatchToDeliver): AccountIds =>
  (account) =>
    accountIds(account) ?? learnedIds.get(account.reference)

const IN_DOUBT = ownReason(
  'read-back',
  'in-doubt',
  'no answer came, and the profile cannot tell whether the record was stored',
)

const inDoubt = (entry: Entry, batchId: string, verdict: 'hidden' | 'unreadable'): EntryOutcome => ({
  entry,
  outcome: 'in-doubt',
  batchId,
  ...(verdict === 'unreadable' ? { isAsked: true } : {}),
  reason: IN_DOUBT,
})

/** Judges the signs against accounts in an answer of success. @throws WaybillError where the run must stop */
async function judgeAccounts(
  { stale }: { stale: StaleAccounts },
  { elsewhere, named, doubted }: Pick<Matched, 'elsewhere' | 'named' | 'doubted'>,
): Promise<void> {
  const signs = elsewhere.map((entry): [Entry, AccountSign] => [entry, 'other-id'])
  for (const [entry, code] of named) {
    const sign = signIn(doubted.get(entry), Number(code) === 404)
    if (sign !== undefined) signs.push([entry, sign])
  }
  await allDone(signs.map(([entry, sign]) => stale.judge(entry, sign)))
}

/** Words about an account, not about a field of an account; the interface documents none. */
const NO_ACCOUNT = /\baccount( is)? not (found|registered)\b|\b(unknown|no such) account\b(?! \w)/i

/**
 * Sign in an error.
 * @param words message of an error about one record
 * @param isNotFound true for code 404
 */
export function signIn(words: string | undefined, isNotFound: boolean): AccountSign | undefined {
  if (words !== undefined && NO_ACCOUNT.test(words)) return 'no-account'
  return isNotFound ? 'not-found' : undefined
}
