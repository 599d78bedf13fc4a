import { describe, expect, it, test } from 'vitest'
import { WaybillError } from '../../src/model/errors.ts'
import { beginRun } from '../ledger/begun-run.ts'
import { NIGHTLY, nightsOf, YEARS } from './nights.ts'
import { HOUR, install, MINUTE, short } from './schedule-under-test.ts'

const DAY = 24 * HOUR
const hourly = { cron: '0 * * * *', zone: 'Etc/UTC' } as const
const POLICIES = ['once', 'all', 'skip'] as const

describe.each(YEARS)('a year of nights in $zone', (year) => {
  const nights = nightsOf(year)
  const nightly = { cron: NIGHTLY, zone: year.zone }

  // With `skip`: what is missed by a moment does not run.
  it('each runs at its time', async () => {
    const { clock, job, start, runs, records } = await install('2026-01-01T00:00Z', ':memory:')
    job('nightly', { ...nightly, missed: 'skip' })
    const process = start('here:1', 7 * DAY)
    await clock.moveTo(Date.UTC(2026, 11, 31, 12))
    await process.stop()
    expect(runs).toEqual(nights.map((at) => `nightly ${short(at)} here:1`))
    const found = await records('nightly')
    expect(found.map(({ due }) => due)).toEqual(nights)
    expect(
      found.every(({ state, made_up_by, exit }) => state === 'ended' && made_up_by === null && exit === 0),
    ).toBe(true)
  })

  // Down over the nights in which clocks change, and three weeks in summer.
  const downs = ['2026-03-07', '2026-03-28', '2026-10-24', '2026-10-31'].map((date) => ({
    from: Date.parse(`${date}T12:00Z`),
    to: Date.parse(`${date}T12:00Z`) + 2 * DAY,
  }))
  downs.splice(2, 0, { from: Date.UTC(2026, 6, 1, 12), to: Date.UTC(2026, 6, 22, 12) })

  it.each(POLICIES)('with the process down over some of them, and missed: %s', async (missed) => {
    const { clock, job, start, runs, records } = await install('2026-01-01T00:00Z', ':memory:')
    job('nightly', { ...nightly, missed }, { takes: MINUTE })
    for (const { from, to } of downs) {
      const process = start('here:1', 7 * DAY)
      await clock.moveTo(from)
      await process.stop()
      await clock.moveTo(to)
    }
    const process = start('here:1', 7 * DAY)
    await clock.moveTo(Date.UTC(2026, 11, 31, 12))
    await process.stop()

    const expected = nights.filter((at) => !downs.some(({ from, to }) => at > from && at < to))
    for (const { from, to } of downs) {
      const away = nights.filter((at) => at > from && at < to)
      if (missed === 'once') expected.push(to)
      if (missed === 'all') expected.push(...away.map((_, at) => to + at * MINUTE))
    }
    expect(runs.map((run) => run.split(' ')[1])).toEqual(expected.sort((a, b) => a - b).map(short))
    const found = await records('nightly')
    expect(found.map(({ due }) => due)).toEqual(nights)
    const away = found.filter(({ due }) => downs.some(({ from, to }) => due > from && due < to))
    expect(away).toHaveLength(4 * 2 + 21)
    for (const fire of away) {
      const last = nights.findLast((at) =>
        downs.some(({ from, to }) => fire.due > from && at < to && fire.due < to),
      )
      const makesUp = { once: last, all: fire.due, skip: null }[missed]
      const ran = makesUp === fire.due
      expect(fire).toMatchObject({
        state: ran ? 'ended' : 'skipped',
        made_up_by: makesUp,
        reason: 'not-scheduled',
      })
    }
  })
})

test('a job that is seen for the first time has missed nothing', async () => {
  const { clock, job, start, runs } = await install('2026-03-02T00:30Z')
  const process = start()
  await clock.moveTo(Date.parse('2026-03-02T05:25Z'))
  job('new', { ...hourly, missed: 'all' })
  await clock.moveTo(Date.parse('2026-03-02T07:30Z'))
  await process.stop()
  expect(runs).toEqual(['new 2026-03-02T06:00Z here:1', 'new 2026-03-02T07:00Z here:1'])
})

test('jobs run beside each other, each of them one at a time', async () => {
  const { clock, job, start, runs, records } = await install('2026-03-02T00:30Z')
  job('slow', { ...hourly, missed: 'once' }, { takes: 150 * MINUTE })
  job('quick', { ...hourly, missed: 'skip' })
  const process = start()
  await clock.moveTo(Date.parse('2026-03-02T06:15Z'))
  await process.stop()
  expect(runs.filter((run) => run.startsWith('quick'))).toHaveLength(6)
  // From 01:00 to 03:30; then what was missed by then, once, to 06:00; and what is due then.
  expect(runs.filter((run) => run.startsWith('slow'))).toEqual([
    'slow 2026-03-02T01:00Z here:1',
    'slow 2026-03-02T03:30Z here:1',
    'slow 2026-03-02T06:00Z here:1',
  ])
  const [, two, three] = await records('slow')
  expect(two).toMatchObject({
    state: 'skipped',
    reason: 'job-held',
    made_up_by: Date.parse('2026-03-02T03:00Z'),
  })
  expect(two?.detail).toBe('here:1 (run run-1, since 2026-03-02T01:00:00.000Z)')
  expect(three).toMatchObject({ state: 'ended', reason: 'job-held', made_up_by: three?.due })
})

