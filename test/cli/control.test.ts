/** Runs of other processes that are watched and stopped, a terminal that goes away, options that are wrong. */
import type { ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test, vi } from 'vitest'
import { LOOK_EVERY_MS } from '../../src/run/lease.ts'
import { PASS } from '../faults/fault-proxy.ts'
import { type Clinic, JOB, openClinic } from './clinic.ts'
import { createWorkplace, ended, summaryOf } from './command-line.ts'
import { delivery } from './nights.ts'

const ROWS = 2_000

interface Scene extends Clinic {
  /** A run in a process of its own, once its third batch is on its way; that one is held until `release` is called. */
  begin(): Promise<{ readonly child: ChildProcess; readonly over: ReturnType<typeof ended>; release(): void }>
  query(sql: string): Record<string, unknown>[]
}

async function openScene(): Promise<Scene> {
  let batches = 0
  let hold: Promise<void> | undefined
  const clinic = await openClinic({
    job: `${JOB}submit: { concurrency: 1, readLag: 100ms }\n`,
    async faultOf({ method }) {
      if (method === 'POST' && ++batches >= 3) await hold
      return PASS
    },
  })
  await clinic.deliver('day.csv', delivery('p', ROWS))
  return {
    ...clinic,
    query(sql) {
      const database = new DatabaseSync(join(clinic.workplace.home, 'ledger.sqlite'), { readOnly: true })
      try {
        return database.prepare(sql).all()
      } finally {
        database.close()
      }
    },
    async begin() {
      let release = (): void => {}
      hold = new Promise((resolve) => {
        release = resolve
      })
      const child = clinic.workplace.start('run', 'clinic', '--json')
      const over = ended(child)
      await vi.waitFor(() => expect(batches).toBeGreaterThanOrEqual(3), { timeout: 60_000 })
      return { child, over, release }
    },
  }
}

test('a run of another process is stopped: what is under way is finished, and the next run goes on', async () => {
  const scene = await openScene()
  const { over, release } = await scene.begin()
  const stopping = ended(scene.workplace.start('stop', 'clinic', '--by', 'ann'))
  await vi.waitFor(() => expect(scene.query('select stop_by from run')).toEqual([{ stop_by: 'ann' }]), {
    timeout: 60_000,
  })
  // It looks once a second.
  const asked = Date.now()
  await vi.waitFor(() => expect(Date.now()).toBeGreaterThan(asked + 2 * LOOK_EVERY_MS), { timeout: 60_000 })
  release()
  const [run, stop] = await Promise.all([over, stopping])
  expect([run.code, stop.code]).toEqual([130, 0])
  const summary = summaryOf(run)
  expect(summary).toMatchObject({ state: 'interrupted', error: { code: 'asked-to-stop' } })
  expect(stop.out).toContain(': interrupted (asked-to-stop), exit code 130, after')
  expect(stop.out).toContain('Because  ann has stopped it')
  expect(stop.out).toContain('    waybill run clinic')
  const ofJob = await scene.workplace.waybill('stop', 'clinic')
  expect([ofJob.code, ofJob.err]).toEqual([2, expect.stringContaining('no run of clinic is under way')])
  const again = await scene.workplace.waybill('stop', summary.run)
  expect([again.code, again.err]).toEqual([2, expect.stringContaining('is not under way')])

  const next = summaryOf(await scene.run())
  expect(next).toMatchObject({ run: summary.run, state: 'finished', rows: { read: ROWS } })
  expect(await scene.store.records('biometric')).toHaveLength(3 * ROWS)
})

