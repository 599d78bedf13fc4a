/** The schedule as a process of its own, with a clock that runs faster; and what is told of it. */
import type { ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { openLedger } from '../../src/ledger/sqlite/open-ledger.ts'
import { PASS } from '../faults/fault-proxy.ts'
import { emptySchema } from '../postgres/server.ts'
import { ANN, BEN, type Clinic, GOOD, HEADER, meetGateway, openClinic } from './clinic.ts'
import { type Ended, ended } from './command-line.ts'

const SPEED = 30
const DAY = 86_400_000
/** The first minute that is due: what was delivered by then has settled. */
const FIRST = Math.ceil(Date.now() / 60_000) * 60_000 + DAY
const iso = (at: number): string => new Date(at).toISOString()
const JOB = `schedule: { cron: "* * * * *", zone: America/New_York, missed: skip }
exports: { from: ../inbox, match: "*.csv", mapping: clinic }
accounts: { register: never }
submit: { concurrency: 1, batch: { records: 10 } }
`

const Explained = z.object({
  jobs: z.array(
    z.object({
      job: z.string(),
      last: z.array(
        z.object({
          due: z.iso.datetime(),
          local: z.string(),
          state: z.string(),
          run: z.string().optional(),
          exit: z.number().optional(),
          reason: z.string().optional(),
          error: z.string().optional(),
        }),
      ),
      next: z.array(z.object({ due: z.iso.datetime(), local: z.string() })),
    }),
  ),
})

const explain = async ({ workplace }: Clinic) => {
  const { code, out } = await workplace.waybill('schedule', '--explain', 'clinic', '--json')
  expect(code).toBe(0)
  const [job] = Explained.parse(JSON.parse(out)).jobs
  return job ?? expect.fail('no job')
}

interface Scheduling {
  readonly child: ChildProcess
  readonly ended: Promise<Ended>
  /** Resolves once it has written this so many times. */
  said(text: string, times?: number): Promise<void>
}

function start({ workplace }: Clinic, at: number): Scheduling {
  const child = workplace.startFast(iso(at), SPEED, 'schedule')
  let written = ''
  const waiting = new Set<() => void>()
  child.stderr.on('data', (text: Buffer) => {
    written += text.toString()
    for (const look of waiting) look()
  })
  const over = ended(child)
  return {
    child,
    ended: over,
    said: (text, times = 1) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (written.split(text).length > times) resolve()
        }
        waiting.add(look)
        void over.then(() => reject(new Error(`it ended, and said: ${written}`)))
        look()
      }),
  }
}

const minutesBetween = (dues: readonly string[]): number[] =>
  dues.slice(1).map((due, at) => (Date.parse(due) - Date.parse(dues[at] ?? '')) / 60_000)

test('two processes on one ledger: every minute one run, until SIGTERM', async () => {
  const clinic = await openClinic({ job: JOB })
  await clinic.deliver('a.csv', `${HEADER}${ANN}${BEN}`)
  const both = [start(clinic, FIRST - 50_000), start(clinic, FIRST - 50_000)]
  await Promise.all(both.map(({ said }) => said('the schedule has started')))
  await Promise.race(both.map(({ said }) => said('has ended: all accounted for', 2)))
  for (const { child } of both) child.kill('SIGTERM')
  for (const one of both) expect(await one.ended).toMatchObject({ code: 0 })

  const { last } = await explain(clinic)
  const ran = last.filter(({ state }) => state === 'ended')
  expect(ran.length).toBeGreaterThanOrEqual(2)
  expect(minutesBetween(last.map(({ due }) => due)).every((minutes) => minutes === -1)).toBe(true)
  const runs = z
    .object({ runs: z.array(z.object({ run: z.string() })) })
    .parse(JSON.parse((await clinic.workplace.waybill('runs', '--json')).out)).runs
  const known = last.flatMap(({ run }) => run ?? [])
  expect(new Set(known).size).toBe(known.length)
  expect(runs.map(({ run }) => run).sort()).toEqual(known.sort())
  expect(await clinic.stored()).toEqual(GOOD)
})

test('SIGTERM while a run is on: what is in flight is finished, and the next start goes on with it', async () => {
  let running: Scheduling | undefined
  const clinic = await openClinic({
    job: JOB,
    faultOf({ method, earlier }) {
      if (method === 'POST' && earlier === 2) running?.child.kill('SIGTERM')
      return PASS
    },
  })
  const people = Array.from({ length: 30 }, (_, n) => `p${n},2026-03-02,61,5.1,70.5,kg,\n`)
  await clinic.deliver('a.csv', HEADER + people.join(''))
  await meetGateway(clinic.workplace)
  running = start(clinic, FIRST - 50_000)
  expect(await running.ended).toMatchObject({ code: 0 })
  const [interrupted] = (await explain(clinic)).last
  expect(interrupted).toMatchObject({ state: 'interrupted', exit: 130 })
  const due = Date.parse(interrupted?.due ?? '')
  expect((await clinic.stored()).length).toBeLessThan(90)

  const again = start(clinic, due + 10 * 60_000 + 5_000)
  await again.said('has ended: all accounted for')
  again.child.kill('SIGTERM')
  expect(await again.ended).toMatchObject({ code: 0 })
  const ledger = await openLedger(join(clinic.workplace.home, 'ledger.sqlite'))
  onTestFinished(() => ledger.close())
  const fires = await ledger.fires.latest(
    await ledger.jobs.id('clinic', clinic.workplace.environment['WAYBILL_GATEWAY_URL'] ?? ''),
    1_000,
  )
  expect(fires.at(-1)).toMatchObject({ due, state: 'ended', run_id: interrupted?.run, exit: 0 })
  // What was due in between is skipped: the job says so.
  expect(fires.slice(-10, -1).map(({ state, reason }) => `${state} ${reason}`)).toEqual(
    Array.from({ length: 9 }, () => 'skipped not-scheduled'),
  )
  const stored = await clinic.stored()
  expect([stored.length, new Set(stored).size]).toEqual([90, 90])
})

