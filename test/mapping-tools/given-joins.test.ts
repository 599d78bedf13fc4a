import { describe, expect, it } from 'vitest'
import { parseCases } from '../../src/mapping-tools/cases.ts'
import { keepGiven, runCases, textReader } from '../../src/mapping-tools/run-cases.ts'
import { load, refusalOf } from '../transform/mapping-under-test.ts'
import { SMALL } from './cases-under-test.ts'

const joining = (read: string, key: string, name: string): string => `${SMALL}
careTeams:
  doctor: { when: { doc: present }, npi: doc, name: doctors.${name} }
joins:
  doctors: { export: "doctors*", read: { format: ${read} }, key: "${key}", on: doc }
`

async function found(mapping: string, joins: string): Promise<unknown> {
  const loaded = load(mapping)
  const cases = `joins: ${joins}\ncases: [{ name: one, row: { id: P, day: 2026-01-02, doc: 1234567893 } }]`
  const { value } = parseCases(cases, 'x.cases.yaml')
  const { compiled } = loaded.withJoins({}, keepGiven(loaded.joins, value.joins ?? {}, 'x.cases.yaml'))
  const [result] = await runCases(compiled, value, textReader(loaded.read))
  const [row] = result?.full ?? []
  return row?.records?.['doctor']?.['name'] ?? row?.rejected?.['doctor']
}

describe('the rows of a join that a case file gives', () => {
  it('are cells by column', async () => {
    const mapping = joining('csv', 'npi', 'called')
    expect(
      await found(mapping, '{ doctors: [{ npi: 1, called: X }, { npi: 1234567893, called: Dr. Reed }] }'),
    ).toBe('Dr. Reed')
    expect(await found(mapping, '{ doctors: [{ npi: 1, called: X }] }')).toBe('name-missing')
    expect(await found(mapping, '{}')).toBe('name-missing')
  })

  it('are documents', async () => {
    const rows = `{ doctors: ['{"npi": 1234567893, "called": "Dr. Reed"}'] }`
    expect(await found(joining('ndjson', '$.npi', 'called'), rows)).toBe('Dr. Reed')
  })

  it('are refused where the mapping has no such join, or no such column is given', () => {
    const { joins } = load(joining('csv', 'npi', 'called'))
    expect(refusalOf(() => keepGiven(joins, { nurses: [] }, 'x')).code).toBe('cases-invalid')
    expect(refusalOf(() => keepGiven(joins, { doctors: [{ npi: '1' }] }, 'x')).code).toBe('columns-missing')
  })
})
