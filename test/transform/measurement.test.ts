import { describe, expect, it } from 'vitest'
import { type csvMapper, csvRules, faults, mapped, wires } from './mapping-under-test.ts'

const COLUMNS = ['id', 'v', 'unit', 'range', 'sign', 'code']
const BASE = { id: 'P1' }

/** A mapper of one wide or long rule; `row` is written into the row block. */
const mapper = (rules: string, row = '', notes = ''): ReturnType<typeof csvMapper> =>
  csvRules(COLUMNS, `biometrics:\n${rules}`, row, undefined, `{ name: N, type: t${notes} }`)

type Cells = Record<string, string>
const values = (map: ReturnType<typeof csvMapper>, cells: Cells): string[] =>
  mapped(map({ ...BASE, ...cells })).records.map(({ evidence }) => `${evidence.value} ${evidence.unit}`)
const bodies = (map: ReturnType<typeof csvMapper>, cells: Cells): Record<string, unknown>[] =>
  wires(map({ ...BASE, ...cells }))
const refused = (map: ReturnType<typeof csvMapper>, cells: Cells): string[] =>
  faults(map({ ...BASE, ...cells }))

describe('a field as value', () => {
  it('may be put together, taken apart and looked up', () => {
    expect(values(mapper('  ferritin: { firstOf: [v, code] }'), { code: '3.1' })).toEqual(['3.1 ng/mL'])
    expect(values(mapper('  ferritin: { from: v, split: { by: "^", take: 2 } }'), { v: 'NM^3.1' })).toEqual([
      '3.1 ng/mL',
    ])
    const worded = mapper('  bmi: { from: v, extract: "BMI ([0-9.]+)" }')
    expect(values(worded, { v: 'BMI 22.5 (normal)' })).toEqual(['22.5 kg/m2'])
    expect(refused(worded, { v: 'normal' })).toEqual(['bmi: value-not-extracted v'])
    expect(values(worded, { v: '' })).toEqual([])
  })
})

describe('bounds', () => {
  const wide = (more: string): ReturnType<typeof csvMapper> => mapper(`  glucose: { from: v${more} }`)

  it('are rejected unless the mapping says otherwise', () => {
    expect(refused(wide(''), { v: '<5' })).toEqual(['glucose: value-with-comparator v'])
    expect(refused(wide(', comparators: reject'), { v: '>= 200' })).toEqual([
      'glucose: value-with-comparator v',
    ])
  })

  it('are left out', () => {
    const map = wide(', comparators: skip')
    expect(map({ ...BASE, v: '< 70' })).toMatchObject({ outcome: 'skipped', reason: 'nothing-kept' })
    expect(values(map, { v: '90' })).toEqual(['90 mg/dL'])
    expect(refused(map, { v: '<x' })).toEqual(['glucose: value-not-a-number v'])
  })

  it.each([
    ['<70', 70],
    ['>= 200.5', 200.5],
    ['≤ 99', 99],
  ])('%s is sent as its limit, with a note', (v, value) => {
    const map = wide(', comparators: limit')
    expect(bodies(map, { v })).toMatchObject([{ value, source: { notes: `reported as ${v}` } }])
    expect(bodies(map, { v: '90' })[0]?.['source']).not.toHaveProperty('notes')
    expect(refused(map, { v: '<' })).toEqual(['glucose: value-not-a-number v'])
    expect(refused(map, { v: '<<5' })).toEqual(['glucose: value-with-comparator v'])
    expect(refused(map, { v: '>9999' })).toEqual(['glucose: value-out-of-range v'])
  })

  it('keep the note of the mapping, and are converted', () => {
    const map = mapper(
      '  glucose: { from: v, unit: mmol/L, comparators: limit }',
      '',
      ', notes: Fasting "site"',
    )
    // 10 mmol/L of glucose at 180.16 g/mol.
    expect(bodies(map, { v: '<10.0' })).toMatchObject([
      { value: 180, source: { notes: 'Fasting "site"; reported as <10.0' } },
    ])
  })

  it('are said of all rules at once, and may stand in a column of their own', () => {
    const map = mapper('  glucose: { concat: [sign, v] }\n  bmi: code', '  comparators: skip')
    expect(values(map, { sign: '<', v: '70', code: '22' })).toEqual(['22 kg/m2'])
    expect(values(map, { v: '70', code: '>22' })).toEqual(['70 mg/dL'])
  })
})

