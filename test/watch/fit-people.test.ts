/** Findings about people at their edges: one row less, or one more, and there is none. */
import { expect, it } from 'vitest'
import { createFitWatch } from '../../src/watch/judge-fit.ts'
import { load, NOW } from '../transform/mapping-under-test.ts'

const MAPPING = load(`mapping: m
read: { format: csv }
row:
  key: [id]
  account:
    reference: person
    register: { firstName: first, lastName: last, dateOfBirth: { from: born, format: yyyy-MM-dd }, gender: sex, postalCode: zip }
  observedAt: { from: day, format: yyyy-MM-dd, zone: UTC }
  source: { name: N, type: t }
biometrics: { hemoglobin: hb, body-height: height }
`)
const USUAL = {
  ...{ id: '', person: '', first: 'A', last: '', born: '1980-01-01', sex: 'FEMALE', zip: '12345' },
  ...{ day: '', hb: '', height: '' },
}
type Row = Partial<typeof USUAL>

const rows = (count: number, make: (at: number) => Row = () => ({})): Row[] =>
  Array.from({ length: count }, (_, at) => make(at))
const sexes = (female: number, male: number, values: (sex: string) => Row = () => ({})): Row[] => [
  ...rows(female, () => ({ sex: 'FEMALE', ...values('FEMALE') })),
  ...rows(male, () => ({ sex: 'MALE', ...values('MALE') })),
]

function factsOf(given: readonly Row[]) {
  const columns = Object.keys(USUAL)
  const map = MAPPING.compiled.bind(columns, 'export', NOW)
  const watch = createFitWatch(MAPPING, columns)
  for (const [at, one] of given.entries()) {
    const own = { id: `${at}`, person: `p${at}`, last: `L${at}`, day: `2026-02-${10 + (at % 9)}` }
    const cells = Object.values({ ...USUAL, ...own, ...one })
    watch.add(map({ row: at + 1, line: at + 2, byteOffset: 0, kind: 'cells', cells }))
  }
  return watch.report()
}

/** References in two rows each, some of them with two dates of birth. */
const references = (count: number, mixed: number): Row[] =>
  rows(2 * count, (at) => ({
    person: `r${at % count}`,
    last: `N${at % count}`,
    born: at >= count && at % count < mixed ? '1981-01-01' : '1980-01-01',
  }))

/** People in two rows each, some of them by two references. */
const people = (count: number, split: number): Row[] =>
  rows(2 * count, (at) => ({
    last: `N${at % count}`,
    person: `${at >= count && at % count < split ? 'other ' : ''}r${at % count}`,
  }))

const incomplete = (count: number, complete: number): Row[] => [
  ...rows(count, () => ({ zip: '' })),
  ...rows(complete),
]
const newborn = (count: number, of: number): Row[] =>
  rows(of, (at) => ({ born: at < count ? '2025-06-01' : '1980-01-01' }))
const levels = (female: string, male: string) => (sex: string) => ({ hb: sex === 'MALE' ? male : female })
const both = (sex: string) => ({ hb: sex === 'MALE' ? '14' : '15', height: sex === 'MALE' ? '180' : '165' })

it.each<[finding: string, odd: readonly Row[], well: readonly (readonly Row[])[], message: string]>([
  [
    'person-mixed',
    references(8, 2),
    [references(9, 2), references(4, 1)],
    '25 % of the references in several rows',
  ],
  ['person-split', people(10, 5), [people(11, 5), people(9, 9)], '50 % of the people in several rows'],
  [
    'registration-incomplete',
    incomplete(20, 20),
    [incomplete(20, 21), incomplete(19, 0)],
    '50 % of the people cannot be registered, most for',
  ],
  [
    'postal-codes-short',
    [...rows(1, () => ({ zip: '4884' })), ...rows(20)],
    [
      rows(21),
      [...rows(1, () => ({ zip: '4884' })), ...rows(19)],
      [...rows(9, () => ({ zip: '1010' })), ...rows(9, () => ({ zip: 'SW1A 1AA' }))],
      [...rows(1, () => ({ zip: '12345-6789' })), ...rows(20)],
    ],
    '1 postal codes have three or four digits, and 20 have five',
  ],
  ['one-sex', sexes(100, 0), [sexes(99, 0), sexes(99, 1)], 'nobody is registered as MALE'],
  [
    'one-sex',
    [...sexes(0, 60), ...rows(40, () => ({ sex: 'OTHER' }))],
    [[...sexes(1, 60), ...rows(40, () => ({ sex: 'OTHER' }))]],
    'nobody is registered as FEMALE',
  ],
  [
    'sexes-inverted',
    sexes(20, 20, levels('15', '14')),
    [
      sexes(19, 20, levels('15', '14')),
      sexes(20, 19, levels('15', '14')),
      sexes(20, 20, levels('14.2', '14')),
      // One of two measurements may be chance.
      sexes(20, 20, both),
    ],
    'the median of hemoglobin is higher in women than in men',
  ],
  [
    'born-when-observed',
    newborn(9, 30),
    [newborn(8, 30), newborn(9, 29)],
    '30 % of the people were born within a year',
  ],
  [
    'one-person',
    rows(20, () => ({ person: 'p' })),
    [rows(19, () => ({ person: 'p' })), rows(20)],
    'all 20 rows are of one person',
  ],
])('%s', (finding, odd, well, message) => {
  const of = (given: readonly Row[]) =>
    factsOf(given.map((row) => ({ hb: '14', ...row }))).suspicions.filter((one) => one.finding === finding)
  expect(of(odd)).toMatchObject([{ rule: null, message: expect.stringContaining(message) }])
  for (const given of well) expect(of(given)).toEqual([])
})

it.each([
  [20, true],
  [19, false],
])('of %i people whose birth is known, a third who were newborn are told: %s', (known, isTold) => {
  const given = [...newborn(7, known), ...rows(30, () => ({ zip: '' }))]
  const found = factsOf(given.map((row) => ({ hb: '14', ...row }))).suspicions.map((one) => one.finding)
  expect(found.includes('born-when-observed')).toBe(isTold)
})

it('people are counted by name, by date of birth and by sex', () => {
  const given = [
    ...rows(3, (at) => ({ person: 'a', last: 'X', first: `F${at % 2}`, sex: 'MALE' })),
    { person: 'b', zip: '' },
    { person: 'c', sex: 'OTHER' },
  ]
  expect(factsOf(given).facts).toMatchObject({
    people: {
      ...{ different: 3, registered: 4, repeated: 1, mixed: 0, met: 1, split: 0 },
      names: { first: 3, last: 2 },
      postalCodes: { five: 4, short: 0 },
      incomplete: { 'registration-incomplete': 1 },
    },
    sexes: { MALE: 3, OTHER: 1 },
    bySex: {},
  })
})

it('medians by sex are of twenty values or more', () => {
  const { bySex } = factsOf(sexes(20, 19, (sex) => ({ hb: sex === 'MALE' ? '15' : '13' }))).facts
  expect(Object.keys(bySex)).toEqual(['hemoglobin'])
  expect(Object.keys(bySex['hemoglobin'] ?? {})).toEqual(['FEMALE'])
  expect(bySex['hemoglobin']?.['FEMALE']).toBeCloseTo(13, 1)
})
