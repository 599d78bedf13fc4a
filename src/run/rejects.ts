/**
 * The rejects of a chunk as CSV: the row as it came, and behind it why it, or a record of it, did not get through.
 * It holds health data, so its file has mode 0600; nothing of it goes anywhere else. Spreadsheet programs take none of its cells for a formula.
 */
import { join } from 'node:path'
import type { ReadDefinition } from '../extract/read-definition.ts'
import type { ExportRecord } from '../ledger/ledger.ts'
import type { FollowUpFailure } from '../load/care-team-marks.ts'
import type { RowOutcome } from '../model/entry.ts'
import type { EntryOutcome } from '../model/outcome.ts'
import type { Issue } from '../model/record.ts'
import type { JsonValue, Row } from '../model/row.ts'
import { ownFileName } from '../own-files.ts'
import type { ChunkRow } from './chunks.ts'

/** Columns added behind those of the export. `_line` is where the row starts; `_raw` holds a row that has no columns. */
export const REJECT_COLUMNS = [
  '_export',
  '_exportId',
  '_row',
  '_line',
  '_rule',
  '_stage',
  '_code',
  '_reason',
  '_raw',
] as const

/** JSON rows have no columns: the line as it came stands in this one, and what `read.context` has read around it in the other. */
export const JSON_COLUMN = '_json'
export const CONTEXT_COLUMN = '_context'

/** The export that the rows stand in. */
export interface RejectsOrigin {
  readonly name: string
  readonly exportId: string
}

/** The columns in front, by what the export is. */
export function columnsInFront(
  columns: readonly string[] | undefined,
  read: ReadDefinition,
): readonly string[] {
  if (columns !== undefined) return columns
  return read.format === 'json' && read.context !== undefined ? [JSON_COLUMN, CONTEXT_COLUMN] : [JSON_COLUMN]
}

/** Why a row, or the record of a rule, did not get through. */
type Reject = readonly [rule: string, issue: Issue]

export interface ChunkTrouble {
  readonly outcomes: readonly EntryOutcome[]
  readonly followUpFailures: readonly FollowUpFailure[]
}

export function rejectsHeader(inFront: readonly string[]): string {
  return `${cellsOf([...inFront, ...REJECT_COLUMNS])}\n`
}

/** @param inFront see `columnsInFront` */
export function rejectsText(
  origin: RejectsOrigin,
  inFront: readonly string[],
  rows: readonly ChunkRow[],
  trouble: ChunkTrouble,
): string {
  // By the row itself, not by its number: of a rejects file several lines can be of one row.
  const byRow = new Map<RowOutcome, Reject[]>()
  const add = (row: RowOutcome, ...reject: Reject): void => {
    const known = byRow.get(row)
    if (known === undefined) byRow.set(row, [reject])
    else known.push(reject)
  }
  for (const { outcome } of rows) {
    if (outcome.outcome === 'rejected') add(outcome, '', outcome.issue)
    else if (outcome.outcome === 'mapped')
      for (const { rule, issue } of outcome.rejected) add(outcome, rule, issue)
  }
  for (const outcome of trouble.outcomes)
    if (outcome.outcome === 'rejected' || outcome.outcome === 'in-doubt')
      add(outcome.entry.row, outcome.entry.rule, outcome.reason)
  // Of a mark or a deletion the field is none of the export.
  for (const { entry, reason } of trouble.followUpFailures) {
    const { field: _field, ...issue } = reason
    add(entry.row, entry.rule, issue)
  }
  if (byRow.size === 0) return ''
  const context = rows.flatMap(({ source }) => (source.kind === 'json' ? (source.context ?? []) : [])).at(0)
  let text = ''
  for (const { source, outcome } of rows) {
    const rejects = byRow.get(outcome)
    if (rejects === undefined) continue
    const { cells, raw } = asItCame(source, inFront, context)
    const place = [origin.exportId, String(source.row), String(source.line)]
    const row = cellsOf([...cells, exportNameOf(source) ?? origin.name, ...place])
    for (const [rule, { stage, code, field, message }] of rejects)
      text += `${row},${cellsOf([rule, stage, code, field === undefined ? message : `${field}: ${message}`, raw])}\n`
  }
  return text
}

/** RFC 4180: what holds a comma, a quote or an end of line stands in quotes. */
const quoted = (cell: string): string => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)

const cellsOf = (cells: readonly string[]): string => cells.map((cell) => quoted(inert(cell))).join(',')

/**
 * The row's cells under the export's columns; a row that does not fit them goes into `_raw` as a whole.
 * @param context that of the export, for a row that could not be read
 */
function asItCame(
  row: Row,
  inFront: readonly string[],
  context: JsonValue | undefined,
): { cells: readonly string[]; raw: string } {
  if (inFront[0] === JSON_COLUMN) {
    const text = row.kind === 'cells' ? '' : row.text
    return { cells: inFront.length === 1 ? [text] : [text, JSON.stringify(context ?? null)], raw: '' }
  }
  if (row.kind === 'cells') return { cells: row.cells, raw: '' }
  return { cells: inFront.map(() => ''), raw: row.text }
}

export type RejectedLine = Row & {
  /** The rule whose record was rejected; undefined where the row was, as a whole. */
  readonly rule: string | undefined
  readonly exportName: string
}

export const ruleOf = (row: Row): string | undefined => (isRejectedLine(row) ? row.rule : undefined)

export const exportNameOf = (row: Row): string | undefined =>
  isRejectedLine(row) ? row.exportName : undefined

const isRejectedLine = (row: Row): row is RejectedLine => 'exportName' in row

const LIKE_FORMULA = /^'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/

/** As it is written. */
export const inert = (cell: string): string => (LIKE_FORMULA.test(cell) ? `'${cell}` : cell)

/** As it came. */
export const revived = (cell: string): string =>
  cell.startsWith("'") && LIKE_FORMULA.test(cell) ? cell.slice(1) : cell

/**
 * `<ordinal>-<export>.rejects.csv`, in the run's folder, as far as the name of the export may stand in that of a file; that of a rejects file
 * bears the name of the export that its rows came from.
 */
export function rejectsPath(
  context: { readonly rejectsFolder: string },
  { ordinal, name, reading }: Pick<ExportRecord, 'ordinal' | 'name' | 'reading'>,
): string {
  const stem = name.replace(/(\.csv|\.ndjson|\.json)?(\.gz)?$/i, '')
  const own = reading === 'rejects' ? stem.replace(/^\d+-(.+)\.rejects$/i, '$1') : stem
  return join(context.rejectsFolder, ownFileName(`${ordinal}-${own}`, '.rejects.csv'))
}
