/**
 * A cell of a workbook that has no value to read. Its text is a marker, so that it goes through rejects files and back: the error that a
 * formula has left (`#N/A`), or why the cell cannot be read, with the text as stored.
 */
import { type Fault, fault } from './record.ts'

/** A formula that no program has computed. */
export const NOT_COMPUTED = '#NOT-COMPUTED!'

/** @param stored text of the cell; a date that does not exist, a number that is none */
export const invalidCell = (stored: string): string => `#INVALID! ${stored}`

/** @param stored a whole number of 16 digits and more, which a double does not hold */
export const lostDigits = (stored: string): string => `#DIGITS! ${stored}`

const MARKER = /^#(?:(N\/A|NAME\?|GETTING_DATA|DIV\/0!|[A-Z]+!)$|(NOT-COMPUTED!)$|(INVALID! )|(DIGITS! ))/

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
  const [, error, notComputed, invalid, digits] = MARKER.exec(text) ?? []
  if (error !== undefined) return fault('cell-error', `the cell holds the error #${error} of a formula`)
  if (notComputed !== undefined) return NOTHING
  if (invalid !== undefined) return INVALID
  return digits === undefined ? undefined : DIGITS
}
