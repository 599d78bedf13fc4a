/** How far back dates go: births, observations, and which century two digits of a year mean. */
import { describe, expect, it } from 'vitest'
import type { RowOutcome } from '../../src/model/entry.ts'
import { csvMapper, csvRules, faults, findings, HEAD, mapped } from './mapping-under-test.ts'

const at = (outcome: RowOutcome): string[] =>
  mapped(outcome).records.map(({ observedAt }) => new Date(observedAt).toISOString())

const RULES =
  'biometrics: { systolic-bp: sbp }\nconditions: { asthma: { when: { dx: present }, status: active, observedAt: OWN } }'
const byRow = (more: string, own: string) =>
  csvRules(
    ['id', 'visited', 'sbp', 'dx', 'onset'],
    RULES.replace('OWN', own),
    '',
    `{ from: visited, format: ISO, zone: America/New_York${more} }`,
  )
const ONSET = '{ from: onset, format: ISO, zone: UTC }'
const visit = (map: ReturnType<typeof byRow>, visited: string, more = {}): RowOutcome =>
  map({ id: 'P-1', visited, sbp: '118', ...more })

describe('an observation', () => {
  const map = byRow('', ONSET)

  it.each(['0001-01-01', '1753-01-01', '1899-12-30', '1900-01-01', '1970-01-01', '1989-12-31T09:00'])(
    'of %s is rejected: no export goes back so far unless the mapping says so',
    (day) => {
      expect(faults(visit(map, day))).toEqual(['row: date-too-early visited'])
    },
  )

  it('of 1990 is sent, wherever the day began', () => {
    expect(at(visit(map, '1990-01-01'))).toEqual(['1990-01-01T05:00:00.000Z'])
    const inKiritimati = csvRules(
      ['id', 'visited', 'sbp'],
      'biometrics: { systolic-bp: sbp }',
      '',
      '{ from: visited, format: ISO, zone: Pacific/Kiritimati }',
    )
    const first = inKiritimati({ id: 'P-1', visited: '1990-01-01T00:00', sbp: '118' })
    expect(at(first)).toEqual(['1990-01-01T10:00:00.000Z'])
    const inAuckland = csvRules(
      ['id', 'visited', 'sbp'],
      'biometrics: { systolic-bp: sbp }',
      '',
      '{ from: visited, format: ISO, zone: Pacific/Auckland }',
    )
    expect(at(inAuckland({ id: 'P-1', visited: '1990-01-01T00:00', sbp: '118' }))).toEqual([
      '1989-12-31T11:00:00.000Z',
    ])
  })

  it('of a rule with a date of its own is rejected by that, and by nothing of the row', () => {
    const early = visit(map, '2026-02-04', { dx: 'Y', onset: '1981-05-01' })
    expect(faults(early)).toEqual(['asthma: date-too-early onset'])
    expect(at(early)).toHaveLength(1)
    const since = byRow('', ONSET.replace(' }', ', since: 1950-01-01 }'))
    expect(at(visit(since, '2026-02-04', { dx: 'Y', onset: '1981-05-01' }))).toHaveLength(2)
    expect(faults(visit(since, '2026-02-04', { dx: 'Y', onset: '1949-12-30' }))).toEqual([
      'asthma: date-too-early onset',
    ])
    expect(faults(visit(since, '1981-05-01', { dx: 'Y', onset: '1981-05-01' }))).toEqual([
      'row: date-too-early visited',
    ])
  })

  it('reaches as far back as the mapping says', () => {
    const since = byRow(', since: 2024-07-01', ONSET)
    expect(faults(visit(since, '2024-06-29'))).toEqual(['row: date-too-early visited'])
    expect(at(visit(since, '2024-07-01'))).toEqual(['2024-07-01T04:00:00.000Z'])
  })

  it('whose mapping gives no day for it is refused', () => {
    const wrong = (since: string): string[] =>
      findings(`${HEAD.replace('zone: UTC', `zone: UTC, since: ${since}`)}biometrics: { systolic-bp: sbp }`)
    for (const since of ['"1990"', '1990-13-01', 'long ago', '01/01/1990'])
      expect(wrong(since)).toEqual([expect.stringMatching(/^3 row\.observedAt\.since: /)])
  })

  it('of a constant day has no bound: the mapping says when', () => {
    const constant = csvRules(
      ['id', 'sbp'],
      'biometrics: { systolic-bp: sbp }',
      '',
      '{ constant: "1985-01-31T12:00:00Z" }',
    )
    expect(at(constant({ id: 'P-1', sbp: '118' }))).toEqual(['1985-01-31T12:00:00.000Z'])
  })
})

const register = (dob: string): string =>
  `mapping: m
read: { format: csv }
row:
  key: [id, visited]
  account: { reference: id, register: { firstName: first, lastName: last, dateOfBirth: ${dob}, gender: sex, postalCode: zip } }
  observedAt: { from: visited, format: ISO, zone: UTC, since: 1900-01-01 }
  source: { name: N, type: t }
biometrics: { systolic-bp: sbp }
`
const COLUMNS = ['id', 'visited', 'first', 'last', 'dob', 'sex', 'zip', 'sbp']
const person = (mapping: string, dob: string, visited = '2026-02-04') => {
  const outcome = mapped(
    csvMapper(
      mapping,
      COLUMNS,
    )({ id: 'P-1', visited, first: 'Ada', last: 'Quill', dob, sex: 'F', zip: '62701', sbp: '118' }),
  )
  const draft = outcome.register()
  return {
    born: outcome.born,
    faults: faults(outcome),
    registers: draft?.ok === true ? draft.registration.dateOfBirth : draft?.issue.code,
  }
}

