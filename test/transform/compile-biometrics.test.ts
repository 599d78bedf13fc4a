import { describe, expect, it } from 'vitest'
import {
  csvMapper,
  csvRules,
  faults,
  jsonMapper,
  jsonRules,
  mapped,
  ORIGIN,
  wires,
} from './mapping-under-test.ts'

const WIDE = `
mapping: wide
read: { format: csv }
row:
  key: [id, at]
  account: { reference: id }
  observedAt: { from: at, format: yyyy-MM-dd HH:mm, zone: America/New_York }
  source: { name: Acme "Onsite", type: screening, sendingSystem: acme, notes: n, dataQuality: normalized }
biometrics:
  total-cholesterol: { from: tc, unit: mmol/L, emptyWhen: [ND, 999] }
  hba1c: a1c
  body-temperature: { from: temp, unit: { from: temp_unit } }
  glucose-fasting: { from: glucose, when: { fasting: Y } }
  second-glucose: { from: glucose, catalog: glucose, when: { fasting: N }, observedAt: { from: drawn, format: yyyyMMdd, zone: UTC } }
  leukocytes: { from: wbc, unit: 10*9/L }
`
const COLUMNS = ['id', 'at', 'tc', 'a1c', 'temp', 'temp_unit', 'glucose', 'fasting', 'drawn', 'wbc']
const map = csvMapper(WIDE, COLUMNS)
const BASE = { id: 'P1', at: '2026-02-04 09:10' }

