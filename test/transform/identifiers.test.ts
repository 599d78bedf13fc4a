import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isIcd10Cm, isLoinc, isNpi, isSnomed } from '../../src/transform/identifiers.ts'

describe('known good', () => {
  it.each(['8480-6', '8462-4', '4548-4', '2093-3', '29463-7', '39156-5', '10019-8', '59408-5'])(
    'LOINC %s',
    (code) => {
      expect(isLoinc(code)).toBe(true)
    },
  )
  it('NPI 1234567893, the example of the check digit in the standard', () => {
    expect(isNpi('1234567893')).toBe(true)
  })
  it.each(['73211009', '44054006', '38341003', '195967001', '10939881000119105', '138875005', '100005'])(
    'SNOMED CT %s',
    (code) => {
      expect(isSnomed(code)).toBe(true)
    },
  )
  it.each(['E11.9', 'I10', 'J45.909', 'T50.901A', 'F32.A', 'C7A.00', 'M1A.0110', 'Z3A.01', 'S72.001A'])(
    'ICD-10-CM %s',
    (code) => {
      expect(isIcd10Cm(code)).toBe(true)
    },
  )
})

describe('known bad', () => {
  it.each(['8480-5', '84806', '8480 -6', '-6', '12345678-9', '8480-6\n', '', '٨480-6'])(
    'LOINC %j',
    (code) => {
      expect(isLoinc(code)).toBe(false)
    },
  )
  // 3234567892 holds the sum, but no NPI starts with 3.
  it.each(['1234567890', '123456789', '12345678930', '3234567899', '0234567894', '', ' 1234567893'])(
    'NPI %j',
    (npi) => {
      expect(isNpi(npi)).toBe(false)
    },
  )
  it.each(['73211008', '07321100', '10000', '1234567890123456789', 'x', ''])('SNOMED CT %j', (code) => {
    expect(isSnomed(code)).toBe(false)
  })
  it.each(['e11.9', 'E119', '11.9', 'E1', 'E11.', 'E11.90000', 'E11.9 ', ''])('ICD-10-CM %j', (code) => {
    expect(isIcd10Cm(code)).toBe(false)
  })
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