describe('numbers in another notation', () => {
  it('are read as the row block says, or the rule', () => {
    const map = mapper(
      '  leukocytes: v\n  bmi: { from: code, number: { decimal: "." } }',
      '  number: { decimal: ",", group: "." }',
    )
    expect(values(map, { v: '5,10', code: '22.5' })).toEqual(['5.10 10*3/uL', '22.5 kg/m2'])
    expect(refused(map, { v: '5.1', code: '22,5' })).toEqual([
      'leukocytes: value-not-a-number v',
      'bmi: value-not-a-number code',
    ])
  })
})

describe('a value taken out of a text', () => {
  const map = mapper('  bmi: { from: v, extract: "([0-9.]+)" }')
  it.each([
    ['BMI 22.5 (normal)', ['22.5 kg/m2'], []],
    ['2026: 22.5', [], ['bmi: value-out-of-range v']],
    ['BMI:22.5, normal', ['22.5 kg/m2'], []],
    ['BMI 22,5', [], ['bmi: value-part-unread v']],
    ['<22.5', [], ['bmi: value-part-unread v']],
    ['>= 22.5', [], ['bmi: value-part-unread v']],
    ['-22.5', [], ['bmi: value-part-unread v']],
    ['\u221222.5', [], ['bmi: value-part-unread v']],
    ['\uff1c22.5', [], ['bmi: value-part-unread v']],
    ['&lt;22.5', [], ['bmi: value-part-unread v']],
    ['> or = 22.5', [], ['bmi: value-part-unread v']],
    ['2.25E+01', [], ['bmi: value-part-unread v']],
    ['22 100', [], ['bmi: value-part-unread v']],
    ["22'100", [], ['bmi: value-part-unread v']],
  ])('of %j: %j, rejected %j', (v, taken, rejected) => {
    expect([values(map, { v }), refused(map, { v })]).toEqual([taken, rejected])
  })

  it('keeps a mark before all digits: .9 is no 9', () => {
    const digits = mapper('  creatinine: { from: v, extract: "([0-9]+(?:\\\\.[0-9]+)?)" }')
    expect(refused(digits, { v: '.9 mg/dL' })).toEqual(['creatinine: value-part-unread v'])
    expect(values(digits, { v: '0.9 mg/dL' })).toEqual(['0.9 mg/dL'])
  })

  it.each([
    ['firstOf: [v, code], extract: "([0-9.]+)"', 'v, code'],
    ['firstOf: [{ from: v, extract: "([0-9.]+)" }, code]', 'v, code'],
    ['firstOf: [{ from: v, extract: "^([0-9.]+) mg/dL$|^" }, { from: v, extract: "([0-9.]+)" }]', 'v, v'],
    ['concat: [code, { from: v, extract: "([0-9.]+)" }]', 'code, v'],
    ['from: v, split: { by: " ", take: 1 }, extract: "([0-9.]+)"', 'v'],
  ])('is whole wherever the field has its steps: %s', (field, from) => {
    const map = mapper(`  glucose: { ${field} }`)
    expect(refused(map, { v: '<90' })).toEqual([`glucose: value-part-unread ${from}`])
    expect(values(map, { v: '90' })).toEqual(['90 mg/dL'])
  })

  it('may be put together from a sign and a number of one column', () => {
    const map = mapper(
      '  psa: { concat: [{ from: v, extract: "^([<>]?)" }, { from: v, extract: "([0-9.]+)" }], comparators: limit }',
    )
    expect(values(map, { v: '<0.1 ng/mL' })).toEqual(['0.1 ng/mL'])
  })

  it('may be one of two', () => {
    const pair = mapper(
      '  systolic-bp: { from: v, extract: "^([0-9]+)" }\n  diastolic-bp: { from: v, extract: "([0-9]+)$" }',
    )
    for (const v of ['120/80', '120-80', '120 - 80'])
      expect(values(pair, { v })).toEqual(['120 mm[Hg]', '80 mm[Hg]'])
    expect(refused(pair, { v: '120/80.5' })).toEqual(['diastolic-bp: value-part-unread v'])
  })
})

describe('a height in feet', () => {
  const map = mapper('  body-height: { from: v, unit: ft }')
  // With a point before at most eleven, feet and inches are as likely as decimals.
  it.each(['5.11', '5.10', '5.9', '5.1', '6.01'])('of %s is rejected', (v) => {
    expect(refused(map, { v })).toEqual(['body-height: value-not-feet-and-inches v'])
  })

  it.each(['6', '6.0', '5.25', '5.92', '5.917'])('of %s is taken', (v) => {
    expect(refused(map, { v })).toEqual([])
  })
})

