/** What a schedule meets is told: real job files, a real ledger, a real receiver, and a clock that the test moves. */
import { once } from 'node:events'
import { mkdir, rename, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import type { Job } from '../../src/definitions/definition-files.ts'
import type { FireRecord } from '../../src/ledger/ledger.ts'
import { openLedger } from '../../src/ledger/sqlite/open-ledger.ts'
import { WaybillError } from '../../src/model/errors.ts'
import { createScheduleTeller } from '../../src/runs/keep-schedule.ts'
import { listJobs } from '../../src/runs/scheduled-jobs.ts'
import { runSchedule } from '../../src/schedule/run-schedule.ts'
import { createScheduleEvents } from '../../src/schedule/schedule-parts.ts'
import { readSettings } from '../../src/system/settings.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { beginRun } from '../ledger/begun-run.ts'
import { type HookServer, SECRET, startHookServer } from '../notify/hook-server.ts'
import { createMovedClock } from '../schedule/moved-clock.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const STEP = 10 * MINUTE

async function install(startAt: string) {
  const folder = await temporaryFolder()
  await mkdir(join(folder, 'jobs'))
  const settings = readSettings(
    { WAYBILL_JOBS: join(folder, 'jobs'), WAYBILL_WEBHOOK_SECRET: SECRET, WAYBILL_GATEWAY_URL: 'built-in' },
    folder,
  )
  const ledger = await openLedger(join(folder, 'ledger.sqlite'))
  onTestFinished(() => ledger.close())
  const hook = await startHookServer()
  const clock = createMovedClock(Date.parse(startAt))
  let ids = 0
  let versions = 0
  const troubles: string[] = []
  const write = async (text: string, ending = 'yaml'): Promise<void> => {
    const file = join(folder, `jobs/a.${ending}`)
    await writeFile(file, text)
    // A disk may not tell two changes within a few milliseconds apart.
    await utimes(file, ++versions, versions)
  }
  const logger = createLogger({ level: 'error', form: 'text', print() {} }, undefined, clock.now)
  /** As when its disk is not mounted. @param from `jobs` or where it was moved */
  const moveJobs = (from: string, to: string): Promise<void> => rename(join(folder, from), join(folder, to))
  const isDead = (owner: string): boolean => owner === 'gone:1' || owner === 'here:1'
  const tellSchedule = () => {
    const context = {
      settings,
      logger,
      now: clock.now,
      sleep: clock.sleep,
      randomHex: () => String(++ids),
      owner: 'here:1',
      isDead: () => false,
      version: '0.0.0',
    }
    return createScheduleTeller(context, {
      ledger,
      home: folder,
      gatewayOf,
      now: clock.now,
      isDead,
    })
  }
  return {
    folder,
    ledger,
    hook,
    tellSchedule,
    clock,
    write,
    moveJobs,
    /** Of the schedule itself. */
    troubles,
    job: (missed: string, ending?: string) =>
      write(
        `job: a
schedule: { cron: "0 * * * *", zone: Etc/UTC, missed: ${missed} }
exports: { from: in, match: "*.csv" }
mapping: m
notify: { webhook: "${hook.url}/" }
`,
        ending,
      ),
    /** Keeps the schedule until a time, and ends it. @param during called at each step */
    async keepUntil(
      until: string,
      during: (now: number) => Promise<void> = async () => {},
      run: (interrupt: AbortSignal) => Promise<void> = async () => {},
    ): Promise<void> {
      const interrupt = new AbortController()
      const telling = tellSchedule()
      let asleep = false
      const over = runSchedule<Job>({
        ledger,
        gatewayOf,
        now: clock.now,
        async sleep(ms, signal) {
          await telling.beforeSleep()
          asleep = true
          await clock.sleep(ms, signal).finally(() => {
            asleep = false
          })
        },
        interrupt: interrupt.signal,
        owner: 'here:1',
        isDead,
        rereadMs: STEP,
        async readJobs() {
          const jobs = await listJobs(settings)
          telling.listed(jobs)
          return jobs
        },
        planLook: async () => ({ next: undefined, look: undefined }),
        run: (job) =>
          telling.running(job.definition.job, async () => {
            await run(interrupt.signal)
            return { run: `run-${++ids}`, exit: 0 }
          }),
        events: createScheduleEvents(
          { trouble: (job, error) => troubles.push(`${job} ${String(error)}`) },
          telling.events,
        ),
      })
      for (;;) {
        await vi.waitUntil(() => asleep, { interval: 1, timeout: 60_000 })
        await during(clock.now())
        if (clock.now() >= Date.parse(until)) break
        await clock.moveTo(Math.min(clock.now() + STEP, Date.parse(until)))
      }
      interrupt.abort()
      await over
      await telling.end()
    },
  }
}

const gatewayOf = (job: string): string => (job === '' ? 'none' : 'gateway')

const titles = ({ seen }: HookServer): string[] =>
  seen.map(({ body }) => `${JSON.parse(body).type} ${JSON.parse(body).data.title}`)

it.each([
  ['once', 'covered by the run of 2026-03-02 04:00 UTC'],
  ['all', 'runs late, after the run before it'],
  ['skip', 'skipped, as the job has `missed: skip`'],
])('fires that an absence has missed are told in one notice, with missed: %s', async (missed, becomes) => {
  const { job, keepUntil, clock, hook } = await install('2026-03-02T00:30Z')
  await job(missed)
  await keepUntil('2026-03-02T01:30Z')
  expect(titles(hook)).toEqual([])
  await clock.moveTo(Date.parse('2026-03-02T04:30Z'))
  await keepUntil('2026-03-02T06:30Z')
  expect(titles(hook)).toEqual([
    'waybill.fire-missed Waybill: a missed 3 fires, from 2026-03-02 02:00 UTC to 2026-03-02 04:00 UTC (not-scheduled)',
  ])
  const { text, details } = JSON.parse(hook.seen[0]?.body ?? '').data
  expect(text).toContain(`Due      2026-03-02 ${missed === 'all' ? '03' : '02'}:00 UTC: ${becomes}`)
  expect(details.fires).toHaveLength(3)
  // Those of each later absence are another notice.
  await keepUntil('2026-03-02T14:30Z', async (now) => {
    if (now === Date.parse('2026-03-02T06:40Z')) clock.pass(2 * HOUR)
    if (now === Date.parse('2026-03-02T10:40Z')) clock.pass(3 * HOUR)
  })
  expect(titles(hook).slice(1)).toEqual([
    expect.stringContaining('a missed 2 fires'),
    expect.stringContaining('a missed 3 fires'),
  ])
})

const BY_HAND = { runId: 'by-hand', owner: 'there:7', ttlMs: 9 * HOUR, givesWay: false }

it.each(['paused', 'earlier-first'])('a fire that is missed as %s needs no notice', async (reason) => {
  const { job, keepUntil, ledger, clock, hook } = await install('2026-03-02T01:30Z')
  await job('all')
  const jobId = await ledger.jobs.id('a', 'gateway')
  const due = Date.parse('2026-03-02T01:00Z')
  if (reason === 'paused') await ledger.pauses.begin(jobId, { by: 'ann', note: null, at: due, until: null })
  else {
    const timetable = { cron: '0 * * * *', zone: 'Etc/UTC', seenUntil: due }
    await ledger.fires.comeDue(jobId, undefined, timetable, [due])
    const [fire = expect.fail('there is no fire')] = await ledger.fires.open(jobId)
    const begun = await ledger.fires.move(fire, 'begin', { owner: 'gone:1', begun_at: due })
    await ledger.fires.move(begun ?? expect.fail('it does not begin'), 'interrupt')
    await clock.moveTo(Date.parse('2026-03-02T02:00Z'))
  }
  await keepUntil('2026-03-02T02:00Z')
  await keepUntil('2026-03-02T02:10Z')
  const reasons = (await ledger.fires.latest(jobId, 9)).map((fire) => fire.reason)
  expect(reasons).toContain(reason)
  expect(titles(hook)).toEqual([])
})

it('what the schedule meets as it ends is told, too', async () => {
  const { job, keepUntil, ledger, clock, hook } = await install('2026-03-02T00:50Z')
  await job('skip')
  const jobId = await ledger.jobs.id('a', 'gateway')
  await keepUntil('2026-03-02T01:10Z', undefined, async (interrupt) => {
    const held = { jobId, now: clock.now(), ...BY_HAND }
    expect((await ledger.leases.acquire(held, () => false)).ok).toBe(true)
    await once(interrupt, 'abort')
    throw new WaybillError('job-held', 'another process has the job')
  })
  expect(titles(hook)).toEqual(['waybill.job-held Waybill: a was not run: another process is running it'])
})

it.each(['yaml', 'yml'])(
  'a job file .%s that is wrong is told once, and again when it is wrong once more; what it misses meanwhile is not',
  async (ending) => {
    const installed = await install('2026-03-02T00:30Z')
    const { keepUntil, hook } = installed
    const job = (missed: string): Promise<void> => installed.job(missed, ending)
    const write = (text: string): Promise<void> => installed.write(text, ending)
    const broken = `schedule: { cron: "0 * * * *", zone: Etc/UTC }\nnotify: { webhook: "${hook.url}/" }\n`
    await job('skip')
    await keepUntil('2026-03-02T02:30Z', async (now) => {
      if (now === Date.parse('2026-03-02T00:50Z')) await write(broken)
    })
    await keepUntil('2026-03-02T02:40Z')
    const jobBroken = 'waybill.job-broken Waybill: a is not run until its file is corrected (job-invalid)'
    expect(titles(hook)).toEqual([jobBroken])
    await job('skip')
    await keepUntil('2026-03-02T03:30Z', async (now) => {
      if (now === Date.parse('2026-03-02T03:10Z')) await write(broken)
    })
    expect(titles(hook).slice(1)).toEqual([jobBroken])
    expect(JSON.parse(hook.seen[0]?.body ?? '').data.text.join('\n')).toContain(`a.${ending}`)
  },
)

it('a job file that is corrected is not told again as wrong', async () => {
  const { job, write, keepUntil, hook } = await install('2026-03-02T00:10Z')
  await job('skip')
  await keepUntil('2026-03-02T02:30Z', async (now) => {
    if (now === Date.parse('2026-03-02T00:30Z')) await write('job: "a')
    if (now === Date.parse('2026-03-02T01:10Z')) await job('skip')
  })
  expect(titles(hook)).toEqual([
    'waybill.job-broken Waybill: a is not run until its file is corrected (job-invalid)',
  ])
})

it.each([
  ['between two runs', false, ['waybill.run-stopped Waybill: a was stopped (gateway-failing)']],
  ['while the next run of the job is under way, which tells its end', true, []],
])('the last try of a fire ends %s', async (_, isUnderWay, expected) => {
  const { job, ledger, clock, hook, tellSchedule } = await install('2026-03-02T00:10Z')
  await job('skip')
  const end = { state: 'interrupted', endedAt: clock.now(), reason: 'gateway-failing' } as const
  await (await beginRun(ledger, 'it', { job: 'a' })).endRun(end)
  const telling = tellSchedule()
  const gaveUp = async (): Promise<void> => {
    const fire = { run_id: 'it', exit: 3, ended_at: clock.now() } as FireRecord
    telling.events.gaveUp('a', fire)
    await telling.beforeSleep()
  }
  await telling.running('a', isUnderWay ? gaveUp : async () => {})
  if (!isUnderWay) await gaveUp()
  await telling.end()
  expect(titles(hook)).toEqual(expected)
})

it('one that can be read no more is told to whom it named when it could', async () => {
  const { job, write, keepUntil, hook } = await install('2026-03-02T00:10Z')
  await job('skip')
  await keepUntil('2026-03-02T00:50Z', async (now) => {
    if (now === Date.parse('2026-03-02T00:30Z')) await write('job: "a')
  })
  expect(titles(hook)).toEqual([
    'waybill.job-broken Waybill: a is not run until its file is corrected (job-invalid)',
  ])
})

it('a job that another process holds over three fires is told once', async () => {
  const { job, keepUntil, ledger, clock, hook } = await install('2026-03-02T00:30Z')
  await job('skip')
  const jobId = await ledger.jobs.id('a', 'gateway')
  const request = { jobId, now: clock.now(), ...BY_HAND }
  expect((await ledger.leases.acquire(request, () => false)).ok).toBe(true)
  await keepUntil('2026-03-02T03:30Z')
  expect(titles(hook)).toEqual(['waybill.job-held Waybill: a was not run: another process is running it'])
  expect(JSON.parse(hook.seen[0]?.body ?? '').data.details).toMatchObject({
    owner: 'there:7',
    run: 'by-hand',
  })
})

it.each([
  ['with a schedule', true, 'Its progress is stored: it continues by itself.'],
  ['without one', false, 'Its progress is stored.'],
])(
  'a run whose process is gone is told without waiting for the next fire, and once: a job %s',
  async (_, isScheduled, becomes) => {
    const { job, write, keepUntil, ledger, clock, hook } = await install('2026-03-02T00:10Z')
    if (isScheduled) await job('skip')
    else
      await write(
        `job: a\nexports: { from: in, match: "*.csv" }\nmapping: m\nnotify: { webhook: "${hook.url}/" }\n`,
      )
    const jobId = await ledger.jobs.id('a', 'gateway')
    const request = {
      jobId,
      runId: 'killed',
      owner: 'gone:1',
      now: clock.now(),
      ttlMs: 9 * HOUR,
      givesWay: false,
    }
    const answer = await ledger.leases.acquire(request, () => false)
    if (!answer.ok) expect.fail('it is held')
    await ledger.runs.start(answer.lease, {
      ...{ id: 'killed', jobId, startedAt: clock.now(), rejectsPath: 'r', receiptsPath: 'r.gz' },
    })
    await keepUntil('2026-03-02T00:30Z')
    await keepUntil('2026-03-02T00:50Z')
    expect(titles(hook)).toEqual(['waybill.run-stopped Waybill: a was stopped: its process has ended'])
    expect(JSON.parse(hook.seen[0]?.body ?? '').data.text).toContain(becomes)
  },
)

it('a run of this very process is not taken for one that is gone, though another one had its number before', async () => {
  const { job, keepUntil, ledger, clock, hook } = await install('2026-03-02T00:50Z')
  await job('skip')
  const jobId = await ledger.jobs.id('a', 'gateway')
  await keepUntil('2026-03-02T01:50Z', undefined, async () => {
    const request = { jobId, runId: 'own', owner: 'here:1', now: clock.now(), ttlMs: HOUR, givesWay: false }
    const answer = await ledger.leases.acquire(request, () => false)
    if (!answer.ok) expect.fail('it is held')
    await ledger.runs.start(answer.lease, {
      ...{ id: 'own', jobId, startedAt: clock.now(), rejectsPath: 'r', receiptsPath: 'r.gz' },
    })
    await clock.sleep(30 * MINUTE, new AbortController().signal)
    const run = await ledger.runs.unfinished(jobId, 'ordinary')
    if (run === undefined) expect.fail('it has no run')
    const end = { state: 'finished', endedAt: clock.now(), reason: null } as const
    await (await ledger.runs.resume(answer.lease, run, clock.now())).endRun(end)
    await ledger.leases.release(answer.lease)
  })
  expect(titles(hook)).toEqual([])
})

it('a jobs folder that goes is told once, to each target that a job of it named, until it is back; fires go on', async () => {
  const { job, keepUntil, folder, moveJobs, hook, troubles } = await install('2026-03-02T00:10Z')
  await job('skip')
  const other = `job: b\nschedule: { cron: "0 * * * *", zone: Etc/UTC }\nexports: { from: in, match: "*.csv" }\nmapping: m\n`
  const both = `notify: [{ webhook: "${hook.url}/" }, { webhook: "${hook.url}/other" }]\n`
  await writeFile(join(folder, 'jobs/b.yaml'), `${other}${both}`)
  const at = (time: string): number => Date.parse(`2026-03-0${time}Z`)
  let runs = 0
  await keepUntil(
    '2026-03-03T12:00Z',
    async (now) => {
      if (now === at('2T01:10') || now === at('2T11:10') || now === at('3T01:10'))
        await moveJobs('jobs', 'away')
      if (now === at('2T09:10') || now === at('2T20:10')) await moveJobs('away', 'jobs')
    },
    async () => void runs++,
  )
  // Of the second going on one day nobody is told again.
  const told = 'waybill.jobs-gone Waybill: the jobs folder of the schedule cannot be read (job-not-found)'
  expect(titles(hook)).toEqual([told, told, told, told])
  expect(hook.seen.map(({ url }) => url).sort()).toEqual(['/', '/', '/other', '/other'])
  const [first] = hook.seen.map(({ body }) => JSON.parse(body))
  expect(first.timestamp).toBe('2026-03-02T01:20:00.000Z')
  expect(first.data.details).toMatchObject({ error: 'job-not-found', jobs: ['a', 'b'] })
  expect(troubles).toHaveLength(3)
  expect(runs).toBe(2 * 36)
})

it('a jobs folder that is empty all at once is told, too; one that was empty from the beginning is not', async () => {
  const { job, keepUntil, moveJobs, folder, hook } = await install('2026-03-02T00:10Z')
  await keepUntil('2026-03-02T00:30Z')
  expect(titles(hook)).toEqual([])
  await job('skip')
  // Not again on the next day.
  await keepUntil('2026-03-03T01:10Z', async (now) => {
    if (now !== Date.parse('2026-03-02T00:40Z')) return
    // What is left of a disk that is mounted no more.
    await moveJobs('jobs', 'away')
    await mkdir(join(folder, 'jobs'))
  })
  expect(titles(hook)).toEqual([
    'waybill.jobs-gone Waybill: the jobs folder of the schedule has no jobs any more',
  ])
})
