import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { createUnits } from '../../src/transform/units.ts'
import { CORPUS, NEEDS_CORPUS } from '../needed.ts'

const units = createUnits(
  new Map([
    ['mmHg', 'mm[Hg]'],
    ['mg/dl', 'mg/dL'],
    ['lb', '[lb_av]'],
    ['F', '[degF]'],
    ['IU/L', '[IU]/L'],
  ]),
)

/** A value converted, or the code of why not. */
function converted(value: number, from: string, to: string, molarMass?: number): number | string {
  const conversion = units.conversion(from, to, molarMass)
  return conversion.ok ? conversion.convert(value) : conversion.code
}

describe('spellings', () => {
  it.each([
    ['mm[Hg]', 'mm[Hg]'],
    ['mmHg', 'mm[Hg]'],
    ['MMHG', 'mm[Hg]'],
    ['mm Hg', 'mm[Hg]'],
    ['MG/DL', 'mg/dL'],
    ['{score}', '{score}'],
    ['10*3/uL', '10*3/uL'],
    ['ug/kg/h', 'ug/kg/h'],
    ['mL/min/{1.73_m2}', 'mL/min/{1.73_m2}'],
    // The exact spelling is looked up first: F is not the farad here.
    ['F', '[degF]'],
    // UCUM goes before spellings in another case: Mg is the megagram.
    ['Mg/dL', 'Mg/dL'],
  ])('%s is %s', (spelling, code) => {
    expect(units.resolve(spelling)).toBe(code)
  })

  it.each([
    '',
    ' ',
    'furlongs per fortnight',
    '__proto__',
    'constructor',
    'toString',
    'mg/constructor',
    'hasOwnProperty/L',
    'mg/',
    '(((',
    'x'.repeat(200),
    '\u0000',
  ])('%j is unknown', (spelling) => {
    expect(units.resolve(spelling)).toBeUndefined()
    expect(units.conversion(spelling, 'mg/dL', undefined)).toMatchObject({ ok: false, code: 'unit-unknown' })
  })
})

it('a code with brackets is shown by its first spelling', () => {
  const spelled = createUnits(
    new Map([
      ['mmHg', 'mm[Hg]'],
      ['mm Hg', 'mm[Hg]'],
      ['mg/dl', 'mg/dL'],
    ]),
  )
  expect([...spelled.codes].sort()).toEqual([
    ['mg/dL', 'mg/dL'],
    ['mm[Hg]', 'mmHg'],
  ])
})

describe('conversion', () => {
  it.each([
    // 1 mmol/L of cholesterol (386.65 g/mol) is 386.65 mg/L.
    [5, 'mmol/L', 'mg/dL', 386.65, (5 * 386.65) / 10],
    [193.325, 'mg/dL', 'mmol/L', 386.65, 5],
    [88.4, 'umol/L', 'mg/dL', 113.12, (88.4 * 113.12) / 10_000],
    [1, 'g/L', 'mg/dL', undefined, 100],
    // 32 degF is 0 Cel, 212 degF is 100 Cel.
    [98.6, '[degF]', 'Cel', undefined, (98.6 - 32) / 1.8],
    [32, 'F', 'Cel', undefined, 0],
    [310.15, 'K', 'Cel', undefined, 37],
    [180, 'lb', 'kg', undefined, 180 * 0.45359237],
    [70, '[in_i]', 'cm', undefined, 70 * 2.54],
    [16, 'kPa', 'mm[Hg]', undefined, 16 / 0.133322],
    [1.5, 'L', 'mL', undefined, 1500],
  ])('%d %s in %s (%s g/mol)', (value, from, to, molarMass, expected) => {
    expect(converted(value, from, to, molarMass)).toBeCloseTo(expected, 6)
  })

  it.each([
    ['mg/dL', 'mg/dL'],
    ['mg/dl', 'mg/dL'],
    ['10*9/L', '10*3/uL'],
    ['g/L', 'mg/mL'],
  ])('%s and %s are the same: the digits of a value stay', (from, to) => {
    expect(units.conversion(from, to, undefined)).toMatchObject({ ok: true, same: true })
  })

  it('of another size is not the same', () => {
    expect(units.conversion('g/L', 'g/dL', undefined)).toMatchObject({ ok: true, same: false })
    expect(units.conversion('[degF]', 'Cel', undefined)).toMatchObject({ ok: true, same: false })
    // A kelvin is as large as a degree, and counts from elsewhere.
    expect(units.conversion('K', 'Cel', undefined)).toMatchObject({ ok: true, same: false })
  })

  it.each([
    ['mmol/mol', '%', undefined],
    ['%', 'mmol/mol', undefined],
    ['{score}', '%', undefined],
    ['%', '{ratio}', undefined],
    ['kg', 'cm', undefined],
    ['mmol/L', 'mg/dL', undefined],
    ['[IU]/L', 'U/L', undefined],
    ['IU/L', 'mg/dL', 386.65],
    // A logarithm has no factor.
    ['[pH]', 'mol/L', undefined],
    ['[pH]', 'mol/L', 18],
  ])('%s to %s is refused as a mismatch', (from, to, molarMass) => {
    expect(converted(1, from, to, molarMass)).toBe('unit-mismatch')
  })

  it('keeps molar masses apart', () => {
    expect(converted(1, 'mmol/L', 'mg/dL', 100)).toBeCloseTo(10, 9)
    expect(converted(1, 'mmol/L', 'mg/dL', 200)).toBeCloseTo(20, 9)
    expect(converted(1, 'mmol/L', 'mg/dL')).toBe('unit-mismatch')
  })
})

