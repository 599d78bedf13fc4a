/**
 * Opens an export of `format: xlsx`: a sheet of a workbook (ISO/IEC 29500, ECMA-376) as rows of cells under a header. The sheet is streamed
 * twice: first for a survey (xlsx-survey.ts), then row by row.
 */
import type { WaybillError } from '../model/errors.ts'
import type { CsvRow, Origin, Row, RowFault } from '../model/row.ts'
import { type Compression, DEFAULT_LIMITS, detectCompression, exportError } from './content.ts'
import { readHeader } from './csv-layout.ts'
import { EXCERPT_BYTES, type OpenFormat } from './framing.ts'
import type { XlsxDefinition } from './read-definition.ts'
import { findOtherHeader, REST_UNDER_OTHER_HEADER } from './second-header.ts'
import { refuseKind, usingPackage, type WorkbookPackage } from './xlsx-package.ts'
import { readStrings, readStyles, readWorkbook, type SheetEntry } from './xlsx-parts.ts'
import { readSheet, type SheetContext, type SheetFacts, type SheetRow } from './xlsx-sheet.ts'
import { createSurveyor, dataFilter, type Survey, type Top } from './xlsx-survey.ts'

/** A workbook while its package is open. */
interface Book {
  readonly path: string
  readonly opened: WorkbookPackage
  readonly sheets: readonly SheetEntry[]
  readonly context: SheetContext
}

/** Chosen sheet, after its survey. */
interface OpenSheet {
  readonly sheet: SheetEntry
  readonly context: SheetContext
  readonly top: Top
  readonly survey: Survey
  /** Size of the part. */
  readonly bytes: number
}

/** @throws WaybillError `export-unreadable`, `export-empty`, `export-too-large` */
export async function openXlsx(
  path: string,
  compression: Compression,
  read: XlsxDefinition,
): Promise<OpenFormat & { share(offset: number): number }> {
  let found: OpenSheet | undefined
  for await (found of usingPackage(path, compression, (opened) => lookThrough(path, opened, read)));
  if (found === undefined) throw noRows(path)
  const { sheet, top, survey, bytes } = found
  const rows = (from?: Origin) =>
    usingPackage(path, compression, (opened) => rowsOf(path, opened, read, found, from))
  return {
    columns: top.columns,
    seekable: false,
    sheet: sheet.name,
    notes: survey.notes,
    rows,
    controlTotal: async () => undefined,
    share: (offset) => Math.min(1, offset / Math.max(1, bytes)),
  }
}

/** Names of the sheets with content, visible ones first. @throws WaybillError as `openXlsx` */
export async function filledSheets(path: string): Promise<readonly string[]> {
  const compression = await detectCompression(path, DEFAULT_LIMITS)
  const sheets: SheetEntry[] = []
  const list = async function* (opened: WorkbookPackage) {
    const book = await openBook(path, opened)
    for (const one of book.sheets) if (await holdsRows(book, one)) yield one
  }
  await refuseKind(path, compression, 'xlsx')
  for await (const one of usingPackage(path, compression, list)) sheets.push(one)
  return sheets.sort((a, b) => Number(a.isHidden) - Number(b.isHidden)).map(({ name }) => name)
}

async function openBook(path: string, opened: WorkbookPackage): Promise<Book> {
  const { sheets, epoch, styles, strings } = await readWorkbook(opened)
  const forms = await readStyles(opened, styles)
  const shared = await readStrings(path, opened, strings)
  return { path, opened, sheets, context: { forms, epoch, shared } }
}

const rowsIn = ({ opened, context }: Book, { part }: SheetEntry, facts?: SheetFacts) =>
  readSheet(opened.read(part), context, facts)

async function holdsRows(book: Book, sheet: SheetEntry): Promise<boolean> {
  for await (const rows of rowsIn(book, sheet)) if (rows.length > 0) return true
  return false
}

const noRows = (path: string): WaybillError =>
  exportError(path, 'All sheets of the workbook are empty.', { code: 'export-empty' })

async function* lookThrough(
  path: string,
  opened: WorkbookPackage,
  read: XlsxDefinition,
): AsyncGenerator<OpenSheet> {
  const book = await openBook(path, opened)
  const sheet = await sheetOf(book, read.sheet)
  const top = await topOf(book, sheet, read)
  const surveyor = createSurveyor(path, read, top)
  const isData = dataFilter(read, top)
  const facts: SheetFacts = { dimension: '', merges: [], isFiltered: false }
  for await (const block of rowsIn(book, sheet, facts))
    for (const row of block) if (isData(row)) surveyor.look(row)
  const related = [...(await opened.relationships(sheet.part)).values()]
  const survey = surveyor.end(facts, related.filter(({ type }) => type === 'table').length)
  yield { sheet, context: book.context, top, survey, bytes: opened.sizeOf(sheet.part) }
}

