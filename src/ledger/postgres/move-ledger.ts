/**
 * Moves a ledger from a file to an empty database. The file is closed to all writes first, also of processes that have it open; the database opens
 * only with the rows and digests of the file.
 */
import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import { processName } from '../../ledger/tables.ts'
import { WaybillError } from '../../model/errors.ts'
import { iso, present } from '../../system/shown-text.ts'
import { readPack } from '../delivered-rows.ts'
import type { DeliveredRow } from '../left-records.ts'
import { openLedgerDatabase, type SqliteLedgerDatabase, type SyncStatements } from '../sqlite/database.ts'
import { asBytes, deliveredOf } from '../sqlite/delivered.ts'
import type { DeliveredStore } from '../sqlite/delivered-store.ts'
import type { Parameter, Statements, Writer } from '../sqlite/exclusive.ts'
import { BEING_COPIED, MOVED } from '../sqlite/migrate.ts'
import { shownAddress } from './address.ts'
import {
  COPIED_TABLES,
  openPostgres,
  POSTGRES,
  type PostgresAddress,
  type PostgresLedgerDatabase,
} from './database.ts'
import { plainDeliveredOf } from './delivered.ts'
import { makeTables } from './open-ledger.ts'

const BUSY_TIMEOUT_MS = 10_000
const ROWS_AT_ONCE = 1_000
const BYTES_AT_ONCE = 1024 ** 2

export interface CopiedTable {
  readonly table: string
  readonly rows: number
  /** SHA-256 over the rows in the order of their keys, equal in file and database. */
  readonly digest: string
}

interface Moving {
  /** Identifies this copy, should it be the first try. */
  readonly id: string
  readonly now: number
  readonly isDead: (owner: string) => boolean
  readonly interrupt: AbortSignal
}

type Row = Readonly<Record<string, unknown>>

/**
 * Copies the ledger, or continues an interrupted copy of the same ledger.
 * @param file a ledger in the shape of this program
 * @throws `job-held` (a run is under way), `ledger-moved` (the file was moved to another address), `usage-wrong` (the database has a
 * ledger), `ledger-unusable`, `interrupted`
 */
export async function moveLedger(
  file: string,
  address: PostgresAddress,
  moving: Moving,
): Promise<CopiedTable[]> {
  const source = openLedgerDatabase(file, BUSY_TIMEOUT_MS)
  const target = openPostgres(address, POSTGRES)
  try {
    await begin(source, target, file, withoutUser(address.url), moving)
    const stores = {
      source: deliveredOf(source.statements),
      target: plainDeliveredOf(target.statements),
    }
    for (const table of COPIED_TABLES) await copyTable(source.statements, target, table, moving.interrupt)
    await copyDelivered(source.statements, target, stores, moving.interrupt)
    const compared: CopiedTable[] = []
    for (const table of COPIED_TABLES)
      compared.push(await compareTable(source.statements, target, table, moving.interrupt))
    compared.push(await compareDelivered(source.statements, target, stores, moving.interrupt))
    await complete(target)
    return compared
  } finally {
    await target.close()
    await source.kysely.destroy()
  }
}

function withoutUser(url: string): string {
  const { host, pathname, search } = new URL(url)
  return `postgres://${host}${pathname}${search}`
}

/** Checks the database, closes the file, and marks the database: a kill in between leaves the file closed and the database empty. */
const begin = (
  source: SqliteLedgerDatabase,
  target: PostgresLedgerDatabase,
  file: string,
  to: string,
  moving: Moving,
): Promise<void> =>
  target.transaction('for-disk', true, async (writer, statements) => {
    const begun = (await makeTables(writer, target.where)).find((name) => name.startsWith(BEING_COPIED))
    const moved = markOf(source.statements)
    const id = moved?.id ?? moving.id
    if (begun === undefined) await assertEmpty(statements, target.where)
    else if (begun !== `${BEING_COPIED}${id}`) throw notEmpty(target.where)
    if (moved !== undefined && moved.to !== to)
      throw new WaybillError('ledger-moved', `the ledger ${file} was moved to ${shownAddress(moved.to)}`, {
        place: { file },
      })
    if (moved === undefined) closeFile(source.statements, `${id} ${to}`, moving)
    if (begun !== undefined) return
    await statements.run(
      'insert into kysely_migration (name, timestamp) values (?, ?)',
      `${BEING_COPIED}${id}`,
      iso(moving.now),
    )
    await statements.run('create table ledger_copy (name text primary key, last text, done bigint not null)')
  })

