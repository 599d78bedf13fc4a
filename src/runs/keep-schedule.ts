/**
 * Runs jobs when due, until interrupted: combines schedule, runs, notices, expectations and metrics. Problems of one wake-up (invalid file, empty
 * folder, missed fire, held job, dead run) are notified before the schedule sleeps.
 */
import { hash } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Job } from '../definitions/definition-files.ts'
import { chooseGateway, gatewayNameOf, readTargets, targetsOf } from '../definitions/jobs.ts'
import { keyOf, type Target } from '../definitions/notify-definition.ts'
import { planLooks } from '../expect/expectation-watch.ts'
import type { FireRecord } from '../ledger/ledger.ts'
import type { Tickets } from '../ledger/tickets.ts'
import { type Dispatcher, trafficOf } from '../load/dispatcher.ts'
import { allDone, WaybillError } from '../model/errors.ts'
import type { Need } from '../needs/need.ts'
import { noteRefusedStart } from '../needs/refused-starts.ts'
import type { RunDependencies, RunListener } from '../run/events.ts'
import { runSchedule } from '../schedule/run-schedule.ts'
import {
  createScheduleEvents,
  type ListedJob,
  type LookPlan,
  type ScheduleEvents,
  type ScheduleParts,
} from '../schedule/schedule-parts.ts'
import { type About, brokenNotice, goneNotice, missedNotice } from '../story/notices.ts'
import type { ListenAddress, Settings } from '../system/settings.ts'
import type { Application } from './application.ts'
import { asksWorkers, openSharedTickets } from './ask-workers.ts'
import { openGateways, type RunWatch, type Surroundings } from './connect-gateway.ts'
import { createDigestWatch } from './digests.ts'
import { expectationParts } from './expectations.ts'
import { askForFire, beginFire, isFireAwaited } from './fire-run.ts'
import { createHeartbeatWatch } from './heartbeats.ts'
import { createDeadlineWatch } from './late-jobs.ts'
import { readNeeds } from './needs.ts'
import { tellDeadRun, tellHolder, tellLastTry } from './run-notices.ts'
import { countSchedule, openScheduleMetrics, tellInstallation, watchJobs } from './schedule-metrics.ts'
import { createJobList, versionOfFolder } from './scheduled-jobs.ts'
import { createTeller, lastTargets, type Teller, type TellerContext } from './teller.ts'

const REREAD_MS = 60_000

interface ScheduleWatch extends Pick<RunWatch, 'onConnected'> {
  readonly events: ScheduleEvents
  readonly reporter: () => RunListener
}

/**
 * @param address of the metrics server; undefined: address of the settings, if any
 * @throws `job-not-found` if the jobs folder cannot be read, `settings-invalid`
 */
export async function keepSchedule(
  application: Application,
  watch: ScheduleWatch,
  address: ListenAddress | undefined = application.settings.metrics,
): Promise<void> {
  const readJobs = createJobList(application.settings)
  await readJobs()
  const served = address && (await openScheduleMetrics(application, address))
  const metrics = served?.metrics
  const parts = { ...watch, listener: {}, onRequest: metrics?.requestAnswered }
  const tickets = asksWorkers(application) ? await openSharedTickets(application) : undefined
  try {
    const { common, at, close } = await openGateways(application, parts)
    await keep(application, { ...watch, readJobs, served, tickets }, common, at).finally(close)
  } finally {
    await tickets?.close()
    await served?.close()
  }
}

interface Keeping extends ScheduleWatch {
  readonly readJobs: () => Promise<ListedJob<Job>[]>
  readonly served: Awaited<ReturnType<typeof openScheduleMetrics>> | undefined
  /** Set where workers run the jobs. */
  readonly tickets: Tickets | undefined
}

