/**
 * Survey of a sheet before its rows are read. Merged cells, filters and checksums follow the rows but concern all of them, and another
 * table may follow below. Doubts are reported or refused, never guessed.
 */
import type { WaybillError } from '../model/errors.ts'
import { exportError } from './content.ts'
import type { XlsxDefinition } from './read-definition.ts'
import { columnName, MOST_ROWS, rangeOf, type SheetFacts, type SheetRow } from './xlsx-sheet.ts'

/** The header of a sheet. */
export interface Top {
  readonly columns: readonly string[]
  /** Number of the row; 0 for no header. */
  readonly line: number
}

export interface Survey {
  /** Offset of the first row that is not read. */
  readonly end: number
  /** Row numbers that occur more than once. */
  readonly repeated: ReadonlySet<number>
  /** See `OpenFormat`. */
  readonly notes: readonly string[]
}

/** Tells data rows from the header and the skipped rows, in the order of the part. */
export function dataFilter({ header }: XlsxDefinition, top: Top): (row: SheetRow) => boolean {
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
  /** Rows before. */
  readonly before: number
}

const isFilled = (cell: string | undefined): boolean => (cell ?? '').trim() !== ''

/** @throws WaybillError `export-unreadable` for ambiguous rows or columns */
export function createSurveyor(path: string, read: XlsxDefinition, { columns, line: headerLine }: Top) {
  const seen = new Uint8Array(MOST_ROWS / 8 + 1)
  const repeated = new Set<number>()
  const counted = { rows: 0, hidden: 0, gaps: 0, unordered: 0, last: 0, widest: columns.length }
  /** Number of values by column without a name. */
  const nameless = new Map<number, number>()
  for (const [at, name] of columns.entries()) if (name === '') nameless.set(at, 0)
  const totals: Sign[] = []
  let firstGap: Sign | undefined
  let [apart, measured] = [0, true]

  /** True if a row below a blank one begins something else: a header, a title, a note. */
  const isApart = (cells: readonly string[]): boolean => {
    const filled = cells.filter(isFilled).length
    const isHeader = columns.every((name, at) => name === (cells[at] ?? '').trim())
    return (filled === 1 && columns.length > 2) || isHeader || (measured && !/\d/.test(cells.join()))
  }
  const look = ({ line, offset, cells, isHidden, isSum }: SheetRow): void => {
    const [byte, bit] = [line >> 3, 1 << (line & 7)]
    if (((seen[byte] ?? 0) & bit) !== 0) repeated.add(line)
    seen[byte] = (seen[byte] ?? 0) | bit
    const isBelowGap = counted.last > 0 && line > counted.last + 1
    const filled = cells.filter(isFilled)
    const isTotal = isSum || (TOTALS.test(filled[0]?.trim() ?? '') && filled.length < columns.length)
    const sign = { line, offset, before: counted.rows++ }
    if (isTotal && totals.length <= MOST_TOTALS) totals.push(sign)
    if (isBelowGap) {
      counted.gaps++
      firstGap ??= sign
      if (apart === 0 && isApart(cells)) apart = line
    }
    measured &&= /\d/.test(cells.join())
    for (const [at, values] of nameless) if (isFilled(cells[at])) nameless.set(at, values + 1)
    if (isHidden) counted.hidden++
    if (line < counted.last) counted.unordered++
    counted.widest = Math.max(counted.widest, cells.length)
    counted.last = Math.max(counted.last, line)
  }
  return {
    look,
    /** Call after the last row. @param tables declared in the sheet */
    end({ dimension, merges, isFiltered }: SheetFacts, tables: number): Survey {
      const [total] = totals.length > MOST_TOTALS ? [] : totals
      if (read.below === undefined && (apart > 0 || total !== undefined))
        throw belowTable(path, apart, total?.line ?? 0)
      const places = read.below === 'nothing' ? [firstGap, total].flatMap((one) => one ?? []) : []
      const [cut] = places.sort((a, b) => a.offset - b.offset)
      const [, to] = rangeOf(dimension) ?? []
      const isShort = to !== undefined && (to.row < counted.last || to.column < counted.widest - 1)
      const merged = merges.filter((written) => {
        const [from, until] = rangeOf(written) ?? []
        return (
          from && until && from.row <= headerLine && until.row >= headerLine && from.column < until.column
        )
      })
      const unnamed = [...nameless].flatMap(([at, values]) => (values > 0 ? [columnName(at)] : []))
      if (merged.length > 0 && unnamed.length > 0 && read.columns === undefined)
        throw mergedHeader(path, headerLine, merged, unnamed)
      const empty = [...nameless].find(([at, values]) => values === 0 && isFilled(columns[at + 1]))
      const notes = notesOf({
        counted,
        cut,
        firstGap,
        merged,
        unnamed,
        isFiltered,
        tables,
        isShort,
        dimension,
        hasEmpty: empty !== undefined,
        repeated: repeated.size,
      })
      const end = cut?.offset ?? Number.POSITIVE_INFINITY
      return { end, repeated, notes }
    },
  }
}

interface Noticed {
  readonly counted: {
    readonly rows: number
    readonly hidden: number
    readonly gaps: number
    readonly unordered: number
  }
  /** Place at which the table ends, by `read.below`. */
  readonly cut: Sign | undefined
  readonly firstGap: Sign | undefined
  readonly merged: readonly string[]
  readonly unnamed: readonly string[]
  readonly isFiltered: boolean
  readonly tables: number
  /** The declared range ends before the rows. */
  readonly isShort: boolean
  readonly dimension: SheetFacts['dimension']
  readonly hasEmpty: boolean
  /** Rows whose number comes again. */
  readonly repeated: number
}

/** Notes on a sheet that is read all the same. */
function notesOf(noticed: Noticed): string[] {
  const { counted, cut, firstGap, merged, unnamed, isFiltered, tables, isShort, dimension } = noticed
  const { hasEmpty, repeated } = noticed
  const all: [boolean, string][] = [
    [counted.hidden > 0, `${counted.hidden} rows are hidden; they are read like the others`],
    [isFiltered, 'a filter is set; rows that it hides are read'],
    [merged.length > 0, `cells of the header are merged: ${listed(merged)}`],
    [unnamed.length > 0, `columns without a name have values, which are not read: ${listed(unnamed)}`],
    [hasEmpty, 'columns follow an empty one: they may be another table'],
    [tables > 1, `the sheet has ${tables} tables`],
    [
      counted.gaps > 0 && cut === undefined,
      `rows continue below blank ones ${counted.gaps} times, first in row ${firstGap?.line}`,
    ],
    [
      cut !== undefined,
      `${counted.rows - (cut?.before ?? 0)} rows below the table are not read because of read.below`,
    ],
    [isShort, `the sheet declares the range ${dimension}, but rows continue beyond; all are read`],
    [counted.unordered > 0, `${counted.unordered} rows are not in the order of their numbers`],
    [repeated > 0, `the numbers of ${repeated} rows are repeated`],
  ]
  return all.flatMap(([holds, text]) => (holds ? [text] : []))
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
