/**
 * Removes the detail of old runs, except possibly sent records of given-up runs. Every transaction first checks that no process holds the job and no
 * run of the job is unfinished. A run is marked first and emptied in short transactions; after a kill the next pruning continues.
 */

import { DatabaseSync } from 'node:sqlite'
import { type Kysely, type RawBuilder, sql } from 'kysely'
import { type DetailCounts, type Fence, type KeptOfEach, noDetail, type PrunableRun } from '../concerns.ts'
import type { Ledger } from '../ledger.ts'
import type { LedgerTables } from '../tables.ts'
import { asLedgerError, type SyncStatements } from './database.ts'
import { type Dialect, leaseTime, listed } from './dialect.ts'
import type { Exclusive } from './exclusive.ts'

/** Rows of a table in one transaction: a few milliseconds of work. */
const ROWS_AT_ONCE = 500

type Database = Kysely<LedgerTables>

export function pruning({ db, dialect, write }: Exclusive): Ledger['pruning'] {
  return {
    candidates: () => candidates(db),
    fenceOf: (runId, now) => fenceOf(db, dialect, runId, now),
    detailOf: (runId) => detailOf(db, runId),
    mark: (runId, totals, now) =>
      write(async (writer) => {
        const fence = (await fenceOf(writer, dialect, runId, now)) ?? (await takenUpBy(writer, runId))
        if (fence !== undefined) return fence
        for (const [id, counts] of totals)
          await writer.updateTable('export').set({ totals: counts }).where('id', '=', id).execute()
        await writer.updateTable('export').set({ held_back: null }).where('run_id', '=', runId).execute()
        await writer.updateTable('run').set({ pruned_at: now }).where('id', '=', runId).execute()
        return undefined
      }),
    removeSome: (runId, now) =>
      write(async (writer) => {
        if ((await fenceOf(writer, dialect, runId, now)) !== undefined) return undefined
        return removeSome(writer, runId)
      }),
    leftovers: (kept, before, spared) => leftovers(db, dialect, kept, before, spared),
    removeLeftovers: (kept, before) =>
      write(async (writer) => {
        const counts = await leftovers(writer, dialect, kept, before, [])
        await sql`delete from mapping where digest in (${unusedMappings(dialect, [])})`.execute(writer)
        await sql`update profile set content = '' where (job, mapping, sha256) in (${oldProfiles(kept.profiles)})`.execute(
          writer,
        )
        for (const { table, old } of passing(kept, before))
          await sql`delete from ${sql.table(table)} where ${old}`.execute(writer)
        return counts
      }),
  }
}

async function candidates(db: Database): Promise<PrunableRun[]> {
  const { rows } =
    await sql<PrunableRun>`select run.id, job.name as job, run.state, run.started_at as "startedAt",
    run.ended_at as "endedAt", run.pruned_at as "prunedAt", run.origin_run as origin,
    run.rejects_path as "rejectsPath", run.receipts_path as "receiptsPath", run.backfill, run.backfill_folder,
    (select count(*) from export join exception on exception.export_row = export.id
      where export.run_id = run.id and exception.state = 'in-doubt')
    + (select count(*) from export join held on held.export_row = export.id
      where export.run_id = run.id and held.sent_until is null) as "openDoubts"
    from run join job on job.id = run.job_id order by run.started_at desc, run.id desc`.execute(db)
  return rows
}

/** The fence of a run. A `running` run without a lease may belong to a process that was asleep and wakes up. */
async function fenceOf(
  db: Database,
  dialect: Dialect,
  runId: string,
  now: number,
): Promise<Fence | undefined> {
  const { rows } = await sql<{ by: string }>`
    select lease.run_id as by from lease join run on run.job_id = lease.job_id
      where run.id = ${runId} and lease.expires_at > ${await leaseTime(db, dialect, now)}
    union all
    select other.id as by from run join run as other on other.job_id = run.job_id
      where run.id = ${runId} and other.state = 'running'
    limit 1`.execute(db)
  const [found] = rows
  return found && { by: found.by, because: 'held' }
}

/** Finds a later run with detail that took up this run, even if begun and finished after the pruning was planned. */
async function takenUpBy(db: Database, runId: string): Promise<Fence | undefined> {
  const takers = db
    .selectFrom('run')
    .select('id')
    .where('origin_run', '=', runId)
    .where('pruned_at', 'is', null)
  const found = await takers.executeTakeFirst()
  return found && { by: found.id, because: 'referred-to' }
}

const exportsOf = (runId: string): RawBuilder<unknown> => sql`select id from export where run_id = ${runId}`

/**
 * Open chunks of a given-up run, with their batches and exceptions: they show how the run sent records that nobody has looked up yet
 * (left-behind.ts).
 */
