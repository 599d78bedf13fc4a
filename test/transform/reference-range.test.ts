import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compileNumber, parseNumberText } from '../../src/transform/number-text.ts'
import { parseReferenceRange } from '../../src/transform/reference-range.ts'

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

  it('is read in no time, whatever the text', () => {
    const started = performance.now()
    for (const text of [`1${' '.repeat(50_000)}x`, `1-${'1'.repeat(50_000)}`, '1-1'.repeat(20_000)])
      expect(parseReferenceRange(text, parseNumberText)).toBeUndefined()
    expect(performance.now() - started).toBeLessThan(500)
  })
})
