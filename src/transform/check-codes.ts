/** What is wrong with a code or key that leads nowhere: damaged on the way, or mistyped. Pure. */
import type { CodeSystem } from './catalog.ts'
import type { Check } from './checks.ts'
import { isLoinc, isNpi, isSnomed } from './identifiers.ts'

export interface CodeFault {
  readonly check: Check
  readonly code: 'code-damaged' | 'check-digit-wrong'
  readonly message: string
}

/** A long number as a spreadsheet shows it: `1.24E+14`, `1,24E+14`. Its digits are lost. */
export const isExponent = (text: string): boolean => /^-?\d(?:[.,]\d+)?E\+\d{2,3}$/i.test(text)

const MONTH = '(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)'
/** What a spreadsheet takes for a date and shows as one: `8-Apr`, `Apr-80`, `8-Apr-2026`, `4/8/2026`, `4548-04-01`. */
const DATE = new RegExp(
  `^(?:\\d{1,2}-${MONTH}(?:-\\d{2,4})?|${MONTH}-\\d{2,4}|\\d{1,2}([/.])\\d{1,2}\\1\\d{2,4}|\\d{4}-\\d{2}-\\d{2})$`,
  'i',
)

/** A LOINC number whose hyphen became a decimal mark or a dash. */
const HYPHEN_LOST = /^\d{1,7}[.,\u2012-\u2015\u2212]\d$/

/** Identifiers of more digits are not exact in a double, and a spreadsheet keeps no more than 15. */
const EXACT_DIGITS = 15

const damaged = (message: string): CodeFault => ({ check: 'damaged-code', code: 'code-damaged', message })

const EXPONENT = damaged(
  'the code is in scientific notation, as a spreadsheet writes long numbers: its digits are lost',
)
const AS_DATE = damaged('the code is a date, as a spreadsheet makes of what looks like one')
const NO_HYPHEN = damaged('the code has a decimal mark or a dash in place of the hyphen of a LOINC number')
const AS_FRACTION = damaged('the code has decimals, as of a program that read it as a number')
const ROUNDED = damaged(
  'the code has more than 15 digits and its check digit does not hold: a spreadsheet or program has rounded it',
)
const wrongDigit = (system: 'LOINC' | 'SNOMED'): CodeFault => ({
  check: system === 'LOINC' ? 'loinc-check-digit' : 'snomed-check-digit',
  code: 'check-digit-wrong',
  message: `the check digit of the ${system} code does not hold: it is mistyped`,
})
const WRONG = { LOINC: wrongDigit('LOINC'), SNOMED: wrongDigit('SNOMED') }

/**
 * Why a code that is not known is none of its system, as far as can be told.
 * @param system undefined for a vendor's own codes: anything but scientific notation may be one
 */
export function codeFault(system: CodeSystem | undefined, code: string): CodeFault | undefined {
  if (isExponent(code)) return EXPONENT
  if (system === undefined) return undefined
  if (DATE.test(code)) return AS_DATE
  if (system === 'LOINC') {
    if (HYPHEN_LOST.test(code)) return NO_HYPHEN
    return /^\d{1,7}-\d$/.test(code) && !isLoinc(code) ? WRONG.LOINC : undefined
  }
  if (system === 'SNOMED') {
    if (/^\d{6,18}\.0+$/.test(code)) return AS_FRACTION
    if (!/^\d{6,18}$/.test(code) || isSnomed(code)) return undefined
    return code.length > EXACT_DIGITS ? ROUNDED : WRONG.SNOMED
  }
  return undefined
}

export interface NpiFault {
  /** Undefined: it cannot be sent, whatever the mapping says. */
  readonly check: Check | undefined
  readonly code: 'npi-invalid' | 'code-damaged'
  readonly message: string
}

const NPI_FORM: NpiFault = {
  check: undefined,
  code: 'npi-invalid',
  message: 'the NPI has not ten digits, the first of them 1 or 2',
}
const NPI_DIGIT: NpiFault = {
  check: 'npi-check-digit',
  code: 'npi-invalid',
  message: 'the check digit of the NPI does not hold',
}
const NPI_EXPONENT: NpiFault = { ...NPI_FORM, code: 'code-damaged', message: EXPONENT.message }

export function npiFault(npi: string): NpiFault | undefined {
  if (isNpi(npi)) return undefined
  if (/^[12]\d{9}$/.test(npi)) return NPI_DIGIT
  return isExponent(npi) ? NPI_EXPONENT : NPI_FORM
}