describe('a wide measurement', () => {
  it('is the whole record that the interface describes', () => {
    const outcome = map({ ...BASE, a1c: ' 5.10 ' })
    expect(outcome).toMatchObject({ ...ORIGIN, outcome: 'mapped', key: 'P1|2026-02-04 09:10', rejected: [] })
    expect(mapped(outcome).records[0]).toMatchObject({
      kind: 'biometric',
      rule: 'hba1c',
      account: { reference: 'P1', type: 'partnerAccountId' },
      observedAt: Date.UTC(2026, 1, 4, 14, 10),
      sourceType: 'screening',
      evidence: { codes: ['4548-4'], value: '5.10', unit: '%' },
    })
    expect(wires(outcome)).toEqual([
      {
        transactionId: 'e-000007-rule-c',
        account: { reference: 'P1', type: 'partnerAccountId' },
        name: 'Hemoglobin A1c/Hemoglobin.total in blood',
        observationDate: '2026-02-04T14:10:00.000Z',
        codeSystem: '2.16.840.1.113883.6.1',
        codeSystemName: 'LOINC',
        code: '4548-4',
        codes: [
          {
            code: '4548-4',
            codeSystem: '2.16.840.1.113883.6.1',
            codeSystemName: 'LOINC',
            name: 'Hemoglobin A1c/Hemoglobin.total in blood',
          },
        ],
        type: 'Observation',
        value: 5.1,
        unit: '%',
        source: {
          name: 'Acme "Onsite"',
          type: 'screening',
          notes: 'n',
          meta: {
            dataQuality: 'normalized',
            resourceKey: 'P1|2026-02-04 09:10',
            sendingSystem: 'acme',
            batchId: 'batch-1',
            persistentRecordId: 'e-000007-rule-c',
          },
        },
      },
    ])
  })

  it.each([
    // A value that needs no conversion keeps its digits.
    [{ a1c: '5.10' }, 'hba1c', '5.10', '%'],
    [{ wbc: '4.25' }, 'leukocytes', '4.25', '10*3/uL'],
    // 5.2 mmol/L of cholesterol at 386.65 g/mol: 201.058 mg/dL, rounded to no decimals.
    [{ tc: '5.2' }, 'total-cholesterol', '201', 'mg/dL'],
    [{ temp: '98.6', temp_unit: 'F' }, 'body-temperature', '37.0', 'Cel'],
    [{ temp: '37.00', temp_unit: '°C' }, 'body-temperature', '37.00', 'Cel'],
  ])('%j is %s %s %s', (cells, rule, value, unit) => {
    const { records, rejected } = mapped(map({ ...BASE, ...cells }))
    expect(rejected).toEqual([])
    expect(records.map((record) => [record.rule, record.evidence.value, record.evidence.unit])).toEqual([
      [rule, value, unit],
    ])
    expect(records[0]?.text).toContain(`"value":${value},"unit":"${unit}"`)
  })

  it.each([
    [{}],
    [{ tc: 'ND' }],
    [{ tc: '999' }],
    [{ tc: '   ' }],
    [{ glucose: '90' }],
    [{ glucose: '90', fasting: 'x' }],
    [{ glucose: '', fasting: 'y' }],
  ])('%j: there is none, and the row is mapped', (cells) => {
    expect(map({ ...BASE, ...cells })).toMatchObject({ outcome: 'mapped', records: [], rejected: [] })
  })

  it('goes by `when`, with a date of its own', () => {
    expect(mapped(map({ ...BASE, glucose: '90', fasting: 'Y' })).records.map(({ rule }) => rule)).toEqual([
      'glucose-fasting',
    ])
    expect(wires(map({ ...BASE, glucose: '90', fasting: 'N', drawn: '20260201' }))).toMatchObject([
      { code: '2345-7', observationDate: '2026-02-01T00:00:00.000Z', value: 90 },
    ])
  })

  it.each([
    [{ a1c: 'high' }, 'hba1c: value-not-a-number a1c'],
    [{ a1c: '<4' }, 'hba1c: value-with-comparator a1c'],
    [{ a1c: '5.1E+0' }, 'hba1c: value-in-scientific-notation a1c'],
    [{ a1c: '51' }, 'hba1c: value-out-of-range a1c'],
    [{ a1c: `5${'0'.repeat(400)}` }, 'hba1c: value-out-of-range a1c'],
    // The bounds are in the catalog's unit: 200 mmol/L is 7733 mg/dL.
    [{ tc: '200' }, 'total-cholesterol: value-out-of-range tc'],
    [{ temp: '37', temp_unit: 'warm' }, 'body-temperature: unit-unknown temp_unit'],
    [{ temp: '37' }, 'body-temperature: unit-unknown temp_unit'],
    [{ temp: '37', temp_unit: 'kg' }, 'body-temperature: unit-mismatch temp_unit'],
    [{ glucose: '90', fasting: 'N' }, 'second-glucose: date-missing drawn'],
    [{ glucose: '90', fasting: 'N', drawn: '20260231' }, 'second-glucose: date-invalid drawn'],
  ])('%j is refused: %s', (cells, fault) => {
    const outcome = map({ ...BASE, ...cells })
    expect(faults(outcome)).toEqual([fault])
    expect(mapped(outcome).records).toEqual([])
  })

  it('on its bounds is in range', () => {
    expect(mapped(map({ ...BASE, a1c: '2.5' })).records).toHaveLength(1)
    expect(mapped(map({ ...BASE, a1c: '25.0' })).records).toHaveLength(1)
    expect(faults(map({ ...BASE, a1c: '25.01' }))).toEqual(['hba1c: value-out-of-range a1c'])
    expect(faults(map({ ...BASE, a1c: '-2.5' }))).toEqual(['hba1c: value-out-of-range a1c'])
  })

  it('that is bad leaves the others alone', () => {
    const outcome = map({ ...BASE, a1c: 'x', wbc: '5', temp: '1', temp_unit: 'Cel' })
    expect(mapped(outcome).records.map(({ rule }) => rule)).toEqual(['leukocytes'])
    expect(faults(outcome)).toEqual([
      'hba1c: value-not-a-number a1c',
      'body-temperature: value-out-of-range temp',
    ])
  })

  it('is told without a word of what the cell holds', () => {
    const secret = '77777.123x'
    for (const cells of [
      { a1c: secret },
      { temp: '1', temp_unit: '{secret77777}' },
      { temp: '1', temp_unit: '77777' },
    ])
      expect(JSON.stringify(mapped(map({ ...BASE, ...cells })).rejected)).not.toContain('77777')
  })
})

const LONG = `
mapping: long
read: { format: ndjson, each: { order: "$.orders[*]", obx: "order.obx[*]" } }
row:
  key: [$.id]
  account: { reference: $.id, type: accountId }
  observedAt: { from: order.at, format: ISO, zone: Europe/Berlin }
  source: { name: Lab, type: laboratory }
biometrics:
  - code: { from: obx.code, table: lab-codes }
    value: obx.value
    unit: { from: obx.unit, emptyWhen: ["-"], table: { mgdl: mg/dL, pct: "%" } }
    status: { from: obx.status, keep: [F, C] }
    when: { obx.kind: NM }
`
const mapLong = jsonMapper(LONG)
const obx = (more: object) => ({
  kind: 'NM',
  code: 'NL-CHOL',
  value: '190',
  unit: 'mgdl',
  status: 'F',
  ...more,
})
const document = (...results: object[]) =>
  JSON.parse(JSON.stringify({ id: 'A1', orders: { at: '2026-02-04', obx: results } }))

