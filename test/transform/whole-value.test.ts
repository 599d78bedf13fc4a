/** The law of whole values: what stands beside a value in its own structure is read, named under `ignore`, or rejected; in all shapes of HL7 v2 and FHIR. */
import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { readMessage } from '../../src/extract/hl7v2-message.ts'
import type { JsonValue } from '../../src/model/row.ts'
import { PART_NAMES } from '../../src/transform/whole-value.ts'
import { findings, jsonMapper } from './mapping-under-test.ts'

/** Repetitions of components. */
type Field = readonly (readonly string[])[]
type Segment = Readonly<Record<number, Field>>

const PLAIN: Segment = {
  ...{ 2: [['NM']], 3: [['8867-4', 'Pulse', 'LN']], 5: [['62']], 6: [['/min']], 11: [['F']] },
}

const lone = (list: readonly JsonValue[]): JsonValue => (list.length === 1 ? (list[0] ?? '') : [...list])
const entries = (
  obx: Segment,
  name: (field: number) => string,
  write: (field: Field, at: number) => JsonValue,
) =>
  Object.fromEntries(Object.entries(obx).map(([at, field]) => [name(Number(at)), write(field, Number(at))]))
const filled = (obx: Segment): Field[] => Array.from({ length: 12 }, (_, at) => obx[at] ?? [['']])

/** A shape of HL7 v2: how a row is written in it, and how a mapping names a component of its OBX. */
interface Shape {
  readonly each: string
  readonly write: (obx: Segment) => JsonValue
  readonly at: (field: number, component: number) => string
}

const numbered = (components: readonly string[]): JsonValue =>
  Object.fromEntries(components.flatMap((text, at) => (text === '' ? [] : [[String(at + 1), text]])))

const SHAPES: Readonly<Record<string, Shape>> = {
  text: {
    each: '{ seen: "$.PATIENT_RESULT[0].ORDER_OBSERVATION[0].OBSERVATION[*]" }',
    write(obx) {
      const fields = filled(obx).map((field) => field.map((one) => one.join('^')).join('~'))
      const read = readMessage(`MSH|^~\\&|L\rPID|1||P-1\rOBR|1\r${['OBX', ...fields.slice(1)].join('|')}`)
      return 'value' in read ? read.value : expect.fail(read.problem)
    },
    at: (field, component) => `seen.OBX['${field}'][0]['${component}']`,
  },
  mirth: {
    each: '{ obx: "$.HL7Message.OBX[*]" }',
    write: (obx) => ({
      HL7Message: {
        OBX: entries(
          obx,
          (at) => `OBX.${at}`,
          (field, at) =>
            lone(
              field.map((one) =>
                Object.fromEntries(one.map((text, part) => [`OBX.${at}.${part + 1}`, text])),
              ),
            ),
        ),
      },
    }),
    at: (field, component) => `obx['OBX.${field}']['OBX.${field}.${component}']`,
  },
  google: {
    each: '{ seen: "$.OBSERVATION[*]" }',
    write: (obx) => ({
      OBSERVATION: [{ OBX: entries(obx, String, (field) => field.map((one) => numbered(one))) }],
    }),
    at: (field, component) => `seen.OBX['${field}'][0]['${component}']`,
  },
  xml2js: {
    each: '{ seen: "$.OBSERVATION[*]" }',
    write: (obx) => ({
      OBSERVATION: [
        {
          OBX: [
            entries(
              obx,
              (at) => `OBX.${at}`,
              (field) =>
                field.map((one) => Object.fromEntries(one.map((text, part) => [`X.${part + 1}`, [text]]))),
            ),
          ],
        },
      ],
    }),
    at: (field, component) => `seen.OBX[0]['OBX.${field}'][0]['X.${component}'][0]`,
  },
  positional: {
    each: `{ obx: "$.lines[?@[0] == 'OBX']" }`,
    write: (obx) => ({
      lines: [
        [
          'OBX',
          ...filled(obx)
            .slice(1)
            .map((field) => field.map((one) => [...one])),
        ],
      ],
    }),
    at: (field, component) => `obx[${field}][0][${component - 1}]`,
  },
  tree: {
    each: `{ obx: "$.segments[?@.name == 'OBX']" }`,
    write: (obx) => ({
      segments: [
        {
          name: 'OBX',
          fields: filled(obx)
            .slice(1)
            .map((field) => ({ value: field.map((one) => one.map((text) => ({ value: [text] }))) })),
        },
      ],
    }),
    at: (field, component) => `obx.fields[${field - 1}].value[0][${component - 1}].value[0]`,
  },
}

