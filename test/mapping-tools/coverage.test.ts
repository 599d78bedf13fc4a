import { describe, expect, it } from 'vitest'
import { createCoverage } from '../../src/mapping-tools/coverage.ts'
import { csvMapper, load } from '../transform/mapping-under-test.ts'
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

  it('takes a field for set once one record has it', () => {
    const row = { id: 'P', day: '2026-01-02', weight: '80', weighed: '2026-01-01' }
    const { rules } = coverage(SMALL, [row, { ...row, normal: '60-90' }])
    expect(rules.find(({ rule }) => rule === 'body-weight')?.neverSet).toEqual([])
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
