/**
 * Delivers one batch: intent, bytes, answer, settlement. Ends with exactly one outcome for each record, or throws because the
 * run must stop; then the ledger still says that the batch was being sent.
 */
import type { CreateAnswer } from '../gateway/create-answer.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { GatewayError } from '../gateway/gateway-error.ts'
import type { ChunkKey, Exception, Held, RunLedger } from '../ledger/ledger.ts'
import type { RecordKind } from '../transform/record.ts'
import { halve } from './batches.ts'
import type { BodyBuffers } from './body-buffers.ts'
import type { Entry, EntryOutcome, Reason } from './entry.ts'
import { scrubWords, secretsOf } from './gateway-words.ts'
import type { Identity } from './identity.ts'
import type { AccountIds, Reconciler } from './reconciler.ts'
import { batchBytes, recordText, writeBatch } from './record-text.ts'
import { waitBeforeReadBack } from './retry-policy.ts'
import type { Sending } from './sending.ts'

export interface Delivery {
  readonly gateway: Gateway
  readonly ledger: RunLedger
  readonly sending: Sending
  readonly reconciler: Reconciler
  readonly identity: Identity
  readonly buffers: BodyBuffers
  readonly inDoubt: 'hold' | 'resend'
  readonly now: () => number
  readonly random: () => number
}

/** One batch and where it belongs. */
export interface BatchToDeliver extends ChunkKey {
  readonly exportId: string
  readonly kind: RecordKind
  readonly entries: readonly Entry[]
  readonly accountIds: AccountIds
}

type Answer =
  | { readonly kind: 'answered'; readonly answer: CreateAnswer }
  | { readonly kind: 'failed'; readonly error: GatewayError }

/** Delivers a batch that has not been sent yet. @throws WaybillError where the run must stop */
export function deliver(delivery: Delivery, batch: BatchToDeliver): Promise<EntryOutcome[]> {
  return send(delivery, batch)
}

async function send(delivery: Delivery, batch: BatchToDeliver, earlier?: SentBatch): Promise<EntryOutcome[]> {
  const { ledger, sending, identity } = delivery
  const { kind, entries, exportRow, chunk, exportId } = batch
  const batchId = identity.batchId(
    exportId,
    chunk,
    kind,
    entries.map((entry) => entry.transactionId),
  )
  let row: number | undefined
  let attempts = 0
  let firstSentAt = earlier?.firstSentAt
  const operation = `create ${kind} records`
  const answer: Answer = await sending
    .once(operation, async () => {
      firstSentAt ??= delivery.now()
      row ??= await ledger.beginBatch({
        exportRow,
        chunk,
        batchId,
        kind,
        holds: entries.map(toHeld),
        at: delivery.now(),
      })
      attempts++
      const buffer = delivery.buffers.take(batchBytes(entries))
      const created = await post(delivery.gateway, kind, writeBatch(buffer, entries, batchId), entries.length)
      // Only an answer that names every record proves that the body has been read to its end.
      if (created.class === 'accepted') delivery.buffers.giveBack(buffer)
      return created
    })
    .then<Answer, Answer>(
      (created) => ({ kind: 'answered', answer: created }),
      (error: unknown) => {
        if (error instanceof GatewayError) return { kind: 'failed', error }
        throw error
      },
    )
  if (row === undefined || firstSentAt === undefined)
    throw new Error('a batch was answered that was never begun')
  const sent: SentBatch = {
    batch,
    batchId,
    row,
    attempts,
    firstSentAt,
    resends: earlier === undefined ? 0 : earlier.resends + 1,
  }
  if (answer.kind === 'answered') return settleAnswer(delivery, sent, answer.answer)
  const { error } = answer
  if (error.class === 'refused' || error.class === 'too-large') return refuse(delivery, sent, error)
  return settleOpen(delivery, sent, {
    answer: error.class,
    status: error.status ?? null,
    outcomes: [],
    open: entries,
    words: undefined,
  })
}

/** Settles a batch of which an earlier process left only the intent. */
export function settleUnanswered(
  delivery: Delivery,
  batch: BatchToDeliver,
  row: number,
  batchId: string,
): Promise<EntryOutcome[]> {
  const sent: SentBatch = { batch, batchId, row, attempts: 1, firstSentAt: delivery.now(), resends: 0 }
  return settleOpen(delivery, sent, {
    answer: 'ambiguous',
    status: null,
    outcomes: [],
    open: batch.entries,
    words: undefined,
  })
}

interface SentBatch {
  readonly batch: BatchToDeliver
  readonly batchId: string
  /** Its row in the ledger. */
  readonly row: number
  readonly attempts: number
  /** When it, or the batch of which it is the rest, went out first. */
  readonly firstSentAt: number
  readonly resends: number
}

function post(gateway: Gateway, kind: RecordKind, body: Buffer, count: number): Promise<CreateAnswer> {
  switch (kind) {
    case 'biometric':
      return gateway.biometrics.createBulk(body, count)
    case 'condition':
      return gateway.conditions.createBulk(body, count)
    case 'careTeam':
      return gateway.careTeams.createBulk(body, count)
  }
}

