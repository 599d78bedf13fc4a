/** `waybill schedule`: runs jobs when they are due, until it is interrupted; or explains what was and will be due. */
import type { Job } from '../definitions/definition-files.ts'
import { chooseGateway, gatewayNameOf, targetsOf } from '../definitions/jobs.ts'
import { planLooks } from '../expect/expectation-watch.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { type FireRecord, processName } from '../ledger/ledger.ts'
import { describePlace, EXIT, WaybillError } from '../model/errors.ts'
import { trafficOf } from '../run/connect-stages.ts'
import type { RunDependencies } from '../run/dependencies.ts'
import { createRunEvents } from '../run/events.ts'
import { command, nextSteps, type Step } from '../run/next-steps.ts'
import type { RunSummary } from '../run/summary.ts'
import { type Surroundings, withGateways } from '../runs/connect-gateway.ts'
import { lastRunFile, tellingLastRun } from '../runs/last-run.ts'
import { mailedReport, runAndTell } from '../runs/run-and-tell.ts'
import { runJob } from '../runs/run-job.ts'
import type { Teller } from '../runs/teller.ts'
import { localTime, utcTime } from '../schedule/cron-line.ts'
import { runSchedule } from '../schedule/run-schedule.ts'
import type { FireEnd, ListedJob, ScheduleEvents } from '../schedule/schedule-parts.ts'
import type { ListenAddress } from '../settings.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { NO_PROGRESS } from '../telemetry/progress.ts'
import type { Action, CommandContext } from './context.ts'
import { watchOnTerminal } from './display.ts'
import { expectationParts } from './expect.ts'
import { explainSchedule, fireWords, lateWords } from './explain-schedule.ts'
import { createRunReporter } from './run-reporter.ts'
import { countEnd, countRuns, countSchedule, openScheduleMetrics, watchJobs } from './schedule-metrics.ts'
import { createScheduleTeller, logAndTell } from './schedule-teller.ts'
import { createJobList, isNothingExplained, isNothingFound } from './scheduled-jobs.ts'

/** A job file that is new, changed or repaired is taken up after this time. */
const REREAD_MS = 60_000

export interface ScheduleCommandOptions {
  /** The job to explain; true: all. */
  readonly explain?: string | true
  readonly json?: true
  /** Where to serve metrics; undefined: where the settings say. */
  readonly metrics?: ListenAddress
}

export const schedule: Action<ScheduleCommandOptions> = async (context, { explain, json, metrics }) => {
  if (explain !== undefined)
    return explainSchedule(context, { job: explain === true ? undefined : explain, json: json === true })
  if (json) throw new WaybillError('usage-wrong', '--json is given without --explain')
  const readJobs = createJobList(context.settings)
  await readJobs()
  const address = metrics ?? context.settings.metrics
  const served = address && (await openScheduleMetrics(context, address))
  try {
    return await keep(context, readJobs, served?.metrics)
  } finally {
    await served?.close()
  }
}

function keep(
  context: CommandContext,
  readJobs: () => Promise<ListedJob<Job>[]>,
  metrics: Metrics | undefined,
): Promise<number> {
  const { settings } = context
  const work = async (
    common: Surroundings,
    at: (gateway: string) => Promise<RunDependencies>,
  ): Promise<number> => {
    context.logger.info('the schedule is kept')
    const sentTo = new Set<Gateway>()
    metrics?.watchTraffic(() => trafficOf(sentTo))
    const known = new Map<string, string>()
    const deps = { ...common, gatewayOf: (job: string) => known.get(job) ?? gatewayNameOf(settings) }
    const seen = metrics && watchJobs(context, deps, metrics)
    const telling = createScheduleTeller(context, deps, mailedReport(context, deps.ledger))
    const expecting = expectationParts(context, deps.ledger, async (job, notice) => {
      const { title, cause } = notice
      const words = `${title.replace(/^Waybill: /, '')}${cause === undefined ? '' : `. Because ${cause}`}`
      context.logger[notice.failure ? 'warn' : 'info'](words, { job: notice.job })
      await telling.teller.tell(notice, targetsOf(job))
    })
    await runSchedule<Job>({
      ledger: deps.ledger,
      gatewayOf: deps.gatewayOf,
      now: context.now,
      async sleep(ms, signal) {
        const until = context.now() + ms
        await telling.beforeSleep()
        // Not by as much longer as that has taken: somebody may be due.
        await context.sleep(Math.max(0, until - context.now()), signal)
      },
      interrupt: context.interrupt,
      owner: context.owner,
      isDead: context.isDead,
      rereadMs: REREAD_MS,
      async readJobs() {
        const jobs = await readJobs()
        for (const { name, job } of jobs)
          if (job !== undefined) known.set(name, gatewayNameOf(settings, job.definition))
        telling.listed(jobs)
        await seen?.listed(jobs)
        return jobs
      },
      run: (job, onRun, fire) =>
        telling.running(job.definition.job, async () => {
          const atGateway = await at(chooseGateway(settings, job))
          sentTo.add(atGateway.gateway)
          return runOnce(context, { teller: telling.teller, metrics }, atGateway, { job, onRun, fire })
        }),
      planLook: (job) => planLooks(expecting, job),
      events: countSchedule(metrics, logAndTell(createScheduleLog(context.logger), telling)),
    })
    await telling.end()
    context.logger.info('the schedule has ended')
    return EXIT.ok
  }
  return withGateways(
    context,
    { ...watchOnTerminal(context, false), onRequest: metrics?.requestAnswered },
    work,
  )
}

