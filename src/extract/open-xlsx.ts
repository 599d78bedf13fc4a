/**
 * Opens a sheet of a workbook (ISO/IEC 29500, ECMA-376). The sheet is streamed twice: for a survey, then row by row.
 */

import { cellMark, isCellError, PERCENT_FORMAT } from '../model/cell-fault.ts'
import type { WaybillError } from '../model/errors.ts'
import type { CsvRow, Origin, Row, RowFault } from '../model/row.ts'
import { type Compression, DEFAULT_LIMITS, detectCompression, exportError } from './content.ts'
import { EXCERPT_BYTES, type OpenFormat } from './framing.ts'
import { readHeader } from './open-csv.ts'
import type { ReadDefinition } from './read-definition.ts'
import { findOtherHeader, REST_UNDER_OTHER_HEADER } from './second-header.ts'
import { refuseKind, usingPackage, type WorkbookPackage } from './xlsx-package.ts'
import { type Attributes, readingXml, readXml } from './xlsx-xml.ts'

type XlsxDefinition = Extract<ReadDefinition, { format: 'xlsx' }>

/** A workbook while its package is open. */
interface Book {
  readonly path: string
  readonly opened: WorkbookPackage
  readonly sheets: readonly SheetEntry[]
  readonly context: SheetContext
}

interface OpenSheet {
  readonly sheet: SheetEntry
  readonly context: SheetContext
  readonly top: Top
  readonly survey: Survey
  readonly bytes: number
}

/** @throws `export-unreadable`, `export-empty`, `export-too-large` */
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
    below: [...top.below, survey.shown],
    seekable: false,
    sheet: sheet.name,
    notes: survey.notes,
    rows,
    controlTotal: async () => undefined,
    share: (offset) => Math.min(1, offset / Math.max(1, bytes)),
  }
}

/** Names of the sheets with content, visible ones first. @throws as `openXlsx` */
export async function filledSheets(path: string): Promise<readonly string[]> {
  const compression = await detectCompression(path, DEFAULT_LIMITS)
  const list = async function* (opened: WorkbookPackage) {
    const book = await openBook(path, opened)
    for (const one of book.sheets) if (await holdsRows(book, one)) yield one
  }
  await refuseKind(path, compression, 'xlsx')
  const sheets = await Array.fromAsync(usingPackage(path, compression, list))
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
  const surveyor = createSurveyor(top)
  const isData = dataFilter(read, top)
  const facts: SheetFacts = { dimension: '', merges: [], isFiltered: false }
  for await (const block of rowsIn(book, sheet, facts))
    for (const row of block) if (isData(row)) surveyor.look(row)
  const related = [...(await opened.relationships(sheet.part)).values()]
  const tables = related.filter(({ type }) => type === 'table').length
  const survey = surveyOf(path, read, top, surveyor, facts, tables)
  yield { sheet, context: book.context, top, survey, bytes: opened.sizeOf(sheet.part) }
}

/** @throws `export-unreadable` (not there, or one of several), `export-empty` */
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
  if (header === 'none') return { columns: columns ?? [], below: [], line: 0 }
  const from = header.line ?? 1
  async function* blocks(): AsyncGenerator<readonly Row[]> {
    for await (const rows of rowsIn(book, sheet))
      yield rows.filter(({ line }) => line >= from).map((row) => asCells(row, 0, row.cells))
  }
  const found = await readHeader(book.path, header, columns === undefined ? duplicates : 'number', blocks())
  return { columns: columns ?? found.columns, below: found.below, line: found.origin.line }
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
      if (ordinal >= from.row) rows.push(rowOf(row, ordinal, top.columns.length, survey))
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

function rowOf(row: SheetRow, ordinal: number, width: number, survey: Survey): Row {
  const { cells, line, problem } = row
  const repeated = survey.repeated.has(line) ? 'several rows of the sheet have its number' : undefined
  const unclear = problem ?? repeated
  if (unclear !== undefined) return unreadable(row, ordinal, 'row-place-unclear', unclear)
  if (cells.length <= width) return asCells(row, ordinal, survey.judged(row))
  const message = `column ${cells.length} has content, but the header has ${width} columns`
  return { ...unreadable(row, ordinal, 'row-too-long', message), cells }
}

function unreadable({ line, offset, cells }: SheetRow, row: number, fault: RowFault, message: string) {
  const quoted = cells.map((cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell))
  const text = quoted.join().slice(0, EXCERPT_BYTES)
  return { kind: 'unreadable', row, line, byteOffset: offset, fault, message, text } as const
}

interface Top {
  readonly columns: readonly string[]
  readonly below: readonly (readonly string[])[]
  /** Number of the row; 0 for no header. */
  readonly line: number
}

