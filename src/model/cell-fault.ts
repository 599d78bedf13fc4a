/**
 * A cell of a workbook that has no value to read. Its text is a marker, so that it goes through rejects files and back: the error that a
 * formula has left (`#N/A`), or why the cell cannot be read, with the text as stored.
 */
import { type Fault, fault } from './record.ts'

const INVALID_MARK = '#INVALID! '
const DIGITS_MARK = '#DIGITS! '

/** A formula that no program has computed. */
export const NOT_COMPUTED = '#NOT-COMPUTED!'

/** @param stored text of the cell; a date that does not exist, a number that is none */
export const invalidCell = (stored: string): string => `${INVALID_MARK}${stored}`

/** @param stored a whole number of 16 digits and more, which a double does not hold */
export const lostDigits = (stored: string): string => `${DIGITS_MARK}${stored}`

/** Errors of formulas (ECMA-376-1, 18.17.3), and those that spreadsheets have had since. */
const ERROR =
  /^#(?:NULL!|DIV\/0!|VALUE!|REF!|NAME\?|NUM!|N\/A|GETTING_DATA|SPILL!|CALC!|FIELD!|BLOCKED!|CONNECT!|BUSY!|UNKNOWN!|EXTERNAL!|PYTHON!)$/

export const isCellError = (text: string): boolean => ERROR.test(text)

const NOTHING = fault('cell-not-computed', 'the cell has a formula and no value: no program has computed it')
const INVALID = fault('cell-invalid', 'the cell holds no value of its type: no number, no day that exists')
const DIGITS = fault(
  'cell-digits-lost',
  'the cell holds a whole number of 16 digits or more: spreadsheets keep 15, the others are lost',
)

/** Why a text is no value; undefined of any other text. */
export function cellFault(text: string): Fault | undefined {
  // Each cell that is read comes here.
  if (text.charCodeAt(0) !== 0x23) return undefined
  if (isCellError(text)) return fault('cell-error', `the cell holds the error ${text} of a formula`)
  if (text === NOT_COMPUTED) return NOTHING
  if (text.startsWith(INVALID_MARK)) return INVALID
  return text.startsWith(DIGITS_MARK) ? DIGITS : undefined
}
