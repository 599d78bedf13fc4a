/** Opens the ledger file, migrates the file to this program's shape, and implements `Ledger`. */
import { type Kysely, sql } from 'kysely'
import { isDiskFull, reasonOf, WaybillError } from '../../model/errors.ts'
import type { Ledger } from '../ledger.ts'
import { type AccountIdCipher, NO_ACCOUNT_IDS } from '../sealed-ids.ts'
import type { LedgerTables } from '../tables.ts'
import { assembleLedger } from './assemble.ts'
import { MIGRATIONS, openLedgerDatabase, type SqliteLedgerDatabase } from './database.ts'
import { deliveredOf } from './delivered.ts'
import { migrate, type OnNewLedger } from './migrate.ts'
import { scrubAccounts } from './pruning.ts'

/** Longest wait of a write for another process's transaction. */
const BUSY_TIMEOUT_MS = 10_000

/**
 * Opens the ledger.
 * @param file path of the SQLite file; made if missing
 * @param place boot and PID namespace of this process (`ProcessTable.place`): differs after each start of the machine; undefined where unknown
 * @param onNew called before a new ledger is made; throws to refuse a new ledger
 * @param ids cipher of account ids
 * @throws WaybillError `ledger-unusable` (cannot be opened or written), `ledger-newer` (written by a newer program), `ledger-older`; errors of
 * `onNew`
 */
export async function openLedger(
  file: string,
  place?: string,
  onNew?: OnNewLedger,
  ids: AccountIdCipher = NO_ACCOUNT_IDS,
): Promise<Ledger> {
  const opened = await openDatabase(file, onNew)
  return assembleLedger(opened, {
    delivered: deliveredOf(opened.statements),
    ids,
    place,
    scrub: (turns) => scrubAccounts(opened.statements, turns),
    close: () => opened.kysely.destroy(),
  })
}

async function openDatabase(file: string, onNew?: OnNewLedger): Promise<SqliteLedgerDatabase> {
  let opened: SqliteLedgerDatabase
  try {
    opened = openLedgerDatabase(file, BUSY_TIMEOUT_MS)
  } catch (cause) {
    throw unusable(file, 'opened', cause)
  }
  try {
    // A single writing transaction: a process killed in the middle leaves the file unchanged, two processes that open the file at once take
    // turns, and a read-only file is found here, not at the first intent.
    await opened.kysely.transaction().execute(async (writer) => {
      const applied = await appliedMigrations(writer)
      await migrate(writer, { migrations: MIGRATIONS, applied, where: file, onNew })
    })
    return opened
  } catch (cause) {
    await opened.kysely.destroy()
    if (cause instanceof WaybillError) throw cause
    throw unusable(file, 'used', cause)
  }
}

async function appliedMigrations(database: Kysely<LedgerTables>): Promise<string[]> {
  // Cheaper than Kysely's introspection of columns, which costs more than the rest of the opening.
  const { rows: tables } = await sql`select name from sqlite_schema where name = 'kysely_migration'`.execute(
    database,
  )
  if (tables.length === 0) return []
  const rows = await database
    .withTables<{ kysely_migration: { name: string } }>()
    .selectFrom('kysely_migration')
    .select('name')
    .execute()
  return rows.map((row) => row.name)
}

const unusable = (file: string, how: 'opened' | 'used', cause: unknown): WaybillError =>
  new WaybillError(
    isDiskFull(cause) ? 'disk-full' : 'ledger-unusable',
    `the ledger ${file} cannot be ${how}: ${reasonOf(cause)}`,
    { place: { file }, cause },
  )
