/**
 * The log (winston): text or JSON, and a file of JSON lines. Writes only the fields in the list below, so that no health data slips in with a
 * whole object. The file is written synchronously and opened anew for each line. A full file is rotated.
 */

import { renameSync, rmSync, type StatsBase, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { Writable } from 'node:stream'
import type * as Winston from 'winston'
import { appendOwn, makeFolder, makeOwn, wasTaken } from '../system/own-files.ts'
import { shown } from '../system/shown-text.ts'

/** Fields of a line; docs/logging.md explains each. */
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

type Level = 'error' | 'warn' | 'info' | 'debug'

const LEVELS: readonly Level[] = ['error', 'warn', 'info', 'debug']

export interface Logger {
  error(message: string, fields?: LogFields): void
  warn(message: string, fields?: LogFields): void
  info(message: string, fields?: LogFields): void
  debug(message: string, fields?: LogFields): void
  /** True if lines of this level are written anywhere: false saves a caller the work for a costly line. */
  writes(level: Level): boolean
  /**
   * The log beside a display of the run: standard error gets only warnings and errors, through `print`.
   * @param print receives each line with its end
   */
  beside(print: (line: string) => void): Logger
}

/** Destination of lines. */
interface LogSink {
  readonly level: Level
  readonly form: 'text' | 'json'
  readonly print: (line: string) => void
}

/**
 * Makes a log. Loads winston with the first line: most commands write none, and winston takes a twentieth of their start.
 * @param file undefined for standard error alone
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
      // An object may differ from its type at run time.
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

/** Writes each line at once, so that none is in memory when the process ends. */
const streamTo = (print: (line: string) => void): Writable =>
  new Writable({
    decodeStrings: false,
    write(line, _, done) {
      print(String(line))
      done()
    },
  })

/** A line for people, without its end. */
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

/** Quotes a value with blanks or special characters. */
function textOf(value: unknown): string {
  const text = String(value)
  return /^[^\s"=]+$/u.test(text) && shown(text) === text ? text : shown(JSON.stringify(text))
}

export interface LogFile {
  readonly path: string
  /** Size limit: a line beyond it rotates the file first. */
  readonly maxBytes: number
  /** Files to keep, including the current one. */
  readonly files: number
}

/** Longest time of a rotation; an older lock was left by a killed process. */
const ROTATION_MS = 10_000

/**
 * @param tell receives the problem of an unwritable file, once until the file is writable again
 * @returns appends a line with its end; never throws
 */
export function createLogFile(
  { path, maxBytes, files }: LogFile,
  now: () => number,
  tell: (problem: string) => void,
): (line: string) => void {
  let made = false
  const write = trial('the log file cannot be written', tell)
  const makeRoom = trial('the full log file cannot be rotated, and grows', tell)
  const isFull = (more: number): boolean => {
    const there = statOf(path)
    return there?.isFile() === true && there.size > 0 && there.size + more > maxBytes
  }
  return (line) => {
    write(() => {
      if (!made) makeFolder(dirname(path))
      made = true
      const bytes = Buffer.byteLength(line)
      // A failed rotation does not keep the line from the file.
      if (isFull(bytes))
        makeRoom(() => alone(`${path}.rotating`, now(), () => isFull(bytes) && putAside(path, files)))
      appendOwn(path, line)
    })
  }
}

/** Reports a failure once, until the next success. Never throws. */
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

/** Runs the work in one of several processes; the others continue without it. */
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
