import { expect, it } from 'vitest'
import {
  AccountReference,
  accountIdOfEntity,
  RegistrationRequest,
} from '../../../src/gateway/contract/account.ts'
import { AnswerSubmission } from '../../../src/gateway/contract/age-assessment.ts'
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

const submission = {
  moduleId: 'm-1',
  questionGroupId: 'g-1',
  answers: { 'q-1': [{ 'f-1': 'a-1' }, { 'f-2': 7 }], 'q-2': [{ 'f-9': 'a-9' }] },
}

it.each([
  [BiometricSent, biometric],
  [ConditionSent, condition],
  [CareTeamSent, careTeam],
  [PrimaryCareRequest, { account, id: '1' }],
  [CareTeamDeletionQuery, { ...query, npi: ['1', '2'] }],
  [AnswerSubmission, submission],
  [AccountReference, { reference: 'p-1', type: 'accountId', sponsor: 's' }],
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
  [AnswerSubmission, { ...submission, moduleId: '' }, 'moduleId'],
  [AnswerSubmission, { ...submission, questionGroupId: undefined }, 'questionGroupId'],
  [AnswerSubmission, { ...submission, answers: undefined }, 'answers'],
  [AnswerSubmission, { ...submission, answers: { q: { f: 'a' } } }, 'answers.q'],
  [AnswerSubmission, { ...submission, answers: { q: ['a'] } }, 'answers.q.0'],
  [AnswerSubmission, { ...submission, answers: { q: [{ f: ['a'] }] } }, 'answers.q.0.f'],
  [AccountReference, { reference: 'p-1', type: 'entity' }, 'type'],
  [AccountReference, { reference: '', type: 'accountId' }, 'reference'],
  [AccountReference, { reference: 1, type: 'accountId' }, 'reference'],
])('case %# may not be sent', (schema, value, path) => {
  const issues = schema.safeParse(value).error?.issues.map((issue) => issue.path.join('.'))
  expect(issues).toEqual([path])
})

it.each([
  ['https://gateway.example/accounts/4711', '4711'],
  ['https://gateway.example/accounts/4711/', '4711'],
  ['/accounts/4711?x=1#y', '4711'],
  ['4711', '4711'],
])('the entity %s ends in the account id', (entity, accountId) => {
  expect(accountIdOfEntity(entity)).toBe(accountId)
})