const ROW = (each: string, row: string): string => `mapping: m
read: { format: ndjson, each: ${each} }
row: { key: [{ constant: k }], account: { reference: { constant: P-1 } }, observedAt: { constant: "2026-02-04T09:10:00Z" }, source: { name: N, type: t }${row} }
`

const hl7Mapper = ({ each, at, write }: Shape, row = '', value = `"${at(5, 1)}"`) => {
  const map = jsonMapper(`${ROW(each, row)}biometrics:
  - { code: { from: "${at(3, 1)}", system: LOINC }, value: ${value}, unit: "${at(6, 1)}" }
`)
  return (obx: Segment) => map(write(obx))
}

/** The record, and nothing else; or the reasons for which there is none. */
function told(outcome: ReturnType<ReturnType<typeof jsonMapper>>): string[] {
  if (outcome.outcome !== 'mapped') return [outcome.outcome]
  return [
    ...outcome.records.map(({ text }) => text),
    ...outcome.rejected.map(({ issue }) => `${issue.code} ${issue.field}`),
  ]
}

const part = fc.stringMatching(/^[a-z0-9]{1,5}$/)
/** What can stand beside the value of an OBX, with the part by which `ignore` names it. */
const ADDED: fc.Arbitrary<readonly [name: string, obx: Segment]> = fc.oneof(
  fc
    .constantFrom('DT', 'CE', 'CWE', 'ED', 'TM', 'RP')
    .map((type) => ['OBX-2', { ...PLAIN, 2: [[type]] }] as const),
  part.map((sub) => ['OBX-4', { ...PLAIN, 4: [[sub]] }] as const),
  part.map((again) => ['OBX-5', { ...PLAIN, 5: [['62'], [again]] }] as const),
  fc
    .tuple(fc.nat(3), part)
    .map(([empty, more]) => ['OBX-5', { ...PLAIN, 5: [['62', ...Array(empty).fill(''), more]] }] as const),
  part.map((range) => ['OBX-7', { ...PLAIN, 7: [[range]] }] as const),
  fc
    .tuple(fc.boolean(), fc.constantFrom('<', '>', 'IND', 'QCF', '?', 'hemolyzed'))
    .map(([twice, flag]) => ['OBX-8', { ...PLAIN, 8: twice ? [['N'], [flag]] : [[flag]] }] as const),
  fc
    .constantFrom('P', 'W', 'D', 'X', 'I', 'R', 'S', 'N', 'O', 'U', '?')
    .map((state) => ['OBX-11', { ...PLAIN, 11: [[state]] }] as const),
)

describe.each(Object.entries(SHAPES))('HL7 v2 as %s', (_, shape) => {
  const map = hl7Mapper(shape)
  const [record = ''] = told(map(PLAIN))

  it('gives no record with a part that nobody reads', () => {
    expect(record).toContain('"value":62,')
    fc.assert(
      fc.property(ADDED, ([name, obx]) => {
        const [reason = '', another] = told(map(obx))
        expect(another).toBeUndefined()
        expect(reason).toMatch(
          new RegExp(
            `^(?:value-(?:form-unread|repeated|part-unread|with-comparator)|[a-z-]+-unread) ${name}$`,
          ),
        )
      }),
      { numRuns: 300 },
    )
  })

  it('gives the same record where the mapping names the part as ignored', () => {
    for (const name of ['OBX-2', 'OBX-4', 'OBX-7', 'OBX-8', 'OBX-11']) {
      const ignoring = hl7Mapper(shape, `, ignore: [${name}]`)
      fc.assert(
        fc.property(ADDED, ([added, obx]) => {
          expect(told(ignoring(obx))).toEqual(added === name ? [record] : told(map(obx)))
        }),
        { numRuns: 60 },
      )
    }
  })

  it('reads what says nothing but that the value is as it stands', () => {
    for (const type of ['NM', 'SN', 'ST', 'TX'])
      expect(told(map({ ...PLAIN, 2: [[type]] }))).toEqual([record])
    for (const flag of ['N', 'H', 'LL', 'A', '""'])
      expect(told(map({ ...PLAIN, 8: [[flag]] }))).toEqual([record])
    for (const state of ['F', 'C', '']) expect(told(map({ ...PLAIN, 11: [[state]] }))).toEqual([record])
  })

  it('reads structured numbers: = is none, < is a bound, a ratio and a range are no number', () => {
    const parts = [1, 2, 3, 4].map((component) => `"${shape.at(5, component)}"`)
    const structured = hl7Mapper(shape, '', `{ concat: [${parts.join(', ')}] }`)
    const of = (...components: string[]) => told(structured({ ...PLAIN, 2: [['SN']], 5: [components] }))
    expect(of('=', '62')).toEqual([record])
    expect(of('', '62')).toEqual([record])
    expect(of('<', '62')[0]).toMatch(/^value-with-comparator /)
    expect(of('', '1', ':', '62')[0]).toMatch(/^value-not-a-number /)
    expect(of('', '60', '-', '62')[0]).toMatch(/^value-not-a-number /)
    // Side by side, they would be read as 62 and as 6.2.
    for (const pair of [
      ['6', '2'],
      ['=', '6', '2'],
      ['6', '.2', '1'],
    ])
      expect(of(...pair)).toEqual(['value-not-a-number OBX-5'])
    // A rule that reads the first component alone.
    expect(told(map({ ...PLAIN, 2: [['SN']], 5: [['', '62']] }))).toEqual(['value-part-unread OBX-5'])
  })
})

