/**
 * Rejects of a chunk as CSV: the original row, then the reason why the row, or one of its records, did not get through. The file holds health data:
 * mode 0600, and nothing of it goes anywhere else. Spreadsheet programs take no cell for a formula.
 *
 * A corrected rejects file is read as an export. The rows keep their place in the original export, and so their ids. The format is RFC 4180 in UTF-8
 * with a header, whatever the original format. A spreadsheet program may have added its own delimiter and a byte order mark.
 */
import { join } from 'node:path'
import type { ContentLimits } from '../extract/content.ts'
import { readMessage } from '../extract/hl7v2-message.ts'
import { NO_ROW, rowIn } from '../extract/json-path.ts'
import { type OpenExport, openExport, readRecords } from '../extract/open-export.ts'
import { readJson } from '../extract/open-json.ts'
import { csvDefinition, type ReadDefinition } from '../extract/read-definition.ts'
import type { ExportRecord } from '../ledger/ledger.ts'
import type { FollowUpFailure } from '../load/care-team-work.ts'
import { WaybillError } from '../model/errors.ts'
import type { EntryOutcome } from '../model/outcome.ts'
import type { Issue } from '../model/record.ts'
import { type CsvRow, isTable, type JsonValue, type Origin, type Row, type RowFault } from '../model/row.ts'
import { csvCells, revived } from '../system/csv-text.ts'
import { ownFileName } from '../system/own-files.ts'
import type { RowMapper } from '../transform/compile.ts'
import type { ChunkRow } from './chunks.ts'

/** Columns added after the columns of the export. `_line`: line where the row starts; `_raw`: a row without columns. */
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

/** In front of `_row`: a program that reads cells as numbers loses the zero, and those of ids. */
const KEPT_ZERO = '0'

/** Columns for JSON rows: the original line, and the content read around the line by `read.context`. */
const JSON_COLUMN = '_json'
const CONTEXT_COLUMN = '_context'

/** Export that the rows come from. */
export interface RejectsOrigin {
  readonly name: string
  readonly exportId: string
}

/** Columns in front, by the format of the export. */
export function columnsInFront(
  columns: readonly string[] | undefined,
  read: ReadDefinition,
): readonly string[] {
  if (columns !== undefined) return columns
  return read.format === 'json' && read.context !== undefined ? [JSON_COLUMN, CONTEXT_COLUMN] : [JSON_COLUMN]
}

/** Reason why a row, or the record of a rule, did not get through. */
type Reject = readonly [rule: string, issue: Issue]

interface ChunkTrouble {
  readonly outcomes: readonly EntryOutcome[]
  readonly followUpFailures: readonly FollowUpFailure[]
}

export function rejectsHeader(inFront: readonly string[]): string {
  return `${csvCells([...inFront, ...REJECT_COLUMNS])}\n`
}

/** @param inFront see `columnsInFront` */
export function rejectsText(
  origin: RejectsOrigin,
  inFront: readonly string[],
  rows: readonly ChunkRow[],
  trouble: ChunkTrouble,
): string {
  // Keyed by the row, not by its number: several lines of a rejects file can belong to one row.
  const byRow = new Map<Row, Reject[]>()
  const add = (row: Row, ...reject: Reject): void => {
    const known = byRow.get(row)
    if (known === undefined) byRow.set(row, [reject])
    else known.push(reject)
  }
  for (const { source, outcome } of rows) {
    if (outcome.outcome === 'rejected') add(source, '', outcome.issue)
    else if (outcome.outcome === 'mapped')
      for (const { rule, issue, sentAs } of outcome.rejected)
        add(
          source,
          rule,
          sentAs === undefined ? issue : { ...issue, message: `${issue.message} (${sentAs})` },
        )
  }
  for (const outcome of trouble.outcomes)
    if (outcome.outcome === 'rejected' || outcome.outcome === 'in-doubt')
      add(outcome.entry.row.source, outcome.entry.rule, outcome.reason)
  // The field of a mark or a deletion is not part of the export.
  for (const { entry, reason } of trouble.followUpFailures) {
    const { field: _field, ...issue } = reason
    add(entry.row.source, entry.rule, issue)
  }
  if (byRow.size === 0) return ''
  const context = rows.flatMap(({ source }) => (source.kind === 'json' ? (source.context ?? []) : [])).at(0)
  let text = ''
  for (const { source } of rows) {
    const rejects = byRow.get(source)
    if (rejects === undefined) continue
    const { cells, raw } = asItCame(source, inFront, context)
    const place = [origin.exportId, `${KEPT_ZERO}${source.row}`, String(source.line)]
    const row = csvCells([...cells, exportNameOf(source) ?? origin.name, ...place])
    for (const [rule, { stage, code, field, message }] of rejects)
      text += `${row},${csvCells([rule, stage, code, field === undefined ? message : `${field}: ${message}`, raw])}\n`
  }
  return text
}