interface Survey {
  /** Offset of the first row that is not read. */
  readonly end: number
  readonly repeated: ReadonlySet<number>
  readonly notes: readonly string[]
  /** Unit, or `PERCENT_FORMAT`, of the formats of each column, where all are alike. */
  readonly shown: readonly string[]
  /** Cells of a row in all columns, with marks in the place of those that their column or a merged cell makes doubtful. */
  judged(row: SheetRow): readonly string[]
}

/** Tells data rows from the header and the skipped rows, in the order of the part. */
function dataFilter({ header }: XlsxDefinition, top: Top): (row: SheetRow) => boolean {
  let skip = header === 'none' ? 0 : header.skip
  return ({ line }) => line > top.line && skip-- <= 0
}

/** Most rows of totals: a word at the start of more rows means something else. */
const MOST_TOTALS = 3
/** Excludes names of people, like Sum. */
const TOTALS = /^(?:grand |sub-? ?)?(?:totale?s?|gesamt(?:summe)?|zwischensumme)\b/i

interface Sign {
  readonly line: number
  readonly offset: number
  readonly before: number
}

const isFilled = (cell: string | undefined): boolean => (cell ?? '').trim() !== ''

/** Looks at the rows of a sheet in their order: merged cells, filters and another table below concern all rows. */
function createSurveyor({ columns }: Top) {
  const seen = new Uint8Array(MOST_ROWS / 8 + 1)
  const repeated = new Set<number>()
  const counted = { rows: 0, hidden: 0, gaps: 0, unordered: 0, apart: 0, last: 0, widest: columns.length }
  const looks = columns.map(createLook)
  const totals: Sign[] = []
  const firstGap: Sign[] = []
  let measured = true

  /** True if a row below a blank one begins something else: a header, a title, a note. */
  const isApart = (cells: readonly string[]): boolean => {
    const filled = cells.filter(isFilled).length
    const isHeader = columns.every((name, at) => name === (cells[at] ?? '').trim())
    return (filled === 1 && columns.length > 2) || isHeader || (measured && !/\d/.test(cells.join()))
  }
  const look = ({ line, offset, cells, forms, isHidden, isSum }: SheetRow): void => {
    const [byte, bit] = [line >> 3, 1 << (line & 7)]
    if (((seen[byte] ?? 0) & bit) !== 0) repeated.add(line)
    seen[byte] = (seen[byte] ?? 0) | bit
    const isBelowGap = counted.last > 0 && line > counted.last + 1
    const filled = cells.filter(isFilled)
    const isTotal = isSum || (TOTALS.test(filled[0]?.trim() ?? '') && filled.length < columns.length)
    const sign = { line, offset, before: counted.rows++ }
    if (isTotal && totals.length <= MOST_TOTALS) totals.push(sign)
    if (isBelowGap) {
      if (counted.gaps++ === 0) firstGap.push(sign)
      if (counted.apart === 0 && isApart(cells)) counted.apart = line
    }
    measured &&= /\d/.test(cells.join())
    for (const [at, column] of looks.entries()) column.look(cells[at] ?? '', forms[at])
    if (isHidden) counted.hidden++
    if (line < counted.last) counted.unordered++
    counted.widest = Math.max(counted.widest, cells.length)
    counted.last = Math.max(counted.last, line)
  }
  return { look, repeated, counted, looks, totals, firstGap }
}

/**
 * Survey of a sheet after the last row. Doubts are reported or refused, never guessed.
 * @param tables declared in the sheet
 * @throws `export-unreadable` for ambiguous rows or columns
 */
