/** When a run that the gateway's absence has ended is tried again: by the published days on which clocks are changed, and by arithmetic. */
import { describe, expect, it, test } from 'vitest'
import { WaybillError } from '../../src/model/errors.ts'
import type { JobSchedule } from '../../src/schedule/schedule-parts.ts'
import { nextTry, stepOf } from '../../src/schedule/tries.ts'
import { HOUR, install, MINUTE, short } from './schedule-under-test.ts'

const AWAY = 'gateway-unreachable'
const at = (time: string): number => Date.parse(time.length === 6 ? `2026-03-02T${time}` : time)
const nightly = {
  cron: '15 2 * * *',
  zone: 'America/New_York',
  missed: 'once',
  retry: { every: 15 * MINUTE, until: '06:00' },
} as const satisfies JobSchedule
const utc = { ...nightly, zone: 'Etc/UTC' } as const

describe('the next try', () => {
  it.each([
    // schedule, due, end of the last try, expected
    ['a quarter of an hour after the last', utc, '02:15Z', '02:45Z', '03:00Z'],
    ['at `until` itself', utc, '02:15Z', '05:45Z', '06:00Z'],
    ['not a minute later', utc, '02:15Z', '05:46Z', undefined],
    ['none where a late run ends after `until`', utc, '02:15Z', '09:00Z', undefined],
    ['none without `retry`', { ...utc, retry: undefined }, '02:15Z', '02:45Z', undefined],
    ['none at the next fire', { ...utc, cron: '15 * * * *' }, '02:15Z', '03:00Z', undefined],
    ['the last before the next fire', { ...utc, cron: '15 * * * *' }, '02:15Z', '02:59Z', '03:14Z'],
    [
      'without `until` up to the next fire',
      { ...utc, retry: { every: HOUR } },
      '02:15Z',
      '2026-03-03T01:14Z',
      '2026-03-03T02:14Z',
    ],
    [
      'past midnight, where the fire is in the evening',
      { ...utc, cron: '0 22 * * *' },
      '2026-03-01T22:00Z',
      '2026-03-02T05:30Z',
      '2026-03-02T05:45Z',
    ],
    // New York: 06:00 is 11:00 UTC in winter and 10:00 in summer; clocks go ahead on 8 March 2026, and back on 1 November.
    ['winter', nightly, '2026-03-07T07:15Z', '2026-03-07T10:45Z', '2026-03-07T11:00Z'],
    ['the night that is short', nightly, '2026-03-08T07:00Z', '2026-03-08T09:45Z', '2026-03-08T10:00Z'],
    ['an hour earlier there', nightly, '2026-03-08T07:00Z', '2026-03-08T09:46Z', undefined],
    ['the night that is long', nightly, '2026-11-01T07:15Z', '2026-11-01T10:45Z', '2026-11-01T11:00Z'],
    [
      '`until` within the hour that is skipped is the end of the gap',
      { ...nightly, cron: '0 1 * * *', retry: { every: 15 * MINUTE, until: '02:30' } },
      '2026-03-08T06:00Z',
      '2026-03-08T06:45Z',
      '2026-03-08T07:00Z',
    ],
    [
      '`until` within the hour that comes twice is its first time',
      { ...nightly, cron: '0 0 * * *', retry: { every: 15 * MINUTE, until: '01:30' } },
      '2026-11-01T04:00Z',
      '2026-11-01T05:16Z',
      undefined,
    ],
  ] as const)('%s', (_, schedule, due, ended, expected) => {
    const next = nextTry(schedule, at(due), AWAY, at(ended))
    expect(next).toBe(expected === undefined ? undefined : at(expected))
  })

  it.each([
    ['gateway-unreachable', true],
    ['gateway-failing', true],
    ['gateway-refused-credentials', false],
    ['gateway-redirects', false],
    ['mapping-invalid', false],
    ['threshold-passed', false],
    ['exports-none', false],
    ['interrupted', false],
    [undefined, false],
  ])('after %s: %s', (code, isTried) => {
    expect(nextTry(utc, at('02:15Z'), code, at('02:45Z')) !== undefined).toBe(isTried)
  })
})

it.each([
  ['before its time', '02:59Z', utc, false, 'wait'],
  ['at its time', '03:00Z', utc, false, 'try'],
  ['the job cannot run', '03:00Z', utc, true, 'wait'],
  ['the process was down until later', '05:59Z', utc, false, 'try'],
  ['the process was down past `until`', '06:01Z', utc, false, 'end'],
  ['the job cannot run, past `until`', '06:01Z', utc, true, 'end'],
  ['the next fire has come', '03:15Z', { ...utc, cron: '15 * * * *' }, false, 'end'],
  ['the job has `retry` no more', '03:00Z', { ...utc, retry: undefined }, false, 'end'],
  ['the job file cannot be read', '07:00Z', undefined, true, 'wait'],
] as const)('a try that is due at 03:00, %s: %s', (_, now, schedule, isHindered, step) => {
  const fire = { due: at('02:15Z'), retry_at: at('03:00Z') }
  expect(stepOf(fire, schedule, at(now), isHindered)).toBe(step)
})

