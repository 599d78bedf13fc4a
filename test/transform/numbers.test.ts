import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  compareNumbers,
  compileNumber,
  parseFeetAndInches,
  parseNumberText,
  parseReferenceRange,
} from '../../src/transform/numbers.ts'
import { processorMs } from '../processor-time.ts'

type NumberText = ReturnType<typeof parseNumberText>

/** The number, or the code of why there is none. */
const told = (number: NumberText): string => (typeof number === 'string' ? number : number.code)

describe('a number keeps the digits it had', () => {
  it.each([
    ['5.10', '5.10'],
    ['98765432109876543210', '98765432109876543210'],
    ['0.30000000000000000001', '0.30000000000000000001'],
    ['7', '+7', '007'],
    ['-7', '-7'],
    ['0.5', '.5'],
    ['-0.5', '-.5'],
    ['0.50', '+.50'],
    ['5', '5.'],
    ['-7.00', '-007.00'],
    ['0', '0', '000'],
    ['0.0', '0.0'],
    ['value-with-comparator', '<5', '>= 60', '≤0.1'],
    ['value-in-scientific-notation', '1.2E+14', '-1e5', '1E400'],
    ['value-not-a-number', '', '.', '-', '+', '1,200', '5,1', '1 200', '1_200', '1.2.3', '--1', '\u22125'],
    ['value-not-a-number', '٥', '0x1F', '120/80', '5\n', 'NaN', 'Infinity', '1n'],
  ])('%j: %j', (expected, ...inputs) => {
    for (const input of inputs) expect(told(parseNumberText(input)), input).toBe(expected)
  })
})

/** A decimal as an integer of its last digit, with the number of digits after the point. */
function exact(text: string): { unscaled: bigint; scale: number } {
  const [whole = '', fraction = ''] = text.replace(/^[+-]/, '').split('.')
  const unscaled = BigInt(`${whole}${fraction}` || '0')
  return { unscaled: text.startsWith('-') ? -unscaled : unscaled, scale: fraction.length }
}

const digits = fc.stringMatching(/^[0-9]{0,30}$/)
const decimal = fc
  .tuple(fc.constantFrom('', '-', '+'), digits, fc.boolean(), digits)
  .map(([sign, whole, point, fraction]) => (point ? `${sign}${whole}.${fraction}` : `${sign}${whole}`))

describe('laws', () => {
  it('what is accepted is a JSON number of exactly the value in the source', () => {
    fc.assert(
      fc.property(decimal, (raw) => {
        const number = parseNumberText(raw)
        const hasDigit = /\d/.test(raw)
        expect(typeof number === 'string').toBe(hasDigit)
        if (typeof number !== 'string') return
        expect(number).toMatch(/^-?(0|[1-9]\d*)(\.\d+)?$/)
        expect(JSON.parse(number)).toBe(Number(raw))
        expect(exact(number)).toEqual(exact(raw))
      }),
    )
  })

  it('any text is either refused or JSON', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (raw) => {
        const number = parseNumberText(raw)
        if (typeof number === 'string') expect(typeof JSON.parse(number)).toBe('number')
      }),
    )
  })
})

describe('numbers as other countries write them', () => {
  const german = { decimal: ',', group: '.' } as const
  it.each([
    [german, '1.234,50', '1234.50'],
    [german, '1.234.567', '1234567'],
    [german, '-1.234,5', '-1234.5'],
    [german, '5,10', '5.10'],
    [german, ',5', '0.5'],
    [german, '1234,5', '1234.5'],
    [german, '1.23,4', 'value-not-a-number'],
    [german, '12.34', 'value-not-a-number'],
    [german, '1234.567', 'value-not-a-number'],
    [german, '1,234.5', 'value-not-a-number'],
    [german, '1,2,3', 'value-not-a-number'],
    [german, '.123', 'value-not-a-number'],
    [german, '<1,5', 'value-with-comparator'],
    [german, '1,2E+14', 'value-in-scientific-notation'],
    [{ decimal: ',' }, '5,1', '5.1'],
    [{ decimal: ',' }, '1.234', 'value-not-a-number'],
    [{ decimal: ',', group: ' ' }, '1 234\u202f567,8', '1234567.8'],
    [{ decimal: ',', group: ' ' }, '1\u00a0234', '1234'],
    [{ decimal: '.', group: "'" }, "1'234.5", '1234.5'],
    [{ decimal: '.', group: ',' }, '1,234.5', '1234.5'],
    [{ decimal: '.', group: ',' }, '1,234,5', 'value-not-a-number'],
    // A decimal comma in a file of thousands: nobody writes a quarter as 0,250 thousand.
    [{ decimal: '.', group: ',' }, '0,250', 'value-not-a-number'],
    [{ decimal: ',', group: '.' }, '-0.250', 'value-not-a-number'],
    [{ decimal: '.' }, '1,234', 'value-not-a-number'],
    [undefined, '1.50', '1.50'],
  ] as const)('%j: %s is %s', (format, raw, expected) => {
    expect(told(compileNumber(format)(raw))).toBe(expected)
  })

  it('lead back to themselves', () => {
    const marks = [
      ['.', ','],
      ['.', "'"],
      [',', '.'],
      [',', ' '],
      ['.', ' '],
    ] as const
    fc.assert(
      fc.property(
        fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n }),
        fc.stringMatching(/^[0-9]{0,12}$/),
        fc.constantFrom(...marks),
        fc.boolean(),
        (whole, fraction, [decimal, group], grouping) => {
          const digits = grouping ? String(whole).replaceAll(/\B(?=(\d{3})+$)/g, group) : String(whole)
          const tail = (mark: string): string => (fraction === '' ? '' : mark + fraction)
          expect(compileNumber({ decimal, group })(digits + tail(decimal))).toBe(String(whole) + tail('.'))
        },
      ),
    )
  })
})

