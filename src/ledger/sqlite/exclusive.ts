/**
 * One connection, one writer: operations on the database take turns, and writes that are asked for in the same turn of the event
 * loop share one transaction, as each commit waits for the disk.
 */
import type { Kysely, Transaction } from 'kysely'
import pLimit from 'p-limit'
import { WaybillError } from '../../model/errors.ts'
import type { LedgerTables } from '../tables.ts'
import { unsynced } from './database.ts'

export type Write<T> = (transaction: Transaction<LedgerTables>) => Promise<T>

export interface Exclusive {
  read<T>(operation: (database: Kysely<LedgerTables>) => Promise<T>): Promise<T>
  write<T>(operation: Write<T>): Promise<T>
  /**
   * As `write`, in a transaction shared with others asked for at the same time: if one fails, all fail.
   * @param waits whether it is on the disk when it resolves; default: it is
   */
  writeShared<T>(operation: Write<T>, waits?: 'for-disk' | 'for-nothing'): Promise<T>
}

interface Waiting {
  readonly perform: Write<unknown>
  readonly waits: 'for-disk' | 'for-nothing'
  readonly done: (value: unknown) => void
  readonly failed: (error: unknown) => void
}

/** @param guard run first in every shared transaction; throws to refuse it */
export function createExclusive(database: Kysely<LedgerTables>, guard?: Write<void>): Exclusive {
  const turn = turnOf(database)
  const waiting: Waiting[] = []

  const flush = async (): Promise<void> => {
    const together = waiting.splice(0)
    if (together.length === 0) return
    try {
      const commit = () =>
        database.transaction().execute(async (transaction) => {
          await guard?.(transaction)
          const values: unknown[] = []
          for (const one of together) values.push(await one.perform(transaction))
          return values
        })
      const isToWait = together.some(({ waits }) => waits === 'for-disk')
      const results = isToWait ? await commit() : await unsynced(database, commit)
      for (const [at, one] of together.entries()) one.done(results[at])
    } catch (error) {
      const failure = asLedgerError(error)
      for (const one of together) one.failed(failure)
    }
  }

  return {
    read: (operation) => turn(() => operation(database)).catch(refuse),
    write: (operation) => turn(() => database.transaction().execute(operation)).catch(refuse),
    writeShared: (operation, waits = 'for-disk') =>
      new Promise((resolve, reject) => {
        // The cast is sound: `done` gets what this very operation returned.
        waiting.push({ perform: operation, waits, done: resolve as (value: unknown) => void, failed: reject })
        if (waiting.length === 1) setImmediate(() => void turn(flush))
      }),
  }
}

/** What SQLite itself complains of (disk full, file locked or damaged) is no defect: it is told as what it is. */
export function asLedgerError(error: unknown): unknown {
  const ofSqlite = error instanceof Error && 'code' in error && error.code === 'ERR_SQLITE_ERROR'
  if (!ofSqlite) return error
  return new WaybillError('ledger-unusable', `the ledger cannot be used: ${error.message}`, { cause: error })
}

const refuse = (error: unknown): never => {
  throw asLedgerError(error)
}

const turns = new WeakMap<Kysely<LedgerTables>, ReturnType<typeof pLimit>>()

/** All that use one database share its turns. */
function turnOf(database: Kysely<LedgerTables>): ReturnType<typeof pLimit> {
  const known = turns.get(database) ?? pLimit(1)
  turns.set(database, known)
  return known
}