function surveyOf(
  path: string,
  read: XlsxDefinition,
  { columns, line: headerLine }: Top,
  { repeated, counted, looks, totals, firstGap }: ReturnType<typeof createSurveyor>,
  { dimension, merges, isFiltered }: SheetFacts,
  tables: number,
): Survey {
  const [total] = totals.length > MOST_TOTALS ? [] : totals
  const { apart, gaps } = counted
  if (read.below === undefined && (apart > 0 || total !== undefined))
    throw belowTable(path, apart, total?.line ?? 0)
  const places = read.below === 'nothing' ? [...firstGap, total].flatMap((one) => one ?? []) : []
  const [cut] = places.sort((a, b) => a.offset - b.offset)
  const [, to] = rangeOf(dimension) ?? []
  const isShort = to !== undefined && (to.row < counted.last || to.column < counted.widest - 1)
  const merged = merges.filter((written) => {
    const [from, until] = rangeOf(written) ?? []
    return from && until && from.row <= headerLine && until.row >= headerLine && from.column < until.column
  })
  const judges = looks.map(({ judge }) => judge())
  const unnamed = judges.flatMap(({ hasValues }, at) =>
    hasValues && columns[at] === '' ? [columnName(at)] : [],
  )
  if (merged.length > 0 && unnamed.length > 0 && read.columns === undefined)
    throw mergedHeader(path, headerLine, merged, unnamed)
  const hasEmpty = judges.some(
    ({ hasValues }, at) => !hasValues && columns[at] === '' && isFilled(columns[at + 1]),
  )
  const notes: [boolean, string][] = [
    [counted.hidden > 0, `${counted.hidden} rows are hidden; they are read like the others`],
    [isFiltered, 'a filter is set; rows that it hides are read'],
    [merged.length > 0, `cells of the header are merged: ${listed(merged)}`],
    [unnamed.length > 0, `columns without a name have values, which are not read: ${listed(unnamed)}`],
    [hasEmpty, 'columns follow an empty one: they may be another table'],
    [tables > 1, `the sheet has ${tables} tables`],
    [
      gaps > 0 && cut === undefined,
      `rows continue below blank ones ${gaps} times, first in row ${firstGap[0]?.line}`,
    ],
    [
      cut !== undefined,
      `${counted.rows - (cut?.before ?? 0)} rows below the table are not read because of read.below`,
    ],
    [isShort, `the sheet declares the range ${dimension}, but rows continue beyond; all are read`],
    [counted.unordered > 0, `${counted.unordered} rows are not in the order of their numbers`],
    [repeated.size > 0, `the numbers of ${repeated.size} rows are repeated`],
  ]
  const isCovered = coveredBy(merges, headerLine, columns.length)
  return {
    end: cut?.offset ?? Number.POSITIVE_INFINITY,
    repeated,
    notes: notes.flatMap(([holds, text]) => (holds ? [text] : [])),
    shown: judges.map(({ shown }) => shown),
    judged: ({ line, cells, forms }) =>
      judges.map(({ doubt }, at) => {
        const cell = cells[at] ?? ''
        return cell === '' && isCovered(line, at) ? cellMark('MERGED') : doubt(cell, forms[at])
      }),
  }
}

/** Tells which cells below the header are covered by merged cells. @throws Error for too many */
function coveredBy(merges: readonly string[], headerLine: number, width: number) {
  const columns = Array.from({ length: width }, (): { first: number; last: number }[] => [])
  const ranges = merges
    .flatMap((written) => [rangeOf(written) ?? []])
    .flatMap(([from, until]) => (from && until && from.row > headerLine ? [{ from, until }] : []))
  let held = 0
  for (const { from, until } of ranges.sort((a, b) => a.from.row - b.from.row)) {
    for (const [at, stretches] of columns.slice(0, until.column + 1).entries()) {
      if (at < from.column) continue
      // The first cell has the value.
      const first = at === from.column ? from.row + 1 : from.row
      const before = stretches.at(-1)
      if (before !== undefined && first <= before.last) before.last = Math.max(before.last, until.row)
      else if (first <= until.row) stretches.push({ first, last: until.row })
      if (++held > 10 * MOST_MERGES) throw new Error('its merged cells are too many')
    }
  }
  return (line: number, at: number): boolean => {
    const stretches = columns[at] ?? []
    let [low, high] = [0, stretches.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((stretches[middle]?.first ?? 0) <= line) low = middle + 1
      else high = middle
    }
    return (stretches[low - 1]?.last ?? 0) >= line
  }
}

/** A date as text, in any order. */
const DAY_AS_TEXT = /^(\d{1,2})[/.-](\d{1,2})[/.-]\d{2,4}(?!\d)/
/** Signs of a column whose texts a spreadsheet has read as dates in another order, where it could. */
const [EARLY_DAYS, LATE_TEXTS, OTHERWISE] = [1, 2, 4]

/** Finds the cells that the rest of their column contradicts. */
function createLook() {
  const shown = new Map<string, number>()
  let [days, hasValues] = [0, false]
  return {
    /** @param form of a number */
    look(cell: string, form: NumberForm | undefined): void {
      hasValues ||= isFilled(cell)
      if (form?.date) days |= cell.slice(8, 10) > '12' ? OTHERWISE : EARLY_DAYS
      else if (form !== undefined) shown.set(form.shows, (shown.get(form.shows) ?? 0) + 1)
      else if (cell.length < 40) {
        const [, first, second] = DAY_AS_TEXT.exec(cell) ?? []
        if (first !== undefined) days |= Math.max(Number(first), Number(second)) > 12 ? LATE_TEXTS : OTHERWISE
      }
    },
    judge() {
      const [[usual = ''] = []] = [...shown].sort(([a, n], [b, m]) => m - n || a.length - b.length)
      const areSwapped = days === EARLY_DAYS + LATE_TEXTS
      return {
        hasValues,
        shown: shown.size === 1 ? usual : '',
        doubt(cell: string, form: NumberForm | undefined): string {
          if (form?.date) return areSwapped ? cellMark('DAY', cell) : cell
          return form === undefined || form.shows === usual ? cell : cellMark('FORMAT', cell)
        },
      }
    },
  }
}