/**
 * Cells of the row under the columns of the export. A row that does not fit the columns goes into `_raw` as a whole.
 * @param context of the export, for a row that could not be read
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

type RejectedLine = Row & {
  /** Rule of the rejected record; undefined if the whole row was rejected. */
  readonly rule: string | undefined
  readonly exportName: string
}

export const ruleOf = (row: Row): string | undefined => (isRejectedLine(row) ? row.rule : undefined)

const exportNameOf = (row: Row): string | undefined => (isRejectedLine(row) ? row.exportName : undefined)

const isRejectedLine = (row: Row): row is RejectedLine => 'exportName' in row

/**
 * `<ordinal>-<export>.rejects.csv` in the folder of the run, with the name of the export as far as a file name allows. A rejects file that was read
 * as an export gives the name of the original export.
 * @param part words about the part of the export, in the file of a part
 */
export function rejectsPath(
  context: { rejectsFolder: string },
  { ordinal, name, reading }: Pick<ExportRecord, 'ordinal' | 'name' | 'reading'>,
  part = '',
): string {
  const stem = name.replace(/(\.csv|\.ndjson|\.json|\.xls[xm])?(\.gz)?$/i, '')
  const own = reading === 'rejects' ? stem.replace(/^\d+-(.+)\.rejects$/i, '$1') : stem
  return join(context.rejectsFolder, ownFileName(`${ordinal}-${own}`, `${part}.rejects.csv`))
}

/** Dialects of a rejects file. A wrong encoding is recognised too, so that the file does not pass for a vendor's export. */
const DIALECTS = (['utf-8', 'windows-1252'] as const).flatMap((encoding) =>
  [',', ';', '\t'].map((delimiter) => csvDefinition.parse({ format: 'csv', encoding, delimiter })),
)

/**
 * Original export of the rows in a rejects file; undefined for any other file, judged by its columns. Reads to the end: a line broken by the
 * correction is found before anything is sent.
 * @throws WaybillError `export-unreadable` (a line, or the columns, broken by the correction)
 */
export async function rejectsOrigin(file: string): Promise<RejectsOrigin | undefined> {
  const opened = await openAsRejects(file)
  if (opened === undefined) return undefined
  let origin: RejectsOrigin | undefined
  for await (const block of opened.rows()) {
    for (const row of block) {
      const { exportName: name, exportId } = noteOf(file, row)
      if (origin !== undefined && origin.exportId !== exportId)
        throw unusable(file, row, 'its rows came from several exports: make a file for the rows of each')
      origin = { name, exportId }
    }
  }
  return origin
}

/** Opens the file in the first dialect that shows the columns of a rejects file; undefined if none does. */
async function openAsRejects(
  file: string,
  limits?: ContentLimits,
  version?: string,
): Promise<OpenExport | undefined> {
  for (const dialect of DIALECTS) {
    const opened = await openExport(file, dialect, limits, version).catch((error: unknown) => {
      // A file with any of these errors is no rejects file.
      if (error instanceof WaybillError && error.code !== 'files-exhausted') return undefined
      throw error
    })
    const columns = opened?.columns ?? []
    if (endsWithRejectColumns(columns) && dialect.encoding !== 'utf-8')
      throw unusable(file, { line: 1 }, ...NOT_UTF_8)
    if (endsWithRejectColumns(columns)) return opened
    if (OWN_COLUMNS.every((name) => columns.includes(name))) {
      const message = `the rejects file cannot be read: its last columns are not ${REJECT_COLUMNS.join(', ')}`
      const remedy = 'Restore these columns in this order, unchanged.'
      throw new WaybillError('export-unreadable', message, { place: { file, line: 1 }, remedy })
    }
  }
  return undefined
}

