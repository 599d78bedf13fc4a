import { describe, expect, it } from 'vitest'
import { RegistrationAnswer } from '../../../src/gateway/contract/account.ts'
import {
  BiometricEcho,
  BiometricRead,
  CareTeamReturned,
  ConditionReturned,
} from '../../../src/gateway/contract/health-profile.ts'
import { Envelope, ErrorEnvelope, NestedEnvelope } from '../../../src/gateway/contract/shared-objects.ts'

const codes = [{ code: '8480-6' }]

describe('answers bear unknown fields and keep them', () => {
  it.each([
    [BiometricEcho, { transactionId: 't-1', codes: [{ code: '8480-6', more: 1 }], more: { deep: true } }],
    [BiometricRead, { codes, observationDate: '1709301900000', source: { meta: { more: 1 }, more: 2 } }],
    [
      ConditionReturned,
      { codes, observationDate: 1709301900000, account: { type: 't', reference: 'r', more: 1 } },
    ],
    [CareTeamReturned, { id: '1', more: [] }],
    [RegistrationAnswer, { accountId: '1', more: null }],
    [ErrorEnvelope, { more: 'text', errors: [{ message: 'm', exception: null }, 'bare'] }],
    [Envelope(BiometricEcho), { data: [{ transactionId: 't-1' }], more: 1 }],
    [NestedEnvelope(ConditionReturned), { data: { data: [{ codes, observationDate: 'x' }], more: 1 } }],
  ])('case %#', (schema, answer) => {
    expect(schema.parse(answer)).toMatchObject(answer)
  })
})

describe('a missing field is a failure where a client needs it', () => {
  it.each([
    [BiometricEcho, { value: 1 }, 'transactionId'],
    [BiometricRead, { observationDate: '1' }, 'codes'],
    [BiometricRead, { codes }, 'observationDate'],
    [BiometricRead, { codes: [{ name: 'n' }], observationDate: '1' }, 'codes.0.code'],
    [ConditionReturned, { codes }, 'observationDate'],
    [CareTeamReturned, { npi: '1' }, 'id'],
    [RegistrationAnswer, { partnerAccountId: 'p' }, 'accountId'],
    [Envelope(BiometricEcho), { code: 201, message: 'm' }, 'data'],
    [Envelope(BiometricEcho), { data: [], errors: 'failed' }, 'errors'],
    [NestedEnvelope(ConditionReturned), { data: [] }, 'data'],
  ])('case %#', (schema, answer, path) => {
    const issues = schema.safeParse(answer).error?.issues.map((issue) => issue.path.join('.'))
    expect(issues).toEqual([path])
  })
})

it.each([200, '200', 201])('an envelope bears the code %j', (code) => {
  expect(Envelope(BiometricEcho).parse({ code, message: 'm', data: [] })).toMatchObject({ code })
})
