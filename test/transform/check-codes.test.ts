import { describe, expect, it } from 'vitest'
import { codeFault, isExponent, npiFault } from '../../src/transform/check-codes.ts'

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
    ['3234567893', { check: undefined, code: 'npi-invalid' }],
    ['360', { check: undefined, code: 'npi-invalid' }],
    ['1"23456789', { check: undefined, code: 'npi-invalid' }],
    ['1.23E+09', { check: undefined, code: 'code-damaged' }],
  ])('%s', (npi, fault) => {
    if (fault === undefined) expect(npiFault(npi)).toBeUndefined()
    else expect(npiFault(npi)).toMatchObject(fault)
  })
})
