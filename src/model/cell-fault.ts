/**
 * Cell of a workbook without a readable value. A marker replaces the text, and survives the way into a rejects file and back: either the
 * error of a formula (`#N/A`), or the reason why the cell cannot be read, followed by the stored text.
 */
import { type Fault, fault, HIDES_TEXT } from './record.ts'

const INVALID_MARK = '#INVALID! '
const DIGITS_MARK = '#DIGITS! '

/** Marker of a formula that no program has computed. */
export const NOT_COMPUTED = '#NOT-COMPUTED!'

/** @param stored text of the cell: a date that does not exist, or not a number */
export const invalidCell = (stored: string): string => `${INVALID_MARK}${stored}`

/** @param stored a whole number of 16 digits or more, too long for a double */
export const lostDigits = (stored: string): string => `${DIGITS_MARK}${stored}`

/** Errors of formulas (ECMA-376-1, 18.17.3), and errors that spreadsheets have added since. */
const ERROR =
  /^#(?:NULL!|DIV\/0!|VALUE!|REF!|NAME\?|NUM!|N\/A|GETTING_DATA|SPILL!|CALC!|FIELD!|BLOCKED!|CONNECT!|BUSY!|UNKNOWN!|EXTERNAL!|PYTHON!)$/

export const isCellError = (text: string): boolean => ERROR.test(text)

const NOTHING = fault(
  'cell-not-computed',
  'the cell has a formula and no value: no program has computed it',
  HIDES_TEXT,
)
const INVALID = fault('cell-invalid', 'the cell holds an invalid number or date', HIDES_TEXT)
const DIGITS = fault(
  'cell-digits-lost',
  'the cell holds a whole number of 16 digits or more: spreadsheets keep only 15',
  HIDES_TEXT,
)

/** Returns the reason why a text is not a value; undefined for any other text. */
export function cellFault(text: string): Fault | undefined {
  // Hot path: runs for each cell.
  if (text.charCodeAt(0) !== 0x23) return undefined
  if (isCellError(text))
    return fault('cell-error', `the cell holds the error ${text} of a formula`, HIDES_TEXT)
  if (text === NOT_COMPUTED) return NOTHING
  if (text.startsWith(INVALID_MARK)) return INVALID
  return text.startsWith(DIGITS_MARK) ? DIGITS : undefined
}
