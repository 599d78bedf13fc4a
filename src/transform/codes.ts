/** Code systems and identifiers: form, check digits, and faults of an unknown code. Pure. */
import type { Check } from './checks.ts'

/** Code systems in which a long export may be coded without a table of its own. */
export type CodeSystem = 'LOINC' | 'SNOMED' | 'ICD-10-CM' | 'ICD-9-CM'

export const CODE_SYSTEM_OID: Readonly<Record<CodeSystem, string>> = {
  LOINC: '2.16.840.1.113883.6.1',
  SNOMED: '2.16.840.1.113883.6.96',
  'ICD-10-CM': '2.16.840.1.113883.6.90',
  'ICD-9-CM': '2.16.840.1.113883.6.103',
}

/** Luhn sum (ISO/IEC 7812-1, annex B) over a string of digits, the check digit last. */
function luhnHolds(digits: string): boolean {
  let sum = 0
  for (let at = 0; at < digits.length; at++) {
    const digit = digits.charCodeAt(digits.length - 1 - at) - 48
    const doubled = at % 2 === 1 ? digit * 2 : digit
    sum += doubled > 9 ? doubled - 9 : doubled
  }
  return sum % 10 === 0
}

/** LOINC number: one to seven digits, a hyphen, a mod-10 check digit (LOINC Users' Guide, "LOINC codes and check digits"). */
export function isLoinc(code: string): boolean {
  return /^\d{1,7}-\d$/.test(code) && luhnHolds(code.replace('-', ''))
}

/** National Provider Identifier: ten digits, first 1 or 2, Luhn over `80840` and the number (45 CFR 162.406, ISO prefix 80840). */
export function isNpi(npi: string): boolean {
  return /^[12]\d{9}$/.test(npi) && luhnHolds(`80840${npi}`)
}

/** Form of an ICD-10-CM code: a letter, a digit, a letter or digit, then up to four after a point. */
export function isIcd10Cm(code: string): boolean {
  return /^[A-Z]\d[0-9A-Z](\.[0-9A-Z]{1,4})?$/.test(code)
}

/** `E119` as `E11.9`: claims and registers write ICD-10-CM codes without the point. */
export const icd10WithPoint = (code: string): string =>
  code.replace(/^([A-Z]\d[0-9A-Z])([0-9A-Z]{1,4})$/, '$1.$2')

/** Form of an ICD-9-CM diagnosis: three digits, or V and two, then up to two after a point; or E and three, then one. */
export const isIcd9Cm = (code: string): boolean =>
  /^(?:(?:\d{3}|V\d{2})(?:\.\d{1,2})?|E\d{3}(?:\.\d)?)$/.test(code)

/** `25000` as `250.00`. */
export const icd9WithPoint = (code: string): string => code.replace(/^(\d{3}|V\d{2})(\d{1,2})$/, '$1.$2')

const VERHOEFF_MULTIPLY = [
  '0123456789',
  '1234067895',
  '2340178956',
  '3401289567',
  '4012395678',
  '5987604321',
  '6598710432',
  '7659821043',
  '8765932104',
  '9876543210',
] as const
const VERHOEFF_PERMUTE = [
  '0123456789',
  '1576283094',
  '5803796142',
  '8916043527',
  '9453126870',
  '4286573901',
  '2793806415',
  '7046913258',
] as const

/** SNOMED CT identifier: 6 to 18 digits with a Verhoeff check digit (SNOMED CT Release File Specification, "SCTID"). */
export function isSnomed(code: string): boolean {
  if (!/^[1-9]\d{5,17}$/.test(code)) return false
  let check = 0
  for (let at = 0; at < code.length; at++) {
    const digit = code.charCodeAt(code.length - 1 - at) - 48
    const permuted = Number(VERHOEFF_PERMUTE[at % 8]?.[digit])
    check = Number(VERHOEFF_MULTIPLY[check]?.[permuted])
  }
  return check === 0
}

