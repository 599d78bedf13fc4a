import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compareNumbers, compileNumber, parseNumberText } from '../../src/transform/number-text.ts'

describe('a number keeps the digits it had', () => {
  it.each([
    ['5.10', '5.10'],
    ['98765432109876543210', '98765432109876543210'],
    ['0.30000000000000000001', '0.30000000000000000001'],
    ['+7', '7'],
    ['-7', '-7'],
    ['.5', '0.5'],
    ['-.5', '-0.5'],
    ['+.50', '0.50'],
    ['5.', '5'],
    ['007', '7'],
    ['-007.00', '-7.00'],
    ['0', '0'],
    ['000', '0'],
    ['0.0', '0.0'],
  ])('%s is %s', (raw, text) => {
    expect(parseNumberText(raw)).toEqual({ ok: true, text })
  })

  it.each([
    ['<5', 'value-with-comparator'],
    ['>= 60', 'value-with-comparator'],
    ['≤0.1', 'value-with-comparator'],
    ['1.2E+14', 'value-in-scientific-notation'],
    ['-1e5', 'value-in-scientific-notation'],
    ['1E400', 'value-in-scientific-notation'],
    ['', 'value-not-a-number'],
    ['.', 'value-not-a-number'],
    ['-', 'value-not-a-number'],
    ['+', 'value-not-a-number'],
    ['1,200', 'value-not-a-number'],
    ['5,1', 'value-not-a-number'],
    ['1 200', 'value-not-a-number'],
    ['1_200', 'value-not-a-number'],
    ['1.2.3', 'value-not-a-number'],
    ['--1', 'value-not-a-number'],
    ['−5', 'value-not-a-number'],
    ['٥', 'value-not-a-number'],
    ['0x1F', 'value-not-a-number'],
    ['120/80', 'value-not-a-number'],
    ['5\n', 'value-not-a-number'],
    ['NaN', 'value-not-a-number'],
    ['Infinity', 'value-not-a-number'],
    ['1n', 'value-not-a-number'],
  ])('%j is refused as %s', (raw, code) => {
    expect(parseNumberText(raw)).toEqual({ ok: false, code })
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
        expect(number.ok).toBe(hasDigit)
        if (!number.ok) return
        expect(number.text).toMatch(/^-?(0|[1-9]\d*)(\.\d+)?$/)
        expect(JSON.parse(number.text)).toBe(Number(raw))
        expect(exact(number.text)).toEqual(exact(raw))
      }),
    )
  })

  it('any text is either refused or JSON', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (raw) => {
        const number = parseNumberText(raw)
        if (number.ok) expect(typeof JSON.parse(number.text)).toBe('number')
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
    [{ decimal: '.' }, '1,234', 'value-not-a-number'],
    [undefined, '1.50', '1.50'],
  ] as const)('%j: %s is %s', (format, raw, expected) => {
    const number = compileNumber(format)(raw)
    expect(number.ok ? number.text : number.code).toBe(expected)
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
          expect(compileNumber({ decimal, group })(digits + tail(decimal))).toEqual({
            ok: true,
            text: String(whole) + tail('.'),
          })
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