const listed = (names: readonly string[]): string =>
  names.length > 10 ? `${names.slice(0, 10).join(', ')} and ${names.length - 10} more` : names.join(', ')

function belowTable(path: string, apart: number, total: number): WaybillError {
  const what =
    apart > 0
      ? `Another table, or a note, seems to begin below a blank row, in row ${apart} of the sheet.`
      : `Row ${total} of the sheet seems to be a line of totals.`
  return exportError(path, what, {
    line: apart > 0 ? apart : total,
    remedy:
      'Decide in the mapping: `read.below: nothing` ends before this row, `read.below: rows` reads on as before.',
  })
}

const mergedHeader = (path: string, line: number, merged: readonly string[], unnamed: readonly string[]) =>
  exportError(
    path,
    `Cells of the header are merged (${listed(merged)}), and columns with values have no name: ${listed(unnamed)}.`,
    {
      line,
      remedy:
        'Name all columns in the mapping, from A on: `read.columns` replaces the header. Or name the header row in `read.header.line`.',
    },
  )

interface SheetRow {
  readonly line: number
  /** Place in the part, in characters. */
  readonly offset: number
  readonly isHidden: boolean
  /** Texts (`cellText`) from column A to the last one with content. */
  readonly cells: readonly string[]
  /** Forms of cells that are numbers. */
  readonly forms: readonly (NumberForm | undefined)[]
  readonly problem: string | undefined
  /** A formula aggregates cells of several rows. */
  readonly isSum: boolean
}

/** Filled in while a sheet is read. */
interface SheetFacts {
  dimension: string
  merges: string[]
  /** A filter may hide rows. */
  isFiltered: boolean
}

interface SheetContext {
  readonly forms: readonly NumberForm[]
  readonly shared: SharedText
  readonly epoch: Epoch
}

const MOST_ROWS = 1_048_576
const MOST_COLUMNS = 16_384
const MOST_MERGES = 100_000
const ROW_CHARACTERS = 16 * 1024 * 1024

interface Address {
  /** From 0. */
  readonly column: number
  /** From 1. */
  readonly row: number
}

/** Parses an address like `B7`; undefined for no address. */
function addressOf(text: string): Address | undefined {
  let [column, row, at] = [0, 0, 0]
  for (; text.charCodeAt(at) >= 65 && text.charCodeAt(at) <= 90; at++)
    column = column * 26 + text.charCodeAt(at) - 64
  for (; text.charCodeAt(at) >= 48 && text.charCodeAt(at) <= 57; at++)
    row = row * 10 + text.charCodeAt(at) - 48
  const isOne = at === text.length && column > 0 && column <= MOST_COLUMNS && row > 0 && row <= MOST_ROWS
  return isOne ? { column: column - 1, row } : undefined
}

const columnName = (column: number): string =>
  (column < 26 ? '' : columnName(Math.floor(column / 26) - 1)) + String.fromCharCode(65 + (column % 26))

/** Corners of a range like `A1:F20`, or of one cell. */
function rangeOf(text: string): readonly [from: Address, to: Address] | undefined {
  const [first = '', last = first] = text.replaceAll('$', '').split(':')
  const [from, to] = [addressOf(first), addressOf(last)]
  return from && to && [from, to]
}

/** Sums, counts and averages of a stretch of a column, or of a column of a table. */
const SUM =
  /^(?:SUM|SUBTOTAL|AGGREGATE|AVERAGE|COUNTA?|MIN|MAX|MEDIAN)\((?:\d+,)*(?:\$?([A-Z]+)\$?(\d+):\$?\1\$?(?!\2\))\d+|[^()[\]]*\[[^\]@]+\])\)$/i

/** @throws Error with the reason */
async function* readSheet(
  content: AsyncIterable<Buffer>,
  context: SheetContext,
  facts: SheetFacts = { dimension: '', merges: [], isFiltered: false },
): AsyncGenerator<readonly SheetRow[]> {
  const found: SheetRow[] = []
  const rows = collectRows(context, found)
  let inRows = false
  const pieces = readingXml(content, {
    open(name, attributes, depth, position) {
      if (inRows) return rows.open(name, attributes, depth, position)
      if (depth === 1 && name !== 'worksheet') throw new Error('a sheet is not a worksheet')
      const { ref = '' } = attributes
      if (name === 'sheetData') inRows = true
      else if (name === 'dimension') facts.dimension = ref
      else if (name === 'autoFilter') facts.isFiltered = true
      else if (name === 'mergeCell' && facts.merges.push(ref) > MOST_MERGES)
        throw new Error('it has more than 100000 merged cells')
    },
    text: (piece) => rows.text(piece),
    close(name, depth) {
      if (depth === 2) inRows = false
      else if (inRows) rows.close(name, depth)
    },
  })
  for await (const _ of pieces) if (found.length > 0) yield found.splice(0)
}

