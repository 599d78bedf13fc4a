/** Parts of one row that contradict each other: neither is taken for the truth in silence. */
import { describe, expect, it } from 'vitest'
import { compileInstant } from '../../src/transform/dates.ts'
import { csvMapper, faults, HEAD, jsonMapper, load, mapped, NOW, ORIGIN } from './mapping-under-test.ts'

const ROW = `row:
  key: [$.id]
  account: { reference: $.id }
  observedAt: { from: $.day, format: ISO, zone: UTC }
  source: { name: Tried, type: laboratory }
`

describe('the texts of a unit in OBX-6', () => {
  const read = jsonMapper(`mapping: tried
read: { format: ndjson, each: { seen: "$.seen[*]" } }
${ROW}biometrics:
  - code: { from: "seen.OBX['3']", system: LOINC }
    value: "seen.OBX['5']"
    unit: { firstOf: ["seen.OBX['6'][0]['1']", "seen.OBX['6'][0]['2']"] }
`)
  it.each([
    [{ 1: 'mg/dL' }, []],
    [{ 1: 'mg/dL', 2: 'milligrams per deciliter', 3: 'UCUM' }, []],
    // A lab's own code, and the name of a coding system, are no units.
    [{ 1: 'mg/dL', 2: 'mg/dl', 3: 'L', 4: 'MGDL', 6: 'L' }, []],
    [{ 1: 'mg/dL', 2: 'mg%', 4: '1000 ug/dL' }, []],
    [{ 1: 'mg/dL', 2: 'mmol/L', 3: 'UCUM' }, ['glucose-blood-1: unit-mismatch OBX-6']],
    [{ 1: 'mmol/L', 2: 'mg/dL' }, ['glucose-blood-1: unit-mismatch OBX-6']],
    [{ 1: 'mg/dL', 4: 'mmol/L', 6: 'L' }, ['glucose-blood-1: unit-mismatch OBX-6']],
  ])('%j rejects %j', (unit, expected) => {
    const OBX = { 3: '2339-0', 5: unit[1] === 'mmol/L' ? '5.0' : '90', 6: [unit] }
    expect(faults(read({ id: 'a', day: '2026-03-02', seen: [{ OBX }] } as never))).toEqual(expected)
  })
})

describe('a line of units below the header', () => {
  const columns = ['id', 'at', 'v', 'w']
  const bind = (...below: readonly (readonly string[])[]) =>
    load(`${HEAD}biometrics:\n  body-weight: v\n  body-height: { from: w, unit: in }\n`).compiled.bind(
      columns,
      'export.csv',
      NOW,
      below,
    )
  const of = (...below: readonly (readonly string[])[]) =>
    bind(...below)({ ...ORIGIN, kind: 'cells', cells: ['a', '2026-03-02', '80', '70'] })
  it.each([
    [['', '', '', ''], []],
    [['', '', 'kg', 'in'], []],
    [['', '', '[kilograms]', '(inches)'], []],
    // A remark is no unit.
    [['', '', 'measured', 'without shoes'], []],
    [['', '', 'lb', 'in'], ['body-weight: unit-mismatch v']],
    [
      ['', '', '(lbs)', ' cm '],
      ['body-weight: unit-mismatch v', 'body-height: unit-mismatch w'],
    ],
    [['', '', 'g'], ['body-weight: unit-mismatch v']],
  ])('%j rejects %j', (below, rejected) => {
    expect(faults(of(below))).toEqual(rejected)
    expect(faults(of(['id', 'at', 'Weight', 'Height'], below))).toEqual(rejected)
  })

  it('rejects no empty cell', () => {
    const outcome = bind(['', '', 'lb', 'cm'])({
      ...ORIGIN,
      kind: 'cells',
      cells: ['a', '2026-03-02', '', ''],
    })
    expect(faults(outcome)).toEqual([])
  })
})

describe('codes of one result', () => {
  const read = jsonMapper(`mapping: tried
read: { format: ndjson }
${ROW}biometrics:
  - code: { firstOf: ["$.code[0]", "$.code[1]", "$.code[2]"], system: LOINC, unknown: skip }
    value: $.value
    unit: { constant: mg/dL }
`)
  it.each([
    [['2345-7'], ['glucose-1'], []],
    [['9999-9', '2345-7'], ['glucose-1'], []],
    // Two codes of one measurement, and one that says more.
    [['2345-7', '2345-7'], ['glucose-1'], []],
    [['2345-7', '1558-6'], ['glucose-1'], []],
    [['2345-7', '2085-9'], [], ['unmapped-1: codes-contradictory $.code[0], $.code[1], $.code[2]']],
    [['2345-7', '9999-9', '2085-9'], [], ['unmapped-1: codes-contradictory $.code[0], $.code[1], $.code[2]']],
  ])('%j make %j, and reject %j', (code, made, rejected) => {
    const outcome = read({ id: 'a', day: '2026-03-02', code, value: '90' })
    expect([mapped(outcome).records.map(({ rule }) => rule), faults(outcome)]).toEqual([made, rejected])
  })
})