const openOfGivenUp = (
  runId: string,
): RawBuilder<unknown> => sql`select chunk.export_row, chunk.number from chunk
  join export on export.id = chunk.export_row join run on run.id = export.run_id
  where run.id = ${runId} and run.reason = 'given-up' and chunk.state = 'open'`

type DetailTable = 'batch' | 'exception' | 'chunk'

const KEYS = { batch: sql`id`, exception: sql`id`, chunk: sql`export_row, number` } as const

const CHUNK_COLUMN = { batch: 'chunk', exception: 'chunk', chunk: 'number' } as const

const detailIn = (table: DetailTable, runId: string): RawBuilder<unknown> =>
  sql`export_row in (${exportsOf(runId)})
    and (export_row, ${sql.ref(CHUNK_COLUMN[table])}) not in (${openOfGivenUp(runId)})`

const MEASURES = {
  batches: sql`coalesce(sum(length(batch_id) + 60
    + (select length(holds) from batch_holds where batch_holds.batch = batch.id)), 0)`,
  exceptions: sql`coalesce(sum(length(message) + length(code) + 120), 0)`,
  chunks: sql`coalesce(sum(coalesce(length(counts), 0) + 40), 0)`,
} as const

async function detailOf(db: Database, runId: string): Promise<DetailCounts> {
  const counts = noDetail()
  const tables = { batches: 'batch', exceptions: 'exception', chunks: 'chunk' } as const
  for (const what of ['batches', 'exceptions', 'chunks'] as const) {
    const { rows } = await sql<{
      count: number
      bytes: number
    }>`select count(*) as count, ${MEASURES[what]} as bytes
      from ${sql.table(tables[what])} where ${detailIn(tables[what], runId)}`.execute(db)
    counts[what] += rows[0]?.count ?? 0
    counts.bytes += rows[0]?.bytes ?? 0
  }
  const { rows } = await sql<{ count: number }>`select count(*) as count from decision where exception in
    (select id from exception where ${detailIn('exception', runId)})`.execute(db)
  counts.decisions += rows[0]?.count ?? 0
  return counts
}

/** Removes referring rows before the rows referred to: no transaction leaves a dangling reference. */
async function removeSome(db: Database, runId: string): Promise<DetailCounts> {
  const counts = noDetail()
  const some = (table: DetailTable) =>
    sql`select ${KEYS[table]} from ${sql.table(table)} where ${detailIn(table, runId)} limit ${ROWS_AT_ONCE}`
  const remove = async (statement: RawBuilder<unknown>): Promise<number> =>
    Number((await statement.execute(db)).numAffectedRows ?? 0)
  counts.decisions = await remove(sql`delete from decision where exception in (${some('exception')})`)
  counts.exceptions = await remove(sql`delete from exception where id in (${some('exception')})`)
  await remove(sql`delete from batch_holds where batch in (${some('batch')})`)
  counts.batches = await remove(sql`delete from batch where id in (${some('batch')})`)
  if (counts.exceptions + counts.batches === 0)
    counts.chunks = await remove(sql`delete from chunk where (export_row, number) in (${some('chunk')})`)
  return counts
}

const unusedMappings = ({ words }: Dialect, spared: readonly string[]): RawBuilder<unknown> =>
  sql`select digest from mapping where digest not in (select mapping_digest from export
    join run on run.id = export.run_id where run.pruned_at is null
    and run.id not in ${listed(words, spared)})`

const oldProfiles = (kept: number): RawBuilder<unknown> =>
  sql`select job, mapping, sha256 from (select job, mapping, sha256, content,
    row_number() over (partition by job, mapping order by export_row desc) as place from profile) as placed
    where place > ${kept} and content != ''`

/** Rows that nobody needs any more: fires and notifications that are over, by age; files that no run finds and later files have displaced. */
const passing = (kept: KeptOfEach, before: number) =>
  [
    {
      what: 'deliveries',
      table: 'delivery',
      // Sorted as `Expectations.taken` sorts (timetable.ts).
      old: sql`seen_at < ${before} and (job, mapping, address, modified_at, bytes) in (
        select job, mapping, address, modified_at, bytes from (select *, row_number() over (
          partition by job, mapping order by taken_at desc, modified_at desc) as place from delivery) as placed
        where place > ${kept.deliveries})`,
      bytes: sql`60 + length(job) + length(mapping) + length(address) + length(name)`,
    },
    {
      what: 'fires',
      table: 'fire',
      old: sql`due < ${before} and state in ('ended', 'skipped')`,
      bytes: sql`100 + coalesce(length(detail), 0)`,
    },
    {
      what: 'audit',
      table: 'audit',
      old: sql`at < ${Math.min(before, kept.auditSince)}`,
      bytes: sql`100 + coalesce(length(note), 0) + coalesce(length(subject), 0)`,
    },
    {
      what: 'notifications',
      table: 'notification',
      old: sql`created_at < ${before} and state != 'pending'`,
      bytes: sql`200 + length(notice)`,
    },
  ] as const

