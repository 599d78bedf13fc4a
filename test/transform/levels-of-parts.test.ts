/** A rule makes a record for each element of a level, whichever of its parts reads the level. */
import { expect, it } from 'vitest'
import { jsonMapper, mapped } from './mapping-under-test.ts'

const ROW = {
  ...{ id: 'p1', v: '71', code: 'I10', npi: '1234567893', name: 'Dr. N' },
  ones: [
    { v: '70', u: '/min', w: 'y', at: '20260101', low: '50', code: 'I10', npi: '1234567893', name: 'Dr. A' },
    { v: '72', u: '/min', w: 'y', at: '20260102', low: '51', code: 'I10', npi: '1234567893', name: 'Dr. B' },
  ],
}
const DATED = '{ from: one.at, format: yyyyMMdd, zone: UTC }'

const PARTS: readonly (readonly [section: string, rule: string, written: string])[] = [
  ['biometrics', 'heart-rate', '{ from: one.v }'],
  ['biometrics', 'heart-rate', '{ firstOf: [one.none, one.v] }'],
  ['biometrics', 'heart-rate', '{ concat: [one.none, one.v] }'],
  ['biometrics', 'heart-rate', '{ expression: "$number($one.v) + 1" }'],
  ['biometrics', 'heart-rate', '{ from: $.v, unit: { from: one.u } }'],
  ['biometrics', 'heart-rate', '{ from: $.v, when: { one.w: y } }'],
  ['biometrics', 'heart-rate', '{ from: $.v, when: { any: [{ one.w: y }, { $.v: "0" }] } }'],
  ['biometrics', 'heart-rate', `{ from: $.v, observedAt: ${DATED} }`],
  ['biometrics', 'heart-rate', '{ from: $.v, refRange: one.low }'],
  ['biometrics', 'heart-rate', '{ from: $.v, refLow: one.low }'],
  ['conditions', 'asthma', '{ when: { one.w: y }, status: active }'],
  ['conditions', 'asthma', '{ when: { $.id: present }, status: { from: one.w } }'],
  ['conditions', 'asthma', `{ when: { $.id: present }, status: active, observedAt: ${DATED} }`],
  ['conditions', 'asthma', '{ when: { $.id: present }, status: active, medication: [{ code: one.code }] }'],
  [
    'conditions',
    'asthma',
    '{ when: { $.id: present }, status: active, medication: [{ code: $.code, name: one.name }] }',
  ],
  [
    'conditions',
    'asthma',
    '{ when: { $.id: present }, status: active, medication: [{ code: $.code, when: { one.w: y } }] }',
  ],
  [
    'conditions',
    'asthma',
    '{ when: { $.id: present }, status: active, family: { history: { from: one.w } } }',
  ],
  ['conditions', 'asthma', '{ when: { $.id: present }, status: active, family: { member: [one.name] } }'],
  [
    'conditions',
    'asthma',
    '{ when: { $.id: present }, status: active, family: { member: { aunt: { one.w: y } } } }',
  ],
  ['conditions', 'asthma', '{ when: { $.id: present }, status: active, withdrawn: { one.w: n } }'],
  ['careTeams', 'pcp', '{ npi: one.npi, name: $.name }'],
  ['careTeams', 'pcp', '{ npi: $.npi, name: one.name }'],
  ['careTeams', 'pcp', '{ npi: $.npi, name: $.name, type: { from: one.w } }'],
  ['careTeams', 'pcp', '{ npi: $.npi, name: $.name, primary: { one.w: y } }'],
  ['careTeams', 'pcp', '{ npi: $.npi, name: $.name, when: { one.w: y } }'],
  ['careTeams', 'pcp', `{ npi: $.npi, name: $.name, observedAt: ${DATED} }`],
  ...['profile', 'phoneNumber', 'location', 'address', 'city', 'zip'].map(
    (detail) => ['careTeams', 'pcp', `{ npi: $.npi, name: $.name, ${detail}: one.w }`] as const,
  ),
]

it.each(PARTS)('%s: %s: %s', (section, rule, written) => {
  const map = jsonMapper(`mapping: m
read: { format: ndjson, each: { one: "$.ones[*]" } }
row:
  key: [$.id]
  account: { reference: $.id }
  observedAt: { constant: "2026-02-04T00:00:00Z" }
  source: { name: N, type: t }
${section}: { ${rule}: ${written} }
`)
  const { records, rejected } = mapped(map(ROW))
  expect(rejected).toEqual([])
  expect(records.map((record) => record.rule)).toEqual([`${rule}-1`, `${rule}-2`])
})

const REQUEST = {
  reference: '$.id',
  withdrawn: '{ $.off: Y }',
  patient: '{ firstName: $.name, lastName: $.name, zip: $.zip, dob: { from: $.born, format: yyyyMMdd } }',
  provider: '{ npi: $.npi, others: { suite: $.suite } }',
  request:
    '{ requestType: Attending, requestSubType: Life, datesOfService: { start: { from: $.born, format: yyyyMMdd }, end: { from: $.at, format: yyyyMMdd } }, disclosures: [{ from: $.shown }] }',
  authorization: '{ file: $.pdf }',
}

it.each(['id', 'off', 'name', 'zip', 'born', 'npi', 'suite', 'at', 'shown', 'pdf'])(
  'a request is made for each element where %s alone is of the level',
  (part) => {
    const members = Object.entries(REQUEST).map(([key, written]) => `${key}: ${written}`)
    const map = jsonMapper(`mapping: m
read: { format: ndjson, each: { one: "$.ones[*]" } }
row: { key: [$.key], account: { reference: $.key } }
medicalRecords: { aps: { ${members.join(', ').replaceAll(`$.${part}`, `one.${part}`)} } }
`)
    const parts = {
      ...{ id: 'r1', off: 'N', name: 'Ann', zip: '02139', born: '19800203', npi: '1234567893' },
      ...{ suite: '7', at: '20260101', shown: 'lab_reports', pdf: 'a.pdf' },
    }
    const { records, rejected } = mapped(map({ key: 'k1', ...parts, ones: [parts, parts] }))
    expect(rejected).toEqual([])
    expect(records.map((record) => record.rule)).toEqual(['aps-1', 'aps-2'])
  },
)
