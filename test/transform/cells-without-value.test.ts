/** Cells of a workbook that have no value, wherever a mapping reads them. */
import { describe, expect, test } from 'vitest'
import type { RowOutcome } from '../../src/model/entry.ts'
import { load } from './mapping-under-test.ts'

const COLUMNS = ['id', 'day', 'pulse', 'a1c', 'unit', 'state', 'doctor', 'npi', 'stones', 'born']
const NONE = ['#N/A', '#DIV/0!', '#NAME?', '#NOT-COMPUTED!', '#DIGITS! 1234567890123456', '#INVALID! 60']

const mapping = (format: string, more = '') =>
  load(`mapping: tried
read: { format: ${format}, each: { part: { from: stones, by: ";" } } }
row:
  key: [id, day]
  account: { reference: id, type: accountId }
  observedAt: { from: day, format: yyyy-MM-dd, zone: UTC }
  source: { name: Tried, type: screening }
${more}
biometrics:
  heart-rate: pulse
  hba1c: { from: a1c, when: { state: [F, C] } }
  body-weight: { expression: "stones = '' ? '' : $string($number(stones) * 6.35)", unit: kg }
conditions:
  hypertension: { when: { state: H }, status: active }
careTeams:
  doctor: { npi: npi, name: { firstOf: [doctor, npi] }, type: { constant: primary }, when: { npi: present } }
`)

const GOOD: Readonly<Record<string, string>> = {
  ...{ id: 'ann', day: '2026-03-02', pulse: '61', a1c: '5.1', state: 'F' },
  ...{ doctor: 'Dr. A', npi: '1234567893', stones: '11' },
}

const outcome = (changed: Readonly<Record<string, string>>, format = 'xlsx', more = ''): RowOutcome => {
  const row = { ...GOOD, ...changed }
  const cells = COLUMNS.map((column) => row[column] ?? '')
  const { compiled } = mapping(format, more)
  return compiled.bind(
    COLUMNS,
    'a.xlsx',
    Date.parse('2026-11-01'),
  )({ kind: 'cells', row: 1, line: 4, byteOffset: 9, cells })
}

const rejectedOf = (one: RowOutcome): string[] =>
  one.outcome === 'mapped'
    ? one.rejected.map(({ rule, issue: { code, field } }) => `${rule} ${code} ${field}`)
    : [one.outcome === 'rejected' ? `row ${one.issue.code} ${one.issue.field}` : one.outcome]

const madeOf = (one: RowOutcome): string[] =>
  one.outcome === 'mapped' ? one.records.map(({ rule }) => rule) : []

describe('a cell without value', () => {
  test('makes all records where there is none', () => {
    expect(rejectedOf(outcome({}))).toEqual([])
    expect(madeOf(outcome({}))).toEqual(['heart-rate', 'hba1c', 'body-weight', 'doctor'])
  })

  test.each(NONE)('%s rejects the record that reads it, and no other', (none) => {
    const code = { D: 'digits-lost', I: 'invalid' }[none[1] ?? ''] ?? 'error'
    const expected =
      none === '#NOT-COMPUTED!' ? 'cell-not-computed' : none === '#DIV/0!' ? 'cell-error' : `cell-${code}`
    expect(rejectedOf(outcome({ pulse: none }))).toEqual([`heart-rate ${expected} pulse`])
    expect(madeOf(outcome({ pulse: none }))).toEqual(['hba1c', 'body-weight', 'doctor'])
  })

  test.each([
    [{ state: '#N/A' }, ['hba1c cell-error state', 'hypertension cell-error state']],
    [{ npi: '#REF!' }, ['doctor cell-error npi']],
    [{ doctor: '#VALUE!' }, ['doctor cell-error doctor']],
    [{ stones: '#N/A' }, ['body-weight cell-error']],
    [{ id: '#N/A' }, ['row cell-error id']],
    [{ day: '#N/A' }, ['row cell-error day']],
    // Nothing reads it.
    [{ unit: '#N/A' }, []],
  ])('%j', (changed, expected) => {
    const found = rejectedOf(outcome(changed))
    expect(found).toHaveLength(expected.length)
    for (const [at, told] of expected.entries()) expect(found[at]).toContain(told)
  })

  test('in a condition of the row, which may skip it, rejects the row', () => {
    const skip = '  skipWhen: { state: X }'
    expect(rejectedOf(outcome({ state: '#N/A' }, 'xlsx', skip))).toEqual(['row cell-error state'])
    expect(rejectedOf(outcome({ state: 'X' }, 'xlsx', skip))).toEqual(['skipped'])
  })

  test('is empty where the mapping says so', () => {
    const empty = '  emptyWhen: ["#N/A"]'
    expect(rejectedOf(outcome({ pulse: '#N/A' }, 'xlsx', empty))).toEqual([])
    expect(madeOf(outcome({ pulse: '#N/A' }, 'xlsx', empty))).not.toContain('heart-rate')
  })

  test('is a text in CSV', () => {
    // As a name, the text is a word for none.
    expect(rejectedOf(outcome({ doctor: '#N/A' }, 'csv'))).toEqual(['doctor name-missing doctor, npi'])
    expect(rejectedOf(outcome({ pulse: '#N/A' }, 'csv'))).toEqual(['heart-rate value-not-a-number pulse'])
  })

  test('is not looked for in texts that only begin alike', () => {
    for (const doctor of ['#1 Clinic', '# N/A', '#N/A or so', '#Hash', '#SMITH!'])
      expect(rejectedOf(outcome({ doctor }))).toEqual([])
  })
})
