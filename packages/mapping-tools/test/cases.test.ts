import { describe, expect, it } from 'vitest'
import { load, refusalOf } from '../../../test/transform/mapping-under-test.ts'
import { keepGiven, parseCases, runCases, textReader, updateCases } from '../src/run-cases.ts'
import { failed, run, SMALL, shipped } from './cases-under-test.ts'

describe('the cases of acme-onsite', () => {
  const mapping = shipped('acme-onsite.yaml')
  const cases = shipped('acme-onsite.cases.yaml')

  // Each line is a change of what is sent, or of what is done with a row.
  it.each([
    ['the row key', 'key: [participant_id, screened_at]', 'key: [participant_id]'],
    ['the account', 'reference: participant_id', 'reference: zip'],
    ['a registered name', 'firstName: first_name', 'firstName: last_name'],
    ['a registered date', '{ from: dob, format: yyyy-MM-dd }', '{ from: dob, format: yyyy-dd-MM }'],
    ['a registered table', 'M: MALE', 'M: FEMALE'],
    ['no registration', /register:\n(?: {6}.*\n)+/, ''],
    ['a form of date', ', yyyy-MM-dd HH:mm]', ']'],
    ['the zone', 'zone: America/New_York', 'zone: America/Chicago'],
    ['the source', 'name: Acme Onsite Screening', 'name: Acme'],
    ['the type of the source', 'type: screening', 'type: laboratory'],
    ['a sending system', 'sendingSystem: acme', 'sendingSystem: acme2'],
    ['no sending system', ', sendingSystem: acme', ''],
    ['notes that all records have', 'sendingSystem: acme', 'sendingSystem: acme, notes: onsite'],
    ['rows that are skipped', 'no_show: Y', 'no_show: N'],
    ['a column', 'from: sbp', 'from: dbp'],
    ['a unit', 'unit: lb', 'unit: kg'],
    ['a text that means nothing', '{ from: sbp, emptyWhen: [ND] }', '{ from: sbp }'],
    ['a condition of a rule', 'when: { fasting: N }', 'when: { fasting: N, tobacco: Y }'],
    ['an entry of the catalog', 'hba1c: { from: a1c,', 'hba1c: { from: a1c, catalog: bmi,'],
    ['a reference range', 'bmi: { from: bmi,', 'bmi: { from: bmi, refRange: { constant: 18-25 },'],
    ['what a diagnosis is', 'asthma: { when', 'asthma: { catalog: hypertension, when'],
    ['a status', '{ when: { tobacco: Y }, status: active }', '{ when: { tobacco: Y }, status: inactive }'],
    [
      'a date of its own',
      '{ when: { tobacco: Y },',
      '{ when: { tobacco: Y }, observedAt: { from: dob, format: yyyy-MM-dd, zone: UTC },',
    ],
    ['a type of care team', 'type: PCP', 'type: DOCTOR'],
    ['the mark of primary care', 'primary: true', 'primary: false'],
    ['a phone number', 'phoneNumber: pcp_phone', 'city: pcp_phone'],
    ['a rule that is gone', /\n {2}hba1c: .*/, ''],
    ['the name of a rule', 'hba1c: { from', 'a1c: { catalog: hba1c, from'],
    ['the order of rules', /( {2}systolic-bp.*\n)( {2}diastolic-bp.*\n)/, '$2$1'],
  ])('see %s', async (_what, found, instead) => {
    const changed = mapping.replace(found, instead)
    expect(changed).not.toBe(mapping)
    expect(await failed(changed, cases)).not.toEqual([])
  })

  it('pass as they stand', async () => expect(await failed(mapping, cases)).toEqual([]))
})

const HEAD = 'row: { id: P-1, day: 2026-01-02, pulse: 60 }'
const TOLD = 'outcome: mapped, key: P-1, account: P-1'
const EVERY =
  '{ name: Heart rate, code: LOINC 8867-4, type: Observation, accountType: partnerAccountId, source: Small, sourceType: screening }'
const small = (one: string): string =>
  `cases:\n  - { name: one, ${HEAD}, ${one} }\nrules: { heart-rate: ${EVERY} }\n`

