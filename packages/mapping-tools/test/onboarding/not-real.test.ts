/** Messages of tests and of training: drafts leave them out, shipped mappings have the line for it. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, test } from 'vitest'
import { allRows, exportFile } from '../../../../test/extract/export-file.ts'
import { load, NOW, ROOT } from '../../../../test/transform/mapping-under-test.ts'
import { finished } from './finished.ts'

const TABLES = Object.fromEntries(
  ['hl7-lab-codes', 'flowsheet-codes'].map((name) => [
    name,
    readFileSync(join(ROOT, 'mappings/tables', `${name}.csv`), 'utf8'),
  ]),
)

/** Outcome of each row, with what rejected or skipped it. */
async function outcomes(name: string, content: string, change = (text: string) => text): Promise<string[]> {
  const mapping = load(change(readFileSync(join(ROOT, 'mappings', `${name}.yaml`), 'utf8')), TABLES)
  const map = mapping.compiled.bind(undefined, name, NOW)
  return (await allRows(await exportFile(content), mapping.read)).map((row) => {
    const found = map(row)
    return found.outcome === 'skipped' ? found.reason : found.outcome
  })
}

const message = (processing: string, patient = 'P-1001'): string =>
  [
    `MSH|^~\\&|LAB|FAC|EHR|FAC|20260204101500||ORU^R01^ORU_R01|M1|${processing}|2.5.1`,
    `PID|1||${patient}^^^FAC^MR||Quill^Ada||19790412|F|||1 Elm St^^Springfield^IL^62701`,
    'OBR|1|ORD1|FIL1|24323-8^Panel^LN|||20260204091000',
    'OBX|1|NM|8867-4^Pulse^LN||62|/min|||||F',
    '',
  ].join('\r')

