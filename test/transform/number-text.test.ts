import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseNumberText } from '../../src/transform/number-text.ts'

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