describe('a case', () => {
  it('says the same in long and in short', async () => {
    expect(
      await failed(
        SMALL,
        small(`${TOLD}, observedAt: 2026-01-02T00:00:00.000Z, records: { heart-rate: 60 /min }`),
      ),
    ).toEqual([])
    expect(
      await failed(
        SMALL,
        small(
          `${TOLD}, records: { heart-rate: { value: 60 /min, source: Small, observedAt: 2026-01-02T00:00:00.000Z } }`,
        ),
      ),
    ).toEqual([])
  })

  it.each([
    ['another value', 'observedAt: 2026-01-02T00:00:00.000Z, records: { heart-rate: 60.0 /min }'],
    ['another date', 'observedAt: 2026-01-03T00:00:00.000Z, records: { heart-rate: 60 /min }'],
    ['no record', 'observedAt: 2026-01-02T00:00:00.000Z'],
    [
      'a fact that is absent',
      'observedAt: 2026-01-02T00:00:00.000Z, records: { heart-rate: { value: 60 /min, source: (absent) } }',
    ],
    ['a warning', 'observedAt: 2026-01-02T00:00:00.000Z, records: { heart-rate: 60 /min }, warnings: [x]'],
  ])('fails that expects %s', async (_what, told) => {
    expect(await failed(SMALL, small(`${TOLD}, ${told}`))).toEqual(['one'])
  })

  it('that says nothing of what it expects fails', async () => {
    const [result] = await run(SMALL, `cases: [{ name: one, ${HEAD} }]`)
    expect(result).toMatchObject({ passed: false, expected: undefined })
  })

  it('expects an export to be refused as a whole', async () => {
    const refused = 'text: "id,id\\n1,2\\n", outcome: refused, reason: export-unreadable'
    expect(await failed(SMALL, `cases: [{ name: one, ${refused} }]`)).toEqual([])
  })

  it('is of a time of its own', async () => {
    const cases = (now: string): string =>
      `${now}cases: [{ name: one, ${HEAD}, ${TOLD}, rejected: { heart-rate: date-in-future } }]`
    expect(await failed(SMALL, cases('now: 2025-12-31T00:00:00Z\n'))).toEqual([])
    expect(await failed(SMALL, cases('now: 2026-01-01T12:00:00Z\n'))).toEqual(['one'])
    expect(await failed(SMALL, cases(''))).toEqual(['one'])
  })

  it('has its text read as the mapping says, whatever encoding the files of the vendor have', async () => {
    const dialect = SMALL.replace('format: csv', 'format: csv, delimiter: ";", encoding: windows-1252')
    const told = `text: "id;pulse;day;gone;weight;normal;weighed;asthma;state\\nÜ;;2026-01-02;;;;;;\\n", outcome: mapped, key: Ü, account: Ü`
    expect(await failed(dialect, `cases: [{ name: one, ${told} }]`)).toEqual([])
  })
})

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
    expect(found).toContain('15 cases[4].recrods: unknown key "recrods"; did you mean "records"?')
    expect(found.find((one) => one.startsWith('16 now: '))).toBeDefined()
  })

  it('has at least one case', () => expect(findings('cases: []')).toHaveLength(1))
})

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

const update = async (mapping: string, cases: string): Promise<string> =>
  updateCases(cases, await run(mapping, cases))

const ONE = '    row: { id: P-1, day: 2026-01-02, pulse: 60.0 }'

