/** Opens the ledger file, migrates the file to this program's shape, and implements `Ledger`. */
import { type Kysely, sql, type Transaction } from 'kysely'
import { Migrator } from 'kysely/migration'
import { isDiskFull, reasonOf, WaybillError } from '../../model/errors.ts'
import type { Ledger } from '../ledger.ts'
import { type AccountIdCipher, NO_ACCOUNT_IDS } from '../sealed-ids.ts'
import type { LedgerTables } from '../tables.ts'
import { auditOf } from './audit.ts'
import { MIGRATIONS, openLedgerDatabase, type SqliteLedgerDatabase } from './database.ts'
import { deliveredOf } from './delivered.ts'
import { createExclusive } from './exclusive.ts'
import { chunksOf, exportsOf, jobsOf, profilesOf } from './exports.ts'
import { readStanding } from './inspect.ts'
import { installationOf } from './installation.ts'
import { leasesOf, rightOfWay } from './leases.ts'
import { leftBehind } from './left-behind.ts'
import { careTeamsOf, peopleOf, slotsOf } from './lookups.ts'
import { notificationsOf } from './notifications.ts'
import { readOpenWork } from './open-work.ts'
import { pruning, scrubAccounts } from './pruning.ts'
import { putAsideOf } from './put-aside.ts'
import { reasonsOf } from './reasons.ts'
import { createRunLedger } from './run-ledger.ts'
import { acknowledgementsOf, pausesOf, runsOf } from './runs.ts'
import { expectationsOf, firesOf } from './timetable.ts'

/**
 * Asks about earlier deliveries when a new ledger is made. @returns the time up to which more was sent than the new ledger knows, in milliseconds
 * since the epoch; undefined: nothing was sent
 */
export type OnNewLedger = () => number | undefined

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
  const turns = createExclusive(opened)
  const { installation, assertKey } = installationOf(turns)
  const delivered = deliveredOf(opened.statements)
  return {
    jobs: jobsOf(turns),
    leases: leasesOf(turns),
    way: rightOfWay(turns),
    runs: runsOf(turns, assertKey, (lease, tallies) =>
      createRunLedger({ ...opened, delivered, ids }, lease, place, tallies),
    ),
    exports: exportsOf(turns),
    profiles: profilesOf(turns),
    chunks: chunksOf(turns, place),
    reasons: reasonsOf(turns),
    slots: slotsOf(turns, delivered),
    left: leftBehind(turns, place),
    people: { ...peopleOf(turns, ids), scrub: () => scrubAccounts(opened.statements, turns) },
    careTeams: careTeamsOf(turns, ids),
    acknowledgements: acknowledgementsOf(turns),
    putAside: putAsideOf(turns),
    audit: auditOf(turns),
    fires: firesOf(turns),
    pauses: pausesOf(turns),
    expectations: expectationsOf(turns),
    notifications: notificationsOf(turns),
    overview: { standing: () => readStanding(turns), openWork: (now) => readOpenWork(turns, now) },
    pruning: pruning(turns),
    installation,
    close: () => opened.kysely.destroy(),
  }
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
    await opened.kysely.transaction().execute((writer) => migrate(writer, file, onNew))
    return opened
  } catch (cause) {
    await opened.kysely.destroy()
    if (cause instanceof WaybillError) throw cause
    throw unusable(file, 'used', cause)
  }
}

/** @throws WaybillError `ledger-newer`, `ledger-older` (from before the first release: hashes were made in another way) */
async function migrate(
  writer: Transaction<LedgerTables>,
  file: string,
  onNew: OnNewLedger | undefined,
): Promise<void> {
  const applied = await appliedMigrations(writer)
  const unknown = applied.filter((name) => MIGRATIONS[name] === undefined)
  if (unknown.length > 0) {
    const [oldest = ''] = Object.keys(MIGRATIONS)
    const isOlder = unknown.every((name) => name < oldest)
    const words = isOlder
      ? 'has a form from before the first release'
      : 'was written by a newer version of Waybill'
    throw new WaybillError(
      isOlder ? 'ledger-older' : 'ledger-newer',
      `the ledger ${file} ${words} (it has ${unknown.join(', ')})`,
      { place: { file } },
    )
  }
  if (applied.length === Object.keys(MIGRATIONS).length) return
  const behindSince = applied.length === 0 ? onNew?.() : undefined
  const migrator = new Migrator({ db: writer, provider: { getMigrations: async () => ({ ...MIGRATIONS }) } })
  const { error } = await migrator.migrateToLatest()
  if (error !== undefined) throw error
  if (behindSince !== undefined) await writer.insertInto('copy').values({ taken_at: behindSince }).execute()
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