describe('a run of another process', () => {
  const at = (text: string) => Date.parse(`2026-03-02T${text}Z`)
  it.each([
    ['once', ['03:20'], ['skipped', 'ended']],
    ['all', ['03:20', '03:25'], ['ended', 'ended']],
    ['skip', [], ['skipped', 'skipped']],
  ] as const)(
    'makes a fire miss, which is made up for as the job says: %s',
    async (missed, times, states) => {
      const { clock, ledger, job, start, runs, records } = await install('2026-03-02T01:30Z')
      job('shared', { ...hourly, missed })
      const jobId = await ledger.jobs.id('shared', 'gateway')
      const asked = { jobId, runId: 'by-hand', owner: 'there:7', now: clock.now(), ttlMs: DAY }
      const answer = await ledger.leases.acquire(asked, () => false)
      const process = start('here:1', 10 * MINUTE)
      await clock.moveTo(at('03:15'))
      expect(runs).toEqual([])
      const [two] = await records('shared')
      expect(two?.detail).toBe('there:7 (run by-hand, since 2026-03-02T01:30:00.000Z)')
      if (answer.ok) await ledger.leases.release(answer.lease)
      await clock.moveTo(at('03:40'))
      await process.stop()
      expect(runs).toEqual(times.map((time) => `shared 2026-03-02T${time}Z here:1`))
      expect((await records('shared')).map(({ state }) => state)).toEqual(states)
    },
  )
})

test('a backfill that holds the job does not make a fire miss: the run itself asks for the job', async () => {
  const { clock, ledger, job, start, runs, records } = await install('2026-03-02T01:30Z')
  job('shared', { ...hourly, missed: 'skip' })
  const jobId = await ledger.jobs.id('shared', 'gateway')
  const asked = { jobId, runId: 'filling', owner: 'there:7', now: clock.now(), ttlMs: DAY, givesWay: true }
  expect((await ledger.leases.acquire(asked, () => false)).ok).toBe(true)
  const process = start('here:1', 10 * MINUTE)
  await clock.moveTo(Date.parse('2026-03-02T02:40Z'))
  await process.stop()
  // The run of this test does not wait, and says so.
  const [fire] = await records('shared')
  expect(runs).toEqual([])
  expect(fire).toMatchObject({ owner: 'here:1', begun_at: Date.parse('2026-03-02T02:00Z') })
})

describe('two processes on one ledger', () => {
  it.each(POLICIES)('run each fire once between them, with missed: %s', async (missed) => {
    const { clock, job, start, runs, fires } = await install('2026-03-02T00:30Z')
    job('a', { ...hourly, missed })
    job('b', { ...hourly, missed }, { takes: 0 })
    const both = [start('here:1'), start('there:2')]
    await clock.moveTo(Date.parse('2026-03-03T00:30Z'))
    for (const process of both) await process.stop()
    const hours = Array.from({ length: 24 }, (_, hour) => short(Date.UTC(2026, 2, 2, 1 + hour)))
    for (const name of ['a', 'b']) {
      const times = runs.filter((run) => run.startsWith(name)).map((run) => run.split(' ')[1])
      expect(times).toEqual(hours)
      expect(await fires(name)).toEqual(hours.map((hour) => `${hour} ended`))
    }
  })

  it.each([
    ['at once, where it can see that it is gone', true, '01:02'],
    ['once its lease has run out, where it cannot', false, '07:00'],
  ])('one goes on with what the other was killed over: %s', async (_, seen, time) => {
    const { clock, job, start, runs, records, told } = await install('2026-03-02T00:30Z')
    job('a', { ...hourly, missed: 'skip' }, { takes: 20 * MINUTE })
    const first = start('here:1')
    await clock.moveTo(Date.parse('2026-03-02T01:02Z'))
    first.kill(seen)
    const second = start('there:2')
    await clock.moveTo(Date.parse('2026-03-02T07:50Z'))
    await second.stop()
    expect(runs.slice(0, 2)).toEqual(['a 2026-03-02T01:00Z here:1', `a 2026-03-02T${time}Z there:2`])
    const [one, two] = await records('a')
    expect(told.filter((text) => text.includes('01:00Z'))).toContain('a abandoned 2026-03-02T01:00Z here:1')
    expect(one).toMatchObject({ state: 'ended', owner: 'there:2', run_id: 'run-2', exit: 0 })
    expect(two).toMatchObject(seen ? { state: 'ended' } : { state: 'skipped', reason: 'job-held' })
  })
})