describe('feet and inches', () => {
  const map = mapper('  body-height: { from: v, form: feet-and-inches }')

  it('are converted', () => {
    // 71 in of 2.54 cm are 180.34 cm.
    expect(values(map, { v: '5 ft 11 in' })).toEqual(['180.3 cm'])
  })

  it('are all that such a column may hold', () => {
    expect(refused(map, { v: '71' })).toEqual(['body-height: value-not-feet-and-inches v'])
  })

  it('may be those of a coded row', () => {
    const coded = mapper(
      '  - { code: { from: code, table: { H: body-height, W: body-weight } }, value: v, form: feet-and-inches }',
    )
    expect(values(coded, { code: 'H', v: '5-11' })).toEqual(['180.3 cm'])
    expect(refused(coded, { code: 'W', v: '5-11' })).toEqual(['body-weight-1: unit-mismatch -'])
  })
})

describe('a unit in the heading', () => {
  const headed = (rule: string) =>
    csvRules(
      ['id', 'Weight (lb)', 'Weight [kg]', 'Weight (self-reported)'],
      `biometrics:\n  body-weight: ${rule}`,
    )
  const cells = { id: 'P1', 'Weight (lb)': '150', 'Weight [kg]': '70', 'Weight (self-reported)': '71' }

  it.each([
    ['"Weight (lb)"', ['body-weight: unit-mismatch Weight (lb)'], []],
    [
      '{ firstOf: ["Weight [kg]", "Weight (lb)"], unit: kg }',
      ['body-weight: unit-mismatch Weight [kg], Weight (lb)'],
      [],
    ],
    ['{ from: "Weight (lb)", unit: lb }', [], ['68.0']],
    // The mapping may know better than the heading.
    ['{ from: "Weight (lb)", unit: kg }', [], ['150']],
    ['"Weight [kg]"', [], ['70']],
    ['"Weight (self-reported)"', [], ['71']],
  ])('of %s: rejected %j, made %j', (rule, rejected, made) => {
    const outcome = headed(rule)(cells)
    expect(faults(outcome)).toEqual(rejected)
    expect(mapped(outcome).records.map(({ value }) => value)).toEqual(made)
    expect(faults(headed(rule)({ id: 'P1' }))).toEqual([])
  })
})

describe('a heading with a unit that does not convert', () => {
  it.each([
    ['hba1c', 'A1c (mmol/mol)', '24', '%'],
    ['hemoglobin', 'Hemoglobin (%)', '14', 'g/dL'],
  ])('rejects %s of %s, unless the mapping has the unit', (key, column, value, unit) => {
    const row = { id: 'P1', [column]: value }
    const bare = csvRules(['id', column], `biometrics: { ${key}: "${column}" }`)
    expect(faults(bare(row))).toEqual([`${key}: unit-mismatch ${column}`])
    const given = csvRules(['id', column], `biometrics: { ${key}: { from: "${column}", unit: "${unit}" } }`)
    expect(mapped(given(row)).records.map(({ evidence }) => evidence.unit)).toEqual([unit])
  })

  it.each(['A1c (am)', 'A1c (2026)', 'A1c (POC)'])('is no heading like %s', (column) => {
    const map = csvRules(['id', column], `biometrics: { hba1c: "${column}" }`)
    expect(faults(map({ id: 'P1', [column]: '5.4' }))).toEqual([])
  })
})

describe('units in coded form', () => {
  it('are a component of the field', () => {
    const map = mapper(`  - code: { from: code, system: LOINC }
    value: v
    unit: { firstOf: [{ from: unit, split: { by: "^", take: 2 } }, unit] }`)
    const row = { code: '2345-7', v: '5' }
    expect(values(map, { ...row, unit: 'CD:289^mmol/L' })).toEqual(['90 mg/dL'])
    expect(values(map, { ...row, unit: 'mmol/L' })).toEqual(['90 mg/dL'])
    expect(refused(map, { ...row, unit: 'CD:289' })).toEqual(['glucose-1: unit-unknown unit, unit'])
  })
})

