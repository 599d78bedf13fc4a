/** Settles by read-back what a run has open or in doubt. Reads profiles; sends nothing. */

import type { ExceptionRecord, ExportRecord, LeftEvent } from '../ledger/ledger.ts'
import { type Held, unpackHolds } from '../ledger/packed-records.ts'
import { type Entry, sentUnder } from '../model/entry.ts'
import { receiptsOfSent } from '../run/receipts.ts'
import { isGivenUp, receiptsOfBatch, settlementOf, unansweredOf } from '../run/resume.ts'
import { type OpenRows, selectRows } from '../run/rows.ts'
import { releaseDoubts, sentIds } from '../run/settle-doubts.ts'
import type { RunAgain } from './run-again.ts'

/** Records that are judged together. */
const RECORDS_AT_ONCE = 500

export interface Reconciled {
  /** In doubt before: stored, so accepted. */
  found: number
  /** In doubt before: not stored, so rejected, and free to be sent. */
  missed: number
  /** Batches in flight of an interrupted run, of which every record is known now. */
  batches: number
}

/** @throws WaybillError `export-gone`, `gateway-unreachable` … */
export async function reconcileRun(again: RunAgain): Promise<Reconciled> {
  const reconciled: Reconciled = { found: 0, missed: 0, batches: 0 }
  for (const record of await again.ledger.exportsOf(again.run.id)) {
    reconciled.batches += await settleOpen(again, record)
    await settleDoubts(again, record, reconciled)
  }
  return reconciled
}

/**
 * Batches of open chunks whose answer never came. What is not stored is sent when the run goes on, or when it comes again; where a record
 * remains unknown the batch stays as it is.
 */
async function settleOpen(again: RunAgain, record: ExportRecord): Promise<number> {
  const { ledger, now } = again
  let settled = 0
  let rows: OpenRows | undefined
  for await (const { chunk, batches } of unansweredOf(ledger, record.id)) {
    const key = { exportRow: record.id, chunk: chunk.number }
    rows ??= await again.openRows(record)
    const entries = new Map<string, Entry>()
    for await (const ofRow of again.entriesOfChunk(record.export_id, rows, chunk))
      for (const entry of ofRow) entries.set(positionOf(heldOf(entry)), entry)
    for (const batch of batches) {
      const sent = unpackHolds(batch.holds).flatMap((held) => entries.get(positionOf(held)) ?? [])
      const verdicts = await again.readBack(sent)
      if (
        sent.length < batch.records ||
        [...verdicts.values()].some((one) => one === 'hidden' || one === 'unreadable')
      )
        continue
      const stored = sent.filter((entry) => verdicts.get(entry) === 'stored').map(heldOf)
      // Of a run that goes on, the chunk has its receipts once it is settled.
      const receipts = isGivenUp(again.run) ? receiptsOfBatch(record, batch, stored, 'read-back') : []
      const receipted = await again.receipt(receipts)
      await again.runLedger.settleBatch({ ...key, ...settlementOf(batch, stored), ...receipted, at: now() })
      settled += 1
    }
  }
  return settled
}

export const heldOf = ({ row, rule, content }: Entry): Held => ({
  row: row.row,
  rule,
  content,
})

/** Tells a record from the others of its chunk. */
export const positionOf = ({
  row,
  rule,
  content,
}: Pick<ExceptionRecord, 'row' | 'rule' | 'content'>): string => `${row}\n${rule}\n${content}`

async function settleDoubts(again: RunAgain, record: ExportRecord, reconciled: Reconciled): Promise<void> {
  const { ledger, now, run, runLedger } = again
  const places = (after: number, limit: number) =>
    ledger.left.rows({ exportRow: record.id, selection: 'in-doubt', runId: run.id }, after, limit)
  if ((await places(-1, 1)).length === 0) return
  const { opened, mapper } = await again.openAll(record)
  let open = new Map<string, Entry>()
  const judge = async (): Promise<void> => {
    const left = await ledger.left.inDoubtWith(run.job_id, [...open.keys()])
    const doubtful = new Set(left.map(({ content }) => content))
    const sent = sentIds(left)
    const entries = [...open.values()].flatMap((entry) =>
      doubtful.has(entry.content) ? [sentUnder(entry, sent.get(entry.content) ?? entry.transactionId)] : [],
    )
    open = new Map()
    const events = new Map<string, LeftEvent>()
    for (const [entry, verdict] of await again.readBack(entries)) {
      if (verdict === 'stored') events.set(entry.content, 'find')
      if (verdict === 'absent') events.set(entry.content, 'miss')
    }
    const { ruling, sentAs } = await releaseDoubts(ledger, run.job_id, events, null)
    const found = receiptsOfSent(sentAs, 'read-back')
    await runLedger.rule({ ...ruling, ...(await again.receipt(found)) }, now())
    const own = new Set(left.filter(({ exportRow }) => exportRow === record.id).map(({ id }) => id))
    for (const { exception, event } of ruling.decisions) {
      if (!own.has(exception)) continue
      if (event === 'miss') reconciled.missed += 1
      else reconciled.found += 1
    }
  }
  for await (const entries of again.entries(record.export_id, {
    opened: selectRows(opened, places),
    mapper,
  })) {
    for (const entry of entries) open.set(entry.content, entry)
    if (open.size >= RECORDS_AT_ONCE) await judge()
  }
  await judge()
}
