/** Jobs that a person has paused, and runs that a person has stopped, on a schedule whose clock is moved. */
import { expect, it, test } from 'vitest'
import { WaybillError } from '../../src/model/errors.ts'
import { pauseEnd } from '../../src/runs/pauses.ts'
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
    expect(
      await ledger.pauses.begin(jobId, { by: 'ann', note: 'moving', at: clock.now(), until: null }),
    ).toBe(true)
    expect(await ledger.pauses.begin(jobId, { by: 'ben', note: null, at: clock.now(), until: null })).toBe(
      false,
    )
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

it.each([
  ['once', 2],
  ['all', 3],
  ['skip', 1],
] as const)(
  'a pause with an end is over by itself, and its fires are made up for with missed: %s',
  async (missed, runsSince) => {
    const { clock, ledger, job, start, runs, records } = await install('2026-03-02T00:30Z', ':memory:')
    job('hourly', { ...hourly, missed }, { takes: MINUTE })
    const process = start('here:1', MINUTE)
    await clock.moveTo(at('01:30'))
    const jobId = await ledger.jobs.id('hourly', 'gateway')
    const pause = { by: 'ann', note: null, at: clock.now(), until: at('03:00') }
    expect(await ledger.pauses.begin(jobId, pause)).toBe(true)
    // Another end for the same pause.
    expect(
      await ledger.pauses.begin(jobId, { ...pause, by: 'ben', at: at('01:31'), until: at('03:30') }),
    ).toBe(true)
    await clock.moveTo(at('03:29'))
    expect(runs).toHaveLength(1)
    expect(await ledger.pauses.of(jobId, at('03:30') - 1)).toMatchObject({ by: 'ben', at: at('01:30') })
    expect(await ledger.pauses.of(jobId, at('03:30'))).toBeUndefined()
    const [, second] = await records('hourly')
    expect(second?.detail).toMatch(/^ben, since 2026-03-02T01:30:00.000Z until 2026-03-02T03:30:00.000Z$/)
    await clock.moveTo(at('04:30'))
    await process.stop()
    expect(runs.slice(1)).toHaveLength(runsSince)
    const over = { by: 'ben', note: null, at: clock.now() }
    expect(await ledger.pauses.end(jobId, over)).toBe(false)
    const actions = await ledger.audit.read({})
    expect(actions.map(({ action, subject }) => [action, subject])).toEqual([
      ['pause', 'until 2026-03-02T03:00:00.000Z'],
      ['pause', 'until 2026-03-02T03:30:00.000Z'],
    ])
  },
)

it.each([
  ['06:00', 'America/New_York', '2026-03-07T10:00Z', '2026-03-07T11:00Z'],
  ['06:00', 'America/New_York', '2026-03-07T12:00Z', '2026-03-08T10:00Z'],
  ['02:30', 'America/New_York', '2026-03-08T05:00Z', '2026-03-08T07:00Z'],
  ['2026-03-09T06:00', 'America/New_York', '2026-03-07T10:00Z', '2026-03-09T10:00Z'],
  ['2026-03-09', 'America/New_York', '2026-03-07T10:00Z', '2026-03-09T04:00Z'],
  ['2h', 'America/New_York', '2026-03-08T06:30Z', '2026-03-08T08:30Z'],
])('--until %s in %s at %s is %s', (text, zone, now, end) => {
  expect(pauseEnd(text, zone, Date.parse(now))).toBe(Date.parse(end))
})

it.each(['2026-03-07', '2026-03-07T10:00', '0h', '25:00', '2026-02-30', 'tomorrow', ''])(
  '--until %j is refused',
  (text) => {
    const words = expect.objectContaining({ code: 'usage-wrong' })
    expect(() => pauseEnd(text, 'Etc/UTC', Date.parse('2026-03-07T10:00Z'))).toThrow(words)
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