describe('long measurements in nested rows', () => {
  it('are named by catalog key and ordinal, and dated by their order', () => {
    const outcome = mapLong({
      id: 'A1',
      orders: [
        { at: '2026-02-04', obx: [obx({}), obx({ code: 'NL-A1C', value: '5.0', unit: 'pct' })] },
        { at: '2026-02-05T10:00Z', obx: obx({ value: '191' }) },
      ],
    })
    expect(mapped(outcome).records.map(({ rule, evidence }) => [rule, evidence.value])).toEqual([
      ['total-cholesterol-1', '190'],
      ['hba1c-1', '5.0'],
      ['total-cholesterol-2', '191'],
    ])
    expect(wires(outcome).map((record) => record['observationDate'])).toEqual([
      '2026-02-03T23:00:00.000Z',
      '2026-02-03T23:00:00.000Z',
      '2026-02-05T10:00:00.000Z',
    ])
    expect(mapped(outcome).account).toEqual({ reference: 'A1', type: 'accountId' })
  })

  it.each([
    [{ code: 'NL-NEW' }, 'unmapped-1: code-unknown obx.code'],
    [{ code: '' }, 'unmapped-1: code-missing obx.code'],
    [{ code: ['NL-CHOL'] }, 'unmapped-1: field-not-scalar obx.code'],
    [{ value: '' }, 'total-cholesterol-1: value-missing obx.value'],
    [{ value: null }, 'total-cholesterol-1: value-missing obx.value'],
    [{ value: { a: '1' } }, 'total-cholesterol-1: field-not-scalar obx.value'],
    [{ value: true }, 'total-cholesterol-1: value-not-a-number obx.value'],
    [{ unit: '-' }, 'total-cholesterol-1: unit-unknown obx.unit'],
    [{ unit: null }, 'total-cholesterol-1: unit-unknown obx.unit'],
    [{ unit: 'mg/dL' }, 'total-cholesterol-1: unit-unknown obx.unit'],
    [{ unit: {} }, 'total-cholesterol-1: unit-unknown obx.unit'],
    [{ unit: 'pct' }, 'total-cholesterol-1: unit-mismatch obx.unit'],
  ])('%j is refused: %s', (more, fault) => {
    expect(faults(mapLong(document(obx(more))))).toEqual([fault])
  })

  it('that all are left out make a skipped row', () => {
    for (const more of [
      { status: 'P' },
      { status: null },
      { status: ['F'] },
      { kind: 'TX' },
      { kind: null },
    ]) {
      const why = 'kind' in more ? 'when' : 'status'
      expect(mapLong(document(obx(more), obx(more)))).toEqual({
        ...ORIGIN,
        outcome: 'skipped',
        reason: 'nothing-kept',
        leftOut: [why, why],
        warnings: [],
        account: { reference: expect.any(String), type: 'accountId' },
      })
    }
    expect(mapped(mapLong(document(obx({ status: 'P' }), obx({})))).records).toHaveLength(1)
    expect(mapLong(document())).toMatchObject({ outcome: 'mapped', records: [], rejected: [] })
  })

  it('with a bad date are refused one by one', () => {
    const outcome = mapLong({
      id: 'A1',
      orders: [
        { obx: [obx({})] },
        { at: 'today', obx: [obx({})] },
        { at: '2026-03-29T02:30', obx: [obx({})] },
      ],
    })
    expect(faults(outcome)).toEqual([
      'total-cholesterol-1: date-missing order.at',
      'total-cholesterol-2: date-invalid order.at',
      'total-cholesterol-3: date-skipped-by-daylight-saving order.at',
    ])
  })
})

describe('a named rule that reads a level', () => {
  it('numbers its records, so that none shares an id with another', () => {
    const nested = jsonRules(
      '{ visit: "$.visits[*]" }',
      `biometrics: { bmi: visit.bmi }
conditions: { asthma: { when: { visit.asthma: Y }, status: active } }
careTeams: { pcp: { when: { visit.npi: present }, npi: visit.npi, name: visit.name } }`,
    )
    const visit = { bmi: '20', asthma: 'Y', npi: '1234567893', name: 'Dr. N' }
    const outcome = mapped(nested({ id: '1', visits: [visit, visit, { bmi: 'x' }] }))
    expect(outcome.records.map(({ rule }) => rule).sort()).toEqual([
      ...['asthma-1', 'asthma-2', 'bmi-1', 'bmi-2', 'pcp-1', 'pcp-2'],
    ])
    expect(faults(outcome)).toEqual(['bmi-3: value-not-a-number visit.bmi'])
  })
})

