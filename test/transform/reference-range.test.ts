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

const OTHER = ['id', 'v', 'unit', 'Ref (mg/dL)', 'Ref Low (mmol/L)', 'Ref High [mmol/L]', 'range_unit']
const inOther = (rest: string) =>
  csvRules(OTHER, `biometrics:\n  glucose: { from: v, unit: { from: unit }, ${rest} }`)
const toldIn = (rest: string, cells: Record<string, string>): unknown[] =>
  wires(inOther(rest)({ id: '1', ...cells })).map(({ value, refLow, refHigh, refRange }) => ({
    ...{ value, refLow, refHigh, refRange },
  }))

// 18.016 mg/dL are 1 mmol/L of glucose, whose unit in the catalog is mg/dL.
it('are of the unit in their heading, whatever that of the value', () => {
  const cells = { 'Ref (mg/dL)': '70-99', 'Ref Low (mmol/L)': '3.9', 'Ref High [mmol/L]': '5.5' }
  for (const [v, unit, value] of [
    ['5', 'mmol/L', 90],
    ['90', 'mg/dL', 90],
  ] as const) {
    expect(toldIn('refRange: "Ref (mg/dL)"', { v, unit, ...cells })).toEqual([
      { value, refLow: 70, refHigh: 99, refRange: '70-99' },
    ])
    expect(toldIn('refLow: "Ref Low (mmol/L)", refHigh: "Ref High [mmol/L]"', { v, unit, ...cells })).toEqual(
      [{ value, refLow: 70, refHigh: 99 }],
    )
  }
})

it('are of the unit that the mapping says', () => {
  const cells = { v: '90', unit: 'mg/dL', 'Ref Low (mmol/L)': '70', range_unit: 'mg/dL' }
  const low = 'refLow: "Ref Low (mmol/L)"'
  expect(toldIn(`${low}, refUnit: range_unit`, cells)).toEqual([{ value: 90, refLow: 70 }])
  expect(toldIn(`${low}, refUnit: { constant: mg/dL }`, cells)).toEqual([{ value: 90, refLow: 70 }])
  expect(
    toldIn('refRange: "Ref (mg/dL)", refUnit: { constant: mmol/L }', { ...cells, 'Ref (mg/dL)': '3.9-5.5' }),
  ).toEqual([{ value: 90, refLow: 70, refHigh: 99, refRange: '3.9-5.5 mmol/L' }])
  // Nothing says another unit where the cell is empty.
  expect(toldIn(`${low}, refUnit: range_unit`, { ...cells, range_unit: '' })).toEqual([
    { value: 90, refLow: 70 },
  ])
})

it('reject the record where their unit is unknown, or of another kind; a text alone is told with its unit', () => {
  const cells = { v: '90', unit: 'mg/dL', 'Ref Low (mmol/L)': '70' }
  const refused = (unit: string) =>
    faults(
      inOther('refLow: "Ref Low (mmol/L)", refUnit: range_unit')({ id: '1', ...cells, range_unit: unit }),
    )
  expect(refused('kg')).toEqual(['glucose: unit-mismatch -'])
  expect(refused('apples')).toEqual(['glucose: unit-unknown -'])
  expect(
    toldIn('refRange: "Ref (mg/dL)", refUnit: range_unit', {
      ...cells,
      'Ref (mg/dL)': '1-2',
      range_unit: 'kg',
    }),
  ).toEqual([{ value: 90, refRange: '1-2 kg' }])
})

it('that a text says in another unit are converted, or left to the text', () => {
  const told = (range: string) =>
    toldIn('refRange: range_unit', { v: '90', unit: 'mg/dL', range_unit: range })
  expect(told('3.9-5.5 mmol/L')).toEqual([{ value: 90, refLow: 70, refHigh: 99, refRange: '3.9-5.5 mmol/L' }])
  expect(told('3.9-5.5 kg')).toEqual([{ value: 90, refRange: '3.9-5.5 kg' }])
})

const FHIR = `mapping: m
read: { format: ndjson }
row: { key: [$.id], account: { reference: $.id }, observedAt: { from: $.at, format: ISO, zone: UTC }, source: { name: N, type: t } }
biometrics:
  - code: { from: "$.code.coding[0].code", system: LOINC }
    value: $.valueQuantity.value
    unit: { firstOf: [$.valueQuantity.code, $.valueQuantity.unit] }
`
const LOW = '"$.referenceRange[0].low.value"'
const HIGH = '"$.referenceRange[0].high.value"'
it.each([
  ['a text', `    refRange: { concat: [${LOW}, ${HIGH}], separator: "-" }\n`],
  ['bounds', `    refLow: ${LOW}\n    refHigh: ${HIGH}\n`],
])('of FHIR have their own unit: as %s', (as, rule) => {
  const fhirMap = jsonMapper(FHIR + rule)
  const outcome = (low: object, high: object) =>
    fhirMap({
      ...{ id: '1', at: '2026-02-04', code: { coding: [{ code: '2345-7' }] } },
      valueQuantity: { value: '90', unit: 'mg/dL', code: 'mg/dL' },
      referenceRange: [{ low: { value: '3.9', ...low }, high: { value: '5.5', ...high } }],
    })
  const mmol = { unit: 'mmol/l', code: 'mmol/L' }
  const both = { refLow: 70, refHigh: 99 }
  for (const unit of [mmol, { unit: 'mmol/L' }, { code: 'mmol/L' }]) {
    const [record] = wires(outcome(unit, unit))
    expect(record).toMatchObject(as === 'bounds' ? both : { ...both, refRange: '3.9-5.5 mmol/L' })
  }
  expect(wires(outcome({}, mmol))[0]).toMatchObject(both)
  expect(wires(outcome({}, {}))[0]).toMatchObject({ refLow: 3.9, refHigh: 5.5 })
  expect(faults(outcome(mmol, { unit: 'mg/dL' }))).toEqual(['glucose-1: unit-mismatch -'])
})
