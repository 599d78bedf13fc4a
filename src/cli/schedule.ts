/** `waybill schedule`: runs jobs when they are due, until it is interrupted; or explains what was and will be due. */
import { EXIT, WaybillError } from '../errors.ts'
import type { Job } from '../job/definition-files.ts'
import type { RunDependencies } from '../job/run-dependencies.ts'
import { runJob } from '../job/run-job.ts'
import { allRecords } from '../reconcile/balance.ts'
import { runSchedule } from '../schedule/run-schedule.ts'
import type { FireRunEnd } from '../schedule/schedule-parts.ts'
import { createProgress } from '../telemetry/progress.ts'
import type { Action, CommandContext } from './context.ts'
import { explainSchedule } from './explain-schedule.ts'
import { withRunDependencies } from './run-environment.ts'
import { createRunReporter } from './run-reporter.ts'
import { createScheduleLog } from './schedule-log.ts'
import { listJobs } from './scheduled-jobs.ts'

/** A job file that is new, changed or repaired is taken up after this time. */
const REREAD_MS = 60_000

export interface ScheduleCommandOptions {
  /** The job to explain; true: all. */
  readonly explain?: string | true
  readonly json?: true
}

export const schedule: Action<ScheduleCommandOptions> = async (context, { explain, json }) => {
  if (explain !== undefined)
    return explainSchedule(context, { job: explain === true ? undefined : explain, json: json === true })
  if (json) throw new WaybillError('usage-wrong', '--json is given without --explain')
  const readJobs = () => listJobs(context.settings)
  await readJobs()
  return withRunDependencies(context, false, async (deps) => {
    context.logger.info('the schedule is kept')
    await runSchedule<Job>({
      ledger: deps.ledger,
      gateway: deps.gatewayName,
      now: context.now,
      sleep: context.sleep,
      interrupt: context.interrupt,
      owner: context.owner,
      isDead: context.isDead,
      rereadMs: REREAD_MS,
      readJobs,
      run: (job, onRun) => runOnce(context, deps, job, onRun),
      events: createScheduleLog(context.logger),
    })
    context.logger.info('the schedule has ended')
    return EXIT.ok
  })
}

/** As `waybill run` does, with its summary as a log line. */
async function runOnce(
  { logger, now, err }: CommandContext,
  deps: RunDependencies,
  job: Job,
  onRun: (id: string) => void,
): Promise<FireRunEnd> {
  const reporter = createRunReporter(createProgress('quiet', now, err), logger)
  const events: RunDependencies['events'] = {
    ...reporter,
    runStarted(run) {
      onRun(run.id)
      reporter.runStarted(run)
    },
  }
  const options = { files: [], limit: Number.POSITIVE_INFINITY, acceptDrift: false }
  const { summary, exit, error } = await runJob({ ...deps, events }, job, options)
  for (const one of summary.resumed === undefined ? [summary] : [summary.resumed, summary]) {
    const { made, accepted, rejected, unchanged, inDoubt } = allRecords(one)
    logger.info(`run ${one.state}`, {
      job: one.job,
      run: one.run,
      rows: one.rows.read,
      records: made,
      accepted,
      rejected,
      unchanged,
      inDoubt,
      durationMs: one.durationMs,
    })
  }
  if (error !== undefined)
    logger.error(`${error.message}. ${error.remedy}`, {
      job: summary.job,
      run: summary.run,
      code: error.code,
    })
  return { run: summary.run, exit, ...(error === undefined ? {} : { error: error.code }) }
}
