/**
 * Refused starts of runs: a file for each job in the home, as the ledger may be the problem. The next good start of the job removes the file.
 */
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join, parse as parsePath } from 'node:path'
import { z } from 'zod'
import { describePlace, endingOf, WaybillError } from '../model/errors.ts'
import { lookAt, makeFolder, ownFileName, writeOwn } from '../system/own-files.ts'

const RefusedStart = z.object({
  job: z.string(),
  code: z.string(),
  message: z.string(),
  findings: z.array(z.string()).readonly(),
  remedy: z.string(),
  /** First and latest start refused by this error. */
  since: z.number(),
  at: z.number(),
  times: z.number(),
})

export interface RefusedStart extends Readonly<z.infer<typeof RefusedStart>> {}

/** Ends without a refusal: a wrong command, another process with the job, a person who stopped the command. */
const NO_REFUSAL: ReadonlySet<string> = new Set([
  'asked-to-stop',
  'gave-way',
  'interrupted',
  'job-held',
  'job-not-found',
  'lease-lost',
  'nothing-left',
  'usage-wrong',
])

const MOST_FINDINGS = 5

const folderOf = (home: string): string => join(home, 'refused')
const fileOf = (home: string, job: string): string => join(folderOf(home), ownFileName(job, '.json'))

/** Notes a refused start. Never throws: the caller reports the error itself. */
export function noteRefusedStart(home: string, job: string, error: unknown, at: number): void {
  const { code } = endingOf(error)
  if (NO_REFUSAL.has(code)) return
  const known = error instanceof WaybillError
  const start = {
    job,
    code,
    // The message of an unexpected error may hold anything.
    message: known ? error.message : 'an unexpected error, a defect of Waybill: the log has its message',
    findings: known
      ? error.findings
          .slice(0, MOST_FINDINGS)
          .map(({ place, message }) => `${describePlace(place)}: ${message}`)
      : [],
    remedy: known ? error.remedy : 'Report it with the log: docs/logging.md.',
  }
  try {
    // A refused start makes no home, and a command of another user, root included, leaves nothing in one.
    if (lookAt(home)?.uid !== process.geteuid?.()) return
    const before = readStart(fileOf(home, job))
    const isSame = before?.code === code && before.message === start.message
    const since = isSame ? before.since : at
    const times = isSame ? before.times + 1 : 1
    makeFolder(folderOf(home))
    writeOwn(fileOf(home, job), JSON.stringify({ ...start, since, at, times }))
  } catch {
    // A full disk, or a home that cannot be written: `needs` looks at both by itself.
  }
}

/**
 * Notes a refused start of a job; forgets the note after a good start.
 * @param notes false only forgets
 * @param name of the job, or of its file
 */
export async function notingRefusedStart<Result>(
  {
    home,
    now,
    notes = true,
  }: { readonly home: string; readonly now: () => number; readonly notes?: boolean },
  name: string,
  start: () => Promise<Result>,
): Promise<Result> {
  const job = parsePath(name).name
  try {
    const result = await start()
    forgetRefusedStart(home, job)
    return result
  } catch (error) {
    if (notes) noteRefusedStart(home, job, error, now())
    throw error
  }
}

/** @returns true if a refused start was noted */
export function forgetRefusedStart(home: string, job: string): boolean {
  try {
    const isThere = lookAt(fileOf(home, job)) !== undefined
    if (isThere) rmSync(fileOf(home, job))
    return isThere
  } catch {
    return false
  }
}

/** Sorted by job. */
export function readRefusedStarts(home: string): RefusedStart[] {
  let names: string[] = []
  try {
    names = readdirSync(folderOf(home)).filter((name) => name.endsWith('.json'))
  } catch {
    return []
  }
  return names
    .flatMap((name) => readStart(join(folderOf(home), name)) ?? [])
    .sort((a, b) => (a.job < b.job ? -1 : 1))
}

/** Undefined for no file, and for a file of another version. */
function readStart(file: string): RefusedStart | undefined {
  try {
    return RefusedStart.parse(JSON.parse(readFileSync(file, 'utf8')))
  } catch {
    return undefined
  }
}
