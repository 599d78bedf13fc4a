/** Opens a ledger in PostgreSQL, and migrates the tables to the shape of this program. */
import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { WaybillError } from '../../model/errors.ts'
import type { Ledger } from '../ledger.ts'
import { type AccountIdCipher, NO_ACCOUNT_IDS } from '../sealed-ids.ts'
import { assembleLedger } from '../sqlite/assemble.ts'
import type { Dialect } from '../sqlite/dialect.ts'
import type { Writer } from '../sqlite/exclusive.ts'
import { assertKnown, BEING_COPIED, migrate, type OnNewLedger } from '../sqlite/migrate.ts'
import {
  ALONE,
  openPostgres,
  POSTGRES,
  POSTGRES_MIGRATIONS,
  type PostgresAddress,
  type PostgresLedgerDatabase,
} from './database.ts'
import { plainDeliveredOf } from './delivered.ts'

interface OpeningPostgres {
  readonly onNew?: OnNewLedger | undefined
  readonly ids?: AccountIdCipher | undefined
  /** For tests; default: the place kept by the server. */
  readonly place?: string | undefined
  /** For tests with a clock; default: leases expire by the clock of the server. */
  readonly dialect?: Dialect | undefined
}

/**
 * Opens the ledger. Makes the tables in the first schema of the search path.
 * @throws `ledger-unusable` (server away, role without rights), `ledger-newer`, `ledger-older`; errors of `onNew`
 */
export async function openPostgresLedger(
  address: PostgresAddress,
  { onNew, ids = NO_ACCOUNT_IDS, place, dialect = POSTGRES }: OpeningPostgres = {},
): Promise<Ledger> {
  const database = openPostgres(address, dialect)
  try {
    const ofServer = await prepare(database, onNew)
    const ledger = assembleLedger(database, {
      delivered: plainDeliveredOf(database.statements),
      ids,
      place: place ?? ofServer,
      scrub: () => scrubAccounts(database),
      close: database.close,
    })
    return { ...ledger, paces: pacesOf(database), sharedHome: sharedHomeOf(database) }
  } catch (error) {
    await database.close()
    throw error
  }
}

/** SQLSTATE of a missing table. */
const NO_TABLE = '42P01'
/** The migrator looks at all tables of the database: another program may drop a table meanwhile. */
const MIGRATION_TRIES = 3

/** Migrates under an advisory lock: the first of several processes makes the tables. @returns the place of the server */
async function prepare(
  { db, where }: PostgresLedgerDatabase,
  onNew: OnNewLedger | undefined,
): Promise<string> {
  for (let tries = 1; ; tries++)
    try {
      return await db.transaction().execute(async (writer) => {
        await sql.raw(ALONE).execute(writer)
        assertKnown(POSTGRES_MIGRATIONS, await makeTables(writer, where, onNew), where)
        return placeOf(writer)
      })
    } catch (error) {
      const isDropped = error instanceof Error && 'code' in error && error.code === NO_TABLE
      if (!isDropped || tries === MIGRATION_TRIES) throw error
    }
}

/** Place of planned batches (`ProcessTable.place`): another one after each recovery of the server from a crash. */
async function placeOf(writer: Writer): Promise<string> {
  await sql`insert into server_start (place) select ${randomUUID()}
    where not exists (select 1 from server_start)`.execute(writer)
  const { rows } = await sql<{ place: string }>`select place from server_start`.execute(writer)
  return rows[0]?.place ?? ''
}

/** Makes the tables, unless a copy has begun to fill them. @returns names of the applied migrations */
export async function makeTables(
  writer: Writer,
  where: string,
  onNew?: OnNewLedger,
): Promise<readonly string[]> {
  const { rows } = await sql<{ schema: string | null; made: boolean }>`select current_schema() as schema,
    to_regclass(quote_ident(current_schema()) || '.kysely_migration') is not null as made`.execute(writer)
  const [{ schema, made } = { schema: null, made: false }] = rows
  if (schema === null)
    throw new WaybillError('ledger-unusable', `the ledger ${where} has no schema that the role may use`, {
      remedy: 'Create a schema for the role, or grant usage and create on one in its search path.',
    })
  const known = writer.withTables<{ kysely_migration: { name: string } }>().selectFrom('kysely_migration')
  const applied = made ? (await known.select('name').execute()).map(({ name }) => name) : []
  if (applied.some((name) => name.startsWith(BEING_COPIED))) return applied
  await migrate(writer, { migrations: POSTGRES_MIGRATIONS, applied, where, schema, onNew })
  return Object.keys(POSTGRES_MIGRATIONS)
}

/** Writes the tables with account ids anew. The log of the server still has the old bytes until the server removes the log. */
async function scrubAccounts({ db }: PostgresLedgerDatabase): Promise<boolean> {
  await sql`vacuum full account, care_team`.execute(db)
  return false
}

const pacesOf = ({ transaction, dialect }: PostgresLedgerDatabase): NonNullable<Ledger['paces']> => ({
  change: (gateway, work) =>
    transaction('for-nothing', false, async (writer) => {
      const tables = writer.withTables<{ pace: { gateway: string; state: string } }>()
      await tables
        .insertInto('pace')
        .values({ gateway, state: '' })
        .onConflict((conflict) => conflict.doNothing())
        .execute()
      const { rows } = await sql<{
        state: string
        now: number
      }>`select state, ${sql.raw(dialect.clock ?? '0')} as now
        from pace where gateway = ${gateway} for update`.execute(writer)
      const [{ state, now } = { state: '', now: 0 }] = rows
      const changed = work(state === '' ? undefined : state, now)
      await tables.updateTable('pace').set({ state: changed.state }).where('gateway', '=', gateway).execute()
      return changed.result
    }),
})

function sharedHomeOf({ db, transaction }: PostgresLedgerDatabase): NonNullable<Ledger['sharedHome']> {
  const markOf = async (database: typeof db): Promise<string | undefined> => {
    const tables = database.withTables<{ shared_home: { mark: string } }>()
    return (await tables.selectFrom('shared_home').select('mark').executeTakeFirst())?.mark
  }
  return {
    mark: () => markOf(db),
    claim: (mark) =>
      transaction('for-disk', true, async (writer, statements) => {
        const known = await markOf(writer)
        if (known === undefined) await statements.run('insert into shared_home (mark) values (?)', mark)
        return known ?? mark
      }),
  }
}
