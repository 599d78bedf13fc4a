/** Ruling for the ledger on records no longer in doubt, in every run of the job with these records. */
import type {
  DeliveredRow,
  DoubtRecord,
  HeldRecord,
  KeptSlot,
  Ledger,
  LeftEvent,
  LeftRecord,
  PlacedRecord,
  Ruled,
  Ruling,
} from '../ledger/ledger.ts'
import { learnKept, placeOf } from '../load/kept-slots.ts'
import type { SlotEvent } from '../load/learn.ts'
import { hasSameContent, transactionId, wordsOf } from '../model/ids.ts'
import type { SentAs } from './receipts.ts'

/** Events that confirm an earlier send reached the gateway. */
const LEARNED: ReadonlySet<LeftEvent> = new Set(['accept', 'find'])

/** Events after which the gateway has the record. */
const WITH_GATEWAY: ReadonlySet<LeftEvent> = new Set(['accept', 'find', 'deliver'])

/**
 * Releases records from doubt.
 * @param events content hash → fate of the record
 * @param run the run that caused the events; null for a person's decision or a look at the profile
 * @param isOpen doubts left open
 */
export async function releaseDoubts(
  ledger: Pick<Ledger, 'left' | 'slots'>,
  jobId: number,
  events: ReadonlyMap<string, LeftEvent>,
  run: string | null = null,
  isOpen: (doubt: DoubtRecord) => boolean = () => false,
): Promise<{ ruling: Ruling; sentAs: SentAs }> {
  const contents = [...events.keys()]
  const left = await ledger.left.inDoubtWith(jobId, contents)
  const sent = lastSent(left)
  const released = await ledger.left.heldWith(jobId, contents)
  const taken = released.filter(({ content }) => WITH_GATEWAY.has(events.get(content) ?? 'miss'))
  const byKey = Map.groupBy(taken, ({ rowKey }) => rowKey)
  const before = await ledger.slots.delivered(jobId, [...byKey.keys()])
  const delivered: DeliveredRow[] = [...byKey].map(([rowKey, records]) => ({
    rowKey,
    records: learnKept(
      // Other doubts of the slot stay.
      { kept: before.get(rowKey) ?? [], held: [] },
      records.map(({ rule, content }): [string, SlotEvent] => [
        rule,
        { what: events.get(content) === 'find' ? 'shown' : 'accepted before', content },
      ]),
      // No event here compares places.
      (word) => placeOf(new Map(), word),
    ).records,
  }))
  const learned = contents.filter((content) => LEARNED.has(events.get(content) ?? 'miss'))
  const found = await sentAs(ledger, jobId, learned, sent)
  // The delivering run has the receipt, even if a given-up run also sent the record.
  for (const one of taken) {
    const isDelivered = before.get(one.rowKey)?.some(isStored(one)) === true
    if (isDelivered && (sent.get(one.content)?.batchId ?? null) === null) found.set(one.content, null)
  }
  const ruling = {
    run,
    decisions: left.flatMap((doubt): Ruled[] => {
      const { id, content, batchId } = doubt
      const event = events.get(content ?? '')
      if (event === undefined || isOpen(doubt)) return []
      const last = sent.get(content ?? '')
      const isReceipted = found.get(content ?? '') === null
      if (!LEARNED.has(event) || last === undefined || (!isReceipted && (batchId === null || last.id === id)))
        return [{ exception: id, event }]
      // Only the run with the receipt counts the record as accepted, however many runs have sent it.
      return [{ exception: id, event: 'deliver', run: run ?? last.run }]
    }),
    released,
    delivered,
  }
  return { ruling, sentAs: found }
}

const isStored =
  ({ rule, content }: HeldRecord) =>
  (one: KeptSlot): boolean =>
    one.ruleHash === rule && one.word.isStored && hasSameContent(one, wordsOf(content))

/** Transaction ids under which contents in doubt were sent, perhaps from another row or export. */
export function sentIds(left: readonly LeftRecord[]): ReadonlyMap<string, string> {
  return new Map(
    [...lastSent(left)].flatMap(([content, { exportId, row, rule, batchId }]) =>
      batchId === null ? [] : [[content, transactionId(exportId, row, rule ?? '', content)] as const],
    ),
  )
}

/** Last sent record by content; the held record where the sender is unknown. */
function lastSent(left: readonly LeftRecord[]): Map<string, LeftRecord> {
  const last = new Map<string, LeftRecord>()
  for (const record of left.toSorted((a, b) => a.id - b.id)) {
    if (record.content === null || (record.batchId === null && last.has(record.content))) continue
    last.set(record.content, record)
  }
  return last
}

async function sentAs(
  ledger: Pick<Ledger, 'left'>,
  jobId: number,
  contents: readonly string[],
  last: ReadonlyMap<string, LeftRecord>,
): Promise<Map<string, PlacedRecord | null>> {
  if (contents.length === 0) return new Map()
  const givenUp = await ledger.left.sentByGivenUp(jobId, contents)
  return new Map(
    contents.flatMap((content) => {
      const own = last.get(content)
      const sent = own !== undefined && own.batchId !== null ? own : (givenUp.get(content) ?? own)
      return sent === undefined ? [] : [[content, sent] as const]
    }),
  )
}
