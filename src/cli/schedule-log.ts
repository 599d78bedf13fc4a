/** Turns what a schedule tells into log lines. */
import { describePlace, EXIT, WaybillError } from '../errors.ts'
import type { FireRecord } from '../ledger/ledger.ts'
import { localTime, utcTime } from '../schedule/local-time.ts'
import type { ScheduleEvents } from '../schedule/schedule-parts.ts'
import type { Logger } from '../telemetry/logger.ts'
import { fireWords } from './fire-text.ts'

export function createScheduleLog(logger: Logger): ScheduleEvents {
  const tell =
    (level: 'info' | 'warn', what: string) =>
    (job: string, fire: FireRecord): void =>
      logger[level](`the fire of ${utcTime(fire.due)} UTC ${what}: ${fireWords(fire)}`, {
        job,
        run: fire.run_id ?? undefined,
        code: fire.error ?? undefined,
      })
  return {
    scheduled: (job, { cron, zone }, next) =>
      logger.info(`scheduled "${cron}" in ${zone}, next on ${localTime(next, zone)}`, { job }),
    unscheduled: (job) => logger.info('on no schedule any more', { job }),
    broken: (job, problem) =>
      logger.error(`not run until it is corrected: ${inOneLine(problem)}`, { job, code: problem.code }),
    begun: tell('info', 'is run'),
    ended: (job, fire) => {
      const isWell = fire.exit === EXIT.ok || fire.state === 'interrupted'
      tell(isWell ? 'info' : 'warn', fire.state === 'interrupted' ? 'was interrupted' : 'has ended')(
        job,
        fire,
      )
    },
    missed: tell('warn', 'was missed'),
    skipped: tell('info', 'is skipped'),
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
