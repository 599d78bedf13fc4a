/** What the ledger learns when records are in doubt no longer: in every run of the job that holds them. */
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
import { withStored } from '../load/kept-slots.ts'
import { hasSameContent, transactionId, wordsOf } from '../model/ids.ts'
import type { SentAs } from './receipts.ts'

/** Events by which it is learned that the gateway has what was sent before. */
const LEARNED: ReadonlySet<LeftEvent> = new Set(['accept', 'find'])

/** Events after which the gateway has the record. */
const WITH_GATEWAY: ReadonlySet<LeftEvent> = new Set(['accept', 'find', 'deliver'])

/**
 * @param events content hash → what has befallen the record
 * @param run that has brought it about; null for what a person or a look at the profile has decided
 * @param isOpen doubts that it does not settle
 */
export async function releaseDoubts(
  ledger: Pick<Ledger, 'left' | 'delivered'>,
  jobId: number,
  events: ReadonlyMap<string, LeftEvent>,
  run: string | null,
  isOpen: (doubt: DoubtRecord) => boolean = () => false,
): Promise<{ readonly ruling: Ruling; readonly sentAs: SentAs }> {
  const contents = [...events.keys()]
  const left = await ledger.left.inDoubtWith(jobId, contents)
  const sent = lastSent(left)
  const released = await ledger.left.heldWith(jobId, contents)
  const taken = released.filter(({ content }) => WITH_GATEWAY.has(events.get(content) ?? 'miss'))
  const byKey = Map.groupBy(taken, ({ rowKey }) => rowKey)
  const before = await ledger.delivered(jobId, [...byKey.keys()])
  const delivered: DeliveredRow[] = [...byKey].map(([rowKey, records]) => ({
    rowKey,
    records: records.reduce<readonly KeptSlot[]>(
      (slots, { rule, content }) => withStored(slots, rule, content),
      before.get(rowKey) ?? [],
    ),
  }))
  const learned = contents.filter((content) => LEARNED.has(events.get(content) ?? 'miss'))
  const found = await sentAs(ledger, jobId, learned, sent)
  // The doubt itself has sent nothing: the run that delivered the record has its receipt, also where a run that was given up sent it, too.
  for (const one of taken) {
    const isDelivered = before.get(one.rowKey)?.some((record) => isSame(record)(one)) === true
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
      // Of all runs that have sent it one counts it as accepted: that which has its receipt.
      return [{ exception: id, event: 'deliver', run: run ?? last.run }]
    }),
    released,
    delivered,
  }
  return { ruling, sentAs: found }
}

const isSame =
  (one: KeptSlot) =>
  ({ rule, content }: HeldRecord): boolean =>
    one.rule === rule && one.word.isStored && hasSameContent(one, wordsOf(content))

/** Of contents in doubt, the transaction ids under which they went out: another row, or another export, may have the same. */
export function sentIds(left: readonly LeftRecord[]): ReadonlyMap<string, string> {
  return new Map(
    [...lastSent(left)].flatMap(([content, { exportId, row, rule, batchId }]) =>
      batchId === null ? [] : [[content, transactionId(exportId, row, rule ?? '', content)] as const],
    ),
  )
}

/** By content: as it was sent last; as it was held, where nobody knows who has sent it. */
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