describe('units that are alike for a measurement', () => {
  const catalog = createUnits(
    new Map([
      ['mEq/L', 'meq/L'],
      ['IU/L', '[IU]/L'],
    ]),
  )
  const POTASSIUM = '2823-3'
  const ALT = '1742-6'

  it.each([
    ['mEq/L', 'mmol/L', POTASSIUM, 1],
    ['meq/L', 'mmol/L', '14334-7', 1],
    ['ueq/mL', 'mmol/L', '2951-2', 1],
    ['eq/L', 'mmol/L', '2075-0', 1000],
    ['meq/dL', 'mmol/L', '2028-9', 10],
    ['IU/L', 'U/L', ALT, 1],
    ['m[IU]/mL', 'U/L', '1920-8', 1],
    ['k[IU]/L', 'U/L', '6768-6', 1000],
    // The catalog of a mapping may name either unit.
    ['mmol/L', 'meq/L', POTASSIUM, 1],
    ['U/L', 'k[IU]/L', ALT, 0.001],
  ])('a %s is so many %s of %s', (from, to, loinc, factor) => {
    const conversion = catalog.conversion(from, to, undefined, loinc)
    expect(conversion).toMatchObject({ ok: true, same: factor === 1 })
    expect(conversion.ok && conversion.convert(3)).toBeCloseTo(3 * factor, 9)
  })

  it.each([
    // Calcium, magnesium and phosphate have more charges; nobody knows what is measured.
    ['meq/L', 'mmol/L', '2000-8'],
    ['meq/L', 'mmol/L', '2601-3'],
    ['meq/L', 'mmol/L', undefined],
    ['meq/L', 'U/L', ALT],
    // Thyrotropin; an ion has no international unit, an enzyme no equivalent.
    ['[IU]/L', 'U/L', '3016-3'],
    ['[IU]/L', 'mmol/L', POTASSIUM],
    ['meq', 'mmol/L', POTASSIUM],
  ])('%s is not told in %s of %s', (from, to, loinc) => {
    expect(catalog.conversion(from, to, undefined, loinc)).toMatchObject({ ok: false, code: 'unit-mismatch' })
  })

  it('keeps measurements apart', () => {
    expect(catalog.conversion('mEq/L', 'mmol/L', undefined, POTASSIUM).ok).toBe(true)
    expect(catalog.conversion('mEq/L', 'mmol/L', undefined, '2000-8').ok).toBe(false)
  })
})

