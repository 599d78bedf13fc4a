/**
 * What became of one row of an export: each record that was sent or rejected of it, with the id to follow it by. And of all rows of a person:
 * no ledger knows which those are, so the exports that are still there are read once more, by the mappings that they were read by.
 */
import { loadMapping } from '../definitions/definition-files.ts'
import { openExport } from '../extract/open-export.ts'
import type { ExceptionRecord, ExportRecord, Ledger } from '../ledger/ledger.ts'
import { unpackHolds } from '../ledger/packed-records.ts'
import { WaybillError } from '../model/errors.ts'
import { transactionId } from '../model/ids.ts'
import { keptMapping } from '../run/joined-exports.ts'
import { present } from '../shown-text.ts'
import { type Application, withKnownLedger } from './application.ts'
import { fileOf, outcomeOf, type TracedRun, traceRun } from './trace.ts'

export interface TracedRow {
  readonly export: string
  readonly exportId: string
  readonly row: number
  /** As the latest run that sent or rejected them has left them. */
  readonly records: readonly TracedRecord[]
}

export interface TracedRecord extends Pick<TracedRun, 'run' | 'outcome' | 'reason'> {
  /** Null of a row that was rejected as a whole. */
  readonly rule: string | null
  /** Not there where no record could be made. */
  readonly transactionId?: string
}

/**
 * @param name of the export, as it was delivered: the latest of that name
 * @throws WaybillError `transaction-not-found`
 */
export async function traceRow(ledger: Ledger, name: string, row: number): Promise<TracedRow> {
  const [latest] = await ledger.exportsNamed(name)
  if (latest === undefined)
    throw new WaybillError('transaction-not-found', `this ledger knows no export ${name}`, {
      remedy: 'Give its name as `waybill show` has it, and the row behind a colon: acme_20260302.csv:17.',
    })
  const traced = await recordsOfRow(ledger, latest, row)
  if (traced.records.length > 0) return traced
  throw new WaybillError(
    'transaction-not-found',
    `no run has sent or rejected anything of row ${row} of ${name}`,
    {
      remedy:
        'The row may have been skipped, or delivered before from another export; or its run was pruned.',
    },
  )
}

/** As all runs that have read the export have left them. */
export async function recordsOfRow(
  ledger: Ledger,
  { name, export_id: exportId }: Pick<ExportRecord, 'name' | 'export_id'>,
  row: number,
): Promise<TracedRow> {
  const records = new Map<string, TracedRecord>()
  for (const record of await ledger.exportsWithContent(exportId))
    for (const { key, ...one } of await recordsOf(ledger, record, row))
      if (!records.has(key)) records.set(key, one)
  return { export: name, exportId, row, records: [...records.values()] }
}

/** What one reading of the export has sent or rejected of the row. */
async function recordsOf(
  ledger: Ledger,
  record: ExportRecord,
  row: number,
): Promise<(TracedRecord & { readonly key: string })[]> {
  const found: (TracedRecord & { readonly key: string })[] = []
  for (const chunk of await ledger.chunksOf(record.id)) {
    const { first_row: first, rows, number } = chunk
    if (record.reading === 'whole' && (row < first || row >= first + rows)) continue
    const at = { exportRow: record.id, chunk: number }
    const exceptions = (await ledger.exceptionsOf(at)).filter(
      (one) => one.row === row && one.state !== 'warning',
    )
    const held = (await ledger.batchesOf(at)).flatMap(({ holds }) =>
      unpackHolds(holds).filter((one) => one.row === row),
    )
    const made = [...held, ...exceptions.flatMap(madeOf)]
    for (const { rule, content } of made) {
      const { run, outcome, reason } = await traceRun(ledger, record, chunk, { row, rule, content })
      const id = transactionId(record.export_id, row, rule, content)
      found.push({ key: id, rule, transactionId: id, run, outcome, ...present({ reason }) })
    }
    for (const exception of exceptions) {
      const { rule, content, stage, code, message } = exception
      const outcome = outcomeOf(exception)
      if (content !== null || outcome === undefined) continue
      found.push({ key: `${rule}`, rule, run: record.run_id, outcome, reason: { stage, code, message } })
    }
  }
  return found
}

const madeOf = ({ rule, content }: ExceptionRecord): { rule: string; content: string }[] =>
  rule === null || content === null ? [] : [{ rule, content }]

/** Runs whose exports are looked through, the newest first. */
const RUNS_LOOKED_AT = 1_000

export interface TracedPerson {
  /** Newest export first. */
  readonly rows: readonly TracedRow[]
  /** Exports that could not be looked through. */
  readonly unread: readonly { readonly export: string; readonly why: string }[]
}

/**
 * @param reference as the exports name the person; nothing keeps it
 * @throws WaybillError `ledger-not-found`
 */
export const tracePerson = (application: Application, reference: string): Promise<TracedPerson> =>
  withKnownLedger(application, async (ledger) => {
    const rows: TracedRow[] = []
    const unread: { export: string; why: string }[] = []
    const seen = new Set<string>()
    for (const run of await ledger.runs(RUNS_LOOKED_AT))
      for (const record of (await ledger.exportsOf(run.id)).toReversed()) {
        if (record.reading !== 'whole' || seen.has(record.export_id)) continue
        seen.add(record.export_id)
        try {
          for await (const row of rowsOf(ledger, record, reference, run.started_at)) {
            const traced = await recordsOfRow(ledger, record, row)
            if (traced.records.length > 0) rows.push(traced)
          }
        } catch (error) {
          if (!(error instanceof WaybillError)) throw error
          unread.push({ export: record.name, why: error.message })
        }
      }
    return { rows, unread }
  })

/** Numbers of the person's rows. @throws WaybillError where the file is gone, or cannot be read */
async function* rowsOf(
  ledger: Ledger,
  record: ExportRecord,
  reference: string,
  startedAt: number,
): AsyncGenerator<number> {
  const mapping = loadMapping(await keptMapping(ledger, record))
  const file = await fileOf(record)
  if (file === undefined)
    throw new WaybillError('export-gone', `${record.name} is not there any more, or has changed`)
  const opened = await openExport(file, mapping.read)
  const mapper = mapping.compiled.bind(opened.columns, record.name, startedAt)
  for await (const block of opened.rows())
    for (const row of block) {
      const outcome = mapper(row)
      if (outcome.outcome === 'mapped' && outcome.account.reference === reference) yield outcome.row
    }
}
