/**
 * Keeps the schedule: sleeps until a job is due, or until the next read of the jobs, tends the fires of each job, and checks for expected
 * exports. All state is in the ledger: several processes may keep one schedule, and a restarted schedule knows the missed fires.
 */
import { firesAfter } from './fires.ts'
import { type RunUnderWay, type Tended, tendJob } from './job-fires.ts'
import type { ListedJob, LookPlan, ScheduleParts } from './schedule-parts.ts'

/** Resolves after the abort of `interrupt`, when the runs under way have ended. */
export async function runSchedule<Job>(parts: ScheduleParts<Job>): Promise<void> {
  const { now, sleep, interrupt, events } = parts
  const running = new Map<string, RunUnderWay>()
  const looking = new Map<string, Promise<void>>()
  const read = jobReader(parts)
  let wake = new AbortController()
  while (!interrupt.aborted) {
    wake = new AbortController()
    // Before the reads: a fire that comes due during them is still ahead of this instant, so that the sleep ends at once.
    const woken = now()
    const jobs = await read()
    const looks: number[] = []
    for (const listed of jobs) {
      const { name } = listed
      const { next, look } = await planLook(parts, listed)
      if (next !== undefined) looks.push(next)
      if (look !== undefined && !looking.has(name)) {
        // In parallel with the fires: a server may be slow.
        const looked = look()
          .then(
            () => wake.abort(),
            (error: unknown) => {
              if (!interrupt.aborted) events.trouble(name, error)
            },
          )
          .finally(() => looking.delete(name))
        looking.set(name, looked)
      }
      const { begun, retryAt } = await tendJob(parts, listed, running.get(name)).catch(
        (error: unknown): Tended => {
          events.trouble(name, error)
          return {}
        },
      )
      if (retryAt !== undefined) looks.push(retryAt)
      if (begun === undefined) continue
      running.set(name, begun)
      void begun.over.then(() => {
        running.delete(name)
        wake.abort()
      })
    }
    const until = Math.min(
      now() + parts.rereadMs,
      ...looks,
      ...jobs.flatMap((job) => nextFire(job, woken) ?? []),
    )
    const signal = AbortSignal.any([interrupt, wake.signal])
    await sleep(Math.max(0, until - now()), signal).catch(() => undefined)
  }
  await Promise.all([...looking.values(), ...[...running.values()].map(({ over }) => over)])
}

const NOTHING: LookPlan = { next: undefined, look: undefined }

async function planLook<Job>(parts: ScheduleParts<Job>, listed: ListedJob<Job>): Promise<LookPlan> {
  // A check for exports needs no mapping.
  if (listed.job === undefined) return NOTHING
  return parts.planLook(listed.job).catch((error: unknown) => {
    parts.events.trouble(listed.name, error)
    return NOTHING
  })
}

/** Reads the jobs, and reports changes since the last read. */
function jobReader<Job>({ ledger, gatewayOf, now, readJobs, events }: ScheduleParts<Job>) {
  let last: readonly ListedJob<Job>[] = []
  const reported = new Map<string, string>()
  let trouble: string | undefined
  const isNews = (name: string, text: string): boolean => {
    const isNew = reported.get(name) !== text
    reported.set(name, text)
    return isNew
  }
  return async (): Promise<readonly ListedJob<Job>[]> => {
    try {
      const jobs = await readJobs()
      const names = new Set(jobs.map(({ name }) => name))
      for (const { name } of last.filter((job) => !names.has(job.name))) {
        await ledger.fires.forget(await ledger.jobs.id(name, gatewayOf(name)), 'unscheduled', now())
        if (reported.delete(name)) events.unscheduled(name)
      }
      for (const job of jobs) {
        const { name } = job
        if ('problem' in job) {
          const { message, findings } = job.problem
          if (isNews(name, JSON.stringify([message, findings]))) events.broken(name, job.problem)
        } else if (job.schedule === undefined) {
          if (reported.delete(name)) events.unscheduled(name)
        } else if (isNews(name, JSON.stringify(job.schedule)))
          events.scheduled(name, job.schedule, firesAfter(job.schedule, now()).next().value)
      }
      last = jobs
      if (trouble !== undefined) events.recovered()
      trouble = undefined
    } catch (error) {
      const words = String(error)
      if (words !== trouble) events.trouble(undefined, error)
      trouble = words
    }
    return last
  }
}

const nextFire = <Job>(listed: ListedJob<Job>, after: number): number | undefined =>
  'problem' in listed || listed.schedule === undefined
    ? undefined
    : firesAfter(listed.schedule, after).next().value