describe('laws', () => {
  it('there and back again is where one started', () => {
    const pairs = fc.constantFrom(
      ['mmol/L', 'mg/dL'],
      ['[degF]', 'Cel'],
      ['[lb_av]', 'kg'],
      ['[in_i]', 'cm'],
      ['kPa', 'mm[Hg]'],
    )
    fc.assert(
      fc.property(pairs, fc.double({ min: -1e6, max: 1e6, noNaN: true }), ([from = '', to = ''], value) => {
        const there = Number(converted(value, from, to, 180.16))
        expect(Math.abs(Number(converted(there, to, from, 180.16)) - value)).toBeLessThan(1e-6)
      }),
    )
  })

  it('any text is a unit or is not; nothing is thrown and nothing is printed', () => {
    const printed = vi.spyOn(console, 'log')
    const part = fc.constantFrom(
      ...'/.{}()[]*+-10% ',
      'mg',
      'dL',
      'constructor',
      '__proto__',
      'toString',
      'µ',
      '10*',
      'Cel',
    )
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.array(part, { maxLength: 8 }).map((parts) => parts.join('')),
    )
    fc.assert(
      fc.property(text, (from) => {
        const conversion = units.conversion(from, 'mg/dL', 100)
        if (!conversion.ok) expect(['unit-unknown', 'unit-mismatch']).toContain(conversion.code)
      }),
      { numRuns: 1000 },
    )
    expect(printed).not.toHaveBeenCalled()
    printed.mockRestore()
  })
})

interface FunctionalCase {
  readonly id: string
  readonly value: number
  readonly from: string
  readonly to: string
  readonly outcome: string
}

function functionalCases(folder: string): FunctionalCase[] {
  const file = join(folder, 'terminology/ucum-functional-tests/UcumFunctionalTests.xml')
  const section = /<conversion>(.*?)<\/conversion>/s.exec(readFileSync(file, 'utf8'))?.[1] ?? ''
  return [...section.replaceAll(/<!--.*?-->/gs, '').matchAll(/<case ([^>]*)\/>/g)].map(
    ([, attributes = '']) => {
      const of = (name: string): string => new RegExp(`${name}="([^"]*)"`).exec(attributes)?.[1] ?? ''
      return {
        id: of('id'),
        value: Number(of('value')),
        from: of('srcUnit'),
        to: of('dstUnit'),
        outcome: of('outcome'),
      }
    },
  )
}

/** Half of the last digit that the case gives, but no finer than a double. */
function tolerance(outcome: string): number {
  const [mantissa = '', exponent = '0'] = outcome.toLowerCase().split('e')
  const halfDigit = 0.5 * 10 ** (Number(exponent) - (mantissa.split('.')[1]?.length ?? 0))
  return Math.max(halfDigit, 1e-12 * Number(outcome))
}

describe('the UCUM functional tests', NEEDS_CORPUS, () => {
  it.each(CORPUS === undefined ? [] : functionalCases(CORPUS))('$id: $value $from is $outcome $to', (one) => {
    expect(
      Math.abs(Number(converted(one.value, one.from, one.to)) - Number(one.outcome)),
    ).toBeLessThanOrEqual(tolerance(one.outcome) * (1 + 1e-9))
  })
})

it.each([
  ['uIU/mL', 'm[IU]/L', 1],
  ['mIU/L', 'u[IU]/mL', 1],
  ['IU/L', 'm[IU]/L', 1000],
])('multiples of the international unit: %s as %s', (from, to, factor) => {
  const conversion = createUnits(
    new Map([
      ['uIU/mL', 'u[IU]/mL'],
      ['mIU/L', 'm[IU]/L'],
      ['IU/L', '[IU]/L'],
    ]),
  ).conversion(from, to, undefined)
  expect(conversion).toMatchObject({ ok: true, same: factor === 1 })
  if (conversion.ok) expect(conversion.convert(2)).toBeCloseTo(2 * factor, 9)
})

it('an international unit converts to no other unit', () => {
  expect(createUnits(new Map()).conversion('[IU]/L', 'mol/L', 10)).toMatchObject({ code: 'unit-mismatch' })
})