test('a run of another process is watched to its end, with its exit code', async () => {
  const scene = await openScene()
  const { over, release } = await scene.begin()
  const watching = scene.workplace.start('watch')
  const watched = ended(watching)
  const following = scene.workplace.start('run', 'clinic', '--watch')
  const followed = ended(following)
  const leaving = scene.workplace.start('watch')
  const left = ended(leaving)
  const isFollowing = ({ stderr }: ChildProcess) =>
    new Promise<void>((resolve) => {
      stderr?.on('data', (text: Buffer) => {
        if (text.includes('rows settled')) resolve()
      })
    })
  await Promise.all([watching, following, leaving].map(isFollowing))
  leaving.kill('SIGINT')
  const given = await left
  expect([given.code, given.err]).toEqual([
    130,
    expect.stringContaining('is no longer watched; it continues'),
  ])
  expect(given.err).not.toContain('Stopping')
  release()
  const { run } = summaryOf(await over)
  const { code, out, err } = await watched
  expect(code).toBe(0)
  expect(err).toContain(`Run ${run}: 0 rows settled, 0 accepted`)
  const other = await followed
  expect([other.code, other.out]).toEqual([0, out])
  expect(out).toContain(`Run ${run} of clinic: finished, exit code 0, after`)
})

test('a terminal that goes away ends a run like SIGTERM, also where it says so twice', async () => {
  const scene = await openScene()
  const { child, over, release } = await scene.begin()
  child.kill('SIGHUP')
  await new Promise<void>((resolve) => {
    child.stderr?.on('data', (text: Buffer) => {
      if (text.includes('Stopping')) resolve()
    })
  })
  child.kill('SIGHUP')
  release()
  const { code, out, err } = await over
  expect([code, err]).toEqual([130, expect.stringContaining('Stopping: work in flight is finished')])
  expect(summaryOf({ code, out, err })).toMatchObject({ state: 'interrupted', balanced: true })
})

test('a job is paused and goes on again; who paused it is told', async () => {
  const clinic = await openClinic({ job: `${JOB}schedule: { cron: "15 2 * * *", zone: Etc/UTC }\n` })
  const { waybill } = clinic.workplace
  const paused = await waybill('pause', 'clinic', '--by', 'ann', '--note', 'the vendor is moving')
  expect([paused.code, paused.out]).toEqual([
    0,
    'clinic is paused: the schedule does not start it. To continue: waybill unpause clinic\n',
  ])
  expect((await waybill('pause', 'clinic')).out).toContain('is paused already')
  const explained = await waybill('schedule', '--explain', 'clinic')
  expect(explained.out).toMatch(
    /^paused by ann since \S+Z: the vendor is moving\. To continue: waybill unpause clinic$/m,
  )
  expect(JSON.parse((await waybill('schedule', '--explain', '--json')).out).jobs).toMatchObject([
    { job: 'clinic', paused: { by: 'ann', note: 'the vendor is moving' } },
  ])
  // What is typed is run all the same.
  await clinic.deliver('day.csv', delivery('p', 2))
  expect((await clinic.run()).code).toBe(0)
  expect((await waybill('unpause', 'clinic', '--json')).out).toBe('{"job":"clinic","changed":true}\n')
  expect((await waybill('unpause', 'clinic')).out).toBe('clinic was not paused.\n')
  const window = await waybill('pause', 'clinic', '--until', '2h', '--json')
  const { until } = JSON.parse(window.out)
  expect(JSON.parse(window.out)).toEqual({ job: 'clinic', changed: true, until })
  expect(Math.abs(Date.parse(until) - Date.now() - 7_200_000)).toBeLessThan(600_000)
  expect((await waybill('schedule', '--explain', 'clinic')).out).toMatch(/^paused by \S+ since \S+Z until /m)
  expect((await waybill('pause', 'clinic', '--until', '2020-01-01')).err).toContain('error usage-wrong')
  expect((await waybill('pause', 'other')).err).toContain('error job-not-found')
})

test.each([
  [['runs', '--json', '--limit', 'many'], /must be a whole number/],
  [['show', '--json', '--fast'], /unknown option '--fast'/],
  [['stop', '--json'], /missing required argument 'run'/],
])('what is typed wrong is told as JSON, too: %j', async (args, message) => {
  const { waybill } = await createWorkplace()
  const { code, out, err } = await waybill(...args)
  expect(code).toBe(2)
  expect(JSON.parse(out)).toMatchObject({
    error: { code: 'usage-wrong', message: expect.stringMatching(message) },
  })
  expect(err).toMatch(message)
})
