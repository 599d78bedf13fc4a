/** Values that do not stand alone, in drafts whose questions are all answered with yes, and in the shipped mappings: no part of one is lost in silence. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { unreadBeside } from '../../../../src/watch/doubtful-columns.ts'
import { allRows, exportFile } from '../../../../test/extract/export-file.ts'
import { load, NOW, ROOT } from '../../../../test/transform/mapping-under-test.ts'
import { draftedMapping, notes, rules, vocabulary } from '../draft/drafting.ts'
import { finished } from './finished.ts'

const LABS = readFileSync(join(ROOT, 'mappings/tables/hl7-lab-codes.csv'), 'utf8')

/** `rule value`, or `rule: reason part`, of each record of an export by a shipped mapping. */
async function shipped(name: string, content: string): Promise<string[]> {
  const mapping = load(readFileSync(join(ROOT, 'mappings', `${name}.yaml`), 'utf8'), {
    'hl7-lab-codes': LABS,
  })
  const map = mapping.compiled.bind(undefined, name, NOW)
  const outcomes = (await allRows(await exportFile(content), mapping.read)).map((row) => map(row))
  return outcomes.flatMap((one) =>
    one.outcome === 'mapped'
      ? [
          ...one.records.map(({ rule, evidence: { value, unit } }) => `${rule} ${value} ${unit}`),
          ...one.rejected.map(({ rule, issue }) => `${rule}: ${issue.code} ${issue.field}`),
        ]
      : [one.outcome],
  )
}

const MESSAGE = [
  'MSH|^~\\&|LAB|FAC|EHR|FAC|20260204101500||ORU^R01^ORU_R01|M1|P|2.5.1',
  'PID|1||P-1001^^^FAC^MR||Quill^Ada||19790412|F|||1 Elm St^^Springfield^IL^62701',
  'OBR|1|ORD1|FIL1|24323-8^Panel^LN|||20260204091000',
]
const oru = (...results: string[]): string => [...MESSAGE, ...results, ''].join('\r')
const pulse = (type: string, value: string, rest = '|||||F'): string =>
  `OBX|1|${type}|8867-4^Pulse^LN||${value}|/min${rest}`

test.each([
  ['a repeated value', pulse('NM', '62~64'), 'heart-rate-1: value-repeated OBX-5'],
  ['a value with its text', pulse('NM', '62^resting'), 'heart-rate-1: value-not-a-number'],
  ['a text as a number', pulse('NM', '62 beats'), 'heart-rate-1: value-not-a-number'],
  ['a fifth component', pulse('NM', '62^^^^x'), 'heart-rate-1: value-part-unread OBX-5'],
  ['a structured number', pulse('SN', '=^62'), 'heart-rate-1 62 /min'],
  ['a bound', pulse('SN', '<^62'), 'heart-rate-1: value-with-comparator'],
  ['a ratio', pulse('SN', '^1^:^62'), 'heart-rate-1: value-not-a-number'],
  ['two numbers', pulse('NM', '6^2'), 'heart-rate-1: value-not-a-number OBX-5'],
  ['two numbers without a separator', pulse('SN', '^6^^2'), 'heart-rate-1: value-not-a-number OBX-5'],
  ['a number in two parts', pulse('SN', '^62^.^5'), 'heart-rate-1 62.5 /min'],
  ['a code', pulse('CE', '62'), 'heart-rate-1: value-form-unread OBX-2'],
  ['a flag of a bound', pulse('NM', '62', '||<|||F'), 'heart-rate-1: value-with-comparator OBX-8'],
  ['a flag that voids it', pulse('NM', '62', '||H~IND|||F'), 'heart-rate-1: flag-unread OBX-8'],
  ['a high value', pulse('NM', '62', '|55-60|H|||F'), 'heart-rate-1 62 /min'],
  ['a sub-id', `OBX|1|NM|8867-4^Pulse^LN|1.1|62|/min|||||F`, 'heart-rate-1 62 /min'],
])('HL7 v2: %s', async (_, result, expected) => {
  const [found = '', another] = await shipped('hl7v2-oru', oru(result))
  expect(another).toBeUndefined()
  expect(found.startsWith(expected)).toBe(true)
})

