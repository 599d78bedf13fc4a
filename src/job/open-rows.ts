/** Opens the rows of an export as its run reads them: all of it, those that another run left behind, or a rejects file. */
import type { ContentLimits } from '../extract/content-limits.ts'
import { type OpenExport, openExport } from '../extract/open-export.ts'
import type { ExportRecord, Ledger, Reading, RunLedger, RunOrigin } from '../ledger/ledger.ts'
import type { Identity } from '../load/identity.ts'
import type { RowMapper } from '../transform/compile.ts'
import type { LoadedMapping } from './definition-files.ts'
import { openRejects } from './rejects-export.ts'
import { keepContents, selectRows } from './selected-rows.ts'

export interface OpenRows {
  readonly opened: OpenExport
  readonly mapper: RowMapper
}

export interface OpeningContext {
  readonly ledger: Ledger
  readonly runLedger: Pick<RunLedger, 'lease'>
  readonly identity: Identity
  /** When the run began: what it maps by. */
  readonly startedAt: number
  readonly origin: Pick<RunOrigin, 'selection'> | undefined
}

/**
 * @param record its path is that of the file to read
 * @throws WaybillError as `openExport`, and `columns-missing`
 */
export async function openRows(
  context: OpeningContext,
  record: ExportRecord,
  mapping: LoadedMapping,
  limits: ContentLimits,
): Promise<OpenRows> {
  const { ledger, identity, origin } = context
  const all = await openAll(ledger, record, mapping, limits, context.startedAt)
  const { origin_export: exportRow } = record
  if (exportRow === null || origin === undefined) return all
  const { runId } = context.runLedger.lease
  const { selection } = origin
  const opened = selectRows(all.opened, (after, limit) =>
    ledger.left.rows({ exportRow, selection, runId }, after, limit),
  )
  if (selection !== 'decided') return { opened, mapper: all.mapper }
  const decided = await ledger.left.decidedContents(exportRow, runId)
  return { opened, mapper: keepContents(all.mapper, identity, decided) }
}

/** All rows of the file that an export's rows stand in. @param startedAt the time to map by */
export async function openAll(
  ledger: Pick<Ledger, 'exportRecord'>,
  record: ExportRecord,
  mapping: LoadedMapping,
  limits: ContentLimits,
  startedAt: number,
): Promise<OpenRows> {
  const { path: file, name } = record
  return openReading(await readingOf(ledger, record), { file, name }, mapping, limits, startedAt)
}

export async function openReading(
  reading: Exclude<Reading, 'selected'>,
  { file, name }: { readonly file: string; readonly name: string },
  mapping: LoadedMapping,
  limits: ContentLimits,
  startedAt: number,
): Promise<OpenRows> {
  const bind = (opened: OpenExport): RowMapper => mapping.compiled.bind(opened.columns, name, startedAt)
  if (reading === 'whole') {
    const opened = await openExport(file, mapping.read, limits)
    return { opened, mapper: bind(opened) }
  }
  const { opened, onlyTheirRules } = await openRejects(file, mapping.read, limits)
  return { opened, mapper: onlyTheirRules(bind(opened)) }
}

/** Selected rows are those of a file that was read as a whole, or as a rejects file. */
async function readingOf(
  ledger: Pick<Ledger, 'exportRecord'>,
  record: ExportRecord,
): Promise<Exclude<Reading, 'selected'>> {
  let from: ExportRecord | undefined = record
  while (from?.reading === 'selected' && from.origin_export !== null)
    from = await ledger.exportRecord(from.origin_export)
  return from?.reading === 'rejects' ? 'rejects' : 'whole'
}