function markOf(source: SyncStatements): { readonly id: string; readonly to: string } | undefined {
  const [mark] = source.all('select name from kysely_migration where name like ?', `${MOVED}%`)
  if (mark === undefined) return undefined
  const [id = '', to = ''] = String(mark['name']).slice(MOVED.length).split(' ')
  return { id, to }
}

async function assertEmpty(statements: Statements, where: string): Promise<void> {
  for (const table of [...COPIED_TABLES, 'delivered'])
    if ((await statements.all(`select 1 from ${table} limit 1`)).length > 0) throw notEmpty(where)
}

const notEmpty = (where: string): WaybillError =>
  new WaybillError('usage-wrong', `the database ${where} has a ledger already, and is not overwritten`, {
    remedy:
      'Name an empty database, or an empty schema in its search path. If the copy was complete, set WAYBILL_LEDGER and look with `waybill doctor`.',
  })

/** Fences the processes that slept in a run, and refuses each later write of any process. @throws `job-held` */
function closeFile(source: SyncStatements, mark: string, { now, isDead }: Moving): void {
  source.run('begin')
  try {
    const held = source.all(
      `select job.name, lease.run_id, lease.owner from lease join job on job.id = lease.job_id where expires_at > ?`,
      now,
    )
    for (const { name, run_id: run, owner } of held)
      if (!isDead(String(owner)))
        throw new WaybillError(
          'job-held',
          `${processName(String(owner))} runs the job ${name} (run ${run})`,
          {
            remedy: `Wait for its end, or stop it (waybill stop ${run}). End the schedule, then repeat the command.`,
          },
        )
    source.run('update lease set token = token + 1, expires_at = 0')
    source.run('insert into kysely_migration (name, timestamp) values (?, ?)', `${MOVED}${mark}`, iso(now))
    const tables = source.all(
      `select name from sqlite_schema where type = 'table' and name not like 'kysely%' and name not like 'sqlite%'`,
    )
    for (const { name } of tables)
      for (const change of ['insert', 'update', 'delete'])
        source.run(
          `create trigger moved_${name}_${change} before ${change} on "${name}"
            begin select raise(abort, 'this ledger was moved to PostgreSQL'); end`,
        )
    source.run('commit')
  } catch (error) {
    source.run('rollback')
    throw error
  }
}

interface Columns {
  readonly all: readonly string[]
  readonly key: readonly string[]
}

function columnsOf(source: SyncStatements, table: string): Columns {
  const columns = source.all('select name, pk from pragma_table_info(?) order by cid', table)
  const keyed = columns.filter(({ pk }) => Number(pk) > 0).sort((a, b) => Number(a['pk']) - Number(b['pk']))
  const names = (some: readonly Row[]): string[] => some.map(({ name }) => String(name))
  return { all: names(columns), key: names(keyed.length === 0 ? columns : keyed) }
}

const quoted = (names: readonly string[]): string => names.map((name) => `"${name}"`).join(', ')

/** Pages of a table in the order of its key. @param last key of the row before the first page */
async function* pagesOf(
  statements: Statements,
  table: string,
  { all, key }: Columns,
  interrupt: AbortSignal,
  last?: readonly Parameter[],
): AsyncGenerator<readonly Row[]> {
  for (let after = last; ; ) {
    interrupt.throwIfAborted()
    const behind = after === undefined ? '' : `where (${quoted(key)}) > (${key.map(() => '?')})`
    const rows = await statements.all(
      `select ${quoted(all)} from "${table}" ${behind} order by ${quoted(key)} limit ${ROWS_AT_ONCE}`,
      ...(after ?? []),
    )
    if (rows.length > 0) yield rows
    if (rows.length < ROWS_AT_ONCE) return
    after = keyOf(rows.at(-1) ?? {}, key)
  }
}

