/**
 * CSV as Waybill writes it (RFC 4180), of which no spreadsheet program takes a cell for a formula: one with a sign of formulas at its start, or
 * behind what such a program may take for the end of a cell, gets an apostrophe there.
 */

/** Signs of formulas, in full width, too; at the start of a cell also blanks that programs pass over. Apostrophes that stood there count. */
const SIGN = String.raw`'*[=+\-@\uff1d\uff0b\uff0d\uff20]`
const BEHIND = String.raw`(?<=[;\t\r\n])`
const START = String.raw`^(?='*[\t\r\n]|${SIGN})`
const BARE = new RegExp(`${START}|${BEHIND}(?=${SIGN})`, 'g')
const GUARDED = new RegExp(`^'(?='*[\\t\\r\\n]|${SIGN})|${BEHIND}'(?=${SIGN})`, 'g')
const NUMBER = /^-?\d+(?:\.\d+)?$/

/** As it is written. */
export const inert = (cell: string): string => cell.replace(BARE, "'")

/** As it came. */
export const revived = (cell: string): string => cell.replace(GUARDED, '')

const quoted = (cell: string): string => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)

/** Cells of a line, without its end. @param areNumbersPlain whether a negative number stays one; it is not revived then */
export const csvCells = (cells: readonly string[], areNumbersPlain = false): string =>
  cells.map((cell) => quoted(areNumbersPlain && NUMBER.test(cell) ? cell : inert(cell))).join(',')
