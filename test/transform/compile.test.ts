import { describe, expect, it } from 'vitest'
import { load, NOW, ORIGIN, refusalOf } from './mapping-under-test.ts'
import { findings, HEAD, NESTED } from './wrong-mapping.ts'

describe('a wrong mapping is refused, with the place of every problem', () => {
  it.each([
    [
      'an unknown key',
      `${HEAD}biometrics:\n  hba1c: { from: a, unti: "%" }`,
      ['5 biometrics.hba1c.unti: unknown key "unti"'],
    ],
    [
      'an unknown measurement',
      `${HEAD}biometrics:\n  a1c: a`,
      ['5 biometrics.a1c: "a1c" is not in the catalog of biometrics'],
    ],
    [
      'an unknown catalog key',
      `${HEAD}biometrics:\n  x: { from: a, catalog: y }`,
      ['5 biometrics.x.catalog: "y" is not in'],
    ],
    [
      'an unknown condition',
      `${HEAD}conditions:\n  flu: { when: { a: Y }, status: active }`,
      ['5 conditions.flu: "flu" is not in the catalog of conditions'],
    ],
    [
      'an unknown unit',
      `${HEAD}biometrics:\n  hba1c:\n    from: a\n    unit: stones`,
      ['7 biometrics.hba1c.unit: unit of hba1c: the unit is neither UCUM'],
    ],
    [
      'a unit of another kind',
      `${HEAD}biometrics:\n  hba1c: { from: a, unit: mmol/mol }`,
      ['5 biometrics.hba1c.unit: unit of hba1c: the unit cannot be converted to %'],
    ],
    [
      'an unknown table',
      `${HEAD}biometrics:\n  - { code: { from: c, table: none }, value: v, unit: u }`,
      ['5 biometrics[0].code.table: there is no table "none" in mappings/tables'],
    ],
    [
      'a table out of the catalog',
      `${HEAD}biometrics:\n  - { code: { from: c, table: { A: hba1c, B: hb1ac } }, value: v, unit: u }`,
      ['5 biometrics[0].code.table: the table leads to "hb1ac"'],
    ],
    [
      'a code with neither system nor table',
      `${HEAD}biometrics:\n  - { code: { from: c }, value: v, unit: u }`,
      ['5 biometrics[0].code: needs either a system'],
    ],
    [
      'a wrong zone',
      `${HEAD.replace('zone: UTC', 'zone: New York')}biometrics: { bmi: b }`,
      ['3 row.observedAt.zone: is no IANA time zone'],
    ],
    [
      'no zone',
      `${HEAD.replace(', zone: UTC', '')}biometrics: { bmi: b }`,
      ['3 row.observedAt.zone: a zone is needed'],
    ],
    [
      'a form in other tokens',
      `${HEAD.replace('ISO', 'MM/DD/YYYY')}biometrics: { bmi: b }`,
      ['3 row.observedAt.format: "DD" in "MM/DD/YYYY" is no token'],
    ],
    [
      'a form without a year',
      `${HEAD.replace('ISO', '[ISO, MM/dd]')}biometrics: { bmi: b }`,
      ['3 row.observedAt.format[1]: "MM/dd" must tell year'],
    ],
    [
      'a rule name twice',
      `${HEAD}biometrics: { bmi: b }\ncareTeams:\n  bmi: { npi: n, name: m }`,
      ['6 careTeams.bmi: the rule name "bmi" is used in biometrics already'],
    ],
    [
      'a rule name in capitals',
      `${HEAD}biometrics: { BMI: b }`,
      ['4 biometrics.BMI: a rule is named in kebab-case'],
    ],
    ['nothing mapped', HEAD, ['1 : maps nothing']],
    [
      'a skipWhen that holds for every row',
      `${HEAD.replace('row: {', 'row: { skipWhen: {},')}biometrics: { bmi: b }`,
      ['3 row.skipWhen: names no column or path'],
    ],
    [
      'levels of a CSV',
      `${HEAD.replace('csv }', 'csv, each: { a: "$.a[*]" } }')}biometrics: { bmi: b }`,
      ['2 read.each: levels are for JSON'],
    ],
    [
      'a delimiter of two characters',
      `${HEAD.replace('csv }', 'csv, delimiter: ";;" }')}biometrics: { bmi: b }`,
      ['2 read.delimiter: must be one ASCII character'],
    ],
    [
      'an account that is registered already',
      `${HEAD.replace('reference: id', 'reference: id, type: accountId, register: { firstName: f, lastName: l, dateOfBirth: d, gender: g, postalCode: p }')}biometrics: { bmi: b }`,
      ['3 row.account.register: an account named by its accountId'],
    ],
    [
      'a birth year of two digits',
      `${HEAD.replace('reference: id', 'reference: id, register: { firstName: f, lastName: l, dateOfBirth: { from: d, format: MM/dd/yy }, gender: g, postalCode: p }')}biometrics: { bmi: b }`,
      ['3 row.account.register.dateOfBirth.format: a date of birth needs'],
    ],
    ['a path that is none', `${NESTED}biometrics:\n  bmi: $.a[`, ['5 biometrics.bmi.from: ']],
    [
      'a path to several values',
      `${NESTED}biometrics:\n  bmi: $..a`,
      ['5 biometrics.bmi.from: "$..a" can lead to several'],
    ],
    [
      'an unknown level',
      `${NESTED}biometrics:\n  bmi: { from: pid.a }`,
      ['5 biometrics.bmi.from: "pid.a" must start with $ or the name of a level (obx)'],
    ],
    [
      'a level that is none',
      `${NESTED.replace('$.obx[*]', '$.obx')}biometrics: { bmi: $.b }`,
      ['2 read.each.obx: level "obx" must end in [*]'],
    ],
    [
      'a key within a level',
      `${NESTED.replace('key: [$.id]', 'key: [$.id, obx.id]')}biometrics: { bmi: $.b }`,
      ['3 row.key[1]: the key must be read from the row itself'],
    ],
    [
      'an account within a level',
      `${NESTED.replace('reference: $.id', 'reference: obx.id')}biometrics: { bmi: $.b }`,
      ['3 row.account.reference: the account must be'],
    ],
    [
      'a skipWhen within a level',
      `${NESTED.replace('row: {', 'row: { skipWhen: { obx.a: absent },')}biometrics: { bmi: $.b }`,
      ['3 row.skipWhen: a row is skipped by'],
    ],
    [
      'a registration within a level',
      `${NESTED.replace('reference: $.id', 'reference: $.id, register: { firstName: obx.f, lastName: $.l, dateOfBirth: $.d, gender: $.g, postalCode: $.p }')}biometrics: { bmi: $.b }`,
      ['3 row.account.register.firstName: registration must be'],
    ],
    [
      'a date from a level that the rule does not read',
      `${NESTED.replace('from: $.at', 'from: obx.at')}biometrics:\n  bmi: $.b`,
      ['5 biometrics.bmi: needs an observedAt of its own'],
    ],
  ])('%s', (_, mapping, expected) => {
    const found = findings(mapping)
    expect(found).toHaveLength(expected.length)
    for (const [at, part] of expected.entries()) expect(found[at]).toContain(part)
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
    expect(error.remedy).toContain('id, weight')
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
