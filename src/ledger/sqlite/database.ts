/**
 * Adapts node:sqlite to Kysely's SQLite dialect, and sets the pragmas of the ledger.
 * Holds the ledger's shape as migrations. A released migration is never changed; nothing is released yet, so there is a single migration.
 * Instants are milliseconds since the epoch. A table keyed by its own columns and read by key alone is `without rowid`, and so has no second
 * tree.
 */

import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import {
  type DatabaseConnection,
  DummyDriver,
  Kysely,
  SqliteAdapter,
  type SqliteDatabase,
  SqliteDialect,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type SqliteStatement,
  sql,
} from 'kysely'
import type { Migration } from 'kysely/migration'
import pLimit from 'p-limit'
import { isDiskFull, WaybillError } from '../../model/errors.ts'
import { LEASE_MS } from '../concerns.ts'
import type { LedgerTables } from '../tables.ts'
import type { Dialect } from './dialect.ts'
import type { LedgerDatabase, Parameter, Statements } from './exclusive.ts'

const SQLITE: Dialect = {
  hashes: 'select unhex(value) as hash from json_each(?)',
  words: 'select value as word from json_each(?)',
  hex: (column) => `lower(hex(${column}))`,
  forShare: '',
  forUpdate: '',
  leaseMs: LEASE_MS,
  clock: undefined,
}

/** Compiled statements kept. The ledger's own are far fewer. */
const STATEMENTS_KEPT = 200

/** A longer statement contains a number of rows and rarely recurs. Compiled, the statement takes many times its length. */
const LONGEST_KEPT = 2_000

/**
 * Opens the file. WAL: readers never wait. `synchronous = FULL`: an intent is on the disk before the bytes of the batch leave
 * (sqlite.org/pragma.html#pragma_synchronous: NORMAL would not sync a WAL commit).
 */
function openSqlite(file: string, busyTimeoutMs: number, access: 'write' | 'read' = 'write'): SqliteDatabase {
  const database = openWithRoom((isAlone) => {
    const opened = new DatabaseSync(file, { timeout: busyTimeoutMs, readOnly: access === 'read' })
    if (isAlone) opened.exec('pragma locking_mode = exclusive')
    return opened
  })
  try {
    if (access === 'read') return adapted(database)
    // Only a file without pages accepts incremental vacuum (sqlite.org/pragma.html#pragma_auto_vacuum).
    if (database.prepare('pragma page_count').get()?.['page_count'] === 0)
      database.exec('pragma auto_vacuum = incremental')
    database.exec('pragma journal_mode = wal; pragma synchronous = full; pragma cache_size = -4000')
  } catch (error) {
    database.close()
    throw error
  }
  return adapted(database)
}

function adapted(database: DatabaseSync): SqliteDatabase {
  const statements = new Map<string, SqliteStatement>()
  return {
    prepare(sql) {
      const known = statements.get(sql)
      if (known !== undefined) return known
      // These pragmas take effect on compilation (sqlite.org/pragma.html): a kept statement would work only once.
      if (/^pragma (synchronous|secure_delete)/.test(sql)) return executed(() => database.exec(sql))
      // After a full disk SQLite has rolled back already: an error here would hide the cause.
      if (sql === 'rollback')
        return executed(() => {
          if (database.isTransaction) database.exec('rollback')
        })
      // A transaction that reads first and writes later could not wait for other writers.
      const statement = adapt(database.prepare(sql === 'begin' ? 'begin immediate' : sql))
      if (sql.length > LONGEST_KEPT) return statement
      if (statements.size >= STATEMENTS_KEPT) statements.clear()
      statements.set(sql, statement)
      return statement
    },
    close: () => database.close(),
  }
}

/** SQLITE_IOERR and SQLITE_CANTOPEN: the last byte of an extended code (sqlite.org/rescode.html). */
const NO_FILES_BESIDE: ReadonlySet<number> = new Set([10, 14])

