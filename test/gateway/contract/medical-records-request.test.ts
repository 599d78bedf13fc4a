import { describe, expect, it } from 'vitest'
import {
  DateReturned,
  Disclosure,
  innerRefusalOf,
  MedicalRecordsDeletion,
  MedicalRecordsFound,
  MedicalRecordsRequestDeleted,
  MedicalRecordsRequestReturned,
  MedicalRecordsRequestSent,
  MedicalRecordsRequestTypes,
  MedicalRecordsSearch,
  MedicalRecordsUpsert,
} from '../../../src/gateway/contract/medical-records.ts'
import { Envelope, ErrorEnvelope } from '../../../src/gateway/contract/shared-objects.ts'

/** The rows of the fields table: path, a value as documented, required or not. Dates as on input. */
const FIELDS: readonly (readonly [path: string, value: unknown, required: boolean])[] = [
  ['referenceNumber', 'ref-1', true],
  ['patient.firstName', 'f', true],
  ['patient.lastName', 'l', true],
  ['patient.dob', '1970-02-28', true],
  ...['patient.type', 'patient.reference', 'patient.zip'].map((path) => [path, path, false] as const),
  ...'type groupName npi firstName lastName address1 address2 city state zip phone fax contact'
    .split(' ')
    .map((name) => [`provider.${name}`, name, false] as const),
  ['request.type', '', true],
  ['request.requestType', 'Continuity of Care', true],
  ['request.requestSubType', 'Personal', true],
  ['request.datesOfService.start', '2020-01-31', true],
  ['request.datesOfService.end', '2021-12-01', true],
  ['request.disclosures', ['abstract', 'x_ray_reports', 'xray_reports'], false],
  ['webhook.sendStatusChange', false, false],
  ['webhook.url', '', true],
]

/** The value with the field at the path set, or without it where `field` is undefined. */
function edited(value: object, path: string, field: unknown): object {
  const [name = '', ...rest] = path.split('.')
  const fields = new Map<string, unknown>(Object.entries(value))
  const inner = fields.get(name)
  const next = rest.length === 0 ? field : edited(Object(inner ?? {}), rest.join('.'), field)
  if (next === undefined) fields.delete(name)
  else fields.set(name, next)
  return Object.fromEntries(fields)
}

/** One object of all the rows; `datesOfService.type` has a row of its own below, as it has a default. */
const complete = FIELDS.reduce(
  (request, [path, value]) => edited(request, path, value),
  edited({}, 'request.datesOfService.type', 'startEnd'),
)
const required = FIELDS.filter((field) => field[2]).map(([path]) => path)
const optional = FIELDS.filter((field) => !field[2]).map(([path]) => path)
const requiredAlone = optional.reduce((request, path) => edited(request, path, undefined), complete)
const minimal = edited(requiredAlone, 'provider', { name: 'the field whose name is lost' })
const issuesOf = (result: { error?: { issues: { path: PropertyKey[] }[] } | undefined }) =>
  result.error?.issues.map((issue) => issue.path.join('.'))

describe('a new request', () => {
  it.each([complete, minimal])('case %# may be sent', (request) => {
    expect(MedicalRecordsRequestSent.parse(request)).toEqual(request)
    expect(MedicalRecordsUpsert.parse([request])).toEqual([request])
  })

  it.each([...required, 'patient', 'provider', 'request', 'webhook'])('%s is required', (path) => {
    for (const field of [undefined, null]) {
      expect(issuesOf(MedicalRecordsRequestSent.safeParse(edited(complete, path, field)))).toEqual([path])
    }
  })

  it.each([
    ['referenceNumber', ''],
    ['patient.firstName', ''],
    ['patient.lastName', ''],
    ['patient.dob', '02/28/1970'],
    ['patient.dob', '1970-02-30'],
    ['patient.zip', 0],
    ['provider.npi', 1234567893],
    ['request.requestType', ''],
    ['request.requestSubType', ''],
    ['request.datesOfService.type', ''],
    ['request.datesOfService.start', '01/31/2020'],
    ['request.datesOfService.end', '2021-12-01T00:00:00.000Z'],
    ['request.disclosures', 'abstract'],
    ['webhook.sendStatusChange', 'false'],
    ['webhook.url', 'https://caller.example/hook'],
  ])('%s may not be %j', (path, value) => {
    const request = edited(complete, path, value)
    expect(issuesOf(MedicalRecordsRequestSent.safeParse(request))).toEqual([path])
    expect(issuesOf(MedicalRecordsUpsert.safeParse([request]))).toEqual([`0.${path}`])
  })

  it('has startEnd as the type of its dates where none is given', () => {
    const untyped = edited(complete, 'request.datesOfService.type', undefined)
    expect(MedicalRecordsRequestSent.parse(untyped)).toEqual(complete)
  })
})

