/**
 * PostgreSQL as the database of the ledger. The shape follows from SQLite's. Transactions run under READ COMMITTED: those of `Exclusive.write` take an
 * advisory lock, those of a run read the token of the lease `for share`, so that no other process takes the job over before the commit.
 */
import {
  CompiledQuery,
  HandleEmptyInListsPlugin,
  Kysely,
  PostgresDialect,
  type PostgresPoolClient,
  replaceWithNoncontingentExpression,
  sql,
} from 'kysely'
import type { Migration } from 'kysely/migration'
import pLimit from 'p-limit'
import pg from 'pg'
import { reasonOf, WaybillError } from '../../model/errors.ts'
import { SHAPE } from '../sqlite/database.ts'
import type { Dialect } from '../sqlite/dialect.ts'
import type { LedgerDatabase, Parameter, Statements, Writer } from '../sqlite/exclusive.ts'
import type { LedgerTables } from '../tables.ts'
import { shownAddress } from './address.ts'
import { beginSession, type Session } from './session.ts'

const CONNECTIONS = 5
const CONNECT_TIMEOUT_MS = 10_000
/** Time of a statement or transaction after which this process asks whether the server answers at all. */
const SILENCE_MS = 10_000
/** A process that is halted within a transaction holds its locks no longer than this. */
const IDLE_IN_TRANSACTION_MS = 15_000

/** Silence after which a job goes to another machine. */
const SHARED_LEASE_MS = 20_000

export const POSTGRES: Dialect = {
  hashes: `select decode(value, 'hex') as hash from json_array_elements_text(cast(? as json)) as given(value)`,
  words: 'select value as word from json_array_elements_text(cast(? as json)) as given(value)',
  hex: (column) => `encode(${column}, 'hex')`,
  forShare: ' for share',
  forUpdate: ' for update',
  leaseMs: SHARED_LEASE_MS,
  clock: 'cast(extract(epoch from clock_timestamp()) * 1000 as bigint)',
}

export interface PostgresAddress {
  /** `postgres://…`, with or without a password. */
  readonly url: string
  /** Gives the password, each time that a connection is opened; undefined: as in the address. */
  readonly password?: (() => Promise<string>) | undefined
  /** For tests: default, `SILENCE_MS`. */
  readonly silenceMs?: number
}

export interface PostgresLedgerDatabase extends LedgerDatabase {
  readonly statements: Statements
  /** Address without user and password. */
  readonly where: string
  close(): Promise<void>
}

/** @param dialect differs from `POSTGRES` only where a test hands the clock in */
export function openPostgres(address: PostgresAddress, dialect: Dialect): PostgresLedgerDatabase {
  const where = shownAddress(address.url)
  const asLedgerError = (error: unknown): unknown => ledgerError(where, error)
  const refuse = (error: unknown): never => {
    throw asLedgerError(error)
  }
  const pool = poolOf(address)
  const connect = (): Promise<pg.PoolClient> => pool.connect().catch(refuse)
  const kysely = kyselyOn(
    async () => {
      const client = await connect()
      return {
        query: (text, values) => client.query(text, [...values]).catch(refuse),
        release: (isLost) => client.release(isLost),
      }
    },
    () => pool.end(),
  )
  const statements = statementsOn(kysely, dialect)
  return {
    dialect,
    where,
    db: kysely,
    statements,
    turn: pLimit(1),
    // Each statement has done so already.
    asLedgerError: (error) => error,
    readHot: async (look) => look(),
    async transaction(waits, alone, work) {
      const begin = ['begin']
      if (waits === 'for-nothing') begin.push('set local synchronous_commit = off')
      if (alone) begin.push(ALONE)
      const client = await connect()
      let isLost = false
      try {
        const session = beginSession(client, begin.join('; '), asLedgerError)
        try {
          const writer = kyselyOn(async () => ({ query: session.query, release: () => {} }))
          const result = await work(writer, statementsIn(session, statements))
          await session.query('commit', [])
          return result
        } catch (error) {
          const refusal = await session.rollback(error).catch(() => {
            isLost = true
            return undefined
          })
          await refusal?.()
          throw error
        }
      } finally {
        client.release(isLost)
      }
    },
    close: () => kysely.destroy(),
  }
}

