/**
 * A sheet is looked through before its rows are read: what is written behind them (merged cells, filters, checksums) concerns them all, and
 * what stands below a table may be another one. What is in doubt is told or refused, never guessed.
 */
import { WaybillError } from '../model/errors.ts'
import { missing, trailerLength } from './csv-layout.ts'
import type { XlsxDefinition } from './read-definition.ts'
import { columnName, MOST_ROWS, rangeOf, type SheetFacts, type SheetRow } from './xlsx-sheet.ts'

/** The header as it was found; of `header: none`, nothing stands before the rows. */
export interface Top {
  readonly columns: readonly string[]
  /** Number of the header's row; 0 where there is none. */
  readonly line: number
}

export interface Survey {
  /** Data rows. */
  readonly rows: number
  /** Where the rows end, as an offset: what stands there is none. */
  readonly end: number
  /** Cells of the trailer's first row. */
  readonly trailer: readonly string[] | undefined
  /** Numbers of rows that come more than once. */
  readonly repeated: ReadonlySet<number>
  readonly notes: readonly string[]
}

/** Takes the rows of the data, in the order of the part: those below the header and what is skipped under it. */
export function dataFilter({ header }: XlsxDefinition, top: Top): (row: SheetRow) => boolean {
  let skip = header === 'none' ? 0 : header.skip
  return ({ line }) => line > top.line && skip-- <= 0
}

/** Rows among which a trailer is looked for. */
const MOST_TRAILING = 100
/** So many rows may be totals; a word that begins more of them means something else. */
const MOST_TOTALS = 3
const TOTALS = /^(?:grand |sub-? ?)?(?:totals?|sums?|gesamt(?:summe)?|zwischensumme|summe|somme|suma|soma)\b/i

const filledIn = (cells: readonly string[]): string[] => cells.filter((cell) => cell.trim() !== '')

function isTotals({ cells, isSum }: SheetRow, width: number): boolean {
  const filled = filledIn(cells)
  return isSum || (TOTALS.test(filled[0]?.trim() ?? '') && filled.length <= width / 2)
}

/** Something that is known by its row. */
interface Sign {
  readonly line: number
  readonly offset: number
}

/** Looks at data rows, one after the other. */
export interface Surveyor {
  look(row: SheetRow): void
  /** After the last row. @throws WaybillError `export-unreadable` where nobody can tell which rows are meant */
  end(facts: SheetFacts, tables: readonly string[]): Survey
}

export function createSurveyor(path: string, read: XlsxDefinition, top: Top): Surveyor {
  const { columns } = top
  const seen = new Uint8Array(MOST_ROWS / 8 + 1)
  const repeated = new Set<number>()
  const counted = { rows: 0, hidden: 0, gaps: 0, cut: 0, unordered: false, widest: columns.length, last: 0 }
  /** Values below columns without a name. */
  const nameless = new Map(columns.flatMap((name, at) => (name === '' ? [[at, 0] as [number, number]] : [])))
  const totals: Sign[] = []
  const apart: Sign[] = []
  const trailing: (SheetRow & { readonly before: number })[] = []
  let [firstGap, end, measured] = [0, Number.POSITIVE_INFINITY, true]

  const note = (line: number): void => {
    const mask = 1 << (line & 7)
    if (((seen[line >> 3] ?? 0) & mask) !== 0) repeated.add(line)
    seen[line >> 3] = (seen[line >> 3] ?? 0) | mask
  }
  /** Below a blank row: whether something else begins there. */
  const isApart = ({ cells, isMeasured }: SheetRow): boolean => {
    const filled = filledIn(cells)
    if (filled.length === 1) return columns.length > 2
    if (cells.every((cell, at) => cell.trim() === (columns[at] ?? ''))) return true
    return measured && !isMeasured && !filled.some((cell) => /\d/.test(cell))
  }
  return {
    look(row) {
      const { line, offset, cells, isHidden, isMeasured } = row
      note(line)
      const isBelowGap = counted.last > 0 && line > counted.last + 1
      const isTotal = isTotals(row, columns.length)
      if (read.below === 'nothing' && end === Number.POSITIVE_INFINITY && (isBelowGap || isTotal))
        end = offset
      if (offset >= end) {
        counted.cut++
        return
      }
      if (line < counted.last) counted.unordered = true
      if (isTotal && totals.length <= MOST_TOTALS) totals.push({ line, offset })
      if (isBelowGap) {
        counted.gaps++
        firstGap ||= counted.last
        if (isApart(row) && apart.length === 0) apart.push({ line, offset })
      }
      measured &&= isMeasured || cells.some((cell) => /\d/.test(cell))
      for (const at of nameless.keys())
        if ((cells[at] ?? '').trim() !== '') nameless.set(at, (nameless.get(at) ?? 0) + 1)
      trailing.push({ ...row, before: counted.rows })
      if (trailing.length > MOST_TRAILING) trailing.shift()
      counted.rows++
      if (isHidden) counted.hidden++
      counted.widest = Math.max(counted.widest, cells.length)
      counted.last = Math.max(counted.last, line)
    },
    end(facts, tables) {
      const trailer = read.trailer === undefined ? [] : trailerOf(path, read.trailer, trailing)
      const [first] = trailer
      const rows = first?.before ?? counted.rows
      end = Math.min(end, first?.offset ?? end)
      if (read.below === undefined) refuseSigns(path, totals, apart, end)
      refuseMerged(path, read, top, nameless, facts)
      return {
        ...{ rows, end, repeated, trailer: first?.cells },
        notes: [
          ...notesOf(counted, firstGap, repeated, facts, top),
          ...columnNotes(columns, nameless, tables),
        ],
      }
    },
  }
}