describe('on a schedule', () => {
  const failing = { takes: 30 * MINUTE, fails: new WaybillError(AWAY, 'the gateway is away') }
  const beginnings = (runs: readonly string[]): (string | undefined)[] => runs.map((run) => run.split(' ')[1])

  test('tries follow each other until `until`; then the fire has ended, and the next comes as ever', async () => {
    const { clock, job, start, runs, records, told } = await install('2026-03-02T02:00Z')
    job('nightly', utc, failing)
    const process = start('here:1', HOUR)
    await clock.moveTo(at('02:50Z'))
    expect(await records('nightly')).toMatchObject([
      { state: 'retrying', exit: 3, error: AWAY, retry_at: at('03:00Z') },
    ])
    await clock.moveTo(at('2026-03-03T02:20Z'))
    await process.stop()
    const first = ['02:15', '03:00', '03:45', '04:30', '05:15', '06:00']
    expect(beginnings(runs)).toEqual([...first.map((time) => `2026-03-02T${time}Z`), '2026-03-03T02:15Z'])
    expect(await records('nightly')).toMatchObject([
      { state: 'ended', exit: 3, error: AWAY, retry_at: null },
      { due: at('2026-03-03T02:15Z') },
    ])
    expect(told.filter((words) => words.includes('gave up'))).toEqual([])
  })

  test('a due try survives the process, killed or stopped; one whose time has passed meanwhile is given up', async () => {
    const { clock, job, start, runs, fires, told } = await install('2026-03-02T02:00Z')
    job('nightly', utc, failing)
    const first = start('here:1', HOUR)
    await clock.moveTo(at('02:50Z'))
    await first.stop()
    await clock.moveTo(at('03:20Z'))
    const second = start('there:2', HOUR)
    await clock.moveTo(at('03:51Z'))
    second.kill(true)
    expect(beginnings(runs)).toEqual(['2026-03-02T02:15Z', '2026-03-02T03:20Z'])
    await clock.moveTo(at('06:30Z'))
    const third = start('there:3', HOUR)
    await clock.moveTo(at('06:40Z'))
    await third.stop()
    expect(runs).toHaveLength(2)
    expect(await fires('nightly')).toEqual(['2026-03-02T02:15Z ended'])
    expect(told).toContain('nightly gave up 2026-03-02T02:15Z')
  })

  test('a paused job is not tried; unpaused in time it is', async () => {
    const { clock, job, ledger, start, runs } = await install('2026-03-02T02:00Z')
    job('nightly', utc, failing)
    const process = start('here:1', 5 * MINUTE)
    await clock.moveTo(at('02:50Z'))
    const jobId = await ledger.jobs.id('nightly', 'gateway')
    const acting = { by: 'ann', note: null, at: clock.now() }
    await ledger.pauses.begin(jobId, { ...acting, until: null })
    await clock.moveTo(at('04:02Z'))
    await ledger.pauses.end(jobId, acting)
    await clock.moveTo(at('04:20Z'))
    await process.stop()
    expect(beginnings(runs)).toEqual(['2026-03-02T02:15Z', '2026-03-02T04:05Z'])
  })

  test('the next fire takes the place of the tries', async () => {
    const { clock, job, start, runs, fires } = await install('2026-03-02T02:00Z')
    job('hourly', { ...utc, cron: '15 * * * *' }, failing)
    const process = start('here:1', HOUR)
    await clock.moveTo(at('04:50Z'))
    await process.stop()
    // Each ends at a quarter to; a quarter of an hour later is still before the next fire.
    expect(beginnings(runs)).toEqual(
      ['02:15', '03:00', '03:30', '04:15'].map((time) => `2026-03-02T${time}Z`),
    )
    expect(await fires('hourly')).toEqual([
      '2026-03-02T02:15Z ended',
      '2026-03-02T03:15Z ended',
      '2026-03-02T04:15Z retrying',
    ])
  })

  test('a try that another process begins is not begun twice', async () => {
    const { clock, job, start, runs } = await install('2026-03-02T02:00Z')
    job('nightly', utc, failing)
    const both = [start('here:1', HOUR), start('there:2', HOUR)]
    await clock.moveTo(at('04:40Z'))
    for (const process of both) await process.stop()
    expect(beginnings(runs)).toEqual(
      ['02:15', '03:00', '03:45', '04:30'].map((time) => short(at(`${time}Z`))),
    )
  })
})
