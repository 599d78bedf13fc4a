import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  codeFault,
  isExponent,
  isIcd9Cm,
  isIcd10Cm,
  isLoinc,
  isNpi,
  isSnomed,
  npiFault,
} from '../../src/transform/codes.ts'

describe.each([
  [
    'LOINC',
    isLoinc,
    ['8480-6', '8462-4', '4548-4', '2093-3', '29463-7', '39156-5', '10019-8', '59408-5'],
    ['8480-5', '84806', '8480 -6', '-6', '12345678-9', '8480-6\n', '', '٨480-6'],
  ],
  [
    // 1234567893 is the example of the check digit in the standard. 3234567892 holds the sum, but no NPI starts with 3.
    'NPI',
    isNpi,
    ['1234567893'],
    ['1234567890', '123456789', '12345678930', '3234567892', '0234567894', '', ' 1234567893'],
  ],
  [
    'SNOMED CT',
    isSnomed,
    ['73211009', '44054006', '38341003', '195967001', '10939881000119105', '138875005', '100005'],
    ['73211008', '07321100', '10000', '1234567890123456789', 'x', ''],
  ],
  [
    'ICD-10-CM',
    isIcd10Cm,
    ['E11.9', 'I10', 'J45.909', 'T50.901A', 'F32.A', 'C7A.00', 'M1A.0110', 'Z3A.01', 'S72.001A'],
    ['e11.9', 'E119', '11.9', 'E1', 'E11.', 'E11.90000', 'E11.9 ', ''],
  ],
  [
    'ICD-9-CM',
    isIcd9Cm,
    ['250.00', '496', '401.9', 'V12.53', 'V58', 'E880.9', 'E880'],
    ['25000', '25', '250.', '250.000', 'v12.53', 'E88.1', 'E880.91', 'E11.9', ''],
  ],
] as const)('%s', (_, check, good, bad) => {
  it.each(good)('%s is one', (code) => expect(check(code)).toBe(true))
  it.each(bad)('%j is none', (code) => expect(check(code)).toBe(false))
})

/** Every number that one check digit completes; exactly one of the ten does. */
const completed = (stem: string, check: (code: string) => boolean): string[] =>
  [...'0123456789'].map((digit) => stem + digit).filter(check)

const DIGITS = (min: number, max: number): fc.Arbitrary<string> =>
  fc.stringMatching(new RegExp(`^[1-9][0-9]{${min - 1},${max - 1}}$`))

describe.each([
  ['LOINC', DIGITS(1, 7).map((stem) => `${stem}-`), isLoinc],
  ['NPI', fc.stringMatching(/^[12][0-9]{8}$/), isNpi],
  ['SNOMED CT', DIGITS(5, 17), isSnomed],
] as const)('%s: a law', (_, stems, check) => {
  it('one check digit holds, and changing any one digit is caught', () => {
    fc.assert(
      fc.property(stems, fc.nat(), fc.integer({ min: 1, max: 9 }), (stem, where, by) => {
        const [code = '', ...others] = completed(stem, check)
        expect(others).toEqual([])
        expect(code).not.toBe('')
        const positions = [...code].flatMap((char, at) => (char === '-' ? [] : [at]))
        const at = positions[where % positions.length] ?? 0
        const digit = String((Number(code[at]) + by) % 10)
        expect(check(code.slice(0, at) + digit + code.slice(at + 1))).toBe(false)
      }),
    )
  })
})

describe('SNOMED CT: a law', () => {
  it('swapping two neighbours is caught', () => {
    fc.assert(
      fc.property(DIGITS(6, 17), fc.nat(), (stem, where) => {
        const [code = ''] = completed(stem, isSnomed)
        const at = where % (code.length - 1)
        const [a = '', b = ''] = code.slice(at, at + 2)
        fc.pre(a !== b && !(at === 0 && b === '0'))
        expect(isSnomed(code.slice(0, at) + b + a + code.slice(at + 2))).toBe(false)
      }),
    )
  })
})