/** Depths of `row`, of `c`, and of `v`, `f` or `is`. */
const [ROW, CELL, CONTENT] = [3, 4, 5]

function collectRows({ forms, shared, epoch }: SheetContext, found: SheetRow[]) {
  const inline = createText()
  let line = 0
  let [offset, isHidden, isSum] = [0, false, false]
  let problem: string | undefined
  let cells: string[] = []
  let numbers: NumberForm[] = []
  let [characters, column] = [0, -1]
  let cell: Attributes = {}
  /** Texts of the cell's elements, by their names. */
  let stored: Record<string, string | undefined> = {}
  let into = ''

  const openRow = ({ r, hidden = '' }: Attributes): void => {
    line = r === undefined ? line + 1 : Number(r)
    if (!Number.isInteger(line) || line < 1 || line > MOST_ROWS)
      throw new Error('a row has an impossible number')
    ;[isHidden, isSum, problem] = [hidden === '1' || hidden === 'true', false, undefined]
    ;[cells, numbers, characters, column] = [[], [], 0, -1]
  }
  const openCell = (attributes: Attributes): void => {
    ;[cell, stored] = [attributes, {}]
    const { r } = attributes
    const at = r === undefined ? { column: column + 1, row: line } : addressOf(r)
    if (at === undefined || at.column >= MOST_COLUMNS)
      throw new Error(`row ${line} has a cell with an invalid address`)
    column = at.column
    if (at.row !== line) problem ??= `a cell in it has an address in row ${at.row}`
    if (cells[column] !== undefined) problem ??= `the cell ${columnName(column)}${line} occurs twice`
  }
  const closeCell = (): void => {
    const { v: value, f: formula, is } = stored
    const form = forms[Number(cell['s'] ?? 0)] ?? PLAIN
    const hasFormula = formula !== undefined
    const { t: type = 'n' } = cell
    const text = cellText({ type, value, inline: is, hasFormula, form }, shared, epoch)
    cells[column] = text
    if (type === 'n' && text !== '' && !text.startsWith('#')) numbers[column] = form
    characters += text.length
    if (characters > ROW_CHARACTERS) throw new Error(`row ${line} is larger than 16 MiB`)
    if (hasFormula && formula.length < 200 && SUM.test(formula)) isSum = true
  }
  const closeRow = (): void => {
    let { length } = cells
    while (length > 0 && (cells[length - 1] ?? '').trim() === '') length--
    if (length === 0) return
    cells.length = length
    for (let at = 0; at < length; at++) cells[at] ??= ''
    found.push({ line, offset, isHidden, cells, forms: numbers, problem, isSum })
  }
  return {
    open(name: string, attributes: Attributes, depth: number, position: number): void {
      if (depth === ROW) {
        offset = position
        openRow(attributes)
      } else if (depth === CELL && name === 'c') openCell(attributes)
      else if (depth === CONTENT) {
        into = name
        stored[name] ??= ''
      } else inline.open(name)
    },
    text(piece: string): void {
      if (into === 'is') inline.text(piece)
      else if (into !== '') stored[into] += piece
    },
    close(name: string, depth: number): void {
      if (depth > CONTENT) inline.close(name)
      else if (depth === CONTENT) {
        if (into === 'is') stored['is'] = inline.taken()
        into = ''
      } else if (depth === CELL && name === 'c') closeCell()
      else if (depth === ROW) closeRow()
    },
  }
}

interface SheetEntry {
  readonly name: string
  readonly part: string
  readonly isHidden: boolean
}

interface Workbook {
  readonly sheets: readonly SheetEntry[]
  readonly epoch: Epoch
  readonly styles: string | undefined
  readonly strings: string | undefined
}

const isTrue = (text: string | undefined): boolean => text === '1' || text === 'true'

