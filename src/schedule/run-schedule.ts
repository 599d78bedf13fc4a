/**
 * Keeps the schedule: sleeps until a job is due, or until the next read of the jobs, tends the fires of each job, and checks for expected
 * exports. All state is in the ledger: several processes may keep one schedule, and a restarted schedule knows the missed fires.
 */

import { type FireChange, type FireRecord, processName } from '../ledger/ledger.ts'
import { EXIT, endingOf } from '../model/errors.ts'
import { iso, present } from '../system/shown-text.ts'
import { comeDue, decide, firesAfter, type Hindrance } from './fires.ts'
import type {
  FireRunEnd,
  JobSchedule,
  ListedJob,
  LookPlan,
  RetryDecision,
  ScheduleParts,
} from './schedule-parts.ts'
import { nextTry, stepOf } from './tries.ts'

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

/** Age of a running fire without a holder of its job: its process, on another machine, has ended. */
const GONE_AFTER_MS = 5 * 60_000

interface RunUnderWay {
  readonly fire: FireRecord
  /** Never rejects. */
  readonly over: Promise<void>
}

interface Tended {
  /** The run that was started, if any. */
  readonly begun?: RunUnderWay
  readonly retryAt?: number
}

/** @param underWay the job's run in this process */
async function tendJob<Job>(
  parts: ScheduleParts<Job>,
  listed: ListedJob<Job>,
  underWay: RunUnderWay | undefined,
): Promise<Tended> {
  const { ledger, gatewayOf, events, now } = parts
  const { fires } = ledger
  const { name } = listed
  const jobId = await ledger.jobs.id(name, gatewayOf(name))
  const known = await fires.timetable(jobId)
  const schedule = 'problem' in listed ? undefined : listed.schedule
  if (!('problem' in listed) && schedule === undefined) {
    if (known !== undefined) await fires.forget(jobId, 'unscheduled', now())
    return {}
  }
  const news = comeDue(known, schedule, now())
  if (news !== undefined) await fires.comeDue(jobId, known, news.timetable, news.fires)

  const { open: found, retrying, running } = await openFires(parts, name, jobId, underWay)
  const open = await withoutOver(parts, name, found)
  const hindered = await hindrance(parts, jobId, listed, running ?? underWay?.fire)
  const { ready, retryAt } = await tendTries(parts, name, retrying, schedule, hindered !== undefined)
  const { begin, missed, skipped } = decide([...ready, ...open], schedule?.missed, now(), hindered)
  const later: Tended = present({ retryAt })
  const settle = async (fire: FireRecord, event: 'miss' | 'skip', change: FireChange): Promise<void> => {
    const moved = await fires.move(fire, event, change)
    if (moved === undefined) return
    if (event === 'miss') events.missed(name, moved)
    else events.skipped(name, moved, change.reason !== undefined)
  }
  for (const { fire, why } of missed) await settle(fire, 'miss', { ...why })
  for (const { fire, why, by } of skipped)
    await settle(fire, 'skip', { ...why, made_up_by: by ?? null, ended_at: now() })
  if (begin === undefined || 'problem' in listed || parts.interrupt.aborted) return later
  const { fire, late, why } = begin
  const again = fire.state === 'interrupted' || fire.state === 'retrying'
  const begun = await fires.move(fire, again ? 'resume' : 'begin', {
    ...why,
    ...(late ? { made_up_by: fire.due } : {}),
    owner: parts.owner,
    begun_at: now(),
    // Clears the end of the interrupted try.
    ended_at: null,
    exit: null,
    error: null,
    retry_at: null,
  })
  // Another process was faster and runs the job.
  if (begun === undefined) return later
  events.begun(name, begun, why !== undefined, again)
  const isContinued = fire.state === 'interrupted'
  return { begun: { fire: begun, over: runFire(parts, listed, begun, isContinued) } }
}

/**
 * Ends the tries that are over, also of a run that a person has ended meanwhile.
 * @returns fires whose try is due; the earliest try of the others
 */
