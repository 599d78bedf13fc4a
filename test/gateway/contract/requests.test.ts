import { expect, it } from 'vitest'
import { RegistrationRequest } from '../../../src/gateway/contract/account.ts'
import {
  BiometricSent,
  CareTeamDeletionQuery,
  CareTeamSent,
  ConditionSent,
  PrimaryCareRequest,
} from '../../../src/gateway/contract/health-profile.ts'

const account = { reference: 'p-1', type: 'partnerAccountId' }
const codes = [{ code: '8480-6', codeSystem: '2.16.840.1.113883.6.1' }]
const observation = { transactionId: 't-1', account, name: 'n', codes, source: {} }
const biometric = { ...observation, observationDate: '2024-03-01T00:00:00.000Z', value: 1, unit: '1' }
const condition = { ...observation, observationDate: 1709251200000 }
const careTeam = { account, observationDate: '1709251200000', source: {} }
const query = { accountReference: 'p-1', accountReferenceType: 'accountId' }
const registration = {
  dateOfBirth: '1970-02-28',
  firstName: 'f',
  gender: 'FEMALE',
  lastName: 'l',
  partnerAccountId: 'p',
  postalCode: '0',
}

it.each([
  [BiometricSent, biometric],
  [ConditionSent, condition],
  [CareTeamSent, careTeam],
  [PrimaryCareRequest, { account, id: '1' }],
  [PrimaryCareRequest, { account, npi: '1' }],
  [CareTeamDeletionQuery, { ...query, npi: ['1', '2'] }],
  [RegistrationRequest, registration],
])('case %# may be sent', (schema, value) => {
  expect(schema.parse(value)).toEqual(value)
})

it.each([
  [BiometricSent, { ...biometric, value: '1' }, 'value'],
  [BiometricSent, { ...biometric, value: Number.POSITIVE_INFINITY }, 'value'],
  [BiometricSent, { ...biometric, codes: [] }, 'codes'],
  [BiometricSent, { ...biometric, observationDate: 1709251200000 }, 'observationDate'],
  [BiometricSent, { ...biometric, refHigh: '9' }, 'refHigh'],
  [ConditionSent, { ...condition, observationDate: '1709251200000' }, 'observationDate'],
  [ConditionSent, { ...condition, family: { member: 'mother' } }, 'family.member'],
  [CareTeamSent, { ...careTeam, observationDate: 1709251200000 }, 'observationDate'],
  [CareTeamSent, { ...careTeam, profile: 'practice' }, 'profile'],
  [PrimaryCareRequest, { account }, ''],
  [CareTeamDeletionQuery, { ...query, id: [] }, ''],
  [RegistrationRequest, { ...registration, dateOfBirth: '1970-02-30' }, 'dateOfBirth'],
  [RegistrationRequest, { ...registration, postalCode: 0 }, 'postalCode'],
])('case %# may not be sent', (schema, value, path) => {
  const issues = schema.safeParse(value).error?.issues.map((issue) => issue.path.join('.'))
  expect(issues).toEqual([path])
})
