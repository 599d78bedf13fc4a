/** Opens the ledger file, brings it to this program's shape, and gives it as the stages see it. */
import type { Kysely, Transaction } from 'kysely'
import { Migrator } from 'kysely/migration'
import { isDiskFull, WaybillError } from '../../model/errors.ts'
import { type Lease, type Ledger, noTallies, type ProfileKey, readTallies, type Tallies } from '../ledger.ts'
import { backfillText } from '../run-writes.ts'
import { advanceRun } from '../states.ts'
import type { LedgerTables } from '../tables.ts'
import { readBehind } from './backup.ts'
import { readListing, readMissing } from './care-team-listing.ts'
import { type LedgerDatabase, openLedgerDatabase } from './database.ts'
import { acknowledgementsOf, pausesOf } from './decisions.ts'
import { deliveredOf } from './delivered.ts'
import { createExclusive } from './exclusive.ts'
import { expectationsOf } from './expectations.ts'
import { firesOf } from './fires.ts'
import {
  acquireLease,
  askToStop,
  assertHeld,
  lastLease,
  nameRun,
  readHolder,
  releaseLease,
  rightOfWay,
} from './leases.ts'
import { leftBehind } from './left-behind.ts'
import {
  readAccounts,
  readCareTeams,
  readCollected,
  readHeld,
  readHeldContents,
  readHeldSeries,
  readKnownAccounts,
  readOwedCareTeams,
  readRegisteredBy,
} from './lookups.ts'
import { readMedicalRequests } from './medical-requests.ts'
import { MIGRATIONS } from './migrations.ts'
import { notificationsOf } from './notifications.ts'
import { isPerhapsSent, readPerhapsSent } from './perhaps-sent.ts'
import { forgetPerson, pruning } from './pruning.ts'
import { countKnown, readMostFrequent, readReasons } from './reasons.ts'
import { createRunLedger } from './run-ledger.ts'
import { countRuns, readOpenExports, readRuns } from './runs.ts'
import { readStanding } from './standing.ts'

/** How long a write waits for another process's transaction. */
const BUSY_TIMEOUT_MS = 10_000

/**
 * @param file path of the SQLite file; made if it is not there
 * @param place where this process runs: another one after each start of the machine; undefined where that cannot be told
 * @throws WaybillError `ledger-unusable` (cannot be opened or written), `ledger-newer` (written by a newer program)
 */