describe('what means nothing', () => {
  it('is empty in every field of the row', () => {
    const map = mapper(
      '  glucose: v\n  ferritin: { from: code, when: { sign: absent } }',
      `  emptyWhen: [ND, '""']`,
    )
    expect(values(map, { v: 'ND', code: '3', sign: '""' })).toEqual(['3 ng/mL'])
    expect(values(map, { v: '""', code: '3', sign: 'x' })).toEqual([])
  })

  it.each([
    ['of the row', '  tsh: v', "  emptyWhen: ['999', '0', '-9.5']"],
    ['of the field', "  tsh: { from: v, emptyWhen: ['999', '0', '-9.5'] }", ''],
    ['of a part', "  tsh: { firstOf: [{ from: v, emptyWhen: ['999', '0', '-9.5'] }, code] }", ''],
    [
      'of a number out of a text',
      '  tsh: { from: v, extract: "[-+]?[0-9][0-9.,]*" }',
      "  emptyWhen: ['999', '0', '-9.5']",
    ],
  ])('is no value in another spelling, as a number %s', (_, rule, row) => {
    const map = mapper(rule, row)
    for (const v of ['999', '0', '-9.5']) expect([values(map, { v }), refused(map, { v })]).toEqual([[], []])
    for (const v of ['999.0', '0999', '+999', '999.', '999,0', '0.00', '-0', '00', '-9.50'])
      expect(refused(map, { v })).toEqual([
        expect.stringMatching(/^tsh: (?:spelling-unlisted|value-part-unread) v/),
      ])
    expect(values(map, { v: '99.90' })).toEqual(['99.90 m[IU]/L'])
  })

  it('may be a word of a table', () => {
    const map = mapper('  tsh: { from: v, table: { none: "0" } }', "  emptyWhen: ['0']")
    expect(values(map, { v: 'none' })).toEqual(['0 m[IU]/L'])
  })
})

describe('reference ranges', () => {
  const wide = mapper('  glucose: { from: v, unit: { from: unit }, refRange: range }')
  const range = (cells: Cells): unknown[] =>
    bodies(wide, { v: '5', unit: 'mmol/L', ...cells }).map(({ refLow, refHigh, refRange }) => [
      refLow,
      refHigh,
      refRange,
    ])

  it.each([
    // Bounds go with the value; the text says which unit it is in, where that is another than the value's.
    [{ v: '90', unit: 'mg/dL', range: '70-99' }, [70, 99, '70-99']],
    [{ v: '90', unit: 'mg/dL', range: '70.0 - 99.0 MG/DL' }, [70, 99, '70.0 - 99.0 MG/DL']],
    [{ v: '90', unit: 'mg/dL', range: '<100' }, [undefined, 100, '<100']],
    [{ v: '90', unit: 'mg/dL', range: '>=70' }, [70, undefined, '>=70']],
    // 3.9 and 5.5 mmol/L at 180.16 g/mol are 70.26 and 99.09 mg/dL.
    [{ range: '3.9-5.5' }, [70, 99, '3.9-5.5 mmol/L']],
    [{ range: '3.9-5.5 mmol/L' }, [70, 99, '3.9-5.5 mmol/L']],
    // A range in another known unit is converted from that; in an unknown one it gives no bounds.
    [{ range: '70-99 mg/dL' }, [70, 99, '70-99 mg/dL']],
    [{ range: '70-99 furlongs' }, [undefined, undefined, '70-99 furlongs']],
    [{ range: 'normal "fasting"' }, [undefined, undefined, 'normal "fasting"']],
    [{ range: 'M 4-5, F 3-5' }, [undefined, undefined, 'M 4-5, F 3-5 mmol/L']],
    [{ range: '' }, [undefined, undefined, undefined]],
  ])('%j', (cells, expected) => {
    expect(range(cells)).toEqual([expected])
  })

  it('stand where the interface lists them, and leave other records as they are', () => {
    const content = (cells: Cells): string | undefined =>
      mapped(wide({ ...BASE, v: '90', unit: 'mg/dL', ...cells })).records[0]?.text
    expect(content({ range: '70-99' })).toContain(
      '}],"refHigh":99,"refLow":70,"refRange":"70-99","type":"Observation"',
    )
    expect(content({})).toBe(mapped(mapper('  glucose: v')({ ...BASE, v: '90' })).records[0]?.text)
  })

  it.each([
    ['the row block', '', { v: '90,5', range: '70,5-99,5' }],
    ['the rule', ', number: { decimal: "." }', { v: '90.5', range: '70.5-99.5' }],
  ])('have their numbers written as the value: as %s says', (_, own, cells) => {
    const map = mapper(`  glucose: { from: v, refRange: range${own} }`, '  number: { decimal: "," }')
    expect(bodies(map, cells)).toMatchObject([{ value: 90.5, refLow: 70.5, refHigh: 99.5 }])
  })

  it('that are no single text cost the record', () => {
    const looked = mapper('  glucose: { from: v, refRange: { from: range, table: { A: 70-99 } } }')
    expect(refused(looked, { v: '90', range: 'B' })).toEqual(['glucose: value-not-in-table range'])
    expect(bodies(looked, { v: '90', range: 'A' })).toMatchObject([{ refLow: 70, refHigh: 99 }])
  })
})
