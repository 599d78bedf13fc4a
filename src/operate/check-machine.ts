/**
 * Checks the machine. Home: it must exist, be writable, have room, and be closed to other users with all its files. Clock: compared with the ledger
 * and the gateway. Log file: it must be writable.
 */

import { constants } from 'node:fs'
import { access, lstat, readdir, stat, statfs } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { codeOf } from '../model/errors.ts'
import { doubtsOf, doubtText } from '../system/obeyed-files.ts'
import { modeText } from '../system/own-files.ts'
import { iso, n, sizeText } from '../system/shown-text.ts'
import { type Check, type CheckFinding, finding } from './finding.ts'

/** Least room without a warning: a backfill of some millions of records writes as much in ledger, receipts and rejects. */
const LITTLE_BYTES = 1024 ** 3
const TOO_LITTLE_BYTES = 50 * 1024 ** 2

export async function checkHome(home: string): Promise<CheckFinding[]> {
  const found = await stat(home).catch((error: unknown) => codeOf(error))
  const problem = (text: string, remedy: string): CheckFinding[] => [finding('home', 'problem', text, remedy)]
  if (found === 'ENOENT')
    return [
      finding(
        'home',
        'warning',
        `${home} does not exist yet; the first run makes it`,
        'If there were runs before, WAYBILL_HOME is wrong: a new home does not know them.',
      ),
    ]
  if (typeof found === 'string')
    return problem(`${home} cannot be read (${found})`, 'Check WAYBILL_HOME and who owns its folders.')
  if (!found.isDirectory()) return problem(`${home} is not a folder`, 'Set WAYBILL_HOME to a folder.')
  try {
    await access(home, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch {
    return problem(
      `${home} is not writable`,
      'Run Waybill as the user who owns it, or give that user the folder.',
    )
  }
  const { bavail, bsize } = await statfs(home)
  return [modeOf(home, found.mode), ...(await filesOf(home)), roomOf(bavail * bsize)]
}

function modeOf(home: string, mode: number): CheckFinding {
  if ((mode & 0o077) === 0) return finding('home', 'ok', `${home} exists, mode ${modeText(mode)}, writable`)
  const found = `${home} is open to other users (mode ${modeText(mode)})`
  return finding('home', 'warning', found, `Rejects files hold health data: chmod 700 ${home}`)
}

/** Reports folders with jobs, mappings or settings to which another user may write. */
export const checkTrust = (folders: readonly (readonly [check: Check, folder: string])[]): CheckFinding[] =>
  folders.flatMap(([check, folder]) =>
    doubtsOf(folder).map((doubt) => {
      const level = doubt.remedy === undefined ? 'warning' : 'problem'
      return finding(check, level, doubtText(doubt, folder), doubt.remedy)
    }),
  )

const MOST_NAMED = 5

/** Reports files open to other users, though the home may be closed today; and links, as nothing is written through links. */
async function filesOf(home: string): Promise<CheckFinding[]> {
  const loose: string[] = []
  const links: string[] = []
  for (const entry of await readdir(home, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    const found = await lstat(path).catch(() => undefined)
    // The file may be gone: a run may be active.
    if (found === undefined) continue
    if (found.isSymbolicLink()) links.push(relative(home, path))
    else if ((found.mode & 0o077) !== 0) loose.push(`${relative(home, path)} (mode ${modeText(found.mode)})`)
  }
  const result = (paths: readonly string[], words: string, remedy: string): CheckFinding[] => {
    if (paths.length === 0) return []
    const more = paths.length - MOST_NAMED
    const details = [...paths.slice(0, MOST_NAMED), ...(more > 0 ? [`and ${n(more)} more`] : [])]
    return [finding('home', 'warning', `${n(paths.length)} ${words}`, remedy, { details })]
  }
  return [
    ...result(loose, 'of its files and folders are open to other users', `chmod -R go= ${home}`),
    ...result(
      links,
      'of its files and folders are links: nothing is written through them',
      'Remove them. To keep these files on another disk, move the whole home there and set WAYBILL_HOME.',
    ),
  ]
}

/** @param bytes free for a user without privileges */
export function roomOf(bytes: number): CheckFinding {
  const found = `${sizeText(bytes)} free on its disk`
  if (bytes >= LITTLE_BYTES) return finding('home', 'ok', found)
  const remedy = 'Make room: `waybill prune --older-than 180d --dry-run` shows the size of old runs.'
  return finding('home', bytes < TOO_LITTLE_BYTES ? 'problem' : 'warning', found, remedy)
}

const MOST_OFF_MS = 2 * 60_000

/**
 * @param latestRunAt start of the latest run
 * @param gatewayAt Date header of the gateway (RFC 9110, section 6.6.1), and the time of its arrival
 */
export function checkClock(
  now: number,
  latestRunAt: number | undefined,
  gatewayAt: { readonly date: string; readonly cameAt: number } | undefined,
): CheckFinding {
  if (latestRunAt !== undefined && now < latestRunAt)
    return finding(
      'clock',
      'problem',
      `${iso(now)} is before the start of the latest run (${iso(latestRunAt)})`,
      'Set the clock before the next run: leases and the order of runs depend on it.',
    )
  const date = gatewayAt === undefined ? Number.NaN : Date.parse(gatewayAt.date)
  if (gatewayAt === undefined || Number.isNaN(date))
    return finding('clock', 'ok', `${iso(now)}; no other clock to compare with`)
  const off = gatewayAt.cameAt - date
  const seconds = Math.round(Math.abs(off) / 1000)
  if (Math.abs(off) <= MOST_OFF_MS)
    return finding('clock', 'ok', `${iso(now)}, within 2 minutes of the gateway's`)
  const found = `${n(seconds)} s ${off > 0 ? 'ahead of' : 'behind'} the gateway's`
  return finding(
    'clock',
    'warning',
    found,
    'Synchronise the clock by NTP: schedules and leases depend on it.',
  )
}

/** @param path undefined for no log file */
export async function checkLogFile(path: string | undefined): Promise<CheckFinding[]> {
  if (path === undefined) return []
  const wrong = await hindrance(path)
  if (wrong === undefined) return []
  const remedy = 'Name a file in a folder that the user of Waybill may write, or give that user the right.'
  const subject = 'WAYBILL_LOG_FILE'
  return [finding('settings', 'problem', `${path} cannot be written: ${wrong}`, remedy, { subject })]
}

async function hindrance(path: string): Promise<string | undefined> {
  const there = await stat(path).catch(codeOf)
  if (typeof there !== 'string') {
    // A device or a pipe is a log file, too.
    if (there.isDirectory()) return 'it is a folder'
    if (there.isFile() && (await lstat(path)).isSymbolicLink()) return 'it is a link'
    return access(path, constants.W_OK).then(() => undefined, codeOf)
  }
  return there === 'ENOENT' ? folderHindrance(dirname(path)) : there
}

/** Reason why no file can be made in the folder, or in the nearest folder above that exists; undefined for none. */
export async function folderHindrance(folder: string): Promise<string | undefined> {
  const there = await stat(folder).catch(codeOf)
  if (there === 'ENOENT') return folderHindrance(dirname(folder))
  if (typeof there === 'string') return `${folder}: ${there}`
  if (!there.isDirectory()) return `${folder} is not a folder`
  return access(folder, constants.W_OK | constants.X_OK).then(
    () => undefined,
    (error: unknown) => `${folder}: ${codeOf(error)}`,
  )
}