async function keep(
  application: Application,
  { readJobs, served, tickets, events, reporter }: Keeping,
  common: Surroundings,
  at: (gateway: string) => Promise<RunDependencies>,
): Promise<void> {
  const { settings, logger } = application
  const metrics = served?.metrics
  logger.info('the schedule has started')
  const sentTo = new Set<Dispatcher>()
  metrics?.watchTraffic(() => trafficOf(sentTo))
  const known = new Map<string, string>()
  const deps = { ...common, gatewayOf: (job: string) => known.get(job) ?? gatewayNameOf(settings) }
  const seen = metrics && watchJobs(application, deps, metrics)
  const telling = createScheduleTeller(application, deps)
  const looks = createLooks(application, deps, telling.teller)
  served?.ready(async () => {
    try {
      await deps.ledger.runs.list(1)
      await readJobs()
      return undefined
    } catch (error) {
      return error instanceof WaybillError ? error.code : 'the ledger or the jobs cannot be read'
    }
  })
  const watched = { teller: telling.teller, metrics, reporter }
  const connect = async (gateway: string): Promise<RunDependencies> => {
    const atGateway = await at(gateway)
    sentTo.add(atGateway.dispatcher)
    return atGateway
  }
  await runSchedule<Job>({
    ...deps,
    async sleep(ms, signal) {
      const until = application.now() + ms
      await telling.beforeSleep()
      // Subtract the time spent notifying: a job may be due.
      await application.sleep(Math.max(0, until - application.now()), signal)
    },
    rereadMs: REREAD_MS,
    async readJobs() {
      const jobs = await readJobs()
      for (const { name, job } of jobs)
        if (job !== undefined) known.set(name, gatewayNameOf(settings, job.definition))
      telling.listed(jobs)
      await seen?.listed(jobs)
      let read: Promise<readonly Need[]> | undefined
      const needs = () => (read ??= readNeeds(application, undefined, deps.ledger))
      if (metrics !== undefined) await tellInstallation(application, deps.ledger, metrics, needs)
      await looks.listed(jobs, needs)
      return jobs
    },
    run: (...parts) => {
      const [{ definition }] = parts
      const gateway = chooseGateway(settings, parts[0])
      return telling.running(definition.job, () =>
        tickets === undefined
          ? beginFire(application, watched, () => connect(gateway), parts)
          : askForFire(application, tickets, gateway, parts),
      )
    },
    ...(tickets && {
      isAwaited: (job: string, due: number) => isFireAwaited(tickets, deps.gatewayOf(job), { job, due }),
    }),
    planLook: looks.planLook,
    events: createScheduleEvents(
      ...(metrics === undefined ? [] : [countSchedule(metrics, application.now)]),
      ...[events, telling.events],
      { broken: (job, problem) => noteRefusedStart(settings.home, job, problem, application.now()) },
    ),
  })
  await Promise.all([telling.end(), looks.end()])
  logger.info('the schedule has ended')
}

function createLooks(
  application: Application,
  deps: Pick<RunDependencies, 'ledger'> & Pick<ScheduleParts<Job>, 'gatewayOf'>,
  teller: Teller,
) {
  const { settings, logger, now } = application
  const { ledger, gatewayOf } = deps
  const expecting = expectationParts(application, ledger, async (job, notice) => {
    const { title, cause } = notice
    const words = `${title.replace(/^Waybill: /, '')}${cause === undefined ? '' : `. Because ${cause}`}`
    logger[notice.failure ? 'warn' : 'info'](words, { job: notice.job })
    await teller.tell(notice, targetsOf(job))
    // Other sources of the job may take minutes to answer, while the schedule sleeps.
    void teller.deliver()
  })
  const heartbeats = createHeartbeatWatch(application, ledger, gatewayOf)
  const deadlines = createDeadlineWatch(settings, ledger, teller)
  const digests = createDigestWatch(application, ledger, teller, gatewayOf)
  return {
    async listed(jobs: readonly ListedJob<Job>[], needs: () => Promise<readonly Need[]>): Promise<void> {
      digests.listed(jobs)
      await heartbeats.listed(jobs, needs)
    },
    planLook: async (job: Job): Promise<LookPlan> =>
      allLooks(await planLooks(expecting, job), await deadlines.planLook(job, now()), digests.planLook(job)),
    end: heartbeats.end,
  }
}

