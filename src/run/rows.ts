/** Opens the rows of an export as its run reads them: all rows, rows left behind by another run, or a rejects file. */
import type { LoadedMapping } from '../definitions/definition-files.ts'
import type { ContentLimits } from '../extract/content.ts'
import { type OpenExport, openExport } from '../extract/open-export.ts'
import type { ExportRecord, Ledger, LeftRow, Reading, RunLedger, RunOrigin } from '../ledger/ledger.ts'
import type { Counts } from '../model/balance.ts'
import { WaybillError } from '../model/errors.ts'
import type { Identity } from '../model/ids.ts'
import type { Origin, Row } from '../model/row.ts'
import type { RowMapper } from '../transform/compile.ts'
import { openRejects } from './rejects.ts'

export interface OpenRows {
  readonly opened: OpenExport
  readonly mapper: RowMapper
}

/** Export of a run, ready to be read. */
export interface ExportAtHand extends ExportRecord {
  /** Path of the file to read: a private copy if the export was fetched or unpacked. */
  readonly path: string
  /** Version of the file when its SHA-256 was taken (`versionOf`): no other version is read. */
  readonly version: string
}

export interface OpeningContext {
  readonly ledger: Pick<Ledger, 'exports' | 'left'>
  readonly runLedger: Pick<RunLedger, 'lease'>
  readonly identity: Identity
  /** Start of the run, used as the time for mapping. */
  readonly startedAt: number
  readonly origin: Pick<RunOrigin, 'selection'> | undefined
}

/** @throws WaybillError as `openExport`, and `columns-missing` */
export async function openRows(
  context: OpeningContext,
  record: ExportAtHand,
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

/** All rows of the file behind an export. @param startedAt time for mapping */
export async function openAll(
  ledger: Pick<Ledger, 'exports'>,
  record: ExportAtHand,
  mapping: LoadedMapping,
  limits: ContentLimits,
  startedAt: number,
): Promise<OpenRows> {
  const { path: file, name, version } = record
  return openReading(await readingOf(ledger, record), { file, name, version }, mapping, limits, startedAt)
}

export async function openReading(
  reading: Exclude<Reading, 'selected'>,
  { file, name, version }: { file: string; name: string; version: string },
  mapping: LoadedMapping,
  limits: ContentLimits,
  startedAt: number,
): Promise<OpenRows> {
  const bind = ({ columns, below }: OpenExport): RowMapper =>
    mapping.compiled.bind(columns, name, startedAt, below)
  if (reading === 'whole') {
    const opened = await openExport(file, mapping.read, limits, version)
    return { opened, mapper: bind(opened) }
  }
  const { opened, onlyTheirRules } = await openRejects(file, mapping.read, limits, version)
  return { opened, mapper: onlyTheirRules(bind(opened)) }
}

/** Checks, after the last row, that the file is unchanged and has rows. @throws WaybillError `export-changed`, `export-empty` */
export async function assertReadWhole(
  opened: OpenExport,
  { name, path }: Pick<ExportAtHand, 'name' | 'path'>,
  { rows }: Pick<Counts, 'rows'>,
): Promise<void> {
  await opened.assertUnchanged()
  if (rows.read > 0) return
  throw new WaybillError('export-empty', `${name} has a header and no rows`, { place: { file: path } })
}

/** Reading of the original file: selected rows come from a file read as a whole, or as a rejects file. */
async function readingOf(
  ledger: Pick<Ledger, 'exports'>,
  record: ExportRecord,
): Promise<Exclude<Reading, 'selected'>> {
  let from: ExportRecord | undefined = record
  while (from?.reading === 'selected' && from.origin_export !== null)
    from = await ledger.exports.find(from.origin_export)
  return from?.reading === 'rejects' ? 'rejects' : 'whole'
}

/** Places held in memory. */
const PLACES_AT_ONCE = 500
/** Distance in bytes beyond which reading restarts at the next row; up to this distance, reading on is quicker. */
const NEAR_BYTES = 256 * 1024

/** @param places rows behind an offset, in order, up to a limit */
export function selectRows(
  opened: OpenExport,
  places: (after: number, limit: number) => Promise<readonly LeftRow[]>,
): OpenExport {
  return {
    ...opened,
    rows: (from) => readSelected(opened, createPlaces(places, from)),
    controlTotal: async () => undefined,
  }
}

interface Places {
  next(): Promise<LeftRow | undefined>
}

function createPlaces(
  places: (after: number, limit: number) => Promise<readonly LeftRow[]>,
  from: Origin | undefined,
): Places {
  let page: readonly LeftRow[] = []
  let at = 0
  let after = from === undefined ? -1 : from.byteOffset - 1
  return {
    async next() {
      if (at === page.length) {
        page = await places(after, PLACES_AT_ONCE)
        at = 0
      }
      const place = page[at++]
      if (place !== undefined) after = place.byteOffset
      return place
    },
  }
}

async function* readSelected(opened: OpenExport, places: Places): AsyncGenerator<readonly Row[]> {
  let wanted = await places.next()
  while (wanted !== undefined) {
    const begun: LeftRow = wanted
    for await (const block of opened.rows(begun)) {
      const found: Row[] = []
      for (const row of block) {
        if (row.byteOffset !== wanted?.byteOffset) continue
        found.push(row)
        wanted = await places.next()
      }
      if (found.length > 0) yield found
      const last = block.at(-1)?.byteOffset ?? 0
      if (wanted === undefined || (opened.seekable && wanted.byteOffset - last > NEAR_BYTES)) break
    }
    if (wanted === begun)
      throw new WaybillError('export-changed', `there is no row ${begun.row} where the ledger has it`)
  }
}

/** Keeps only the records with these contents of each row. */
function keepContents(mapper: RowMapper, identity: Identity, contents: ReadonlySet<string>): RowMapper {
  return (row) => {
    const outcome = mapper(row)
    if (outcome.outcome !== 'mapped') return outcome
    const records = outcome.records.filter((record) => contents.has(identity.content(record)))
    return { ...outcome, records, rejected: [], warnings: [] }
  }
}