async function tendTries<Job>(
  { ledger, events, now }: ScheduleParts<Job>,
  name: string,
  retrying: readonly Retrying[],
  schedule: JobSchedule | undefined,
  isHindered: boolean,
): Promise<{ readonly ready: readonly Retrying[]; readonly retryAt: number | undefined }> {
  const ready: Retrying[] = []
  const later: number[] = []
  for (const fire of retrying) {
    const step = (await runOver(ledger, fire)) ? 'end' : stepOf(fire, schedule, now(), isHindered)
    if (step === 'try') ready.push(fire)
    else if (step === 'wait') later.push(fire.retry_at ?? fire.due)
    else {
      const ended = await ledger.fires.move(fire, 'end', { retry_at: null })
      if (ended !== undefined) events.gaveUp(name, ended)
    }
  }
  const ahead = later.filter((at) => at > now())
  return { ready, retryAt: ahead.length === 0 ? undefined : Math.min(...ahead) }
}

/** Run of a fire, if a person has ended the run meanwhile. */
async function runOver({ runs }: ScheduleParts<unknown>['ledger'], { run_id: id }: FireRecord) {
  const run = id === null ? undefined : await runs.find(id)
  return run?.state === 'finished' || run?.state === 'failed' ? run : undefined
}

type Open = FireRecord & { state: 'due' | 'missed' | 'interrupted' }

/** Ends interrupted fires whose own run is over. A run from before the fire has not read its exports; of a worker's run, the ticket has the end. */
async function withoutOver<Job>(
  { ledger, events, isAwaited }: ScheduleParts<Job>,
  name: string,
  fires: readonly Open[],
): Promise<readonly Open[]> {
  const others: Open[] = []
  for (const fire of fires) {
    const mayEnd = fire.state === 'interrupted' && isAwaited === undefined
    const run = mayEnd ? await runOver(ledger, fire) : undefined
    if (run === undefined || run.started_at < fire.due) {
      others.push(fire)
      continue
    }
    const ended = await ledger.fires.move(fire, 'end', {})
    if (ended !== undefined) events.gaveUp(name, ended)
  }
  return others
}

type Retrying = FireRecord & { state: 'retrying' }

/** The running fire of a job, and open fires that are not running; interrupts the fire of a dead process. */
async function openFires<Job>(
  parts: ScheduleParts<Job>,
  name: string,
  jobId: number,
  underWay: RunUnderWay | undefined,
): Promise<{
  open: Open[]
  retrying: Retrying[]
  running: FireRecord | undefined
}> {
  const { ledger, now, owner, isDead } = parts
  const open: Open[] = []
  const retrying: Retrying[] = []
  let running: FireRecord | undefined
  for (const fire of await ledger.fires.open(jobId)) {
    const { state } = fire
    if (state === 'due' || state === 'missed' || state === 'interrupted') open.push({ ...fire, state })
    if (state === 'retrying') retrying.push({ ...fire, state })
    if (state !== 'running') continue
    if (fire.due === underWay?.fire.due) {
      running = fire
      continue
    }
    const isOld = now() - (fire.begun_at ?? 0) > GONE_AFTER_MS
    const isGone =
      fire.owner === null ||
      fire.owner === owner ||
      isDead(fire.owner) ||
      (isOld && !(await isHeldOrAwaited(parts, name, fire)))
    const left = isGone ? await ledger.fires.move(fire, 'interrupt') : undefined
    if (left?.state === 'interrupted') {
      parts.events.abandoned(name, left)
      open.push({ ...left, state: left.state })
    } else running = fire
  }
  return { open, retrying, running }
}

/** True if a process runs the job, waits for the lease, or is to run the job. A backfill alone does not count: a backfill may run for days, and starts no fire. */
async function isHeldOrAwaited<Job>(
  { ledger, now, isDead, isAwaited }: ScheduleParts<Job>,
  name: string,
  { due, job_id: jobId }: FireRecord,
): Promise<boolean> {
  if ((await isAwaited?.(name, due)) === true) return true
  const holder = await ledger.leases.holder(jobId, now(), isDead)
  if (holder === undefined || holder.gives_way === 0) return holder !== undefined
  return (await ledger.way.waiter(jobId, now(), isDead)) !== undefined
}