/** Reads the workbook. @throws Error with the reason: no workbook, a workbook in binary form, a missing part */
async function readWorkbook(opened: WorkbookPackage): Promise<Workbook> {
  const main = [...(await opened.relationships('')).values()].find(({ type }) => type === 'officeDocument')
  if (main === undefined)
    throw new Error(
      opened.isOpenDocument
        ? 'it is an OpenDocument file (.ods); .xlsx and .xlsm are read'
        : 'it is a zip archive, and no workbook',
    )
  if (/\.bin$/i.test(main.target))
    throw new Error('it is a binary workbook (.xlsb); .xlsx and .xlsm are read')
  const related = await opened.relationships(main.target)
  const sheets: SheetEntry[] = []
  let epoch: Epoch = { from: 1900, leap: true }
  await readXml(opened.read(main.target), {
    open(name, attributes, depth) {
      if (depth === 1 && name !== 'workbook') throw new Error('it is an office document, not a workbook')
      if (name === 'workbookPr') {
        const { date1904, dateCompatibility = '1' } = attributes
        epoch = { from: isTrue(date1904) ? 1904 : 1900, leap: isTrue(dateCompatibility) }
      }
      if (name !== 'sheet' || depth !== 3) return
      const [, id = ''] = Object.entries(attributes).find(([key]) => key.endsWith(':id')) ?? []
      const sheet = related.get(id)
      if (sheet === undefined) throw new Error('the workbook names a missing sheet')
      const { name: called = '', state = 'visible' } = attributes
      // Charts and dialogs are sheets, too.
      if (sheet.type === 'worksheet')
        sheets.push({ name: called, part: sheet.target, isHidden: state !== 'visible' })
    },
  })
  const partOf = (kind: string): string | undefined =>
    [...related.values()].find(({ type }) => type === kind)?.target
  return { sheets, epoch, styles: partOf('styles'), strings: partOf('sharedStrings') }
}

const MOST_STYLES = 100_000

/** Number forms by the index of a cell style (18.8.10). */
async function readStyles(opened: WorkbookPackage, part: string | undefined): Promise<readonly NumberForm[]> {
  const codes = new Map<number, string>()
  const ids: number[] = []
  let within = ''
  if (part === undefined) return []
  await readXml(opened.read(part), {
    open(name, { numFmtId = '0', formatCode = '' }, depth) {
      if (depth === 2) within = name
      else if (within === 'numFmts' && name === 'numFmt') codes.set(Number(numFmtId), formatCode)
      else if (within === 'cellXfs' && name === 'xf') ids.push(Number(numFmtId))
      if (codes.size + ids.length > MOST_STYLES) throw new Error('it has more than 100000 styles')
    },
  })
  const forms = new Map([...new Set(ids)].map((id) => [id, numberForm(id, codes.get(id))]))
  return ids.map((id) => forms.get(id) ?? PLAIN)
}

const MOST_STRING_BYTES = 128 * 1024 * 1024

/**
 * The table of shared strings (18.4.9), in one buffer: an array of texts would take several times the memory.
 * @throws `export-too-large`
 */
export async function readStrings(
  path: string,
  opened: Pick<WorkbookPackage, 'read'>,
  part: string | undefined,
): Promise<SharedText> {
  if (part === undefined) return () => undefined
  let bytes = new Uint8Array(64 * 1024)
  let ends = new Uint32Array(1024)
  let [count, length] = [0, 0]
  const encoder = new TextEncoder()
  const add = (text: string): void => {
    const most = length + text.length * 3
    if (most > MOST_STRING_BYTES)
      throw exportError(path, 'The texts of the workbook are more than 128 MiB.', {
        code: 'export-too-large',
        remedy: 'Ask the vendor for several workbooks, or for CSV.',
      })
    if (most > bytes.length) bytes = grown(bytes, new Uint8Array(Math.max(bytes.length * 2, most)))
    if (count === ends.length) ends = grown(ends, new Uint32Array(ends.length * 2))
    length += encoder.encodeInto(text, bytes.subarray(length)).written
    ends[count++] = length
  }
  const item = createText()
  await readXml(opened.read(part), {
    open: item.open,
    text: item.text,
    close(name, depth) {
      if (depth === 2 && name === 'si') add(item.taken())
      else item.close(name)
    },
  })
  const held = Buffer.from(bytes.buffer)
  return (index) =>
    index < count ? held.toString('utf8', index === 0 ? 0 : ends[index - 1], ends[index]) : undefined
}

function grown<Numbers extends Uint8Array | Uint32Array>(numbers: Numbers, larger: Numbers): Numbers {
  larger.set(numbers)
  return larger
}

/** Collects the text of `si` or `is`: `t`, and `t` in each run. Phonetic text (`rPh`) is ignored. */
function createText() {
  let text = ''
  let inText = false
  let phonetic = 0
  return {
    open(name: string): void {
      if (name === 'rPh') phonetic++
      inText = name === 't' && phonetic === 0
    },
    text(piece: string): void {
      if (inText) text += piece
    },
    close(name: string): void {
      if (name === 'rPh') phonetic--
      inText = false
    },
    taken(): string {
      const whole = unescaped(text)
      text = ''
      return whole
    },
  }
}

interface NumberForm {
  /** Least digits of an id. */
  readonly zeros: number
  readonly date: boolean
  readonly time: boolean
  /** Counts hours beyond a day. */
  readonly elapsed: boolean
  /** Comparator shown before the number: `<` of `"<"0`. */
  readonly sign: string
  /** Unit or scale shown with the number, beside it or by other digits (`shownBy`). */
  readonly shows: string
}

