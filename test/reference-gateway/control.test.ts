import { expect, it } from 'vitest'
import { biometric, careTeam, condition, NOW, startGateway } from './gateway-under-test.ts'

it('lists more records than it reads at a time, in the order stored', async () => {
  const { call, register, records, counts } = await startGateway()
  await register('p-1')
  const ids = Array.from({ length: 2500 }, (_, index) => `t-${index}`)
  const sent = ids.map((transactionId) => biometric({ transactionId }))
  await call('POST', '/health-profile/biometrics', sent.slice(0, 1500))
  await call('POST', '/health-profile/biometrics', sent.slice(1500))
  expect((await records('biometric')).map((record) => record.transactionId)).toEqual(ids)
  expect(await counts()).toEqual({ account: 1, biometric: 2500, condition: 0, careTeam: 0 })
})

it('finds records of every kind by transaction id or persistent record id', async () => {
  const { call, register } = await startGateway()
  await register('p-1')
  const meta = { persistentRecordId: 'x-1' }
  const source = { name: 'Test', type: 'screening', meta }
  await call('POST', '/health-profile/biometrics', [
    biometric({ transactionId: 'x-1', source }),
    biometric({ transactionId: 'other', source }),
    biometric({ transactionId: 'other' }),
  ])
  await call('POST', '/health-profile/conditions', [condition({ transactionId: 'x-1' })])
  await call('POST', '/health-profile/care-teams', [careTeam({ source })])
  const { body } = await call('GET', '/_reference/record?transactionId=x-1')
  const marks = { _account: 'p-1', _storedAt: NOW }
  expect(body).toEqual([
    { ...biometric({ transactionId: 'x-1', source }), _kind: 'biometric', ...marks },
    { ...biometric({ transactionId: 'other', source }), _kind: 'biometric', ...marks },
    { ...condition({ transactionId: 'x-1' }), _kind: 'condition', ...marks },
    { ...careTeam({ source }), _kind: 'careTeam', ...marks },
  ])
  expect((await call('GET', '/_reference/record?transactionId=none')).body).toEqual([])
})

it.each(['/_reference/records', '/_reference/records?kind=accounts', '/_reference/record'])(
  'refuses %s',
  async (path) => {
    const { call } = await startGateway()
    expect((await call('GET', path)).status).toBe(400)
  },
)

it('needs no credentials and is served on loopback alone', async () => {
  const { call, url } = await startGateway()
  expect(new URL(url).hostname).toBe('127.0.0.1')
  expect((await call('GET', '/_reference/counts', undefined, {})).status).toBe(200)
})