describe('what --update writes', () => {
  it('is what came out, with what is the same in all records told once', async () => {
    const cases = `cases:\n  - name: one\n${ONE}\n  - name: gone\n    row: { gone: Y }\n`
    expect(await update(SMALL, cases)).toBe(`cases:
  - name: one
${ONE}
    outcome: mapped
    key: P-1
    account: P-1
    observedAt: 2026-01-02T00:00:00.000Z
    records:
      heart-rate: 60.0 /min
  - name: gone
    row: { gone: Y }
    outcome: skipped
    reason: skipWhen

# What every record above has besides.
always:
  accountType: partnerAccountId
  source: Small
  sourceType: screening

# And what those of a rule are sent as.
rules:
  heart-rate: { name: Heart rate, code: LOINC 8867-4, type: Observation }
`)
  })

  it('passes afterwards, and is written the same again', async () => {
    const row =
      'id: P-1, day: 2026-01-02, pulse: 60, weight: 80, normal: 60-90, weighed: 2026-01-01, asthma: Y, state: active'
    const once = await update(SMALL, `cases:\n  - name: all\n    row: { ${row} }\n`)
    expect(once).toContain(
      'body-weight: { value: 80 kg, observedAt: 2026-01-01T00:00:00.000Z, refHigh: 90, refLow: 60, refRange: 60-90 }',
    )
    expect(once).toContain('      asthma: active\n')
    expect((await run(SMALL, once)).map(({ passed }) => passed)).toEqual([true])
    expect(await update(SMALL, once)).toBe(once)
  })

  it('keeps comments and order, and changes nothing but what changed', async () => {
    const first = await update(SMALL, `cases:\n  - name: one\n${ONE}\n`)
    const kept = first
      .replace('cases:', '# Ours.\ncases:\n  # The first.')
      .replace('    records:', '    # In New York.\n    records:')
      .replace('      heart-rate: 60.0 /min', '      heart-rate: 60.0 /min # at rest')
    const other = SMALL.replace('type: screening', 'type: visit').replace(
      'zone: UTC',
      'zone: America/New_York',
    )
    expect(await update(other, kept)).toBe(
      kept.replace('sourceType: screening', 'sourceType: visit').replace('02T00:00', '02T05:00'),
    )
  })

  it('tells with the record what is not the same in all of them', async () => {
    const [one, two] = [
      `  - name: one\n${ONE}\n`,
      '  - name: two\n    row: { id: P-2, day: 2026-01-02, psa: <0.1 }\n',
    ]
    const mapping = SMALL.replace(
      '  heart-rate: pulse',
      '  heart-rate: pulse\n  psa: { from: psa, comparators: limit }',
    )
    for (const both of [one + two, two + one]) {
      const written = await update(mapping, `cases:\n${both}`)
      expect(written).toContain('psa: { value: 0.1 ng/mL, notes: reported as <0.1 }')
      expect((await run(mapping, written)).every(({ passed }) => passed)).toBe(true)
    }
  })

  it('has nothing left of what came out before', async () => {
    const before = '    outcome: skipped\n    reason: skipWhen\n    warnings: ["row: x"]\n'
    const cases = `cases:\n  - name: one\n${ONE}\n`
    expect(await update(SMALL, cases + before)).toBe(await update(SMALL, cases))
  })

  it('puts records into the order in which they are made', async () => {
    const row = 'row: { id: P-1, day: 2026-01-02, pulse: 60, weight: 80, weighed: 2026-01-02 }'
    const wrong = `cases:\n  - name: one\n    ${row}\n    records:\n      body-weight: 1 kg\n      heart-rate: 60 /min\n`
    const written = await update(SMALL, wrong)
    expect(written.indexOf('heart-rate: 60')).toBeLessThan(written.indexOf('body-weight: 80 kg'))
  })

  it('tells once what the code of long rules is sent as, whatever their ordinals', async () => {
    const long = SMALL.replace(
      /biometrics:[\s\S]*/,
      'biometrics: [{ code: { from: code, system: LOINC }, value: v, unit: { constant: "%" } }]\n',
    )
    const written = await update(
      long,
      'cases:\n  - name: one\n    row: { id: P-1, day: 2026-01-02, code: 4548-4, v: 5.1 }\n',
    )
    expect(written).toContain('      hba1c-1: 5.1 %\n')
    expect(written).toContain('  hba1c: { name: ')
    // A number counts from 1, also where the first is rejected.
    const two = long.replace(
      'unit: { constant: "%" } }',
      'unit: { constant: "%" } }, { code: { from: code, system: LOINC }, value: w, unit: { constant: "%" } }',
    )
    const second = await update(
      two,
      'cases:\n  - name: one\n    row: { id: P-1, day: 2026-01-02, code: 4548-4, v: high, w: 5.1 }\n',
    )
    expect(second).toContain('      hba1c-2: 5.1 %\n')
    expect(second).toContain('  hba1c: { name: ')
  })
})