function allLooks(...plans: readonly LookPlan[]): LookPlan {
  const next = plans.flatMap((plan) => plan.next ?? [])
  const looks = plans.flatMap(({ look }) => look ?? [])
  return {
    next: next.length === 0 ? undefined : Math.min(...next),
    look: looks.length === 0 ? undefined : async () => void (await allDone(looks.map((look) => look()))),
  }
}

/**
 * Reasons of missed fires without a notice here: a person knows of `paused`, `job-invalid` has its own, and of `earlier-first` the earlier fire was
 * notified.
 */
const REPORTED_OTHERWISE: ReadonlySet<string> = new Set(['job-invalid', 'earlier-first', 'paused'])

export function createScheduleTeller(context: TellerContext, deps: TellingOfSchedule) {
  const { ledger, gatewayOf } = deps
  const known = new Map<string, readonly Target[]>()
  const teller = createTeller(context, ledger, known)
  const problems = collectProblems()
  const underWay = new Set<string>()
  /** Name, and true if scheduled. */
  let jobs: readonly (readonly [name: string, scheduled: boolean])[] = []
  /** Jobs of the last non-empty listing. */
  let names: readonly string[] = []
  let isEmpty = false
  let isDelivering = false

  const targetsFor = async (job: string): Promise<readonly Target[]> =>
    (await readTargets(context.settings, job)) ?? known.get(job) ?? (await lastTargets(ledger, job)) ?? []
  const tellAll = async (): Promise<void> => {
    const listed = names.map((name) => [name, known.get(name) ?? []] as const)
    await tellProblems(context, deps, teller, problems.take(), targetsFor, (job) => underWay.has(job), listed)
    for (const [job, scheduled] of jobs) {
      const targets = known.get(job) ?? []
      const atGateway = { ...deps, gatewayName: gatewayOf(job) }
      if (targets.length > 0 && !underWay.has(job))
        await tellDeadRun(teller, atGateway, job, targets, scheduled)
    }
  }
  const tellQuietly = (): Promise<void> =>
    tellAll().catch(() =>
      context.logger.warn('problems of the schedule cannot be notified: the ledger cannot be used'),
    )

  return {
    teller,
    events: problems.events,
    /** Receives the jobs after each reading, and remembers the targets that each job file listed last. */
    listed(all: readonly ListedJob<Job>[]): void {
      const good = all.flatMap((one) => ('problem' in one ? [] : [one]))
      jobs = good.map(({ name, schedule }) => [name, schedule !== undefined])
      for (const { name, job } of good) known.set(name, targetsOf(job))
      if (all.length > 0) names = all.map(({ name }) => name)
      else if (!isEmpty && names.length > 0) problems.emptied()
      isEmpty = all.length === 0
    },
    /** Marks a run of this process as alive, so that no notice reports it as dead. */
    async running<Result>(job: string, run: () => Promise<Result>): Promise<Result> {
      underWay.add(job)
      try {
        return await run()
      } finally {
        underWay.delete(job)
      }
    },
    /** Notifies the collected problems, and starts to deliver due notifications. Never rejects. */
    async beforeSleep() {
      await tellQuietly()
      // After a jump of the clock the claims of a pass under way have run out, and a second pass would send their notices again.
      if (isDelivering) return
      isDelivering = true
      void teller.deliver().finally(() => {
        isDelivering = false
      })
    },
    /** Notifies the rest, and delivers due notifications. */
    async end() {
      await tellQuietly()
      await teller.deliver()
    },
  }
}

type TellingOfSchedule = Pick<RunDependencies, 'ledger' | 'home' | 'now' | 'isDead'> &
  Pick<ScheduleParts<Job>, 'gatewayOf'>

