/** Sends the daily digest of the schedule, to each target once, however many jobs name it. */
import type { Job } from '../definitions/definition-files.ts'
import { targetsOf } from '../definitions/jobs.ts'
import { keyOf } from '../definitions/notify-definition.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { EXIT } from '../model/errors.ts'
import { digestNotice } from '../needs/digest.ts'
import { readRefusedStarts } from '../needs/refused-starts.ts'
import { firesBetween, timeOfDayAfter, timetableOfDay } from '../schedule/fires.ts'
import type { ListedJob, LookPlan } from '../schedule/schedule-parts.ts'
import { summarise } from '../story/facts.ts'
import { type NeedsContext, readNeeds } from './needs.ts'
import type { Teller } from './teller.ts'

/** Longer than a day with another hour. */
const BEFORE_MS = 36 * 3_600_000
/** Delay after which a digest is no news: the schedule was down at the time. */
const LATE_MS = 3_600_000
const FIRES_LOOKED_AT = 200

type DigestJob = ListedJob<Job> & { readonly job: Job }

interface DigestTimes {
  /** Latest digest, if not too late. */
  readonly due: number | undefined
  /** Digest before the latest. */
  readonly before: number | undefined
  readonly next: number
}

export function digestTimes(
  { digest, zone }: { readonly digest: string; readonly zone: string },
  now: number,
): DigestTimes {
  const timetable = timetableOfDay(digest, zone)
  const [due] = firesBetween(timetable, now - LATE_MS - 1, now, 1)
  const [before] = due === undefined ? [] : firesBetween(timetable, due - BEFORE_MS, due - 1, 1)
  return { due, before, next: timeOfDayAfter(digest, zone, now) }
}

export function createDigestWatch(
  application: NeedsContext,
  ledger: Ledger,
  teller: Teller,
  gatewayOf: (job: string) => string,
) {
  let jobs: readonly DigestJob[] = []
  const sent = new Set<number>()
  const send = async (due: number, since: number): Promise<void> => {
    const now = application.now()
    const needs = await readNeeds(application, undefined, ledger)
    const failed = await failedSince(application, ledger, jobs, gatewayOf, since)
    const notified = new Set<string>()
    for (const { name, job } of jobs) {
      const { schedule } = job.definition
      if (schedule?.digest === undefined) continue
      const { digest, zone } = schedule
      if (digestTimes({ digest, zone }, now).due !== due) continue
      const targets = targetsOf(job).filter((target) => !notified.has(keyOf(target)))
      for (const target of targets) notified.add(keyOf(target))
      const about = { job: name, gateway: gatewayOf(name), at: now }
      await teller.tell(digestNotice(about, { due, since, failed, needs }), targets)
    }
    void teller.deliver()
  }
  /** Several jobs have their digest at one time. */
  const sendOnce = async (due: number, since: number): Promise<void> => {
    if (sent.has(due)) return
    sent.add(due)
    await send(due, since).catch((error: unknown) => {
      sent.delete(due)
      throw error
    })
  }
  return {
    listed(all: readonly ListedJob<Job>[]): void {
      jobs = all.flatMap((one) => (one.job === undefined ? [] : [{ ...one, job: one.job }]))
    },
    planLook({ definition: { schedule } }: Job): LookPlan {
      if (schedule?.digest === undefined) return { next: undefined, look: undefined }
      const { digest, zone } = schedule
      const { due, before = 0, next } = digestTimes({ digest, zone }, application.now())
      if (due === undefined || sent.has(due)) return { next, look: undefined }
      return { next, look: () => sendOnce(due, before) }
    },
  }
}

/** Jobs with a failed run, fire or start since then. A run finished by another run counts by its fire. */
async function failedSince(
  { settings }: NeedsContext,
  ledger: Ledger,
  jobs: readonly DigestJob[],
  gatewayOf: (job: string) => string,
  since: number,
): Promise<string[]> {
  const { home } = settings
  const failed = new Set(readRefusedStarts(home).flatMap(({ job, at }) => (at >= since ? [job] : [])))
  for (const { id, job, state } of await ledger.runs.list(Number.MAX_SAFE_INTEGER, { since })) {
    if (failed.has(job) || state === 'running') continue
    if (state !== 'finished' || (await summarise(ledger, home, id)).exit !== EXIT.ok) failed.add(job)
  }
  for (const { name } of jobs) {
    const jobId = await ledger.jobs.known(name, gatewayOf(name))
    const fires = jobId === undefined ? [] : await ledger.fires.latest(jobId, FIRES_LOOKED_AT)
    if (fires.some(({ due, exit }) => due >= since && (exit ?? EXIT.ok) !== EXIT.ok)) failed.add(name)
  }
  return [...failed].sort()
}
