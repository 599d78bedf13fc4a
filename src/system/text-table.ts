/** Text for terminals: tables without lines, no wider than the terminal, and folded lines. */
import Table from 'cli-table3'
import { type Line, shown, type Tone } from './shown-text.ts'

/** Least width of a column of words: below, a column would have a few letters a line. */
const NARROWEST = 24

/** Blanks beside each column. */
const PADDING = 2

/** Blanks before the lines below a row. */
const INDENT = 4

/** Lines of a table without rules; numbers are aligned to the right. */
export function plainTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  numbers: Numbers = 'rest',
): string[] {
  return linesOf(head, rows.map(shownCells), numbers)
}

/**
 * Lines of a table, no longer than `columns`. Wraps the last column. If its width is too small, keeps the columns that fit, and puts the others below
 * each row with their names. Never breaks a word, as half an id cannot be typed.
 * @param columns of the terminal; undefined to wrap and cut nothing
 */
export function fittedTable(
  head: readonly string[],
  given: readonly (readonly string[])[],
  numbers: Numbers,
  columns: number | undefined,
): string[] {
  const rows = given.map(shownCells)
  const room = columns ?? Number.POSITIVE_INFINITY
  const cellsAt = (at: number): string[] => [head, ...rows].map((cells) => cells[at] ?? '')
  const widths = head.map((_, at) => PADDING + longest(cellsAt(at)))
  // One blank separates two columns.
  const widthOf = (count: number): number =>
    widths.slice(0, count).reduce((sum, width) => sum + width + 1, -1)
  const others = widthOf(head.length - 1) + 1
  const words = cellsAt(head.length - 1).flatMap((cell) => cell.split(' '))
  const least = Math.min(widths.at(-1) ?? 0, Math.max(NARROWEST, PADDING + longest(words)))
  if (others + least <= room) {
    const last = Math.min(widths.at(-1) ?? 0, room - others)
    return linesOf(head, rows, numbers, { colWidths: [...widths.slice(0, -1), last], wordWrap: true })
  }
  const fitting = head.findIndex((_, at) => widthOf(at + 1) > room)
  return withTheRestBelow(head, rows, numbers, { stay: Math.max(1, fitting), room })
}

/** @param stay number of columns to keep beside each other */
function withTheRestBelow(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  numbers: Numbers,
  { stay, room }: { readonly stay: number; readonly room: number },
): string[] {
  const beside = rows.map((cells) => cells.slice(0, stay))
  const [names = '', ...lines] = linesOf(head.slice(0, stay), beside, numbers)
  const below = rows.map((cells) =>
    head
      .map((name, at) => (at < stay || cells[at] === '' ? '' : `${name} ${cells[at]}`))
      .filter((words) => words !== '')
      .join('; '),
  )
  const width = Math.max(NARROWEST + INDENT, room)
  return [
    names,
    ...lines.flatMap((line, at) => {
      const words = below[at] ?? ''
      return words === '' ? [line] : [line, ...wrapped(words, width, INDENT)]
    }),
  ]
}

/** Width of the label at the start of a line: `Because  `, or blanks. */
const LABEL = 9

/**
 * Folds lines to the width of a terminal; the rest of a line goes below its words. Commands stay whole, to be copied.
 * @param columns undefined to fold nothing
 * @param hang blanks before the rest of a line that begins with a word
 */
export function folded(lines: readonly string[], columns: number | undefined, hang = LABEL): string[] {
  if (columns === undefined) return [...lines]
  return lines.flatMap((line) => {
    const lead = line.search(/\S/)
    if (line.length <= columns || lead === INDENT) return [line]
    return wrapped(line.trimStart(), columns, lead, lead === 0 ? hang : lead)
  })
}

/** Wraps words. @param lead blanks before the first line @param hang blanks before the others */
function wrapped(text: string, width: number, lead: number, hang = lead): string[] {
  const [first = '', ...words] = text.split(' ')
  const lines = [' '.repeat(lead) + first]
  for (const word of words) {
    const last = lines.at(-1) ?? ''
    if (last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(' '.repeat(hang) + word)
  }
  return lines
}

/** Colours each row, with all its lines, by the text of its first column. @param tones by the text of the first column */
export function tonedRows(lines: readonly string[], tones: ReadonlyMap<string, Tone>): Line[] {
  let tone: Tone | undefined
  return lines.map((text) => {
    const [first = ''] = text.trimStart().split(' ', 1)
    if (!text.startsWith(' '.repeat(INDENT))) tone = tones.get(first) ?? tone
    return tone === undefined ? text : { text, tone }
  })
}

const longest = (texts: readonly string[]): number => Math.max(...texts.map(({ length }) => length))

/** Columns of numbers: all but the first, the first alone, none, or a range. */
type Numbers = 'rest' | 1 | 'none' | { readonly from: number; readonly to: number }

const isNumber = (numbers: Numbers, at: number): boolean =>
  typeof numbers === 'object' ? numbers.from <= at && at <= numbers.to : numbers === (at === 0 ? 1 : 'rest')

/** Cells in one line each, until the table wraps them. */
const shownCells = (cells: readonly string[]): string[] => cells.map(shown)

const NO_LINES = Object.fromEntries(
  ['top', 'bottom', 'left', 'mid', 'right'].flatMap((side) =>
    [side, `${side}-mid`, `${side}-left`, `${side}-right`].map((place) => [place, '']),
  ),
)

function linesOf(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  numbers: Numbers,
  options: Table.TableConstructorOptions = {},
): string[] {
  const table = new Table({
    ...options,
    head: [...head],
    colAligns: head.map((_, at) => (isNumber(numbers, at) ? 'right' : 'left')),
    style: { head: [], border: [], 'padding-left': 1, 'padding-right': 1, compact: true },
    chars: { ...NO_LINES, middle: ' ' },
  })
  for (const cells of rows) table.push([...cells])
  return table.toString().split('\n')
}

/** `5 min`, `3 h`, `12 d`. */
export function ageText(ms: number): string {
  const minutes = Math.max(0, Math.floor(ms / 60_000))
  if (minutes < 60) return `${minutes} min`
  return minutes < 48 * 60 ? `${Math.floor(minutes / 60)} h` : `${Math.floor(minutes / 1440)} d`
}