const keyOf = (row: Row, key: readonly string[]): Parameter[] => key.map((name) => row[name] as Parameter)

/** Value of a column, as text of JSON: bytes as PostgreSQL reads them. */
const plain = (value: unknown): unknown =>
  value instanceof Uint8Array ? `\\x${Buffer.from(value).toString('hex')}` : value

/** Position of the copy in a table: key of the last row, and rows so far; undefined before the first. */
async function positionOf(
  { statements }: Pick<PostgresLedgerDatabase, 'statements'>,
  table: string,
): Promise<{ readonly last: Parameter[]; readonly done: number } | undefined> {
  const [known] = await statements.all('select last, done from ledger_copy where name = ?', table)
  if (known === undefined) return undefined
  const last = JSON.parse(String(known['last'])) as (Parameter | { readonly hex: string })[]
  return {
    last: last.map((value) =>
      value !== null && typeof value === 'object' && 'hex' in value ? Buffer.from(value.hex, 'hex') : value,
    ),
    done: Number(known['done']),
  }
}

async function notePosition(
  statements: Statements,
  table: string,
  last: readonly Parameter[],
  rows: number,
): Promise<void> {
  const kept = last.map((value) =>
    value instanceof Uint8Array ? { hex: Buffer.from(value).toString('hex') } : value,
  )
  await statements.run(
    `insert into ledger_copy (name, last, done) values (?, ?, cast(? as bigint))
      on conflict (name) do update set last = excluded.last, done = ledger_copy.done + excluded.done`,
    ...[table, JSON.stringify(kept), rows],
  )
}

async function copyTable(
  source: SyncStatements,
  target: PostgresLedgerDatabase,
  table: string,
  interrupt: AbortSignal,
): Promise<void> {
  const columns = columnsOf(source, table)
  const names = quoted(columns.all)
  const before = await positionOf(target, table)
  for await (const page of pagesOf(source, table, columns, interrupt, before?.last))
    for (const rows of bounded(page, (row) => JSON.stringify(Object.values(row).map(plain)).length))
      await target.transaction('for-disk', false, async (_, statements) => {
        const texts = rows.map((row) =>
          Object.fromEntries(Object.entries(row).map(([name, value]) => [name, plain(value)])),
        )
        await statements.run(
          `insert into "${table}" (${names}) overriding system value
            select ${names} from json_populate_recordset(cast(null as "${table}"), cast(? as json))`,
          JSON.stringify(texts),
        )
        await notePosition(statements, table, keyOf(rows.at(-1) ?? {}, columns.key), rows.length)
      })
}

/** Divides rows into pieces of a bounded size. */
function* bounded(rows: readonly Row[], sizeOf: (row: Row) => number): Generator<readonly Row[]> {
  let piece: Row[] = []
  let bytes = 0
  for (const row of rows) {
    piece.push(row)
    bytes += sizeOf(row)
    if (bytes < BYTES_AT_ONCE) continue
    yield piece
    piece = []
    bytes = 0
  }
  if (piece.length > 0) yield piece
}

interface Stores {
  readonly source: DeliveredStore
  readonly target: DeliveredStore
}

const PACKS: Columns = { all: ['id', 'job_id', 'rows'], key: ['id'] }

const keysIn = ({ rows }: Row): string[] => [
  ...new Set(
    readPack(asBytes(rows))
      .rows()
      .map(({ row }) => row.rowKey),
  ),
]

/** Copies delivered rows as the file reads them: a pack may have rows that later packs have replaced. */
async function copyDelivered(
  source: SyncStatements,
  target: PostgresLedgerDatabase,
  stores: Stores,
  interrupt: AbortSignal,
): Promise<void> {
  const before = await positionOf(target, 'delivered')
  for await (const packs of pagesOf(source, 'delivered', PACKS, interrupt, before?.last))
    for (const pack of packs) {
      const jobId = Number(pack['job_id'])
      const rows = await rowsIn(stores.source, jobId, keysIn(pack))
      await target.transaction('for-disk', false, async (_, statements) => {
        await stores.target.save(jobId, rows, statements)
        await notePosition(statements, 'delivered', keyOf(pack, PACKS.key), 1)
      })
    }
}

