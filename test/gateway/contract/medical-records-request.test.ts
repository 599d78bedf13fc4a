import { describe, expect, it } from 'vitest'
import {
  DateReturned,
  MedicalRecordsFound,
  MedicalRecordsRequestDeleted,
  MedicalRecordsRequestReturned,
  MedicalRecordsRequestSent,
  MedicalRecordsUpsert,
} from '../../../src/gateway/contract/medical-records.ts'
import { RECORDS_REQUEST } from '../sample-records.ts'

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

const complete: object = RECORDS_REQUEST
const issuesOf = (result: { error?: { issues: { path: PropertyKey[] }[] } | undefined }) =>
  result.error?.issues.map((issue) => issue.path.join('.'))

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
])('a new request: %s may not be %j', (path, value) => {
  const request = edited(complete, path, value)
  expect(issuesOf(MedicalRecordsRequestSent.safeParse(request))).toEqual([path])
  expect(issuesOf(MedicalRecordsUpsert.safeParse([request]))).toEqual([`0.${path}`])
})

it.each([
  ['no array', complete, ''],
  ['an empty array', [], ''],
  ['no reference number', [complete, { patient: { zip: null } }], '1.referenceNumber'],
])('an update: %s may not be sent', (_name, body, path) => {
  expect(issuesOf(MedicalRecordsUpsert.safeParse(body))).toEqual([path])
})

it('both spellings are read as in the fields table, which counts where both are there', () => {
  const { datesOfService, requestSubType, ...rest } = RECORDS_REQUEST.request
  const request = { ...rest, dateOfService: datesOfService, requestSubtype: requestSubType }
  const respelled = { ...RECORDS_REQUEST, request }
  expect(MedicalRecordsRequestSent.parse(respelled)).toEqual(complete)
  expect(MedicalRecordsUpsert.parse([respelled])).toEqual([complete])
  expect(MedicalRecordsRequestReturned.parse(respelled)).toEqual(complete)
  const both = edited(complete, 'request.requestSubtype', 'Other')
  expect(MedicalRecordsRequestSent.parse(both)).toEqual(both)
})

describe('a returned request', () => {
  it.each([
    ['the reference number alone', { referenceNumber: 'ref-1' }],
    ['a cleared field as null', edited(complete, 'provider.npi', null)],
    ['a disclosure that is not listed', edited(complete, 'request.disclosures', ['other'])],
  ])('bears %s', (_name, value) => {
    expect(MedicalRecordsRequestReturned.parse(value)).toEqual(value)
  })

  it('cannot be told apart without its reference number, but counts as deleted', () => {
    const nameless = edited(complete, 'referenceNumber', undefined)
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

it.each([{ results: [{ referenceNumber: 'ref-1' }] }, { query: { page: 1 }, results: [] }])(
  'case %#: what was found bears any layout of the query, with results',
  (found) => {
    expect(MedicalRecordsFound.parse(found)).toEqual(found)
    expect(issuesOf(MedicalRecordsFound.safeParse({ ...found, results: undefined }))).toEqual(['results'])
  },
)
