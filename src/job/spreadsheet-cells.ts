/**
 * Cells that a spreadsheet program would take for a formula, made into plain text and back. A cell that begins like a formula gets an
 * apostrophe in front (OWASP, "CSV Injection"), and so does one that begins with apostrophes and then like a formula: so each comes back as
 * it was, also where whoever corrects it has taken the apostrophe away or written it anew without one.
 */

const LIKE_FORMULA = /^'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/

/** As it is written. */
export const inert = (cell: string): string => (LIKE_FORMULA.test(cell) ? `'${cell}` : cell)

/** As it came. */
export const revived = (cell: string): string =>
  cell.startsWith("'") && LIKE_FORMULA.test(cell) ? cell.slice(1) : cell
