/** Schedules on one real ledger, with a clock that the test moves and runs that take as long as the test says. */
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { FireRecord, Ledger } from '../../src/ledger/ledger.ts'
import { openLedger } from '../../src/ledger/sqlite/open-ledger.ts'
import { WaybillError } from '../../src/model/errors.ts'
import { runSchedule } from '../../src/schedule/run-schedule.ts'
import type { JobSchedule, ListedJob } from '../../src/schedule/schedule-parts.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { createMovedClock, type MovedClock } from './moved-clock.ts'

export const MINUTE = 60_000
export const HOUR = 60 * MINUTE
/** A lease that is taken here is not renewed: longer than a run takes. */
const LEASE_MS = 6 * HOUR

/** How a run of the job goes: how long it takes, and what it comes to. */
interface JobUnderTest {
  readonly takes: number
  readonly fails?: unknown
}

export interface Installation {
  readonly clock: MovedClock
  readonly ledger: Ledger
  /** Runs that were begun: `job 2026-03-08T07:00Z owner`, the time by the clock. */
  readonly runs: string[]
  /** What the schedules have told, without fires. */
  /** Whether the folder of jobs can be read. */
  readonly jobsFolder: { gone: boolean }
  readonly told: string[]
  /** Puts a job into the folder, or takes it away. */
  job(name: string, schedule: JobSchedule | 'broken' | 'none' | 'gone', run?: JobUnderTest): void
  /** @param tending called whenever open fires are read */
  start(owner?: string, rereadMs?: number, tending?: () => void): Process
  /** `2026-03-08T07:00Z state` of a job, oldest first. */
  fires(job: string): Promise<string[]>
  records(job: string): Promise<FireRecord[]>
}

export interface Process {
  /** As SIGTERM does. */
  stop(): Promise<void>
  /** As SIGKILL does: nothing that it does from now on reaches the ledger. @param seen whether others can tell that it is gone */
  kill(seen: boolean): void
}

export const short = (at: number): string => new Date(at).toISOString().replace(/:00\.000Z$/, 'Z')

/** @param file `:memory:` where a year must not wait for the disk a thousand times */
export async function install(startAt: string, file?: ':memory:'): Promise<Installation> {
  const folder = await temporaryFolder()
  const ledger = await openLedger(file ?? join(folder, 'ledger.sqlite'))
  onTestFinished(() => ledger.close())
  const clock = createMovedClock(Date.parse(startAt))
  const listed = new Map<string, ListedJob<string>>()
  const ways = new Map<string, JobUnderTest>()
  const runs: string[] = []
  const told: string[] = []
  const dead = new Set<string>()
  const silent = new Set<string>()
  const isDead = (owner: string): boolean => dead.has(owner)
  let ids = 0
  const jobsFolder = { gone: false }
  const records = async (job: string): Promise<FireRecord[]> =>
    (await ledger.fires.latest(await ledger.jobs.id(job, 'gateway'), 10_000)).reverse()
  return {
    clock,
    ledger,
    runs,
    told,
    records,
    fires: async (job) => (await records(job)).map(({ due, state }) => `${short(due)} ${state}`),
    jobsFolder,
    job(name, schedule, run = { takes: 5 * MINUTE }) {
      ways.set(name, run)
      if (schedule === 'gone') listed.delete(name)
      else if (schedule === 'broken')
        listed.set(name, { name, problem: new WaybillError('job-invalid', `${name}.yaml: 1 problem`) })
      else listed.set(name, { name, job: name, schedule: schedule === 'none' ? undefined : schedule })
    },
    start(owner = 'here:1', rereadMs = 30 * MINUTE, tending = () => {}) {
      const interrupt = new AbortController()
      dead.delete(owner)
      silent.delete(owner)
      const unheard = new Promise<never>(() => {})
      const alive =
        <Given extends unknown[], Answer>(act: (...given: Given) => Promise<Answer>) =>
        (...given: Given): Promise<Answer> =>
          silent.has(owner) ? unheard : act(...given)
      const { fires } = ledger
      const over = runSchedule<string>({
        ledger: {
          jobs: { id: alive(ledger.jobs.id) },
          leases: { holder: alive(ledger.leases.holder) },
          pauses: ledger.pauses,
          runs: { find: alive(ledger.runs.find) },
          way: { waiter: alive(ledger.way.waiter) },
          fires: {
            ...fires,
            open: alive((jobId) => {
              tending()
              return fires.open(jobId)
            }),
            timetable: alive(fires.timetable),
            comeDue: alive(fires.comeDue),
            move: alive(fires.move),
          },
        },
        gatewayOf: () => 'gateway',
        now: clock.now,
        sleep: clock.sleep,
        interrupt: interrupt.signal,
        owner,
        isDead,
        rereadMs,
        async readJobs() {
          if (jobsFolder.gone) throw new WaybillError('job-not-found', 'the folder is gone')
          return [...listed.values()]
        },
        async run(job, onRun) {
          const runId = `run-${++ids}`
          const jobId = await ledger.jobs.id(job, 'gateway')
          const asked = { jobId, runId, owner, now: clock.now(), ttlMs: LEASE_MS }
          const answer = await ledger.leases.acquire(asked, isDead)
          if (!answer.ok) throw new WaybillError('job-held', `held by ${answer.holder.owner}`)
          runs.push(`${job} ${short(clock.now())} ${owner}`)
          onRun(runId)
          const { takes = 0, fails } = ways.get(job) ?? {}
          const isWhole = await clock.sleep(takes, interrupt.signal).then(
            () => true,
            () => false,
          )
          await alive(ledger.leases.release)(answer.lease)
          if (fails !== undefined) throw fails
          return isWhole ? { run: runId, exit: 0 } : { run: runId, exit: 130, error: 'interrupted' }
        },
        planLook: async () => ({ next: undefined, look: undefined }),
        events: {
          scheduled: (job, { cron }, next) => told.push(`${job} scheduled ${cron} ${short(next)}`),
          unscheduled: (job) => told.push(`${job} unscheduled`),
          broken: (job, { message }) => told.push(`${job} broken ${message}`),
          begun: (job, { due, ended_at, error }, _, again) => {
            if (again) told.push(`${job} again ${short(due)} ${ended_at} ${error}`)
          },
          recovered: () => told.push('recovered'),
          abandoned: (job, { due, owner }) => told.push(`${job} abandoned ${short(due)} ${owner}`),
          ended: () => {},
          gaveUp: (job, { due }) => told.push(`${job} gave up ${short(due)}`),
          missed: () => {},
          skipped: () => {},
          trouble: (job, error) => told.push(`${job ?? 'folder'} trouble ${String(error)}`),
        },
      })
      return {
        async stop() {
          interrupt.abort()
          await over
        },
        kill(seen) {
          silent.add(owner)
          if (seen) dead.add(owner)
          interrupt.abort()
        },
      }
    },
  }
}
