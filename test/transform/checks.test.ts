import { describe, expect, it } from 'vitest'
import type { RowOutcome } from '../../src/model/entry.ts'
import { Checks } from '../../src/transform/checks.ts'
import { csvMapper, csvRules, faults, jsonRules, load, mapped, NOW, refusalOf } from './mapping-under-test.ts'

const COLUMNS = [
  ...['id', 'visit', 'at', 'first', 'last', 'dob', 'sex', 'zip'],
  ...['sbp', 'dbp', 'sbp2', 'dbp2', 'hr', 'npi', 'own', 'dx'],
]
const REGISTER =
  'register: { firstName: first, lastName: last, dateOfBirth: { from: dob, format: MM/dd/yyyy }, gender: sex, postalCode: zip }'
const RULES = `
biometrics:
  systolic-bp: sbp
  diastolic-bp: dbp
  systolic-2: { from: sbp2, catalog: systolic-bp }
  diastolic-2: { from: dbp2, catalog: diastolic-bp }
  heart-rate: { from: hr, observedAt: { firstOf: [own, at], format: ISO, zone: UTC, since: 1900-01-01 } }
conditions: { asthma: { when: { dx: Y }, status: active } }
careTeams: { pcp: { when: { npi: present }, npi: npi, name: { constant: Dr. Reed } } }
`
const wide = (checks = '', account = `reference: id, ${REGISTER}`): string => `mapping: m
read: { format: csv }
row:
  key: [id, visit]
  account: { ${account} }
  observedAt: { from: at, format: ISO, zone: UTC }
  source: { name: N, type: t }
  ${checks === '' ? '' : `checks: { ${checks} }`}
${RULES}`

const BASE = { id: 'P1', visit: 'V1', at: '2026-02-04', dob: '02/28/1970' }
const told = (outcome: RowOutcome): string[] =>
  mapped(outcome).warnings.map(({ kind, rule, issue }) => `${kind} ${rule}: ${issue.code}`)
const made = (outcome: RowOutcome): string[] => mapped(outcome).records.map(({ rule }) => rule)
const day = (offset: number): string => new Date(NOW + offset).toISOString()
const HOUR = 3_600_000

describe('a check rejects, warns or is off', () => {
  const cases = [
    ['plausible-range', { hr: '301' }, ['heart-rate'], 'value-out-of-range'],
    [
      'systolic-above-diastolic',
      { sbp: '80', dbp: '80' },
      ['systolic-bp', 'diastolic-bp'],
      'systolic-not-above-diastolic',
    ],
    ['future-date', { own: day(25 * HOUR), hr: '60' }, ['heart-rate'], 'date-in-future'],
    ['before-birth', { own: '1970-02-26', hr: '60' }, ['heart-rate'], 'date-before-birth'],
    ['npi-check-digit', { npi: '1234567890' }, ['pcp'], 'npi-invalid'],
  ] as const

  it.each(cases)('%s', (check, cells, rules, code) => {
    const row = { ...BASE, ...cells }
    const by = (effect: string): RowOutcome => csvMapper(wide(`${check}: ${effect}`), COLUMNS)(row)
    expect(csvMapper(wide(), COLUMNS)(row)).toEqual({
      ...by('reject'),
      ...{ register: expect.any(Function), name: expect.any(Function) },
    })
    const rejected = mapped(by('reject'))
    expect(rejected.rejected.map(({ rule, issue }) => `${rule} ${issue.code}`)).toEqual(
      rules.map((rule) => `${rule} ${code}`),
    )
    expect([rejected.records, rejected.warnings]).toEqual([[], []])
    const warned = by('warn')
    expect(made(warned)).toEqual(rules)
    expect(faults(warned)).toEqual([])
    expect(told(warned)).toEqual(
      rules.map((rule) => `${rule === 'pcp' ? 'careTeam' : 'biometric'} ${rule}: ${code}`),
    )
    const off = by('off')
    expect(made(off)).toEqual(rules)
    expect(told(off)).toEqual([])
  })

  it('of another kind of record, too: conditions and care teams have dates', () => {
    const row = { ...BASE, at: day(25 * HOUR), npi: '1234567893', dx: 'Y' }
    expect(faults(csvMapper(wide(), COLUMNS)(row))).toEqual([
      'asthma: date-in-future -',
      'pcp: date-in-future -',
    ])
  })

  it('that is no check, or no effect, is refused with its line', () => {
    expect(refusalOf(() => load(wide('future-dates: off'))).findings).toMatchObject([
      { place: { line: 8, key: 'row.checks.future-dates' } },
    ])
    expect(refusalOf(() => load(wide('future-date: ignore'))).findings).toMatchObject([
      { place: { line: 8, key: 'row.checks.future-date' } },
    ])
  })

  it('counts no warning of a record that was rejected for something else', () => {
    const map = csvMapper(wide('plausible-range: warn'), COLUMNS)
    const outcome = map({ ...BASE, hr: '301', own: day(25 * HOUR) })
    expect(faults(outcome)).toEqual(['heart-rate: date-in-future -'])
    expect(told(outcome)).toEqual([])
  })

  it('forgets the row before', () => {
    const map = csvMapper(wide('plausible-range: warn, damaged-key: warn'), COLUMNS)
    expect(told(map({ ...BASE, hr: '301' }))).toHaveLength(1)
    // Rejected for its date, after its reference was warned about.
    expect(map({ ...BASE, id: '1.24E+14', at: '' }).outcome).toBe('rejected')
    expect(told(map({ ...BASE, hr: '60' }))).toEqual([])
  })

  it('never sends what no number can hold', () => {
    const map = csvMapper(wide('plausible-range: off'), COLUMNS)
    expect(faults(map({ ...BASE, hr: '9'.repeat(400) }))).toEqual(['heart-rate: value-out-of-range hr'])
  })
})