async function settleAnswer(
  delivery: Delivery,
  sent: SentBatch,
  answer: CreateAnswer,
): Promise<EntryOutcome[]> {
  const { entries, accountIds } = sent.batch
  const matched = delivery.reconciler.match(entries, answer.echoes, accountIds)
  const outcomes: EntryOutcome[] = []
  const open: Entry[] = []
  for (const entry of entries) {
    if (!matched.has(entry)) {
      open.push(entry)
      continue
    }
    const gatewayId = matched.get(entry)
    outcomes.push({
      entry,
      outcome: 'accepted',
      batchId: sent.batchId,
      status: answer.status,
      ...(gatewayId === undefined ? {} : { gatewayId }),
    })
  }
  const words = answer.errors
    .map((error) => (typeof error === 'string' ? error : (error.message ?? '')))
    .join('; ')
  return settleOpen(delivery, sent, {
    answer: open.length === 0 ? 'accepted' : 'accepted-in-part',
    status: answer.status,
    outcomes,
    open,
    words: words === '' ? undefined : words,
  })
}

interface PartlyKnown {
  readonly answer: string
  readonly status: number | null
  readonly outcomes: readonly EntryOutcome[]
  /** Of these nothing is known yet. */
  readonly open: readonly Entry[]
  /** Errors that the gateway listed in an answer of success. */
  readonly words: string | undefined
}

/** Reads back what is open, settles the batch in the ledger, and sends again what is known to be absent. */
async function settleOpen(delivery: Delivery, sent: SentBatch, known: PartlyKnown): Promise<EntryOutcome[]> {
  const { batchId, batch, resends, firstSentAt } = sent
  if (known.answer === 'ambiguous') {
    // The gateway may still be at work on it: what is not there yet could be stored a moment after it was looked for.
    const waitMs = waitBeforeReadBack(resends + 1, delivery.random)
    await delivery.sending.wait(`create ${batch.kind} records`, waitMs, known.answer, firstSentAt)
  }
  const verdicts =
    known.open.length === 0 ? undefined : await delivery.reconciler.readBack(known.open, batch.accountIds)
  const outcomes = [...known.outcomes]
  const again: Entry[] = []
  for (const entry of known.open) {
    const verdict = verdicts?.get(entry) ?? 'unknown'
    if (verdict === 'stored')
      outcomes.push({ entry, outcome: 'accepted', batchId, status: known.status, readBack: true })
    else if (verdict === 'unknown' && delivery.inDoubt === 'hold') outcomes.push(inDoubt(entry, batchId))
    else if (known.words !== undefined)
      outcomes.push(rejection(entry, batchId, 'listed-as-error', known.words))
    else if (known.answer === 'accepted-in-part' && resends > 0) {
      outcomes.push(
        rejection(
          entry,
          batchId,
          'not-echoed',
          'the gateway answered with success, twice, but did not store the record',
        ),
      )
    } else again.push(entry)
  }
  await settle(delivery, sent, known.answer, known.status, outcomes)
  if (again.length === 0) return outcomes
  return [...outcomes, ...(await send(delivery, { ...batch, entries: again }, sent))]
}

/** After a definite refusal nothing of the batch is stored: it is cut in half until the bad records stand alone. */
async function refuse(delivery: Delivery, sent: SentBatch, error: GatewayError): Promise<EntryOutcome[]> {
  const { batch, batchId, row } = sent
  const status = error.status ?? null
  const [only] = batch.entries
  if (batch.entries.length === 1 && only !== undefined) {
    const code = error.class === 'too-large' ? 'too-large' : 'refused'
    const outcome = rejection(
      only,
      batchId,
      code,
      `HTTP ${error.status}: ${error.gatewayMessage ?? 'no reason given'}`,
    )
    await settle(delivery, sent, error.class, status, [outcome])
    return [outcome]
  }
  await delivery.ledger.splitBatch(row, error.class, status, delivery.now())
  const halves = halve(batch.entries).map((entries) => send(delivery, { ...batch, entries }))
  return (await allDone(halves)).flat()
}

async function settle(
  delivery: Delivery,
  sent: SentBatch,
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
    accepted: outcomes.filter(({ outcome }) => outcome === 'accepted').map(({ entry }) => toHeld(entry)),
    exceptions: outcomes.flatMap((outcome) => toException(outcome) ?? []),
    at: delivery.now(),
  })
}

/** Waits for all, then throws the first failure: nothing may still be under way when the caller goes on. */
export async function allDone<T>(tasks: readonly Promise<T>[]): Promise<T[]> {
  const results = await Promise.allSettled(tasks)
  const failure = results.find((result) => result.status === 'rejected')
  if (failure) throw failure.reason
  return results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
}

const toHeld = ({ row, record, content }: Entry): Held => ({ row: row.row, rule: record.rule, content })

/** The ledger's line for an outcome that is not a success. */
export function toException(outcome: EntryOutcome): Exception | undefined {
  if (outcome.outcome !== 'rejected' && outcome.outcome !== 'in-doubt') return undefined
  const { entry, reason } = outcome
  return {
    row: entry.row.row,
    line: entry.row.line,
    byteOffset: entry.row.byteOffset,
    kind: entry.record.kind,
    rule: entry.record.rule,
    content: entry.content,
    outcome: outcome.outcome,
    stage: reason.stage,
    code: reason.code,
    field: reason.field ?? null,
    message: reason.scrubbed,
    batchId: outcome.batchId,
  }
}

function rejection(entry: Entry, batchId: string, code: string, words: string): EntryOutcome {
  const secrets = secretsOf(JSON.parse(recordText(entry, batchId)))
  const reason: Reason = { stage: 'submit', code, message: words, scrubbed: scrubWords(words, secrets) }
  return { entry, outcome: 'rejected', batchId, reason }
}

const IN_DOUBT = 'no answer came, and the profile cannot tell whether the record was stored'

const inDoubt = (entry: Entry, batchId: string): EntryOutcome => ({
  entry,
  outcome: 'in-doubt',
  batchId,
  reason: { stage: 'read-back', code: 'in-doubt', message: IN_DOUBT, scrubbed: IN_DOUBT },
})
