import { describe, expect, it } from 'vitest'
import type { JsonValue, Row } from '../../src/model/row.ts'
import { createProfiler, type ExportProfile, median, OTHER } from '../../src/watch/export-profile.ts'
import { load, NOW } from '../transform/mapping-under-test.ts'

const COLUMNS_KEPT = 500
const VALUES_KEPT = 200

const ROW = (name: (column: string) => string): string => `
row:
  key: ["${name('id')}"]
  account: { reference: "${name('id')}" }
  observedAt: { from: "${name('day')}", format: yyyy-MM-dd, zone: UTC }
  source: { name: S, type: screening }
  emptyWhen: [ND]
  skipWhen: { "${name('id')}": skip }
`
const WIDE = `mapping: wide
read: { format: csv }${ROW((name) => name)}
biometrics:
  heart-rate: pulse
  body-weight: { from: weight, unit: { from: unit } }
`
const LONG = `mapping: long
read: { format: csv }${ROW((name) => name)}
biometrics:
  - code: { from: code, system: LOINC, unknown: UNKNOWN }
    value: value
    unit: unit
`
const NESTED = `mapping: nested
read: { format: ndjson, each: { obx: "$.obx[*]" } }${ROW((name) => `$.${name}`)}
biometrics:
  - code: { from: obx.code, system: LOINC }
    value: obx.value
    unit: obx.unit
`

function profileOf(
  mapping: string,
  columns: readonly string[] | undefined,
  rows: readonly Row[],
): ExportProfile {
  const loaded = load(mapping)
  const map = loaded.compiled.bind(columns, 'export', NOW)
  const profiler = createProfiler(loaded, columns)
  for (const row of rows) profiler.add(row, map(row))
  return profiler.profile()
}

const csvRow = (cells: string): Row => ({
  row: 1,
  line: 2,
  byteOffset: 0,
  kind: 'cells',
  cells: cells.split(','),
})
const jsonRow = (value: JsonValue): Row => ({ row: 1, line: 1, byteOffset: 0, kind: 'json', value, text: '' })

describe('the profile of a CSV', () => {
  const columns = ['id', 'day', 'pulse', 'weight', 'unit', '', 'remark']
  const rows = [
    'a,2026-03-02,61,70,kg,,x',
    'b,2026-03-02, ,70,Kgs,,ND',
    'c,2026-03-02,ND,70,,,',
    'd,2026-03-02,61,,lbs,,12.5',
    'skip,2026-03-02,61,70,kg,,x',
    'e,not a day,61,70,ann smith,,x',
  ].map(csvRow)
  const broken: Row = {
    row: 7,
    line: 8,
    byteOffset: 0,
    kind: 'unreadable',
    fault: 'row-too-short',
    message: '',
    text: '',
  }
  const profile = profileOf(WIDE, columns, [...rows, broken])

  it('counts rows, and those that the mapping takes', () => {
    expect(profile).toMatchObject({ rows: 7, taken: 4 })
  })

  it('has the named columns in order, with what is empty', () => {
    expect(profile.columns.map(({ name, values, empty }) => [name, values, empty])).toEqual([
      ['id', 6, 0],
      ['day', 6, 0],
      ['pulse', 6, 2],
      ['weight', 6, 1],
      ['unit', 6, 1],
      ['remark', 6, 2],
    ])
  })

  it('has the form of the first values', () => {
    expect(profile.columns.at(-1)?.sample).toEqual({ values: 4, numbers: 1, characters: 7 })
    const [id] = profileOf(
      WIDE,
      columns,
      Array.from({ length: 1200 }, () => csvRow('a,2026-03-02,61,70,kg,,x')),
    ).columns
    expect(id).toMatchObject({ values: 1200, sample: { values: 1000, characters: 1000 } })
  })

  it('has the rules of the mapping, and the units of values that are there, whatever their spelling', () => {
    expect(profile.rules).toEqual({ 'heart-rate': 2, 'body-weight': 3 })
    expect(profile.units).toEqual({ 'body-weight': { kg: 3, '': 1, [OTHER]: 1 } })
    expect(JSON.stringify(profile)).not.toContain('smith')
  })

  it('has a rule that never made a record', () => {
    expect(profileOf(WIDE, columns, []).rules).toEqual({ 'heart-rate': 0, 'body-weight': 0 })
  })

  it('is bounded', () => {
    const many = [...columns, ...Array.from({ length: COLUMNS_KEPT }, (_, at) => `c${at}`)]
    expect(profileOf(WIDE, many, []).columns).toHaveLength(COLUMNS_KEPT)
    const units = Array.from({ length: VALUES_KEPT + 50 }, (_, at) =>
      csvRow(`a,2026-03-02,61,70,10*${at + 2}/L,,x`),
    )
    const counts = profileOf(WIDE, columns, units).units['body-weight'] ?? {}
    expect(Object.keys(counts)).toHaveLength(VALUES_KEPT + 1)
    expect(counts[OTHER]).toBe(50)
  })
})

