import { describe, expect, it } from 'vitest'
import { biometric, condition, of, registration, startGateway } from './gateway-under-test.ts'

const KEY = { 'x-api-key': 'key' }
const TOKEN = { authorization: 'Bearer token' }

/** Section "Authentication": the key everywhere; the bearer on the health profile but for the conditions bulk sample. */
const ENDPOINTS = [
  ['POST', '/account/register', false],
  ['DELETE', `/account?${of('p-1')}`, false],
  ['POST', '/health-profile/biometrics', true],
  ['POST', '/health-profile/biometrics/bulk', true],
  ['GET', `/health-profile/biometrics?${of('p-1')}`, true],
  ['POST', '/health-profile/conditions', true],
  ['POST', '/health-profile/conditions/bulk', false],
  ['GET', `/health-profile/conditions?${of('p-1')}`, true],
  ['POST', '/health-profile/care-teams', true],
  ['GET', `/health-profile/care-teams?${of('p-1')}`, true],
  ['DELETE', `/health-profile/care-teams?${of('p-1')}&id=1`, true],
  ['POST', '/health-profile/care-teams/pcp', true],
  ['DELETE', '/health-profile/care-teams/pcp', true],
] as const

describe.each(ENDPOINTS)('%s %s', (method, path, bearer) => {
  it(`asks for ${bearer ? 'key and token' : 'the key alone'}`, async () => {
    const { call } = await startGateway()
    const statusWith = async (headers: Record<string, string>) =>
      (await call(method, path, method === 'GET' ? undefined : [], headers)).status
    expect(await statusWith({})).toBe(401)
    expect(await statusWith(TOKEN)).toBe(401)
    expect(await statusWith({ ...KEY, ...TOKEN })).not.toBe(401)
    expect((await statusWith(KEY)) === 401).toBe(bearer)
  })
})

it('lets through only the keys and tokens it is given', async () => {
  const { call } = await startGateway({ apiKeys: ['k1', 'k2'], tokens: ['t1'] })
  const status = async (key: string, token: string) =>
    (await call('POST', '/health-profile/biometrics', [], { 'x-api-key': key, authorization: token })).status
  expect(await status('k2', 'Bearer t1')).toBe(400)
  expect(await status('k3', 'Bearer t1')).toBe(401)
  expect(await status('k1', 'Bearer t2')).toBe(401)
  expect(await status('k1', 'Basic t1')).toBe(401)
})

it('answers 401 with an envelope and stores nothing', async () => {
  const { call, register, counts } = await startGateway()
  await register('p-1')
  const biometrics = await call('POST', '/health-profile/biometrics', [biometric()], KEY)
  expect([biometrics.status, biometrics.body.code]).toEqual([401, 401])
  expect(biometrics.headers.get('www-authenticate')).toBe('Bearer')
  const conditions = await call('POST', '/health-profile/conditions', [condition()], KEY)
  expect([conditions.status, conditions.body.code]).toEqual([401, '401'])
  const accounts = await call('POST', '/account/register', registration({ partnerAccountId: 'p-2' }), TOKEN)
  expect([accounts.status, accounts.body.code]).toEqual([401, 401])
  expect(await counts()).toEqual({ account: 1, biometric: 0, condition: 0, careTeam: 0 })
})