async function rowsIn(
  store: DeliveredStore,
  jobId: number,
  keys: readonly string[],
): Promise<DeliveredRow[]> {
  const prints = await store.prints(jobId, keys)
  const found = await store.read(jobId, keys)
  return [...found].map(([rowKey, records]) => ({
    rowKey,
    records,
    ...present({ print: prints.get(rowKey) }),
  }))
}

const digest = () => createHash('sha256')

/** @throws `ledger-unusable` if rows or digests differ */
async function compareTable(
  source: SyncStatements,
  target: PostgresLedgerDatabase,
  table: string,
  interrupt: AbortSignal,
): Promise<CopiedTable> {
  const columns = columnsOf(source, table)
  const measure = async (statements: Statements): Promise<CopiedTable> => {
    const hash = digest()
    let rows = 0
    for await (const page of pagesOf(statements, table, columns, interrupt))
      for (const row of page) {
        hash.update(`${JSON.stringify(columns.all.map((name) => plain(row[name])))}\n`)
        rows += 1
      }
    return { table, rows, digest: hash.digest('hex') }
  }
  return agreed(await measure(source), await measure(target.statements), target.where)
}

/** Compares in both directions: each row of the database with the file, and the keys of each pack with the database. */
async function compareDelivered(
  source: SyncStatements,
  target: PostgresLedgerDatabase,
  stores: Stores,
  interrupt: AbortSignal,
): Promise<CopiedTable> {
  const table = 'delivered'
  const [ofFile, ofDatabase] = [digest(), digest()]
  const keyed: Columns = { all: ['job_id', 'row_key'], key: ['job_id', 'row_key'] }
  let rows = 0
  for await (const page of pagesOf(target.statements, table, keyed, interrupt)) {
    for (const [jobId, some] of Map.groupBy(page, (row) => Number(row['job_id']))) {
      const keys = some.map((row) => Buffer.from(asBytes(row['row_key'])).toString('hex'))
      for (const [store, hash] of [
        [stores.source, ofFile],
        [stores.target, ofDatabase],
      ] as const) {
        const found = new Map((await rowsIn(store, jobId, keys)).map((row) => [row.rowKey, row]))
        for (const key of keys) hash.update(`${JSON.stringify([jobId, found.get(key) ?? key])}\n`)
      }
      rows += keys.length
    }
  }
  let missing = 0
  for await (const packs of pagesOf(source, table, PACKS, interrupt))
    for (const pack of packs) {
      const keys = keysIn(pack)
      missing += keys.length - (await stores.target.read(Number(pack['job_id']), keys)).size
    }
  const found = { table, rows, digest: ofDatabase.digest('hex') }
  return agreed({ table, rows: rows + missing, digest: ofFile.digest('hex') }, found, target.where)
}

function agreed(wanted: CopiedTable, found: CopiedTable, where: string): CopiedTable {
  if (wanted.rows === found.rows && wanted.digest === found.digest) return found
  throw new WaybillError(
    'ledger-unusable',
    `the copy in ${where} differs from the file: table ${wanted.table} has ${found.rows} of ${wanted.rows} rows, or other contents`,
    { remedy: 'Empty the schema in the database (drop and create it), then repeat the command.' },
  )
}

/** Continues the numbers of the file, and opens the database. */
const complete = (target: PostgresLedgerDatabase): Promise<void> =>
  target.transaction('for-disk', true, async (writer, statements) => {
    for (const { table, column } of await identitiesOf(writer))
      await statements.run(
        `select setval(pg_get_serial_sequence('"${table}"', '${column}'), max("${column}")) from "${table}"`,
      )
    await statements.run('drop table ledger_copy')
    await statements.run('delete from kysely_migration where name like ?', `${BEING_COPIED}%`)
  })

async function identitiesOf(writer: Writer): Promise<{ table: string; column: string }[]> {
  const { rows } = await sql<{ table: string; column: string }>`
    select table_name as "table", column_name as "column" from information_schema.columns
      where table_schema = current_schema() and is_identity = 'YES'`.execute(writer)
  return rows
}
