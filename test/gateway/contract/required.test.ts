/** Fields that each object of the interface must have, alone and of their type; all others may be absent, and in an answer of any type. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { AgeResult, CompletedAssessment } from '../../../src/gateway/contract/age-assessment.ts'
import {
  BiometricEcho,
  BiometricRead,
  BiometricSent,
  CareTeamDeletionQuery,
  CareTeamReturned,
  CareTeamSent,
  ConditionReturned,
  ConditionSent,
  PrimaryCareRequest,
} from '../../../src/gateway/contract/health-profile.ts'
import {
  MedicalRecordsRequestReturned,
  MedicalRecordsRequestSent,
} from '../../../src/gateway/contract/medical-records.ts'
import { placesIn } from '../../../src/gateway/contract/shared-objects.ts'
import { parseRetryAfter } from '../../../src/gateway/gateway-error.ts'
import { ACCOUNT, BIOMETRIC, RECORDS_REQUEST } from '../sample-records.ts'

const SOURCE = { name: 'N', type: 't', notes: 'n', meta: { dataQuality: 'normalized' } }
const CODE = { code: 'c', codeSystem: 's', codeSystemName: 'n', name: 'x' }
const AT = '2024-03-01T14:05:00.000Z'
const AGE = { year: 40, month: 3 }

/** Schema, a whole object, fields that it must have, fields that may not be empty, and fields whose type is checked though they may be absent. */
const OBJECTS: readonly [
  name: string,
  schema: z.ZodType,
  whole: Readonly<Record<string, unknown>>,
  required: readonly string[],
  filled: readonly string[],
  checked: readonly string[],
][] = [
  [
    'a biometric record as sent',
    BiometricSent,
    {
      ...BIOMETRIC,
      ...{ codeSystem: 's', codeSystemName: 'n', code: 'c', refHigh: 2, refLow: 1, refRange: '1 - 2' },
      type: 'Observation',
    },
    ['transactionId', 'account', 'name', 'observationDate', 'codes', 'value', 'unit', 'source'],
    ['transactionId', 'codes', 'unit'],
    ['codeSystem', 'codeSystemName', 'code', 'refHigh', 'refLow', 'refRange', 'type'],
  ],
  [
    'the echo of a biometric record',
    BiometricEcho,
    { ...BIOMETRIC, account: ACCOUNT, source: SOURCE },
    ['transactionId'],
    [],
    [],
  ],
  [
    'a biometric record as read',
    BiometricRead,
    {
      ...{ id: '1', accountReference: ACCOUNT, created: '0', updated: '0', name: 'n', source: SOURCE },
      ...{ observationDate: '1709301900000', value: 1, unit: 'kg', codes: [CODE] },
    },
    ['observationDate', 'codes'],
    [],
    [],
  ],
  [
    'a condition record as sent',
    ConditionSent,
    {
      ...{ transactionId: 't', account: ACCOUNT, name: 'n', status: 'active', source: SOURCE },
      ...{ observationDate: 0, medication: [CODE], family: { history: 'h', member: ['m'] }, codes: [CODE] },
    },
    ['transactionId', 'account', 'name', 'source', 'observationDate', 'codes'],
    ['transactionId', 'codes'],
    ['status', 'medication', 'family'],
  ],
  [
    'a condition record as returned',
    ConditionReturned,
    {
      ...{ id: '1', account: ACCOUNT, name: 'n', codes: [CODE], observationDate: AT, source: SOURCE },
      ...{ createDate: '0', updateDate: '0' },
    },
    ['codes', 'observationDate'],
    [],
    [],
  ],
  [
    'a care team record as sent',
    CareTeamSent,
    {
      ...{ account: ACCOUNT, name: 'n', profile: 'https://example.org/a', phoneNumber: '1', type: 't' },
      ...{ location: 'l', address: 'a', city: 'c', zip: 'z', npi: '1234567893', observationDate: '0' },
      source: SOURCE,
    },
    ['account', 'observationDate', 'source'],
    ['observationDate'],
    ['name', 'profile', 'phoneNumber', 'type', 'location', 'address', 'city', 'zip', 'npi'],
  ],
  [
    'a care team record as returned',
    CareTeamReturned,
    {
      ...{ id: '1', userId: 'u', profile: 'p', createDate: '0', updateDate: '0', name: 'n', npi: '1' },
      ...{ zip: 'z', city: 'c', address: 'a', location: 'l', phoneNumber: '1', type: 't', pcp: true },
      ...{ observationDate: 0, source: SOURCE, hydrateCareTeams: false },
    },
    ['id'],
    [],
    [],
  ],
  [
    'an age result',
    AgeResult,
    { status: 'COMPLETE', bioAge: AGE, calendarAge: AGE, bioAgeDelta: AGE, completed: AT },
    ['status'],
    ['status'],
    [],
  ],
  [
    'a completed test',
    CompletedAssessment,
    {
      ...{ id: '1', assessmentId: 'a', account: ACCOUNT, created: AT, assessmentType: 't' },
      questions: [{ id: 'q', text: 't', answers: [{ id: 'a', description: 'd', label: 'l', value: 'v' }] }],
    },
    ['assessmentId', 'questions'],
    ['assessmentId'],
    [],
  ],
  [
    'a request for medical records as sent',
    MedicalRecordsRequestSent,
    RECORDS_REQUEST,
    ['referenceNumber', 'patient', 'provider', 'request', 'webhook'],
    ['referenceNumber'],
    [],
  ],
  [
    'a request for medical records as returned',
    MedicalRecordsRequestReturned,
    { ...RECORDS_REQUEST, authorizationUploadUrl: 'https://example.org/a', status: { status: 'Received' } },
    ['referenceNumber'],
    ['referenceNumber'],
    [],
  ],
]

