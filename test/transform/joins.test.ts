import { describe, expect, it } from 'vitest'
import type { RowOutcome } from '../../src/model/entry.ts'
import type { WaybillError } from '../../src/model/errors.ts'
import type { JsonValue } from '../../src/model/row.ts'
import { parseYaml } from '../../src/system/yaml-file.ts'
import { createCatalog } from '../../src/transform/catalog.ts'
import { compileMapping } from '../../src/transform/compile.ts'
import type { Sheet } from '../../src/transform/compile-context.ts'
import { LARGEST_JOIN } from '../../src/transform/joins.ts'
import { MappingDefinition } from '../../src/transform/mapping-definition.ts'
import { createUnits } from '../../src/transform/units.ts'
import { faults, jsonMapper, mapped, ORIGIN, refusalOf, wires } from './mapping-under-test.ts'

const PROVIDERS: Sheet = {
  columns: ['Id', 'Name', 'NPI'],
  rows: [
    ['7', 'Dr. Reed', '1234567893'],
    ['8', 'ND', '1234567893'],
    ['', 'Dr. Nobody', ''],
    ['', 'Dr. Nobody Else', ''],
  ],
}
const COLUMNS = ['id', 'doctor']

const mapping = (join: string, rules: string, row = ''): string => `mapping: m
read: { format: csv }
row: { key: [id], account: { reference: id }, observedAt: { constant: "2026-02-04T00:00:00Z" }, source: { name: N, type: t }${row} }
joins: ${join}
${rules}
`
const JOIN = '{ doctors: { table: providers, key: Id, on: doctor } }'
const TEAM = 'careTeams: { pcp: { when: { doctors.NPI: present }, npi: doctors.NPI, name: doctors.Name } }'

function compile(text: string, sheet = PROVIDERS): (cells: Record<string, string>) => RowOutcome {
  const resources = {
    catalog: createCatalog({}, {}),
    units: createUnits(new Map()),
    tables: new Map(),
    sheets: new Map([['providers', sheet]]),
  }
  const file = parseYaml(text, 'm.yaml', MappingDefinition, 'mapping-invalid')
  const map = compileMapping(file, resources).bind(COLUMNS, 'x.csv', Date.parse('2027-01-01'))
  return (cells) => map({ ...ORIGIN, kind: 'cells', cells: COLUMNS.map((column) => cells[column] ?? '') })
}

const findings = (text: string, sheet?: Sheet): string[] => {
  const error: WaybillError = refusalOf(() => compile(text, sheet))
  return error.findings.map(({ place, message }) => `${place.line} ${place.key}: ${message}`)
}

describe('a join', () => {
  it('leads to the fields of the row with that key', () => {
    const map = compile(mapping(JOIN, TEAM))
    expect(wires(map({ id: 'P1', doctor: ' 7 ' }))).toMatchObject([{ npi: '1234567893', name: 'Dr. Reed' }])
  })

  it('without a row of that key, or without a key, is empty', () => {
    const map = compile(mapping(JOIN, TEAM))
    for (const doctor of ['9', ''])
      expect(map({ id: 'P1', doctor })).toMatchObject({ outcome: 'mapped', records: [], rejected: [] })
  })

  it.each(['7.0', '007', '７', 'a1', 'A1\u200b'])(
    'with the key in another spelling, %j, rejects',
    (doctor) => {
      const sheet = { ...PROVIDERS, rows: [...PROVIDERS.rows, ['A1', '1234567893', 'Dr. Low']] }
      const map = compile(mapping(JOIN, TEAM), sheet)
      expect(faults(map({ id: 'P1', doctor }))).toEqual(['pcp: spelling-unlisted doctors.NPI'])
    },
  )

  it('without a row of that key is rejected where the mapping says so', () => {
    const strict = compile(
      mapping(
        JOIN.replace('on:', 'missing: reject, on:'),
        'careTeams: { pcp: { when: { doctor: present }, npi: doctors.NPI, name: doctors.Name } }',
      ),
    )
    expect(faults(strict({ id: 'P1', doctor: '9' }))).toEqual(['pcp: value-not-in-join doctors.NPI'])
    expect(wires(strict({ id: 'P1', doctor: '7' }))).toHaveLength(1)
  })

  it('is asked by any field, and its fields are used like all others', () => {
    const map = compile(
      mapping(
        '{ doctors: { table: providers, key: Id, on: { from: doctor, split: { by: "^", take: 2 } } } }',
        'careTeams: { pcp: { npi: doctors.NPI, name: { firstOf: [doctors.Name, { constant: nobody }], case: upper } } }',
        ', emptyWhen: [ND]',
      ),
    )
    expect(wires(map({ id: 'P1', doctor: 'x^7' }))).toMatchObject([{ name: 'DR. REED' }])
    expect(wires(map({ id: 'P1', doctor: 'x^8' }))).toMatchObject([{ name: 'NOBODY' }])
  })
})

