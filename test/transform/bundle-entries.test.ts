/** Entries of a FHIR Bundle that is a row: about whom each is, and which of them say that a resource is gone. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import type { JsonValue } from '../../src/model/row.ts'
import { allRows, exportFile } from '../extract/export-file.ts'
import { faults, jsonMapper, load, mapped, ROOT } from './mapping-under-test.ts'

const SHIPPED = readFileSync(join(ROOT, 'mappings/fhir-bundle.yaml'), 'utf8')
const map = jsonMapper(SHIPPED)

type Members = Readonly<Record<string, JsonValue>>

const PATIENT = {
  fullUrl: 'https://x.example/fhir/Patient/p1',
  resource: {
    ...{ resourceType: 'Patient', id: 'p1' },
    identifier: [{ system: 'urn:mrn', value: 'MRN-1' }],
  },
}
const pulse = (more: Members = {}): Members => ({
  ...{ resourceType: 'Observation', id: 'o1', status: 'final', effectiveDateTime: '2026-02-05' },
  code: { coding: [{ system: 'http://loinc.org', code: '8867-4' }] },
  valueQuantity: { value: '61', code: '/min' },
  ...more,
})
const diabetes = (more: Members = {}): Members => ({
  ...{ resourceType: 'Condition', id: 'c1', onsetDateTime: '2020-03-01' },
  code: { coding: [{ system: 'http://snomed.info/sct', code: '44054006' }] },
  clinicalStatus: { coding: [{ code: 'active' }] },
  ...more,
})
const team = (more: Members = {}): Members => ({
  ...{ resourceType: 'CareTeam', id: 't1', status: 'active', period: { start: '2025-05-01' } },
  participant: [
    {
      member: {
        ...{ reference: 'Practitioner/d2', display: 'Dr. Fern' },
        identifier: { system: 'http://hl7.org/fhir/sid/us-npi', value: '1245319599' },
      },
    },
  ],
  ...more,
})
const bundle = (...entry: Members[]): JsonValue => ({ resourceType: 'Bundle', entry: [PATIENT, ...entry] })

const made = (document: JsonValue, mapping = map) => {
  const outcome = mapping(document)
  return outcome.outcome === 'mapped'
    ? [...outcome.records.map(({ rule }) => rule), ...faults(outcome)]
    : [outcome.outcome]
}

describe('the subject of an entry', () => {
  const OWN: JsonValue[] = [
    { reference: 'Patient/p1' },
    { reference: 'https://x.example/fhir/Patient/p1' },
    { reference: 'https://x.example/fhir/Patient/p1/_history/3' },
    { reference: 'urn:uuid:p1' },
    { reference: 'Patient?identifier=urn:mrn|MRN-1' },
    { identifier: { system: 'urn:mrn', value: 'MRN-1' } },
    { identifier: { value: 'MRN-1' } },
    { display: 'Ann Reed' },
    null,
  ]
  const ANOTHER: JsonValue[] = [
    { reference: 'Patient/p2' },
    { reference: 'https://x.example/fhir/Patient/p2' },
    // The same id on another server is another person.
    { reference: 'https://y.example/fhir/Patient/p1' },
    { reference: 'urn:uuid:p2' },
    { reference: '#p1' },
    { reference: 'Group/p1' },
    { reference: 'Device/p1' },
    { reference: 'Patient?identifier=urn:mrn|MRN-2' },
    { identifier: { system: 'urn:mrn', value: 'MRN-2' } },
    { identifier: { system: 'urn:other', value: 'MRN-1' } },
    { reference: 'Patient/p2', identifier: { system: 'urn:mrn', value: 'MRN-1' } },
  ]
  const entry = (resource: Members): Members => ({ resource })

  it.each(OWN)('is the patient: %j', (subject) => {
    const found = made(
      bundle(entry(pulse({ subject })), entry(diabetes({ subject })), entry(team({ subject }))),
    )
    expect(found).toEqual(['heart-rate-1', 'type-2-diabetes-1', 'care-team-1'])
  })

  it.each(ANOTHER)('is another, and costs its records: %j', (subject) => {
    const found = made(
      bundle(entry(pulse({ subject })), entry(diabetes({ subject })), entry(team({ subject })), {
        resource: pulse({ id: 'o2', subject: { reference: 'Patient/p1' } }),
      }),
    )
    expect(found).toEqual([
      'heart-rate-2',
      'heart-rate-1: subject-of-another subject',
      'type-2-diabetes-1: subject-of-another subject',
      'care-team-1: subject-of-another subject',
    ])
  })

  it('holds for components, and for what is taken back', () => {
    const component = [
      {
        code: { coding: [{ system: 'http://loinc.org', code: '8480-6' }] },
        valueQuantity: { value: '118', code: 'mm[Hg]' },
      },
    ]
    const subject = { reference: 'Patient/p2' }
    expect(made(bundle(entry({ ...pulse({ subject, component }), valueQuantity: null })))).toEqual([
      'systolic-bp-1: subject-of-another subject',
    ])
    const withdrawn = map(bundle(entry(pulse({ subject, status: 'entered-in-error' }))))
    expect(faults(withdrawn)).toEqual(['heart-rate-1: subject-of-another subject'])
    expect(mapped(withdrawn).withdrawn).toBeUndefined()
  })

  it('is compared with the patient whom the mapping reads, by whatever identifier', () => {
    const byNumber = jsonMapper(
      SHIPPED.replace(
        'reference: "$.entry[?@.resource.resourceType == \'Patient\'].resource.id"',
        "reference: \"$.entry[?@.resource.resourceType == 'Patient'].resource.identifier[?@.system == 'urn:mrn'].value\"",
      ),
    )
    const own = byNumber(bundle(entry(pulse({ subject: { reference: 'Patient/p1' } }))))
    expect(mapped(own).account.reference).toBe('MRN-1')
    expect(mapped(own).records).toHaveLength(1)
    expect(made(bundle(entry(pulse({ subject: { reference: 'Patient/MRN-1' } }))), byNumber)).toEqual([
      'heart-rate-1: subject-of-another subject',
    ])
  })

  it('is left to the mapping where it reads it, ignores it, or the row is one resource', () => {
    const subject = { reference: 'Patient/p2' }
    const document = bundle(entry(pulse({ subject })))
    const ignoring = jsonMapper(SHIPPED.replace('\nrow:\n', '\nrow:\n  ignore: [subject]\n'))
    expect(made(document, ignoring)).toEqual(['heart-rate-1'])
    const reading = jsonMapper(
      SHIPPED.replace(
        'observation.resource.focus: absent }\n    code: &code',
        'observation.resource.subject.reference: Patient/p2 }\n    code: &code',
      ),
    )
    expect(made(document, reading)).toEqual(['heart-rate-1'])
  })
})

describe('an entry that deletes', () => {
  const deletion = (more: Members): Members => ({ request: { method: 'DELETE', ...more } })

  it('takes back what it shows', () => {
    const outcome = mapped(
      map(
        bundle(
          { resource: pulse(), ...deletion({ url: 'Observation/o1' }) },
          { resource: pulse({ id: 'o2', effectiveDateTime: '2026-02-06' }) },
        ),
      ),
    )
    expect(outcome.records.map(({ rule }) => rule)).toEqual(['heart-rate-2'])
    expect(outcome.withdrawn?.map(({ rule }) => rule)).toEqual(['heart-rate-1'])
    expect(outcome.leftOut).toEqual(['request DELETE'])
  })

  it('is rejected where it shows nothing, by the kind of its address', () => {
    expect(
      made(
        bundle(
          deletion({ url: 'Observation/o1' }),
          deletion({ url: 'https://x.example/fhir/Condition/c1' }),
          deletion({ url: 'CareTeam/t1' }),
          deletion({ url: 'Encounter/e1' }),
          { resource: pulse(), request: { method: 'PUT', url: 'Observation/o2' } },
          { resource: diabetes(), request: { method: 'POST', url: 'Condition' } },
        ),
      ),
    ).toEqual([
      'heart-rate-1',
      'type-2-diabetes-1',
      'unmapped-1: resource-deleted request',
      'unmapped-2: resource-deleted request',
      'unmapped-3: resource-deleted request',
    ])
  })

  it('rejects a care team, which nobody withdraws', () => {
    expect(made(bundle({ resource: team(), ...deletion({ url: 'CareTeam/t1' }) }))).toEqual([
      'care-team-1: resource-deleted request',
    ])
  })

  it('is ignored where the mapping says so', () => {
    const ignoring = jsonMapper(SHIPPED.replace('\nrow:\n', '\nrow:\n  ignore: [request]\n'))
    expect(made(bundle(deletion({ url: 'Observation/o1' }), { resource: pulse() }), ignoring)).toEqual([
      'heart-rate-1',
    ])
  })

  it('is no row where each entry is one', async () => {
    const { read } = load(
      readFileSync(join(ROOT, 'mappings/fhir-observation.yaml'), 'utf8').replace(
        'format: ndjson',
        'format: json\n  records: "$.entry[*].resource"',
      ),
    )
    const content = JSON.stringify(
      bundle({ resource: pulse() }, { resource: pulse({ id: 'o2' }), ...deletion({}) }, deletion({})),
    )
    const rows = await allRows(await exportFile(content), read)
    expect(rows.map((row) => (row.kind === 'unreadable' ? row.fault : row.kind))).toEqual([
      ...['json', 'json', 'row-member-missing', 'row-member-missing'],
    ])
  })
})

test('outcomes of a search or a transaction are nobody, and nothing', () => {
  const outcome = { resourceType: 'OperationOutcome', issue: [{ severity: 'error', code: 'not-found' }] }
  const document = bundle(
    { search: { mode: 'outcome' }, resource: outcome },
    { response: { status: '404', outcome } },
    { response: { status: '201', location: 'Patient/p9/_history/1' } },
    { resource: pulse(), search: { mode: 'match' } },
  )
  expect(mapped(map(document)).account.reference).toBe('p1')
  expect(made(document)).toEqual(['heart-rate-1'])
})

test('whatever another patient has in a Bundle, no record of it is the first one’s', () => {
  const id = fc.stringMatching(/^[A-Za-z0-9.-]{1,12}$/)
  fc.assert(
    fc.property(
      id,
      fc.constantFrom('Patient/', 'urn:uuid:', 'https://x.example/fhir/Patient/'),
      (other, start) => {
        const found = made(bundle({ resource: pulse({ subject: { reference: `${start}${other}` } }) }))
        expect(found).toEqual([other === 'p1' ? 'heart-rate-1' : 'heart-rate-1: subject-of-another subject'])
      },
    ),
  )
})
