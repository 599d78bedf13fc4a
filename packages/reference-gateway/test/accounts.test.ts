import { expect, it } from 'vitest'
import { biometric, careTeam, condition, of, registration, startGateway } from './gateway-under-test.ts'

it.each<[string, string | undefined]>([
  ...Object.keys(registration()).map((field): [string, undefined] => [field, undefined]),
  ['dateOfBirth', '2024-07-02'],
  ['gender', 'F'],
  ['firstName', ''],
])('refuses %s %j without repeating it', async (field, value) => {
  const { call, counts } = await startGateway()
  const { status, body, text } = await call('POST', '/account/register', registration({ [field]: value }))
  expect([status, body.code, body.errors[0]?.field]).toEqual([400, 400, field])
  if (value !== undefined && value.length > 1) expect(text).not.toContain(value)
  expect((await counts()).account).toBe(0)
})

it('gives a known partnerAccountId the same account id, or 409 where so set', async () => {
  const same = await startGateway()
  const first = await same.call('POST', '/account/register', registration())
  const second = await same.call('POST', '/account/register', registration())
  expect([second.status, second.body]).toEqual([200, first.body])
  expect((await same.counts()).account).toBe(1)

  const strict = await startGateway({ registeredAgain: 'conflict' })
  await strict.register('p-1')
  const { status, body } = await strict.call('POST', '/account/register', registration())
  expect([status, body.code, body.errors[0]?.field]).toEqual([409, 409, 'partnerAccountId'])
})

it('removes the account with its records and no other, and lets the id be registered anew', async () => {
  const { call, register, counts } = await startGateway()
  const first = await register('p-1')
  await register('p-2')
  const other = { reference: 'p-2', type: 'partnerAccountId' }
  await call('POST', '/health-profile/biometrics/bulk', [biometric(), biometric({ account: other })])
  await call('POST', '/health-profile/conditions/bulk', [condition(), condition({ account: other })])
  await call('POST', '/health-profile/care-teams', [careTeam(), careTeam({ account: other })])

  expect((await call('DELETE', `/account?${of(first, 'accountId')}`)).status).toBe(204)
  expect(await counts()).toMatchObject({ account: 1, biometric: 1, condition: 1, careTeam: 1 })
  expect((await call('DELETE', `/account?${of('p-1')}`)).status).toBe(404)
  expect(await register('p-1')).not.toBe(first)
})