interface Problems {
  /** Set when the folder becomes empty, with the cause. */
  readonly gone: { readonly problem?: WaybillError } | undefined
  readonly broken: ReadonlyMap<string, WaybillError>
  readonly missed: ReadonlyMap<string, readonly FireRecord[]>
  readonly gaveUp: ReadonlyMap<string, FireRecord>
}

function collectProblems() {
  let gone: Problems['gone']
  let broken = new Map<string, WaybillError>()
  let missed = new Map<string, FireRecord[]>()
  let gaveUp = new Map<string, FireRecord>()
  const note = (job: string, fire: FireRecord, isNews: boolean): void => {
    if (isNews && !REPORTED_OTHERWISE.has(fire.reason ?? ''))
      missed.set(job, [...(missed.get(job) ?? []), fire])
  }
  return {
    events: {
      broken: (job, problem) => broken.set(job, problem),
      begun: note,
      missed: (job, fire) => note(job, fire, true),
      skipped: note,
      gaveUp: (job, fire) => gaveUp.set(job, fire),
      trouble(job, error) {
        if (job === undefined && error instanceof WaybillError && error.code === 'job-not-found')
          gone = { problem: error }
      },
    } satisfies Partial<ScheduleEvents>,
    emptied(): void {
      gone = {}
    },
    take(): Problems {
      const taken = { gone, broken, missed, gaveUp }
      broken = new Map()
      missed = new Map()
      gaveUp = new Map()
      gone = undefined
      return taken
    },
  }
}

async function tellProblems(
  { settings }: TellerContext,
  deps: TellingOfSchedule,
  teller: Teller,
  { gone, broken, missed, gaveUp }: Problems,
  targetsFor: (job: string) => Promise<readonly Target[]>,
  isUnderWay: (job: string) => boolean,
  listed: readonly (readonly [name: string, targets: readonly Target[]])[],
): Promise<void> {
  const { ledger, gatewayOf, now } = deps
  const about = (job: string): About => ({ job, gateway: gatewayOf(job), at: now() })
  if (gone !== undefined) {
    // Each target once, however many jobs list it.
    const notified = new Set<string>()
    const names = listed.map(([name]) => name)
    for (const [job, targets] of listed) {
      const remaining = targets.filter((target) => !notified.has(keyOf(target)))
      for (const target of remaining) notified.add(keyOf(target))
      await teller.tell(goneNotice(about(job), gone.problem, names), remaining)
    }
  }
  for (const [job, problem] of broken) {
    const version = await versionOf(settings, job, problem)
    await teller.tell(brokenNotice(about(job), problem, version), await targetsFor(job))
  }
  for (const [job, fires] of missed) {
    const targets = await targetsFor(job)
    if (targets.length === 0) continue
    const ofReason = Map.groupBy(fires, ({ reason }) => reason ?? 'not-scheduled')
    for (const [reason, [first, ...others]] of ofReason) {
      if (first === undefined) continue
      // A long run may delay many fires: one notice says that the run holds the job.
      if (reason === 'job-held') await tellHolder(teller, ledger, about(job), targets, now)
      else await teller.tell(missedNotice(about(job), reason, [first, ...others]), targets)
    }
  }
  for (const [job, fire] of gaveUp)
    if (!isUnderWay(job)) await tellLastTry(teller, deps, about(job), await targetsFor(job), fire)
}

/** Version of the changed file: a problem that comes back later is notified again; a problem that two processes find is notified once. */
async function versionOf(
  { jobs: folder, mappings }: Pick<Settings, 'jobs' | 'mappings'>,
  job: string,
  { code }: WaybillError,
): Promise<string> {
  if (!code.startsWith('job-')) return hash('sha256', await versionOfFolder(mappings), 'hex').slice(0, 16)
  for (const ending of ['yaml', 'yml']) {
    const found = await stat(join(folder, `${job}.${ending}`)).catch(() => undefined)
    if (found !== undefined) return found.mtime.toISOString()
  }
  return 'gone'
}
