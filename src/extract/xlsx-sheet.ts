/** Streams the rows of a worksheet (18.3.1.99), and collects facts about the sheet around them. */
import { cellText, type Epoch, type NumberForm, PLAIN, type SharedText } from './xlsx-cells.ts'
import { createText } from './xlsx-parts.ts'
import { type Attributes, readingXml } from './xlsx-xml.ts'

/** A row with content. */
export interface SheetRow {
  /** Number of the row, from 1. */
  readonly line: number
  /** Place in the part, in characters. */
  readonly offset: number
  readonly isHidden: boolean
  /** Texts (`cellText`) from column A to the last one with content. */
  readonly cells: readonly string[]
  /** Reason why the row is ambiguous. */
  readonly problem: string | undefined
  /** A formula aggregates cells of several rows. */
  readonly isSum: boolean
}

/** Filled in while a sheet is read. */
export interface SheetFacts {
  /** Declared range. */
  dimension: string
  /** Ranges of merged cells. */
  merges: string[]
  /** A filter may hide rows. */
  isFiltered: boolean
}

/** References of cells. */
export interface SheetContext {
  readonly forms: readonly NumberForm[]
  readonly shared: SharedText
  readonly epoch: Epoch
}

export const MOST_ROWS = 1_048_576
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

/** Letters of a column, from 0. */
export const columnName = (column: number): string =>
  (column < 26 ? '' : columnName(Math.floor(column / 26) - 1)) + String.fromCharCode(65 + (column % 26))

/** Corners of a range like `A1:F20`, or of one cell. */
export function rangeOf(text: string): readonly [from: Address, to: Address] | undefined {
  const [first = '', last = first] = text.replaceAll('$', '').split(':')
  const [from, to] = [addressOf(first), addressOf(last)]
  return from && to && [from, to]
}

/** Sums, counts and averages of a stretch of a column, or of a column of a table. */
const SUM =
  /^(?:SUM|SUBTOTAL|AGGREGATE|AVERAGE|COUNTA?|MIN|MAX|MEDIAN)\((?:\d+,)*(?:\$?([A-Z]+)\$?(\d+):\$?\1\$?(?!\2\))\d+|[^()[\]]*\[[^\]@]+\])\)$/i

/** @throws Error with the reason */
export async function* readSheet(
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
    ;[cells, characters, column] = [[], 0, -1]
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
    const text = cellText({ type: cell['t'] ?? 'n', value, inline: is, hasFormula, form }, shared, epoch)
    cells[column] = text
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
    found.push({ line, offset, isHidden, cells, problem, isSum })
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
