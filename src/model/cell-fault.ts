/**
 * Cell of a workbook without a certain value. A marker replaces the text, also in a rejects file: the error of a formula (`#N/A`), or a word
 * for the reason with the stored text.
 */
import { type Fault, fault, HIDES_TEXT } from './record.ts'

/** Stands below the heading of numbers that are shown as percentages: 0.055 as 5.5 %. */
export const PERCENT_FORMAT = '0%'

/** Errors of formulas (ECMA-376-1, 18.17.3), and errors that spreadsheets have added since. */
const ERROR =
  /^#(?:NULL!|DIV\/0!|VALUE!|REF!|NAME\?|NUM!|N\/A|GETTING_DATA|SPILL!|CALC!|FIELD!|BLOCKED!|CONNECT!|BUSY!|UNKNOWN!|EXTERNAL!|PYTHON!)$/

export const isCellError = (text: string): boolean => ERROR.test(text)

const FAULTS = {
  'NOT-COMPUTED': fault(
    'cell-not-computed',
    'the cell has a formula and no value: no program has computed it',
    HIDES_TEXT,
  ),
  INVALID: fault('cell-invalid', 'the cell holds an invalid number or date', HIDES_TEXT),
  DIGITS: fault(
    'cell-digits-lost',
    'the cell holds a whole number of 16 digits or more: spreadsheets keep only 15',
    HIDES_TEXT,
  ),
  MERGED: fault('cell-merged', 'the first of merged cells has the value, and this is another', HIDES_TEXT),
  FORMAT: fault(
    'cell-format-differs',
    'the cell and most of its column differ in the percent sign, unit or scale of their formats',
    HIDES_TEXT,
  ),
  DAY: fault(
    'cell-day-doubtful',
    'a spreadsheet has read the date, perhaps as month and day: days after the 12th are texts in this column',
    HIDES_TEXT,
  ),
} as const

/** Marker of a cell. @param stored text of the cell */
export const cellMark = (word: keyof typeof FAULTS, stored?: string): string =>
  stored === undefined ? `#${word}!` : `#${word}! ${stored}`

const isMark = (word: string): word is keyof typeof FAULTS => Object.hasOwn(FAULTS, word)

/** Returns the reason why a text is not a value; undefined for any other text. */
export function cellFault(text: string): Fault | undefined {
  // Hot path: runs for each cell.
  if (text.charCodeAt(0) !== 0x23) return undefined
  if (isCellError(text))
    return fault('cell-error', `the cell holds the error ${text} of a formula`, HIDES_TEXT)
  const [, word = ''] = /^#([A-Z-]+)!(?: |$)/.exec(text) ?? []
  return isMark(word) ? FAULTS[word] : undefined
}
