/**
 * The log (winston), to standard error: text or JSON. Only fields on the list below are written, so that no health data can slip
 * in with an object that is logged as a whole.
 */
import { createLogger as createWinston, format, transports } from 'winston'

const ALLOWED = [
  'run',
  'job',
  'gateway',
  'export',
  'chunk',
  'batch',
  'transaction',
  'operation',
  'class',
  'status',
  'code',
  'requestId',
  'durationMs',
  'waitMs',
  'givesUpAt',
  'rows',
  'records',
  'accepted',
  'rejected',
  'unchanged',
  'inDoubt',
  'resumed',
  'bytes',
] as const

export type LogFields = Partial<Record<(typeof ALLOWED)[number], string | number | boolean | undefined>>

export interface Logger {
  error(message: string, fields?: LogFields): void
  warn(message: string, fields?: LogFields): void
  info(message: string, fields?: LogFields): void
  debug(message: string, fields?: LogFields): void
}

export function createLogger(level: 'error' | 'warn' | 'info' | 'debug', form: 'text' | 'json'): Logger {
  const text = format.printf(({ level: at, message, timestamp, ...fields }) => {
    const shown = Object.entries(fields).map(([name, value]) => ` ${name}=${String(value)}`)
    return `${String(timestamp)} ${at.padEnd(5)} ${String(message)}${shown.join('')}`
  })
  const winston = createWinston({
    level,
    format: format.combine(format.timestamp(), form === 'json' ? format.json() : text),
    transports: [new transports.Console({ stderrLevels: ['error', 'warn', 'info', 'debug'] })],
  })
  const write =
    (at: 'error' | 'warn' | 'info' | 'debug') =>
    (message: string, fields: LogFields = {}): void => {
      const allowed = ALLOWED.flatMap((name) =>
        fields[name] === undefined ? [] : [[name, fields[name]] as const],
      )
      winston.log(at, message, Object.fromEntries(allowed))
    }
  return { error: write('error'), warn: write('warn'), info: write('info'), debug: write('debug') }
}