/** Columns of no vendor's export. */
const OWN_COLUMNS = ['_exportId', '_row', '_line'] as const

function endsWithRejectColumns(columns: readonly string[]): boolean {
  return REJECT_COLUMNS.every((name, at) => columns[columns.length - REJECT_COLUMNS.length + at] === name)
}

export interface RejectedValues {
  readonly row: number
  /** Undefined for a row that was rejected as a whole. */
  readonly rule: string | undefined
  readonly code: string
  /** Column and cell as in the export, without empty cells; a row that does not fit the columns, as one text. */
  readonly values: readonly (readonly [column: string, cell: string])[]
}

/**
 * Reads the lines of a rejects file: health data.
 * @throws WaybillError `export-changed` for a file that is none, `export-unreadable`
 */
export async function* valuesOfRejects(file: string): AsyncGenerator<RejectedValues> {
  const opened = await openAsRejects(file)
  if (opened === undefined) throw notAsItWas(file)
  const columns = opened.columns?.slice(0, -REJECT_COLUMNS.length) ?? []
  for await (const block of opened.rows())
    for (const line of block) {
      const { cells, origin, rule, code, raw } = noteOf(file, line)
      const values = columns.flatMap((column, at) => {
        const cell = cells[at] ?? ''
        return cell === '' ? [] : [[revived(column), cell] as const]
      })
      yield { row: origin.row, rule, code, values: raw === '' ? values : [...values, ['_raw', raw]] }
    }
}

interface OpenRejects {
  readonly opened: OpenExport
  /** Limits each line to the rejected record; records of the row that need no correction are left out. */
  onlyTheirRules(mapper: RowMapper): RowMapper
}

/** @param read of the mapping: decides whether the rows are JSON, not the format of this file */
export async function openRejects(
  file: string,
  read: ReadDefinition,
  limits: ContentLimits,
  version?: string,
): Promise<OpenRejects> {
  const lines = await openAsRejects(file, limits, version)
  if (lines === undefined) throw notAsItWas(file)
  return rejectsOf(file, read, lines)
}

const notAsItWas = (file: string): WaybillError =>
  new WaybillError('export-changed', 'The rejects file has lost its columns.', { place: { file } })

function rejectsOf(file: string, read: ReadDefinition, lines: OpenExport): OpenRejects {
  const columns = lines.columns?.slice(0, -REJECT_COLUMNS.length).map(revived) ?? []
  const toRow = isTable(read.format) ? csvRow : jsonRow(columns, read)
  async function* rows(from?: Origin): AsyncGenerator<readonly Row[]> {
    for await (const block of lines.rows(from)) yield block.map((line) => toRow(noteOf(file, line)))
  }
  const { columns: _all, ...rest } = lines
  const opened = { ...rest, rows, controlTotal: async () => undefined }
  return {
    opened: isTable(read.format) ? { ...opened, columns } : opened,
    onlyTheirRules: (mapper) => (row) => {
      const outcome = mapper(row)
      const rule = ruleOf(row)
      if (rule === undefined || outcome.outcome !== 'mapped') return outcome
      const records = outcome.records.filter((one) => one.rule === rule)
      const rejected = outcome.rejected.filter((one) => one.rule === rule)
      // A corrected code can move the record to another rule. Then all records are taken, and delivered records are recognised.
      return records.length + rejected.length === 0 ? outcome : { ...outcome, records, rejected }
    },
  }
}

const NOT_UTF_8 = ['the line is not UTF-8', 'Save it as "CSV UTF-8" where it was corrected.'] as const

const READ_AS_NUMBERS = [
  '_row has lost its zero: a program has read the cells as numbers and dates',
  'Correct the rejects file of the run again; import every column as text.',
] as const

/** Parsed line of the file. */
interface Note {
  readonly cells: readonly string[]
  readonly origin: Origin
  readonly exportName: string
  readonly exportId: string
  readonly rule: string | undefined
  readonly code: string
  readonly raw: string
}