describe.each(OBJECTS)('%s', (_name, schema, whole, required, filled, checked) => {
  const takes = (value: object): boolean => schema.safeParse(value).success

  test('is taken whole', () => {
    expect(takes(whole)).toBe(true)
    expect(takes({ ...whole, unknown: { a: 1 } })).toBe(true)
  })

  test('names its fields', () => {
    const fields = schema instanceof z.ZodObject ? Object.keys(schema.shape) : []
    expect(fields.toSorted()).toEqual(Object.keys(whole).toSorted())
  })

  test.each(Object.keys(whole))('%s', (field) => {
    const { [field]: _left, ...rest } = whole
    expect(takes(rest)).toBe(!required.includes(field))
    // No field of the interface is a list of booleans.
    expect(takes({ ...whole, [field]: [true] })).toBe(![...required, ...checked].includes(field))
    const empty = Array.isArray(whole[field]) ? [] : ''
    if (filled.includes(field)) expect(takes({ ...whole, [field]: empty })).toBe(false)
  })
})

test('a single character is a name of a request, as of a record', () => {
  for (const schema of [MedicalRecordsRequestSent, MedicalRecordsRequestReturned])
    expect(schema.safeParse({ ...RECORDS_REQUEST, referenceNumber: 'r' }).success).toBe(true)
  expect(BiometricSent.safeParse({ ...BIOMETRIC, transactionId: 't' }).success).toBe(true)
})

test.each([
  [{ id: ['1'] }, true],
  [{ npi: ['1'] }, true],
  [{ id: ['1'], npi: ['2'] }, true],
  [{ id: [], npi: ['2'] }, true],
  [{ id: [''] }, false],
  [{ id: [], npi: [] }, false],
  [{}, false],
])('deletions name entries by id or npi: %j', (named, isTaken) => {
  const account = { accountReference: 'ann', accountReferenceType: 'partnerAccountId' }
  expect(CareTeamDeletionQuery.safeParse({ ...account, ...named }).success).toBe(isTaken)
})

test.each([
  [{ id: '1' }, true],
  [{ npi: '1' }, true],
  [{ id: '' }, false],
  [{}, false],
])('a mark names its entry by id or npi: %j', (named, isTaken) => {
  expect(PrimaryCareRequest.safeParse({ account: ACCOUNT, ...named }).success).toBe(isTaken)
})

test.each<[unknown, number[]]>([
  [{ index: 3 }, [3]],
  [{ position: '4' }, [4]],
  [{ index: 0, nested: [{ position: 1 }, { index: '2' }] }, [0, 1, 2]],
  [{ index: null, position: {} }, []],
  [{ index: '', position: ' ' }, []],
  [{ index: -1, position: 2.5 }, []],
  [{ index: true, position: [1] }, []],
  ['index', []],
  [null, []],
])('places in the error %j are %j', (error, places) => {
  expect(placesIn(error)).toEqual(places)
})

const NOW = Date.UTC(2026, 10, 27, 12, 0, 0)

test.each([
  ['Friday, 27-Nov-26 12:00:30 GMT', 30_000],
  ['Friday, 27-Nov-26 11:59:30 GMT', 0],
  ['Sunday, 06-Nov-94 08:49:37 GMT', 0],
  ['Saturday, 27-Nov-77 12:00:00 GMT', 0],
  ['Friday, 27-Nov-76 12:00:00 GMT', Date.UTC(2076, 10, 27, 12) - NOW],
  ['Fri, 27 Nov 2026 12:00:30 GMT', 30_000],
  ['Fri Nov 27 12:00:30 2026', 30_000],
  ['Fri Nov  6 12:00:30 2026', 0],
])('Retry-After %s is %i ms from now, of whatever year its two digits are', (header, ms) => {
  expect(parseRetryAfter(header, NOW)).toBe(ms)
})
