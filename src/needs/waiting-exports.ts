/** Incomplete exports that the latest run of a job passed over: a file for each job in the home, replaced by every run. No file: none waits. */
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { lookAt, makeFolder, ownFileName, writeOwn } from '../system/own-files.ts'

const WaitingExports = z.object({
  job: z.string(),
  /** Exports with the missing part, in words, and the first look. */
  waiting: z.array(z.object({ words: z.string(), since: z.number() })).readonly(),
})
interface WaitingExports extends Readonly<z.infer<typeof WaitingExports>> {}

const folderOf = (home: string): string => join(home, 'waiting')
const fileOf = (home: string, job: string): string => join(folderOf(home), ownFileName(job, '.json'))

/** Replaces the note of the job. Known exports keep their first look. Never throws, as the run itself went well. */
export function noteWaitingExports(home: string, job: string, found: readonly string[], at: number): void {
  try {
    const file = fileOf(home, job)
    const before = readNote(file)?.waiting ?? []
    const waiting = found.map((words) => ({
      words,
      since: before.find((known) => known.words === words)?.since ?? at,
    }))
    if (waiting.length > 0) {
      makeFolder(folderOf(home))
      writeOwn(file, JSON.stringify({ job, waiting }))
    } else if (lookAt(file) !== undefined) rmSync(file)
  } catch {
    // A full disk is a need by itself.
  }
}

/** Sorted by job. */
export function readWaitingExports(home: string): WaitingExports[] {
  let names: string[] = []
  try {
    names = readdirSync(folderOf(home))
  } catch {
    return []
  }
  return names.sort().flatMap((name) => readNote(join(folderOf(home), name)) ?? [])
}

/** Undefined for no file, and for a file of another version. */
function readNote(file: string): WaitingExports | undefined {
  try {
    return WaitingExports.parse(JSON.parse(readFileSync(file, 'utf8')))
  } catch {
    return undefined
  }
}
