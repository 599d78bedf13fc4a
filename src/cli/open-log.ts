/** The log as the settings have it: standard error, and a file where one is named. */
import { WaybillError } from '../model/errors.ts'
import type { Settings } from '../settings.ts'
import { createLogFile } from '../telemetry/log-file.ts'
import { createLogger, type Logger, type LogSink } from '../telemetry/logger.ts'
import type { CommandContext } from './context.ts'

/** @param err writes to standard error */
export function openLog(
  { logLevel: level, logFormat: form, logFile }: Pick<Settings, 'logLevel' | 'logFormat' | 'logFile'>,
  err: (text: string) => void,
  now: () => number,
): Logger {
  const standardError: LogSink = { level, form, print: err }
  const alone = createLogger(standardError, undefined, now)
  if (logFile === undefined) return alone
  const print = createLogFile(logFile, now, (problem) => alone.warn(problem))
  return createLogger(standardError, { level, form: 'json', print }, now)
}

/** What ended a command, into the log file: on standard error it is described. */
export function logFailure(
  { settings, logger }: Pick<CommandContext, 'settings' | 'logger'>,
  error: unknown,
): void {
  if (settings.logFile === undefined) return
  const file = logger.beside(() => {})
  if (error instanceof WaybillError) file.error(`${error.message}. ${error.remedy}`, { code: error.code })
  else file.error('unexpected: a defect, whose stack is on standard error')
}
