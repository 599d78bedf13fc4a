import { describe, expect, it } from 'vitest'
import { findings, HEAD, NESTED } from './wrong-mapping.ts'

describe('a wrong use of the language is told with line and key', () => {
  it.each([
    [
      'a rule of a list that says not what it is of',
      `${HEAD}biometrics:\n  - { value: a, unit: u }`,
      ['5 biometrics[0].code: is missing: a rule of a list needs a code that is read, or a catalog entry'],
    ],
    [
      'a rule of a list that says it twice',
      `${HEAD}conditions:\n  - { catalog: asthma, code: { from: c, system: SNOMED }, status: active }`,
      ['5 conditions[0].code: cannot stand beside catalog'],
    ],
    [
      'a rule of a list of what is not in the catalog',
      `${HEAD}biometrics:\n  - { catalog: asthma, value: a, unit: u }`,
      ['5 biometrics[0].catalog: "asthma" is not in the catalog of biometrics'],
    ],
    [
      'a field read from two things',
      `${HEAD}biometrics:\n  bmi:\n    from: a\n    firstOf: [b]`,
      ['7 biometrics.bmi.firstOf: cannot stand beside from'],
    ],
    [
      'a field read from nothing',
      `${HEAD}biometrics:\n  bmi:\n    unit: kg/m2`,
      ['6 biometrics.bmi.from: is missing: a field needs from, firstOf, concat or expression'],
    ],
    [
      'a separator of one',
      `${HEAD}careTeams:\n  pcp: { npi: n, name: { from: m, separator: " " } }`,
      ['5 careTeams.pcp.name.separator: is for concat'],
    ],
    [
      'an expression that is none',
      `${HEAD}biometrics:\n  bmi: { from: a, extract: "(a" }`,
      ['5 biometrics.bmi.extract: is no regular expression: missing closing )'],
    ],
    [
      'an expression that looks ahead',
      `${HEAD}conditions:\n  asthma: { when: { a: { matches: "(?!b)" } }, status: active }`,
      ['5 conditions.asthma.when.a.matches: is no regular expression'],
    ],
    [
      'a part that is none',
      `${HEAD}biometrics:\n  bmi: { from: a, split: { by: "^", take: 0 } }`,
      ['5 biometrics.bmi.split.take: counts parts from 1'],
    ],
    [
      'a column where the word itself is meant: unit',
      `${HEAD}biometrics:\n  bmi: { from: a, unit: bmi_unit }`,
      [
        '5 biometrics.bmi.unit: unit of bmi: the unit is neither UCUM nor a known spelling; if it is a column, write { from: bmi_unit }',
      ],
    ],
    [
      'a path where the word itself is meant: status',
      `${NESTED}conditions:\n  asthma: { when: { $.a: Y }, status: $.state }`,
      ['5 conditions.asthma.status: "$.state" is sent as it stands; to read it, write { from: "$.state" }'],
    ],
    [
      'a path from a level where the word itself is meant',
      `${NESTED}conditions:\n  asthma: { when: { obx.a: Y }, status: "obx['state']" }`,
      ['5 conditions.asthma.status: "obx[\'state\']" is sent as it stands'],
    ],
    [
      'a path where the word itself is meant: type',
      `${NESTED}careTeams:\n  pcp: { npi: $.n, name: $.m, type: $.t }`,
      ['5 careTeams.pcp.type: "$.t" is sent as it stands'],
    ],
    [
      'a word where a number is meant',
      `${HEAD}biometrics:\n  bmi: { from: a, when: { age: { ">": adult } } }`,
      ['5 biometrics.bmi.when.age.>: needs a number'],
    ],
    [
      'a test without a question',
      `${HEAD}biometrics:\n  bmi: { from: a, when: { age: { } } }`,
      ['5 biometrics.bmi.when.age: asks nothing'],
    ],
    [
      'a column in a group of conditions that is nowhere',
      `${NESTED}biometrics:\n  bmi:\n    from: $.a\n    when:\n      any:\n        - { $.b: Y }\n        - { not: { c: Y } }`,
      ['10 biometrics.bmi.when.any[1].not.c: "c" must start with $'],
    ],
    [
      'a text that is empty by the row block',
      `${HEAD.replace('row: {', 'row: { emptyWhen: [ND],')}biometrics:\n  bmi: { from: a, when: { b: ND } }`,
      ['5 biometrics.bmi.when.b: "ND" is empty by row.emptyWhen'],
    ],
    [
      'a unit beside feet and inches',
      `${HEAD}biometrics:\n  body-height: { from: a, form: feet-and-inches, unit: cm }`,
      ['5 biometrics.body-height.unit: the form tells the unit already'],
    ],
    [
      'feet and inches of a weight',
      `${HEAD}biometrics:\n  body-weight: { from: a, form: feet-and-inches }`,
      ['5 biometrics.body-weight.form: unit of body-weight: the unit cannot be converted to kg'],
    ],
    [
      'a coded rule without unit',
      `${HEAD}biometrics:\n  - { code: { from: c, system: LOINC }, value: v }`,
      ['5 biometrics[0].unit: is missing: a column, a path or { constant: mg/dL }'],
    ],
    [
      'one mark for two things',
      `${HEAD}biometrics:\n  bmi: { from: a, number: { decimal: ",", group: "," } }`,
      ['5 biometrics.bmi.number.group: must differ from the decimal mark'],
    ],
    [
      'a rule for bounds that is none',
      `${HEAD}biometrics:\n  bmi: { from: a, comparators: drop }`,
      ['5 biometrics.bmi.comparators: '],
    ],
    [
      'a part of a date in a form that tells all of it',
      `${HEAD.replace('format: ISO', 'format: yyyy-MM-dd, partial: start')}biometrics: { bmi: b }`,
      ['3 row.observedAt.partial: is for HL7 and ISO'],
    ],
    [
      'a serial date without a zone',
      `${HEAD.replace('format: ISO, zone: UTC', 'format: EXCEL')}biometrics: { bmi: b }`,
      ['3 row.observedAt.zone: a zone is needed'],
    ],
    [
      'a zone from nothing',
      `${HEAD.replace('zone: UTC', 'zone: { table: {} }')}biometrics: { bmi: b }`,
      ['3 row.observedAt.zone.from: is missing'],
    ],
  ])('%s', (_, mapping, expected) => {
    const found = findings(mapping)
    expect(found).toHaveLength(expected.length)
    for (const [at, part] of expected.entries()) expect(found[at]).toContain(part)
  })
})