test('a run that does not hold its job yet is given five minutes by who cannot see its process', async () => {
  const { clock, ledger, job, start, records, told } = await install('2026-03-02T00:30Z')
  job('a', { ...hourly, missed: 'skip' }, { takes: 20 * MINUTE })
  const first = start('there:7')
  await clock.moveTo(Date.parse('2026-03-02T01:00Z'))
  first.kill(false)
  const lease = await ledger.leases.last(await ledger.jobs.id('a', 'gateway'))
  if (lease === undefined) return expect.fail('nobody held the job')
  await ledger.leases.release({ jobId: lease.job_id, token: lease.token, runId: 'run-1' })
  const second = start('here:1', 10_000)
  const isAbandoned = () => told.includes('a abandoned 2026-03-02T01:00Z there:7')
  await clock.moveTo(Date.parse('2026-03-02T01:05:00Z'))
  expect([isAbandoned(), (await records('a'))[0]?.owner]).toEqual([false, 'there:7'])
  await clock.moveTo(Date.parse('2026-03-02T01:05:10Z'))
  expect([isAbandoned(), (await records('a'))[0]?.owner]).toEqual([true, 'here:1'])
  await second.stop()
})

describe('a backfill that has the job when nobody runs its fire any more', () => {
  it.each([
    ['is no sign of the process that began it', false, 'there:2'],
    ['may be waited for by that process', true, 'here:1'],
  ])('%s', async (_, waits, owner) => {
    const { clock, ledger, job, start, records } = await install('2026-03-02T00:30Z')
    job('a', { ...hourly, missed: 'skip' }, { takes: 20 * MINUTE })
    const first = start('here:1')
    await clock.moveTo(Date.parse('2026-03-02T01:02Z'))
    first.kill(false)
    const jobId = await ledger.jobs.id('a', 'gateway')
    const asked = { jobId, now: clock.now(), ttlMs: 24 * HOUR }
    await ledger.leases.acquire({ ...asked, runId: 'filling', owner: 'b:3', givesWay: true }, () => true)
    if (waits) await ledger.way.ask({ ...asked, owner: 'here:1' })
    const second = start('there:2')
    await clock.moveTo(Date.parse('2026-03-02T02:30Z'))
    await second.stop()
    expect((await records('a'))[0]?.owner).toBe(owner)
  })
})

test('what SIGTERM interrupts goes on at the next start, and so does what is due then', async () => {
  const { clock, job, start, runs, fires } = await install('2026-03-02T00:30Z')
  job('a', { ...hourly, missed: 'skip' }, { takes: 20 * MINUTE })
  const first = start()
  await clock.moveTo(Date.parse('2026-03-02T01:10Z'))
  await first.stop()
  expect(await fires('a')).toEqual(['2026-03-02T01:00Z interrupted'])
  await clock.moveTo(Date.parse('2026-03-02T01:30Z'))
  const second = start()
  await clock.moveTo(Date.parse('2026-03-02T02:30Z'))
  await second.stop()
  expect(runs.map((run) => run.split(' ')[1])).toEqual([
    '2026-03-02T01:00Z',
    '2026-03-02T01:30Z',
    '2026-03-02T02:00Z',
  ])
  expect(await fires('a')).toEqual(['2026-03-02T01:00Z ended', '2026-03-02T02:00Z ended'])
})

test.each([
  [
    'its own run was finished by a person meanwhile: it ends without another',
    '2026-03-02T01:00Z',
    'finished',
    'ended',
  ],
  ['a person gave its own run up: it ends without another', '2026-03-02T01:00Z', 'failed', 'ended'],
  [
    'a run from before was finished, which has not read its exports',
    '2026-03-02T00:50Z',
    'finished',
    'running',
  ],
] as const)('an interrupted fire, and %s', async (_, startedAt, state, expected) => {
  const { clock, ledger, job, start, fires, runs } = await install('2026-03-02T00:30Z')
  job('a', { ...hourly, missed: 'skip' }, { takes: 20 * MINUTE })
  const first = start()
  await clock.moveTo(Date.parse('2026-03-02T01:10Z'))
  await first.stop()
  const byHand = await beginRun(ledger, 'run-1', { job: 'a', startedAt: Date.parse(startedAt) })
  await byHand.endRun({ state, endedAt: clock.now(), reason: state === 'failed' ? 'given-up' : null })
  await ledger.leases.release(byHand.lease)
  const second = start()
  await clock.moveTo(Date.parse('2026-03-02T01:15Z'))
  expect(await fires('a')).toEqual([`2026-03-02T01:00Z ${expected}`])
  expect(runs).toHaveLength(expected === 'ended' ? 1 : 2)
  await second.stop()
})

