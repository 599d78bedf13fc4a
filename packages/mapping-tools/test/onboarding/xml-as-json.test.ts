/** Drafts of XML that came as JSON: attributes and texts are members of their own, and a lone element stands where others are lists. */
import { describe, expect, test } from 'vitest'
import type { JsonValue } from '../../../../src/model/row.ts'
import { load, NOW } from '../../../../test/transform/mapping-under-test.ts'
import { finished } from './finished.ts'

interface Result {
  readonly name: string
  readonly unit: string
  readonly text: string
}

/** How a converter writes an element: its attributes, what is in it, and several of it. */
interface Style {
  readonly attributes: (attributes: Readonly<Record<string, string>>, inner: object | string) => unknown
  readonly several: (elements: readonly unknown[]) => unknown
}

const prefixed =
  (prefix: string): Style['attributes'] =>
  (attributes, inner) => ({
    ...Object.fromEntries(Object.entries(attributes).map(([name, text]) => [prefix + name, text])),
    ...(typeof inner === 'string' ? { '#text': inner } : inner),
  })
const lone: Style['several'] = (elements) => (elements.length === 1 ? elements[0] : elements)

const STYLES: Readonly<Record<string, Style>> = {
  'lone elements': { attributes: prefixed('@'), several: lone },
  'lists of one': { attributes: prefixed('@'), several: (elements) => elements },
  'lone elements, and attributes with @_': { attributes: prefixed('@_'), several: lone },
}

function exported(style: Style, people: readonly (readonly Result[])[]): string {
  const { attributes, several } = style
  const participants = people.map((results, at) =>
    attributes(
      { id: `P-${at + 1}` },
      {
        FirstName: 'Ann',
        Visit: attributes(
          { date: `2026-02-0${at + 4}` },
          { Result: several(results.map(({ name, unit, text }) => attributes({ name, unit }, text))) },
        ),
      },
    ),
  )
  return JSON.stringify({ ScreeningExport: { Participant: several(participants) } })
}

const WEIGHT: Result = { name: 'Weight', unit: 'lb', text: '180' }
const HDL: Result = { name: 'HDL', unit: 'mg/dL', text: '50' }
const LDL: Result = { name: 'LDL', unit: 'mg/dL', text: '110' }

const keyed = (records: readonly string[]): string[] =>
  records.map((record) => record.replace(/ (\S+?)-\d+ /, ' $1 '))

describe.each(Object.entries(STYLES))('%s', (_, style) => {
  test('several people, one of them with one result', async () => {
    const { records, rejected, text } = await finished('export.json', exported(style, [[WEIGHT, HDL], [LDL]]))
    expect(rejected).toEqual([])
    // 180 lb of 0.45359237 kg.
    expect(keyed(records)).toEqual([
      'P-1 body-weight 81.6 kg 2026-02-04T00:00:00.000Z',
      'P-1 hdl-cholesterol 50 mg/dL 2026-02-04T00:00:00.000Z',
      'P-2 ldl-cholesterol 110 mg/dL 2026-02-05T00:00:00.000Z',
    ])
    expect(text).toContain('records: "$.ScreeningExport.Participant[*]"')
  })

  test('one person, who stands alone where a file of several has a list', async () => {
    const { records, rejected, text } = await finished('export.json', exported(style, [[WEIGHT, HDL]]))
    expect(rejected).toEqual([])
    expect(keyed(records)).toEqual([
      'P-1 body-weight 81.6 kg 2026-02-04T00:00:00.000Z',
      'P-1 hdl-cholesterol 50 mg/dL 2026-02-04T00:00:00.000Z',
    ])
    expect(text).toContain('records: "$.ScreeningExport.Participant[*]"')
  })

  test('the draft of one file reads another, whose elements are several', async () => {
    const { text } = await finished('export.json', exported(style, [[WEIGHT], [LDL], [HDL]]))
    const read = /^read:\n(?: {2}.*\n)+/m.exec(text)?.[0] ?? ''
    const { records, rejected } = await finished(
      'export.json',
      exported(style, [
        [WEIGHT, HDL],
        [LDL, HDL],
      ]),
      (other) => other.replace(/^read:\n(?: {2}.*\n)+/m, () => read),
    )
    expect(rejected).toEqual([])
    expect(keyed(records)).toEqual([
      'P-1 body-weight 81.6 kg 2026-02-04T00:00:00.000Z',
      'P-1 hdl-cholesterol 50 mg/dL 2026-02-04T00:00:00.000Z',
      'P-2 ldl-cholesterol 110 mg/dL 2026-02-05T00:00:00.000Z',
      'P-2 hdl-cholesterol 50 mg/dL 2026-02-05T00:00:00.000Z',
    ])
  })
})