describe('HL7 v2', () => {
  const { text: shape } = SHAPES
  if (shape === undefined) throw new TypeError('there is no such shape')

  it('makes a record of each repetition where a level leads to them', () => {
    const map =
      jsonMapper(`${ROW('{ seen: "$.PATIENT_RESULT[0].ORDER_OBSERVATION[0].OBSERVATION[*]", value: "seen.OBX[\'5\'][*]" }', '')}biometrics:
  - { code: { from: "seen.OBX['3'][0]['1']", system: LOINC }, value: "value['1']", unit: "seen.OBX['6'][0]['1']" }
`)
    expect(told(map(shape.write({ ...PLAIN, 5: [['62'], ['64']] })))).toEqual([
      expect.stringContaining('"value":62,'),
      expect.stringContaining('"value":64,'),
    ])
    expect(told(map(shape.write({ ...PLAIN, 5: [['62'], ['64', 'x']] })))[0]).toBe('value-repeated OBX-5')
  })

  it('rejects a code, a unit and a value that are repeated, and a unit that is not read', () => {
    for (const one of [shape, SHAPES['tree'] ?? shape]) {
      const map = hl7Mapper(one)
      expect(told(map({ ...PLAIN, 3: [['8867-4'], ['8310-5']] }))).toEqual(['code-unread OBX-3'])
      expect(told(map({ ...PLAIN, 6: [['/min'], ['/h']] }))).toEqual(['unit-unread OBX-6'])
    }
    const constant = jsonMapper(
      `${ROW(shape.each, '')}biometrics:\n  - { code: { from: "${shape.at(3, 1)}", system: LOINC }, value: "${shape.at(5, 1)}", unit: { constant: /min } }\n`,
    )
    expect(told(constant(shape.write(PLAIN)))).toEqual(['unit-unread OBX-6'])
  })
})

type Members = Readonly<Record<string, JsonValue>>
const QUANTITY = { value: '62', unit: '/min', code: '/min' }
const coded = (code: string): JsonValue => ({ coding: [{ system: 'http://loinc.org', code }] })

/** Where FHIR holds a value, and what a mapping reads of it. */
const PLACES: Readonly<
  Record<string, { each: string; at: string; write: (parts: Members) => JsonValue; hasStatus: boolean }>
> = {
  'an Observation': { each: '{}', at: '$', write: (parts) => parts, hasStatus: true },
  'an Observation of a Bundle': {
    each: `{ one: "$.entry[?@.resource.resourceType == 'Observation']" }`,
    at: 'one.resource',
    write: (parts) => ({ entry: [{ resource: { resourceType: 'Observation', ...parts } }] }),
    hasStatus: true,
  },
  'a component': {
    each: '{ component: "$.component[*]" }',
    at: 'component',
    write: ({ status = 'final', ...parts }) => ({ status, component: [parts] }),
    hasStatus: true,
  },
  'an extension': {
    each: '{}',
    at: "$.extension[?@.url == 'http://x.example/pulse']",
    write: ({ status = 'final', ...parts }) => ({
      ...{ resourceType: 'Observation', status },
      extension: [{ url: 'http://x.example/other' }, { url: 'http://x.example/pulse', ...parts }],
    }),
    hasStatus: true,
  },
}