const uncommented = (text: string): string => text.replace(/^ {2}# (skipWhen: .*)$/m, '  $1')

test('hl7v2-oru takes messages of tests as they are, until the mapping leaves them out', async () => {
  const content = ['P', 'T', 'D', 'P^T', 'T^A', ''].map((processing) => message(processing)).join('')
  expect(await outcomes('hl7v2-oru', content)).toEqual(Array.from({ length: 6 }, () => 'mapped'))
  expect(await outcomes('hl7v2-oru', content, uncommented)).toEqual([
    ...['mapped', 'skipWhen', 'skipWhen', 'mapped', 'skipWhen', 'mapped'],
  ])
})

/** The head alone of a message: whoever is not left out is rejected for want of a person. */
describe.each<[string, (processing: string) => object]>([
  ['mirth-oru', (id) => ({ HL7Message: { MSH: { 'MSH.11': { 'MSH.11.1': id } } } })],
  ['northlab-oru', (id) => ({ HL7Message: { MSH: { 'MSH.11': { 'MSH.11.1': id } } } })],
  ['numeric-keys-oru', (id) => ({ MSH: { '11': id } })],
  ['google-hl7v2-oru', (id) => ({ ORU_R01: { MSH: { '11': id } } })],
  ['google-hl7v2-oru', (id) => ({ ORU_R01: { MSH: { '11': { '1': id } } } })],
  ['xml2js-oru', (id) => ({ ORU_R01: { MSH: [{ 'MSH.11': [{ 'PT.1': [id] }] }] } })],
  ['redox-results', (id) => ({ Meta: { Test: id !== 'P' } })],
  ['redox-flowsheet', (id) => ({ Meta: { Test: id !== 'P' } })],
])('%s', (name, head) => {
  it('leaves tests out, and nothing else, where its line for that is taken', async () => {
    const content = ['P', 'T', 'D'].map((id) => JSON.stringify(head(id))).join('\n')
    expect(await outcomes(name, content, uncommented)).toEqual(['rejected', 'skipWhen', 'skipWhen'])
  })
})

test('FHIR: test data by its security label', async () => {
  const observation = (security?: object): string =>
    JSON.stringify({
      ...{ resourceType: 'Observation', id: 'o1', status: 'final', meta: { security } },
      code: { coding: [{ system: 'http://loinc.org', code: '8867-4' }] },
      ...{ subject: { reference: 'Patient/7' }, effectiveDateTime: '2026-02-04T09:10:00Z' },
      valueQuantity: { value: 62, code: '/min' },
    })
  const rows = [observation(), observation([{ code: 'R' }, { code: 'HTEST' }]), observation([{ code: 'N' }])]
  expect(await outcomes('fhir-observation', rows.join('\n'))).toEqual(['mapped', 'skipWhen', 'mapped'])
})

test('a draft leaves out what the head of the message says is a test', async () => {
  const content = [message('P', 'P-1'), message('T', 'P-2'), message('P', 'P-3')].join('')
  const { records } = await finished('lab.hl7', content)
  expect(records.map((one) => one.split(' ')[0])).toEqual(['P-1', 'P-3'])
})

test('FHIR: of a Bundle, no name or address of before, and no patient of tests', async () => {
  const patient = {
    ...{ resourceType: 'Patient', id: 'p1', birthDate: '1980-01-01', gender: 'female' },
    name: [{ use: 'official', family: 'Quill', given: ['Ada'] }],
    address: [{ postalCode: '62701-1234' }],
  }
  const observation = {
    ...{ resourceType: 'Observation', status: 'final', valueQuantity: { value: 62, code: '/min' } },
    code: { coding: [{ system: 'http://loinc.org', code: '8867-4' }] },
    effectiveDateTime: '2026-02-04T09:10:00Z',
  }
  const bundle = (more: object): string =>
    JSON.stringify({
      resourceType: 'Bundle',
      entry: [{ resource: { ...patient, ...more } }, { resource: observation }],
    })
  const mapping = load(readFileSync(join(ROOT, 'mappings/fhir-bundle.yaml'), 'utf8'), TABLES)
  const registered = async (more: object): Promise<unknown> => {
    const [row] = await allRows(await exportFile(bundle(more)), mapping.read)
    const found = row && mapping.compiled.bind(undefined, 'bundle', NOW)(row)
    const registration = found?.outcome === 'mapped' ? found.register() : undefined
    return registration?.ok === true ? registration.registration : found?.outcome
  }
  expect(await registered({})).toMatchObject({ firstName: 'Ada', lastName: 'Quill', postalCode: '62701' })
  for (const use of ['old', 'maiden'])
    expect(await registered({ name: [{ ...patient.name[0], use }] })).toBe('mapped')
  expect(await registered({ address: [{ use: 'old', postalCode: '00001' }] })).toBe('mapped')
  expect(await outcomes('fhir-bundle', bundle({ meta: { security: [{ code: 'HTEST' }] } }))).toEqual([
    'skipWhen',
  ])
})

test('FHIR: a condition that is refuted in words alone is left out, and rejected where the code has another spelling', async () => {
  const condition = (verificationStatus?: object): string =>
    JSON.stringify({
      ...{ resourceType: 'Condition', id: 'c1', verificationStatus, subject: { reference: 'Patient/7' } },
      clinicalStatus: { coding: [{ code: 'active' }] },
      code: { coding: [{ system: 'http://snomed.info/sct', code: '44054006' }] },
      onsetDateTime: '2020-01-01',
    })
  const rows = [
    ...[undefined, { coding: [{ code: 'confirmed', display: 'Confirmed' }] }, { text: 'Confirmed' }],
    ...[{ text: 'Refuted' }, { coding: [{ display: 'Ruled out' }] }, { coding: [{ code: 'Refuted' }] }],
  ]
  expect(await outcomes('fhir-condition', rows.map(condition).join('\n'))).toEqual([
    ...['mapped', 'mapped', 'mapped', 'skipWhen', 'skipWhen', 'rejected'],
  ])
})