/**
 * Opens a database and reads from the file. If no file can be made beside the database, as on a full disk, the database is opened again with this
 * process as the only user: exclusive locking needs no shared memory (sqlite.org/wal.html#noshm). A process that has the database open already
 * has made the file.
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
  // Kysely binds text, numbers, null and bytes. node:sqlite takes all of them.
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

/** Kysely assumes that SQLite cannot change tables in a transaction. SQLite can (sqlite.org/lang_transaction.html). */
class TransactionalAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true
  }
}

class LedgerDialect extends SqliteDialect {
  override createAdapter(): SqliteAdapter {
    return new TransactionalAdapter()
  }
}

/** Statements by text, each prepared on first use. SQLite answers at once. */
export interface SyncStatements extends Statements {
  run(sql: string, ...parameters: readonly Parameter[]): void
  /** Returns the id of the inserted row. */
  insert(sql: string, ...parameters: readonly Parameter[]): number
  all(sql: string, ...parameters: readonly Parameter[]): readonly Readonly<Record<string, unknown>>[]
}

/** One connection, used through Kysely and through prepared statements. */
export interface SqliteLedgerDatabase extends LedgerDatabase {
  readonly kysely: Kysely<LedgerTables>
  readonly statements: SyncStatements
}

function statementsOn(sqlite: SqliteDatabase): SyncStatements {
  const insert: SyncStatements['insert'] = (sql, ...parameters) =>
    Number(sqlite.prepare(sql).run(parameters).lastInsertRowid)
  const all: SyncStatements['all'] = (sql, ...parameters) =>
    sqlite.prepare(sql).all(parameters) as Readonly<Record<string, unknown>>[]
  const statements: SyncStatements = {
    dialect: SQLITE,
    run: (sql, ...parameters) => void sqlite.prepare(sql).run(parameters),
    insert,
    insertEach: (sql, rows) => rows.map((row) => insert(sql, ...row)),
    all,
    assert: (sql, parameters, refuse) =>
      all(sql, ...parameters).length === 0 ? refuse(statements) : undefined,
  }
  return statements
}