describe('an update', () => {
  it.each([...required, ...optional, 'request.datesOfService.type'])('%s may be sent alone', (path) => {
    const value = FIELDS.find(([name]) => name === path)?.[1] ?? 'startEnd'
    const update = edited({ referenceNumber: 'ref-1' }, path, value)
    expect(MedicalRecordsUpsert.parse([update])).toEqual([update])
  })

  it.each(optional)('%s is cleared with null, which is borne in a new request too', (path) => {
    for (const update of [edited({ referenceNumber: 'ref-1' }, path, null), edited(complete, path, null)]) {
      expect(MedicalRecordsUpsert.parse([update])).toEqual([update])
    }
    const request = edited(complete, path, null)
    expect(MedicalRecordsRequestSent.parse(request)).toEqual(request)
  })

  it.each(required)('%s is required and cannot be cleared', (path) => {
    const update = edited({ referenceNumber: 'ref-1' }, path, null)
    expect(issuesOf(MedicalRecordsUpsert.safeParse([update]))).toEqual([`0.${path}`])
  })

  it.each([
    ['no array', minimal, ''],
    ['an empty array', [], ''],
    ['no reference number', [minimal, { patient: { zip: null } }], '1.referenceNumber'],
  ])('%s may not be sent', (_name, body, path) => {
    expect(issuesOf(MedicalRecordsUpsert.safeParse(body))).toEqual([path])
  })
})

describe('both spellings', () => {
  const dates = { type: 'startEnd', start: '2020-01-31', end: '2021-12-01' }
  const respelled = [
    ['datesOfService', undefined],
    ['dateOfService', dates],
    ['requestSubType', undefined],
    ['requestSubtype', 'Personal'],
  ].reduce((request, [field, value]) => edited(request, `request.${field}`, value), complete)

  it('read as in the fields table, which counts where both are there', () => {
    expect(MedicalRecordsRequestSent.parse(respelled)).toEqual(complete)
    expect(MedicalRecordsUpsert.parse([respelled])).toEqual([complete])
    expect(MedicalRecordsRequestReturned.parse(respelled)).toEqual(complete)
    const both = edited(complete, 'request.requestSubtype', 'Other')
    expect(MedicalRecordsRequestSent.parse(both)).toEqual(both)
  })
})

describe('a returned request', () => {
  const returned = [
    ['patient.dob', '02/28/1970'],
    ['request.datesOfService.start', '01/31/2020'],
    ['request.datesOfService.end', '12/01/2021'],
    ['authorizationUploadUrl', 'https://upload.example/u-1?signature=s'],
    ['status.documentAvailable', false],
    ['status.status', 'Received'],
    ['status.updated', '03/01/2024 14:05:00'],
    ['status.processed', null],
    ['status.processedPlatform', null],
    ['status.authorizationName', 'ref-1.pdf'],
  ].reduce((request, [path, value]) => edited(request, String(path), value), complete)

  it.each([
    ['all fields', returned],
    ['the reference number alone', { referenceNumber: 'ref-1' }],
    ['cleared fields as null', optional.reduce((value, path) => edited(value, path, null), returned)],
    ['cleared fields as absent', optional.reduce((value, path) => edited(value, path, undefined), returned)],
    ['unknown fields', edited(edited(returned, 'status.more', 1), 'request.more', { deep: true })],
    ['a disclosure that is not listed', edited(returned, 'request.disclosures', ['other'])],
  ])('bears %s', (_name, value) => {
    const envelope = { code: 200, message: 'm', data: [value] }
    expect(Envelope(MedicalRecordsRequestReturned).parse(envelope)).toEqual(envelope)
  })

  it('cannot be told apart without its reference number, but counts as deleted', () => {
    const nameless = edited(returned, 'referenceNumber', undefined)
    expect(issuesOf(MedicalRecordsRequestReturned.safeParse(nameless))).toEqual(['referenceNumber'])
    expect(MedicalRecordsRequestDeleted.parse(nameless)).toEqual(nameless)
  })

  it('dates differ from those sent in form alone', () => {
    expect(DateReturned.decode('02/28/1970')).toBe('1970-02-28')
    expect(DateReturned.encode('2021-12-01')).toBe('12/01/2021')
    const others = ['1970-02-28', '28/02/1970', '02/30/1970', '2/28/1970', '']
    expect(others.filter((text) => DateReturned.safeDecode(text).success)).toEqual([])
  })
})

it('knows the disclosures of the list, to the letter', () => {
  const listed =
    'any_and_all, immunizations, lab_reports, medication_records, newborn_birth_records, nurse_notes, operative_report, ' +
    'pathology, pft, progress_notes, radiology_imaging_films, sleep_study, treatment_plans, therapy_notes, ' +
    'transfer_notes, wound_care, x_ray_reports, history_and_physical, abstract, billing_records, commitment_papers, ' +
    'consultation, xray_reports, disclosure_summary, discharge_instructions, discharge_summary, doctor_orders, echo, ' +
    'ekc_ecg_tests, ekg, er_record, facesheet, fetal_heart_monitor_strips, growth_chart, consent'
  expect(Disclosure.options).toEqual(listed.split(', '))
  const request = edited(complete, 'request.disclosures', ['abstract', 'Abstract'])
  expect(issuesOf(MedicalRecordsRequestSent.safeParse(request))).toEqual(['request.disclosures.1'])
})

