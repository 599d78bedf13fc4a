import { describe, expect, it } from 'vitest'
import { holdPause } from '../../../test/handed-timers.ts'
import { BATCH_WRITES, IDS, READS } from './fault-calls.ts'
import { biometric, NOW } from './gateway-under-test.ts'
import { startStruck } from './struck-gateway.ts'

const sent = { method: 'POST', path: '/health-profile/biometrics', body: [biometric()] }

it('outage: counted from the loading of the plan', async () => {
  const gateway = await startStruck()
  gateway.pass(500)
  await gateway.load({ do: 'outage', on: 'all', fromMs: 1000, forMs: 1000, retryAfter: { date: 1 } })
  const statuses = []
  for (const ms of [0, 1000, 999, 1]) {
    gateway.pass(ms)
    statuses.push((await gateway.send(sent)).status)
  }
  expect(statuses).toEqual([201, 503, 503, 201])
  expect(await gateway.occurrences('biometric')).toEqual({ 't-1': 2 })
})

it.each([
  ['seconds', 90, '90'],
  ['a date', { date: 90 }, 'Mon, 01 Jul 2024 00:01:30 GMT'],
] as const)('a wait is asked for as %s', async (_, retryAfter, header) => {
  const gateway = await startStruck([{ do: 'refuse', on: 'all', status: 503, retryAfter }])
  expect((await gateway.send(sent)).headers?.get('retry-after')).toBe(header)
})

describe.each(READS)('lag on $name', ({ name, sent: read }) => {
  const [write] = BATCH_WRITES.filter(({ path }) => read.path.startsWith(`${path}?`))
  const shown = (text = ''): number => {
    const { data } = JSON.parse(text) as { data: unknown[] | { data: unknown[] } }
    return (Array.isArray(data) ? data : data.data).length
  }

  it('hides what was stored in the last milliseconds, from this read alone', async () => {
    if (write === undefined) throw new Error('no write for the read')
    const gateway = await startStruck([{ do: 'lag', on: 'reads', ms: 1000, when: { first: 3 } }])
    const all = write.kind === 'careTeam' ? 6 : 1
    await gateway.send({ method: 'POST', path: write.path, body: write.records() })
    const counts = []
    for (const ms of [0, 999, 1, 0]) {
      gateway.pass(ms)
      counts.push(shown((await gateway.send(read)).text))
    }
    expect(counts).toEqual([0, 0, all, all])
    expect(Object.keys(await gateway.occurrences(write.kind))).toEqual(IDS)
    expect((await gateway.report()).faults).toMatchObject([{ matched: 4, struck: 3 }])

    await gateway.send({ method: 'POST', path: write.path, body: write.records() })
    expect(shown((await gateway.send(read)).text)).toBe(write.kind === 'careTeam' ? 12 : 1)
    expect(name).toMatch(/^(read|list)/)
  })
})

it('lag shows the record before the latest', async () => {
  const gateway = await startStruck([{ do: 'lag', on: 'readBiometrics', ms: 1000 }])
  const value = async () => {
    const { text = '' } = await gateway.send({
      ...READS[0]?.sent,
      method: 'GET',
      path: READS[0]?.sent.path ?? '',
    })
    return (JSON.parse(text) as { data: { value: number }[] }).data.map((record) => record.value)
  }
  await gateway.send(sent)
  gateway.pass(1000)
  await gateway.send({
    ...sent,
    body: [biometric({ value: 2, observationDate: '2024-04-01T00:00:00.000Z' })],
  })
  expect(await value()).toEqual([118.5])
  gateway.pass(1000)
  expect(await value()).toEqual([2])
})

describe('slow', () => {
  it('before storing: not stored yet when the client has given up, and stored late', async () => {
    const SLOW_MS = 61_000
    const pause = holdPause(SLOW_MS)
    const gateway = await startStruck([{ do: 'slow', on: 'writes', ms: SLOW_MS, before: 'storing' }])
    const patience = new AbortController()
    const ended = gateway.send(sent, { patience: patience.signal })
    await pause.begun
    patience.abort()
    expect((await ended).end).toBe('no answer')
    expect(await gateway.occurrences('biometric')).toEqual({})
    pause.end()
    await expect.poll(async () => (await gateway.counts()).biometric).toBe(1)
    expect(await gateway.occurrences('biometric')).toEqual({ 't-1': 1 })
  })

  it('waits as long as it says, then goes on to the next fault', async () => {
    const gateway = await startStruck([
      { do: 'slow', on: 'writes', ms: [30, 40], before: 'storing' },
      { do: 'slow', on: 'writes', ms: 30 },
      { do: 'refuse', on: 'writes', status: 502 },
    ])
    const began = performance.now()
    expect((await gateway.send(sent)).status).toBe(502)
    expect(performance.now() - began).toBeGreaterThan(58)
    expect(gateway.now()).toBe(NOW)
  })
})
