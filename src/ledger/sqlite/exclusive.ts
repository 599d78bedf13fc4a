/**
 * One connection, one writer. Operations on the database take turns. Writes requested in one turn of the event loop share a transaction, as each
 * commit waits for the disk.
 */
import {
  type DatabaseConnection,
  DummyDriver,
  Kysely,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely'
import { isDiskFull, WaybillError } from '../../model/errors.ts'
import type { LedgerTables } from '../tables.ts'
import type { LedgerDatabase, Statements } from './database.ts'

/** The connection, within a transaction. */
export type Writer = Kysely<LedgerTables>
export type Write<T> = (writer: Writer, statements: Statements) => Promise<T>
/** Write by prepared statements, for the frequent writes of batches and chunks. */
export type HotWrite<T> = (statements: Statements) => T

export interface Exclusive {
  /** Each statement waits for a turn by itself, in a transaction of its own. */
  readonly db: Kysely<LedgerTables>
  /** Reads by prepared statements. */
  readHot<T>(look: () => T): Promise<T>
  write<T>(operation: Write<T>): Promise<T>
  /**
   * Writes in a transaction shared with all writes requested at the same time: if one fails, all fail.
   * @param waits default `for-disk`: on disk when the promise resolves
   */
  writeShared<T>(operation: Write<T>, waits?: Waits): Promise<T>
  /** Hot write in a shared transaction, as `writeShared`. */
  writeHot<T>(operation: HotWrite<T>, waits?: Waits): Promise<T>
}

/**
 * `for-nothing`: the write outlives the process at once, and the machine from the next commit that waits, as a waiting commit syncs all of the
 * write-ahead log (sqlite.org/pragma.html#pragma_synchronous: NORMAL).
 */
export type Waits = 'for-disk' | 'for-nothing'

interface Waiting {
  readonly perform: (writer: Writer, statements: Statements) => unknown
  readonly waits: Waits
  readonly done: (value: unknown) => void
  readonly failed: (error: unknown) => void
}

/** @param guard runs first in every shared transaction; throws to refuse the transaction */
export function createExclusive(database: LedgerDatabase, guard?: HotWrite<void>): Exclusive {
  const { kysely, statements, turn } = database
  const waiting: Waiting[] = []

  const inTransaction = async <T>(work: () => T | Promise<T>): Promise<T> => {
    statements.run('begin')
    try {
      const result = await work()
      statements.run('commit')
      return result
    } catch (error) {
      statements.run('rollback')
      throw error
    }
  }

  const flush = async (): Promise<void> => {
    const together = waiting.splice(0)
    if (together.length === 0) return
    const isToWait = together.some(({ waits }) => waits === 'for-disk')
    try {
      if (!isToWait) statements.run('pragma synchronous = normal')
      try {
        const results = await inTransaction(async () => {
          guard?.(statements)
          const values: unknown[] = []
          for (const one of together) {
            const value = one.perform(kysely, statements)
            values.push(value instanceof Promise ? await value : value)
          }
          return values
        })
        for (const [at, one] of together.entries()) one.done(results[at])
      } finally {
        if (!isToWait) statements.run('pragma synchronous = full')
      }
    } catch (error) {
      const failure = asLedgerError(error)
      for (const one of together) one.failed(failure)
    }
  }

  const share = <T>(perform: Waiting['perform'], waits: Waits): Promise<T> =>
    new Promise((resolve, reject) => {
      // The cast is sound: `done` gets the result of this very operation.
      waiting.push({ perform, waits, done: resolve as (value: unknown) => void, failed: reject })
      if (waiting.length === 1) setImmediate(() => void turn(flush))
    })

  return {
    db: inTurns(database),
    readHot: (look) => turn(look).catch(refuse),
    write: (operation) => turn(() => inTransaction(() => operation(kysely, statements))).catch(refuse),
    writeShared: (operation, waits = 'for-disk') => share(operation, waits),
    writeHot: (operation, waits = 'for-disk') => share((_, prepared) => operation(prepared), waits),
  }
}

/** Errors of SQLite (disk full, file locked or damaged) are no defects: they become `disk-full` or `ledger-unusable`. */
export function asLedgerError(error: unknown): unknown {
  const ofSqlite = error instanceof Error && 'code' in error && error.code === 'ERR_SQLITE_ERROR'
  if (!ofSqlite) return error
  const code = isDiskFull(error) ? 'disk-full' : 'ledger-unusable'
  return new WaybillError(code, `the ledger cannot be used: ${error.message}`, { cause: error })
}

const refuse = (error: unknown): never => {
  throw asLedgerError(error)
}

const unfit = (how: string): never => {
  throw new Error(`statements that wait each for its turn cannot be ${how}`)
}

function inTurns({ kysely, turn }: LedgerDatabase): Kysely<LedgerTables> {
  const connection: DatabaseConnection = {
    executeQuery: (query) => turn(() => kysely.executeQuery<never>(query)).catch(refuse),
    streamQuery: () => unfit('streamed'),
  }
  class TakingTurns extends DummyDriver {
    override async acquireConnection(): Promise<DatabaseConnection> {
      return connection
    }
    override beginTransaction = async (): Promise<void> => unfit('made one transaction: use `write`')
  }
  return new Kysely({
    dialect: {
      createAdapter: () => new SqliteAdapter(),
      createDriver: () => new TakingTurns(),
      createIntrospector: (db) => new SqliteIntrospector(db),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
  })
}