test.each([
  [['62'], 'heart-rate-1 62 /min'],
  [['=^62'], 'heart-rate-1 62 /min'],
  [['<^62'], 'heart-rate-1: value-with-comparator'],
  [['62', '64'], 'heart-rate-1: value-repeated OBX-5'],
  [['62^resting'], 'heart-rate-1: value-not-a-number'],
  [['62^^^^resting'], 'heart-rate-1: value-not-a-number'],
])('HL7 v2 with numeric keys, whose components are one text: %j', async (value, expected) => {
  const OBX = { 2: 'SN', 3: { 1: '8867-4', 3: 'LN' }, 5: value, 6: { 1: '/min' }, 11: 'F' }
  const orders = [{ OBR: { 3: { 1: 'F-1' }, 7: { 1: '20260204091000' } }, OBSERVATION: [{ OBX }] }]
  const patient = { PATIENT: { PID: { 3: [{ 1: 'P-1', 5: 'MR' }] } }, ORDER_OBSERVATION: orders }
  const [found = '', another] = await shipped(
    'numeric-keys-oru',
    JSON.stringify({ PATIENT_RESULT: [patient] }),
  )
  expect(another).toBeUndefined()
  expect(found.startsWith(expected)).toBe(true)
})

test('HL7 v2: what stands behind a line feed within a field is text', async () => {
  const note = 'OBX|1|TX|NOTE^Note^L||Line one\nLine two\nOBX looks like a segment||||||F'
  expect(await shipped('hl7v2-oru', oru(note, pulse('NM', '62')))).toEqual([
    'heart-rate-1 62 /min',
    expect.stringContaining('unmapped-1: code-unknown'),
  ])
})