describe('a join within the document', () => {
  const map = jsonMapper(`mapping: m
read: { format: json, each: { team: "$.entry[?@.resource.resourceType == 'CareTeam']", participant: "team.resource.participant[*]" } }
row: { key: [$.id], account: { reference: $.id }, observedAt: { constant: "2026-02-04T00:00:00Z" }, source: { name: N, type: t } }
joins:
  roles:
    within: "$.entry[*].resource"
    key: { concat: [$.resourceType, $.id], separator: / }
    on: { from: participant.member.reference, extract: "[^/]+/[^/]+$" }
  doctors:
    within: "$.entry[?@.resource.resourceType == 'Practitioner'].resource"
    key: $.id
    on: { from: roles.practitioner.reference, split: { by: /, take: -1 } }
careTeams:
  - { npi: "doctors.identifier[?@.system == 'npi'].value", name: doctors.name, type: { firstOf: [participant.role, { constant: PCP }] } }
`)
  const team = (...references: string[]): JsonValue => ({
    resource: {
      resourceType: 'CareTeam',
      participant: references.map((reference) => ({ member: { reference } })),
    },
  })
  const role = (id: string, practitioner: string): JsonValue => ({
    resource: { resourceType: 'PractitionerRole', id, practitioner: { reference: practitioner } },
  })
  const doctor = (id: string, name: string, npi = '1234567893'): JsonValue => ({
    resource: { resourceType: 'Practitioner', id, name, identifier: [{ system: 'npi', value: npi }] },
  })
  const told = (...entry: JsonValue[]): string[] => {
    const outcome = mapped(map({ id: 'b', entry }))
    return [...outcome.records.map(({ rule, evidence }) => `${rule} ${evidence.name}`), ...faults(outcome)]
  }

  it('leads to another part of it, and from there on', () => {
    expect(
      told(
        team('PractitionerRole/1', 'https://x.example/PractitionerRole/2'),
        role('1', 'Practitioner/1'),
        role('2', 'Practitioner/2'),
        doctor('1', 'Reed'),
        doctor('2', 'Lane'),
      ),
    ).toEqual(['care-team-1 Reed', 'care-team-2 Lane'])
  })

  it('leads nowhere in the next document', () => {
    expect(told(team('PractitionerRole/1'), role('1', 'Practitioner/1'), doctor('1', 'Reed'))).toHaveLength(1)
    expect(told(team('PractitionerRole/1'), role('1', 'Practitioner/1'))).toEqual([
      "care-team-1: npi-missing doctors.identifier[?@.system == 'npi'].value",
    ])
  })

  it('is rejected where two have the key and differ; the same twice is one', () => {
    const roles = [team('PractitionerRole/1'), role('1', 'Practitioner/1')]
    expect(told(...roles, doctor('1', 'Reed'), doctor('1', 'Reed'))).toEqual(['care-team-1 Reed'])
    expect(told(...roles, doctor('1', 'Reed'), doctor('1', 'Lane'))).toEqual([
      "care-team-1: value-doubled-in-join doctors.identifier[?@.system == 'npi'].value",
    ])
  })
})

describe('a wrong join is refused', () => {
  it.each([
    [JOIN.replace('providers', 'doctors'), TEAM, '4 joins.doctors.table: there is no table "doctors"'],
    [
      JOIN.replace('Id', 'ID'),
      TEAM,
      '4 joins.doctors.key: providers.csv has no column "ID"; it has: Id, Name, NPI',
    ],
    [
      JOIN,
      TEAM.replace('name: doctors.Name', 'name: doctors.Nome'),
      '5 careTeams.pcp.name: "doctors.Nome" leads to no column',
    ],
    [
      JOIN.replace('doctors', 'context'),
      TEAM.replaceAll('doctors', 'context'),
      '4 joins.context: "context" is a level',
    ],
    [JOIN.replace('on: doctor', 'on: doctor, missing: skip'), TEAM, '4 joins.doctors.missing: '],
    [
      JOIN.replace('table: providers', 'missing: empty'),
      TEAM,
      '4 joins.doctors.table: is missing: a join leads to',
    ],
    [
      JOIN.replace('table: providers', 'table: providers, within: "$.x[*]"'),
      TEAM,
      '4 joins.doctors.within: excludes table',
    ],
    [JOIN.replace('table: providers', 'within: "$.x[*]"'), TEAM, '4 joins.doctors.within: belongs to JSON'],
    [JOIN.replace('key: Id', 'key: { from: Id }'), TEAM, '4 joins.doctors.key: is a column of the table'],
    [JOIN.replace('table: providers', 'export: "p*.csv"'), TEAM, '4 joins.doctors.read: is missing'],
    [JOIN.replace('on:', 'read: { format: csv }, on:'), TEAM, '4 joins.doctors.read: is for export'],
    [
      JOIN.replace('table: providers', 'export: "../p*.csv", read: { format: csv }'),
      TEAM,
      '4 joins.doctors.export: is a file name',
    ],
    [
      JOIN.replace('table: providers, key: Id', 'export: "p*.json", read: { format: ndjson }, key: Id'),
      TEAM,
      '4 joins.doctors.key: "Id" must start with $',
    ],
    [
      JOIN.replace('table: providers, key: Id', 'export: "p*.json", read: { format: ndjson }, key: $.id'),
      TEAM.replace('npi: doctors.NPI', 'npi: "doctors.x[*]"'),
      '5 careTeams.pcp.npi: "$.x[*]" can lead to several values',
    ],
  ])('%s', (join, rules, expected) => {
    expect(findings(mapping(join, rules)).some((finding) => finding.startsWith(expected))).toBe(true)
  })

  it('when a key has two rows', () => {
    const twice = { ...PROVIDERS, rows: [...PROVIDERS.rows, ['7', 'Dr. Other', '']] }
    expect(findings(mapping(JOIN, TEAM), twice)).toEqual([
      '4 joins.doctors.key: two rows of providers.csv have the same "Id": a join needs one',
    ])
  })

  it('when its table is too large', () => {
    const rows = Array.from({ length: LARGEST_JOIN.rows + 1 }, (_, at) => [String(at), '', ''])
    expect(findings(mapping(JOIN, TEAM), { ...PROVIDERS, rows })[0]).toContain('too large')
    const wide = [['1', 'x'.repeat(LARGEST_JOIN.characters), '']]
    expect(findings(mapping(JOIN, TEAM), { ...PROVIDERS, rows: wide })[0]).toContain('too large')
  })
})