async function leftovers(
  db: Database,
  dialect: Dialect,
  kept: KeptOfEach,
  before: number,
  spared: readonly string[],
): Promise<DetailCounts> {
  const counts = noDetail()
  const mappings = await sql<{ count: number; bytes: number }>`select count(*) as count,
    coalesce(sum(length(content)), 0) as bytes from mapping where digest in (${unusedMappings(dialect, spared)})`.execute(
    db,
  )
  const profiles = await sql<{ count: number; bytes: number }>`select count(*) as count,
    coalesce(sum(length(content)), 0) as bytes from profile where (job, mapping, sha256) in (${oldProfiles(kept.profiles)})`.execute(
    db,
  )
  counts.mappings = mappings.rows[0]?.count ?? 0
  counts.profiles = profiles.rows[0]?.count ?? 0
  counts.bytes = (mappings.rows[0]?.bytes ?? 0) + (profiles.rows[0]?.bytes ?? 0)
  for (const { what, table, old, bytes } of passing(kept, before)) {
    const { rows } = await sql<{ count: number; bytes: number }>`select count(*) as count,
      coalesce(sum(${bytes}), 0) as bytes from ${sql.table(table)} where ${old}`.execute(db)
    counts[what] = rows[0]?.count ?? 0
    counts.bytes += rows[0]?.bytes ?? 0
  }
  return counts
}

/** Pages given back in one transaction: a few milliseconds, so that runs get their turns in between. */
const PAGES_AT_ONCE = 1_000
const BUSY_TIMEOUT_MS = 10_000

/** Value of `pragma auto_vacuum` (sqlite.org/pragma.html#pragma_auto_vacuum). */
const INCREMENTAL = 2

export interface Compacted {
  /** Bytes by which the file shrank. */
  readonly freed: number
  /** Empty bytes within the file, filled by the next runs. */
  readonly empty: number
}

/**
 * Gives empty pages back. A file without incremental vacuum is rewritten, but only while no lease is held, as rewriting blocks every process.
 * @throws `ledger-unusable`
 */
export function compactLedger(file: string, now: number): Compacted {
  const database = new DatabaseSync(file, { timeout: BUSY_TIMEOUT_MS })
  const pragma = (name: string): number => Number(database.prepare(`pragma ${name}`).get()?.[name] ?? 0)
  try {
    const pageSize = pragma('page_size')
    const before = pragma('page_count')
    if (pragma('auto_vacuum') === INCREMENTAL) {
      for (let left = pragma('freelist_count'); left > 0; ) {
        database.exec(`pragma incremental_vacuum(${PAGES_AT_ONCE})`)
        const now = pragma('freelist_count')
        if (now >= left) break
        left = now
      }
    } else if (isFree(database, now) && pragma('freelist_count') > 0) {
      database.exec('pragma auto_vacuum = incremental; vacuum')
    }
    // The file shrinks at a checkpoint of the log. An open read delays the checkpoint.
    database.exec('pragma wal_checkpoint(passive)')
    const freed = (before - pragma('page_count')) * pageSize
    return { freed: Math.max(0, freed), empty: pragma('freelist_count') * pageSize }
  } catch (error) {
    throw asLedgerError(error)
  } finally {
    database.close()
  }
}

function isFree(database: DatabaseSync, now: number): boolean {
  return database.prepare('select 1 from lease where expires_at > ? limit 1').get(now) === undefined
}

const WITH_ACCOUNT_IDS = ['account', 'care_team'] as const

/**
 * Erases deleted account ids from the file. Deleted and moved rows leave bytes in pages: the tables are written anew, and their former pages
 * overwritten (sqlite.org/pragma.html#pragma_secure_delete). The log holds the old bytes until emptied.
 */
export async function scrubAccounts(
  statements: SyncStatements,
  { write, readHot }: Exclusive,
): Promise<boolean> {
  await write(async () => {
    statements.run('pragma secure_delete = on')
    for (const table of WITH_ACCOUNT_IDS) {
      statements.run(`create temp table kept as select * from main.${table}`)
      statements.run(`delete from main.${table}`)
      statements.run(`insert into main.${table} select * from temp.kept`)
      statements.run('drop table temp.kept')
    }
    statements.run('pragma secure_delete = off')
  })
  const [emptied] = await readHot(() => statements.all('pragma wal_checkpoint(truncate)'))
  return emptied?.['busy'] === 0
}
