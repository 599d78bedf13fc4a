/**
 * The log (winston): text or JSON. Only fields on the list below are written, so that no health data can slip
 * in with an object that is logged as a whole.
 */
import { createRequire } from 'node:module'
import { Writable } from 'node:stream'
import type * as Winston from 'winston'

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

type Level = 'error' | 'warn' | 'info' | 'debug'

const LEVELS: readonly Level[] = ['error', 'warn', 'info', 'debug']

/**
 * winston is loaded with the first line that is written: most commands write none, and it takes a twentieth of their start.
 * @param print given each line with its end
 */
export function createLogger(level: Level, form: 'text' | 'json', print: (text: string) => void): Logger {
  let winston: Winston.Logger | undefined
  const write =
    (at: Level) =>
    (message: string, fields: LogFields = {}): void => {
      if (LEVELS.indexOf(at) > LEVELS.indexOf(level)) return
      const allowed = ALLOWED.flatMap((name) =>
        fields[name] === undefined ? [] : [[name, fields[name]] as const],
      )
      winston ??= openWinston(level, form, print)
      winston.log(at, message, Object.fromEntries(allowed))
    }
  return { error: write('error'), warn: write('warn'), info: write('info'), debug: write('debug') }
}

function openWinston(level: Level, form: 'text' | 'json', print: (text: string) => void): Winston.Logger {
  const { createLogger, format, transports }: typeof Winston = createRequire(import.meta.url)('winston')
  const text = format.printf(({ level: at, message, timestamp, ...fields }) => {
    const shown = Object.entries(fields).map(([name, value]) => ` ${name}=${String(value)}`)
    return `${String(timestamp)} ${at.padEnd(5)} ${String(message)}${shown.join('')}`
  })
  const lines = new Writable({
    decodeStrings: false,
    write(text, _, done) {
      print(String(text))
      done()
    },
  })
  return createLogger({
    level,
    format: format.combine(format.timestamp(), form === 'json' ? format.json() : text),
    transports: [new transports.Stream({ stream: lines })],
  })
}
