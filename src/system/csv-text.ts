/**
 * CSV as Waybill writes it (RFC 4180), safe from formulas: a sign of formulas gets an apostrophe in front at the start of a cell, and behind each
 * character that a spreadsheet program may take for the end of a cell.
 */

/** Signs of formulas, also in full width, behind any apostrophes of the cell. Programs skip tabs and line ends at the start of a cell. */
const SIGN = String.raw`'*[=+\-@\uff1d\uff0b\uff0d\uff20]`
const BEHIND = String.raw`(?<=[;\t\r\n])`
const START = String.raw`^(?='*[\t\r\n]|${SIGN})`
const BARE = new RegExp(`${START}|${BEHIND}(?=${SIGN})`, 'g')
const GUARDED = new RegExp(`^'(?='*[\\t\\r\\n]|${SIGN})|${BEHIND}'(?=${SIGN})`, 'g')
const NUMBER = /^-?\d+(?:\.\d+)?$/

/** Cell with the apostrophes. */
export const inert = (cell: string): string => cell.replace(BARE, "'")

/** Cell without the apostrophes of `inert`. */
export const revived = (cell: string): string => cell.replace(GUARDED, '')

const quoted = (cell: string): string => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)

/** Line of cells, without the line end. @param areNumbersPlain leaves negative numbers without apostrophe */
export const csvCells = (cells: readonly string[], areNumbersPlain = false): string =>
  cells.map((cell) => quoted(areNumbersPlain && NUMBER.test(cell) ? cell : inert(cell))).join(',')