it('an element is left out by `when` only where no rule takes it', () => {
  const either = csvRules(
    ['id', 'at', 'code', 'value', 'kind'],
    ['lab', 'nurse']
      .map(
        (kind) =>
          `{ code: { from: code, system: LOINC, unknown: skip }, when: { kind: ${kind} }, value: value, unit: { constant: mg/dL } }`,
      )
      .reduce((a, b) => `biometrics: [${a}, ${b}]`),
    '',
    '{ from: at, format: EPOCH_MS }',
  )
  const row = { id: '1', at: '1770196200000', code: '2093-3', value: '190' }
  expect(either({ ...row, kind: 'nurse' })).toMatchObject({ outcome: 'mapped', leftOut: [] })
  expect(either({ ...row, kind: 'other' })).toMatchObject({ outcome: 'skipped', leftOut: ['when'] })
})

describe('a coded CSV', () => {
  const coded = csvRules(
    ['id', 'at', 'code', 'value'],
    'biometrics: [{ code: { from: code, system: LOINC, unknown: skip }, value: value, unit: { constant: mg/dL } }]',
    '',
    '{ from: at, format: EPOCH_MS }',
  )
  it('takes LOINC as it is; codes to skip are left out', () => {
    expect(wires(coded({ id: '1', at: '1770196200000', code: '2093-3', value: '190' }))).toMatchObject([
      { code: '2093-3', value: 190, observationDate: '2026-02-04T09:10:00.000Z' },
    ])
    expect(coded({ id: '1', at: '1770196200000', code: '9999-4', value: '1' })).toMatchObject({
      outcome: 'skipped',
      reason: 'nothing-kept',
      leftOut: ['code 9999-4'],
    })
    // What may be a name is counted, and not told.
    for (const code of ['Testina', 'see 2 below', `1${'x'.repeat(20)}`])
      expect(coded({ id: '1', at: '1770196200000', code, value: '1' })).toMatchObject({
        leftOut: ['other codes'],
      })
    // A SNOMED code of the catalog is no LOINC.
    expect(coded({ id: '1', at: '1770196200000', code: '44054006', value: '1' })).toMatchObject({
      outcome: 'skipped',
    })
  })
})

describe('a code that is written several times', () => {
  const coded = csvRules(
    ['id', 'code', 'also', 'value'],
    `biometrics:
  - code: { firstOf: [code, also], split: { by: "|", take: -1 }, system: LOINC }
    value: value
    unit: { constant: "%" }`,
  )
  const of = (code: string, also: string): string[] => {
    const outcome = coded({ id: '1', value: '97', code, also })
    return [...mapped(outcome).records.map(({ rule }) => rule), ...faults(outcome)]
  }

  it.each([
    ['LN|59408-5', '2708-6', ['oxygen-saturation-1']],
    ['LN|59408-5', '4548-4', ['unmapped-1: codes-contradictory code, also']],
    ['LN|5763-8', 'LN|59408-5', ['oxygen-saturation-1']],
    ['LN|59408-6', 'LN|59408-5', ['oxygen-saturation-1']],
    ['', 'LN|59408-5', ['oxygen-saturation-1']],
    ['LN|59408-6', 'LN|5763-8', ['unmapped-1: check-digit-wrong code, also']],
    ['LN|5763-8', 'LN|59408-6', ['unmapped-1: code-unknown code, also']],
    ['', '', ['unmapped-1: code-missing code, also']],
  ])('is the first that is known: %j, %j', (code, also, told) => expect(of(code, also)).toEqual(told))
})