describe('a birth date', () => {
  it.each(['0001-01-01', '1753-01-01', '1899-12-31', '1899-12-30', '0079-04-12'])(
    'of %s is rejected, and says nothing of who the person is',
    (dob) => {
      expect(person(register('dob'), dob)).toMatchObject({
        born: Number.NEGATIVE_INFINITY,
        registers: 'registration-date-invalid',
      })
    },
  )

  it('of 1900 is one', () => {
    expect(person(register('dob'), '1900-01-01')).toMatchObject({
      born: Date.UTC(1900, 0, 1),
      registers: '1900-01-01',
    })
    expect(person(register('{ from: dob, format: ISO }'), '1900-01-01T00:00:00+14:00').registers).toBe(
      '1900-01-01',
    )
  })

  it.each([
    ['1980-03-04T00:00:00Z', '1980-03-04'],
    // Midnight in New York and Honolulu, written in UTC, has the date of the day there.
    ['1980-03-04T05:00:00.000Z', '1980-03-04'],
    ['1980-03-04T10:00:00+00:00', '1980-03-04'],
    ['1980-03-04T23:30:00-05:00', '1980-03-04'],
    // Midnight of 4 March in Berlin and Auckland.
    ['1980-03-03T23:00:00.000Z', 'registration-date-invalid'],
    ['1980-03-03T11:00:00+00:00', 'registration-date-invalid'],
  ])('%s is %s', (dob, expected) => {
    expect(person(register('{ from: dob, format: ISO }'), dob).registers).toBe(expected)
  })

  it.each([
    // Two digits of a year, the first of the hundred years that they mean, and the year.
    ['04/12/79', 1926, '1979-04-12'],
    ['04/12/26', 1926, '1926-04-12'],
    ['04/12/25', 1926, '2025-04-12'],
    ['04/12/00', 1926, '2000-04-12'],
    ['04/12/99', 1900, '1999-04-12'],
    ['04/12/00', 1900, '1900-04-12'],
    ['04/12/00', 1901, '2000-04-12'],
    ['04/12/07', 2000, '2007-04-12'],
  ])('%s with century %i is %s', (dob, century, expected) => {
    const found = person(register(`{ from: dob, format: MM/dd/yy, century: ${century} }`), dob, '2026-02-04')
    expect(found.registers).toBe(expected)
    expect(found.born).toBe(Date.parse(expected))
  })

  it('with the name of the month, and beside a form of four digits', () => {
    const mapping = register('{ from: dob, format: [dd-MMM-yy, MM/dd/yyyy], century: 1926 }')
    expect(person(mapping, '12-APR-39').registers).toBe('1939-04-12')
    expect(person(mapping, '04/12/1979').registers).toBe('1979-04-12')
  })

  it.each(['1980', '1905', '2020'])('of %s, which may be a year, is no day of a spreadsheet', (dob) => {
    const mapping = register('{ from: dob, format: [ISO, EXCEL] }')
    expect(person(mapping, dob).registers).toBe('registration-date-invalid')
    expect(person(mapping, '29312').registers).toBe('1980-04-01')
  })

  it('more than a day in the future registers nobody, unless the check is off', () => {
    // The clock of the tests shows 2027-01-01T00:00Z.
    expect(person(register('dob'), '2027-01-02').registers).toBe('2027-01-02')
    expect(person(register('dob'), '2027-01-03')).toMatchObject({
      registers: 'registration-date-invalid',
      faults: ['systolic-bp: date-before-birth -'],
    })
    const off = register('dob').replace('row:\n', 'row:\n  checks: { future-date: off }\n')
    expect(person(off, '2027-01-03').registers).toBe('2027-01-03')
  })

  it('after the observation rejects that, as the century is wrong then', () => {
    const mapping = register('{ from: dob, format: MM/dd/yy, century: 1990 }')
    expect(person(mapping, '04/12/79', '2026-02-04').faults).toEqual(['systolic-bp: date-before-birth -'])
  })

  it('of two digits needs its century, and one of four has none', () => {
    const told = (dob: string): string[] => findings(register(dob))
    const key = 'row.account.register.dateOfBirth'
    expect(told('{ from: dob, format: MM/dd/yy }')).toEqual([
      expect.stringContaining(`${key}.century: is missing: two digits of a year need a century`),
    ])
    expect(told('{ from: dob, format: [MM/dd/yyyy, dd-MMM-yy] }')).toHaveLength(1)
    expect(told('{ from: dob, format: MM/dd/yyyy, century: 1926 }')).toEqual([
      expect.stringContaining(`${key}.century: belongs to forms with yy`),
    ])
    for (const century of ['1899', '19', '2030', '1926.5', 'past'])
      expect(told(`{ from: dob, format: MM/dd/yy, century: ${century} }`)).toEqual([
        expect.stringContaining(`${key}.century: `),
      ])
  })
})