/** @throws WaybillError `export-unreadable` (not there, or one of several), `export-empty` */
async function sheetOf(book: Book, wanted: string | undefined): Promise<SheetEntry> {
  const { path, sheets } = book
  const listed = (some: readonly SheetEntry[]): string =>
    some.map(({ name, isHidden }) => `"${name}"${isHidden ? ' (hidden)' : ''}`).join(', ')
  const filled: SheetEntry[] = []
  for (const one of sheets)
    if (wanted === undefined ? await holdsRows(book, one) : one.name === wanted) filled.push(one)
  const [only, another] = filled
  if (only !== undefined && another === undefined) return only
  if (wanted !== undefined)
    throw exportError(path, `The workbook has no sheet "${wanted}", or several.`, {
      remedy: `It has: ${listed(sheets)}. Correct \`read.sheet\` in the mapping, or ask the vendor.`,
    })
  if (only === undefined) throw noRows(path)
  throw exportError(path, `Several sheets have content: ${listed(filled)}.`, {
    remedy: `Name the sheet in the mapping: \`read: { format: xlsx, sheet: ${JSON.stringify(only.name)} }\`.`,
  })
}

async function topOf(
  book: Book,
  sheet: SheetEntry,
  { header, columns, duplicates }: XlsxDefinition,
): Promise<Top> {
  if (header === 'none') return { columns: columns ?? [], line: 0 }
  const from = header.line ?? 1
  async function* blocks(): AsyncGenerator<readonly Row[]> {
    for await (const rows of rowsIn(book, sheet))
      yield rows.filter(({ line }) => line >= from).map((row) => asCells(row, 0, row.cells))
  }
  const found = await readHeader(book.path, header, columns === undefined ? duplicates : 'number', blocks())
  return { columns: columns ?? found.columns, line: found.origin.line }
}

async function* rowsOf(
  path: string,
  opened: WorkbookPackage,
  read: XlsxDefinition,
  { sheet, context, top, survey }: OpenSheet,
  from: Origin = { row: 1, line: 1, byteOffset: 0 },
): AsyncGenerator<readonly Row[]> {
  const isData = dataFilter(read, top)
  const isOtherHeader = findOtherHeader(read.header === 'none' ? [] : top.columns)
  let ordinal = 0
  for await (const block of readSheet(opened.read(sheet.part), context)) {
    const rows: Row[] = []
    for (const row of block) {
      if (!isData(row) || row.offset >= survey.end) continue
      ordinal += 1
      if (isOtherHeader(row.cells)) {
        yield [...rows, unreadable(row, ordinal, 'rest-unreadable', REST_UNDER_OTHER_HEADER)]
        return
      }
      if (ordinal >= from.row) rows.push(rowOf(row, ordinal, top.columns.length, survey.repeated))
    }
    if (rows.length > 0) yield rows
  }
  if (ordinal < from.row && from.row > 1)
    throw exportError(path, `The sheet ends before row ${from.row}, where reading should continue.`, {
      code: 'export-changed',
    })
}

const asCells = ({ line, offset }: SheetRow, row: number, cells: readonly string[]): CsvRow => ({
  kind: 'cells',
  row,
  line,
  byteOffset: offset,
  cells,
})

function rowOf(row: SheetRow, ordinal: number, width: number, repeated: ReadonlySet<number>): Row {
  const { cells, line, problem } = row
  if (problem !== undefined) return unreadable(row, ordinal, 'row-place-unclear', problem)
  if (repeated.has(line))
    return unreadable(row, ordinal, 'row-place-unclear', 'several rows of the sheet have its number')
  if (cells.length <= width) {
    const missing = Array.from({ length: width - cells.length }, () => '')
    return asCells(row, ordinal, missing.length === 0 ? cells : [...cells, ...missing])
  }
  const message = `column ${cells.length} has content, but the header has ${width} columns`
  return { ...unreadable(row, ordinal, 'row-too-long', message), cells }
}

function unreadable({ line, offset, cells }: SheetRow, row: number, fault: RowFault, message: string) {
  const quoted = cells.map((cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell))
  const text = quoted.join().slice(0, EXCERPT_BYTES)
  return { kind: 'unreadable', row, line, byteOffset: offset, fault, message, text } as const
}
