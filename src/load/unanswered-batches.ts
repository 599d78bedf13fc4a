/** Batches of which an earlier process left only the intent: what became of them is read from the profiles. */
import type { AccountIds, EntryOutcome } from '../model/entry.ts'
import { allDone } from './all-done.ts'
import { spokenFor } from './atomic-batch.ts'
import { settleJudged } from './deliver.ts'
import type { BatchToDeliver, Delivery, SentBatch } from './delivery.ts'
import { lookUp } from './look-up.ts'
import { waitBeforeReadBack } from './retry-policy.ts'

export interface UnansweredBatch {
  readonly batch: BatchToDeliver
  /** Its row in the ledger. */
  readonly row: number
  readonly batchId: string
  /** How many it held when it was sent. */
  readonly records: number
}

const NEVER_ANSWERED = {
  ...{ answer: 'ambiguous', status: null, outcomes: [] },
  cause: { class: 'ambiguous', what: 'an earlier process had no answer' },
} as const

/** Settles all of a chunk, with one look at each account. @throws WaybillError where the run must stop */
export async function settleUnanswered(
  delivery: Delivery,
  unanswered: readonly UnansweredBatch[],
  accountIds: AccountIds,
): Promise<EntryOutcome[]> {
  if (unanswered.length === 0) return []
  const overAt = delivery.now()
  const waitMs = waitBeforeReadBack(1, delivery.random)
  await delivery.sending.wait('create records', waitMs, NEVER_ANSWERED.cause, overAt, new Set())
  const entries = unanswered.flatMap(({ batch }) => batch.entries)
  const verdicts = await lookUp(delivery, entries, accountIds, overAt)
  const settled = unanswered.map(({ batch, row, batchId, records }) => {
    const sent: SentBatch = { batch, batchId, row, attempts: 1, firstSentAt: overAt, resends: 0 }
    const known = { ...NEVER_ANSWERED, open: batch.entries }
    const isWhole = records === batch.entries.length
    return settleJudged(
      delivery,
      sent,
      known,
      isWhole ? spokenFor(delivery, batch.entries, verdicts) : verdicts,
    )
  })
  return (await allDone(settled)).flat()
}
