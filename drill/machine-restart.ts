/**
 * A machine that stops and is started again: what SQLite wrote to its log and did not sync is gone, and process numbers are counted anew. A
 * watched process notes how far its log was synced; when it was killed, the log is cut there (sqlite.org/fileformat2.html#walformat).
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { rm, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { z } from 'zod'

const LEDGER = 'ledger.sqlite'
const NOTE = 'synced.json'
/** How far the log was synced, in bytes, and the salt that tells this log from the one before. */
const Note = z.object({ salt: z.string(), bytes: z.int() })

const LOG_HEADER = 32
const FRAME_HEADER = 24

/** Notes each commit that waits for the disk, in a file beside the home. */
export function watchSyncs(home: string): void {
  const { prepare, exec } = DatabaseSync.prototype
  const unsynced = new WeakSet<DatabaseSync>()
  DatabaseSync.prototype.exec = function (sql) {
    exec.call(this, sql)
    if (sql === 'pragma synchronous = normal') unsynced.add(this)
    if (sql === 'pragma synchronous = full') unsynced.delete(this)
  }
  DatabaseSync.prototype.prepare = function (sql, ...rest) {
    const statement = prepare.call(this, sql, ...rest)
    if (sql !== 'commit' || this.location() !== join(home, LEDGER)) return statement
    const { run } = statement
    statement.run = () => {
      const result = run.call(statement, {})
      if (!unsynced.has(this)) noteSynced(home)
      return result
    }
    return statement
  }
}

/**
 * Of the log alone: whoever opens the index, and closes it again, loses all locks that this process has on it (fcntl_locking(2), "record
 * locks are automatically released").
 */
function noteSynced(home: string): void {
  const log = join(home, `${LEDGER}-wal`)
  const salt = saltOf(log)
  if (salt === undefined) return
  writeFileSync(join(home, '..', NOTE), JSON.stringify({ salt, bytes: committedIn(readFileSync(log), salt) }))
}

/** Bytes up to the end of the last commit of the log that has this salt. */
function committedIn(log: Buffer, salt: string): number {
  const frame = FRAME_HEADER + log.readUInt32BE(8)
  let committed = LOG_HEADER
  for (let at = LOG_HEADER; at + frame <= log.length; at += frame) {
    if (log.toString('hex', at + 8, at + 16) !== salt) break
    if (log.readUInt32BE(at + 4) !== 0) committed = at + frame
  }
  return committed
}

/** Undefined where there is no log, or nothing in it. */
function saltOf(log: string): string | undefined {
  const header = existsSync(log) ? readFileSync(log).subarray(0, LOG_HEADER) : Buffer.alloc(0)
  return header.length < LOG_HEADER ? undefined : header.toString('hex', 16, 24)
}

/** The ledger as the machine finds it when it is started again; no process may be at work on it. */
export async function restartMachine(home: string): Promise<void> {
  const log = join(home, `${LEDGER}-wal`)
  const note = join(home, '..', NOTE)
  const salt = saltOf(log)
  await rm(join(home, `${LEDGER}-shm`), { force: true })
  if (salt === undefined) return
  const synced = existsSync(note) ? Note.parse(JSON.parse(readFileSync(note, 'utf8'))) : undefined
  // A log that was begun anew since holds nothing that was synced: what was before it had gone into the database, and was.
  await truncate(log, synced?.salt === salt ? synced.bytes : 0)
}