describe('the profile of coded rows', () => {
  const columns = ['id', 'day', 'code', 'value', 'unit']
  const rows = [
    'a,2026-03-02,8867-4,61,/min',
    'a,2026-03-02,29463-7,70,kg',
    'a,2026-03-02,29463-7,150,[lb_av]',
    'a,2026-03-02,ann smith,70,kg',
    'a,2026-03-02,29463-7,,kg',
  ].map(csvRow)

  it.each([
    ['reject', { [OTHER]: 1 }],
    ['skip', {}],
  ])('counts catalog entries and their units; unknown codes: %s', (unknown, other) => {
    const profile = profileOf(LONG.replace('UNKNOWN', unknown), columns, rows)
    expect(profile).toMatchObject({ taken: 5, codes: { 'heart-rate': 1, 'body-weight': 3, ...other } })
    expect(profile.units).toEqual({ 'heart-rate': { '/min': 1 }, 'body-weight': { kg: 1, '[lb_av]': 1 } })
    expect(JSON.stringify(profile)).not.toContain('smith')
  })
})

describe('the profile of JSON', () => {
  it('has the paths that the mapping reads, each with the elements of its level', () => {
    const obx = (code: string, value: string): JsonValue => ({ code, value, unit: '/min' })
    const profile = profileOf(NESTED, undefined, [
      jsonRow({
        id: 'a',
        day: '2026-03-02',
        obx: [obx('8867-4', '61'), obx('8867-4', ''), obx('8867-4', '62')],
      }),
      jsonRow({ id: 'b', obx: [obx('8867-4', '61')] }),
    ])
    expect(profile.columns.map(({ name, values, empty }) => [name, values, empty])).toEqual([
      ['$.day', 2, 1],
      ['$.id', 2, 0],
      ['obx.code', 4, 0],
      ['obx.unit', 4, 0],
      ['obx.value', 4, 1],
    ])
    expect(profile).toMatchObject({ rows: 2, taken: 1, codes: { 'heart-rate': 1 } })
    expect(profile.units).toEqual({ 'heart-rate': { '/min': 3 } })
  })
})

describe('what is kept of many rows alone', () => {
  const columns = ['id', 'day', 'pulse', 'weight', 'unit', 'first', 'last']
  const NAMED = WIDE.replace(
    'reference: "id"',
    'reference: "id", register: { firstName: first, lastName: last, dateOfBirth: { from: day, format: yyyy-MM-dd }, gender: { constant: OTHER }, postalCode: pulse }',
  )
  const rowsOf = (count: number, weight = (at: number) => `${70 + at}`) =>
    Array.from({ length: count }, (_, at) =>
      csvRow(`p${at},2026-03-${10 + (at % 10)},61,${weight(at)},kg,F${at % 50},L${at}`),
    )

  it.each([
    [19, false],
    [20, true],
  ])('quartiles and days, of %i values: %s', (count, isKept) => {
    const { measured, daysSpanned } = profileOf(NAMED, columns, rowsOf(count))
    expect(measured['body-weight']).toMatchObject({ found: count, rejected: 0, values: count })
    expect(measured['body-weight']?.quartiles !== undefined).toBe(isKept)
    expect(daysSpanned).toBe(isKept ? 9 : undefined)
  })

  it.each([
    [99, undefined],
    [100, { first: 50, last: 100 }],
  ])('names, of %i people who can be registered', (count, names) => {
    expect(
      profileOf(
        NAMED,
        columns,
        rowsOf(count, () => '80'),
      ).names,
    ).toEqual(names)
  })

  it('quartiles to three digits, with values that are refused', () => {
    const { measured } = profileOf(
      NAMED,
      columns,
      rowsOf(40, (at) => (at < 10 ? '1000' : '81.234')),
    )
    expect(measured['body-weight']).toEqual({
      found: 40,
      rejected: 10,
      values: 40,
      quartiles: [81.2, 81.2, expect.any(Number)],
    })
  })
})

it('rows that are skipped or rejected, and findings of checks, are counted apart', () => {
  const checked = WIDE.replace('  skipWhen:', '  checks: { plausible-range: warn }\n  skipWhen:')
  const rows = [
    'a,2026-03-02,61,,',
    'b,2026-03-02,62,1000,kg',
    'c,2026-03-02,,2000,kg',
    'd,2026-03-02,,,',
    'skip,2026-03-02,61,,',
    'e,never,61,,',
  ].map(csvRow)
  const profile = profileOf(checked, ['id', 'day', 'pulse', 'weight', 'unit'], rows)
  expect(profile).toMatchObject({
    ...{ rows: 6, taken: 4, skipped: 1, rejectedRows: 1, rules: { 'heart-rate': 2, 'body-weight': 2 } },
    warnings: { 'value-out-of-range': 2 },
  })
})

it('numbers are told from words by their form', () => {
  const texts = ['1', '-1', '+1', '1.5', '1,5', '.5', '1.', '1e5', 'x1', '1x', '-', '1 000']
  const rows = texts.map((text) => ({ ...csvRow(''), cells: [text, '2026-03-02'] }))
  const [id] = profileOf(WIDE, ['id', 'day', 'pulse', 'weight', 'unit'], rows).columns
  expect(id?.sample).toEqual({ values: 12, numbers: 6, characters: texts.join('').length })
})

it.each([
  [[], 0],
  [[3], 3],
  [[5, 1], 3],
  [[9, 1, 5], 5],
  [[10, 9, 1, 2], 5.5],
])('the median of %j is %s', (values, middle) => {
  expect(median(values)).toBe(middle)
})
