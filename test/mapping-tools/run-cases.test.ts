import { describe, expect, it } from 'vitest'
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
