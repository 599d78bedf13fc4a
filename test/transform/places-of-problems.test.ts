import { expect, it } from 'vitest'
import { stringify } from 'yaml'
import { findings, load } from './mapping-under-test.ts'

/** Each kind of rule, with each of its fields as an object: two of everything that may be several. */
const field = (from: string) => ({ from })
const SOURCE = { name: field('sn'), type: field('st'), sendingSystem: field('ss'), notes: field('so') }
const DATED = { from: 'at', format: 'ISO', zone: field('zone') }
const HEAD = {
  mapping: 'm',
  read: { format: 'csv' },
  row: {
    key: [field('id'), field('visit')],
    account: {
      reference: field('ref'),
      sponsor: field('payer'),
      register: {
        firstName: field('first'),
        lastName: field('last'),
        dateOfBirth: { from: 'born', format: 'yyyy-MM-dd' },
        gender: field('sex'),
        postalCode: field('zip'),
      },
    },
    observedAt: DATED,
    issuedAt: { ...DATED, from: 'issued' },
    source: { ...SOURCE, dataQuality: field('sq') },
  },
}
const STATUS = { ...field('state'), keep: ['F'], withdrawn: ['X'] }
const MEDICATION = [
  { code: field('m1'), name: field('n1') },
  { code: field('m2'), name: field('n2') },
]
const RECORDS: Readonly<Record<string, unknown>> = {
  biometrics: {
    hba1c: { from: 'a1c', unit: field('u1'), observedAt: { ...DATED, from: 'at1' } },
    bmi: { firstOf: [field('b1'), field('b2')], refRange: field('range') },
    'heart-rate': { concat: [field('h1'), field('h2')], refLow: field('low'), refHigh: field('high') },
  },
  conditions: {
    asthma: {
      ...{ when: { c: 'Y' }, status: field('s1'), medication: MEDICATION },
      family: { history: field('history'), member: [field('r1'), field('r2')] },
    },
  },
  careTeams: {
    pcp: {
      ...{ npi: field('npi'), name: field('doctor'), type: field('type'), primary: true },
      ...{ phoneNumber: field('phone'), address: field('street'), city: field('city'), zip: field('pzip') },
      ...{ location: field('site'), profile: field('profile') },
    },
  },
  medicalRecords: {
    aps: {
      reference: field('number'),
      patient: {
        ...{
          firstName: field('first'),
          lastName: field('last'),
          dob: { from: 'born', format: 'yyyy-MM-dd' },
        },
        ...{ type: field('kind'), reference: field('ref'), zip: field('zip') },
      },
      provider: {
        npi: field('npi'),
        fax: field('fax'),
        others: { suite: field('suite'), floor: field('f') },
      },
      request: {
        ...{ type: field('t'), requestType: field('rt'), requestSubType: field('rs') },
        datesOfService: {
          type: field('dt'),
          start: { from: 'd1', format: 'yyyy-MM-dd' },
          end: { from: 'd2', format: 'yyyy-MM-dd' },
        },
        disclosures: [field('q1'), field('q2')],
      },
      authorization: { file: field('pdf') },
      webhook: { sendStatusChange: field('tell') },
    },
  },
  assessment: {
    answers: {
      one: field('a1'),
      two: [field('a2'), field('a3')],
      three: { facts: { x: field('a4'), y: field('a5') } },
    },
  },
}
const OF_LISTS: Readonly<Record<string, unknown>> = {
  biometrics: [
    { catalog: 'bmi', value: field('v1'), unit: field('u1') },
    { code: { ...field('c'), table: { A: 'hba1c' } }, value: field('v'), unit: field('u'), status: STATUS },
  ],
  conditions: [
    { catalog: 'asthma', status: field('s1') },
    {
      ...{ code: { ...field('c'), table: { A: 'asthma' } }, status: field('s2'), medication: MEDICATION },
      family: { member: [field('r1'), field('r2')] },
    },
  ],
}

type Path = readonly (string | number)[]

/** Places of objects that read a column. */
function fieldsIn(value: unknown, path: Path): Path[] {
  if (typeof value !== 'object' || value === null) return []
  const own = ['from', 'concat', 'firstOf'].some((key) => Object.hasOwn(value, key)) ? [path] : []
  return [
    ...own,
    ...Object.entries(value).flatMap(([key, inner]) =>
      fieldsIn(inner, [...path, Array.isArray(value) ? Number(key) : key]),
    ),
  ]
}

function withKey(value: unknown, [first, ...rest]: Path, key: string, text: string): unknown {
  if (first === undefined) return { ...Object(value), [key]: text }
  const copy = Array.isArray(value) ? [...value] : { ...Object(value) }
  copy[first] = withKey(copy[first], rest, key, text)
  return copy
}

const keyText = (path: Path): string =>
  path
    .map((part) => (typeof part === 'number' ? `[${part}]` : `.${part}`))
    .join('')
    .slice(1)

/** Requests register nobody. */
const headOf = (section: string): typeof HEAD => {
  const { register: _, ...account } = HEAD.row.account
  return section === 'medicalRecords' ? { ...HEAD, row: { ...HEAD.row, account } as typeof HEAD.row } : HEAD
}
const DOCUMENTS = [RECORDS, OF_LISTS].flatMap((sections) =>
  Object.entries(sections).map(([name, section]) => ({ ...headOf(name), [name]: section })),
)
const PLACES = DOCUMENTS.flatMap((document, at) =>
  fieldsIn(document, [])
    .filter(([section]) => section !== 'row' || at === 0)
    .map((path) => [keyText(path), document, path] as const),
)

it.each(DOCUMENTS.map((document) => [Object.keys(document).at(-1), document] as const))(
  'the %s of these tests have no problem',
  (_, document) => {
    load(stringify(document))
  },
)

it.each(PLACES)('a table that is missing is reported at its field: %s', (key, document, path) => {
  const found = findings(stringify(withKey(document, path, 'table', 'none')))
  expect(found).toHaveLength(1)
  expect(found[0]).toContain(` ${key}.table: there is no table "none"`)
})
