/** Opens the ledger file, migrates the file to this program's shape, and implements `Ledger`. */
import { type Kysely, sql } from 'kysely'
import { isDiskFull, reasonOf, WaybillError } from '../../model/errors.ts'
import type { Ledger } from '../ledger.ts'
import { type AccountIdCipher, NO_ACCOUNT_IDS } from '../sealed-ids.ts'
import type { LedgerTables } from '../tables.ts'
import { assembleLedger } from './assemble.ts'
import { MIGRATIONS, openLedgerDatabase, type SqliteLedgerDatabase } from './database.ts'
import { deliveredOf } from './delivered.ts'
import { assertKnown, migrate, type OnNewLedger } from './migrate.ts'
import { scrubAccounts } from './pruning.ts'

/** Longest wait of a write for another process's transaction. */
const BUSY_TIMEOUT_MS = 10_000

/**
 * Opens the ledger.
 * @param file path of the SQLite file; made if missing
 * @param place boot and PID namespace of this process (`ProcessTable.place`): differs after each start of the machine; undefined where unknown
 * @param onNew called before a new ledger is made; throws to refuse a new ledger
 * @param ids cipher of account ids
 * @param access `read`: SQLite refuses all writes, and a ledger of an older form stays as it is
 * @throws `ledger-unusable` (cannot be opened or written), `ledger-newer` (written by a newer program), `ledger-older`; errors of
 * `onNew`
 */
export async function openLedger(
  file: string,
  place?: string,
  onNew?: OnNewLedger,
  ids: AccountIdCipher = NO_ACCOUNT_IDS,
  access: 'write' | 'read' = 'write',
): Promise<Ledger> {
  const opened = await openDatabase(file, access, onNew)
  return assembleLedger(opened, {
    delivered: deliveredOf(opened.statements),
    ids,
    place,
    scrub: (turns) => scrubAccounts(opened.statements, turns),
    close: () => opened.kysely.destroy(),
  })
}

async function openDatabase(
  file: string,
  access: 'write' | 'read',
  onNew?: OnNewLedger,
): Promise<SqliteLedgerDatabase> {
  let opened: SqliteLedgerDatabase
  try {
    opened = openLedgerDatabase(file, BUSY_TIMEOUT_MS, access)
  } catch (cause) {
    throw unusable(file, 'opened', cause)
  }
  try {
    // A single writing transaction: a process killed in the middle leaves the file unchanged, two processes that open the file at once take
    // turns, and a read-only file is found here, not at the first intent.
    if (access === 'read') await assertCurrent(opened.kysely, file)
    else
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

/** @throws as `assertKnown`, and `ledger-unusable` for a file without the tables of this version */
async function assertCurrent(database: Kysely<LedgerTables>, file: string): Promise<void> {
  const applied = await appliedMigrations(database)
  assertKnown(MIGRATIONS, applied, file)
  if (applied.length < Object.keys(MIGRATIONS).length)
    throw new WaybillError('ledger-unusable', `the ledger ${file} lacks tables of this version`, {
      place: { file },
      remedy: 'Open it once with a command that writes, like `waybill doctor`.',
    })
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
