/**
 * Turns of the users of a ledger. Writes requested in one turn of the event loop share a transaction, as each commit waits for the disk.
 */
import type { Kysely } from 'kysely'
import type pLimit from 'p-limit'
import type { SealedId } from '../sealed-ids.ts'
import type { LedgerTables } from '../tables.ts'
import type { Dialect } from './dialect.ts'

export type MaybePromise<T> = T | Promise<T>

/** Value of a parameter of a statement. PostgreSQL alone takes lists. */
export type Parameter = string | number | null | SealedId | Uint8Array | readonly Uint8Array[]

/** Statements by text, with `?` for each parameter. */
export interface Statements {
  readonly dialect: Dialect
  /** In a transaction of PostgreSQL, the statement is executed with the next one that has a result, at the latest with the commit. */
  run(sql: string, ...parameters: readonly Parameter[]): MaybePromise<void>
  /** Inserts a row for each list of parameters. @returns the ids of the rows */
  insertEach(sql: string, rows: readonly (readonly Parameter[])[]): MaybePromise<readonly number[]>
  /**
   * Asserts that a statement gives a row with a text, as `select '1' …` or `update … returning '1'`. Executed as `run`.
   * @param refuse throws the reason, after the rollback in PostgreSQL
   */
  assert(
    sql: string,
    parameters: readonly Parameter[],
    refuse: (statements: Statements) => MaybePromise<never>,
  ): MaybePromise<void>
  all(
    sql: string,
    ...parameters: readonly Parameter[]
  ): MaybePromise<readonly Readonly<Record<string, unknown>>[]>
}

/** The connection, within a transaction. */
export type Writer = Kysely<LedgerTables>
type Write<T> = (writer: Writer, statements: Statements) => Promise<T>
/** Write by statements alone, for the frequent writes of batches and chunks. */
type HotWrite<T> = (statements: Statements) => MaybePromise<T>

/**
 * `for-nothing`: the write outlives the process at once, and the machine from the next commit that waits, as a waiting commit syncs all of the
 * write-ahead log (sqlite.org/pragma.html#pragma_synchronous: NORMAL; synchronous_commit of PostgreSQL).
 */
type Waits = 'for-disk' | 'for-nothing'

/** A database with the tables of the ledger. */
export interface LedgerDatabase {
  readonly dialect: Dialect
  /** Each statement by itself, in a transaction of its own. */
  readonly db: Kysely<LedgerTables>
  /** Queue in which transactions of this process take turns. */
  readonly turn: ReturnType<typeof pLimit>
  /** @param alone no other transaction of this kind runs meanwhile, in any process */
  transaction<T>(waits: Waits, alone: boolean, work: Write<T>): Promise<T>
  /** Reads by statements, outside of transactions. */
  readHot<T>(look: () => MaybePromise<T>): Promise<T>
  /** Makes an error of the database one of Waybill: no defect. */
  asLedgerError(error: unknown): unknown
}

export interface Exclusive extends Pick<LedgerDatabase, 'db' | 'dialect' | 'readHot'> {
  write<T>(operation: Write<T>): Promise<T>
  /**
   * Writes in a transaction shared with all writes requested at the same time: if one fails, all fail.
   * @param waits default `for-disk`: on disk when the promise resolves
   */
  writeShared<T>(operation: Write<T>, waits?: Waits): Promise<T>
  /** Hot write in a shared transaction, as `writeShared`. */
  writeHot<T>(operation: HotWrite<T>, waits?: Waits): Promise<T>
}

interface Waiting {
  readonly perform: (writer: Writer, statements: Statements) => unknown
  readonly waits: Waits
  readonly done: (value: unknown) => void
  readonly failed: (error: unknown) => void
}

/** @param guard runs first in every shared transaction; throws to refuse the transaction */
export function createExclusive(database: LedgerDatabase, guard?: HotWrite<void>): Exclusive {
  const { db, dialect, turn, readHot, asLedgerError } = database
  const waiting: Waiting[] = []
  const refuse = (error: unknown): never => {
    throw asLedgerError(error)
  }

  const flush = async (): Promise<void> => {
    const together = waiting.splice(0)
    if (together.length === 0) return
    const isToWait = together.some(({ waits }) => waits === 'for-disk')
    try {
      const results = await database.transaction(
        isToWait ? 'for-disk' : 'for-nothing',
        false,
        async (writer, statements) => {
          await guard?.(statements)
          const values: unknown[] = []
          for (const one of together) {
            const value = one.perform(writer, statements)
            values.push(value instanceof Promise ? await value : value)
          }
          return values
        },
      )
      for (const [at, one] of together.entries()) one.done(results[at])
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
    db,
    dialect,
    readHot,
    write: (operation) => turn(() => database.transaction('for-disk', true, operation)).catch(refuse),
    writeShared: (operation, waits = 'for-disk') => share(operation, waits),
    writeHot: (operation, waits = 'for-disk') => share((_, prepared) => operation(prepared), waits),
  }
}
