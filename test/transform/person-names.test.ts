/** A person's name among several, in all shapes of HL7 v2 and FHIR: the legal one, whatever its place; never a former one. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { finished } from '../../packages/mapping-tools/test/onboarding/finished.ts'
import { readMessage } from '../../src/extract/hl7v2-message.ts'
import type { JsonValue } from '../../src/model/row.ts'
import { jsonMapper, mapped, ROOT } from './mapping-under-test.ts'

interface Name {
  readonly family: string
  readonly type: string
}

const numbered = ({ family, type }: Name, fn: (text: string) => JsonValue = (text) => text): JsonValue => ({
  ...{ '1': fn(family), '2': 'Ada' },
  ...(type === '' ? {} : { '7': type }),
})
const patient = (PID: JsonValue, more = {}): JsonValue => ({
  PATIENT_RESULT: [{ PATIENT: { PID }, ...more }],
})
const who = { '7': [{ '1': '19790412' }], '8': [{ '1': 'F' }], '11': [{ '5': '62701' }] }
const ids = [{ '1': 'P-1', '5': 'MR' }]
const hl7 = (names: readonly Name[]): string =>
  [
    'MSH|^~\\&|LAB|FAC|EHR|FAC|20260204101500||ORU^R01^ORU_R01|M1|P|2.5.1',
    `PID|1||P-1^^^FAC^MR||${names.map(({ family, type }) => `${family}^Ada^^^^^${type}`).join('~')}||19790412|F|||1 Elm St^^Springfield^IL^62701`,
    'OBR|1|ORD1|FIL1|24323-8^Panel^LN|||20260204091000',
    'OBX|1|NM|8867-4^Pulse^LN||62|/min|||||F',
    '',
  ].join('\r')
const message = (names: readonly Name[]): JsonValue => {
  const read = readMessage(hl7(names))
  return 'value' in read ? read.value : expect.fail(read.problem)
}

const human = ({ family, type }: Name): JsonValue => ({
  ...{ family, given: ['Ada'] },
  ...(type === '' ? {} : { use: type }),
})

interface Shape {
  readonly mapping: string
  readonly write: (names: readonly Name[]) => JsonValue
  readonly fhir?: boolean
  /** A lone name without its list. */
  readonly change?: (text: string) => string
}

const SHAPES: Readonly<Record<string, Shape>> = {
  'hl7v2-oru': { mapping: 'hl7v2-oru', write: message },
  'numeric-keys-oru': {
    mapping: 'numeric-keys-oru',
    write: (names) =>
      patient(
        {
          ...who,
          '7': { '1': '19790412' },
          '8': 'F',
          '3': ids,
          '5': names.map((one) => numbered(one, (text) => ({ '1': text }))),
        },
        { ORDER_OBSERVATION: [{ OBR: { '3': { '1': 'F1' }, '7': [{ '1': '20260204' }] } }] },
      ),
  },
  'mirth-oru': {
    mapping: 'mirth-oru',
    write: (names) => ({
      HL7Message: {
        MSH: { 'MSH.10': { 'MSH.10.1': 'M1' }, 'MSH.7': { 'MSH.7.1': '20260204' } },
        PID: {
          'PID.3': { 'PID.3.1': 'P-1', 'PID.3.5': 'MR' },
          'PID.5': names.map(({ family, type }) => ({
            ...{ 'PID.5.1': family, 'PID.5.2': 'Ada', 'PID.5.7': type },
          })),
          ...{ 'PID.7': { 'PID.7.1': '19790412' }, 'PID.8': { 'PID.8.1': 'F' } },
          'PID.11': { 'PID.11.5': '62701' },
        },
        OBR: { 'OBR.3': { 'OBR.3.1': 'F1' }, 'OBR.7': { 'OBR.7.1': '20260204' } },
      },
    }),
  },
  'fhir-bundle': {
    mapping: 'fhir-bundle',
    fhir: true,
    write: (names) => ({
      resourceType: 'Bundle',
      entry: [
        {
          resource: {
            ...{ resourceType: 'Patient', id: 'P-1', birthDate: '1979-04-12', gender: 'female' },
            ...{ name: names.map(human), address: [{ postalCode: '62701' }] },
          },
        },
      ],
    }),
  },
}

const tables = {
  'hl7-lab-codes': readFileSync(join(ROOT, 'mappings/tables/hl7-lab-codes.csv'), 'utf8'),
}

/** Family name under which the person is registered; undefined where it is not. */
function familyOf(map: ReturnType<typeof jsonMapper>, document: JsonValue): string | undefined {
  const registered = mapped(map(document)).register()
  return registered?.ok === true ? registered.registration.lastName : undefined
}

const LEGAL = { fhir: 'official', hl7: 'L' }
const KNOWN = { fhir: ['usual', ''], hl7: ['U', '', 'D', 'C'] }
const OTHERS = {
  fhir: ['old', 'maiden', 'nickname', 'temp', 'anonymous'],
  hl7: ['M', 'N', 'A', 'B', 'S', 'P', 'T'],
}

