/** Rows of a worksheet (18.3.1.99), read as a stream, and what the part says of the sheet around them. */
import { cellText, type Epoch, type NumberForm, PLAIN, type SharedText } from './xlsx-cells.ts'
import { richText } from './xlsx-parts.ts'
import { type Attributes, createXmlFeed, feedXml, type XmlHandler } from './xlsx-xml.ts'

/** A row in which something stands. */
export interface SheetRow {
  /** Number of the row in the sheet, from 1. */
  readonly line: number
  /** Where it stands in the part, in characters. */
  readonly offset: number
  readonly isHidden: boolean
  /** Texts of the cells (`cellText`) from column A up to the last in which something stands. */
  readonly cells: readonly string[]
  /** Why nobody can tell what stands in the row. */
  readonly problem: string | undefined
  /** Whether numbers, dates or truth values are among the cells. */
  readonly isMeasured: boolean
  /** Whether a formula takes cells of several rows together. */
  readonly isSum: boolean
}

export interface SheetFacts {
  /** The range that the part declares, as written. */
  dimension: string | undefined
  /** Ranges of merged cells. */
  readonly merges: string[]
  /** A filter may hide rows. */
  isFiltered: boolean
}

/** What cells refer to. */
export interface SheetContext {
  readonly forms: readonly NumberForm[]
  readonly shared: SharedText
  readonly epoch: Epoch
}

export const MOST_ROWS = 1_048_576
const MOST_COLUMNS = 16_384
const MOST_MERGES = 100_000
const ROW_CHARACTERS = 16 * 1024 * 1024

/** Column, from 0, and row, from 1, of an address like `B7`; undefined where it is none. */
export function addressOf(text: string): { readonly column: number; readonly row: number } | undefined {
  let column = 0
  let at = 0
  for (; at < text.length; at++) {
    const letter = text.charCodeAt(at) - 64
    if (letter < 1 || letter > 26) break
    column = column * 26 + letter
  }
  const digits = text.slice(at)
  const row = Number(digits)
  if (at === 0 || column > MOST_COLUMNS || !/^[1-9]\d{0,6}$/.test(digits) || row > MOST_ROWS) return undefined
  return { column: column - 1, row }
}

/** Letters of a column, from 0. */
export function columnName(column: number): string {
  let name = ''
  for (let rest = column + 1; rest > 0; rest = Math.floor((rest - 1) / 26))
    name = String.fromCharCode(65 + ((rest - 1) % 26)) + name
  return name
}

/** Corners of a range like `A1:F20`, or of one cell. */
export function rangeOf(text: string) {
  const [first = '', last = first] = text.replaceAll('$', '').split(':')
  const [from, to] = [addressOf(first), addressOf(last)]
  return from && to && { from, to }
}

/** Sums, counts and averages of a stretch of a column, or of a column of a table. */
const SUM =
  /^(?:SUM|SUBTOTAL|AGGREGATE|AVERAGE|COUNTA?|MIN|MAX|MEDIAN)\((?:\d+,)*(?:\$?([A-Z]+)\$?(\d+):\$?\1\$?(?!\2\))\d+|[^()[\]]*\[[^\]@]+\])\)$/i

/** The cell that is being read. */
interface OpenCell {
  column: number
  type: string
  style: string | undefined
  value: string | undefined
  inline: string | undefined
  formula: string | undefined
}

/**
 * @param facts filled in as the part is read
 * @throws Error with the reason
 */
export async function* readSheet(
  content: AsyncIterable<Buffer>,
  context: SheetContext,
  facts: SheetFacts,
): AsyncGenerator<readonly SheetRow[]> {
  const found: SheetRow[] = []
  const rows = collectRows(context, (row) => found.push(row))
  let isSheet = false
  const handler: XmlHandler = {
    open(name, attributes, depth) {
      if (depth === 1) {
        isSheet = name === 'worksheet'
        rows.rich.around(attributes)
      } else if (depth > 2) rows.open(name, attributes, depth, feed.position)
      else if (name === 'sheetData') rows.isOpen = true
      else if (name === 'dimension') facts.dimension = attributes['ref']
      else if (name === 'autoFilter') facts.isFiltered = true
      if (depth === 3 && name === 'mergeCell') {
        if (facts.merges.length === MOST_MERGES) throw new Error('it has more than 100000 merged cells')
        facts.merges.push(attributes['ref'] ?? '')
      }
    },
    text: (piece) => rows.text(piece),
    close(name, depth) {
      if (depth > 2) rows.close(name, depth)
      else if (name === 'sheetData') rows.isOpen = false
    },
  }
  const feed = createXmlFeed(handler)
  for await (const _ of feedXml(content, feed)) if (found.length > 0) yield found.splice(0)
  if (!isSheet) throw new Error('a sheet is no worksheet')
}