describe('search', () => {
  const kind = { type: '', subType: 'Personal' }
  const search = { page: 1, limit: 100, filter: [{ patient: { lastName: 'l' }, request: kind }] }
  const filtered = (patient: unknown, request: unknown = kind) => ({
    ...search,
    filter: [{ patient, request }],
  })

  it.each([
    { ...search, sort: { updated: 'desc' } },
    ...['type', 'reference', 'zip', 'firstName', 'lastName'].map((field) => filtered({ [field]: 'x' })),
    filtered({ dob: '1970-02-28' }),
    filtered({ zip: '', lastName: 'l' }),
  ])('case %# may be sent', (body) => {
    expect(MedicalRecordsSearch.parse(body)).toEqual(body)
  })

  it('reads subTyp as subType', () => {
    const body = filtered({ lastName: 'l' }, { type: '', subTyp: 'Personal' })
    expect(MedicalRecordsSearch.parse(body)).toEqual(search)
  })

  it.each([
    ['no page', { ...search, page: undefined }, 'page'],
    ['half a page', { ...search, page: 1.5 }, 'page'],
    ['no limit', { ...search, limit: undefined }, 'limit'],
    ['a limit of none', { ...search, limit: 0 }, 'limit'],
    ['no filter', { ...search, filter: undefined }, 'filter'],
    ['an empty filter', { ...search, filter: [] }, 'filter'],
    ['no patient', filtered(undefined), 'filter.0.patient'],
    ['no patient field', filtered({}), 'filter.0.patient'],
    ['an empty patient field', filtered({ lastName: '' }), 'filter.0.patient'],
    ['a date as returned', filtered({ dob: '02/28/1970' }), 'filter.0.patient.dob'],
    ['no type', filtered({ zip: '0' }, { subType: 's' }), 'filter.0.request.type'],
    ['no subType', filtered({ zip: '0' }, { type: 't' }), 'filter.0.request.subType'],
    ['no request', { ...search, filter: [{ patient: { zip: '0' } }] }, 'filter.0.request'],
  ])('%s: refused', (_name, body, path) => {
    expect(issuesOf(MedicalRecordsSearch.safeParse(body))).toEqual([path])
  })

  it.each([
    { ...search, results: [{ referenceNumber: 'ref-1' }] },
    { query: search, results: [] },
  ])('case %#: answers bear any layout of the query, with results', (found) => {
    expect(MedicalRecordsFound.parse(found)).toEqual(found)
    expect(issuesOf(MedicalRecordsFound.safeParse({ ...found, results: undefined }))).toEqual(['results'])
  })
})

it('a deletion names its request', () => {
  expect(MedicalRecordsDeletion.parse({ referenceNumber: 'ref-1' })).toEqual({ referenceNumber: 'ref-1' })
  expect(issuesOf(MedicalRecordsDeletion.safeParse({ referenceNumber: '' }))).toEqual(['referenceNumber'])
})

it('request types are a nested array, of items with id and name', () => {
  const requestSubType = [
    { id: 's-1', name: 'Personal', disabled: null },
    { id: 's-2', name: 'Insurance', disabled: true },
  ]
  const type = { id: 't-1', name: 'Continuity of Care', requestSubType }
  const answer = Envelope(MedicalRecordsRequestTypes)
  expect(answer.parse({ data: [[type]] })).toEqual({ data: [[type]] })
  expect(issuesOf(answer.safeParse({ data: [type] }))).toEqual(['data.0'])
  expect(issuesOf(answer.safeParse({ data: [[{}]] }))).toEqual(['data.0.0.id', 'data.0.0.name'])
})

describe('refusals', () => {
  const inner = {
    code: 400,
    message: 'Bad Request',
    errors: [{ code: 0, message: 'no first name, block 1' }],
  }
  const message = `Failed to process: ${JSON.stringify(inner)}`
  const wrapped = { code: 400, message, errors: [{ code: 400, message, exception: null }] }
  const bare = { code: 400, message: 'Request already processed', errors: [{ code: 1, message: 'm' }] }

  it.each([
    ['a body with an inner envelope', wrapped, inner],
    ['a bare body', bare, undefined],
    ['text after the inner envelope', { ...wrapped, message: `${message}.` }, inner],
    ['a brace that opens no envelope', { ...bare, message: 'Failed: {' }, undefined],
    ['braces that hold no JSON', { ...bare, message: 'Failed: {code=400}' }, undefined],
    ['no message', { code: 400 }, undefined],
  ])('%s', (_name, body, expected) => {
    const refusal = ErrorEnvelope.parse(body)
    expect(refusal).toEqual(body)
    expect(innerRefusalOf(refusal)).toEqual(expected)
  })
})