describe('xml2js, where each element is a list', () => {
  const person = (id: string, visits: readonly (readonly [day: string, results: readonly Result[]])[]) => ({
    $: { id },
    FirstName: ['Ann'],
    Visit: visits.map(([date, results]) => ({
      $: { date },
      Result: results.map(({ name, unit, text }) => ({ _: text, $: { name, unit } })),
    })),
  })
  const written = (...people: object[]): string =>
    JSON.stringify({ ScreeningExport: { $: { version: '1' }, Participant: people } })

  test('results in a list are a level each', async () => {
    const { records, rejected } = await finished(
      'export.json',
      written(
        person('P-1', [['2026-02-04', [WEIGHT, HDL]]]),
        person('P-2', [
          ['2026-02-05', [LDL]],
          ['2026-02-06', [HDL]],
        ]),
      ),
    )
    expect(rejected).toEqual([])
    expect(keyed(records)).toEqual([
      'P-1 body-weight 81.6 kg 2026-02-04T00:00:00.000Z',
      'P-1 hdl-cholesterol 50 mg/dL 2026-02-04T00:00:00.000Z',
      'P-2 ldl-cholesterol 110 mg/dL 2026-02-05T00:00:00.000Z',
      'P-2 hdl-cholesterol 50 mg/dL 2026-02-06T00:00:00.000Z',
    ])
  })

  const wide = (id: string, weight: JsonValue[], ...more: string[]): JsonValue => ({
    ...{
      PatientId: [id],
      FirstName: ['Ann'],
      LastName: ['Reed'],
      DOB: ['1979-04-12'],
      Sex: ['F'],
      Zip: ['04884'],
    },
    ...{ VisitDate: ['2026-02-04'], Weight: weight, Pulse: ['61', ...more] },
  })
  const lb = (text: string) => ({ _: text, $: { unit: 'lb' } })

  test('a measurement in each element, and the person', async () => {
    const { records, rejected, registered } = await finished(
      'wide.json',
      JSON.stringify({ Export: { Patient: [wide('P-1', [lb('180')]), wide('P-2', [lb('200')])] } }),
    )
    expect(rejected).toEqual([])
    expect(records).toEqual([
      'P-1 body-weight 81.6 kg 2026-02-04T00:00:00.000Z',
      'P-1 heart-rate 61 /min 2026-02-04T00:00:00.000Z',
      'P-2 body-weight 90.7 kg 2026-02-04T00:00:00.000Z',
      'P-2 heart-rate 61 /min 2026-02-04T00:00:00.000Z',
    ])
    expect(registered[0]).toContain('Ann FEMALE Reed P-1 04884')
  })

  test('an element that another file has twice is rejected, never read by its place', async () => {
    const { text } = await finished(
      'wide.json',
      JSON.stringify({ Export: { Patient: [wide('P-1', [lb('180')]), wide('P-2', [lb('200')])] } }),
    )
    const map = load(text).compiled.bind(undefined, 'wide.json', NOW)
    const value = wide('P-3', [lb('180'), lb('190')], '75')
    const outcome = map({ kind: 'json', value, text: '', row: 1, line: 1, byteOffset: 0 })
    expect(outcome).toMatchObject({
      records: [],
      rejected: [{ issue: { code: 'field-not-scalar' } }, { issue: { code: 'field-not-scalar' } }],
    })
  })
})

test('of a row with a measurement in each element, attributes are the units of their texts', async () => {
  const person = (id: string, weight: string, unit: string) => ({
    '@id': id,
    Visit: { '@date': '2026-02-04' },
    Weight: { '@unit': unit, '#text': weight },
    Pulse: '61',
  })
  const { records, rejected } = await finished(
    'wide.json',
    JSON.stringify({ Export: { Patient: [person('P-1', '180', 'lb'), person('P-2', '80', 'kg')] } }),
  )
  expect(rejected).toEqual([])
  expect(records).toEqual([
    'P-1 body-weight 81.6 kg 2026-02-04T00:00:00.000Z',
    'P-1 heart-rate 61 /min 2026-02-04T00:00:00.000Z',
    'P-2 body-weight 80 kg 2026-02-04T00:00:00.000Z',
    'P-2 heart-rate 61 /min 2026-02-04T00:00:00.000Z',
  ])
})

test('values as attributes, with codes', async () => {
  const result = (code: string, value: string, units: string) => ({
    '@code': code,
    '@value': value,
    '@units': units,
  })
  const patient = (id: string, Result: unknown) => ({ '@id': id, Visit: { '@date': '2026-02-04' }, Result })
  const { records, rejected } = await finished(
    'coded.json',
    JSON.stringify({
      Export: {
        Patient: [
          patient('P-1', [result('4548-4', '5.1', '%'), result('8867-4', '61', '/min')]),
          patient('P-2', result('8867-4', '70', '/min')),
        ],
      },
    }),
  )
  expect(rejected).toEqual([])
  expect(keyed(records)).toEqual([
    'P-1 hba1c 5.1 % 2026-02-04T00:00:00.000Z',
    'P-1 heart-rate 61 /min 2026-02-04T00:00:00.000Z',
    'P-2 heart-rate 70 /min 2026-02-04T00:00:00.000Z',
  ])
})

test('JSON that is no XML has levels, too: visits of a person', async () => {
  const { records, rejected, text } = await finished(
    'people.json',
    JSON.stringify({
      people: [
        {
          patient_id: '1',
          visits: [
            { visit_date: '2026-02-04', sbp: '118' },
            { visit_date: '2026-02-05', sbp: '120' },
          ],
        },
        { patient_id: '2', visits: [{ visit_date: '2026-02-06', sbp: '131' }] },
      ],
    }),
  )
  expect(rejected).toEqual([])
  expect(text).toContain('each: { visits: "$.visits[*]" }')
  expect(keyed(records)).toEqual([
    '1 systolic-bp 118 mm[Hg] 2026-02-04T00:00:00.000Z',
    '1 systolic-bp 120 mm[Hg] 2026-02-05T00:00:00.000Z',
    '2 systolic-bp 131 mm[Hg] 2026-02-06T00:00:00.000Z',
  ])
})