describe('results of one code and time with several states', () => {
  const read = jsonMapper(`mapping: tried
read: { format: ndjson, each: { seen: "$.seen[*]" } }
${ROW}biometrics:
  - code: { from: seen.code, system: LOINC }
    value: seen.value
    unit: { constant: mg/dL }
    observedAt: { from: seen.at, format: ISO, zone: UTC }
    status: { from: seen.state, keep: [P, F, C], withdrawn: [D] }
`)
  const BESIDE = 'corrected-beside -'
  it.each([
    ['F90 F95', ['90/0', '95/1'], []],
    ['F90 C95', ['95/0'], [`glucose-blood-1: ${BESIDE}`]],
    ['C95 F90', ['95/0'], [`glucose-blood-2: ${BESIDE}`]],
    ['P80 F90', ['90/0'], [`glucose-blood-1: ${BESIDE}`]],
    ['P80 F90 C95 C96', ['95/0', '96/1'], [`glucose-blood-1: ${BESIDE}`, `glucose-blood-2: ${BESIDE}`]],
    ['F90 D90', [], [`glucose-blood-1: ${BESIDE}`]],
    ['P80 P90', ['80/0', '90/1'], []],
  ])('of %s sends %j, and rejects %j', (states, sent, rejected) => {
    const seen = states
      .split(' ')
      .map((one) => ({ code: '2339-0', state: one[0], value: one.slice(1), at: '2026-03-02' }))
    const outcome = read({ id: 'a', day: '2026-03-02', seen } as never)
    expect(mapped(outcome).records.map(({ value, before }) => `${value}/${before}`)).toEqual(sent)
    expect(faults(outcome)).toEqual(rejected)
  })

  it('are not of one another where code or time differs', () => {
    const seen = [
      { code: '2339-0', state: 'F', value: '90', at: '2026-03-02' },
      { code: '2339-0', state: 'C', value: '95', at: '2026-03-01' },
      { code: '2345-7', state: 'C', value: '95', at: '2026-03-02' },
    ]
    const outcome = read({ id: 'a', day: '2026-03-02', seen } as never)
    expect([mapped(outcome).records.length, faults(outcome)]).toEqual([3, []])
  })
})

describe('a date that two forms read', () => {
  const at = (formats: readonly string[], text: string): string => {
    const found = compileInstant(formats, { zone: 'UTC', doubled: 'earlier' })(text)
    return found.ok ? new Date(found.at).toISOString().slice(0, 10) : found.code
  }
  it.each([
    [['MM/dd/yyyy', 'dd/MM/yyyy'], '02/04/2026', 'date-ambiguous'],
    [['dd/MM/yyyy', 'MM/dd/yyyy'], '02/04/2026', 'date-ambiguous'],
    [['MM/dd/yyyy', 'dd/MM/yyyy'], '04/04/2026', '2026-04-04'],
    [['MM/dd/yyyy', 'dd/MM/yyyy'], '13/04/2026', '2026-04-13'],
    [['MM/dd/yyyy', 'dd/MM/yyyy'], '04/13/2026', '2026-04-13'],
    [['M/d/yyyy', 'MM/dd/yyyy'], '02/04/2026', '2026-02-04'],
    [['HL7', 'yyyyddMM'], '20260204', 'date-ambiguous'],
    [['yyMMdd', 'ddMMyy'], '260204', 'date-ambiguous'],
    // A serial number is none of the written forms.
    [['HL7', 'EPOCH_MS'], '20260204', '2026-02-04'],
    [['yyMMdd', 'EXCEL'], '260204', '2026-02-04'],
    [['MM/dd/yyyy', 'dd/MM/yyyy'], '31/31/2026', 'date-invalid'],
  ])('%j of %s: %s', (formats, text, expected) => {
    expect(at(formats, text)).toBe(expected)
  })

  it('rejects its row, and leaves a registration undone', () => {
    const read = csvMapper(
      `mapping: tried
read: { format: csv }
row:
  key: [id]
  account:
    reference: id
    register: { firstName: first, lastName: last, dateOfBirth: { from: born, format: [MM/dd/yyyy, dd/MM/yyyy] }, gender: { constant: FEMALE }, postalCode: zip }
  observedAt: { from: day, format: [MM/dd/yyyy, dd/MM/yyyy], zone: UTC }
  source: { name: Tried, type: screening }
biometrics:
  heart-rate: pulse
`,
      ['id', 'first', 'last', 'born', 'zip', 'day', 'pulse'],
    )
    const row = { id: 'a', first: 'Ann', last: 'Reed', zip: '04884', pulse: '62', born: '04/12/1979' }
    expect(faults(read({ ...row, day: '02/04/2026' }))).toEqual(['row: date-ambiguous day'])
    expect(mapped(read({ ...row, day: '13/04/2026' })).register()).toMatchObject({
      issue: { code: 'registration-date-invalid' },
    })
  })
})