interface Connection {
  query(text: string, values: readonly unknown[]): Promise<pg.QueryResult>
  release(isLost?: boolean): void
}

const kyselyOn = (
  connect: () => Promise<Connection>,
  end: () => Promise<void> = async () => {},
): Kysely<LedgerTables> =>
  new Kysely({
    dialect: new PostgresDialect({
      pool: {
        async connect() {
          const { query, release } = await connect()
          // The cast is sound: nothing reads by cursors.
          const known: unknown = query
          return { query: known as PostgresPoolClient['query'], release }
        },
        end,
        options: {},
      },
    }),
    plugins: [new HandleEmptyInListsPlugin({ strategy: replaceWithNoncontingentExpression })],
  })

/** Connections, each by TLS if a network lies in between. */
export function poolOf({ url, password, silenceMs = SILENCE_MS }: PostgresAddress): pg.Pool {
  const connecting = {
    connectionString: url,
    ...(password === undefined ? {} : { password }),
    ...(isThisMachine(url) || /[?&]sslmode=/.test(url) ? {} : { ssl: true }),
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    application_name: 'waybill',
  }
  const pool = new pg.Pool({
    ...connecting,
    max: CONNECTIONS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: silenceMs,
    types: { getTypeParser },
  })
  // An idle connection that the server has ended: the next statement opens another.
  pool.on('error', () => {})
  // A connection that the server ends between two statements of a transaction: the next statement fails.
  pool.on('connect', (client) => client.on('error', () => {}))
  endSilent(pool, silenceMs, () => isAnswered(new pg.Client(connecting)))
  return pool
}

/**
 * Ends connections in use of a server that has vanished without a word, as by a pulled cable. A slow statement, or one that waits for a lock, goes on
 * while the server answers others.
 */
function endSilent(pool: pg.Pool, silenceMs: number, answersOthers: () => Promise<boolean>): void {
  const inUse = new Map<pg.PoolClient, NodeJS.Timeout>()
  let asking: Promise<boolean> | undefined
  const ask = (): Promise<boolean> => {
    asking ??= answersOthers().finally(() => {
      asking = undefined
    })
    return asking
  }
  const watch = (client: pg.PoolClient): void => {
    const look = async (): Promise<void> => {
      const isThere = await ask()
      if (inUse.get(client) !== timer) return
      if (isThere) watch(client)
      else if (client instanceof pg.Client) client.end().catch(() => {})
    }
    const timer = setTimeout(look, silenceMs).unref()
    inUse.set(client, timer)
  }
  pool.on('acquire', watch)
  pool.on('release', (_error, client) => {
    clearTimeout(inUse.get(client))
    inUse.delete(client)
  })
}

/** True if the server answers, and be it by a refusal. */
async function isAnswered(client: pg.Client): Promise<boolean> {
  client.on('error', () => {})
  try {
    await client.connect()
    return true
  } catch (error) {
    return error instanceof pg.DatabaseError
  } finally {
    await client.end().catch(() => {})
  }
}

/** Lock of all writes of a ledger that read first and write later, as `begin immediate` of SQLite. */
export const ALONE = `select pg_advisory_xact_lock(hashtextextended('waybill ' || current_schema(), 0))`

/** True where no network lies between this process and the server. */
function isThisMachine(url: string): boolean {
  const { hostname, searchParams } = new URL(url)
  const host = searchParams.get('host') ?? hostname
  return host === '' || host.startsWith('/') || ['localhost', '127.0.0.1', '[::1]'].includes(host)
}

/** Oids of `bigint` and `numeric`: counts, instants and hashes of less than 2^53. */
const NUMBERS: ReadonlySet<number> = new Set([20, 1700])

