/** Runs jobs when they are due, until it is interrupted: schedule, runs, notices, expectations and metrics put together. */
import type { Job } from '../definitions/definition-files.ts'
import { chooseGateway, gatewayNameOf, targetsOf } from '../definitions/jobs.ts'
import { planLooks } from '../expect/expectation-watch.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { WaybillError } from '../model/errors.ts'
import { trafficOf } from '../run/connect-stages.ts'
import type { RunDependencies } from '../run/dependencies.ts'
import { createRunEvents, type RunListener } from '../run/events.ts'
import { command, nextSteps, type Step } from '../run/next-steps.ts'
import type { RunSummary } from '../run/summary.ts'
import { runSchedule } from '../schedule/run-schedule.ts'
import {
  createScheduleEvents,
  type FireEnd,
  type ListedJob,
  type ScheduleEvents,
  type ScheduleParts,
} from '../schedule/schedule-parts.ts'
import type { ListenAddress } from '../settings.ts'
import { shellWord } from '../shown-text.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { Application } from './application.ts'
import { type RunWatch, type Surroundings, withGateways } from './connect-gateway.ts'
import { expectationParts } from './expectations.ts'
import { lastRunFile, tellingLastRun } from './last-run.ts'
import { runAndTell } from './run-and-tell.ts'
import { runJob } from './run-job.ts'
import {
  countEnd,
  countRuns,
  countSchedule,
  openScheduleMetrics,
  type ScheduleMetrics,
  tellInstallation,
  watchJobs,
} from './schedule-metrics.ts'
import { createScheduleTeller } from './schedule-teller.ts'
import { createJobList, isNothingExplained, isNothingFound } from './scheduled-jobs.ts'
import type { Teller } from './teller.ts'

/** A job file that is new, changed or repaired is taken up after this time. */
const REREAD_MS = 60_000

export interface ScheduleWatch extends Pick<RunWatch, 'onConnected'> {
  /** Told of what the schedule meets and does. */
  readonly events: ScheduleEvents
  /** Makes who is told of one run. */
  readonly reporter: () => RunListener
}

/**
 * @param address where metrics are served; undefined: where the settings say, if they do
 * @throws WaybillError `job-not-found` where the folder of jobs cannot be read, `settings-invalid`
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
  try {
    await withGateways(application, parts, (common, at) =>
      keep(application, { ...watch, readJobs, served }, common, at),
    )
  } finally {
    await served?.close()
  }
}

interface Keeping extends ScheduleWatch {
  readonly readJobs: () => Promise<ListedJob<Job>[]>
  readonly served: ScheduleMetrics | undefined
}

async function keep(
  application: Application,
  { readJobs, served, events, reporter }: Keeping,
  common: Surroundings,
  at: (gateway: string) => Promise<RunDependencies>,
): Promise<void> {
  const { settings, logger } = application
  const metrics = served?.metrics
  logger.info('the schedule is kept')
  const sentTo = new Set<Gateway>()
  metrics?.watchTraffic(() => trafficOf(sentTo))
  const known = new Map<string, string>()
  const deps = { ...common, gatewayOf: (job: string) => known.get(job) ?? gatewayNameOf(settings) }
  const seen = metrics && watchJobs(application, deps, metrics)
  const telling = createScheduleTeller(application, deps)
  const expecting = expectationParts(application, deps.ledger, async (job, notice) => {
    const { title, cause } = notice
    const words = `${title.replace(/^Waybill: /, '')}${cause === undefined ? '' : `. Because ${cause}`}`
    logger[notice.failure ? 'warn' : 'info'](words, { job: notice.job })
    await telling.teller.tell(notice, targetsOf(job))
  })
  served?.ready(async () => {
    try {
      await deps.ledger.runs(1)
      await readJobs()
      return undefined
    } catch (error) {
      return error instanceof WaybillError ? error.code : 'the ledger or the jobs cannot be read'
    }
  })
  const watched = { teller: telling.teller, metrics, reporter }
  await runSchedule<Job>({
    ...deps,
    async sleep(ms, signal) {
      const until = application.now() + ms
      await telling.beforeSleep()
      // Not by as much longer as that has taken: somebody may be due.
      await application.sleep(Math.max(0, until - application.now()), signal)
    },
    rereadMs: REREAD_MS,
    async readJobs() {
      const jobs = await readJobs()
      for (const { name, job } of jobs)
        if (job !== undefined) known.set(name, gatewayNameOf(settings, job.definition))
      telling.listed(jobs)
      await seen?.listed(jobs)
      if (metrics !== undefined) await tellInstallation(application, deps.ledger, metrics)
      return jobs
    },
    run: (job, onRun, fire) =>
      telling.running(job.definition.job, async () => {
        const atGateway = await at(chooseGateway(settings, job))
        sentTo.add(atGateway.gateway)
        return runOnce(application, watched, atGateway, [job, onRun, fire])
      }),
    planLook: (job) => planLooks(expecting, job),
    events: createScheduleEvents(
      ...(metrics === undefined ? [] : [countSchedule(metrics, application.now)]),
      ...[events, telling.events],
    ),
  })
  await telling.end()
  logger.info('the schedule has ended')
}

/** Who is told of the runs. */
interface Watched extends Pick<Keeping, 'reporter'> {
  readonly teller: Teller
  readonly metrics: Metrics | undefined
}

/** As `waybill run` does. */
async function runOnce(
  application: Application,
  { teller, metrics, reporter }: Watched,
  deps: RunDependencies,
  [job, onRun, fire]: Parameters<ScheduleParts<Job>['run']>,
): Promise<FireEnd> {
  const { logger } = application
  const name = job.definition.job
  const events = createRunEvents(
    metrics === undefined ? {} : countRuns(metrics, name),
    { runStarted: ({ id }) => onRun(id) },
    reporter(),
  )
  const tell = [...lastRunFile(application), ...countEnd(metrics)]
  const options = { files: [], limit: Number.POSITIVE_INFINITY, acceptDrift: false }
  const isNothing = async (error: unknown): Promise<boolean> =>
    isNothingFound(error) && (await isNothingExplained(deps.ledger, deps.gatewayName, job, fire))
  const ended = await runAndTell(application, {
    teller,
    deps: { ...deps, events },
    job,
    next: nextOfSchedule,
    refusals: async (error) => !(await isNothing(error)),
    work: (told) =>
      tellingLastRun(
        application,
        told,
        { job: name, tell, refusals: (error) => !isNothingFound(error) },
        () => runJob(told, job, options),
      ),
  }).catch(async (error: unknown) => {
    if (await isNothing(error)) return 'nothing' as const
    throw error
  })
  if (ended === 'nothing') return ended
  const { summary, exit, error } = ended
  if (error !== undefined)
    logger.error(`${error.message}. ${error.remedy}`, {
      job: summary.job,
      run: summary.run,
      code: error.code,
    })
  return { run: summary.run, exit, ...(error === undefined ? {} : { error: error.code }) }
}

/** Nobody has to type anything for what was interrupted with the schedule. */
const nextOfSchedule = (summary: RunSummary): readonly Step[] =>
  summary.state === 'interrupted' && summary.reason === 'interrupted'
    ? [{ say: 'It goes on when the schedule is started; to look', commands: [command('show', summary.run)] }]
    : nextSteps(summary, [], shellWord)
