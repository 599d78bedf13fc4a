import { describe, expect, it } from 'vitest'
import { csvMapper, load } from '../../../test/transform/mapping-under-test.ts'
import { createCoverage, unknownColumns } from '../src/coverage.ts'
import { SMALL } from './cases-under-test.ts'

function coverage(
  mapping: string,
  rows: readonly Record<string, string>[],
): ReturnType<ReturnType<typeof createCoverage>['result']> {
  const { compiled, definition } = load(mapping)
  const map = csvMapper(
    mapping,
    compiled.reads.map(({ name }) => name),
  )
  const counter = createCoverage(definition)
  for (const row of rows) counter.add(map(row))
  return counter.result()
}

describe('the coverage of a sample', () => {
  it('counts by rule what was made, what was rejected and why, and what was never set', () => {
    const seen = { id: 'P', day: '2026-01-02' }
    const { rows, reasons, rules } = coverage(SMALL, [
      { ...seen, pulse: '60', asthma: 'Y' },
      { ...seen, pulse: 'slow', asthma: 'Y', weight: '80', weighed: '2026-01-01' },
      { ...seen, pulse: '61', weight: '81', weighed: '2026-01-01' },
      { gone: 'Y' },
      { day: '2026-01-02' },
      { id: 'P', day: 'never' },
    ])
    expect(rows).toEqual({ read: 6, mapped: 3, skipped: 1, rejected: 2 })
    expect(reasons).toEqual({ 'account-missing': 1, 'date-invalid': 1 })
    expect(rules).toEqual([
      { rule: 'heart-rate', made: 2, rejected: { 'value-not-a-number': 1 }, neverSet: [] },
      { rule: 'body-weight', made: 2, rejected: {}, neverSet: ['refRange'] },
      { rule: 'asthma', made: 0, rejected: { 'status-missing': 2 }, neverSet: [] },
    ])
  })

  it('counts registrations: complete ones, and what the others lack', () => {
    const register =
      'register: { firstName: first, lastName: last, dateOfBirth: { from: born, format: yyyy-MM-dd }, gender: { from: sex, table: { F: FEMALE } }, postalCode: zip }'
    const mapping = SMALL.replace('account: { reference: id }', `account: { reference: id, ${register} }`)
    const whole = {
      id: 'P',
      day: '2026-01-02',
      pulse: '60',
      first: 'Ann',
      last: 'Lee',
      sex: 'F',
      zip: '10001',
    }
    const { rules } = coverage(mapping, [
      { ...whole, born: '1980-02-03' },
      { ...whole, id: 'Q', born: 'never' },
    ])
    const found = rules.find(({ rule }) => rule === 'register')
    expect([found?.made, Object.values(found?.rejected ?? {})]).toEqual([1, [1]])
  })

  it('takes a field for set once one record has it', () => {
    const row = { id: 'P', day: '2026-01-02', weight: '80', weighed: '2026-01-01' }
    const { rules } = coverage(SMALL, [row, { ...row, normal: '60-90' }])
    expect(rules.find(({ rule }) => rule === 'body-weight')?.neverSet).toEqual([])
    // A value that is called like the field is none.
    const { rules: named } = coverage(SMALL, [{ ...row, id: 'refRange' }])
    expect(named.find(({ rule }) => rule === 'body-weight')?.neverSet).toEqual(['refRange'])
  })

  it('counts long rules by catalog key, and tells a list that gives nothing', () => {
    const long = `
mapping: long
read: { format: csv }
row:
  key: [id]
  account: { reference: id }
  observedAt: { constant: "2026-01-02T00:00:00.000Z" }
  source: { name: Long, type: ehr }
biometrics: [{ code: { from: code, system: LOINC }, value: value, unit: { constant: "%" }, refRange: normal }]
conditions: [{ code: { from: code, system: SNOMED, unknown: skip }, status: active }]
`
    const { rules } = coverage(long, [
      { id: 'P', code: '4548-4', value: '5.1' },
      { id: 'P', code: '4548-4', value: 'x' },
    ])
    expect(rules).toEqual([
      { rule: 'hba1c', made: 1, rejected: { 'value-not-a-number': 1 }, neverSet: ['refRange'] },
      { rule: 'conditions', made: 0, rejected: {}, neverSet: [] },
    ])
  })
})

describe('columns', () => {
  const { reads } = load(SMALL).compiled
  const ALL = ['id', 'day', 'gone', 'pulse', 'weight', 'normal', 'weighed', 'asthma', 'state']

  it('columns that the export lacks are told at every place that reads them, with what is written nearly so', () => {
    const there = ['ID', 'Day', ...ALL.slice(2).filter((column) => column !== 'asthma')]
    const found = unknownColumns(reads, there).map(({ place, message }) => ({
      at: `${place.line} ${place.key}`,
      message,
    }))
    expect(found.map(({ at }) => at)).toEqual([
      '5 row.key[0]',
      '6 row.account.reference',
      '7 row.observedAt.from',
      '14 conditions.asthma.when.asthma',
    ])
    expect(found[0]?.message).toContain('no column "id", but "ID"')
    expect(found[3]?.message).toContain(
      'no column "asthma"; a text that is the same in every row is written { constant: asthma }',
    )
  })

  it.each([
    ['id;day;pulse', '";"'],
    ['id\tday\tpulse', '"\\t"'],
    ['id|day|pulse', '"|"'],
  ])('a header that was read as one column is told as that, once: %j', (header, delimiter) => {
    const found = unknownColumns(reads, [header]).map(({ message }) => message)
    expect(found).toEqual([expect.stringContaining(`write \`delimiter: ${delimiter}\` into \`read\``)])
  })

  it('columns that are read in values, dates, units, conditions or keys are read', () => {
    expect(unknownColumns(reads, ALL)).toEqual([])
  })
})
