import { describe, expect, it } from 'vitest'
import { undecidedLines } from '../../src/transform/mapping-definition.ts'
import { findings, HEAD, load, NESTED, NOW, ORIGIN, refusalOf } from './mapping-under-test.ts'

/** One rule of a section on the fifth line of a mapping, and what is told of it. */
const RULES_OF_CSV = `
biometrics  hba1c: { from: a, unti: "%" } → .hba1c.unti: unknown key "unti"; did you mean "unit"?
biometrics  a1c: a → .a1c: "a1c" is not in the catalog of biometrics; did you mean "hba1c"?
biometrics  x: { from: a, catalog: y } → .x.catalog: "y" is not in
conditions  flu: { when: { a: Y }, status: active } → .flu: "flu" is not in the catalog of conditions
biometrics  hba1c: { from: a, unit: mmol/mol } → .hba1c.unit: unit of hba1c: the unit cannot be converted to %
biometrics  bmi: { from: a, unit: bmi_unit } → .bmi.unit: unit of bmi: the unit is neither UCUM nor a known spelling; if it is a column, write { from: bmi_unit }
biometrics  - { code: { from: c, table: none }, value: v, unit: u } → [0].code.table: there is no table "none" in mappings/tables
biometrics  - { code: { from: c, table: { A: hba1c, B: hb1ac } }, value: v, unit: u } → [0].code.table: the table leads to "hb1ac", which is not in the catalog of biometrics; did you mean "hba1c"?
biometrics  - { code: { from: c }, value: v, unit: u } → [0].code: needs either a system
biometrics  - { value: a, unit: u } → [0].code: is missing: a rule of a list needs a code or a catalog entry
conditions  - { catalog: asthma, code: { from: c, system: SNOMED }, status: active } → [0].code: excludes catalog
biometrics  - { catalog: asthma, value: a, unit: u } → [0].catalog: "asthma" is not in the catalog of biometrics
biometrics  - { code: { from: c, system: LOINC }, value: v } → [0].unit: is missing: a column, a path or { constant: mg/dL }
biometrics  bmi: { from: a, when: { age: { ">": adult } } } → .bmi.when.age.>: needs a number
biometrics  body-height: { from: a, form: feet-and-inches, unit: cm } → .body-height.unit: the form gives the unit
biometrics  body-weight: { from: a, form: feet-and-inches } → .body-weight.form: unit of body-weight: the unit cannot be converted to kg
biometrics  bmi: { from: a, number: { decimal: ",", group: "," } } → .bmi.number.group: must differ from the decimal mark
biometrics  bmi: { from: a, comparators: drop } → .bmi.comparators: must be one of reject, skip, limit
biometrics  bmi: { from: a, comparators: limt } → .bmi.comparators: must be one of reject, skip, limit; did you mean "limit"?
careTeams   pcp: { npi: n, name: { from: m, separator: " " } } → .pcp.name.separator: belongs to concat
`
const RULES_OF_JSON = `
biometrics  bmi: $.a[ → .bmi.from:
biometrics  bmi: $..a → .bmi.from: "$..a" can lead to several
biometrics  bmi: { from: pid.a } → .bmi.from: "pid.a" must start with $ or the name of a level (obx)
biometrics  bmi: { from: obr.a } → .bmi.from: "obr.a" must start with $ or the name of a level (obx); did you mean "obx"?
biometrics  bmi: { from: $.a, when: { any: [{ $.b: Y }, { not: { c: Y } }] } } → .bmi.when.any[1].not.c: "c" must start with $
conditions  asthma: { when: { $.a: Y }, status: $.state } → .asthma.status: "$.state" is a constant here; to read a column, write { from: "$.state" }
conditions  asthma: { when: { obx.a: Y }, status: "obx['state']" } → .asthma.status: "obx['state']" is a constant here
careTeams   pcp: { npi: $.n, name: $.m, type: $.t } → .pcp.type: "$.t" is a constant here
`
const ruleLines = (head: string, text: string): (readonly [string, string])[] =>
  text
    .trim()
    .split('\n')
    .map((line) => {
      const [, section = '', rule = '', told = ''] = /^(\w+) +(.*) → (.*)$/.exec(line) ?? []
      return [`${head}${section}:\n  ${rule}`, `5 ${section}${told}`]
    })