function collectRows({ forms, shared, epoch }: SheetContext, add: (row: SheetRow) => void) {
  const rich = richText()
  let line = 0
  let row = { offset: 0, isHidden: false, isMeasured: false, isSum: false }
  let problem: string | undefined
  let cells: string[] = []
  let characters = 0
  let column = -1
  let cell: OpenCell | undefined
  let into: 'value' | 'formula' | 'inline' | undefined

  const openRow = ({ r, hidden }: Attributes, offset: number): void => {
    line = r === undefined ? line + 1 : Number(r)
    if (!Number.isInteger(line) || line < 1 || line > MOST_ROWS)
      throw new Error('a row has a number that no row has')
    const isHidden = hidden === '1' || hidden === 'true'
    row = { offset, isHidden, isMeasured: false, isSum: false }
    problem = undefined
    cells = []
    characters = 0
    column = -1
  }
  const openCell = ({ r, s, t = 'n' }: Attributes): void => {
    const at = r === undefined ? { column: column + 1, row: line } : addressOf(r)
    if (at === undefined || at.column >= MOST_COLUMNS)
      throw new Error(`row ${line} has a cell with an address that is none`)
    column = at.column
    if (at.row !== line) problem ??= `a cell in it says that it is one of row ${at.row}`
    cell = { column, type: t, style: s, value: undefined, inline: undefined, formula: undefined }
  }
  const closeCell = ({ column: at, type, style, value, inline, formula }: OpenCell): void => {
    const form = (style === undefined ? forms[0] : forms[Number(style)]) ?? PLAIN
    const stored = { type, value, inline, hasFormula: formula !== undefined, form }
    const text = cellText(stored, shared, epoch)
    if (cells[at] !== undefined) problem ??= `the cell ${columnName(at)}${line} stands in it twice`
    cells[at] = text
    characters += text.length
    if (characters > ROW_CHARACTERS) throw new Error(`row ${line} is larger than 16 MiB`)
    if (value !== undefined && (type === 'n' || type === 'b' || type === 'd')) row.isMeasured = true
    if (formula !== undefined && formula.length < 200 && SUM.test(formula)) row.isSum = true
  }
  const closeRow = (): void => {
    let length = cells.length
    while (length > 0 && (cells[length - 1] ?? '').trim() === '') length--
    if (length === 0) return
    const filled = Array.from({ length }, (_, at) => cells[at] ?? '')
    add({ line, ...row, cells: filled, problem })
  }
  return {
    rich,
    isOpen: false,
    open(name: string, attributes: Attributes, depth: number, offset: number): void {
      if (!this.isOpen) return
      if (depth === 3 && name === 'row') openRow(attributes, offset)
      else if (depth === 4 && name === 'c') openCell(attributes)
      else if (cell === undefined) return
      else if (depth > 5) rich.open(name, attributes)
      else if (name === 'v') {
        into = 'value'
        cell.value ??= ''
      } else if (name === 'f') {
        into = 'formula'
        cell.formula ??= ''
      } else if (name === 'is') {
        into = 'inline'
        rich.begin(attributes)
      }
    },
    text(piece: string): void {
      if (cell === undefined || into === undefined) return
      if (into === 'inline') rich.text(piece)
      else cell[into] += piece
    },
    close(name: string, depth: number): void {
      if (!this.isOpen) return
      if (depth > 5) rich.close(name)
      else if (depth === 5 && cell !== undefined) {
        if (into === 'inline') cell.inline = rich.end()
        into = undefined
      } else if (depth === 4 && cell !== undefined) {
        closeCell(cell)
        cell = undefined
      } else if (depth === 3 && name === 'row') closeRow()
    },
  }
}
