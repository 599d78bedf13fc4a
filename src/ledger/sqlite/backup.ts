/** Consistent copies of the ledger, taken while runs go on, and the suspicion that a restored copy has lost rows. */

import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { reasonOf, WaybillError } from '../../model/errors.ts'
import { makeOwn, wasTaken } from '../../system/own-files.ts'
import { NO_SUSPICION, type Suspicion } from '../concerns.ts'
import { COPIES } from '../delivered-rows.ts'
import type { Statements } from './exclusive.ts'

export interface BackedUp {
  readonly bytes: number
  readonly takenAt: number
}

/**
 * Copies the ledger with `VACUUM INTO`, in one read transaction: writers are not blocked, and cannot make the copy start over, as with SQLite's
 * page-wise backup. The copy is marked (table `copy`): after a restore nothing delivered since is sent again (`Installation.suspicion`).
 * @param file the ledger, in the shape of this program
 * @param copy a file that must not exist yet; made with mode 0600, and removed if the backup fails
 * @throws `usage-wrong` (the copy exists already, or its folder does not), `ledger-unusable`
 */
export function backUpLedger(file: string, copy: string, now: number): BackedUp {
  if (existsSync(copy)) throw taken(copy)
  // Written under a temporary name: the remains of a killed process never look like a backup.
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
 * Replaces the ledger by a backup, checked and marked as a copy taken now: until now more may have been delivered.
 * @returns path of the former ledger, which is kept; undefined without a former ledger
 * @throws `backup-unusable`: nothing was changed
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
  // SQLite would apply the WAL files of the old ledger to the restored file: they move along with the old ledger.
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

/** Makes an empty file, and fails if the name is taken. `VACUUM INTO` accepts an empty file. */
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
    database.prepare('insert into copy (taken_at) values (?)').run(now)
    database.exec('delete from copy where number < (select max(number) from copy)')
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
 * Number of the copy, and the time up to which rows may be missing. No run proves a copy complete: everything observed before the copy was first
 * used is looked up, once a slot.
 */
export async function readSuspicion(statements: Statements, now: number): Promise<Suspicion> {
  await statements.run('update copy set used_at = ? where used_at is null', now)
  const [last] = await statements.all('select number, used_at from copy order by number desc limit 1')
  return last === undefined
    ? NO_SUSPICION
    : { copy: Number(last['number']) % COPIES, until: Number(last['used_at']) }
}