test('HL7 v2: a draft reads structured numbers, ignores sub-ids where it is told to, and rejects what is repeated', async () => {
  const at = (place: number, value: string, type = 'NM') =>
    oru(`OBX|1|${type}|8867-4^Pulse^LN|1|${value}|/min|||||F`).replaceAll('P-1001', `P-${place}`)
  const content = [at(1, '62'), at(2, '=^64', 'SN'), at(3, '<^40', 'SN'), at(4, '62~64'), at(5, '70')].join(
    '',
  )
  const { records, rejected, text } = await finished('sn.hl7', content)
  expect(records.map((one) => one.split(' ').slice(0, 4).join(' '))).toEqual([
    'P-1 heart-rate 62 /min',
    'P-2 heart-rate 64 /min',
    'P-5 heart-rate 70 /min',
  ])
  expect(rejected).toEqual(['heart-rate-1: value-with-comparator', 'heart-rate-1: value-repeated'])
  expect(text).toMatch(/ignore: \[OBX-4\] # DECIDE/)
})

/** An Observation, as bulk exports write it. */
const observation = (at: number, code: string, value: object): string =>
  `${JSON.stringify({
    ...{ resourceType: 'Observation', id: `o${at}`, status: 'final' },
    code: { coding: [{ system: 'http://loinc.org', code }] },
    subject: { reference: `Patient/p${at}` },
    ...value,
    ...('effectivePeriod' in value ? {} : { effectiveDateTime: '2026-02-04T09:10:00Z' }),
  })}\n`
const crp = (value: number, more = {}): object => ({
  valueQuantity: { value, unit: 'mg/L', code: 'mg/L', ...more },
})

test('FHIR: a comparator makes a bound, in a draft as in the shipped mapping', async () => {
  const content = [crp(0.5, { comparator: '<' }), crp(2), crp(3), crp(5, { comparator: '>' })]
    .map((value, at) => observation(at, '30522-7', value))
    .join('')
  const { records, rejected } = await finished('crp.ndjson', content)
  expect(records.map((one) => one.split(' ').slice(1, 4).join(' '))).toEqual([
    'c-reactive-protein-hs 2 mg/L',
    'c-reactive-protein-hs 3 mg/L',
  ])
  expect(rejected).toEqual(Array(2).fill('c-reactive-protein-hs-1: value-with-comparator'))
  expect((await shipped('fhir-observation', content)).map((one) => one.split(/:? /)[1])).toEqual([
    ...['value-with-comparator', '2', '3', 'value-with-comparator'],
  ])
})

test('FHIR: a unit and a code that are different units make two values', async () => {
  const glucose = (unit: string, code: string): object => ({ valueQuantity: { value: 95, unit, code } })
  const potassium = { valueQuantity: { value: 4.1, unit: 'mEq/L', code: 'mmol/L' } }
  const content = [
    glucose('mmol/L', 'mg/dL'),
    glucose('milligrams per decilitre', 'mg/dL'),
    glucose('mg%', 'mg/dL'),
    glucose('mg/L', 'mg/dL'),
  ].map((value, at) => observation(at, '2345-7', value))
  expect(
    await shipped('fhir-observation', [...content, observation(9, '2823-3', potassium)].join('')),
  ).toEqual([
    'glucose-1: unit-mismatch unit',
    'glucose-1 95 mg/dL',
    'glucose-1 95 mg/dL',
    'glucose-1: unit-mismatch unit',
    'potassium-1 4.1 mmol/L',
  ])
})

test('FHIR: the Observation says of its components, too, that they are none', async () => {
  const component = [
    ['8480-6', 118],
    ['8462-4', 76],
  ].map(([code, value]) => ({
    code: { coding: [{ system: 'http://loinc.org', code }] },
    valueQuantity: { value, code: 'mm[Hg]' },
  }))
  const panel = (at: number, more: object): string => observation(at, '85354-9', { component, ...more })
  const content = [
    panel(1, { interpretation: [{ text: 'high' }] }),
    panel(2, { interpretation: [{ text: 'invalid reading' }] }),
    panel(3, { modifierExtension: [{ url: 'https://x.example/not', valueBoolean: true }] }),
  ]
  expect(await shipped('fhir-observation', content.join(''))).toEqual([
    ...['systolic-bp-1 118 mm[Hg]', 'diastolic-bp-1 76 mm[Hg]'],
    ...['systolic-bp-1: flag-unread interpretation', 'diastolic-bp-1: flag-unread interpretation'],
    ...[
      'systolic-bp-1: modifier-unread modifierExtension',
      'diastolic-bp-1: modifier-unread modifierExtension',
    ],
  ])
})

test('FHIR: whole numbers are scores, in a draft as in the shipped mappings; other forms are rejected', async () => {
  const score = (value: number): object => ({ valueQuantity: { value, unit: '{score}', code: '{score}' } })
  const content = [{ valueInteger: 0 }, score(1), { valueInteger: 27 }, score(3)]
    .map((value, at) => observation(at, '44261-6', value))
    .join('')
  const { records, rejected } = await finished('phq.ndjson', content)
  expect(records.map((one) => one.split(' ')[2])).toEqual(['0', '1', '27', '3'])
  expect(rejected).toEqual([])
  expect(await shipped('fhir-observation', content)).toEqual(
    ['0', '1', '27', '3'].map((n) => `phq-9-1 ${n} {score}`),
  )
  const others = [{ valueString: '7' }, { valueInteger: 62 }, { valueDecimal: 7.5 }, { dataAbsentReason: {} }]
  expect(
    await shipped(
      'fhir-observation',
      others.map((value, at) => observation(at, at === 1 ? '8867-4' : '44261-6', value)).join(''),
    ),
  ).toEqual([
    'phq-9-1: value-form-unread value',
    expect.stringContaining('heart-rate-1: unit-mismatch'),
    'phq-9-1: value-form-unread value',
    'skipped',
  ])
})

test('FHIR: a Bundle has scores, too, and components of other forms are rejected', async () => {
  const entry = [
    { resourceType: 'Patient', id: 'p1' },
    JSON.parse(observation(1, '44261-6', { valueInteger: 7 })),
    JSON.parse(
      observation(2, '85354-9', {
        subject: { reference: 'Patient/p1' },
        component: [
          { code: { coding: [{ system: 'http://loinc.org', code: '8480-6' }] }, valueString: '118' },
          {
            code: { coding: [{ system: 'http://loinc.org', code: '8462-4' }] },
            valueQuantity: { value: 76, code: 'mm[Hg]' },
          },
        ],
      }),
    ),
  ].map((resource) => ({ resource }))
  expect(await shipped('fhir-bundle', JSON.stringify({ resourceType: 'Bundle', entry }))).toEqual([
    'phq-9-1 7 {score}',
    'diastolic-bp-1 76 mm[Hg]',
    'systolic-bp-1: value-form-unread value',
  ])
})

test('FHIR: a draft takes the beginning of a period where there is no time', async () => {
  const content = [0, 1, 2, 3]
    .map((at) =>
      observation(at, '30522-7', {
        ...crp(2),
        ...(at % 2 === 0
          ? {}
          : { effectivePeriod: { start: '2026-02-05T10:00:00Z', end: '2026-02-06T10:00:00Z' } }),
      }),
    )
    .join('')
  const { records } = await finished('periods.ndjson', content)
  expect(records.map((one) => one.split(' ').at(-1))).toEqual([
    '2026-02-04T09:10:00.000Z',
    '2026-02-05T10:00:00.000Z',
    '2026-02-04T09:10:00.000Z',
    '2026-02-05T10:00:00.000Z',
  ])
})

test('CSV: feet and inches in two columns are one height, which the draft asks about', async () => {
  for (const header of ['height_ft,height_in', 'height_in,height_ft']) {
    const rows = [
      ['6', '0'],
      ['5', '5'],
      ['5', '10.5'],
      ['5', ''],
    ].map(([feet, inches], at) => {
      const cells = header.startsWith('height_ft') ? [feet, inches] : [inches, feet]
      return `M00${at},01/1${at}/2026,${cells.join(',')}`
    })
    const { records, asked, rejected } = await finished(
      'feet.csv',
      ['id,visit_date', ''].join('').concat(`,${header}\n${rows.join('\n')}\n`),
    )
    expect(records.map((one) => one.split(' ').slice(0, 4).join(' '))).toEqual([
      'M000 body-height 182.9 cm',
      'M001 body-height 165.1 cm',
      'M002 body-height 179.1 cm',
    ])
    // Without inches nobody can tell.
    expect(rejected).toEqual(['body-height: value-not-feet-and-inches'])
    expect(asked.some((one) => one.includes('height_ft and height_in are one value'))).toBe(true)
  }
})

test('CSV: a sign goes in front of its value, and a flag is asked about', async () => {
  const rows = [
    '1,2026-01-01,>,1000,90,H',
    '2,2026-01-02,=,50,91,',
    '3,2026-01-03,,60,99,hemolyzed',
    '4,2026-01-04,<,5,88,',
  ]
  const table = `id,visit_date,ferritin_sign,ferritin,glucose,glucose_flag\n${rows.join('\n')}\n`
  const { records, rejected, asked } = await finished('signs.csv', table)
  expect(records.map((one) => one.split(' ').slice(0, 3).join(' '))).toEqual([
    ...['1 glucose 90', '2 ferritin 50', '2 glucose 91', '3 ferritin 60', '3 glucose 99', '4 glucose 88'],
  ])
  expect(rejected).toEqual(['ferritin: value-with-comparator', 'ferritin: value-with-comparator'])
  expect(asked.join()).toMatch(
    /is ferritin_sign its sign\?[\s\S]*glucose_flag: does it change the meaning of the value\?/,
  )
})

test('CSV: other values in two columns are asked about without a rule', () => {
  const drafted = draftedMapping('id,weight_stones,weight_lb\n1,11,4\n2,12,13\n3,10,0\n')
  expect(rules(drafted)).toEqual([])
  expect(notes(drafted).join()).toContain(
    'weight_stones and weight_lb are one value: body-weight: { expression: "$number(`weight_stones`) * 14 + $number(`weight_lb`)", unit: lb }',
  )
})

test('CSV: the check tells of a column beside a value that is neither read nor ignored', () => {
  const of = (rule: string, columns: readonly string[]): string[] => {
    const { definition } = load(`mapping: m
read: { format: csv }
row: { key: [id], account: { reference: id }, observedAt: { constant: "2026-02-04T09:10:00Z" }, source: { name: N, type: t } }
biometrics: { ${rule} }
`)
    return unreadBeside(definition, columns, vocabulary).map(
      ({ rule: of, message }) => `${of} ${message.split('"')[1]}`,
    )
  }
  const height = 'body-height: { from: height_ft, unit: ft }'
  const around = ['height_in', 'height_note', 'weight', 'heightened', 'site']
  expect(of(height, around)).toEqual(['body-height height_in', 'body-height height_note'])
  expect(of(height.replace('ft }', 'ft, ignore: [height_note, height_in] }'), around)).toEqual([])
  expect(
    of('glucose: glucose', [
      'glucose_flag',
      'glucose flag',
      'GlucoseComment',
      'glucose_goal',
      'Glucose (fasting)',
      'flag',
    ]),
  ).toEqual([
    'null flag',
    ...['glucose_flag', 'glucose flag', 'GlucoseComment'].map((column) => `glucose ${column}`),
  ])
  expect(of('ferritin: { concat: [ferritin_sign, ferritin] }', ['ferritin_flag'])).toEqual([
    'ferritin ferritin_flag',
  ])
})
