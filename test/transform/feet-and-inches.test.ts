import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseFeetAndInches } from '../../src/transform/feet-and-inches.ts'

const inches = (raw: string): string => {
  const read = parseFeetAndInches(raw)
  return read.ok ? read.text : read.code
}
const NO = 'value-not-feet-and-inches'

describe('feet and inches', () => {
  it.each([
    [`5'11"`, '71'],
    [`5' 11"`, '71'],
    ['5’11”', '71'],
    ['5′11″', '71'],
    [`5'11''`, '71'],
    [`5'11`, '71'],
    ['5 ft 11 in', '71'],
    ['5ft11in', '71'],
    ['5 Feet 11 Inches', '71'],
    ['5 ft. 11 in.', '71'],
    ['5 foot 11', '71'],
    ['5-11', '71'],
    [`5'-11"`, '71'],
    [`5' 10.50"`, '70.50'],
    ['5-10.5', '70.5'],
    [`6'`, '72'],
    ['6 ft', '72'],
    [`6'0"`, '72'],
    [`6'00"`, '72'],
    [`0'11"`, '11'],
    [`5'12"`, NO],
    ['5-13', NO],
    ['71', NO],
    ['71 in', NO],
    ['511', NO],
    ['5 11', NO],
    ['5-', NO],
    ['-5-11', NO],
    ['5.5', NO],
    [`5'11" tall`, NO],
    [`111'1"`, NO],
    ['', NO],
  ])('%s is %s inches', (raw, expected) => {
    expect(inches(raw)).toBe(expected)
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

  it('are read in no time, whatever the text', () => {
    const started = performance.now()
    expect(inches(`5${' '.repeat(20_000)}x`)).toBe(NO)
    expect(inches(`5'${' '.repeat(20_000)}11${' '.repeat(20_000)}x`)).toBe(NO)
    expect(performance.now() - started).toBeLessThan(500)
  })
})