export async function openLedger(file: string, place?: string): Promise<Ledger> {
  const opened = await openDatabase(file)
  const { kysely: database } = opened
  const { read, write } = createExclusive(opened)
  const delivered = deliveredOf(opened.statements)
  const runLedger = (lease: Lease, tallies?: Tallies) =>
    createRunLedger({ ...opened, delivered }, lease, place, tallies)
  const runsWithJob = () => database.selectFrom('run').innerJoin('job', 'job.id', 'run.job_id')

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
    knownJobId: async (name, gateway) => {
      const found = await read((db) =>
        db
          .selectFrom('job')
          .select('id')
          .where('name', '=', name)
          .where('gateway', '=', gateway)
          .executeTakeFirst(),
      )
      return found?.id
    },
    acquireLease: (request, isDead) => write((writer) => acquireLease(writer, request, isDead)),
    releaseLease: (lease) => write((writer) => releaseLease(writer, lease)),
    holder: (jobId, now, isDead) => read((db) => readHolder(db, jobId, now, isDead)),
    askToStop: (runId, by, now) => write((writer) => askToStop(writer, runId, by, now)),
    lastLease: (jobId) => read((db) => lastLease(db, jobId)),
    async startRun(lease, start) {
      await write(async (writer, statements) => {
        assertHeld(statements, lease)
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
      read((db) =>
        db
          .selectFrom('run')
          .selectAll()
          .where('job_id', '=', jobId)
          .where('state', 'in', ['running', 'interrupted'])
          .where('backfill', kind === 'backfill' ? 'is not' : 'is', null)
          .orderBy('started_at')
          .executeTakeFirst(),
      ),
    run: (id) =>
      read(() =>
        runsWithJob()
          .selectAll('run')
          .select(['job.name as job', 'job.gateway'])
          .where('run.id', '=', id)
          .executeTakeFirst(),
      ),
    runs: (limit, only = {}, after = 0) => read((db) => readRuns(db, limit, only, after)),
    countRuns: (only) => read((db) => countRuns(db, only)),
    openExports: (job) => read((db) => readOpenExports(db, job)),
    exportsOf: (runId) =>
      read((db) =>
        db
          .selectFrom('export')
          .leftJoin('mapping', 'mapping.digest', 'export.mapping_digest')
          .selectAll('export')
          .select('mapping.name as mapping')
          .where('run_id', '=', runId)
          .orderBy('ordinal')
          .execute(),
      ),
    exportRecord: (exportRow) =>
      read((db) => db.selectFrom('export').selectAll().where('id', '=', exportRow).executeTakeFirst()),
    exportsWithContent: (exportId) =>
      read((db) =>
        db.selectFrom('export').selectAll().where('export_id', '=', exportId).orderBy('id', 'desc').execute(),
      ),
    exportsNamed: (name) =>
      read((db) =>
        db.selectFrom('export').selectAll().where('name', '=', name).orderBy('id', 'desc').execute(),
      ),
    arrivalOf: (jobId, { id, name, sha256 }) =>
      read(async (db) => {
        const { first } = await db
          .selectFrom('export')
          .innerJoin('run', 'run.id', 'export.run_id')
          .select((eb) => eb.fn.min('export.id').as('first'))
          .where('run.job_id', '=', jobId)
          .where('export.sha256', '=', sha256)
          .where('export.name', '=', name)
          .where('export.state', '=', 'finished')
          .executeTakeFirstOrThrow()
        return Number(first ?? id)
      }),
    mapping: async (digest) =>
      (
        await read((db) =>
          db.selectFrom('mapping').select('content').where('digest', '=', digest).executeTakeFirst(),
        )
      )?.content,
    profiles: (key, limit) =>
      read(async (db) => {
        const rows = await finishedProfiles(db, key)
          .select(['profile.accepted', 'profile.content'])
          .where('profile.content', '!=', '')
          .orderBy('profile.export_row', 'desc')
          .limit(limit)
          .execute()
        return rows.map(({ accepted, content }) => ({ accepted: accepted !== 0, content }))
      }),
    profilesOfRun: (runId) =>
      read(async (db) => {
        const rows = await db
          .selectFrom('profile')
          .innerJoin('export', 'export.id', 'profile.export_row')
          .select(['profile.export_row', 'profile.content'])
          .where('export.run_id', '=', runId)
          .where('profile.content', '!=', '')
          .execute()
        return new Map(rows.map(({ export_row, content }) => [export_row, content]))
      }),
    isProfiled: async (key, sha256) =>
      (await read((db) =>
        finishedProfiles(db, key)
          .select('profile.sha256')
          .where('profile.sha256', '=', sha256)
          .executeTakeFirst(),
      )) !== undefined,
    chunksOf: (exportRow) =>
      read((db) =>
        db.selectFrom('chunk').selectAll().where('export_row', '=', exportRow).orderBy('number').execute(),
      ),
    chunksOfRun: (runId) =>
      read((db) =>
        db
          .selectFrom('chunk')
          .innerJoin('export', 'export.id', 'chunk.export_row')
          .selectAll('chunk')
          .where('export.run_id', '=', runId)
          .orderBy('export.ordinal')
          .orderBy('chunk.number')
          .execute(),
      ),
    batchesOf: ({ exportRow, chunk }) =>
      read((db) =>
        db
          .selectFrom('batch')
          .innerJoin('batch_holds', 'batch_holds.batch', 'batch.id')
          .selectAll('batch')
          .select('holds')
          .where('export_row', '=', exportRow)
          .where('chunk', '=', chunk)
          .orderBy('id')
          .execute(),
      ).then((batches) =>
        batches.map((batch) =>
          isPerhapsSent(batch, place) ? { ...batch, state: 'sending' as const } : batch,
        ),
      ),
    exceptionsOf: ({ exportRow, chunk }) =>
      read((db) =>
        db
          .selectFrom('exception')
          .selectAll()
          .where('export_row', '=', exportRow)
          .where('chunk', '=', chunk)
          .orderBy('id')
          .execute(),
      ),
    knownOf: (runId) => read((db) => countKnown(db, runId)),
    reasonsOf: (runId) => read((db) => readReasons(db, runId)),
    mostFrequentReason: (runId) => read((db) => readMostFrequent(db, runId)),
    delivered: (jobId, rowKeys) => read(async () => delivered.read(jobId, rowKeys)),
    held: (jobId, rowKeys) => read((db) => readHeld(db, jobId, rowKeys)),
    heldSeries: (jobId) => read((db) => readHeldSeries(db, jobId)),
    lastReading: async (jobId, { id, name, sha256 }, reading) => {
      const found = await read((db) =>
        db
          .selectFrom('export')
          .innerJoin('run', 'run.id', 'export.run_id')
          .select('export.id')
          .where('run.job_id', '=', jobId)
          .where('export.sha256', '=', sha256)
          .where('export.name', '=', name)
          .where('export.state', '=', 'finished')
          .where('export.id', '!=', id)
          .$if(reading !== undefined, (query) => query.where('export.reading', '=', reading ?? 'whole'))
          .orderBy('export.id', 'desc')
          .executeTakeFirst(),
      )
      return found?.id
    },
    left: leftBehind(read),
    acknowledgements: acknowledgementsOf({ read, write }),
    fires: firesOf({ read, write }),
    pauses: pausesOf({ read, write }),
    expectations: expectationsOf({ read, write }),
    notifications: notificationsOf({ read, write }),
    standing: () => readStanding({ read }),
    way: rightOfWay({ read, write }),
    accounts: (gateway, references) => read((db) => readAccounts(db, gateway, references)),
    registeredBy: (gateway, references, runId) =>
      read((db) => readRegisteredBy(db, gateway, references, runId)),
    knownAccounts: (gateway, after, limit) => read((db) => readKnownAccounts(db, gateway, after, limit)),
    collected: (jobId, people) => read((db) => readCollected(db, jobId, people)),
    careTeams: (gateway, accounts) => read((db) => readCareTeams(db, gateway, accounts)),
    listedCareTeams: (jobId, accounts) => read((db) => readListing(db, jobId, accounts)),
    missingCareTeams: (jobId, arrival, limit) => read((db) => readMissing(db, jobId, arrival, limit)),
    medicalRequests: (gateway, references) => read((db) => readMedicalRequests(db, gateway, references)),
    owedCareTeams: (gateway, after, limit) => read((db) => readOwedCareTeams(db, gateway, after, limit)),
    heldContents: (contents) => read((db) => readHeldContents(db, contents)),
    forgetPerson: (gateway, references, accountId) =>
      write((db) => forgetPerson(db, gateway, references, accountId)),
    noteBehind: (at) =>
      write(async (db) => {
        await db.insertInto('copy').values({ taken_at: at }).execute()
      }),
    behindSince: (jobId, run) => read((db) => readBehind(db, jobId, run)),
    perhapsSent: (jobId) => read((db) => readPerhapsSent(db, jobId, place)),
    pruning: pruning(read, write),
    close: () => database.destroy(),
  }
}

const finishedProfiles = (database: Kysely<LedgerTables>, { job, mapping }: ProfileKey) =>
  database
    .selectFrom('profile')
    .innerJoin('export', 'export.id', 'profile.export_row')
    .where('profile.job', '=', job)
    .where('profile.mapping', '=', mapping)
    .where('export.state', '=', 'finished')

async function openDatabase(file: string): Promise<LedgerDatabase> {
  let opened: LedgerDatabase
  try {
    opened = openLedgerDatabase(file, BUSY_TIMEOUT_MS)
  } catch (cause) {
    throw unusable(file, 'opened', cause)
  }
  try {
    // In one transaction that writes: a process killed in the middle leaves the file as it was, two that open it at once take
    // turns, and a file that may only be read is found out here, not at the first intent.
    await opened.kysely.transaction().execute((writer) => migrate(writer, file))
    return opened
  } catch (cause) {
    await opened.kysely.destroy()
    if (cause instanceof WaybillError) throw cause
    throw unusable(file, 'used', cause)
  }
}

/** @throws WaybillError `ledger-newer` */
async function migrate(writer: Transaction<LedgerTables>, file: string): Promise<void> {
  const applied = await appliedMigrations(writer)
  const unknown = applied.filter((name) => MIGRATIONS[name] === undefined)
  if (unknown.length > 0) {
    throw new WaybillError(
      'ledger-newer',
      `the ledger ${file} was written by another version of Waybill (it has ${unknown.join(', ')})`,
      {
        place: { file },
      },
    )
  }
  if (applied.length === Object.keys(MIGRATIONS).length) return
  const migrator = new Migrator({ db: writer, provider: { getMigrations: async () => ({ ...MIGRATIONS }) } })
  const { error } = await migrator.migrateToLatest()
  if (error !== undefined) throw error
}

async function appliedMigrations(database: Kysely<LedgerTables>): Promise<string[]> {
  const tables = await database.introspection.getTables({ withInternalKyselyTables: true })
  if (!tables.some((table) => table.name === 'kysely_migration')) return []
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

const reasonOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))
