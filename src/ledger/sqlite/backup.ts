/**
 * A consistent copy of the ledger, taken while runs go on. Also whether a job may have delivered what its ledger, being such a copy,
 * knows nothing of.
 */

import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type Kysely, sql } from 'kysely'
import { reasonOf, WaybillError } from '../../model/errors.ts'
import { makeOwn, wasTaken } from '../../own-files.ts'
import type { AboutToSend } from '../run-writes.ts'
import type { LedgerTables } from '../tables.ts'

export interface BackedUp {
  readonly bytes: number
  /** Milliseconds since the epoch. */
  readonly takenAt: number
}

/**
 * `VACUUM INTO` copies in one read transaction: writers are not held up, and never make it begin anew as they do SQLite's page-wise
 * backup (sqlite.org/lang_vacuum.html#vacuum_with_an_into_clause). The copy knows that it is one, so that who restores it
 * does not send again what was delivered after it was taken: `Ledger.behindSince`.
 * @param file the ledger, in the shape of this program
 * @param copy a file that must not be there yet; made with mode 0600, and removed again where it does not come to a good end
 * @throws WaybillError `usage-wrong` (the copy's file is there, or its folder is not), `ledger-unusable`
 */
export function backUpLedger(file: string, copy: string, now: number): BackedUp {
  if (existsSync(copy)) throw taken(copy)
  // Under another name until it is whole: what a killed process has left is no backup by its name.
  const part = `${copy}.${process.pid}.part`
  rmSync(part, { force: true })
  claim(part)
  try {
    copyInto(file, part)
    mark(part, now)
    sync(part)
    claim(copy)
    renameSync(part, copy)
    sync(dirname(copy))
    return { bytes: statSync(copy).size, takenAt: now }
  } catch (cause) {
    rmSync(part, { force: true })
    if (cause instanceof WaybillError) throw cause
    throw new WaybillError(
      'ledger-unusable',
      `the ledger could not be copied to ${copy}: ${reasonOf(cause)}`,
      {
        place: { file: copy },
        remedy:
          'Check that both files may be used and that the disk of the copy has free space. The ledger is as it was.',
        cause,
      },
    )
  }
}

/**
 * Puts a backup in the place of the ledger, checked and marked as a copy of now: until now more may have been delivered.
 * @returns where the ledger is kept that was there before; undefined where there was none
 * @throws WaybillError `backup-unusable`: then all is as it was
 */
export function restoreLedger(backup: string, ledger: string, now: number): string | undefined {
  const copy = `${ledger}.restored`
  rmSync(copy, { force: true })
  try {
    backUpLedger(backup, copy, now)
  } catch (cause) {
    throw backupUnusable(backup, reasonOf(cause), cause)
  }
  const aside = `${ledger}.before-${new Date(now).toISOString().replaceAll(/[-:]|\.\d+/g, '')}`
  // SQLite would take the WAL files of the old ledger for those of the restored one: they move along.
  const moved = ['', '-wal', '-shm'].filter((ending) => existsSync(ledger + ending))
  for (const ending of moved) renameSync(ledger + ending, aside + ending)
  claim(ledger)
  renameSync(copy, ledger)
  sync(dirname(ledger))
  return moved.includes('') ? aside : undefined
}

export const backupUnusable = (backup: string, why: string, cause?: unknown): WaybillError =>
  new WaybillError('backup-unusable', `${backup} cannot be restored: ${why}`, {
    place: { file: backup },
    cause,
  })

/** Makes the file empty, where nobody else has the name: `VACUUM INTO` takes an empty one. */
function claim(path: string): void {
  try {
    makeOwn(path)
  } catch (cause) {
    if (wasTaken(cause)) throw taken(path)
    throw new WaybillError('usage-wrong', `${path} cannot be made: ${reasonOf(cause)}`, {
      place: { file: path },
      remedy: 'Name a file in a folder that is there and may be written.',
      cause,
    })
  }
}

const taken = (path: string): WaybillError =>
  new WaybillError('usage-wrong', `${path} is there already, and is not overwritten`, {
    place: { file: path },
    remedy: 'Name a file that is not there yet.',
  })

function copyInto(file: string, copy: string): void {
  const ledger = new DatabaseSync(file, { readOnly: true })
  try {
    ledger.prepare('vacuum into ?').run(copy)
  } finally {
    ledger.close()
  }
}

function mark(copy: string, now: number): void {
  const database = new DatabaseSync(copy)
  try {
    const [result] = database.prepare('pragma integrity_check').all()
    if (result?.['integrity_check'] !== 'ok')
      throw new WaybillError('ledger-unusable', 'the copy is damaged, and was removed', {
        remedy: 'Run `waybill doctor`: it says whether the ledger itself is damaged.',
      })
    database.exec('delete from copy')
    database.prepare('insert into copy (taken_at) values (?)').run(now)
  } finally {
    database.close()
  }
}

function sync(path: string): void {
  const opened = openSync(path, 'r')
  try {
    fsyncSync(opened)
  } finally {
    closeSync(opened)
  }
}

/**
 * When the ledger was copied, where no run was begun and finished since that has looked for all that this one may send. An ordinary run
 * looks for what the job finds, a backfill for what lies in its range: neither speaks for the other. What is taken up was perhaps
 * taken up before, after the copy was made: no run speaks for that.
 * @returns until when something of that may have been sent; milliseconds since the epoch
 */
export async function readBehind(
  database: Kysely<LedgerTables>,
  jobId: number,
  { backfill, takesUp }: AboutToSend,
): Promise<number | undefined> {
  const copies = await database.selectFrom('copy').select('taken_at').orderBy('taken_at', 'desc').execute()
  const [last] = copies
  if (last === undefined || takesUp) return last?.taken_at
  const proof = database
    .selectFrom('run')
    .select('run.id')
    .where('run.job_id', '=', jobId)
    .where('run.state', '=', 'finished')
    .where('run.origin_run', 'is', null)
    .where('run.part', 'is', null)
    .where('run.started_at', '>', last.taken_at)
  if (backfill !== undefined) {
    const proved = await proof
      .where(sql`substr(run.backfill, 1, 10)`, '<=', backfill.from)
      .where(sql`substr(run.backfill, 12, 10)`, '>=', backfill.to)
      .where('run.backfill_folder', 'is', backfill.in ?? null)
      .executeTakeFirst()
    return proved === undefined ? last.taken_at : undefined
  }
  // What is resumed goes through the exports that it had begun, and no others.
  const proved = await proof
    .where('run.backfill', 'is', null)
    .where('run.resumed_at', 'is', null)
    .executeTakeFirst()
  // It may have come far after the copy was made, and the same records may stand in other exports.
  const filling = await database
    .selectFrom('run')
    .select('run.id')
    .where('run.job_id', '=', jobId)
    .where('run.state', 'in', ['running', 'interrupted'])
    .where('run.backfill', 'is not', null)
    .where('run.started_at', '<=', last.taken_at)
    .executeTakeFirst()
  return proved === undefined || filling !== undefined ? last.taken_at : undefined
}