/** As `waybill run` does, with log lines in place of its summary. */
async function runOnce(
  context: CommandContext,
  { teller, metrics }: { readonly teller: Teller; readonly metrics: Metrics | undefined },
  deps: RunDependencies,
  {
    job,
    onRun,
    fire,
  }: { readonly job: Job; readonly onRun: (id: string) => void; readonly fire: FireRecord },
): Promise<FireEnd> {
  const { logger, now } = context
  const name = job.definition.job
  const events = createRunEvents(
    metrics === undefined ? {} : countRuns(metrics, name),
    { runStarted: ({ id }) => onRun(id) },
    createRunReporter(NO_PROGRESS, logger, now),
  )
  const tell = [...lastRunFile(context), ...countEnd(metrics)]
  const options = { files: [], limit: Number.POSITIVE_INFINITY, acceptDrift: false }
  const isNothing = async (error: unknown): Promise<boolean> =>
    isNothingFound(error) && (await isNothingExplained(deps.ledger, deps.gatewayName, job, fire))
  const ended = await runAndTell(context, {
    teller,
    deps: { ...deps, events },
    job,
    next: nextOfSchedule,
    refusals: async (error) => !(await isNothing(error)),
    work: (told) =>
      tellingLastRun(context, told, { job: name, tell, refusals: (error) => !isNothingFound(error) }, () =>
        runJob(told, job, options),
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
    ? [
        {
          say: 'It goes on when the schedule is started; to look',
          commands: [command('show', summary.run)],
        },
      ]
    : nextSteps(summary)

export function createScheduleLog(logger: Logger): ScheduleEvents {
  const tell =
    (level: 'info' | 'warn', what: string, words = fireWords) =>
    (job: string, fire: FireRecord): void => {
      const more = words(fire)
      logger[level](`the fire of ${utcTime(fire.due)} UTC ${what}${more === '' ? '' : `: ${more}`}`, {
        job,
        run: fire.run_id ?? undefined,
        code: fire.error ?? undefined,
      })
    }
  return {
    scheduled: (job, { cron, zone }, next) =>
      logger.info(`scheduled "${cron}" in ${zone}, next on ${localTime(next, zone)}`, { job }),
    unscheduled: (job) => logger.info('on no schedule any more', { job }),
    broken: (job, problem) =>
      logger.error(`not run until it is corrected: ${inOneLine(problem)}`, { job, code: problem.code }),
    begun: (job, fire, _, again) =>
      tell('info', again ? 'is taken up again' : 'is run', lateWords)(job, fire),
    abandoned: tell('warn', 'was interrupted, and its process is gone', ({ owner, begun_at }) => {
      const name = processName(owner ?? 'a process')
      return begun_at === null ? name : `${name}, which had begun it at ${utcTime(begun_at)} UTC`
    }),
    ended: (job, fire) => {
      // Where nothing says why there was nothing to run, that is logged as the error it is.
      const isWell = fire.exit === EXIT.ok || fire.state === 'interrupted' || fire.error === 'exports-none'
      tell(isWell ? 'info' : 'warn', fire.state === 'interrupted' ? 'was interrupted' : 'has ended')(
        job,
        fire,
      )
    },
    missed: tell('warn', 'was missed'),
    skipped: tell('info', 'is skipped'),
    recovered: () => logger.info('the folder of jobs can be read again'),
    trouble(job, error) {
      if (error instanceof WaybillError) logger.error(inOneLine(error), { job, code: error.code })
      else
        logger.error(
          `unexpected: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
          { job },
        )
    },
  }
}

function inOneLine({ message, place, findings, remedy }: WaybillError): string {
  const where = place === undefined ? '' : describePlace(place)
  const at = where === '' || message.includes(where) ? '' : ` (${where})`
  const found = findings.map((finding) => `; ${describePlace(finding.place)}: ${finding.message}`)
  return `${message}${at}${found.join('')}. ${remedy}`
}
