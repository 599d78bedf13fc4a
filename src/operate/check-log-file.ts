/** The log file: that it may be written, or made. A run goes on without it, so that nobody would find out in time. */
import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { CheckFinding } from './finding.ts'

/** @param path undefined: none is wanted */
export async function checkLogFile(path: string | undefined): Promise<CheckFinding[]> {
  if (path === undefined) return []
  const wrong = await hindrance(path)
  if (wrong === undefined) return []
  return [
    {
      check: 'settings',
      level: 'problem',
      subject: 'WAYBILL_LOG_FILE',
      found: `${path} cannot be written: ${wrong}`,
      remedy:
        'Name a file in a folder that the user who runs Waybill may write, or give that user the right.',
    },
  ]
}

async function hindrance(path: string): Promise<string | undefined> {
  const there = await stat(path).catch(codeOf)
  if (typeof there !== 'string') {
    // A device or a pipe takes lines, too.
    if (there.isDirectory()) return 'it is a folder'
    return access(path, constants.W_OK).then(() => undefined, codeOf)
  }
  return there === 'ENOENT' ? folderHindrance(dirname(path)) : there
}

/** Folders that are not there are made. */
async function folderHindrance(folder: string): Promise<string | undefined> {
  const there = await stat(folder).catch(codeOf)
  if (there === 'ENOENT') return folderHindrance(dirname(folder))
  if (typeof there === 'string') return `${folder}: ${there}`
  if (!there.isDirectory()) return `${folder} is no folder`
  return access(folder, constants.W_OK | constants.X_OK).then(
    () => undefined,
    (error: unknown) => `${folder}: ${codeOf(error)}`,
  )
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