test('a job file that is broken and repaired in between: told once, the others go on, missed fires are made up for', async () => {
  const { clock, job, start, runs, told, records } = await install('2026-03-02T00:30Z')
  job('good', { ...hourly, missed: 'skip' }, { takes: 0 })
  job('bad', { ...hourly, missed: 'all' })
  const process = start('here:1', 10 * MINUTE)
  await clock.moveTo(Date.parse('2026-03-02T01:30Z'))
  job('bad', 'broken')
  await clock.moveTo(Date.parse('2026-03-02T03:30Z'))
  job('bad', { ...hourly, missed: 'all' })
  await clock.moveTo(Date.parse('2026-03-02T04:30Z'))
  await process.stop()
  expect(runs.filter((run) => run.startsWith('good'))).toHaveLength(4)
  expect(runs.filter((run) => run.startsWith('bad')).map((run) => run.split(' ')[1])).toEqual([
    ...['2026-03-02T01:00Z', '2026-03-02T03:40Z', '2026-03-02T03:45Z', '2026-03-02T04:00Z'],
  ])
  expect((await records('bad')).map(({ reason }) => reason)).toEqual([
    null,
    'job-invalid',
    'job-invalid',
    null,
  ])
  expect(told.filter((text) => text.startsWith('bad'))).toEqual([
    'bad scheduled 0 * * * * 2026-03-02T01:00Z',
    'bad broken bad.yaml: 1 problem',
    'bad scheduled 0 * * * * 2026-03-02T04:00Z',
  ])
})

test('a changed line holds from when it is read; what leaves the schedule is made up for no more', async () => {
  const { clock, job, start, runs, told, fires } = await install('2026-03-02T00:30Z')
  job('a', { ...hourly, missed: 'all' })
  job('b', { ...hourly, missed: 'all' })
  job('c', { ...hourly, missed: 'all' })
  const process = start('here:1', 10 * MINUTE)
  await clock.moveTo(Date.parse('2026-03-02T01:30Z'))
  job('a', { cron: '45 * * * *', zone: 'Etc/UTC', missed: 'all' })
  job('b', 'none')
  job('c', 'gone')
  await clock.moveTo(Date.parse('2026-03-02T03:30Z'))
  job('b', { ...hourly, missed: 'all' })
  job('c', { ...hourly, missed: 'all' })
  await clock.moveTo(Date.parse('2026-03-02T04:30Z'))
  await process.stop()
  const times = (name: string) => runs.filter((run) => run.startsWith(name)).map((run) => run.slice(13, 18))
  expect(times('a')).toEqual(['01:00', '01:45', '02:45', '03:45'])
  for (const name of ['b', 'c']) {
    expect(times(name)).toEqual(['01:00', '04:00'])
    expect(await fires(name)).toEqual(['2026-03-02T01:00Z ended', '2026-03-02T04:00Z ended'])
    expect(told.filter((text) => text === `${name} unscheduled`)).toHaveLength(1)
  }
})

test('a run that fails has had its fire, and the next comes', async () => {
  const { clock, job, start, records } = await install('2026-03-02T00:30Z')
  job(
    'none',
    { ...hourly, missed: 'once' },
    { takes: 0, fails: new WaybillError('exports-none', 'nothing there') },
  )
  job('defect', { ...hourly, missed: 'once' }, { takes: 0, fails: new Error('a defect') })
  const process = start()
  await clock.moveTo(Date.parse('2026-03-02T02:30Z'))
  await process.stop()
  const none = { state: 'ended', exit: null, error: 'exports-none' }
  expect(await records('none')).toMatchObject([none, none])
  const defect = { state: 'ended', exit: 70, error: 'unexpected' }
  expect(await records('defect')).toMatchObject([defect, defect])
})

test('a folder of jobs that is gone is told once, and what was known is run', async () => {
  const { clock, job, start, fires, jobsFolder, told } = await install('2026-03-02T00:30Z')
  job('a', { ...hourly, missed: 'skip' })
  const process = start()
  await clock.moveTo(Date.parse('2026-03-02T00:45Z'))
  jobsFolder.gone = true
  await clock.moveTo(Date.parse('2026-03-02T03:30Z'))
  const trouble = 'folder trouble WaybillError: the folder is gone'
  expect(told.slice(1)).toEqual([trouble])
  expect(await fires('a')).toHaveLength(3)
  jobsFolder.gone = false
  await clock.moveTo(Date.parse('2026-03-02T04:30Z'))
  jobsFolder.gone = true
  await clock.moveTo(Date.parse('2026-03-02T05:30Z'))
  await process.stop()
  expect(told.slice(1)).toEqual([trouble, 'recovered', trouble])
})
