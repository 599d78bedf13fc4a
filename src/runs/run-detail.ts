/** Detail of a run for pages: the story with its exports, its latest batches, and the rows of a reason, with values on demand. */
import { join } from 'node:path'
import type { BatchRecord, ChunkRecord, Ledger } from '../ledger/ledger.ts'
import { transactionId } from '../model/ids.ts'
import { type RejectedValues, rejectsPath, valuesOfRejects } from '../run/rejects.ts'
import { gatherDetails } from '../story/facts.ts'
import type { DetailedStory } from '../story/run-story.ts'
import { lookAt } from '../system/own-files.ts'
import { nameRun } from './amend-run.ts'
import { type Application, withKnownLedger } from './application.ts'
import { noteValuesSeen } from './audit.ts'
import { showRun } from './listed-runs.ts'
import type { Person } from './resolve.ts'

interface RunDetail {
  readonly facts: DetailedStory
  /** In the order of their begin. Empty once pruned. */
  readonly batches: readonly ShownBatch[]
}

export type ShownBatch = Omit<BatchRecord, 'holds' | 'place' | 'id' | 'export_row'>

/**
 * @param most batches to read: the latest
 * @throws `run-not-found`
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

/** Rows of a reason to list, and to list with their values. */
const ROWS_LISTED = 500
const ROWS_WITH_VALUES = 100

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

interface RowsOfReason {
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
 * @throws `run-not-found`
 */
export const rowsOfReason = (
  application: Application,
  name: string,
  code: string,
  most = ROWS_LISTED,
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

interface ValuesOfReason {
  readonly run: string
  readonly job: string
  readonly code: string
  readonly rows: readonly (Omit<RejectedValues, 'code'> & { readonly export: string })[]
  readonly hasMore: boolean
  /** Exports whose rejects file is gone. */
  readonly gone: readonly string[]
}

/**
 * Reads the rows of a reason from the rejects files of a run: health data. The audit has the look before anything is read.
 * @param most rows to return
 * @throws `run-not-found`; as `valuesOfRejects`
 */
export async function valuesOfReason(
  application: Application,
  name: string,
  code: string,
  person: Person,
  most = ROWS_WITH_VALUES,
): Promise<ValuesOfReason> {
  const { run, exports } = await withKnownLedger(application, async (ledger) => {
    const run = await nameRun(ledger, name)
    return { run, exports: await ledger.exports.ofRun(run.id) }
  })
  const about = { run: run.id, job: run.job, code }
  await noteValuesSeen(application, { run: run.id, job: run.job, subject: code }, person)
  const rejectsFolder = join(application.settings.home, run.rejects_path)
  const rows: (Omit<RejectedValues, 'code'> & { readonly export: string })[] = []
  const gone: string[] = []
  for (const record of exports) {
    const file = rejectsPath({ rejectsFolder }, record)
    if (lookAt(file) === undefined) {
      if (record.state === 'finished') gone.push(record.name)
      continue
    }
    for await (const { code: found, ...values } of valuesOfRejects(file)) {
      if (found !== code) continue
      if (rows.length === most) return { ...about, rows, hasMore: true, gone }
      rows.push({ export: record.name, ...values })
    }
  }
  return { ...about, rows, hasMore: false, gone }
}
