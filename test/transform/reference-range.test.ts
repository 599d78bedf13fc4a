/** Bounds of reference ranges that have columns of their own (interface, "Biometric record, as sent": refHigh, refLow are numbers). */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { csvRules, faults, findings, jsonMapper, mapped, NESTED, wires } from './mapping-under-test.ts'

const COLUMNS = ['id', 'v', 'range', 'low', 'high', 'unit']
const map = csvRules(
  COLUMNS,
  `biometrics:
  potassium: { from: v, refLow: low, refHigh: high, refRange: range }
  glucose: { from: v, unit: { from: unit }, refLow: low, refHigh: high, when: { unit: present } }`,
  '  checks: { plausible-range: off }',
)
const ranges = (cells: Record<string, string>): unknown[] =>
  wires(map({ id: '1', ...cells })).map(({ refLow, refHigh, refRange }) => ({ refLow, refHigh, refRange }))

it('are sent as numbers, one alone, too', () => {
  expect(ranges({ v: '4.1', low: '3.5', high: '5.1' })).toEqual([{ refLow: 3.5, refHigh: 5.1 }])
  expect(ranges({ v: '4.1', low: '3.5' })).toEqual([{ refLow: 3.5 }])
  expect(ranges({ v: '4.1', high: '5.1' })).toEqual([{ refHigh: 5.1 }])
  expect(ranges({ v: '4.1' })).toEqual([{}])
})

it('keep their digits, and stand before the bounds that the text says', () => {
  const [record] = mapped(map({ id: '1', v: '4.1', low: '3.50', high: '05.10', range: '1-9' })).records
  expect(record?.text).toContain('"refHigh":5.10,"refLow":3.50,"refRange":"1-9",')
  expect(ranges({ v: '4.1', low: '3.5', range: '1-9' })).toEqual([{ refLow: 3.5, refRange: '1-9' }])
  expect(ranges({ v: '4.1', range: '1-9' })).toEqual([{ refLow: 1, refHigh: 9, refRange: '1-9' }])
})

it('are converted with the value', () => {
  // 18.016 mg/dL are 1 mmol/L of glucose.
  expect(ranges({ v: '5', unit: 'mmol/L', low: '3.9', high: '5.5' })[1]).toEqual({ refLow: 70, refHigh: 99 })
})

it('reject the record where one is no number, or the lower one is above', () => {
  const refused = (low: string, high: string) => faults(map({ id: '1', v: '4.1', low, high }))
  expect(refused('low', '')).toEqual(['potassium: bound-not-a-number low'])
  expect(refused('', '<5.1')).toEqual(['potassium: bound-not-a-number high'])
  expect(refused('5.1', '3.5')).toEqual(['potassium: bounds-crossed low, high'])
  expect(refused('3.5', '3.50')).toEqual([])
})

it('come out as the range that a text says, whatever the numbers', () => {
  const digits = fc.tuple(fc.nat(999), fc.nat(99)).map(([whole, part]) => `${whole}.${part}`)
  const texts = csvRules(COLUMNS, 'biometrics:\n  potassium: { from: v, refRange: range }')
  fc.assert(
    fc.property(digits, digits, (one, other) => {
      const [low = '', high = ''] = [one, other].toSorted((a, b) => Number(a) - Number(b))
      const [byText] = wires(texts({ id: '1', v: '4.1', range: `${low}-${high}` }))
      const { refLow, refHigh } = byText ?? {}
      expect(ranges({ v: '4.1', low, high })).toEqual([{ refLow, refHigh }])
    }),
  )
})

it('are read by a rule of a list, from the level of its value', () => {
  const rules = `biometrics:
  - { code: { from: obx.code, system: LOINC }, value: obx.v, unit: obx.unit, refLow: obx.range.low, refHigh: obx.range.high }
`
  const [record] = wires(
    jsonMapper(NESTED + rules)({
      ...{ id: '1', at: '2026-02-04' },
      obx: [{ code: '2823-3', v: '4.1', unit: 'mmol/L', range: { low: '3.5', high: '5.1' } }],
    }),
  )
  expect(record).toMatchObject({ value: 4.1, refLow: 3.5, refHigh: 5.1 })
  expect(findings(NESTED + rules.replace('obx.range.low', 'obs.low'))).toHaveLength(1)
})