const getTypeParser = ((oid: number, format?: 'text' | 'binary') =>
  NUMBERS.has(oid) ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser

const numbered = new Map<string, string>()

/** Text with `$1`, `$2` … for each `?`. */
function withNumbers(text: string): string {
  const known = numbered.get(text)
  if (known !== undefined) return known
  let count = 0
  const made = text.replaceAll('?', () => `$${++count}`)
  numbered.set(text, made)
  return made
}

function statementsOn(connection: Writer, dialect: Dialect): Statements {
  const all: Statements['all'] = async (text, ...parameters) =>
    (await connection.executeQuery<Row>(CompiledQuery.raw(withNumbers(text), [...parameters]))).rows
  return {
    dialect,
    all,
    async run(text, ...parameters) {
      await all(text, ...parameters)
    },
    async insertEach(text, rows) {
      const ids: number[] = []
      for (const row of rows) ids.push(...idsOf(await all(`${text} returning id`, ...row)))
      return ids
    },
    async assert(text, parameters, refuse) {
      if ((await all(text, ...parameters)).length === 0) await refuse(this)
    },
  }
}

type Row = Readonly<Record<string, unknown>>

const idsOf = (rows: readonly Row[]): number[] => rows.map(({ id }) => Number(id))

/** @param outside for looks after a rollback */
function statementsIn(session: Session, outside: Statements): Statements {
  const all = async (text: string, ...parameters: readonly Parameter[]): Promise<Row[]> =>
    (await session.query(withNumbers(text), parameters)).rows
  return {
    dialect: outside.dialect,
    run: (text, ...parameters) =>
      // Lists cannot wait.
      parameters.some(Array.isArray)
        ? all(text, ...parameters).then(() => {})
        : session.later(text, parameters),
    all,
    insertEach: async (text, rows) =>
      (await session.queryEach(`${text} returning id`, rows)).flatMap((result) => idsOf(result.rows)),
    assert: (text, parameters, refuse) => session.assert(text, parameters, async () => refuse(outside)),
  }
}

/** SQLSTATE of a full disk (postgresql.org/docs/current/errcodes-appendix.html). */
const DISK_FULL = '53100'

const REMEDY =
  'Check that the database server runs and can be reached, and that WAYBILL_LEDGER names a database and a role that may use it. Nothing is sent without the ledger.'

/** @param error of a statement, or of opening a connection */
export function ledgerError(where: string, error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  // Class 42: a statement of ours is wrong. 42501: the role lacks a right.
  if (error instanceof pg.DatabaseError && code.startsWith('42') && code !== '42501') return error
  return new WaybillError(
    code === DISK_FULL ? 'disk-full' : 'ledger-unusable',
    `the ledger ${where} cannot be used: ${reasonOf(error)}`,
    { remedy: REMEDY, cause: error },
  )
}

/** Tables of SQLite's store of delivered rows: PostgreSQL has one plain table. */
const OF_SEGMENTS = /^create (table|index) delivered\w*\b/

/** Text of a table of SQLite, for PostgreSQL. Names sort by bytes, as in SQLite. */
const translated = (text: string): string =>
  text
    .replace(/\) without rowid$/, ')')
    .replace(/\((id|number) integer primary key/, '($1 bigint generated by default as identity primary key')
    .replaceAll(/\binteger\b/g, 'bigint')
    .replaceAll(/\bblob\b/g, 'bytea')
    .replaceAll(/\btext\b/g, 'text collate "C"')

const POSTGRES_SHAPE: readonly string[] = [
  ...SHAPE.filter((text) => !OF_SEGMENTS.test(text)).map(translated),
  `create table delivered (job_id bigint not null, row_key bytea not null, records bytea not null,
    primary key (job_id, row_key)) with (fillfactor = 90)`,
  // Emptied by the server when it recovers from a crash, as are commits that did not wait for the disk.
  `create unlogged table server_start (place text not null)`,
  `create table pace (gateway text collate "C" primary key, state text not null)`,
  `create table shared_home (mark text not null)`,
]

/** Tables with the columns of the file. */
export const COPIED_TABLES: readonly string[] = SHAPE.filter((text) => !OF_SEGMENTS.test(text)).flatMap(
  (text) => /^create table (\w+)/.exec(text)?.[1] ?? [],
)

export const POSTGRES_MIGRATIONS: Readonly<Record<string, Migration>> = {
  '2027-02-ledger': {
    async up(db: Kysely<unknown>) {
      for (const statement of POSTGRES_SHAPE) await sql.raw(statement).execute(db)
    },
  },
}
