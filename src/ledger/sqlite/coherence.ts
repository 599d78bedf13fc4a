/** Looks whether a ledger hangs together: its shape is what the steps make, its packs can be read and found, and its tables agree. */
import { DatabaseSync } from 'node:sqlite'
import { reasonOf } from '../../model/errors.ts'
import { readPack } from '../delivered-rows.ts'
import { unpackHolds } from '../packed-records.ts'
import { SHAPE, type Statements } from './database.ts'
import { deliveredOf } from './delivered.ts'

/** Kysely's own. */
const OF_STEPS: readonly unknown[] = ['table kysely_migration', 'table kysely_migration_lock']

/** Each with rows that refer to nothing, or have lost what belongs to them, counted. */
const DISAGREEMENTS = {
  'runs without their job': 'select count(*) as n from run where job_id not in (select id from job)',
  'jobs of which delivered rows are known, and no run': `select count(distinct job_id) as n from delivered
    where job_id not in (select job_id from run)`,
  'exports without their run': 'select count(*) as n from export where run_id not in (select id from run)',
  'chunks without their export':
    'select count(*) as n from chunk where export_row not in (select id from export)',
  'batches without their chunk': `select count(*) as n from batch
    where not exists (select 1 from chunk where chunk.export_row = batch.export_row and chunk.number = batch.chunk)`,
  'batches without their records': `select count(*) as n from batch
    where state in ('planned', 'sending') and id not in (select batch from batch_holds)`,
  'finished exports whose rows are counted nowhere': `select count(*) as n from export join run on run.id = export.run_id
    where export.state = 'finished' and reading = 'whole' and totals is null
    and not exists (select 1 from chunk where chunk.export_row = export.id)`,
  'chunks whose reasons are not all there': `select count(*) as n from (select chunk.export_row, chunk.number, counts from chunk
    join export on export.id = chunk.export_row join run on run.id = export.run_id
    where chunk.state = 'settled' and run.pruned_at is null) as chunk where
    (select count(*) from exception where exception.export_row = chunk.export_row and exception.chunk = chunk.number)
    < counts ->> '$.rows.rejected' + (select sum(value ->> '$.rejected' + value ->> '$.inDoubt') from json_each(counts, '$.records'))`,
  'jobs that have delivered, and of which nothing is known as delivered': `select count(*) as n from job
    where not exists (select 1 from delivered where job_id = job.id) and exists (select 1 from run
    join export on export.run_id = run.id join chunk on chunk.export_row = export.id where run.job_id = job.id
    and chunk.state = 'settled' and counts ->> '$.records.biometric.accepted' + counts ->> '$.records.condition.accepted' > 0)`,
  'segments of delivered rows without their parts': `select count(*) as n from delivered_segment
    where state = 'ready' and (id not in (select segment from delivered_block) or id not in (select segment from delivered_filter))`,
  'parts of delivered rows without their segment': `select (select count(*) from delivered_block
    where segment not in (select id from delivered_segment)) + (select count(*) from delivered_filter
    where segment not in (select id from delivered_segment)) as n`,
} as const

/**
 * What does not hang together, of one moment; empty: nothing. It reads every pack, and looks up a row of each.
 * @param database with the tables of this program
 */
export function disagreements(database: DatabaseSync): string[] {
  const all: Statements['all'] = (sql, ...parameters) => database.prepare(sql).all(...parameters)
  database.exec('begin')
  try {
    const counts = Object.entries(DISAGREEMENTS).flatMap(([what, sql]) => {
      const found = Number(all(sql)[0]?.['n'])
      return found > 0 ? [`${what}: ${found}`] : []
    })
    return [...shapeDifferences(all), ...counts, ...unreadable(database, all)]
  } catch (error) {
    return [reasonOf(error)]
  } finally {
    database.exec('rollback')
  }
}

const shapeOf = (all: Statements['all']): ReadonlyMap<string, unknown> =>
  new Map(
    all(`select type || ' ' || name as what, sql from sqlite_schema where sql is not null`).map((row) => [
      String(row['what']),
      row['sql'],
    ]),
  )

function shapeDifferences(all: Statements['all']): string[] {
  const fresh = new DatabaseSync(':memory:')
  for (const statement of SHAPE) fresh.exec(statement)
  const wanted = shapeOf((sql) => fresh.prepare(sql).all())
  fresh.close()
  const found = shapeOf(all)
  return [
    ...[...wanted].flatMap(([what, sql]) =>
      found.get(what) === sql ? [] : [`${what} ${found.has(what) ? 'has another form' : 'is missing'}`],
    ),
    ...[...found.keys()].flatMap((what) =>
      wanted.has(what) || OF_STEPS.includes(what) ? [] : [`${what} is none of Waybill's`],
    ),
  ]
}

function unreadable(database: DatabaseSync, all: Statements['all']): string[] {
  const delivered = deliveredOf({
    all,
    // It reads alone, within the transaction of this look.
    run: () => {},
    insert: () => 0,
  })
  let packs = 0
  let lost = 0
  const isFound = (jobId: unknown, keys: readonly string[]): boolean => {
    try {
      return delivered.read(Number(jobId), keys).size === keys.length
    } catch {
      return false
    }
  }
  for (const { job_id, count, rows } of database
    .prepare('select job_id, count, rows from delivered')
    .iterate()) {
    try {
      const keys = readPack(rows as Uint8Array)
        .rows()
        .map(({ row }) => row.rowKey)
      if (keys.length !== count || keys.some((key) => key.length !== 32)) packs += 1
      else if (!isFound(job_id, keys.slice(0, 1))) lost += 1
    } catch {
      packs += 1
    }
  }
  const firsts = database.prepare(`select job_id, first from delivered_block
    join delivered_segment on delivered_segment.id = segment where state = 'ready'`)
  for (const { job_id, first } of firsts.iterate())
    if (!isFound(job_id, [Buffer.from(first as Uint8Array).toString('hex')])) lost += 1
  let batches = 0
  for (const { holds } of database.prepare('select holds from batch_holds').iterate()) {
    try {
      unpackHolds(holds as Uint8Array)
    } catch {
      batches += 1
    }
  }
  const told = {
    'packs of delivered rows that cannot be read': packs,
    'delivered rows that are not found': lost,
  }
  return Object.entries({ ...told, 'batches whose records cannot be read': batches }).flatMap(
    ([what, many]) => (many === 0 ? [] : [`${what}: ${many}`]),
  )
}
