/** Columns and constants: a bare word is a column or path, but under a few keys, where one that is called like a column is told. */
import { expect, it } from 'vitest'
import { RequestEntry } from '../../src/model/entry.ts'
import { createFitWatch } from '../../src/watch/judge-fit.ts'
import { csvMapper, findings, HEAD, load, mapped } from './mapping-under-test.ts'

const REQUESTS = `mapping: m
read: { format: csv }
row: { key: [ref], account: { reference: ref } }
medicalRecords:
  aps:
    reference: ref
    patient: { firstName: first, lastName: last, dob: born, reference: member, type: ptype }
    provider: { type: vtype }
    request:
      type: rtype
      requestType: Attending
      requestSubType: sub
      datesOfService: { start: from, end: to, type: dtype }
      disclosures: [lab_reports, { from: more }]
`
const COLUMNS = [
  ...['ref', 'first', 'last', 'born', 'member', 'ptype', 'vtype', 'rtype', 'from', 'to', 'dtype', 'more'],
  ...['sub', 'lab_reports'],
]

const told = (mapping: string, columns: readonly string[]): (string | null)[][] =>
  createFitWatch(load(mapping), columns)
    .report()
    .suspicions.filter(({ finding }) => finding === 'word-is-column')
    .map(({ rule, message }) => [rule, message.split(' ')[0] ?? ''])

it('reads types of patients, providers, requests and dates from their columns', () => {
  const map = csvMapper(REQUESTS, COLUMNS)
  const row = {
    ref: 'r1',
    first: 'Ann',
    last: 'Person',
    born: '1980-02-03',
    member: 'm-1',
    ptype: 'accountId',
  }
  const more = { vtype: 'clinic', rtype: 'patient', from: '2020-01-01', to: '2020-02-01', dtype: 'startEnd' }
  const [entry] = mapped(map({ ...row, ...more, more: 'pft' })).records
  if (!(entry instanceof RequestEntry)) expect.fail('no request')
  expect(JSON.parse(entry.request.body)).toMatchObject({
    patient: { type: 'accountId', reference: 'm-1' },
    provider: { type: 'clinic' },
    request: {
      type: 'patient',
      requestType: 'Attending',
      requestSubType: 'sub',
      datesOfService: { type: 'startEnd' },
      disclosures: ['lab_reports', 'pft'],
    },
  })
})

it('tells of each key under which a bare word is the word itself, and of no other', () => {
  const rules = `biometrics:
  body-weight: { from: weight, unit: kg, observedAt: { from: taken, format: yyyy-MM-dd, zone: UTC } }
conditions:
  asthma: { when: { dx: Y }, status: state, family: { history: history, member: [relative] } }
careTeams:
  doctor: { npi: npi, name: doctor, type: role }
`
  const columns = 'id,at,weight,kg,taken,UTC,dx,state,history,relative,npi,doctor,role,N,t'.split(',')
  expect(told(HEAD + rules, columns).toSorted()).toEqual([
    [null, 'row.observedAt.zone'],
    [null, 'row.source.name'],
    [null, 'row.source.type'],
    ['asthma', 'conditions.asthma.family.history'],
    ['asthma', 'conditions.asthma.status'],
    ['body-weight', 'biometrics.body-weight.observedAt.zone'],
    ['body-weight', 'biometrics.body-weight.unit'],
    ['doctor', 'careTeams.doctor.type'],
  ])
  expect(told(REQUESTS, [...COLUMNS, 'Attending'])).toEqual([
    ['aps', 'medicalRecords.aps.request.requestType'],
    ['aps', 'medicalRecords.aps.request.requestSubType'],
    ['aps', 'medicalRecords.aps.request.disclosures.0'],
  ])
})

it('says nothing where the word, or the column, is written out', () => {
  const rules = `conditions:
  asthma: { when: { dx: Y }, status: { constant: state } }
  gout: { when: { dx: G }, status: { from: state } }
`
  expect(
    told(HEAD.replace('name: N', 'name: { constant: N }') + rules, ['id', 'at', 'dx', 'state', 'N']),
  ).toEqual([])
})

it('lets a mapping expect it', () => {
  const rules = `expected: [{ finding: word-is-column, rule: asthma, reason: the column says something else }]
conditions: { asthma: { when: { dx: Y }, status: active } }
`
  const { suspicions } = createFitWatch(load(HEAD + rules), ['id', 'at', 'dx', 'active']).report()
  expect(suspicions).toMatchObject([
    { finding: 'word-is-column', expected: 'the column says something else' },
  ])
})

it('refuses a word that is called like a level', () => {
  const each = HEAD.replace('{ format: csv }', '{ format: csv, each: { dx: { from: codes, by: ";" } } }')
  const rule = 'conditions: [{ code: { from: dx, system: ICD-10-CM }, status: dx }]\n'
  expect(findings(each + rule)).toEqual([
    '4 conditions[0].status: "dx" is a constant here; to read a column, write { from: "dx" }',
  ])
})
