/** Sends the heartbeats of jobs: at begin and end of each run, and each minute of the schedule. A heartbeat never fails a run. */
import type { Job } from '../definitions/definition-files.ts'
import type { FireRecord, Ledger } from '../ledger/ledger.ts'
import { EXIT, endingOf } from '../model/errors.ts'
import type { Need } from '../needs/need.ts'
import type { Cause } from '../needs/needs-of.ts'
import { sendBeat } from '../notify/heartbeat.ts'
import type { ListedJob } from '../schedule/schedule-parts.ts'
import type { Application } from './application.ts'
import type { Follower } from './follower.ts'

/** Shortest time between two heartbeats of the schedule for a job: a schedule also wakes between its minutes. */
const LEAST_MS = 30_000

/** Needs of the installation that stop every job. */
const STOPS_ALL: ReadonlySet<string> = new Set<Cause>(['ledger', 'disk'])

/**
 * Sends the begin and the end of a run to the monitor of the job.
 * @param endOf exit code of the run, and code of the error that ended it early
 * @param isTriedAgain true for an end after which the schedule tries again: the monitor hears of the last try alone
 */
export function followByHeartbeat<End>(
  { logger }: Pick<Application, 'logger'>,
  { definition: { job, heartbeat } }: Pick<Job, 'definition'>,
  endOf: (end: End) => { readonly exit: number; readonly code: string | undefined },
  isTriedAgain: (code: string | undefined) => boolean = () => false,
): Follower<End> {
  if (heartbeat === undefined) return {}
  let begun: Promise<unknown> | undefined
  const end = async ({ exit, code }: ReturnType<typeof endOf>): Promise<void> => {
    // The run that holds the job has its own heartbeat.
    if (exit === EXIT.jobHeld || isTriedAgain(code)) return
    await begun
    const beat = { kind: 'end', exit } as const
    const reason = (await sendBeat(heartbeat, beat)) && (await sendBeat(heartbeat, beat))
    if (reason !== undefined) logger.warn(`the heartbeat was not taken: ${reason}`, { job })
  }
  return {
    begun() {
      begun = sendBeat(heartbeat, { kind: 'start' })
    },
    ended: (ended) => end(endOf(ended)),
    failed: (error) => end(endingOf(error)),
  }
}

/** Heartbeats of the schedule: each minute, whether a job needs somebody. */
export function createHeartbeatWatch(
  { logger, now }: Pick<Application, 'logger' | 'now'>,
  ledger: Pick<Ledger, 'fires' | 'jobs'>,
  gatewayOf: (job: string) => string,
) {
  const sentAt = new Map<string, number>()
  const reasons = new Map<string, string | undefined>()
  const pending = new Set<Promise<void>>()
  const send = async (name: string, job: Job, needs: readonly Need[]): Promise<void> => {
    const { heartbeat } = job.definition
    if (heartbeat === undefined) return
    const open = await ledger.fires.open(await ledger.jobs.id(name, gatewayOf(name))).catch(() => [])
    const isWell = !needsSomebody(name, needs, open)
    const reason = await sendBeat(heartbeat, { kind: 'alive', isWell })
    if (reason !== undefined && reason !== reasons.get(name))
      logger.warn(`the heartbeat was not taken: ${reason}`, { job: name })
    reasons.set(name, reason)
  }
  return {
    /** Sends the heartbeats that are due, without waiting for them. @param read reads the needs, if any heartbeat is due */
    async listed(jobs: readonly ListedJob<Job>[], read: () => Promise<readonly Need[]>): Promise<void> {
      const at = now()
      const due = jobs.flatMap(({ name, job }) =>
        job?.definition.heartbeat !== undefined && at - (sentAt.get(name) ?? 0) >= LEAST_MS
          ? [{ name, job }]
          : [],
      )
      if (due.length === 0) return
      const needs = await read().catch(() => undefined)
      // Silence alarms the monitor.
      if (needs === undefined) return
      for (const { name, job } of due) {
        sentAt.set(name, at)
        const sent = send(name, job, needs).finally(() => pending.delete(sent))
        pending.add(sent)
      }
    },
    async end(): Promise<void> {
      await Promise.all(pending)
    },
  }
}

/**
 * True if a need of the job is for a person: an unfinished run of a fire without an end goes on by itself.
 * @param open fires of the job without an end
 */
export function needsSomebody(
  job: string,
  needs: readonly Pick<Need, 'cause' | 'jobs' | 'runs'>[],
  open: readonly Pick<FireRecord, 'state' | 'run_id'>[],
): boolean {
  const left = new Set(
    open.flatMap(({ state, run_id }) => (state === 'retrying' || state === 'running' ? [run_id] : [])),
  )
  return needs.some(
    ({ cause, jobs, runs }) =>
      STOPS_ALL.has(cause) ||
      (jobs.includes(job) && !(cause === 'run-unfinished' && runs.some((run) => left.has(run)))),
  )
}