const PLAIN: NumberForm = { zeros: 0, date: false, time: false, elapsed: false, sign: '', shows: '' }
/** Comparator before the digits of a format without conditions. */
const SIGN = /^[^;[\]0#?]*?([<>≤≥]=?)[^;[\]0#?]*[0#?]/

/** Formats that a file names by number alone (18.8.30; also for Chinese, Japanese and Korean), by a code of equal meaning. */
const BUILT_IN: Readonly<Record<string, (id: number) => boolean>> = {
  '0%': (id) => id === 9 || id === 10,
  'd h': (id) => id === 22,
  '[h]': (id) => id === 46,
  h: (id) => (id >= 18 && id <= 21) || id === 32 || id === 33 || id === 45 || id === 47,
  d: (id) => (id >= 14 && id <= 17) || (id >= 27 && id <= 36) || (id >= 50 && id <= 58),
}

/** @param code as `numFmts` has it */
const numberForm = (id: number, code: string | undefined): NumberForm =>
  formOf(code ?? Object.entries(BUILT_IN).find(([, has]) => has(id))?.[0] ?? '')

/** Text in a format: quoted, escaped, a blank as wide as a character, a character that fills the cell. */
const LITERAL = /"[^"]*"?|\\.|_.|\*./gs
const ELAPSED = /\[(?:h+|m+|s+)\]/gi

/** AM/PM shows an hour; an exponent is no format of zeros. */
const SPOKEN: Readonly<Record<string, string>> = { a: 'h', e: 'x' }

/** A format code (18.8.31): sections for positive, negative and zero numbers, and for text. */
function formOf(code: string): NumberForm {
  const forms = code
    .replace(LITERAL, '')
    .split(';')
    .slice(0, 3)
    .map((section): NumberForm => {
      const counted = section.replaceAll(ELAPSED, 'h')
      const elapsed = counted !== section
      const bare = counted
        .replaceAll(/\[[^\]]*\]/g, '')
        .replaceAll(
          /general|standard|e[+-]|am\/pm|a\/p/gi,
          (mark) => SPOKEN[mark.charAt(0).toLowerCase()] ?? '',
        )
      // Zeros may be a fraction of a second.
      if (/[0#?]/.test(bare.replaceAll(/s[.,]0+/gi, 's'))) {
        const marks = bare.replaceAll(/[-+() :/$]/g, '')
        return /^0{2,}$/.test(marks) ? { ...PLAIN, zeros: marks.length } : PLAIN
      }
      const time = /[hs]/i.test(bare)
      return { ...PLAIN, date: /[yd]/i.test(bare) || (!time && /m/i.test(bare)), time, elapsed }
    })
  const [first = PLAIN] = forms
  const [, sign = ''] = SIGN.exec(code) ?? []
  return forms.find(({ date, time }) => date || time) ?? { ...first, sign, shows: shownBy(code) }
}