describe('a date', () => {
  const map = csvMapper(wide(), COLUMNS)
  const by = (own: string, dob = BASE.dob): string[] => faults(map({ ...BASE, dob, own, hr: '60' }))

  it('is in the future when a day has passed', () => {
    expect(by(day(24 * HOUR))).toEqual([])
    expect(by(day(24 * HOUR + 1))).toEqual(['heart-rate: date-in-future -'])
  })

  it('is before birth when the day of birth has begun nowhere', () => {
    expect(by('1970-02-27T10:00:00Z')).toEqual([])
    expect(by('1970-02-27T09:59:59Z')).toEqual(['heart-rate: date-before-birth -'])
  })

  it.each(['', '28.02.1970', '02/30/1970'])('is not held against a date of birth like "%s"', (dob) => {
    expect(by('1901-01-01', dob)).toEqual([])
  })

  it('is not held against a birth that the mapping does not read', () => {
    const unregistered = csvMapper(wide('', 'reference: id'), COLUMNS)
    expect(faults(unregistered({ ...BASE, own: '1901-01-01', hr: '60' }))).toEqual([])
  })
})

describe('blood pressure', () => {
  const map = csvMapper(wide(), COLUMNS)

  it.each([
    [{ sbp: '118', dbp: '76' }, []],
    [{ sbp: '76', dbp: '118' }, ['systolic-bp', 'diastolic-bp']],
    // By number, not by text.
    [{ sbp: '100', dbp: '90' }, []],
    [{ sbp: '76' }, []],
    [{ dbp: '118' }, []],
    // The first belongs to the first.
    [{ sbp: '118', dbp: '76', sbp2: '70', dbp2: '110' }, ['systolic-2', 'diastolic-2']],
    [{ sbp: '120', dbp: '110', sbp2: '112', dbp2: '70' }, []],
    // Nobody can tell whose the one is.
    [{ sbp: '60', sbp2: '120', dbp: '70' }, []],
  ])('%j', (cells, rules) => {
    expect(faults(map({ ...BASE, ...cells })).sort()).toEqual(
      rules.map((rule) => `${rule}: systolic-not-above-diastolic -`).sort(),
    )
  })

  const nested = jsonRules(
    '{ order: "$.orders[*]", obx: "order.obx[*]" }',
    'biometrics: [{ code: { from: obx.code, system: LOINC }, value: obx.value, unit: { constant: "mm[Hg]" } }]',
    '{ from: order.at, format: ISO, zone: UTC }',
  )
  const order = (at: string, systolic: string, diastolic: string) => ({
    at,
    obx: [
      { code: '8462-4', value: diastolic },
      { code: '8480-6', value: systolic },
    ],
  })

  it('of a document is held against that of the same time', () => {
    const first = order('2026-02-04T09:10:00Z', '118', '76')
    const later = order('2026-02-04T10:10:00Z', '70', '69')
    expect(faults(nested({ id: '1', orders: [first, later] }))).toEqual([])
    const crossed = order('2026-02-04T10:10:00Z', '70', '110')
    expect(faults(nested({ id: '1', orders: [first, crossed] })).sort()).toEqual([
      'diastolic-bp-2: systolic-not-above-diastolic -',
      'systolic-bp-2: systolic-not-above-diastolic -',
    ])
  })
})

