/**
 * The log (winston): text or JSON, and a file of JSON lines. Only fields on the list below are written, so that no health data can slip
 * in with an object that is logged as a whole. Its file is written synchronously and opened anew for each line; a full one makes room for
 * the next.
 */

import { renameSync, rmSync, type StatsBase, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { Writable } from 'node:stream'
import type * as Winston from 'winston'
import { appendOwn, makeFolder, makeOwn, wasTaken } from '../own-files.ts'
import { shown } from '../shown-text.ts'

/** docs/logging.md says what each is. */
export const LOG_FIELDS = [
  'run',
  'job',
  'gateway',
  'export',
  'row',
  'line',
  'batch',
  'transaction',
  'rule',
  'stage',
  'operation',
  'attempt',
  'class',
  'status',
  'code',
  'requestId',
  'durationMs',
  'waitMs',
  'rows',
  'rejectedRows',
  'records',
  'accepted',
  'rejected',
  'unchanged',
  'inDoubt',
  'pending',
  'resumed',
  'bytes',
  'state',
] as const

export type LogFields = Partial<Record<(typeof LOG_FIELDS)[number], string | number | boolean | undefined>>

export type Level = 'error' | 'warn' | 'info' | 'debug'

const LEVELS: readonly Level[] = ['error', 'warn', 'info', 'debug']

export interface Logger {
  error(message: string, fields?: LogFields): void
  warn(message: string, fields?: LogFields): void
  info(message: string, fields?: LogFields): void
  debug(message: string, fields?: LogFields): void
  /** Whether a line of this level is written anywhere: what is costly to put together need not be. */
  writes(level: Level): boolean
  /**
   * The same log where a display tells what a run does: standard error gets warnings and errors alone, through `print`.
   * @param print given each line with its end
   */
  beside(print: (line: string) => void): Logger
}

/** Where lines go. */
export interface LogSink {
  readonly level: Level
  readonly form: 'text' | 'json'
  /** Given each line with its end. */
  readonly print: (line: string) => void
}

/**
 * winston is loaded with the first line that is written: most commands write none, and it takes a twentieth of their start.
 * @param file undefined: standard error alone
 */
export function createLogger(standardError: LogSink, file: LogSink | undefined, now: () => number): Logger {
  const sinks = file === undefined ? [standardError] : [standardError, file]
  const writes = (level: Level): boolean => sinks.some((sink) => isWithin(level, sink.level))
  let winston: Winston.Logger | undefined
  const write =
    (level: Level) =>
    (message: string, fields: LogFields = {}): void => {
      if (!writes(level)) return
      winston ??= openWinston(sinks, now)
      winston.log(level, message, allowed(fields))
    }
  return {
    error: write('error'),
    warn: write('warn'),
    info: write('info'),
    debug: write('debug'),
    writes,
    beside(print) {
      const level = isWithin('warn', standardError.level) ? 'warn' : standardError.level
      return createLogger({ ...standardError, level, print }, file, now)
    },
  }
}

const isWithin = (level: Level, most: Level): boolean => LEVELS.indexOf(level) <= LEVELS.indexOf(most)

function allowed(fields: LogFields): LogFields {
  return Object.fromEntries(
    LOG_FIELDS.flatMap((name) => {
      // What is logged as a whole may be something else at run time than its type says.
      const value: unknown = Object.hasOwn(fields, name) ? fields[name] : undefined
      return ['string', 'number', 'boolean'].includes(typeof value) ? [[name, value] as const] : []
    }),
  )
}

function openWinston(sinks: readonly LogSink[], now: () => number): Winston.Logger {
  const { createLogger, format, transports }: typeof Winston = createRequire(import.meta.url)('winston')
  const timestamp = format.timestamp({ format: () => new Date(now()).toISOString() })
  const text = format.printf(logLineText)
  const json = format.printf(({ level, message, timestamp: at, ...fields }) =>
    shown(JSON.stringify({ timestamp: at, level, message, ...fields })),
  )
  return createLogger({
    level: 'debug',
    transports: sinks.map(
      ({ level, form, print }) =>
        new transports.Stream({
          level,
          format: format.combine(timestamp, form === 'json' ? json : text),
          stream: streamTo(print),
          eol: '\n',
        }),
    ),
  })
}

/** Hands each line on at once: none is in memory when the process ends. */
const streamTo = (print: (line: string) => void): Writable =>
  new Writable({
    decodeStrings: false,
    write(line, _, done) {
      print(String(line))
      done()
    },
  })

/** A line as people read it, without its end. */
export function logLineText({
  level,
  message,
  timestamp,
  ...fields
}: {
  readonly level: string
  readonly message: unknown
  readonly [field: string]: unknown
}): string {
  const written = Object.entries(fields).map(([name, value]) => ` ${name}=${textOf(value)}`)
  return `${String(timestamp)} ${level.padEnd(5)} ${shown(String(message))}${written.join('')}`
}

/** In quotes where it would not stand for itself. */
function textOf(value: unknown): string {
  const text = String(value)
  return /^[^\s"=]+$/u.test(text) && shown(text) === text ? text : shown(JSON.stringify(text))
}

export interface LogFile {
  readonly path: string
  /** A file that would be larger is put aside. */
  readonly maxBytes: number
  /** Files kept, the current one included. */
  readonly files: number
}

/** Who puts a file aside takes no longer; what is older was left by a process that was killed. */
const ROTATION_MS = 10_000

/**
 * @param tell told that the file cannot be written, once, until it can be again
 * @returns appends a line, which comes with its end; never throws
 */
export function createLogFile(
  { path, maxBytes, files }: LogFile,
  now: () => number,
  tell: (problem: string) => void,
): (line: string) => void {
  let made = false
  const write = trial('the log file cannot be written', tell)
  const makeRoom = trial('the full log file cannot be put aside, and grows', tell)
  const isFull = (more: number): boolean => {
    const there = statOf(path)
    return there?.isFile() === true && there.size > 0 && there.size + more > maxBytes
  }
  return (line) => {
    write(() => {
      if (!made) makeFolder(dirname(path))
      made = true
      const bytes = Buffer.byteLength(line)
      // A folder in which nothing may be renamed keeps no line from the file.
      if (isFull(bytes))
        makeRoom(() => alone(`${path}.rotating`, now(), () => isFull(bytes) && putAside(path, files)))
      appendOwn(path, line)
    })
  }
}

/** Tells what fails once, until it has gone well again. Never throws. */
function trial(problem: string, tell: (problem: string) => void): (work: () => void) => void {
  let failing = false
  return (work) => {
    try {
      work()
      failing = false
    } catch (error) {
      if (!failing) tell(`${problem}: ${error instanceof Error ? error.message : error}`)
      failing = true
    }
  }
}

/** Of several processes one does it; the others go on with the file as it is. */
function alone(lock: string, now: number, work: () => void): void {
  try {
    makeOwn(lock)
  } catch (error) {
    if (!wasTaken(error)) throw error
    const held = statOf(lock)
    if (held !== undefined && now - held.mtimeMs > ROTATION_MS) rmSync(lock, { force: true })
    return
  }
  try {
    work()
  } finally {
    rmSync(lock, { force: true })
  }
}

function putAside(path: string, files: number): void {
  const names = [path, ...Array.from({ length: files - 1 }, (_, at) => `${path}.${at + 1}`)]
  for (const [at, name] of [...names.entries()].reverse()) {
    const next = names[at + 1]
    if (next === undefined) rmSync(name, { force: true })
    else if (statOf(name) !== undefined) renameSync(name, next)
  }
}

const statOf = (path: string): StatsBase<number> | undefined => statSync(path, { throwIfNoEntry: false })
