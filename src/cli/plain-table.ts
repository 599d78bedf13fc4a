/** Tables for people: columns without lines, and where the output is a terminal no wider than that. */
import Table from 'cli-table3'

/** Of the column that is fitted: a narrower one would be read letter by letter. */
const NARROWEST = 24

/** Blanks beside each column. */
const PADDING = 2

/** A table without lines; numbers stand to the right. */
export function plainTable(head: readonly string[], numbers: Numbers = 'rest'): Table.Table {
  return tableOf(head, numbers, {})
}

/**
 * The same, whose last column is wrapped so that the lines are no longer than that.
 * @param columns of the terminal; undefined: nothing is wrapped, and nothing is ever cut
 */
export function fittedTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  numbers: Numbers,
  columns: number | undefined,
): string {
  const widths = head.map(
    (_, at) => PADDING + Math.max(...[head, ...rows].map((cells) => cells[at]?.length ?? 0)),
  )
  // And one blank between two columns.
  const others = widths.slice(0, -1).reduce((sum, width) => sum + width + 1, 0)
  const last = Math.min(
    widths.at(-1) ?? 0,
    Math.max(NARROWEST, (columns ?? Number.POSITIVE_INFINITY) - others),
  )
  const table = tableOf(head, numbers, { colWidths: [...widths.slice(0, -1), last], wordWrap: true })
  for (const cells of rows) table.push([...cells])
  return table.toString()
}

/** Which columns they stand in: all but the first, that one alone, none, or a range. */
type Numbers = 'rest' | 1 | 'none' | { readonly from: number; readonly to: number }

const isNumber = (numbers: Numbers, at: number): boolean =>
  typeof numbers === 'object' ? numbers.from <= at && at <= numbers.to : numbers === (at === 0 ? 1 : 'rest')

const tableOf = (
  head: readonly string[],
  numbers: Numbers,
  options: Table.TableConstructorOptions,
): Table.Table =>
  new Table({
    ...options,
    head: [...head],
    colAligns: head.map((_, at) => (isNumber(numbers, at) ? 'right' : 'left')),
    style: { head: [], border: [], 'padding-left': 1, 'padding-right': 1, compact: true },
    chars: {
      top: '',
      'top-mid': '',
      'top-left': '',
      'top-right': '',
      bottom: '',
      'bottom-mid': '',
      'bottom-left': '',
      'bottom-right': '',
      left: '',
      'left-mid': '',
      mid: '',
      'mid-mid': '',
      right: '',
      'right-mid': '',
      middle: ' ',
    },
  })
