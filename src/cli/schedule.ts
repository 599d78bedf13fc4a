/** `waybill schedule`: runs jobs when they are due, until it is interrupted; or explains what was and will be due. */
import { type FireRecord, processName } from '../ledger/ledger.ts'
import { describePlace, EXIT, WaybillError } from '../model/errors.ts'
import { keepSchedule } from '../runs/keep-schedule.ts'
import { localTime } from '../schedule/cron-line.ts'
import type { ScheduleEvents } from '../schedule/schedule-parts.ts'
import { utcTime } from '../shown-text.ts'
import type { Logger } from '../telemetry/logger.ts'
import { NO_PROGRESS } from '../telemetry/progress.ts'
import type { Action } from './commands.ts'
import { watchOnTerminal } from './display.ts'
import { explainSchedule, fireWords, lateWords } from './explain-schedule.ts'
import { createRunReporter } from './run-reporter.ts'

export const schedule: Action<'schedule'> = async (context, { explain, json, metrics }) => {
  if (explain !== undefined)
    return explainSchedule(context, { job: explain === true ? undefined : explain, json: json === true })
  if (json) throw new WaybillError('usage-wrong', '--json is given without --explain')
  const { logger, now } = context
  const reporter = () => createRunReporter(NO_PROGRESS, logger, now)
  const watch = { ...watchOnTerminal(context, false), events: createScheduleLog(logger), reporter }
  await keepSchedule(context, watch, metrics)
  return EXIT.ok
}

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
