import { describe, expect, it } from 'vitest'
import { biometric, careTeam, condition, NOW, startGateway } from './gateway-under-test.ts'

it('lists more records than it reads at a time, in the order stored', async () => {
  const { call, register, records, counts } = await startGateway()
  await register('p-1')
  const ids = Array.from({ length: 2500 }, (_, index) => `t-${index}`)
  const sent = ids.map((transactionId) => biometric({ transactionId }))
  await call('POST', '/health-profile/biometrics', sent.slice(0, 1500))
  await call('POST', '/health-profile/biometrics', sent.slice(1500))
  expect((await records('biometric')).map((record) => record.transactionId)).toEqual(ids)
  expect(await counts()).toMatchObject({ account: 1, biometric: 2500, condition: 0, careTeam: 0 })
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

describe('GET /_reference/occurrences', () => {
  it('tells how often each id is stored, or which are stored more than once', async () => {
    const { call, register } = await startGateway()
    await register('p-1')
    const occurrences = async (query: string) =>
      (await call('GET', `/_reference/occurrences?${query}`)).text
        .split('\n')
        .filter((line) => line !== '')
        .map((line): unknown => JSON.parse(line))
    const ids = Array.from({ length: 1200 }, (_, at) => `t-${String(at).padStart(4, '0')}`)
    const sent = ids.map((transactionId) => biometric({ transactionId }))
    await call('POST', '/health-profile/biometrics', sent)
    await call('POST', '/health-profile/biometrics', [sent[1100], sent[3], sent[3]])
    const times = (id: string) => (id === 't-0003' ? 3 : id === 't-1100' ? 2 : 1)
    expect(await occurrences('kind=biometric')).toEqual(ids.map((id) => ({ id, times: times(id) })))
    expect(await occurrences('kind=biometric&min=2')).toEqual([
      { id: 't-0003', times: 3 },
      { id: 't-1100', times: 2 },
    ])
    expect(await occurrences('kind=biometric&min=4')).toEqual([])

    const source = { name: 'Test', type: 'screening', meta: { persistentRecordId: 'x-1' } }
    await call('POST', '/health-profile/care-teams', [careTeam({ source }), careTeam({ source }), careTeam()])
    expect(await occurrences('kind=careTeam')).toEqual([{ id: 'x-1', times: 2 }])
    await call('POST', '/health-profile/conditions', [condition(), condition()])
    expect(await occurrences('kind=condition&min=1')).toEqual([{ id: 'c-1', times: 2 }])
  })

  it.each(['', 'kind=accounts', 'kind=biometric&min=0', 'kind=biometric&min=two'])(
    'refuses %j',
    async (query) => {
      const { call } = await startGateway()
      expect((await call('GET', `/_reference/occurrences?${query}`)).status).toBe(400)
    },
  )
})