describe.each(Object.entries(SHAPES))('%s', (_, { mapping, write, fhir = false }) => {
  const map = jsonMapper(readFileSync(join(ROOT, 'mappings', `${mapping}.yaml`), 'utf8'), tables)
  const kind = fhir ? 'fhir' : 'hl7'
  const other = fc.constantFrom(...OTHERS[kind]).map((type): Name => ({ type, family: 'Former' }))
  const known = fc.constantFrom(...KNOWN[kind]).map((type): Name => ({ type, family: 'Known' }))
  const legal: Name = { type: LEGAL[kind], family: 'Legal' }

  it('takes the legal name, whatever stands beside it', () => {
    const beside = fc.array(fc.oneof(other, known), { maxLength: 4 })
    fc.assert(
      fc.property(beside, beside, (before, behind) => {
        expect(familyOf(map, write([...before, legal, ...behind]))).toBe('Legal')
      }),
      { numRuns: 40 },
    )
  })

  it('takes a name of no or of another type before a former one', () => {
    const former = fc.array(other, { maxLength: 3 })
    fc.assert(
      fc.property(former, known, former, (before, one, behind) => {
        expect(familyOf(map, write([...before, one, ...behind]))).toBe('Known')
      }),
      { numRuns: 40 },
    )
  })

  it.each(OTHERS[kind])('registers nobody under a lone name of type %s', (type) => {
    expect(familyOf(map, write([{ type, family: 'Former' }]))).toBeUndefined()
  })

  it('takes the first of equals, as one that has no type', () => {
    const [first, second] = ['First', 'Second'].map((family): Name => ({ family, type: '' }))
    expect(first && second && familyOf(map, write([first, second]))).toBe('First')
  })
})

it('FHIR: a name whose period is over is a former one', () => {
  const map = jsonMapper(readFileSync(join(ROOT, 'mappings/fhir-bundle.yaml'), 'utf8'))
  const name = [
    { ...{ use: 'official', family: 'Former', given: ['Ada'] }, period: { end: '2019-05-01' } },
    { use: 'official', family: 'Legal', given: ['Ada'] },
  ]
  const resource = {
    ...{ resourceType: 'Patient', id: 'P-1', birthDate: '1979-04-12', gender: 'female', name },
    address: [{ postalCode: '62701' }],
  }
  expect(familyOf(map, { resourceType: 'Bundle', entry: [{ resource }] })).toBe('Legal')
})

it('a filter says by itself which name is meant', () => {
  const shipped = readFileSync(join(ROOT, 'mappings/fhir-bundle.yaml'), 'utf8')
  const map = jsonMapper(shipped.replaceAll('.name[0].', ".name[?@.use == 'nickname']."))
  const { write } = SHAPES['fhir-bundle'] ?? expect.fail()
  const names = ['official', 'nickname'].map((type): Name => ({ family: type, type }))
  expect(familyOf(map, write(names))).toBe('nickname')
})

it('without an index a path leads to a single name alone, and to no former one', () => {
  const map = jsonMapper(
    readFileSync(join(ROOT, 'mappings/mirth-oru.yaml'), 'utf8').replaceAll("['PID.5'][0]", "['PID.5']"),
    tables,
  )
  const { write } = SHAPES['mirth-oru'] ?? expect.fail()
  const [legal, former] = [
    { family: 'Legal', type: 'L' },
    { family: 'Former', type: 'M' },
  ]
  const lone = (name: Name): JsonValue =>
    JSON.parse(JSON.stringify(write([name])).replace(/"PID.5":\[(\{.*?\})\]/, '"PID.5":$1'))
  expect(familyOf(map, lone(legal))).toBe('Legal')
  expect(familyOf(map, lone(former))).toBeUndefined()
  expect(familyOf(map, write([legal, former]))).toBeUndefined()
})

const NAMES: readonly Name[] = [
  { family: 'Former', type: 'M' },
  { family: 'Legal', type: 'L' },
]

describe('a draft registers under the legal name', () => {
  const results = {
    ...{ OBR: { 'OBR.7': [{ 'OBR.7.1': '20260204' }] } },
    OBX: [
      {
        ...{ 'OBX.3': [{ 'OBX.3.1': '8867-4', 'OBX.3.3': 'LN' }], 'OBX.5': [{ 'OBX.5.1': '62' }] },
        ...{ 'OBX.6': [{ 'OBX.6.1': '/min' }], 'OBX.11': [{ 'OBX.11.1': 'F' }] },
      },
    ],
  }
  const dotted = {
    ...results,
    PID: {
      ...{ 'PID.3': [{ 'PID.3.1': 'P-1', 'PID.3.5': 'MR' }] },
      'PID.5': NAMES.map(({ family, type }) => ({ 'PID.5.1': family, 'PID.5.2': 'Ada', 'PID.5.7': type })),
      ...{ 'PID.7': [{ 'PID.7.1': '19790412' }], 'PID.8': [{ 'PID.8.1': 'F' }] },
      'PID.11': [{ 'PID.11.5': '62701' }],
    },
  }
  const words = {
    patientIdentification: {
      patientIdentifierList: [{ idNumber: 'P-1' }],
      patientName: NAMES.map(({ family, type }) => ({
        ...{ familyName: family, givenName: 'Ada', nameTypeCode: type },
      })),
      ...{ dateOfBirth: '19790412', sex: 'F', patientAddress: [{ zip: '62701' }] },
    },
    observationRequest: { observationDateTime: '20260204' },
    observationResult: [
      {
        ...{ observationIdentifier: [{ identifier: '8867-4', text: 'Pulse' }], observationValue: '62' },
        ...{ units: '/min', observationResultStatus: 'F' },
      },
    ],
  }
  const rows: [string, string][] = [
    ['lab.hl7', hl7(NAMES)],
    ['dotted.json', JSON.stringify(dotted)],
    ['words.json', JSON.stringify(words)],
  ]
  it.each(rows)('%s', async (name, content) => {
    const { registered, text } = await finished(name, content)
    expect(registered, text).toEqual([expect.stringContaining('Legal')])
  })
})
