/** Records sent by the open chunks of a run: the ledger learns of these when the run is given up, without the file. */
import type {
  DeliveredRow,
  ExportRecord,
  HeldRecord,
  Ledger,
  LeftEvent,
  RunEnd,
  RunRecord,
  SentRecord,
} from '../ledger/ledger.ts'
import { unpackHolds } from '../ledger/packed-records.ts'
import type { Place } from '../load/decide.ts'
import { learnKept, placeOf } from '../load/kept-slots.ts'
import type { SlotEvent } from '../load/learn.ts'
import { FINAL } from '../model/entry.ts'
import type { Receipt } from './receipts.ts'
import { receiptsOfBatch } from './resume.ts'
import { releaseDoubts } from './settle-doubts.ts'

type Reading = Pick<Ledger, 'exports' | 'chunks' | 'slots' | 'left'>

interface Sent extends Omit<HeldRecord, 'series'> {
  /** Place without a time of issue, which no intent holds. */
  readonly place: Pick<Place, 'arrival' | 'row' | 'rank'>
  readonly isTaken: boolean
}

interface SentOfExport {
  /** Receipts of accepted records: no settlement of these chunks will write them. */
  readonly receipts: Receipt[]
  readonly sent: Sent[]
  /** Records never answered, or in doubt. */
  readonly doubts: Omit<SentRecord, 'exportRow'>[]
}

export async function leftByGivingUp(
  ledger: Reading,
  { id, job_id: jobId }: RunRecord,
): Promise<{ receipts: readonly Receipt[]; left: NonNullable<RunEnd['left']> }> {
  const ofExports: (SentOfExport & { exportRow: number })[] = []
  for (const record of await ledger.exports.ofRun(id))
    ofExports.push({ exportRow: record.id, ...(await sentOf(ledger, jobId, record)) })
  const byKey = Map.groupBy(
    ofExports.flatMap(({ sent }) => sent),
    ({ rowKey }) => rowKey,
  )
  const orders = await ledger.exports.orders(jobId)
  const before = await ledger.slots.delivered(jobId, [...byKey.keys()])
  const held = await ledger.slots.held(jobId, [...byKey.keys()])
  const ended = new Map<string, LeftEvent>()
  const delivered = [...byKey].map(([rowKey, ofRow]): DeliveredRow => {
    const events = ofRow.flatMap(({ rule, content, place, isTaken }): [string, SlotEvent][] => {
      const word = { content, place: placeOf(orders, { ...place, issued: 0 }) }
      if (isTaken) ended.set(content, 'deliver')
      return [
        [rule, { what: 'exported', incoming: { ...word, isLate: true, isRenewed: true } }],
        [rule, { what: isTaken ? 'accepted before' : 'sending', content }],
      ]
    })
    const known = { kept: before.get(rowKey) ?? [], held: held.get(rowKey) ?? [] }
    const learned = learnKept(known, events, (word) => placeOf(orders, word))
    for (const [content, event] of learned.ended) ended.set(content, event)
    return { rowKey, records: learned.records }
  })
  const { ruling } = await releaseDoubts(ledger, jobId, ended, id)
  return {
    receipts: ofExports.flatMap(({ receipts }) => receipts),
    left: {
      ruling: { ...ruling, delivered },
      sent: ofExports.flatMap(({ exportRow, doubts }) => doubts.map((one) => ({ ...one, exportRow }))),
    },
  }
}

async function sentOf(ledger: Reading, jobId: number, record: ExportRecord): Promise<SentOfExport> {
  const found: SentOfExport = { receipts: [], sent: [], doubts: [] }
  const open = (await ledger.chunks.ofExport(record.id)).filter(({ state }) => state === 'open')
  if (open.length === 0) return found
  const arrival = await ledger.exports.arrivalOf(jobId, record)
  const rows = new Map<string, number>()
  for (const { number: chunk } of open) {
    const key = { exportRow: record.id, chunk }
    for (const batch of await ledger.chunks.batches(key)) {
      const { state, kind, answer } = batch
      const isTaken = state === 'settled'
      // No profile shows a test: the gateway knows its progress.
      if (!isTaken && (state !== 'sending' || kind === 'assessment')) continue
      const holds = unpackHolds(batch.holds)
      if (isTaken) {
        const learnedFrom = answer === 'ambiguous' ? 'read-back' : undefined
        found.receipts.push(...receiptsOfBatch(record, batch, holds, learnedFrom))
      }
      for (const { row, content, slot } of holds) {
        if (slot === undefined) continue
        const { rowKey, rule, rank } = slot
        found.sent.push({ rowKey, rule, content, place: { arrival, row, rank }, isTaken })
        // Further work follows from a care-team entry, and is still to be done: the list is read for it.
        if (!isTaken || kind === 'careTeam')
          found.doubts.push({ rowKey, rule, content, series: null, isTaken })
      }
    }
    for (const { state, row, content } of await ledger.chunks.exceptions(key))
      if (state === 'in-doubt' && content !== null) rows.set(content, row)
  }
  for (const { sentUntil: _, ...doubt } of await ledger.left.heldWith(jobId, [...rows.keys()])) {
    const { rowKey, rule, content } = doubt
    const place = { arrival, row: rows.get(content) ?? 0, rank: FINAL }
    found.sent.push({ rowKey, rule, content, place, isTaken: false })
    found.doubts.push({ ...doubt, isTaken: false })
  }
  return found
}
