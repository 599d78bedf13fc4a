/** Opens the ledger file, migrates the file to this program's shape, and implements `Ledger`. */
import { type Kysely, sql, type Transaction } from 'kysely'
import { Migrator } from 'kysely/migration'
import { isDiskFull, reasonOf, WaybillError } from '../../model/errors.ts'
import { type Lease, type Ledger, noTallies, type ProfileKey, readTallies, type Tallies } from '../ledger.ts'
import { backfillText } from '../run-writes.ts'
import { type AccountIdCipher, NO_ACCOUNT_IDS } from '../sealed-ids.ts'
import { advanceRun } from '../states.ts'
import type { ExportRecord, LedgerTables } from '../tables.ts'
import { confirmPeople } from './account-writes.ts'
import { arrivalOf, ordersOf } from './arrival.ts'
import { auditOf, noteAudit } from './audit.ts'
import { readSuspicion } from './backup.ts'
import { listingsOf } from './care-team-listing.ts'
import { type LedgerDatabase, MIGRATIONS, openLedgerDatabase } from './database.ts'
import { deliveredOf } from './delivered.ts'
import { createExclusive } from './exclusive.ts'
import { readStanding } from './inspect.ts'
import { installationOf } from './installation.ts'
import { lastTargetsOf } from './last-targets.ts'
import { assertHeld, leasesOf, nameRun, rightOfWay } from './leases.ts'
import { isPerhapsSent, leftBehind } from './left-behind.ts'
import { lookupsOf } from './lookups.ts'
import { notificationsOf } from './notifications.ts'
import { readOpenWork } from './open-work.ts'
import { forgetPerson, pruning, scrubAccounts } from './pruning.ts'
import { putAsideOf } from './put-aside.ts'
import { reasonsOf } from './reasons.ts'
import { createRunLedger } from './run-ledger.ts'
import { acknowledgementsOf, listedRunsOf, pausesOf } from './runs.ts'
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
  const { db, write } = turns
  const delivered = deliveredOf(opened.statements)
  const runLedger = (lease: Lease, tallies?: Tallies) =>
    createRunLedger({ ...opened, delivered, ids }, lease, place, tallies)

  return {
    jobId: (name, gateway) =>
      write(async (writer) => {
        await writer
          .insertInto('job')
          .values({ name, gateway })
          .onConflict((conflict) => conflict.doNothing())
          .execute()
        const row = await writer
          .selectFrom('job')
          .select('id')
          .where('name', '=', name)
          .where('gateway', '=', gateway)
          .executeTakeFirstOrThrow()
        return row.id
      }),
    async knownJobId(name, gateway) {
      const own = db.selectFrom('job').select('id').where('name', '=', name).where('gateway', '=', gateway)
      return (await own.executeTakeFirst())?.id
    },
    async startRun(lease, start) {
      await write(async (writer, statements) => {
        assertHeld(statements, lease)
        await assertKey(writer)
        await nameRun(writer, lease)
        await writer
          .insertInto('run')
          .values({
            id: start.id,
            job_id: start.jobId,
            state: 'running',
            started_at: start.startedAt,
            worked_at: start.startedAt,
            rejects_path: start.rejectsPath,
            receipts_path: start.receiptsPath,
            tallies: JSON.stringify(noTallies()),
            origin_run: start.origin?.run,
            selection: start.origin?.selection,
            backfill: start.backfill && backfillText(start.backfill),
            backfill_folder: start.backfill?.in,
            part: start.part,
          })
          .execute()
      })
      return runLedger(lease, noTallies())
    },
    async resumeRun(lease, run, at, part) {
      await write(async (writer, statements) => {
        assertHeld(statements, lease)
        await assertKey(writer)
        const state = advanceRun(run.state, 'resume')
        await nameRun(writer, lease)
        await writer
          .updateTable('run')
          .set({
            state,
            reason: null,
            detail: null,
            ended_at: null,
            worked_at: at,
            resumed_at: at,
            ...(part === undefined ? {} : { part }),
          })
          .where('id', '=', run.id)
          .execute()
      })
      return runLedger(lease, readTallies(run.tallies))
    },
    amendRun: (lease) => runLedger(lease),
    unfinishedRun: (jobId, kind) =>
      db
        .selectFrom('run')
        .selectAll()
        .where('job_id', '=', jobId)
        .where('state', 'in', ['running', 'interrupted'])
        .where('backfill', kind === 'backfill' ? 'is not' : 'is', null)
        .orderBy('started_at')
        .executeTakeFirst(),
    run: (id) =>
      db
        .selectFrom('run')
        .innerJoin('job', 'job.id', 'run.job_id')
        .selectAll('run')
        .select(['job.name as job', 'job.gateway'])
        .where('run.id', '=', id)
        .executeTakeFirst(),
    exportsOf: (runId) =>
      db
        .selectFrom('export')
        .leftJoin('mapping', 'mapping.digest', 'export.mapping_digest')
        .selectAll('export')
        .select('mapping.name as mapping')
        .where('run_id', '=', runId)
        .orderBy('ordinal')
        .execute(),
    exportRecord: (exportRow) =>
      db.selectFrom('export').selectAll().where('id', '=', exportRow).executeTakeFirst(),
    exportsWithContent: (exportId) =>
      db.selectFrom('export').selectAll().where('export_id', '=', exportId).orderBy('id', 'desc').execute(),
    exportsNamed: (name) =>
      db.selectFrom('export').selectAll().where('name', '=', name).orderBy('id', 'desc').execute(),
    arrivalOf: (jobId, record) => arrivalOf(db, jobId, record),
    async mapping(digest) {
      const kept = db.selectFrom('mapping').select('content').where('digest', '=', digest)
      return (await kept.executeTakeFirst())?.content
    },
    async profiles(key, limit) {
      const rows = await finishedProfiles(db, key)
        .select(['profile.accepted', 'profile.content'])
        .where('profile.content', '!=', '')
        .orderBy('profile.export_row', 'desc')
        .limit(limit)
        .execute()
      return rows.map(({ accepted, content }) => ({ accepted: accepted !== 0, content }))
    },
    async profilesOfRun(runId) {
      const rows = await db
        .selectFrom('profile')
        .innerJoin('export', 'export.id', 'profile.export_row')
        .select(['profile.export_row', 'profile.content'])
        .where('export.run_id', '=', runId)
        .where('profile.content', '!=', '')
        .execute()
      return new Map(rows.map(({ export_row, content }) => [export_row, content]))
    },
    async isProfiled(key, sha256) {
      const same = finishedProfiles(db, key).select('profile.sha256').where('profile.sha256', '=', sha256)
      return (await same.executeTakeFirst()) !== undefined
    },
    async lastEnd({ job, mapping }, sha256) {
      const finished = db
        .selectFrom('export')
        .innerJoin('run', 'run.id', 'export.run_id')
        .innerJoin('job', 'job.id', 'run.job_id')
        .innerJoin('mapping', 'mapping.digest', 'export.mapping_digest')
        .where('job.name', '=', job)
        .where('mapping.name', '=', mapping)
        .where('export.state', '=', 'finished')
        .where('export.is_ended', 'is not', null)
        .select('export.is_ended')
        // Reading a file again does not make the file later.
        .select((eb) => eb.fn.min('export.id').as('first'))
        .groupBy('export.sha256')
        .orderBy('first', 'desc')
        .limit(1)
      if ((await finished.where('export.sha256', '=', sha256).executeTakeFirst()) !== undefined) return 'read'
      const last = await finished.executeTakeFirst()
      return last === undefined ? undefined : last.is_ended === 1 ? 'ended' : 'open'
    },
    chunksOf: (exportRow) =>
      db.selectFrom('chunk').selectAll().where('export_row', '=', exportRow).orderBy('number').execute(),
    chunksOfRun: (runId) =>
      db
        .selectFrom('chunk')
        .innerJoin('export', 'export.id', 'chunk.export_row')
        .selectAll('chunk')
        .where('export.run_id', '=', runId)
        .orderBy('export.ordinal')
        .orderBy('chunk.number')
        .execute(),
    async batchesOf({ exportRow, chunk }) {
      const batches = await db
        .selectFrom('batch')
        .innerJoin('batch_holds', 'batch_holds.batch', 'batch.id')
        .selectAll('batch')
        .select('holds')
        .where('export_row', '=', exportRow)
        .where('chunk', '=', chunk)
        .orderBy('id')
        .execute()
      return batches.map((batch) =>
        isPerhapsSent(batch, place) ? { ...batch, state: 'sending' as const } : batch,
      )
    },
    exceptionsOf: ({ exportRow, chunk }) =>
      db
        .selectFrom('exception')
        .selectAll()
        .where('export_row', '=', exportRow)
        .where('chunk', '=', chunk)
        .orderBy('id')
        .execute(),
    delivered: (jobId, rowKeys) => turns.readHot(() => delivered.read(jobId, rowKeys)),
    async lastReading(jobId, record, reading) {
      const found = await readings(db, jobId, record)
        .select('export.id')
        .where('export.id', '!=', record.id)
        .$if(reading !== undefined, (query) => query.where('export.reading', '=', reading ?? 'whole'))
        .orderBy('export.id', 'desc')
        .executeTakeFirst()
      return found?.id
    },
    ...leasesOf(turns),
    ...listedRunsOf(turns),
    ...reasonsOf(turns),
    ...lookupsOf(turns, ids),
    ...listingsOf(turns),
    left: leftBehind(turns, place),
    acknowledgements: acknowledgementsOf(turns),
    fires: firesOf(turns),
    pauses: pausesOf(turns),
    audit: auditOf(turns),
    lastTargets: lastTargetsOf(turns, ids),
    putAside: putAsideOf(turns),
    expectations: expectationsOf(turns),
    notifications: notificationsOf(turns),
    standing: () => readStanding(turns),
    openWork: (now) => readOpenWork(turns, now),
    way: rightOfWay(turns),
    pruning: pruning(turns),
    installation,
    confirmPeople: (gateway, people, acting) =>
      write(async (writer) => {
        const confirmed = await confirmPeople(writer, gateway, people)
        if (acting !== undefined)
          for (const subject of people.keys())
            await noteAudit(writer, { ...acting, action: 'accounts-confirm', job: null, run: null, subject })
        return confirmed
      }),
    forgetPerson: (gateway, references, accountId, acting) =>
      write(async (writer) => {
        await forgetPerson(writer, gateway, references, ids.seal(accountId))
        const [subject = null] = references
        if (acting !== undefined) await noteAudit(writer, { ...acting, job: null, run: null, subject })
      }),
    scrubAccounts: () => scrubAccounts(opened.statements, turns),
    async noteBehind(at) {
      await db.insertInto('copy').values({ taken_at: at }).execute()
    },
    suspicion: (now) => turns.writeHot((statements) => readSuspicion(statements, now)),
    orders: (jobId) => ordersOf(db, jobId),
    close: () => opened.kysely.destroy(),
  }
}

/** Exports of this name and content that the job has read to the end. */
const readings = (
  database: Kysely<LedgerTables>,
  jobId: number,
  { name, sha256 }: Pick<ExportRecord, 'name' | 'sha256'>,
) =>
  database
    .selectFrom('export')
    .innerJoin('run', 'run.id', 'export.run_id')
    .where('run.job_id', '=', jobId)
    .where('export.sha256', '=', sha256)
    .where('export.name', '=', name)
    .where('export.state', '=', 'finished')

const finishedProfiles = (database: Kysely<LedgerTables>, { job, mapping }: ProfileKey) =>
  database
    .selectFrom('profile')
    .innerJoin('export', 'export.id', 'profile.export_row')
    .where('profile.job', '=', job)
    .where('profile.mapping', '=', mapping)
    .where('export.state', '=', 'finished')

async function openDatabase(file: string, onNew?: OnNewLedger): Promise<LedgerDatabase> {
  let opened: LedgerDatabase
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