describe('rules of a list that are always of one entry', () => {
  const map = jsonRules(
    '{ visit: "$.visits[*]", reading: "visit.readings[*]" }',
    `biometrics:
  - { catalog: body-weight, value: visit.weight, unit: visit.weightUnit }
  - { code: { from: reading.code, system: LOINC }, value: reading.value, unit: { constant: kg } }
conditions:
  - { catalog: asthma, when: { visit.asthma: "true" }, status: active }`,
  )

  it('stand beside rules whose code is read; their ordinals go on; what is empty is left out', () => {
    const outcome = map({
      id: '1',
      visits: [
        { weight: '180', weightUnit: 'lb', asthma: true, readings: [{ code: '29463-7', value: '80' }] },
        { weight: null, readings: [] },
        { weight: '81', weightUnit: 'kg' },
      ],
    })
    expect(mapped(outcome).records.map(({ rule, evidence }) => [rule, evidence.value])).toEqual([
      ['body-weight-1', '81.6'],
      ['asthma-1', undefined],
      ['body-weight-2', '81'],
      ['body-weight-3', '80'],
    ])
    expect(faults(outcome)).toEqual([])
    expect(map({ id: '1', visits: { weight: '' } })).toMatchObject({
      outcome: 'skipped',
      reason: 'nothing-kept',
    })
  })
})

describe('the parts of a cell that several rules read', () => {
  const PRESSURE = ['id', 'day', 'bp', 'weight', 'dose']
  const pressure = csvMapper(
    `mapping: parts
read: { format: csv }
row: { key: [id], account: { reference: id }, observedAt: { from: day, format: ISO, zone: UTC }, source: { name: N, type: t } }
biometrics:
  systolic-bp: { from: bp, emptyWhen: [ND], split: { by: /, take: 1 } }
  diastolic-bp: { from: bp, emptyWhen: [ND], split: { by: /, take: 2 } }
  body-weight: { from: weight, split: { by: " ", take: 1 }, unit: { from: weight, split: { by: " ", take: 2 } } }
  heart-rate: { from: dose, split: { by: ";", take: -1 } }
`,
    PRESSURE,
  )
  const BOTH = ['systolic-bp: value-part-unread bp', 'diastolic-bp: value-part-unread bp']

  it.each([
    ['120/80', [], ['systolic-bp 120', 'diastolic-bp 80']],
    ['120 / 80', [], ['systolic-bp 120', 'diastolic-bp 80']],
    ['120/80/', [], ['systolic-bp 120', 'diastolic-bp 80']],
    ['120/', [], ['systolic-bp 120']],
    ['/80', [], ['diastolic-bp 80']],
    ['', [], []],
    ['ND', [], []],
    // A pulse behind them; a second reading; a lone number that may be either of both.
    ['120/80/65', BOTH, []],
    ['120//80', BOTH, []],
    ['120/80 130/85', BOTH, []],
    ['80', BOTH, []],
  ])('%j: %j %j', (bp, faulty, made) => {
    const outcome = pressure({ id: '1', day: '2026-02-04', bp })
    expect(faults(outcome)).toEqual(faulty)
    expect(mapped(outcome).records.map(({ rule, value }) => `${rule} ${value}`)).toEqual(made)
  })

  it.each([
    ['take: 1 }, extract: "([0-9]+)"', 'take: 2 }, extract: "([0-9]+)"'],
    ['take: 1 }', 'take: -1 }'],
    ['take: -2 }', 'take: -1 }'],
  ])('are all of them, from whichever end, and with further steps: %s, %s', (systolic, diastolic) => {
    const map = csvMapper(
      `mapping: parts
read: { format: csv }
row: { key: [id], account: { reference: id }, observedAt: { from: day, format: ISO, zone: UTC }, source: { name: N, type: t } }
biometrics:
  systolic-bp: { from: bp, split: { by: /, ${systolic} }
  diastolic-bp: { firstOf: [{ from: bp, split: { by: /, ${diastolic} }, weight] }
`,
      PRESSURE,
    )
    const both = ['systolic-bp: value-part-unread bp', 'diastolic-bp: value-part-unread bp, weight']
    for (const bp of ['120/80/65', '120/80, 118/78', '80'])
      expect(faults(map({ id: '1', day: '2026-02-04', bp }))).toEqual(both)
    expect(faults(map({ id: '1', day: '2026-02-04', bp: '120/80' }))).toEqual([])
  })

  it('are as many as the mapping says where a single rule reads the cell', () => {
    const outcome = mapped(pressure({ id: '1', day: '2026-02-04', weight: '80 kg', dose: '1;62' }))
    expect(outcome.records.map(({ rule, value }) => `${rule} ${value}`)).toEqual([
      'body-weight 80',
      'heart-rate 62',
    ])
  })
})
