/**
 * The log file: lines are appended, and a full file makes room for a new one (`waybill.log`, `waybill.log.1` …).
 *
 * Written synchronously, and opened anew for each line: a line that was logged is in the file however the process ends, and several
 * processes (a schedule, and `waybill run` beside it) may share one file, since each finds the file that is the current one. (winston's own
 * transport for files keeps what is not written yet in memory, goes on writing to a file that another process has put aside, and stops
 * without a word where the disk is full.)
 */
import { appendFileSync, closeSync, openSync, renameSync, rmSync, type StatsBase, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { makeFolder } from '../own-files.ts'

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
      appendFileSync(path, line, { mode: 0o600 })
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
    closeSync(openSync(lock, 'wx', 0o600))
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
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
