/** Times of issue, as a mapping or a known structure tells them. */
import { expect, it, test } from 'vitest'
import { readMessage } from '../../src/extract/hl7v2-message.ts'
import type { JsonValue } from '../../src/model/row.ts'
import { csvRules, faults, findings, HEAD, jsonMapper, mapped } from './mapping-under-test.ts'

const times = (outcome: Parameters<typeof mapped>[0]): (string | 0)[] =>
  mapped(outcome).records.map(({ issued }) => (issued === 0 ? 0 : new Date(issued).toISOString()))

const jsonOf = (each = '', row = '') =>
  jsonMapper(`mapping: m
read: { format: ndjson, each: { ${each} } }
row: { key: [{ constant: k }], account: { reference: { constant: P-1 } }, observedAt: { constant: "2026-02-04T09:10:00Z" }, source: { name: N, type: t }${row} }
biometrics: [{ catalog: heart-rate, when: { ${each === '' ? '$' : 'seen'}.skip: absent }, value: { constant: "62" }, unit: { constant: /min } }]
`)

const ORDERS = 'order: "$.PATIENT_RESULT[0].ORDER_OBSERVATION[*]", seen: "order.OBSERVATION[*]"'
const message = (sent: string, ...issued: string[]): JsonValue => {
  const orders = issued.map((at) => `OBR|1${'|'.repeat(21)}${at}\rOBX|1`)
  const read = readMessage([`MSH|^~\\&|L|N|H|U|${sent}`, 'PID|1||P-1', ...orders].join('\r'))
  return 'value' in read ? read.value : expect.fail(read.problem)
}

test.each([
  [
    'OBR-22 of its own order',
    message('20260701120000-0500', '20260701100000', '20260701110000+0000'),
    ['2026-07-01T15:00:00.000Z', '2026-07-01T11:00:00.000Z'],
  ],
  [
    'MSH-7 without one',
    message('20260701120000-0500', '', '20260701110000'),
    ['2026-07-01T17:00:00.000Z', '2026-07-01T16:00:00.000Z'],
  ],
  ['MSH-7 where OBR-22 is none', message('20260701120000-0500', 'soon'), ['2026-07-01T17:00:00.000Z']],
  ['nothing', message('', '""'), [0]],
])('HL7 v2 tells it: %s', (_name, document, expected) => {
  expect(times(jsonOf(ORDERS)(document))).toEqual(expected)
})

test.each<[string, JsonValue]>([
  ['numbers', { ORU_R01: { MSH: { 7: { 1: '20260701120000' } }, OBR: { 22: '20260701110000' }, OBX: [{}] } }],
  [
    'Mirth',
    {
      ORU_R01: { MSH: { 'MSH.7': { 'MSH.7.1': '20260701110000' } }, OBR: [{ 'OBR.22': 'x' }, {}], OBX: [{}] },
    },
  ],
])('HL7 v2 as JSON, in the shape of %s', (_name, document) => {
  expect(times(jsonOf('seen: "$.ORU_R01.OBX[*]"')(document))).toEqual(['2026-07-01T11:00:00.000Z'])
})

const resource = (more: Record<string, JsonValue>): JsonValue => ({ resourceType: 'Observation', ...more })
test.each<[string, JsonValue, string | 0]>([
  [
    'issued',
    resource({ issued: '2026-07-01T12:00:00.250+02:00', meta: { lastUpdated: '2026-08-01T00:00:00Z' } }),
    '2026-07-01T10:00:00.250Z',
  ],
  [
    'meta.lastUpdated',
    resource({ meta: { lastUpdated: '2026-08-01T00:00:00Z' } }),
    '2026-08-01T00:00:00.000Z',
  ],
  ['nothing', resource({}), 0],
  ['a document that is no resource', { issued: '2026-07-01T12:00:00Z' }, 0],
])('FHIR tells it: %s', (_name, document, expected) => {
  expect(times(jsonOf()(document))).toEqual([expected])
})

it('of a component, and of an entry of a Bundle, is that of its resource', () => {
  const observation = (issued: string) => ({ resource: resource({ issued, component: [{}, {}] }) })
  const document = {
    resourceType: 'Bundle',
    entry: [observation('2026-07-01T12:00:00Z'), observation('2026-07-02T12:00:00Z')],
  }
  expect(times(jsonOf('entry: "$.entry[*]", seen: "entry.resource.component[*]"')(document))).toEqual([
    ...['2026-07-01T12:00:00.000Z', '2026-07-01T12:00:00.000Z'],
    ...['2026-07-02T12:00:00.000Z', '2026-07-02T12:00:00.000Z'],
  ])
})

const OWN = ', issuedAt: { from: $.reported, format: yyyy-MM-dd HH:mm, zone: Asia/Kolkata }'
it('is what the mapping says, where it says so', () => {
  const document = resource({ reported: '2026-07-01 12:00', issued: '2026-07-09T12:00:00Z' })
  expect(times(jsonOf('', OWN)(document))).toEqual(['2026-07-01T06:30:00.000Z'])
  expect(times(jsonOf('', OWN)(resource({ issued: '2026-07-09T12:00:00Z' })))).toEqual([0])
})

it('that the mapping reads and that cannot be read rejects the record', () => {
  expect(faults(jsonOf('', OWN)(resource({ reported: 'soon' })))).toEqual([
    'heart-rate-1: date-invalid $.reported',
  ])
})

it('of CSV is a column that the mapping names, for all records of the row', () => {
  const map = csvRules(
    ['id', 'pulse', 'weight', 'reported'],
    'biometrics: { heart-rate: pulse, body-weight: weight }',
    '  issuedAt: { from: reported, format: MM/dd/yyyy, zone: UTC }',
  )
  expect(times(map({ id: 'P-1', pulse: '62', weight: '80', reported: '07/01/2026' }))).toEqual([
    '2026-07-01T00:00:00.000Z',
    '2026-07-01T00:00:00.000Z',
  ])
  expect(
    times(
      csvRules(
        ['id', 'pulse', 'issued'],
        'biometrics: { heart-rate: pulse }',
      )({ id: 'P-1', pulse: '62', issued: '2026-07-01' }),
    ),
  ).toEqual([0])
  expect(
    findings(HEAD.replace('source:', 'issuedAt: { from: at, format: ISO, zone: EST }, source:')),
  ).toContainEqual(expect.stringContaining('issuedAt.zone'))
})
