/** Jobs that a person has paused, and runs that a person has stopped, on a schedule whose clock is moved. */
import { expect, it, test } from 'vitest'
import { WaybillError } from '../../src/model/errors.ts'
import { install, MINUTE } from './schedule-under-test.ts'

const hourly = { cron: '0 * * * *', zone: 'Etc/UTC' } as const
const at = (time: string): number => Date.parse(`2026-03-02T${time}Z`)
it.each(['once', 'all', 'skip'] as const)(
  'of a paused job nothing is begun; what it missed is made up for afterwards, with missed: %s',
  async (missed) => {
    const { clock, ledger, job, start, runs, records } = await install('2026-03-02T00:30Z', ':memory:')
    job('hourly', { ...hourly, missed }, { takes: MINUTE })
    const process = start('here:1', MINUTE)
    await clock.moveTo(at('01:30'))
    expect(runs).toHaveLength(1)
    const jobId = await ledger.jobs.id('hourly', 'gateway')
    expect(await ledger.pauses.begin(jobId, { by: 'ann', note: 'moving', at: clock.now() })).toBe(true)
    expect(await ledger.pauses.begin(jobId, { by: 'ben', note: null, at: clock.now() })).toBe(false)
    await clock.moveTo(at('03:30'))
    expect(runs).toHaveLength(1)
    const [, second, third] = await records('hourly')
    const why = { reason: 'paused', detail: 'ann, since 2026-03-02T01:30:00.000Z: moving' }
    const state = missed === 'skip' ? 'skipped' : 'missed'
    expect([second, third]).toMatchObject([
      { state, ...why },
      { state, ...why },
    ])
    expect(await ledger.pauses.end(jobId, { by: 'ben', note: null, at: clock.now() })).toBe(true)
    expect(await ledger.pauses.end(jobId, { by: 'ben', note: null, at: clock.now() })).toBe(false)
    await clock.moveTo(at('04:30'))
    await process.stop()
    const since = runs.slice(1)
    expect(since).toHaveLength({ once: 2, all: 3, skip: 1 }[missed])
  },
)

test('a run that a person has stopped is not begun again at once: the next fire goes on with it', async () => {
  const { clock, job, start, runs, records } = await install('2026-03-02T00:30Z', ':memory:')
  const fails = new WaybillError('asked-to-stop', 'ann has stopped it')
  job('hourly', { ...hourly, missed: 'once' }, { takes: MINUTE, fails })
  const process = start('here:1', MINUTE)
  await clock.moveTo(at('01:50'))
  expect(runs).toHaveLength(1)
  expect(await records('hourly')).toMatchObject([{ state: 'ended', exit: 130, error: 'asked-to-stop' }])
  await clock.moveTo(at('02:30'))
  await process.stop()
  expect(runs).toHaveLength(2)
})