function noteOf(file: string, line: Row): Note {
  if (line.kind === 'unreadable' && line.fault === 'row-encoding-invalid')
    throw unusable(file, line, ...NOT_UTF_8)
  if (line.kind !== 'cells') throw unusable(file, line, line.kind === 'json' ? 'it is JSON' : line.message)
  const all = line.cells.map(revived)
  const [exportName = '', exportId = '', row = '', at = '', rule = '', , code = '', , raw = ''] = all.slice(
    -REJECT_COLUMNS.length,
  )
  if (!/^[0-9a-f]{16}$/.test(exportId) || !isOrdinal(row.replace(KEPT_ZERO, '')) || !isOrdinal(at))
    throw unusable(file, line, '_exportId, _row and _line must be unchanged')
  if (!row.startsWith(KEPT_ZERO)) throw unusable(file, line, ...READ_AS_NUMBERS)
  return {
    cells: all.slice(0, -REJECT_COLUMNS.length),
    // The byte offset is of this file: it finds the line again.
    origin: { row: Number(row), line: Number(at), byteOffset: line.byteOffset },
    exportName,
    exportId,
    rule: rule === '' ? undefined : rule,
    code,
    raw,
  }
}

const isOrdinal = (text: string): boolean => /^[1-9]\d{0,14}$/.test(text)

function csvRow({ cells, origin, exportName, rule, code, raw }: Note): RejectedLine {
  if (raw === '' || cells.some((cell) => cell !== '')) {
    const row: CsvRow = { kind: 'cells', ...origin, cells }
    return { ...row, exportName, rule }
  }
  const message = 'the row is still in _raw: fill in its columns'
  return unread(origin, { exportName, rule }, faultOf(code), message, raw)
}

function jsonRow(columns: readonly string[], read: ReadDefinition): (note: Note) => RejectedLine {
  const within = read.format === 'json' ? (read.records?.within ?? []) : []
  const [textAt, contextAt] = [columns.indexOf(JSON_COLUMN), columns.indexOf(CONTEXT_COLUMN)]
  return ({ cells, origin, ...note }) => {
    const text = cells[textAt] ?? ''
    const line = { exportName: note.exportName, rule: note.rule }
    // An unreadable row is kept in its original form.
    const isMessage = read.format === 'hl7v2' && !text.startsWith('{')
    const isRecords = read.format === 'records' && !text.startsWith('{')
    const reading = isMessage ? readMessage(text) : isRecords ? readRecords(text, read) : readJson(text)
    if ('problem' in reading) {
      const fault = isMessage
        ? 'row-message-invalid'
        : isRecords
          ? 'row-record-misplaced'
          : 'row-json-invalid'
      return unread(origin, line, fault, reading.problem, text)
    }
    const value = rowIn(reading.value, within)
    if (value === undefined) return unread(origin, line, 'row-member-missing', NO_ROW, text)
    const context = contextOf(cells[contextAt])
    return { kind: 'json', ...origin, ...line, value, text, ...(context === undefined ? {} : { context }) }
  }
}

/** Context as written by `rejectsText`: numbers are texts already. */
function contextOf(cell: string | undefined): JsonValue | undefined {
  if (cell === undefined || cell === '') return undefined
  const reading = readJson(cell)
  return 'problem' in reading ? undefined : reading.value
}

const unread = (
  origin: Origin,
  line: Pick<RejectedLine, 'exportName' | 'rule'>,
  fault: RowFault,
  message: string,
  text: string,
): RejectedLine => ({ kind: 'unreadable', ...origin, ...line, fault, message, text })

const faultOf = (code: string): RowFault => FAULTS.find((fault) => fault === code) ?? 'row-too-short'

const FAULTS: readonly RowFault[] = [
  'row-too-short',
  'row-too-long',
  'row-quote-broken',
  'row-quote-not-closed',
  'row-too-large',
  'row-encoding-invalid',
  'row-place-unclear',
]

const KEEP_COLUMNS =
  'Correct the line named above; leave the columns that begin with _ unchanged (in a spreadsheet program, as text).'

const unusable = (
  file: string,
  { line }: Pick<Origin, 'line'>,
  problem: string,
  remedy = KEEP_COLUMNS,
): WaybillError =>
  new WaybillError('export-unreadable', `the rejects file cannot be read: ${problem}`, {
    place: { file, line },
    remedy,
  })