const BASE: Members = { code: coded('8867-4'), valueQuantity: QUANTITY }
const flagged = (code: string): JsonValue => [{ coding: [{ code }] }]
const BESIDE: fc.Arbitrary<readonly [name: string, parts: Members]> = fc.oneof(
  fc
    .constantFrom('<', '<=', '>', '>=', 'ad')
    .map((comparator) => ['comparator', { valueQuantity: { ...QUANTITY, comparator } }] as const),
  fc
    .constantFrom('preliminary', 'registered', 'cancelled', 'entered-in-error', 'unknown')
    .map((status) => ['status', { status }] as const),
  fc
    .constantFrom('valueString', 'valueInteger', 'valueDecimal', 'valueDateTime')
    .map((form) => ['value', { [form]: '7' }] as const),
  fc.constant(['value', { valueCodeableConcept: coded('LA1') }] as const),
  fc
    .constantFrom<JsonValue>({ text: 'not done' }, coded('error'))
    .map((dataAbsentReason) => ['dataAbsentReason', { dataAbsentReason }] as const),
  fc
    .constantFrom<JsonValue>(...['<', '>', 'IND', 'QCF'].map(flagged), [{ text: 'hemolyzed' }])
    .map((interpretation) => ['interpretation', { interpretation }] as const),
  fc.constant(['modifierExtension', { modifierExtension: [{ url: 'x', valueBoolean: 'true' }] }] as const),
)

describe.each(Object.entries(PLACES))('FHIR: %s', (_, { each, at, write }) => {
  const mapperOf = (row = '') => {
    const map = jsonMapper(`${ROW(each, row)}biometrics:
  - { code: { from: "${at}.code.coding[0].code", system: LOINC }, value: "${at}.valueQuantity.value", unit: "${at}.valueQuantity.unit" }
`)
    return (parts: Members) => told(map(write({ ...BASE, ...parts })))
  }
  const map = mapperOf()
  const [record = ''] = map({})

  it('gives no record with a part that nobody reads, and the same one where it is ignored', () => {
    expect(record).toContain('"value":62,')
    const ignoring = new Map(PART_NAMES.map((name) => [name, mapperOf(`, ignore: [${name}]`)]))
    fc.assert(
      fc.property(BESIDE, ([name, parts]) => {
        const [reason = '', another] = map(parts)
        expect(another).toBeUndefined()
        expect(reason).toMatch(new RegExp(`^(?:value-with-comparator|[a-z-]+-unread) ${name}$`))
        expect(ignoring.get(name)?.(parts)).toEqual([record])
      }),
      { numRuns: 300 },
    )
  })

  it('reads what says nothing but that the value is as it stands', () => {
    for (const status of ['final', 'amended', 'corrected']) expect(map({ status })).toEqual([record])
    for (const one of ['H', 'N', 'LL']) expect(map({ interpretation: flagged(one) })).toEqual([record])
    expect(map({ interpretation: [{ text: 'High' }] })).toEqual([record])
  })

  it('rejects a known code with a value of another form, and not that of an unknown one', () => {
    const optional = jsonMapper(`${ROW(each, '')}biometrics:
  - { when: { "${at}.valueQuantity.value": present }, code: { from: "${at}.code.coding[0].code", system: LOINC, unknown: skip }, value: "${at}.valueQuantity.value", unit: "${at}.valueQuantity.unit" }
`)
    const of = (code: string, parts: Members) => told(optional(write({ code: coded(code), ...parts })))
    expect(of('8867-4', { valueInteger: '62' })).toEqual(['value-form-unread value'])
    expect(of('8867-4', { valueString: 'sixty' })).toEqual(['value-form-unread value'])
    expect(of('8867-4', { dataAbsentReason: { text: 'not done' } })).toEqual(['skipped'])
    expect(of('10000-8', { valueInteger: '62' })).toEqual(['skipped'])
    expect(of('8867-4', { valueQuantity: QUANTITY })).toEqual([record])
  })
})

