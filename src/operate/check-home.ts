/** The home: that it is there, for its owner alone, writable, with room. */
import { constants } from 'node:fs'
import { access, stat, statfs } from 'node:fs/promises'
import type { CheckFinding } from './finding.ts'

/** A backfill of some millions of records writes as much: ledger, receipts and rejects. */
const LITTLE_BYTES = 1024 ** 3
const TOO_LITTLE_BYTES = 50 * 1024 ** 2

export async function checkHome(home: string, sizeText: (bytes: number) => string): Promise<CheckFinding[]> {
  const found = await stat(home).catch((error: unknown) => codeOf(error))
  const problem = (text: string, remedy: string): CheckFinding[] => [
    { check: 'home', level: 'problem', found: text, remedy },
  ]
  if (found === 'ENOENT')
    return [
      {
        check: 'home',
        level: 'warning',
        found: `${home} is not there yet; the first run makes it`,
        remedy: 'Where there were runs already, WAYBILL_HOME is wrong: a new home knows nothing of them.',
      },
    ]
  if (typeof found === 'string')
    return problem(`${home} cannot be looked at (${found})`, 'Check WAYBILL_HOME and who owns its folders.')
  if (!found.isDirectory()) return problem(`${home} is no folder`, 'Set WAYBILL_HOME to a folder.')
  try {
    await access(home, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch {
    return problem(
      `${home} may not be written`,
      'Run Waybill as the user who owns it, or give that user the folder.',
    )
  }
  const { bavail, bsize } = await statfs(home)
  return [modeOf(home, found.mode & 0o777), roomOf(bavail * bsize, sizeText)]
}

function modeOf(home: string, mode: number): CheckFinding {
  const octal = mode.toString(8).padStart(4, '0')
  if ((mode & 0o077) === 0)
    return { check: 'home', level: 'ok', found: `${home} is there, mode ${octal}, and may be written` }
  return {
    check: 'home',
    level: 'warning',
    found: `${home} may be entered by others (mode ${octal})`,
    remedy: `Rejects files hold health data: chmod 700 ${home}`,
  }
}

/** @param bytes that a user without privileges can still write */
export function roomOf(bytes: number, sizeText: (bytes: number) => string): CheckFinding {
  const found = `${sizeText(bytes)} free on its disk`
  if (bytes >= LITTLE_BYTES) return { check: 'home', level: 'ok', found }
  const remedy = 'Make room: `waybill prune --older-than 180d --dry-run` tells what old runs take.'
  return { check: 'home', level: bytes < TOO_LITTLE_BYTES ? 'problem' : 'warning', found, remedy }
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
