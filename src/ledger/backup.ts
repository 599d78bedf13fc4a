/** A consistent copy of the ledger, taken while runs go on. */
import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { WaybillError } from '../model/errors.ts'

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

/** Makes the file empty, where nobody else has the name: `VACUUM INTO` takes an empty one. */
function claim(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600))
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'EEXIST') throw taken(path)
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

const reasonOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))
