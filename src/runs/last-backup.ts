/** When the ledger was last copied: a file of the home that holds the instant, as the copy itself lies somewhere else. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openOwn } from '../own-files.ts'

const fileOf = (home: string): string => join(home, 'last-backup')

/** Never throws: the copy is there all the same. */
export async function noteBackup(home: string, at: number): Promise<void> {
  const handle = await openOwn(home, fileOf(home)).catch(() => undefined)
  try {
    await handle?.truncate()
    await handle?.write(`${new Date(at).toISOString()}\n`, 0)
  } catch {
    // A full disk: it is told by other means.
  } finally {
    await handle?.close()
  }
}

/** In milliseconds since the epoch; undefined where none was made, or nobody can tell. */
export async function lastBackupAt(home: string): Promise<number | undefined> {
  const at = Date.parse((await readFile(fileOf(home), 'utf8').catch(() => '')).trim())
  return Number.isNaN(at) ? undefined : at
}