/** Reason why the job cannot run now. */
async function hindrance<Job>(
  { ledger, now, isDead }: ScheduleParts<Job>,
  jobId: number,
  listed: ListedJob<Job>,
  running: FireRecord | undefined,
): Promise<Hindrance | undefined> {
  if ('problem' in listed) return { reason: 'job-invalid', detail: listed.problem.message }
  const pause = await ledger.pauses.of(jobId, now())
  if (pause !== undefined) {
    const why = pause.note === null ? '' : `: ${pause.note}`
    const until = pause.until === null ? '' : ` until ${iso(pause.until)}`
    return { reason: 'paused', detail: `${pause.by}, since ${iso(pause.at)}${until}${why}` }
  }
  if (running !== undefined)
    return heldBy(running.owner ?? 'a process', running.run_id, running.begun_at ?? running.due)
  const holder = await ledger.leases.holder(jobId, now(), isDead)
  // A backfill releases the job on request; the run makes the request.
  if (holder === undefined || holder.gives_way !== 0) return undefined
  return heldBy(holder.owner, holder.run_id, holder.acquired_at)
}

function heldBy(owner: string, run: string | null, since: number): Hindrance {
  const which = run === null ? '' : `run ${run}, `
  return {
    reason: 'job-held',
    detail: `${processName(owner)} (${which}since ${new Date(since).toISOString()})`,
  }
}

async function runFire<Job>(
  parts: ScheduleParts<Job>,
  { name, job, schedule }: Extract<ListedJob<Job>, { readonly schedule: unknown }>,
  fire: FireRecord,
  isContinued: boolean,
): Promise<void> {
  const { ledger, events, now } = parts
  const { fires } = ledger
  let noted: Promise<void> = Promise.resolve()
  const note = (id: string): void => {
    noted = noted.then(() => fires.noteRun(fire, id)).catch((error) => events.trouble(name, error))
  }
  try {
    const retryAt = decideOnce((code, at = now()) => nextTry(schedule, fire.due, code, at))
    const end = await parts
      .run(job, note, fire, retryAt, isContinued)
      .catch((error: unknown) => endOf(error, name, events))
    await noted
    if (end === 'held') {
      const holder = await ledger.leases.holder(fire.job_id, now(), parts.isDead)
      const why = holder && heldBy(holder.owner, holder.run_id, holder.acquired_at)
      const missed = await fires.move(fire, 'miss', { reason: 'job-held', ...why, made_up_by: null })
      if (missed !== undefined) events.missed(name, missed)
      return
    }
    const ended =
      end === 'nothing'
        ? await fires.move(fire, 'end', { ended_at: now(), exit: null, error: 'exports-none' })
        : await storeEnd(parts, fire, end, retryAt(end.error))
    if (ended !== undefined) events.ended(name, ended)
  } catch (error) {
    events.trouble(name, error)
  }
}

const storeEnd = <Job>(
  { ledger, now }: ScheduleParts<Job>,
  fire: FireRecord,
  end: SettledRun,
  retryAt: number | undefined,
): Promise<FireRecord | undefined> =>
  ledger.fires.move(fire, retryAt !== undefined ? 'retry' : goesOn(end) ? 'interrupt' : 'end', {
    ...(end.run === undefined ? {} : { run_id: end.run }),
    ended_at: now(),
    exit: end.exit,
    error: end.error ?? null,
    ...(retryAt === undefined ? {} : { retry_at: retryAt }),
  })

/** Keeps the first answer: the notice and the ledger must not disagree by a millisecond. */
export function decideOnce(decide: RetryDecision): RetryDecision {
  let decided: { readonly at: number | undefined } | undefined
  return (code, at) => {
    decided ??= { at: decide(code, at) }
    return decided.at
  }
}

/** True to continue the run at once; a run stopped by a person continues with the next run. */
const goesOn = ({ exit, error }: SettledRun): boolean =>
  exit === EXIT.interrupted && error !== 'asked-to-stop'

type SettledRun = Omit<FireRunEnd, 'run'> & { readonly run?: string }

function endOf(
  error: unknown,
  name: string,
  events: ScheduleParts<unknown>['events'],
): SettledRun | 'held' | 'nothing' {
  const { code, exit } = endingOf(error)
  if (code === 'job-held') return 'held'
  events.trouble(name, error)
  return code === 'exports-none' ? 'nothing' : { exit, error: code }
}