test('workers run the fires of two schedules; a fire whose schedules have ended is ended by the next one, with the run of its ticket', async () => {
  const schedules: Scheduling[] = []
  const clinic = await openClinic({
    job: JOB,
    environment: { WAYBILL_LEDGER: await emptySchema(), WAYBILL_RUN_BY: 'workers' },
    faultOf({ method, earlier }) {
      if (method === 'POST' && earlier === 0) for (const { child } of schedules) child.kill('SIGTERM')
      return PASS
    },
  })
  const people = Array.from({ length: 30 }, (_, n) => `p${n},2026-03-02,61,5.1,70.5,kg,\n`)
  await clinic.deliver('a.csv', HEADER + people.join(''))
  const worker = clinic.workplace.start('worker')
  const over = ended(worker)
  onTestFinished(async () => {
    worker.kill('SIGKILL')
    await over
  })
  schedules.push(start(clinic, FIRST - 30_000), start(clinic, FIRST - 30_000))
  for (const one of schedules) expect(await one.ended).toMatchObject({ code: 0 })
  const begun = (await explain(clinic)).last.filter(({ state }) => state === 'interrupted')
  expect(begun).toHaveLength(1)
  const due = Date.parse(begun[0]?.due ?? '')

  const again = start(clinic, due + 2 * 60_000 - 5_000)
  await again.said('has ended: all accounted for')
  again.child.kill('SIGTERM')
  expect(await again.ended).toMatchObject({ code: 0 })
  const runs = z
    .object({ runs: z.array(z.object({ run: z.string(), exit: z.number().optional() })) })
    .parse(JSON.parse((await clinic.workplace.waybill('runs', '--json')).out)).runs
  const fire = (await explain(clinic)).last.find((one) => Date.parse(one.due) === due)
  expect(fire).toMatchObject({ state: 'ended', exit: 0, run: runs.at(-1)?.run })
  const stored = await clinic.stored()
  expect([stored.length, new Set(stored).size]).toEqual([90, 90])
})

test('what is due next is told by the clock of the zone, and in UTC', async () => {
  const clinic = await openClinic({ job: JOB.replace('* * * * *', '15 2 * * *') })
  const { code, out } = await clinic.workplace.waybill('schedule', '--explain')
  expect(code).toBe(0)
  expect(out).toMatch(/^clinic: "15 2 \* \* \*" in America\/New_York, missed: skip\n/)
  expect(
    out.match(/^ \w{3} \d{4}-\d\d-\d\d 0[23]:\d\d -0[45]:00 {3}\d{4}-\d\d-\d\d 0[67]:\d\d/gm),
  ).toHaveLength(5)
  const { last, next } = await explain(clinic)
  expect([last, next.length]).toEqual([[], 5])
})

test('a wrong job file is refused with line and example; of all jobs, the others are still explained', async () => {
  const clinic = await openClinic({ job: JOB })
  await clinic.workplace.job(
    'wrong',
    `${JOB.replace('* * * * *', '15 25 * * *').replace('New_York', 'Newyork')}`,
  )
  const told = [
    'jobs/wrong.yaml:2:19 schedule.cron: is not a cron line, its hour cannot be "25"; write it like "15 2 * * *"',
    'jobs/wrong.yaml:2:40 schedule.zone: is no IANA time zone; write it like America/New_York',
  ]
  for (const args of [
    ['run', 'wrong'],
    ['schedule', '--explain', 'wrong'],
    ['schedule', '--explain'],
  ]) {
    const { code, err } = await clinic.workplace.waybill(...args)
    expect(code).toBe(2)
    for (const text of told) expect(err).toContain(text)
  }
  const { out } = await clinic.workplace.waybill('schedule', '--explain')
  expect(out).toContain('clinic: "* * * * *" in America/New_York')
  expect(out).toContain('wrong: cannot run: job-invalid')
})

test('where no job has a schedule, that is said', async () => {
  const { workplace } = await openClinic()
  const { code, out } = await workplace.waybill('schedule', '--explain')
  expect([code, out]).toEqual([0, 'No job has a schedule. See docs/jobs.md, "Schedule".\n'])
})
