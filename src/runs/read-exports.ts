/** Exports of a job by night: rows, empty values by column, medians by rule. Medians are of many people, or absent. */
import type { ExportRecord, Ledger, RunRecord } from '../ledger/ledger.ts'
import { readCounts } from '../model/balance.ts'
import { iso } from '../system/shown-text.ts'
import { ExportProfile } from '../watch/export-profile.ts'
import { type Application, withLedgerIfAny } from './application.ts'

/** Exports to list of a job. */
export const EXPORTS_LISTED = 30

export interface NightExport {
  readonly run: string
  readonly startedAt: string
  readonly export: string
  readonly mapping: string | null
  readonly state: ExportRecord['state']
  readonly bytes: number
  readonly rows: { readonly read: number; readonly skipped: number; readonly rejected: number }
  /** Share of empty values by column, from 0 to 1. Absent for an export without a comparison with earlier exports, or after pruning. */
  readonly empty?: Readonly<Record<string, number>>
  /** Medians by rule, in the unit of the catalog. Absent as `empty`. */
  readonly medians?: Readonly<Record<string, number>>
}

const RUNS_LOOKED_AT = 60

/**
 * Reads the contents of whole exports of the job, newest first, each at the first reading among the latest runs.
 */
export const readExports = (
  application: Pick<Application, 'settings' | 'openLedger'>,
  job: string,
): Promise<readonly NightExport[]> =>
  withLedgerIfAny(application, async (ledger) => {
    if (ledger === undefined) return []
    const first = new Map<string, { readonly run: RunRecord; readonly record: ReadExport }>()
    for (const run of await ledger.runs.list(RUNS_LOOKED_AT, { job }))
      for (const record of (await ledger.exports.ofRun(run.id)).toReversed())
        if (record.reading === 'whole') {
          // Set anew, for the order of the first readings.
          first.delete(record.export_id)
          first.set(record.export_id, { run, record })
        }
    return Promise.all(
      [...first.values()].slice(0, EXPORTS_LISTED).map(({ run, record }) => nightExport(ledger, run, record)),
    )
  })

type ReadExport = ExportRecord & { readonly mapping: string | null }

async function nightExport(ledger: Ledger, run: RunRecord, record: ReadExport): Promise<NightExport> {
  const profile = (await ledger.profiles.ofRun(run.id)).get(record.id)
  return {
    run: run.id,
    startedAt: iso(run.started_at),
    export: record.name,
    mapping: record.mapping,
    state: record.state,
    bytes: record.bytes,
    rows: await rowsOf(ledger, record),
    ...(profile === undefined ? {} : valuesOf(ExportProfile.parse(JSON.parse(profile)))),
  }
}

async function rowsOf(ledger: Ledger, { id, totals }: ExportRecord): Promise<NightExport['rows']> {
  const texts =
    totals === null ? (await ledger.chunks.ofExport(id)).flatMap(({ counts }) => counts ?? []) : [totals]
  const rows = { read: 0, skipped: 0, rejected: 0 }
  for (const counted of texts.map((text) => readCounts(text).rows)) {
    rows.read += counted.read
    rows.skipped += counted.skipped
    rows.rejected += counted.rejected
  }
  return rows
}

function valuesOf({ columns, measured }: ExportProfile): Required<Pick<NightExport, 'empty' | 'medians'>> {
  return {
    empty: Object.fromEntries(
      columns.flatMap(({ name, values, empty }) => (values === 0 ? [] : [[name, empty / values]])),
    ),
    medians: Object.fromEntries(
      Object.entries(measured).flatMap(([rule, { quartiles }]) =>
        quartiles === undefined ? [] : [[rule, quartiles[1]]],
      ),
    ),
  }
}