describe('FHIR', () => {
  const rule = (rest: string): string =>
    `  - { code: { from: "$.code.coding[0].code", system: LOINC }, value: $.valueQuantity.value${rest} }\n`
  const component = { code: coded('8310-5'), valueQuantity: { value: '37', code: 'Cel' } }

  it('rejects components beside a value that no rule of the mapping reads', () => {
    const alone = jsonMapper(`${ROW('{}', '')}biometrics:\n${rule(', unit: $.valueQuantity.code')}`)
    expect(told(alone({ ...BASE, component: [component] }))).toEqual(['components-unread component'])
    const both = jsonMapper(`${ROW('{ one: "$.component[*]" }', '')}biometrics:
${rule(', unit: $.valueQuantity.code')}  - { code: { from: "one.code.coding[0].code", system: LOINC }, value: one.valueQuantity.value, unit: one.valueQuantity.code }
`)
    expect(told(both({ ...BASE, component: [component] }))).toEqual([
      expect.stringContaining('"value":62,'),
      expect.stringContaining('"value":37,'),
    ])
  })

  it('rejects a component that places in the list leave out, and a unit that is not read', () => {
    const first = jsonMapper(`${ROW('{}', '')}biometrics:
${rule(', unit: $.valueQuantity.code')}  - { catalog: body-temperature, value: "$.component[0].valueQuantity.value", unit: "$.component[0].valueQuantity.code" }
`)
    expect(told(first({ ...BASE, component: [component, component] }))).toContain(
      'components-unread component',
    )
    const constant = jsonMapper(`${ROW('{}', '')}biometrics:\n${rule(', unit: { constant: /min }')}`)
    expect(told(constant(BASE))).toEqual(['unit-unread unit'])
  })

  it('rejects one bound of a range', () => {
    const low = jsonMapper(`${ROW('{}', '')}biometrics:
  - { code: { from: "$.code.coding[0].code", system: LOINC }, value: $.valueRange.low.value, unit: $.valueRange.low.code }
`)
    const bound = { value: '62', code: '/min' }
    expect(told(low({ code: coded('8867-4'), valueRange: { low: bound } }))[0]).toContain('"value":62,')
    expect(told(low({ code: coded('8867-4'), valueRange: { low: bound, high: bound } }))).toEqual([
      'value-form-unread value',
    ])
  })
})

test('a mapping that ignores what is no part is refused, with those that there are', () => {
  const written = `${ROW('{}', ', ignore: [OBX-9]')}biometrics:\n  - { ignore: [flags], catalog: heart-rate, value: $.v, unit: { constant: /min } }\n`
  expect(findings(written)).toEqual([
    expect.stringMatching(/^3 row\.ignore\[0\]: "OBX-9" is no part of a structure: these are OBX-2, OBX-3/),
    expect.stringMatching(/^5 biometrics\[0\]\.ignore\[0\]: "flags" is no part of a structure/),
  ])
})

const CONDITION: Members = { code: { coding: [{ system: 'http://snomed.info/sct', code: '44054006' }] } }
const state = (code: string, system = 'http://x.example/state'): JsonValue => ({ coding: [{ system, code }] })
const dx = (name: string, more: Readonly<Record<number, string>>): JsonValue => {
  const fields = Array.from({ length: 22 }, (_, at) =>
    at === 3 ? '44054006^Diabetes^SCT' : (more[at] ?? ''),
  )
  const read = readMessage(`MSH|^~\\&|L\rPID|1||P-1\r${[name, ...fields.slice(1)].join('|')}`)
  return 'value' in read ? read.value : expect.fail(read.problem)
}
const texts = (...list: readonly string[]) => fc.constantFrom(...list)

/** What holds a condition: how a row is written with parts beside the code, and parts that change it, or leave it as it stands. */
const CONDITIONS: Readonly<
  Record<
    string,
    {
      readonly each: string
      readonly code: string
      readonly write: (parts: Members) => JsonValue
      readonly changed: fc.Arbitrary<readonly [name: string, parts: Members]>
      readonly neutral: readonly Members[]
    }
  >
