import { describe, expect, test, vi } from 'vitest'
import { closedPort } from '../closed-port.ts'
import { answer, PASS } from '../faults/fault-proxy.ts'
import { ANN, BEN, between, GOOD, HEADER, JOB, openClinic, rejectsOf } from './clinic.ts'
import { ended, summaryOf } from './command-line.ts'
import { startReferenceStore } from './reference-store.ts'

describe('a gateway that cannot be had', () => {
  test('not reachable: exit 3 after the job’s patience; once it is, the run goes on and nothing is doubled', async () => {
    const first = await startReferenceStore({ open: true, port: await closedPort() })
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
    // Who asks later is told the cause, not its code alone.
    const shown = (await clinic.workplace.waybill('show')).out
    expect(shown).toContain(`\nBecause  ${before.error?.message}\n`)
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

  test('it answers 503 to everything: that is what ended the run', async () => {
    const job = `${JOB}submit: { patience: 1s }\n`
    const clinic = await openClinic({ job, faultOf: () => answer(503) })
    await clinic.deliver('day.csv', `${HEADER}${ANN}`)
    const run = await clinic.run()
    expect(run.code).toBe(3)
    expect(summaryOf(run).error?.code).toBe('gateway-failing')
    expect((await clinic.workplace.waybill('show')).out).toMatch(
      /^Because {2}.* did not succeed for \d+ s, the patience of the job \(last: .* was answered 503\)$/m,
    )
  })

  test('a run that was interrupted and new exports: both are done, and the summary tells of both', async () => {
    const first = await startReferenceStore({ open: true, port: await closedPort() })
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
  const underWay = Promise.withResolvers<void>()
  let hang = true
  const clinic = await openClinic({
    faultOf({ method }) {
      if (!hang || method !== 'POST') return PASS
      underWay.resolve()
      return { do: 'pass-then-hang' }
    },
  })
  await clinic.deliver('day.csv', `${HEADER}${ANN}${BEN}`)
  const holder = clinic.workplace.start('run', 'clinic', '--json')
  await underWay.promise

  const second = await clinic.run()
  expect(second.code).toBe(5)
  expect(second.err).toContain('error job-held')
  expect(second.err).toContain(`:${holder.pid} runs the job clinic (run `)

  hang = false
  const gone = new Promise((resolve) => holder.once('close', resolve))
  holder.kill('SIGKILL')
  await gone
  const third = await clinic.run()
  expect(third.code).toBe(0)
  expect(summaryOf(third)).toMatchObject({ state: 'finished', balanced: true })
  expect(await clinic.stored()).toEqual(GOOD)
})

/** Times as fast as it is: tries come soon, and the patience of half an hour is not at its end. */
const SPEED = 20

test('who looks on is told that a run waits, and why; not of one that was killed; and it goes on by itself', async () => {
  const first = await startReferenceStore({ open: true, port: await closedPort() })
  const port = Number(new URL(first.url).port)
  await first.close()
  const clinic = await openClinic({ store: first })
  await clinic.deliver('day.csv', `${HEADER}${ANN}${BEN}`)
  const { waybill } = clinic.workplace
  /** In a process of its own, until it says that nothing gets through. */
  const startWaiting = async () => {
    const child = clinic.workplace.startFast(new Date().toISOString(), SPEED, 'run', 'clinic')
    const over = ended(child)
    let said = ''
    await new Promise<void>((resolve) => {
      child.stderr.on('data', (text: Buffer) => {
        said += text.toString()
        if (said.includes('gateway unavailable since')) resolve()
      })
    })
    return { child, over }
  }
  const shown = async (...args: string[]): Promise<string> => (await waybill(...args)).out

  const killed = await startWaiting()
  const cause = `failed: ECONNREFUSED, at ${first.url}`
  // It is told and written at the same time.
  const listed = await vi.waitFor(
    async () => {
      const text = await shown('runs')
      expect(text).toContain(' waits for the gateway since ')
      return text
    },
    { timeout: 60_000 },
  )
  expect(listed).toMatch(/ clinic +waiting +0 /)
  const [head, ...lines] = (await shown('show')).split('\n').slice(1)
  expect(head).toMatch(/: under way since /)
  expect(lines.slice(0, 4)).toEqual([
    expect.stringMatching(/^Waiting {2}for the gateway since \S+Z: unavailable \(not-sent\)$/),
    expect.stringMatching(new RegExp(`^ {9}\\S.* ${cause}$`)),
    expect.stringMatching(/^ {9}gives up at \S+Z; 6 records are pending\. To check the gateway$/),
    '    waybill doctor',
  ])
  const explained = JSON.parse(await shown('schedule', '--explain', 'clinic', '--json')).jobs[0].now
  expect(explained).toMatchObject({ owner: expect.stringContaining(`:${killed.child.pid}`) })
  expect(explained.waits).toMatchObject({
    class: 'not-sent',
    what: expect.stringContaining(cause),
    pending: 6,
  })
  expect(Date.parse(explained.waits.givesUpAt) - Date.parse(explained.waits.since)).toBe(30 * 60_000)

  killed.child.kill('SIGKILL')
  await killed.over
  const after = await shown('runs')
  expect(after).toMatch(/ clinic +stopped +0 /)
  expect(after).not.toContain('waits')

  const resumed = await startWaiting()
  const store = await startReferenceStore({ open: true, port })
  const { code, err } = await resumed.over
  expect(code).toBe(0)
  expect(err.match(/gateway unavailable since/g)).toHaveLength(1)
  expect(err).toMatch(/^Gateway available again after .* failed requests?; 6 records are pending\.$/m)
  expect(await shown('runs')).toMatch(/clinic +finished +0 +0 +0 +2 +6 /)
  expect(await store.records('biometric')).toHaveLength(6)
})