/** Another head of a mapping, which has one good rule, and what is told of it. */
const HEADS_OF_CSV = `
zone: UTC → zone: New York → 3 row.observedAt.zone: is no IANA time zone; write it like America/New_York, or { from: … } where it is a column; did you mean "America/New_York"?
, zone: UTC →  → 3 row.observedAt.zone: a zone is required
ISO → MM/DD/YYYY → 3 row.observedAt.format: "DD" in "MM/DD/YYYY" is no token; did you mean "dd"?
csv } → cvs } → 2 read.format: must be one of csv, xlsx, ndjson, json, hl7v2, records; did you mean "csv"?
ISO → [ISO, MM/dd] → 3 row.observedAt.format[1]: "MM/dd" needs year
format: ISO → format: yyyy-MM-dd, partial: start → 3 row.observedAt.partial: belongs to HL7 and ISO
format: ISO, zone: UTC → format: EXCEL → 3 row.observedAt.zone: a zone is required
zone: UTC → zone: { table: {} } → 3 row.observedAt.zone.from: is missing
row: { → row: { skipWhen: {}, → 3 row.skipWhen: names no column or path
csv } → csv, each: { a: "$.a[*]" } } → 2 read.each.a: a CSV cell has parts, no list
csv } → csv, each: { a: { from: b } } } → 2 read.each.a
csv } → csv, delimiter: ";;" } → 2 read.delimiter: must be one ASCII character
reference: id → reference: id, type: accountId, register: { firstName: f, lastName: l, dateOfBirth: d, gender: g, postalCode: p } → 3 row.account.register: an account with an accountId
reference: id → reference: id, register: { firstName: f, lastName: l, dateOfBirth: { from: d, format: MM/dd/yy }, gender: g, postalCode: p } → 3 row.account.register.dateOfBirth.century: is missing
`
const HEADS_OF_JSON = `
$.obx[*] → $.obx → 2 read.each.obx: level "obx" must end in [*]
key: [$.id] → key: [$.id, obx.id] → 3 row.key[1]: the key must be read from the row, not
reference: $.id → reference: obx.id → 3 row.account.reference: the account must be
row: { → row: { skipWhen: { obx.a: absent }, → 3 row.skipWhen: row.skipWhen reads the row
reference: $.id → reference: $.id, register: { firstName: obx.f, lastName: $.l, dateOfBirth: $.d, gender: $.g, postalCode: $.p } → 3 row.account.register.firstName: registration must be
from: $.at → from: obx.at → 5 biometrics.bmi: needs its own observedAt
`
const headLines = (head: string, rule: string, text: string): (readonly [string, string])[] =>
  text
    .trim()
    .split('\n')
    .map((line) => {
      const [from = '', to = '', told = ''] = line.split(' → ')
      return [`${head.replace(from, () => to)}biometrics:\n  bmi: ${rule}`, told]
    })

