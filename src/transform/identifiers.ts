/** Well-formedness and check digits of the code systems that records are coded in. All pure. */

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

/** Form of an ICD-10-CM code: a letter, a digit, a letter or digit, then up to four after a point. The last category letters are digits or A/B. */
export function isIcd10Cm(code: string): boolean {
  return /^[A-Z]\d[0-9A-Z](\.[0-9A-Z]{1,4})?$/.test(code)
}

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
