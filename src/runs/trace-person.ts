/**
 * What became of all records of a person. No ledger knows which rows are a person's: the exports that are still there are read once more, by the
 * mappings that they were read by.
 */
import { loadMapping } from '../definitions/definition-files.ts'
import { fingerprint } from '../extract/content.ts'
import { openExport } from '../extract/open-export.ts'
import type { ExportRecord, Ledger } from '../ledger/ledger.ts'
import { WaybillError } from '../model/errors.ts'
import { keptMapping } from '../run/joined-exports.ts'
import { type Application, withKnownLedger } from './application.ts'
import { recordsOfRow, type TracedRow } from './trace-row.ts'

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
  const opened = await openExport(await fileOf(record), mapping.read)
  const mapper = mapping.compiled.bind(opened.columns, record.name, startedAt)
  for await (const block of opened.rows())
    for (const row of block) {
      const outcome = mapper(row)
      if (outcome.outcome === 'mapped' && outcome.account.reference === reference) yield outcome.row
    }
}

async function fileOf({ name, path, archived, sha256 }: ExportRecord): Promise<string> {
  for (const file of [path, archived].flatMap((one) => one ?? [])) {
    const found = await fingerprint(file).catch(() => undefined)
    if (found?.sha256 === sha256) return file
  }
  throw new WaybillError('export-gone', `${name} is not there any more, or has changed`)
}
