/** node:sqlite in the form that Kysely's SQLite dialect asks for, and the pragmas of the ledger. */
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { Kysely, SqliteAdapter, type SqliteDatabase, SqliteDialect, type SqliteStatement } from 'kysely'
import pLimit from 'p-limit'
import type { LedgerTables } from '../tables.ts'

/** Compiled statements kept; the ledger's own are far fewer. */
const STATEMENTS_KEPT = 200

/** A longer statement is one for so and so many rows: it hardly comes again, and compiled it takes its length many times over. */
const LONGEST_KEPT = 2_000

/**
 * Opens the file. WAL, so that readers never wait; `synchronous = FULL`, so that an intent is on the disk before its
 * bytes leave (sqlite.org/pragma.html#pragma_synchronous: NORMAL would not sync a WAL commit).
 */
export function openSqlite(file: string, busyTimeoutMs: number): SqliteDatabase {
  const database = openWithRoom((isAlone) => {
    const opened = new DatabaseSync(file, { timeout: busyTimeoutMs })
    if (isAlone) opened.exec('pragma locking_mode = exclusive')
    return opened
  })
  try {
    // Only a file that has no pages yet can be told to give pages back one by one (sqlite.org/pragma.html#pragma_auto_vacuum).
    if (database.prepare('pragma page_count').get()?.['page_count'] === 0)
      database.exec('pragma auto_vacuum = incremental')
    database.exec('pragma journal_mode = wal; pragma synchronous = full; pragma cache_size = -4000')
  } catch (error) {
    database.close()
    throw error
  }
  const statements = new Map<string, SqliteStatement>()
  return {
    prepare(sql) {
      const known = statements.get(sql)
      if (known !== undefined) return known
      // It takes effect as it is compiled (sqlite.org/pragma.html): kept, it would do so once.
      if (sql.startsWith('pragma synchronous')) return executed(() => database.exec(sql))
      // After a full disk SQLite has rolled back already; complaining of that would hide what went wrong.
      if (sql === 'rollback')
        return executed(() => {
          if (database.isTransaction) database.exec('rollback')
        })
      // A transaction that reads first and writes later could not wait for its turn.
      const statement = adapt(database.prepare(sql === 'begin' ? 'begin immediate' : sql))
      if (sql.length > LONGEST_KEPT) return statement
      if (statements.size >= STATEMENTS_KEPT) statements.clear()
      statements.set(sql, statement)
      return statement
    },
    close: () => database.close(),
  }
}

/** SQLITE_IOERR and SQLITE_CANTOPEN, in the last byte of an extended code (sqlite.org/rescode.html). */
const NO_FILES_BESIDE: ReadonlySet<number> = new Set([10, 14])

/**
 * Opens a database and reads of it. Where no file can be made beside it, as on a full disk, it is opened once more as its only user: that needs no
 * shared memory (sqlite.org/wal.html#noshm). Whoever has it open already has made that file.
 */
export function openWithRoom(open: (isAlone: boolean) => DatabaseSync): DatabaseSync {
  const read = (isAlone: boolean): DatabaseSync => {
    const database = open(isAlone)
    try {
      database.prepare('select count(*) from sqlite_schema').get()
      return database
    } catch (error) {
      database.close()
      throw error
    }
  }
  try {
    return read(false)
  } catch (error) {
    const code = error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : 0
    if (!NO_FILES_BESIDE.has(code)) throw error
    return read(true)
  }
}

function adapt(statement: StatementSync): SqliteStatement {
  // Kysely binds text, numbers, null and bytes, all of which node:sqlite takes.
  const bind = (parameters: readonly unknown[]) => parameters as SQLInputValue[]
  return {
    reader: statement.columns().length > 0,
    all: (parameters) => statement.all(...bind(parameters)),
    run: (parameters) => statement.run(...bind(parameters)),
    iterate: (parameters) => statement.iterate(...bind(parameters)),
  }
}

const executed = (run: () => void): SqliteStatement => ({
  reader: false,
  all: () => [],
  run() {
    run()
    return { changes: 0, lastInsertRowid: 0 }
  },
  iterate: () => [].values(),
})

/** Kysely takes SQLite for unable to change tables in a transaction; it is able to (sqlite.org/lang_transaction.html). */
class TransactionalAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true
  }
}

export class LedgerDialect extends SqliteDialect {
  override createAdapter(): SqliteAdapter {
    return new TransactionalAdapter()
  }
}

/** Statements by their text, each prepared when it is first asked for. */
export interface Statements {
  run(sql: string, ...parameters: readonly SQLInputValue[]): void
  /** The id of the row that was inserted. */
  insert(sql: string, ...parameters: readonly SQLInputValue[]): number
  all(sql: string, ...parameters: readonly SQLInputValue[]): readonly Readonly<Record<string, unknown>>[]
}

/** One connection, by both ways of asking it. */
export interface LedgerDatabase {
  readonly kysely: Kysely<LedgerTables>
  readonly statements: Statements
  /** All that use the connection take turns. */
  readonly turn: ReturnType<typeof pLimit>
}

export function openLedgerDatabase(file: string, busyTimeoutMs: number): LedgerDatabase {
  const sqlite = openSqlite(file, busyTimeoutMs)
  return {
    kysely: new Kysely<LedgerTables>({ dialect: new LedgerDialect({ database: sqlite }) }),
    turn: pLimit(1),
    statements: {
      run: (sql, ...parameters) => void sqlite.prepare(sql).run(parameters),
      insert: (sql, ...parameters) => Number(sqlite.prepare(sql).run(parameters).lastInsertRowid),
      all: (sql, ...parameters) => sqlite.prepare(sql).all(parameters) as Readonly<Record<string, unknown>>[],
    },
  }
}