> = {
  FHIR: {
    each: '{ one: "$.entry[*]" }',
    code: "one.resource.code.coding[?@.system == 'http://snomed.info/sct'].code",
    write: (parts) => ({ entry: [{ resource: { resourceType: 'Condition', ...CONDITION, ...parts } }] }),
    changed: fc.oneof(
      texts('refuted', 'entered-in-error', 'unconfirmed', 'provisional', 'differential').map(
        (one) => ['verificationStatus', { verificationStatus: state(one) }] as const,
      ),
      fc.constant(['verificationStatus', { verificationStatus: { text: 'refuted' } }] as const),
      texts('inactive', 'remission', 'resolved').map(
        (one) => ['clinicalStatus', { clinicalStatus: state(one) }] as const,
      ),
      texts('DateTime', 'String').map(
        (form) => ['abatement', { [`abatement${form}`]: '2026-01-01' }] as const,
      ),
      fc.constant(['abatement', { abatementAge: { value: '50', unit: 'a' } }] as const),
      fc.constant([
        'modifierExtension',
        { modifierExtension: [{ url: 'x', valueBoolean: 'true' }] },
      ] as const),
    ),
    neutral: [
      { verificationStatus: state('confirmed'), clinicalStatus: state('active') },
      { clinicalStatus: state('relapse'), abatementBoolean: 'false' },
    ],
  },
  'DG1 of HL7 v2': {
    each: '{ dx: "$.PATIENT_RESULT[0].PATIENT.DG1[*]" }',
    code: "dx['3'][0]['1']",
    write: (parts) => dx('DG1', parts as Readonly<Record<number, string>>),
    changed: fc.oneof(
      texts('A', 'W', '?').map((type) => ['DG1-6', { 6: type }] as const),
      fc.constant(['DG1-21', { 21: 'D' }] as const),
    ),
    neutral: [{ 6: 'F', 21: 'A' }, { 6: '""' }],
  },
  'PRB of HL7 v2': {
    each: '{ dx: "$.PATIENT_RESULT[0].PATIENT.PRB[*]" }',
    code: "dx['3'][0]['1']",
    write: (parts) => dx('PRB', parts as Readonly<Record<number, string>>),
    changed: fc.oneof(
      texts('DE', 'UN').map((action) => ['PRB-1', { 1: action }] as const),
      fc.constant(['PRB-9', { 9: '20260101' }] as const),
      texts('provisional^Provisional', 'rule-out').map((one) => ['PRB-13', { 13: one }] as const),
      texts('resolved', 'inactive').map((one) => ['PRB-14', { 14: one }] as const),
    ),
    neutral: [{ 1: 'AD', 13: 'confirmed', 14: 'A^Active' }],
  },
  'Problems of Redox': {
    each: '{ one: "$.Problems[*]" }',
    code: 'one.Code',
    write: (parts) => ({ Problems: [{ Code: '44054006', ...parts }] }),
    changed: fc.oneof(
      texts('Resolved', 'Inactive').map(
        (Name) => ['Status', { Status: { Code: '413322009', Name } }] as const,
      ),
      fc.constant(['EndDate', { EndDate: '2026-01-01' }] as const),
    ),
    neutral: [{ Status: { Code: '55561003', Name: 'Active' }, EndDate: null }],
  },
  'Diagnoses of Redox': {
    each: '{ one: "$.Visit.Diagnoses[*]" }',
    code: 'one.Code',
    write: (parts) => ({ Visit: { Diagnoses: [{ Code: '44054006', ...parts }] } }),
    changed: texts('Admitting', 'Working').map((Type) => ['Type', { Type }] as const),
    neutral: [{ Type: 'Final' }],
  },
}

describe.each(Object.entries(CONDITIONS))('conditions: %s', (_, { each, code, write, changed, neutral }) => {
  const mapperOf = (row = '', rule = '') => {
    const map = jsonMapper(`${ROW(each, row)}conditions:
  - { code: { from: "${code}", system: SNOMED }, status: active${rule} }
`)
    return (parts: Members) => told(map(write(parts)))
  }
  const map = mapperOf()
  const [record = ''] = map({})

  it('gives no record with a part that nobody reads, and the same one where it is ignored', () => {
    expect(record).toContain('"code":"44054006"')
    const ignoring = new Map(PART_NAMES.map((name) => [name, mapperOf('', `, ignore: [${name}]`)]))
    fc.assert(
      fc.property(changed, ([name, parts]) => {
        expect(map(parts)).toEqual([
          expect.stringMatching(new RegExp(`^(?:status|modifier)-unread ${name}$`)),
        ])
        expect(ignoring.get(name)?.(parts)).toEqual([record])
        expect(mapperOf(`, ignore: [${name}]`)(parts)).toEqual([record])
      }),
      { numRuns: 50 },
    )
    for (const parts of neutral) expect(map(parts)).toEqual([record])
  })
})