/** @throws WaybillError `export-unreadable` */
function trailerOf<Kept extends SheetRow>(
  path: string,
  trailer: NonNullable<XlsxDefinition['trailer']>,
  rows: readonly Kept[],
): readonly Kept[] {
  const length = trailerLength(
    trailer,
    rows.map(({ cells }) => filledIn(cells).join(',')),
  )
  if (length === 0 || length > rows.length)
    throw missing(path, 'does not end with the trailer that `read.trailer` describes: it may be cut off')
  return rows.slice(-length)
}

/** @throws WaybillError `export-unreadable` */
function refuseSigns(path: string, totals: readonly Sign[], apart: readonly Sign[], end: number): void {
  const total = totals.length > MOST_TOTALS ? undefined : totals.find(({ offset }) => offset < end)
  const other = apart.find(({ offset }) => offset < end)
  const sign = other ?? total
  if (sign === undefined) return
  const what =
    sign === other
      ? 'another table, or a note, seems to begin below a blank row'
      : 'a line of totals seems to stand below the rows'
  throw new WaybillError('export-unreadable', `In the sheet ${what}, in row ${sign.line}.`, {
    place: { file: path, line: sign.line },
    remedy:
      'Say in the mapping what stands there: `read.below: nothing` reads none of it, `read.below: rows` takes it for rows like those above, `read.trailer: { match: … }` or `{ lines: … }` names what each file ends with.',
  })
}

/** @throws WaybillError `export-unreadable` where columns with values have lost their names to the cell beside them */
function refuseMerged(
  path: string,
  { columns }: XlsxDefinition,
  { line }: Top,
  nameless: ReadonlyMap<number, number>,
  { merges }: SheetFacts,
): void {
  if (columns !== undefined || line === 0) return
  for (const written of merges) {
    const range = rangeOf(written)
    if (range === undefined || range.from.row > line || range.to.row < line) continue
    for (const [at, values] of nameless)
      if (values > 0 && at > range.from.column && at <= range.to.column)
        throw new WaybillError(
          'export-unreadable',
          `Cells of the header are merged (${written}), and column ${columnName(at)} has values and no name.`,
          {
            place: { file: path, line },
            remedy:
              'Name all columns in the mapping, from A on: `read.columns: [ … ]` stands in place of the names in the header. Where another row has the names, say so in `read.header.line`.',
          },
        )
  }
}

function notesOf(
  counted: Readonly<Record<'hidden' | 'gaps' | 'cut' | 'widest' | 'last', number>> & {
    readonly unordered: boolean
  },
  firstGap: number,
  repeated: ReadonlySet<number>,
  { dimension, merges, isFiltered }: SheetFacts,
  { line }: Top,
): string[] {
  const declared = dimension === undefined ? undefined : rangeOf(dimension)
  const isDeclaredShort =
    declared !== undefined && (declared.to.row < counted.last || declared.to.column < counted.widest - 1)
  const inHeader = merges.filter((written) => {
    const range = rangeOf(written)
    return line > 0 && range !== undefined && range.from.row <= line && range.to.row >= line
  })
  return [
    ...(counted.hidden === 0 ? [] : [`${counted.hidden} rows are hidden; they are read like the others`]),
    ...(isFiltered ? ['a filter is set; rows that it hides are read'] : []),
    ...(inHeader.length === 0 ? [] : [`cells of the header are merged: ${inHeader.slice(0, 5).join(', ')}`]),
    ...(counted.gaps === 0
      ? []
      : [`rows go on below blank rows ${counted.gaps} times, first below row ${firstGap}`]),
    ...(counted.cut === 0 ? [] : [`${counted.cut} rows below the table are not read, as read.below says`]),
    ...(isDeclaredShort
      ? [`the sheet declares the range ${dimension}; its rows go on beyond that, and all are read`]
      : []),
    ...(counted.unordered ? ['rows are not in the order of their numbers'] : []),
    ...(repeated.size === 0 ? [] : [`the numbers of ${repeated.size} rows come more than once`]),
  ]
}

function columnNotes(
  columns: readonly string[],
  nameless: ReadonlyMap<number, number>,
  tables: readonly string[],
): string[] {
  const unnamed = [...nameless].flatMap(([at, values]) => (values > 0 ? [columnName(at)] : []))
  const empty = [...nameless].find(([at, values]) => values === 0 && at > 0)?.[0]
  const isApart = empty !== undefined && columns.slice(empty + 1).filter((name) => name !== '').length > 1
  return [
    ...(unnamed.length === 0
      ? []
      : [`columns without a name have values, which nothing can read: ${unnamed.slice(0, 20).join(', ')}`]),
    ...(isApart
      ? [`columns from ${columnName(empty + 1)} on stand behind an empty one: they may be another table`]
      : []),
    ...(tables.length > 1 ? [`the sheet has ${tables.length} tables: ${tables.slice(0, 5).join(', ')}`] : []),
  ]
}
