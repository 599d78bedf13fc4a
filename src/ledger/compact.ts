/** Gives pages that pruning has emptied back to the file system. */
import { DatabaseSync } from 'node:sqlite'
import { asLedgerError } from './exclusive.ts'

/** Pages given back in one transaction: some milliseconds, between which runs have their turns. */
const PAGES_AT_ONCE = 1_000
const BUSY_TIMEOUT_MS = 10_000

/** Of `pragma auto_vacuum` (sqlite.org/pragma.html#pragma_auto_vacuum). */
const INCREMENTAL = 2

export interface Compacted {
  /** Bytes by which the file became smaller. */
  readonly freed: number
  /** Empty bytes within the file, which the next runs fill. */
  readonly empty: number
}

/**
 * A file from before pages could be given back one by one is written anew, where no run is under way: that holds up everybody else.
 * @throws WaybillError `ledger-unusable`
 */
export function compactLedger(file: string, now: number): Compacted {
  const database = new DatabaseSync(file, { timeout: BUSY_TIMEOUT_MS })
  const pragma = (name: string): number => Number(database.prepare(`pragma ${name}`).get()?.[name] ?? 0)
  try {
    const pageSize = pragma('page_size')
    const before = pragma('page_count')
    if (pragma('auto_vacuum') === INCREMENTAL) {
      for (let left = pragma('freelist_count'); left > 0; ) {
        database.exec(`pragma incremental_vacuum(${PAGES_AT_ONCE})`)
        const now = pragma('freelist_count')
        if (now >= left) break
        left = now
      }
    } else if (isFree(database, now) && pragma('freelist_count') > 0) {
      database.exec('pragma auto_vacuum = incremental; vacuum')
    }
    // The file itself shrinks when what the log holds comes into it; a reader in the middle of something makes that wait.
    database.exec('pragma wal_checkpoint(passive)')
    const freed = (before - pragma('page_count')) * pageSize
    return { freed: Math.max(0, freed), empty: pragma('freelist_count') * pageSize }
  } catch (error) {
    throw asLedgerError(error)
  } finally {
    database.close()
  }
}

function isFree(database: DatabaseSync, now: number): boolean {
  return database.prepare('select 1 from lease where expires_at > ? limit 1').get(now) === undefined
}
