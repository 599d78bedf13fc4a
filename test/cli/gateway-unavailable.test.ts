import { randomInt } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { PASS, startFaultProxy } from '../faults/fault-proxy.ts'
import { ANN, BEN, between, GOOD, HEADER, JOB, openClinic, rejectsOf } from './clinic.ts'
import { summaryOf } from './command-line.ts'
import { gatewaySettings, startReferenceStore } from './reference-store.ts'

/** Below those that the system gives out, so that no server of another test takes it while it is free. */
const quietPort = (): number => randomInt(20_000, 30_000)

describe('a gateway that cannot be had', () => {
  test('not reachable: exit 3 after the job’s patience; once it is, the run goes on and nothing is doubled', async () => {
    const first = await startReferenceStore({ open: true, port: quietPort() })
    const port = Number(new URL(first.url).port)
    await first.close()
    const clinic = await openClinic({ store: first, job: `${JOB}submit: { patience: 1s }\n` })
    await clinic.deliver('day.csv', between('cid,2026-03-02,630,,,,\n'))
    const stopped = await clinic.run()
    const before = summaryOf(stopped)
    expect(stopped.code).toBe(3)
    expect(before).toMatchObject({
      state: 'interrupted',
      balanced: true,
      error: { code: 'gateway-unreachable' },
    })
    expect(before.error?.message).toContain(`failed: ECONNREFUSED, at ${first.url})`)
    // What found no connection was never sent.
    expect(before.requests).toEqual({ sent: 0, retried: 0, readBack: 0 })
    expect(before.records.biometric).toMatchObject({ made: 7, accepted: 0, pending: 6, rejected: 1 })

    await startReferenceStore({ open: true, port })
    const resumed = await clinic.run()
    const after = summaryOf(resumed)
    expect(resumed.code).toBe(1)
    expect(after).toMatchObject({ run: before.run, state: 'finished', balanced: true })
    expect(after.records.biometric).toMatchObject({ made: 7, accepted: 6, pending: 0, rejected: 1 })
    expect(await rejectsOf(after)).toEqual(['line 3 heart-rate value-out-of-range'])
    expect(await clinic.stored()).toEqual(GOOD)
  })

  test('a run that was interrupted and new exports: both are done, and the summary tells of both', async () => {
    const first = await startReferenceStore({ open: true, port: quietPort() })
    const port = Number(new URL(first.url).port)
    await first.close()
    const clinic = await openClinic({ store: first, job: `${JOB}submit: { patience: 1s }\n` })
    await clinic.deliver('day-1.csv', `${HEADER}${ANN}`)
    const before = summaryOf(await clinic.run())
    await clinic.deliver('day-2.csv', `${HEADER}${BEN}`)
    await startReferenceStore({ open: true, port })
    const after = await clinic.run()
    expect(after.code).toBe(0)
    expect(summaryOf(after)).toMatchObject({
      balanced: true,
      exports: [{ name: 'day-2.csv' }],
      resumed: { run: before.run, balanced: true },
    })
    expect(await clinic.stored()).toEqual(GOOD)
  })

  test('it refuses the API key: exit 3, resumable, and the key is nowhere to be read', async () => {
    const store = await startReferenceStore({ open: true, apiKeys: ['another-key'] })
    const clinic = await openClinic({ store, environment: { WAYBILL_API_KEY: 'wrong-api-key' } })
    await clinic.deliver('day.csv', `${HEADER}${ANN}${BEN}`)
    const { code, out, err } = await clinic.run()
    expect(code).toBe(3)
    expect(summaryOf({ code, out, err })).toMatchObject({
      state: 'interrupted',
      balanced: true,
      error: { code: 'gateway-refused-credentials' },
    })
    expect(out + err).not.toContain('wrong-api-key')
    expect(await store.allRecords()).toEqual([])
  })
})

test('a job that another process runs: exit 5, naming it; once that one is dead, the next takes its run over', async () => {
  const store = await startReferenceStore({ open: true })
  let arrived = (): void => {}
  const underWay = new Promise<void>((resolve) => {
    arrived = resolve
  })
  let hang = true
  const proxy = await startFaultProxy(store.url, ({ method }) => {
    if (!hang || method !== 'POST') return PASS
    arrived()
    return { do: 'pass-then-hang' }
  })
  const clinic = await openClinic({ store, environment: gatewaySettings(proxy.url) })
  await clinic.deliver('day.csv', `${HEADER}${ANN}${BEN}`)
  const holder = clinic.workplace.start('run', 'clinic', '--json')
  await underWay

  const second = await clinic.run()
  expect(second.code).toBe(5)
  expect(second.err).toContain('error job-held')
  expect(second.err).toContain(`:${holder.pid} (run `)

  hang = false
  const gone = new Promise((resolve) => holder.once('close', resolve))
  holder.kill('SIGKILL')
  await gone
  const third = await clinic.run()
  expect(third.code).toBe(0)
  expect(summaryOf(third)).toMatchObject({ state: 'finished', balanced: true })
  expect(await clinic.stored()).toEqual(GOOD)
})