/** Fault of a code, and the check that finds it; without a check the code cannot be sent under any mapping. */
interface CodeFault {
  readonly check?: Check
  readonly code: 'code-damaged' | 'check-digit-wrong' | 'npi-invalid'
  readonly message: string
}

/** A long number in a spreadsheet's notation: `1.24E+14`, `1,24E+14`. Its digits are lost. */
export const isExponent = (text: string): boolean => /^-?\d(?:[.,]\d+)?E\+\d{2,3}$/i.test(text)

const MONTH = '(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)'
/** Date as a spreadsheet shows a value that looks like a date: `8-Apr`, `Apr-80`, `8-Apr-2026`, `4/8/2026`, `4548-04-01`. */
const DATE = new RegExp(
  `^(?:\\d{1,2}-${MONTH}(?:-\\d{2,4})?|${MONTH}-\\d{2,4}|\\d{1,2}([/.])\\d{1,2}\\1\\d{2,4}|\\d{4}-\\d{2}-\\d{2})$`,
  'i',
)

const EXPONENT = 'the code is in scientific notation: a spreadsheet dropped its digits'
const WRONG_DIGIT = (system: string): string => `invalid check digit of the ${system} code: mistyped`

/** Signs of a damaged or mistyped code of a system; the first match is reported. */
const SIGNS: readonly (readonly [
  system: CodeSystem | 'all',
  check: Check,
  shows: (code: string) => boolean,
  message: string,
])[] = [
  ['all', 'damaged-code', (code) => DATE.test(code), 'the code is a date: a spreadsheet converted it'],
  [
    'LOINC',
    'damaged-code',
    (code) => /^\d{1,7}[.,\u2012-\u2015\u2212]\d$/.test(code),
    'the code has a decimal mark or a dash instead of the hyphen of a LOINC number',
  ],
  ['LOINC', 'loinc-check-digit', (code) => /^\d{1,7}-\d$/.test(code) && !isLoinc(code), WRONG_DIGIT('LOINC')],
  [
    'SNOMED',
    'damaged-code',
    (code) => /^\d{6,18}\.0+$/.test(code),
    'the code has decimals: a program read it as a number',
  ],
  // A double is not exact for identifiers of more digits, and a spreadsheet keeps at most 15.
  [
    'SNOMED',
    'damaged-code',
    (code) => /^\d{16,18}$/.test(code) && !isSnomed(code),
    'the code has more than 15 digits and an invalid check digit: a spreadsheet or program rounded it',
  ],
  [
    'SNOMED',
    'snomed-check-digit',
    (code) => /^\d{6,15}$/.test(code) && !isSnomed(code),
    WRONG_DIGIT('SNOMED'),
  ],
]

/**
 * Fault of an unknown code, as far as its form shows one.
 * @param system undefined for a vendor's own codes: all but scientific notation may be valid
 */
export function codeFault(
  system: CodeSystem | undefined,
  code: string,
): (CodeFault & { readonly check: Check }) | undefined {
  if (isExponent(code)) return { check: 'damaged-code', code: 'code-damaged', message: EXPONENT }
  if (system === undefined) return undefined
  const sign = SIGNS.find(([of, , shows]) => (of === 'all' || of === system) && shows(code))
  if (sign === undefined) return undefined
  const [, check, , message] = sign
  return { check, code: check === 'damaged-code' ? 'code-damaged' : 'check-digit-wrong', message }
}

/** Fault of a National Provider Identifier; undefined where valid. */
export function npiFault(npi: string): CodeFault | undefined {
  if (isNpi(npi)) return undefined
  if (/^[12]\d{9}$/.test(npi))
    return {
      check: 'npi-check-digit',
      code: 'npi-invalid',
      message: 'invalid NPI check digit',
    }
  return isExponent(npi)
    ? { code: 'code-damaged', message: EXPONENT }
    : { code: 'npi-invalid', message: 'an NPI has ten digits, the first of them 1 or 2' }
}
