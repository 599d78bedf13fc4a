/** Text for terminals: tables no wider than the terminal, and folded lines. */
import Table from 'cli-table3'
import { counted, type Line, shown, type Tone } from './shown-text.ts'

/** Least width to cut the last column to: below, the column is dropped. */
const NARROWEST = 24

const PADDING = 2

/** Blanks before commands, and before the lines below a row. */
const INDENT = 4

/**
 * Lines of a table without rules, a line for each row. A narrow terminal drops columns from the right, and cuts the last of the others: never within
 * a word, as half an id cannot be typed. The first column stays. The closing line counts the dropped columns.
 * @param columns of the terminal; undefined to drop and cut nothing
 */
export function fittedTable(
  head: readonly string[],
  given: readonly (readonly string[])[],
  numbers: Numbers,
  columns: number | undefined,
): string[] {
  const rows = given.map((cells) => cells.map(shown))
  const room = columns ?? Number.POSITIVE_INFINITY
  const widths = head.map((name, at) => PADDING + longest([name, ...rows.map((cells) => cells[at] ?? '')]))
  // A blank separates two columns.
  const widthOf = (count: number): number =>
    widths.slice(0, count).reduce((sum, width) => sum + width + 1, -1)
  let kept = head.length
  while (kept > 1 && widthOf(kept - 1) + 1 + Math.min(widths[kept - 1] ?? 0, NARROWEST) > room) kept--
  const last = kept === 1 ? Number.POSITIVE_INFINITY : room - widthOf(kept - 1) - 1 - PADDING
  const fitted = (cells: readonly string[]): string[] => [
    ...cells.slice(0, kept - 1),
    cutToWords(cells[kept - 1] ?? '', last),
  ]
  const lines = linesOf(fitted(head), rows.map(fitted), numbers)
  const dropped = head.length - kept
  return dropped === 0 ? lines : [...lines, ` (${counted(dropped, 'more column')} in a wider terminal)`]
}

/** Cuts a text at the end of a word. */
function cutToWords(text: string, width: number): string {
  if (text.length <= width) return text
  const end = text.lastIndexOf(' ', width - ELLIPSIS.length - 1)
  return `${text.slice(0, Math.max(0, end))} ${ELLIPSIS}`.trimStart()
}

const ELLIPSIS = '…'

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

/** Colours each row by the text of its first column. @param tones by the text of the first column */
export const tonedRows = (lines: readonly string[], tones: ReadonlyMap<string, Tone>): Line[] =>
  lines.map((text) => {
    const tone = tones.get(text.trimStart().split(' ', 1)[0] ?? '')
    return tone === undefined ? text : { text, tone }
  })

const longest = (texts: readonly string[]): number => Math.max(...texts.map(({ length }) => length))

/** Columns of numbers: all but the first, the first alone, none, a range, or places from 0. */
type Numbers = 'rest' | 1 | 'none' | { readonly from: number; readonly to: number } | readonly number[]

function isNumber(numbers: Numbers, at: number): boolean {
  if (typeof numbers !== 'object') return numbers === (at === 0 ? 1 : 'rest')
  return 'from' in numbers ? numbers.from <= at && at <= numbers.to : numbers.includes(at)
}

const NO_LINES = Object.fromEntries(
  ['top', 'bottom', 'left', 'mid', 'right'].flatMap((side) =>
    [side, `${side}-mid`, `${side}-left`, `${side}-right`].map((place) => [place, '']),
  ),
)

function linesOf(head: readonly string[], rows: readonly (readonly string[])[], numbers: Numbers): string[] {
  const table = new Table({
    head: [...head],
    colAligns: head.map((_, at) => (isNumber(numbers, at) ? 'right' : 'left')),
    style: { head: [], border: [], 'padding-left': 1, 'padding-right': 1, compact: true },
    chars: { ...NO_LINES, middle: ' ' },
  })
  for (const cells of rows) table.push([...cells])
  return table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
}

/** `5 min`, `3 h`, `12 d`. */
export function ageText(ms: number): string {
  const minutes = Math.max(0, Math.floor(ms / 60_000))
  if (minutes < 60) return `${minutes} min`
  return minutes < 48 * 60 ? `${Math.floor(minutes / 60)} h` : `${Math.floor(minutes / 1440)} d`
}