describe('scientific notation as spreadsheets write it', () => {
  it.each(['1.24E+14', '1,24E+14', '1E+15', '1.24e+14', '-3.5E+100'])('is %s', (text) => {
    expect(isExponent(text)).toBe(true)
  })

  // What may well be an id: letters and digits of a vendor's own.
  it.each(['1E14', '1.24E14', '12E+14', 'E+14', '1.24E+1', 'A1.24E+14', '1.24E+14A', '124000000000000', ''])(
    'is not %s',
    (text) => {
      expect(isExponent(text)).toBe(false)
    },
  )
})

describe('a code that is not known', () => {
  it.each([
    // 4548-4 is HbA1c; 4-8 and its like are what a spreadsheet takes for a day.
    ['LOINC', '1.24E+14', 'damaged-code', 'scientific notation'],
    ['LOINC', '4548,4', 'damaged-code', 'decimal mark or a dash'],
    ['LOINC', '4548.4', 'damaged-code', 'decimal mark or a dash'],
    ['LOINC', '4548\u20134', 'damaged-code', 'decimal mark or a dash'],
    ['LOINC', '8-Apr', 'damaged-code', 'a date'],
    ['LOINC', 'Apr-80', 'damaged-code', 'a date'],
    ['LOINC', '4-AUG-2026', 'damaged-code', 'a date'],
    ['LOINC', '4/8/2026', 'damaged-code', 'a date'],
    ['LOINC', '4.8.2026', 'damaged-code', 'a date'],
    ['LOINC', '4548-04-01', 'damaged-code', 'a date'],
    ['LOINC', '4548-5', 'loinc-check-digit', 'check digit of the LOINC code'],
    ['SNOMED', '1.09E+16', 'damaged-code', 'scientific notation'],
    ['SNOMED', '44054006.0', 'damaged-code', 'decimals'],
    // 10939881000119105 through a double, and through a spreadsheet of 15 digits.
    ['SNOMED', '10939881000119104', 'damaged-code', 'more than 15 digits'],
    ['SNOMED', '10939881000119100', 'damaged-code', 'more than 15 digits'],
    ['SNOMED', '44054007', 'snomed-check-digit', 'check digit of the SNOMED code'],
    ['SNOMED', '1093988100011910', 'damaged-code', 'more than 15 digits'],
    ['SNOMED', '109398810001191', 'snomed-check-digit', 'check digit of the SNOMED code'],
    ['ICD-10-CM', '1.1E+01', 'damaged-code', 'scientific notation'],
    ['ICD-10-CM', '11-Oct', 'damaged-code', 'a date'],
    [undefined, '1.24E+14', 'damaged-code', 'scientific notation'],
  ] as const)('of %s, %s: %s', (system, code, check, words) => {
    expect(codeFault(system, code)).toMatchObject({
      check,
      code: check === 'damaged-code' ? 'code-damaged' : 'check-digit-wrong',
      message: expect.stringContaining(words),
    })
  })

  it.each([
    ['LOINC', '4548-4'],
    // Not of the form: a vendor's own.
    ['LOINC', 'QALY'],
    ['LOINC', 'ABC-123'],
    ['LOINC', '1-ABC'],
    ['LOINC', '12345678-9'],
    ['SNOMED', '44054006'],
    ['SNOMED', '10939881000119105'],
    ['SNOMED', '12345'],
    ['ICD-10-CM', 'E11.65'],
    // Of another system, whose signs say nothing here.
    ['ICD-10-CM', '44054007'],
    ['ICD-9-CM', '4548-5'],
    ['SNOMED', '4548,4'],
    ['LOINC', '44054006.0'],
    // A vendor's table may have any code.
    [undefined, '8-Apr'],
    [undefined, '4548,4'],
    [undefined, '44054006.0'],
  ] as const)('of %s, %s may be right', (system, code) => {
    expect(codeFault(system, code)).toBeUndefined()
  })
})

describe('an NPI', () => {
  it.each([
    ['1234567893', undefined],
    ['1234567890', { check: 'npi-check-digit', code: 'npi-invalid' }],
    ['3234567893', { code: 'npi-invalid' }],
    ['360', { code: 'npi-invalid' }],
    ['1"23456789', { code: 'npi-invalid' }],
    ['1.23E+09', { code: 'code-damaged' }],
  ])('%s', (npi, fault) => {
    expect(npiFault(npi)).toEqual(fault && { ...fault, message: expect.any(String) })
  })
})