export function openLedgerDatabase(
  file: string,
  busyTimeoutMs: number,
  access?: 'write' | 'read',
): SqliteLedgerDatabase {
  const sqlite = openSqlite(file, busyTimeoutMs, access)
  const kysely = new Kysely<LedgerTables>({ dialect: new LedgerDialect({ database: sqlite }) })
  const turn = pLimit(1)
  const statements = statementsOn(sqlite)
  return {
    dialect: SQLITE,
    kysely,
    statements,
    turn,
    db: inTurns(kysely, turn),
    readHot: (look) => turn(look).catch(refuse),
    asLedgerError,
    async transaction(waits, _alone, work) {
      if (waits === 'for-nothing') statements.run('pragma synchronous = normal')
      try {
        statements.run('begin')
        try {
          const result = await work(kysely, statements)
          statements.run('commit')
          return result
        } catch (error) {
          statements.run('rollback')
          throw error
        }
      } finally {
        if (waits === 'for-nothing') statements.run('pragma synchronous = full')
      }
    },
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

function inTurns(kysely: Kysely<LedgerTables>, turn: LedgerDatabase['turn']): Kysely<LedgerTables> {
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

export const MIGRATIONS: Readonly<Record<string, Migration>> = {
  '2027-02-ledger': {
    async up(db: Kysely<unknown>) {
      for (const statement of SHAPE) await sql.raw(statement).execute(db)
    },
  },
}

export const SHAPE = [
  `create table job (id integer primary key, name text not null, gateway text not null, unique (name, gateway))`,
  // A part of an export has a lease beside the lease of its job. A file has no parts.
  `create table lease (job_id integer not null, run_id text not null, owner text not null, token integer not null,
    acquired_at integer not null, expires_at integer not null, gives_way integer not null default 0, outage text,
    part integer not null default 0, primary key (job_id, part))`,
  `create table waiting (job_id integer not null, owner text not null, since integer not null, expires_at integer not null,
    primary key (job_id, owner))`,

  `create table run (id text primary key, job_id integer not null, state text not null, started_at integer not null,
    ended_at integer, reason text, detail text, worked_ms integer not null default 0, worked_at integer,
    rejects_path text not null, receipts_path text not null, receipts_length integer not null default 0,
    tallies text not null, origin_run text, selection text, pruned_at integer, backfill text, backfill_folder text,
    part text, resumed_at integer, collection text, stop_by text)`,
  `create index run_by_job on run (job_id, started_at)`,
  `create table mapping (digest text primary key, name text not null, content text not null)`,
  `create table export (id integer primary key, run_id text not null, ordinal integer not null, export_id text not null,
    name text not null, path text not null, sha256 text not null, bytes integer not null, mapping_digest text not null,
    state text not null, reason text, drift text, reading text not null default 'whole', origin_export integer,
    totals text, archived text, held_back text, detail text, remedy text, is_ended integer, day integer, anchor integer,
    unique (run_id, ordinal))`,
  `create index export_by_content on export (export_id)`,
  `create index export_by_name on export (sha256, name)`,
  `create index export_by_delivery on export (name)`,
  `create table part (export_row integer not null, number integer not null, state text not null, fault text,
    tallies text not null, receipts_length integer not null default 0, rows_read integer not null default 0,
    rows_rejected integer not null default 0, rows_skipped integer not null default 0, takes integer not null default 0,
    primary key (export_row, number))`,
  `create table profile (job text not null, mapping text not null, sha256 text not null, export_row integer not null,
    accepted integer not null, content text not null, primary key (job, mapping, sha256))`,
  `create table chunk (export_row integer not null, number integer not null, first_row integer not null,
    first_line integer not null, byte_offset integer not null, rows integer not null, state text not null, counts text,
    rejects_length integer, settled_at integer, worked_ms integer, accepted blob,
    primary key (export_row, number))`,
  `create table batch (id integer primary key, batch_id text not null, export_row integer not null,
    chunk integer not null, kind text not null, records integer not null, state text not null, attempts integer not null,
    answer text, status integer, place text, begun_at integer not null, settled_at integer)`,
  `create table batch_holds (batch integer primary key, holds blob not null)`,
  `create index batch_of_chunk on batch (export_row, chunk)`,

  `create table exception (id integer primary key, export_row integer not null, chunk integer not null,
    row integer not null, line integer not null, byte_offset integer not null, kind text, rule text, content text,
    outcome text not null, state text not null, stage text not null, code text not null, field text,
    message text not null, batch_id text, known_since integer, sent_as text, person blob)`,
  `create index exception_of_person on exception (person) where person is not null`,
  `create index exception_of_chunk on exception (export_row, chunk, row)`,
  `create index exception_by_row on exception (export_row, row)`,
  `create index exception_by_place on exception (export_row, byte_offset)`,
  `create index exception_in_doubt on exception (content) where outcome = 'in-doubt'`,
  `create table decision (id integer primary key, exception integer not null, event text not null, run_id text,
    resolution integer, at integer not null)`,
  `create table resolution (id integer primary key, run_id text not null, decision text not null, person text not null,
    note text, at integer not null, code text, undone_at integer, unique (run_id, at, decision))`,
  `create index decision_of_exception on decision (exception)`,
  `create index decision_of_run on decision (run_id)`,

  `create table delivered (id integer primary key, job_id integer not null, count integer not null, rows blob not null)`,
  `create table delivered_segment (id integer primary key, job_id integer not null, level integer not null, state text not null)`,
  `create index delivered_segment_of_job on delivered_segment (job_id, level)`,
  `create table delivered_block (id integer primary key, segment integer not null, first blob not null, entries blob not null,
    unique (segment, first))`,
  `create table delivered_filter (segment integer not null, first blob not null, bits blob not null,
    primary key (segment, first)) without rowid`,
  `create table delivered_replaced (pack integer primary key, job_id integer not null, count integer not null,
    replaced integer not null)`,
  // The column stands first, as SQLite rewrites the comparison: no query would use an index written otherwise.
  `create index delivered_to_clear on delivered_replaced (job_id) where count <= replaced * 2`,
  `create table held (job_id integer not null, row_key blob not null, content blob not null, rule blob not null,
    series blob, export_row integer not null, sent_until integer,
    primary key (job_id, row_key, content)) without rowid`,
  `create table account (gateway text not null, reference blob not null, account_id text, registered_at integer not null,
    registered_by text, sent_before integer, born integer, named integer,
    primary key (gateway, reference)) without rowid`,
  `create table shared_reference (gateway text not null, reference blob not null, primary key (gateway, reference)) without rowid`,
  `create table claim (gateway text not null, account blob not null, job_id integer not null,
    primary key (gateway, account)) without rowid`,
  `create table abandoned_claim (gateway text not null, account blob not null, run_id text not null,
    job_id integer not null, at integer not null, primary key (gateway, account, run_id)) without rowid`,
  `create table forgotten (gateway text not null, reference blob not null, times integer not null,
    primary key (gateway, reference)) without rowid`,
  `create table care_team (gateway text not null, account blob not null, npi blob not null, observed_at integer not null,
    stored_at integer not null, mark text not null, account_id text, heard_at integer not null, place integer not null, content blob, deletions text,
    mark_by integer, deletions_by integer, primary key (gateway, account, npi)) without rowid`,
  `create index care_team_owed on care_team (gateway, account)
    where (mark in ('to-set', 'to-unset') or deletions is not null)`,
  `create table care_team_listed (job_id integer not null, account blob not null, npi blob not null, arrival integer not null,
    at integer not null, primary key (job_id, account, npi)) without rowid`,
  `create table collected (job_id integer not null, person blob not null, content blob, run_id text not null,
    primary key (job_id, person)) without rowid`,
  `create table medical_request (gateway text not null, reference blob not null, content blob not null, state text not null,
    heard_at integer not null, run_id text, primary key (gateway, reference)) without rowid`,
  `create table copy (number integer primary key, taken_at integer not null, used_at integer)`,
  `create table installation (fingerprint text not null, had_other_key integer not null)`,
  `create table gateway_met (gateway text primary key, at integer not null) without rowid`,

  `create table timetable (job_id integer primary key, cron text not null, zone text not null,
    seen_until integer not null)`,
  `create table pause (job_id integer primary key, person text not null, note text, at integer not null, until integer)`,
  `create table last_targets (job text primary key, targets text not null) without rowid`,
  `create table put_aside (job_id integer not null, path text not null, name text not null, content text not null,
    export_row integer not null, person text not null, note text, at integer not null, primary key (job_id, path)) without rowid`,
  `create table audit (id integer primary key, at integer not null, person text not null, action text not null, job text,
    run_id text, subject text, note text)`,
  `create table fire (job_id integer not null, due integer not null, state text not null, made_up_by integer, owner text,
    run_id text, begun_at integer, ended_at integer, exit integer, error text, reason text, detail text, retry_at integer,
    primary key (job_id, due))`,
  `create index fire_open on fire (job_id, due) where state in ('due', 'missed', 'running', 'interrupted', 'retrying')`,
  `create table notification (id integer primary key, message_id text not null, job_id integer not null,
    kind text not null, subject text not null, target text not null, address text not null, notice text not null,
    state text not null, attempts integer not null default 0, next_at integer not null, created_at integer not null,
    delivered_at integer, error text, unique (job_id, kind, subject, target))`,
  `create index notification_pending on notification (next_at) where state = 'pending'`,
  `create table delivery (job text not null, mapping text not null, address text not null, modified_at integer not null,
    bytes integer not null, name text not null, taken_at integer not null, seen_at integer not null default 0,
    primary key (job, mapping, address, modified_at, bytes)) without rowid`,
  `create index delivery_by_age on delivery (job, mapping, taken_at, modified_at)`,
  `create table deadline (job text not null, mapping text not null, source text not null, timetable text not null,
    due integer not null, judged_at integer not null, state text not null, expected integer not null,
    arrived integer not null, small integer not null, known text,
    primary key (job, mapping, source, timetable, due)) without rowid`,
]
