/** A name that a program damaged, and a code beside other text, are neither sent nor left out in silence. */
import { describe, expect, it } from 'vitest'
import { csvMapper, faults, mapped } from './mapping-under-test.ts'

const HEAD = `mapping: tried
read: { format: csv }
row:
  key: [id]
`
const SOURCE = `  observedAt: { from: day, format: ISO, zone: UTC }
  source: { name: Tried, type: screening }
`

describe('a name', () => {
  const rules = `careTeams:
  pcp: { when: { npi: present }, npi: npi, name: doc }
`
  const read = (checks = '') =>
    csvMapper(
      `${HEAD}  account:
    reference: id
    register: { firstName: first, lastName: last, dateOfBirth: { from: born, format: ISO }, gender: { constant: FEMALE }, postalCode: zip }
${SOURCE}${checks}${rules}`,
      ['id', 'first', 'last', 'born', 'zip', 'day', 'npi', 'doc'],
    )
  const row = {
    id: 'a',
    first: 'Ann',
    last: 'Reed',
    born: '1979-04-12',
    zip: '04884',
    day: '2026-03-02',
    npi: '1234567893',
    doc: 'Dr. Reed',
  }

  it.each([
    ['García', undefined],
    ['O’Brien', undefined],
    ['Ångström', undefined],
    ['JOÃO', undefined],
    ['Ähtäri', undefined],
    ['Nan Max', undefined],
    ['GarcÃ­a', 'damaged'],
    ['Oâ€™Brien', 'damaged'],
    ['WaÅ‚Ä™sa', 'damaged'],
    ['CapekÄ', undefined],
    ['Garcï¿½a', 'damaged'],
    ['Garc\ufffda', 'damaged'],
    ['O&#39;Brien', 'damaged'],
    ['N/A', 'none'],
    ['Unknown', 'none'],
    ['-', 'none'],
  ])('%s of a person and of a provider: %s', (name, fault) => {
    const outcome = read()({ ...row, last: name, doc: name })
    const draft = mapped(outcome).register()
    const registered = { damaged: 'registration-damaged', none: 'registration-incomplete' }
    const provider = { damaged: 'pcp: name-damaged doc', none: 'pcp: name-missing doc' }
    const expected = fault as keyof typeof provider | undefined
    expect(draft?.ok === false ? draft.issue.code : undefined).toBe(expected && registered[expected])
    expect(faults(outcome)).toEqual(expected === undefined ? [] : [provider[expected]])
  })

  it('passes as it is where the mapping checks none', () => {
    expect(faults(read('  checks: { damaged-key: off }\n')({ ...row, doc: 'N/A' }))).toEqual([])
  })
})

describe('a reference', () => {
  const read = csvMapper(
    `${HEAD}  account: { reference: id }\n${SOURCE}biometrics: { heart-rate: pulse }\n`,
    ['id', 'day', 'pulse'],
  )
  const of = (id: string) => read({ id, day: '2026-03-02', pulse: '62' })

  it.each(['P\u20111', 'P\u20131', 'P\u22121', '１２３', 'Ｐ1', '4-Feb', '12-Dec'])('%s is damaged', (id) => {
    expect(faults(of(id))).toEqual(['row: account-damaged id'])
  })

  it.each([
    ['P-1', 'P-1', []],
    ['4-FEB', '4-FEB', []],
    ['44-Feb-1', '44-Feb-1', []],
    ['\u00c0B1', '\u00c0B1', []],
    // One person, whether the letter and its accent are composed or not.
    ['A\u0300B1', '\u00c0B1', ['account-repaired']],
  ])('%s is %s', (id, reference, warnings) => {
    const row = mapped(of(id))
    expect([row.account.reference, row.key]).toEqual([reference, reference])
    expect(row.warnings.map(({ issue }) => issue.code)).toEqual(warnings)
  })
})

describe('a code that the mapping would leave out as unknown', () => {
  const read = (checks = '') =>
    csvMapper(
      `${HEAD}  account: { reference: id }
${SOURCE}${checks}biometrics:
  - { when: { loinc: present }, code: { from: loinc, system: LOINC, unknown: skip }, value: value, unit: { constant: mg/dL } }
conditions:
  - { when: { icd: present }, code: { from: icd, system: ICD-10-CM, unknown: skip }, status: active }
`,
      ['id', 'day', 'loinc', 'value', 'icd'],
    )
  const of = (cells: Readonly<Record<string, string>>, checks?: string) =>
    read(checks)({ id: 'a', day: '2026-03-02', value: '90', ...cells })

  it.each([
    [{ loinc: 'LOINC:2339-0' }, 'loinc'],
    [{ loinc: '2339-0 (glucose)' }, 'loinc'],
    [{ loinc: '02339-0' }, 'loinc'],
    [{ loinc: '２３３９-0' }, 'loinc'],
    [{ icd: 'I10, E11.9' }, 'icd'],
    [{ icd: 'I10 - hypertension' }, 'icd'],
    [{ icd: 'I10.' }, 'icd'],
  ])('%j holds a known code, and is rejected', (cells, field) => {
    expect(faults(of(cells))).toEqual([`unmapped-1: code-damaged ${field}`])
  })

  it.each([{ loinc: '99999-5' }, { loinc: 'GLUCOSE' }, { icd: 'Z99' }, { icd: 'hypertension' }])(
    '%j is left out',
    (cells) => {
      expect(of(cells).outcome).toBe('skipped')
    },
  )

  it('is left out where the mapping checks no damage of codes', () => {
    expect(of({ icd: 'I10, E11.9' }, '  checks: { damaged-code: off }\n').outcome).toBe('skipped')
  })

  it('is known in small letters: ICD-10-CM makes no difference', () => {
    expect(['i10', 'e11.9', 'e119'].map((icd) => mapped(of({ icd })).records[0]?.rule)).toEqual([
      'hypertension-1',
      'type-2-diabetes-1',
      'type-2-diabetes-1',
    ])
  })
})
