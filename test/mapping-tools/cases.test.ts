import { describe, expect, it } from 'vitest'
import { parseCases } from '../../src/mapping-tools/cases.ts'
import { refusalOf } from '../transform/mapping-under-test.ts'

const findings = (text: string): string[] =>
  refusalOf(() => parseCases(text, 'x.cases.yaml')).findings.map(
    ({ place, message }) => `${place.line} ${place.key}: ${message}`,
  )

describe('a case file', () => {
  it('is text throughout, as it stands there', () => {
    const { value } = parseCases('cases: [{ name: 1, row: { a: 5.10, b: 007, c: Y, d: , e: null } }]', 'x')
    expect(value.cases[0]).toEqual({ name: '1', row: { a: '5.10', b: '007', c: 'Y', d: '', e: 'null' } })
  })

  it('tells every problem with its line', () => {
    const text = `cases:
  - name: no input
  - name: two inputs
    row: { a: 1 }
    text: a
  - name: a word that is none
    row: { a: 1 }
    outcome: done
  - name: both
    text: a
    outcome: mapped
    rows: []
  - name: misspelt
    row: { a: 1 }
    recrods: {}
now: tomorrow
`
    const found = findings(text)
    expect(found).toContain('2 cases[0]: needs one input: row, document or text')
    expect(found).toContain('3 cases[1]: needs one input: row, document or text')
    expect(found.find((one) => one.startsWith('8 cases[2].outcome: '))).toBeDefined()
    expect(found).toContain(
      '12 cases[3].rows: stands instead of outcome, records and the like, not beside them',
    )
    expect(found).toContain('15 cases[4].recrods: unknown key "recrods"')
    expect(found.find((one) => one.startsWith('16 now: '))).toBeDefined()
  })

  it('has at least one case', () => expect(findings('cases: []')).toHaveLength(1))
})
