/** The source object by row (interface, "Source object": name, type and notes are texts of the record). */
import { expect, it } from 'vitest'
import { createIdentity } from '../../src/model/ids.ts'
import { csvRules, faults, findings, HEAD, mapped, NESTED, wires } from './mapping-under-test.ts'

const RULES = `biometrics:
  heart-rate: pulse
  psa: { from: psa, comparators: limit }
conditions: { asthma: { when: { dx: Y }, status: active } }
careTeams: { doctor: { when: { npi: present }, npi: npi, name: doctor } }`
const COLUMNS = ['id', 'pulse', 'psa', 'dx', 'npi', 'doctor', 'site', 'kind', 'remark', 'from']
const ROW = { id: '1', pulse: '61', psa: '<0.1', dx: 'Y', npi: '1234567893', doctor: 'Dr. N' }

const constant = (source: string) => csvRules(COLUMNS, RULES, '', undefined, source)
const byRow = constant(
  '{ name: { from: site }, type: { from: kind }, notes: { from: remark }, sendingSystem: { from: from } }',
)

it('of columns gives the records and hashes of the same constants', () => {
  const identity = createIdentity('secret')
  for (const [site, kind, remark, from] of [
    ['North', 'screening', 'fasting', 'lims'],
    ['South "S"', 'laboratory', 'fasting', 'lims'],
    ['North', 'screening', '', ''],
    ['North', 'screening', 'fasting', 'lims'],
  ] as const) {
    const more = `${remark && `, notes: ${remark}`}${from && `, sendingSystem: ${from}`}`
    const same = mapped(constant(`{ name: ${JSON.stringify(site)}, type: ${kind}${more} }`)(ROW)).records
    const read = mapped(byRow({ ...ROW, site, kind, remark, from })).records
    expect(read.map(({ text }) => text)).toEqual(same.map(({ text }) => text))
    expect(read.map((one) => identity.content(one))).toEqual(same.map((one) => identity.content(one)))
    expect(read.map(({ series }) => series)).toEqual(same.map(({ series }) => series))
    expect(read.map(({ sourceType }) => sourceType)).toEqual(read.map(() => kind))
    expect(read).toHaveLength(4)
  }
})

it('keeps the source of one row out of the records of the next', () => {
  const rows = [...Array(2_500).keys()].map((at) => ({ ...ROW, site: `S${at}`, kind: 't', remark: `r${at}` }))
  const read = rows.map((row) => wires(byRow(row)))
  expect(read[1]).toMatchObject([
    { source: { name: 'S1', type: 't', notes: 'r1' } },
    { source: { name: 'S1', type: 't', notes: 'r1; reported as <0.1' } },
    { source: { name: 'S1', type: 't', notes: 'r1' } },
    { source: { name: 'S1', type: 't', notes: 'r1' } },
  ])
  for (const [at, records] of read.entries())
    expect(records[0]).toMatchObject({ source: { name: `S${at}`, notes: `r${at}` } })
})

it('rejects a row that does not say name or type', () => {
  expect(faults(byRow({ ...ROW, site: '', kind: 't' }))).toEqual(['row: source-missing site'])
  expect(faults(byRow({ ...ROW, site: 'N', kind: '' }))).toEqual(['row: source-missing kind'])
  const looked = constant('{ name: N, type: { from: kind, table: { L: laboratory } } }')
  expect(faults(looked({ ...ROW, kind: 'X' }))).toEqual(['row: value-not-in-table kind'])
  const otherwise = constant('{ name: N, type: { firstOf: [kind, { constant: screening }] } }')
  expect(wires(otherwise(ROW))[0]).toMatchObject({ source: { type: 'screening' } })
})

it('is of the row, not of a level', () => {
  const rule = 'biometrics: [{ code: { from: obx.code, system: LOINC }, value: obx.v, unit: obx.unit }]\n'
  expect(findings(NESTED.replace('name: N', 'name: { from: obx.lab }') + rule)).toEqual([
    '3 row.source.name: the source must be read from the row, not from a level',
  ])
  expect(findings(HEAD.replace('type: t', 'type: { from: a, constant: b }') + RULES)).toHaveLength(1)
})