/** Unit of a format, in quotes or escaped; `PERCENT_FORMAT`; commas that divide by a thousand each. */
function shownBy(code: string): string {
  const [section = ''] = code.split(';')
  const bare = section.replaceAll(LITERAL, '').replaceAll(/\[[^\]]*\]/g, '')
  if (bare.includes('%')) return PERCENT_FORMAT
  const [, commas = ''] = /[0#?.](,+)(?![0#?.,])/.exec(bare) ?? []
  const texts = section.match(LITERAL)?.filter((text) => /^["\\]/.test(text)) ?? []
  const unit = texts.join('').replaceAll(/["\\]/g, '').trim()
  return commas + (/[\p{L}%°]/u.test(unit) ? unit : '')
}

/** First day of the count (18.17.4.1). */
interface Epoch {
  /** 1904: day 0 is 1 January 1904; 1900: day 1 is 1 January 1900. */
  readonly from: 1900 | 1904
  /** Counts 29 February 1900, which never was. */
  readonly leap: boolean
}

const DAY = 86_400_000
const LAST_DAY = 2_958_465
const BASE_1904 = Date.UTC(1904, 0, 1)
const BASE_1900 = Date.UTC(1899, 11, 30)

/** ISO 8601: a day, a day with time, a time alone, or hours beyond a day; undefined for no such day. */
function dateText(serial: number, form: NumberForm, { from, leap }: Epoch): string | undefined {
  const stamp = Math.round(serial * DAY)
  if (stamp < 0) return undefined
  if (form.elapsed) {
    const clock = new Date(stamp % DAY).toISOString().slice(13, 23)
    return whole(`${String(Math.floor(stamp / 3_600_000)).padStart(2, '0')}${clock}`)
  }
  const day = Math.floor(stamp / DAY)
  const hasTime = stamp % DAY !== 0
  // Times alone have no day.
  if (day === 0 && (from === 1900 || !form.date)) {
    if (!hasTime && form.date) return undefined
    return whole(new Date(stamp).toISOString().slice(11, 23))
  }
  const isLate = from === 1904 || !leap || day > 60
  if (day > LAST_DAY || (!isLate && day === 60)) return undefined
  const at = new Date(stamp + (from === 1904 ? BASE_1904 : BASE_1900) + (isLate ? 0 : DAY)).toISOString()
  return hasTime || form.time ? whole(at.slice(0, 23)) : at.slice(0, 10)
}

/** Removes an empty fraction of a second. */
const whole = (text: string): string => text.replace(/\.000$/, '')

/** A date as text (18.18.11, `d`). Midnight is left out if the format shows no time. */
const ISO = /^(?:(\d{4}-\d{2}-\d{2})(?:T|$))?T?(?:(\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)(Z|[+-]\d{2}:\d{2})?)?$/

const isDay = (text: string): boolean => {
  const at = Date.parse(`${text}T00:00Z`)
  // 30 February is the second of March.
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(text)
}

function isoText(text: string, { date, time }: NumberForm): string | undefined {
  const [, day, clock, zone = ''] = ISO.exec(text) ?? []
  if (day === undefined && clock === undefined) return undefined
  if (day !== undefined && !isDay(day)) return undefined
  if (clock === undefined) return day
  if (day !== undefined && date && !time && zone === '' && /^00:00(?::00(?:\.0+)?)?$/.test(clock)) return day
  return `${day === undefined ? '' : `${day}T`}${clock.replace(/\.0+$/, '')}${zone}`
}

const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/
/** A double does not hold every larger whole number. */
const SIXTEEN_DIGITS = 1e15

const NO_EXPONENT = new Intl.NumberFormat('en-US', { useGrouping: false, maximumSignificantDigits: 21 })

/** Shortest decimal of a double, without exponent. */
function decimalText(value: number): string {
  const text = String(value === 0 ? 0 : value)
  return text.includes('e') ? NO_EXPONENT.format(value) : text
}

interface StoredCell {
  /** Attribute `t` (18.18.11). */
  readonly type: string
  readonly value: string | undefined
  readonly inline: string | undefined
  readonly hasFormula: boolean
  readonly form: NumberForm
}

type SharedText = (index: number) => string | undefined

/**
 * Text of a cell as stored, or a marker for none (`cellFault`). Sections are those of ISO/IEC 29500-1.
 */
function cellText(cell: StoredCell, shared: SharedText, epoch: Epoch): string {
  const { type, value, inline, hasFormula, form } = cell
  if (type === 'inlineStr') return inline ?? (value === undefined ? '' : unescaped(value))
  if (value === undefined) return hasFormula ? cellMark('NOT-COMPUTED') : ''
  if (type === 'str') return unescaped(value)
  const stored = value.trim()
  if (stored === '') return hasFormula ? cellMark('NOT-COMPUTED') : ''
  switch (type) {
    case 's':
      return (/^\d+$/.test(stored) ? shared(Number(stored)) : undefined) ?? cellMark('INVALID', stored)
    case 'b':
      if (stored === '1' || stored === 'true') return 'TRUE'
      return stored === '0' || stored === 'false' ? 'FALSE' : cellMark('INVALID', stored)
    case 'e':
      return isCellError(stored) ? stored : cellMark('INVALID', stored)
    case 'd':
      return isoText(stored, form) ?? cellMark('INVALID', stored)
    case 'n':
      return NUMBER.test(stored)
        ? numberText(Number(stored), stored, form, epoch)
        : cellMark('INVALID', stored)
    default:
      return cellMark('INVALID', stored)
  }
}

function numberText(value: number, stored: string, form: NumberForm, epoch: Epoch): string {
  if (!Number.isFinite(value)) return cellMark('INVALID', stored)
  if (form.date || form.time) return dateText(value, form, epoch) ?? cellMark('INVALID', stored)
  const isWhole = Number.isInteger(value)
  if (isWhole && Math.abs(value) >= SIXTEEN_DIGITS) return cellMark('DIGITS', stored)
  if (!isWhole || form.zeros === 0) return form.sign + decimalText(value)
  const digits = form.sign + String(Math.abs(value)).padStart(form.zeros, '0')
  return value < 0 ? `-${digits}` : digits
}

/** Replaces escapes like `_x000D_` (22.9.2.19), except NUL. */
const unescaped = (text: string): string =>
  text.includes('_x')
    ? text.replaceAll(/_x([0-9A-Fa-f]{4})_/g, (written, code: string) =>
        code === '0000' ? written : String.fromCharCode(Number.parseInt(code, 16)),
      )
    : text