describe('the order of numbers', () => {
  it.each([
    ['0.30', '0.3', 0],
    ['0.30000000000000001', '0.3', 1],
    ['-94000000000000000002', '-94000000000000000001', -1],
    ['-0.5', '0.5', -1],
    [`1${'0'.repeat(400)}`, `2${'0'.repeat(400)}`, -1],
    ['10', '9', 1],
  ])('%s against %s', (a, b, order) => {
    expect(compareNumbers(a, b)).toBe(order)
    expect(compareNumbers(b, a)).toBe(order === 0 ? 0 : -order)
  })
})

const inches = (raw: string): string => told(parseFeetAndInches(raw))
const NO = 'value-not-feet-and-inches'

describe('feet and inches', () => {
  it.each([
    ['71', `5'11"`, `5' 11"`, '5\u201911\u201d', '5\u203211\u2033', "5'11''", "5'11", '5 ft 11 in'],
    ['71', '5ft11in', '5 Feet 11 Inches', '5 ft. 11 in.', '5 foot 11', '5-11', `5'-11"`],
    ['70.50', `5' 10.50"`],
    ['70.5', '5-10.5'],
    ['72', "6'", '6 ft', `6'0"`, `6'00"`],
    ['11', `0'11"`],
    ['value-not-feet-and-inches', `5'12"`, '5-13', '71', '71 in', '511', '5 11', '5-', '-5-11', '5.5'],
    ['value-not-feet-and-inches', `5'11" tall`, `111'1"`, ''],
  ])('%s inches: %j', (expected, ...inputs) => {
    for (const input of inputs) expect(inches(input), input).toBe(expected)
  })

  it('are what any height is written as', () => {
    const forms = [
      (f: number, i: number) => `${f}'${i}"`,
      (f: number, i: number) => `${f} ft ${i} in`,
      (f: number, i: number) => `${f}-${i}`,
    ]
    fc.assert(
      fc.property(fc.nat(107), fc.constantFrom(...forms), (height, form) => {
        expect(inches(form(Math.floor(height / 12), height % 12))).toBe(String(height))
      }),
    )
  })

  it('are read in no time, whatever the text', async () => {
    const texts = [`5${' '.repeat(20_000)}x`, `5'${' '.repeat(20_000)}11${' '.repeat(20_000)}x`]
    const took = await processorMs(() => {
      for (const text of texts) expect(inches(text)).toBe(NO)
    })
    expect(took).toBeLessThan(500)
  })
})

describe('a reference range', () => {
  it.each([
    ['3.5-5.0', { low: '3.5', high: '5.0', unit: '' }],
    ['3.50 - 5', { low: '3.50', high: '5', unit: '' }],
    ['3.5–5.0', { low: '3.5', high: '5.0', unit: '' }],
    ['60 to 100', { low: '60', high: '100', unit: '' }],
    ['60 - 100 mg/dL', { low: '60', high: '100', unit: 'mg/dL' }],
    ['60-100mg/dL', { low: '60', high: '100', unit: 'mg/dL' }],
    ['4.5-11.0 10*3/uL', { low: '4.5', high: '11.0', unit: '10*3/uL' }],
    ['4-6%', { low: '4', high: '6', unit: '%' }],
    ['-2.0--1.0', { low: '-2.0', high: '-1.0', unit: '' }],
    ['-2 - +2', { low: '-2', high: '2', unit: '' }],
    ['5-5', { low: '5', high: '5', unit: '' }],
    ['<200', { high: '200', unit: '' }],
    ['< 200 mg/dL', { high: '200', unit: 'mg/dL' }],
    ['<=5.6', { high: '5.6', unit: '' }],
    ['≤5.6', { high: '5.6', unit: '' }],
    ['>=40', { low: '40', unit: '' }],
    ['>40', { low: '40', unit: '' }],
    ['≥ 40', { low: '40', unit: '' }],
    ['5.0-3.5', undefined],
    ['negative', undefined],
    ['3.5', undefined],
    ['3.5-', undefined],
    ['3,5-5,0', undefined],
    ['1.2.3-4', undefined],
    ['M: 3-5 F: 2-4', undefined],
    ['2026-02-04', undefined],
    ['', undefined],
  ])('%s', (text, expected) => {
    expect(parseReferenceRange(text, parseNumberText)).toEqual(expected)
  })

  it('is written like the vendor writes numbers', () => {
    const german = compileNumber({ decimal: ',', group: '.' })
    expect(parseReferenceRange('3,5-5,0', german)).toEqual({ low: '3.5', high: '5.0', unit: '' })
    expect(parseReferenceRange('1.000-2.000', german)).toEqual({ low: '1000', high: '2000', unit: '' })
    expect(parseReferenceRange('3.5-5.0', german)).toBeUndefined()
  })

  it('has the bounds that it was written with', () => {
    const decimal = fc.tuple(fc.nat(9999), fc.nat(99)).map(([whole, part]) => `${whole}.${part}`)
    fc.assert(
      fc.property(decimal, decimal, fc.constantFrom('-', ' - ', ' to '), (a, b, between) => {
        const [low, high] = Number(a) <= Number(b) ? [a, b] : [b, a]
        expect(parseReferenceRange(low + between + high, parseNumberText)).toEqual({ low, high, unit: '' })
      }),
    )
  })

  it('is read in no time, whatever the text', async () => {
    const took = await processorMs(() => {
      for (const text of [`1${' '.repeat(50_000)}x`, `1-${'1'.repeat(50_000)}`, '1-1'.repeat(20_000)])
        expect(parseReferenceRange(text, parseNumberText)).toBeUndefined()
    })
    expect(took).toBeLessThan(500)
  })
})
