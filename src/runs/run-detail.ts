/** Detail of a run for pages: the story with its exports, its latest batches, and the rows behind a reason. */
import type { BatchRecord, ChunkRecord, Ledger } from '../ledger/ledger.ts'
import { transactionId } from '../model/ids.ts'
import { gatherDetails } from '../story/facts.ts'
import type { DetailedStory } from '../story/run-story.ts'
import { nameRun } from './amend-run.ts'
import { type Application, withKnownLedger } from './application.ts'
import { showRun } from './listed-runs.ts'

export interface RunDetail {
  readonly facts: DetailedStory
  /** In the order of their begin. Empty once pruned. */
  readonly batches: readonly ShownBatch[]
}

export type ShownBatch = Omit<BatchRecord, 'holds' | 'place' | 'id' | 'export_row'>

/**
 * @param most batches to read: the latest
 * @throws WaybillError `run-not-found`
 */
export async function detailOfRun(application: Application, name: string, most: number): Promise<RunDetail> {
  const shown = await showRun(application, name)
  const { settings, now, isDead } = application
  return withKnownLedger(application, async (ledger) => {
    const { run } = shown.summary
    const facts = await gatherDetails({ ledger, home: settings.home, now: now(), isDead }, run)
    const summary = { ...facts.summary, ...shown.summary }
    return { facts: { ...facts, summary }, batches: await latestBatches(ledger, run, most) }
  })
}

async function latestBatches(ledger: Ledger, run: string, most: number): Promise<ShownBatch[]> {
  const found: BatchRecord[] = []
  for (const { export_row: exportRow, number: chunk } of (await ledger.chunks.ofRun(run)).reverse()) {
    found.push(...(await ledger.chunks.batches({ exportRow, chunk })))
    if (found.length >= most) break
  }
  return found.sort((a, b) => a.begun_at - b.begun_at || a.id - b.id).slice(-most)
}

/** A row or record that a run left behind. Positions and codes, no values. */
export interface LeftRow {
  readonly export: string
  readonly row: number
  /** Line of the file; in a workbook, the row of the sheet. */
  readonly line: number
  /** Null for a row that was rejected as a whole. */
  readonly rule: string | null
  readonly code: string
  /** Outcome today: `settled` once a later run has delivered the record. */
  readonly state: string
  /** Absent if no record was made. */
  readonly transactionId?: string
}

export interface RowsOfReason {
  readonly run: string
  readonly job: string
  readonly code: string
  readonly rows: readonly LeftRow[]
  /** True if the run left more rows for this reason. */
  readonly hasMore: boolean
}

/**
 * Rows and records of a run with a reason, in the order of the exports.
 * @param most rows to return
 * @throws WaybillError `run-not-found`
 */
export const rowsOfReason = (
  application: Application,
  name: string,
  code: string,
  most: number,
): Promise<RowsOfReason> =>
  withKnownLedger(application, async (ledger) => {
    const { id, job } = await nameRun(ledger, name)
    const rows: LeftRow[] = []
    for (const { id: exportRow, name: exportName, export_id } of await ledger.exports.ofRun(id))
      for (const chunk of await ledger.chunks.ofExport(exportRow)) {
        for (const one of await exceptionsOf(ledger, chunk, code)) {
          const { row, line, rule, content, state } = one
          const made =
            rule === null || content === null
              ? {}
              : { transactionId: transactionId(export_id, row, rule, content) }
          rows.push({ export: exportName, row, line, rule, code, state, ...made })
        }
        if (rows.length > most) return { run: id, job, code, rows: rows.slice(0, most), hasMore: true }
      }
    return { run: id, job, code, rows, hasMore: false }
  })

const exceptionsOf = async (ledger: Ledger, { export_row, number }: ChunkRecord, code: string) =>
  (await ledger.chunks.exceptions({ exportRow: export_row, chunk: number })).filter(
    (one) => one.code === code,
  )