describe('a wrong mapping is refused, with the place of every problem', () => {
  it.each<readonly [string, string]>([
    ...ruleLines(HEAD, RULES_OF_CSV),
    ...ruleLines(NESTED, RULES_OF_JSON),
    ...headLines(HEAD, 'b', HEADS_OF_CSV),
    ...headLines(NESTED, '$.b', HEADS_OF_JSON),
    [
      `${NESTED.replace('"$.obx[*]"', '"$.obx[*]", nte: "$.nte[*]"')}biometrics:\n  bmi: { from: obx.v, when: { nte.a: Y } }`,
      '5 biometrics.bmi: reads the levels obx and nte, neither of which contains the other',
    ],
    [HEAD, '1 : maps nothing'],
    [`${HEAD}biometrics: { BMI: b }`, '4 biometrics.BMI: the name of a rule must be in kebab-case'],
    [
      `${HEAD}biometrics: { bmi: b }\ncareTeams:\n  bmi: { npi: n, name: m }`,
      '6 careTeams.bmi: the rule name "bmi" is already used in biometrics',
    ],
    [`${HEAD}biometrics:\n  bmi:\n    from: a\n    firstOf: [b]`, '7 biometrics.bmi.firstOf: excludes'],
    [`${HEAD}biometrics:\n  hba1c:\n    from: a\n    unit: stones`, '7 biometrics.hba1c.unit: unit of hba1c'],
  ])('%s', (mapping, told) => {
    const found = findings(mapping)
    expect(found).toHaveLength(1)
    expect(found[0]).toContain(told)
  })

  it('all at once, by line', () => {
    const error = refusalOf(() =>
      load(
        `${HEAD}biometrics:\n  a1c: a\n  hba1c: { from: b, unit: stones }\nconditions:\n  a1c: { when: { c: Y }, status: active }\ncareTeams:\n  pcp: { npi: { from: n, table: none }, name: m }\n`,
      ),
    )
    expect(error.code).toBe('mapping-invalid')
    expect(error.message).toBe('mappings/tested.yaml: 5 problems')
    expect(error.findings.map(({ place }) => [place.file, place.line])).toEqual(
      [5, 6, 8, 8, 10].map((line) => ['mappings/tested.yaml', line]),
    )
    expect(error.findings.every(({ place }) => (place.column ?? 0) > 0)).toBe(true)
  })

  it('columns that the export lacks are all named', () => {
    const { compiled } = load(`${HEAD}biometrics: { bmi: b, hba1c: a, heart-rate: id }`)
    const error = refusalOf(() => compiled.bind(['id', 'weight'], 'export.csv', NOW))
    expect(error.code).toBe('columns-missing')
    expect(error.message).toBe(
      'export.csv has no column "at", "b", "a", which the mapping mappings/tested.yaml reads',
    )
    expect(error.remedy).toContain('Unread columns: weight')
    expect(error.place).toEqual({ file: 'export.csv', line: 1 })
  })
})

describe('a row that could not be read', () => {
  it('is rejected with its fault', () => {
    const map = load(`${HEAD}biometrics: { bmi: b }`).compiled.bind(['id', 'at', 'b'], 'x', NOW)
    expect(
      map({ ...ORIGIN, kind: 'unreadable', fault: 'row-too-short', message: '2 cells', text: 'a,b' }),
    ).toEqual({
      ...ORIGIN,
      outcome: 'rejected',
      issue: { stage: 'extract', code: 'row-too-short', message: '2 cells' },
    })
  })
})

describe('a line that a draft has left undecided', () => {
  it.each([
    ['# Drafted from a.csv. What DECIDE asks needs an answer before this is used.', false],
    ['# Lines with DECIDE need an answer before this is used.', false],
    ['# DECIDE: which zone?', true],
    ['observedAt: { from: a, zone: UTC } # DECIDE: of which place?', true],
    ['  observedAt: { constant: "1900-01-01T00:00:00.000Z" }', true],
    ['  observedAt: { constant: 1900-01-01 }', true],
    ["    constant: '1900-01-01T00:00:00Z'", true],
    ['  observedAt: { from: a, emptyWhen: ["1900-01-01T00:00:00.000Z"] }', false],
    ['  # constant: "1900-01-01T00:00:00.000Z"', false],
    ['  observedAt: { constant: "2026-01-31T12:00:00.000Z" }', false],
  ])('%s', (line, undecided) => {
    expect(undecidedLines(`mapping: x\n${line}\nrow:\n`)).toEqual(undecided ? [2] : [])
  })
})