it('of a condition whose state is read, when it ended is told', () => {
  const map = jsonMapper(`${ROW('{}', '')}conditions:
  - { code: { from: "$.code.coding[0].code", system: SNOMED }, status: { from: "$.clinicalStatus.coding[0].code" } }
`)
  const ended = { ...CONDITION, clinicalStatus: state('resolved'), abatementDateTime: '2026-01-01' }
  expect(told(map(ended))).toEqual([expect.stringContaining('"status":"resolved"')])
})

describe.each<[string, string, string, (state: string, ended: Members) => Members, string, string]>([
  [
    ...(['FHIR', '$.code.coding[0].code', '$.clinicalStatus.coding[0].code'] as const),
    (text, ended) => ({
      ...CONDITION,
      clinicalStatus: { coding: [{ system: 'http://terminology.hl7.org/x', code: text }] },
      ...(ended['at'] === undefined ? {} : { abatementDateTime: ended['at'] }),
    }),
    ...(['abatement', '$.abatementDateTime'] as const),
  ],
  [
    ...(['HL7 v2', "$.PRB['3'][0]['1']", "$.PRB['14'][0]['1']"] as const),
    (text, { at }) => ({
      ...{
        id: '1',
        PRB: { '3': [{ '1': '44054006' }], '14': [{ '1': text }], ...(at && { '9': [{ '1': at }] }) },
      },
    }),
    ...(['PRB-9', "$.PRB['9'][0]['1']"] as const),
  ],
  [
    ...(['Redox', 'problem.Code', 'problem.Status.Name'] as const),
    (text, { at }) => ({
      Problems: [{ Code: '44054006', Status: { Name: text }, ...(at && { EndDate: at }) }],
    }),
    ...(['EndDate', 'problem.EndDate'] as const),
  ],
])('conditions of %s: a state that holds, and an end', (_, code, status, write, part, end) => {
  const each = code.startsWith('problem') ? '{ problem: "$.Problems[*]" }' : '{}'
  const mapOf = (rule = '') =>
    jsonMapper(`${ROW(each, '')}conditions:
  - { code: { from: "${code}", system: SNOMED }, status: { from: "${status}" }${rule} }
`)
  const at = { at: '2020-01-01' }

  it('contradict each other', () => {
    const map = mapOf()
    expect(told(map(write('active', at)))).toEqual([`status-contradictory ${part}`])
    expect(told(map(write('Active', at)))).toEqual([`status-contradictory ${part}`])
    for (const [state, ended] of [
      ['active', {}],
      ['resolved', at],
      ['resolved', {}],
      ['remission', {}],
    ] as const)
      expect(told(map(write(state, ended)))).toEqual([expect.stringContaining(`"status":"${state}"`)])
  })

  it('are what the mapping says, where it ignores or reads the end', () => {
    const active = [expect.stringContaining('"status":"active"')]
    expect(told(mapOf(`, ignore: [${part}]`)(write('active', at)))).toEqual(active)
    expect(told(mapOf(`, when: { "${end}": present }`)(write('active', at)))).toEqual(active)
  })
})

describe('Redox', () => {
  const map = jsonMapper(`${ROW('{ order: "$.Orders[*]", result: "order.Results[*]" }', '')}biometrics:
  - { code: { from: result.Code, system: LOINC }, value: result.Value, unit: { constant: /min } }
`)
  const of = (parts: Members) =>
    told(map({ Orders: [{ Results: [{ Code: '8867-4', Value: '62', ...parts }] }] }))
  it.each<[string, Members]>([
    ['status-unread Status', { Status: 'Preliminary' }],
    ['flag-unread AbnormalFlag', { AbnormalFlag: 'Indeterminate' }],
    ['value-with-comparator AbnormalFlag', { AbnormalFlag: '<' }],
    ['value-form-unread ValueType', { ValueType: 'Encapsulated Data' }],
    ['unit-unread Units', { Units: '/h' }],
  ])('%s', (reason, parts) => {
    expect(of(parts)).toEqual([reason])
  })
  it('reads what says nothing but that the value is as it stands', () => {
    const neutral = { Status: 'Final', AbnormalFlag: 'Very High', ValueType: 'Numeric', Units: null }
    expect(of(neutral)).toEqual(of({}))
    expect(of({})).toEqual([expect.stringContaining('"value":62,')])
  })
})