describe('codes', () => {
  const coded = (code: string, unknown: string, checks = ''): RowOutcome =>
    csvRules(
      ['id', 'code', 'value'],
      `biometrics: [{ code: { from: code, system: LOINC, unknown: ${unknown} }, value: value, unit: { constant: "%" } }]`,
      `  checks: { ${checks} }`,
    )({ id: 'P1', code, value: '5.1' })

  it.each([
    ['8-Apr', 'code-damaged'],
    ['4548-5', 'check-digit-wrong'],
  ])('%s is rejected with its own reason, though unknown codes are left out', (code, reason) => {
    for (const unknown of ['skip', 'reject'])
      expect(faults(coded(code, unknown))).toEqual([`unmapped-1: ${reason} code`])
  })

  it('is left to what the mapping says of unknown codes, with a warning or without', () => {
    const warned = coded('8-Apr', 'skip', 'damaged-code: warn')
    expect(warned).toMatchObject({
      outcome: 'skipped',
      warnings: [{ kind: 'biometric', rule: 'unmapped', issue: { code: 'code-damaged', field: 'code' } }],
    })
    expect(coded('8-Apr', 'skip', 'damaged-code: off')).toMatchObject({
      outcome: 'skipped',
      warnings: [],
    })
    const rejected = coded('4548-5', 'reject', 'loinc-check-digit: warn')
    expect(faults(rejected)).toEqual(['unmapped-1: code-unknown code'])
    expect(told(rejected)).toEqual([])
  })

  it.each([
    [{ id: 'P1.24E+14' }, []],
    // It is part of the key, too, and told once.
    [{ id: '1.24E+14' }, ['account-damaged id']],
    [{ visit: '1.24E+14' }, ['key-damaged visit']],
  ])('in scientific notation cost the row: %j', (cells, found) => {
    const row = { ...BASE, ...cells, hr: '60' }
    expect(faults(csvMapper(wide(), COLUMNS)(row))).toEqual(found.slice(0, 1).map((fault) => `row: ${fault}`))
    const warned = mapped(csvMapper(wide('damaged-key: warn'), COLUMNS)(row))
    expect(made(warned)).toEqual(['heart-rate'])
    expect(
      warned.warnings.map(({ kind, rule, issue }) => [kind, rule, `${issue.code} ${issue.field}`]),
    ).toEqual(found.map((fault) => [null, null, fault]))
    expect(told(csvMapper(wide('damaged-key: off'), COLUMNS)(row))).toEqual([])
  })
})

describe('HbA1c', () => {
  it.each([
    ['%', '5.10', undefined],
    ['mg/dL', '510', 'the measurement is a ratio, the unit is not'],
    ['g/L', '51', 'the measurement is a ratio, the unit is not'],
    ['mmol/L', '5.1', 'the measurement is a ratio, the unit is not'],
    ['mmol/mol', '32', 'IFCC'],
  ])('in %s', (unit, value, words) => {
    const map = csvMapper(
      wide().replace('heart-rate: { from: hr,', 'hba1c: { from: hr, unit: { from: sex },'),
      COLUMNS,
    )
    const outcome = mapped(map({ ...BASE, hr: value, sex: unit }))
    expect(outcome.records.map(({ evidence }) => evidence.value)).toEqual(words === undefined ? [value] : [])
    expect(outcome.rejected.map(({ issue }) => issue)).toEqual(
      words === undefined
        ? []
        : [expect.objectContaining({ code: 'unit-mismatch', message: expect.stringContaining(words) })],
    )
  })
})

it('every check rejects where the mapping says nothing', () => {
  expect(new Set(Object.values(Checks.parse({})))).toEqual(new Set(['reject']))
})
