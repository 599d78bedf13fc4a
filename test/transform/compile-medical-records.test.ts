/** Requests for medical records as a mapping writes them (interface, "Medical-records request (ROI)"). */
import { expect, it } from 'vitest'
import { MedicalRecordsRequestSent } from '../../src/gateway/contract/medical-records.ts'
import { RequestEntry } from '../../src/model/entry.ts'
import { csvMapper, faults, findings, mapped } from './mapping-under-test.ts'

const mapping = (webhook: string): string => `mapping: m
read: { format: csv }
row: { key: [ref], account: { reference: ref } }
medicalRecords:
  aps:
    reference: ref
    patient: { firstName: first, lastName: last, dob: born }
    request:
      requestType: Attending
      requestSubType: Life
      datesOfService: { start: from, end: to }
${webhook}`
const COLUMNS = ['ref', 'first', 'last', 'born', 'from', 'to', 'tell']
const ROW = {
  ref: 'r1',
  first: 'Ann',
  last: 'Person',
  born: '1980-02-03',
  from: '2020-01-01',
  to: '2020-02-01',
}

const outcome = (webhook: string, tell = '') => csvMapper(mapping(webhook), COLUMNS)({ ...ROW, tell })
function webhookOf(webhook: string, tell?: string): unknown {
  const [entry] = mapped(outcome(webhook, tell)).records
  if (!(entry instanceof RequestEntry)) expect.fail('no request')
  return MedicalRecordsRequestSent.parse(JSON.parse(entry.request.body)).webhook
}

it('say whether changes of status are sent, with the empty address that the interface asks for', () => {
  expect(webhookOf('')).toEqual({ url: '' })
  for (const flag of [true, false])
    expect(webhookOf(`    webhook: { sendStatusChange: ${flag} }`)).toEqual({
      sendStatusChange: flag,
      url: '',
    })
  const read = '    webhook: { sendStatusChange: tell }'
  expect(webhookOf(read, 'TRUE')).toEqual({ sendStatusChange: true, url: '' })
  expect(webhookOf(read, 'false')).toEqual({ sendStatusChange: false, url: '' })
  expect(webhookOf(read, '')).toEqual({ sendStatusChange: null, url: '' })
  const looked = '    webhook: { sendStatusChange: { from: tell, table: { Y: "true", N: "false" } } }'
  expect(webhookOf(looked, 'Y')).toEqual({ sendStatusChange: true, url: '' })
})

it('name the patient as row.account does, unless the mapping says otherwise', () => {
  const patientOf = (patient: string): Record<string, unknown> => {
    const text = mapping('').replace('dob: born }', `dob: born${patient} }`)
    const [entry] = mapped(csvMapper(text, COLUMNS)({ ...ROW, tell: 'x' })).records
    if (!(entry instanceof RequestEntry)) expect.fail('no request')
    return JSON.parse(entry.request.body).patient
  }
  const person = { firstName: 'Ann', lastName: 'Person', dob: '1980-02-03' }
  expect(patientOf('')).toEqual({ ...person, reference: 'r1', type: 'partnerAccountId' })
  expect(patientOf(', type: tell')).toEqual({ ...person, reference: 'r1', type: 'x' })
  expect(patientOf(', reference: tell')).toEqual({ ...person, reference: 'x' })
  expect(patientOf(', reference: { constant: "" }')).toEqual({ ...person, reference: null })
})

it('refuse a flag that is neither, and an address', () => {
  expect(faults(outcome('    webhook: { sendStatusChange: tell }', 'yes'))).toEqual([
    'aps: flag-not-true-or-false tell',
  ])
  expect(findings(mapping('    webhook: { url: tell }')).join()).toContain('unknown key "url"')
})
