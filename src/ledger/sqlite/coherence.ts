/** Coherence of a ledger: the migrations make exactly this schema, every pack can be read, and the tables refer to each other. */
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { reasonOf } from '../../model/errors.ts'
import { readPack } from '../delivered-rows.ts'
import { unpackHolds } from '../packed-records.ts'
import { SHAPE, SHOWN_PEOPLE, type SyncStatements } from './database.ts'
import { asBytes } from './delivered.ts'

type Ask = (sql: string, ...parameters: readonly SQLInputValue[]) => ReturnType<SyncStatements['all']>

/** Kysely's own tables. */
const OF_STEPS: readonly string[] = ['table kysely_migration', 'table kysely_migration_lock']

/** Columns, each with the column that must hold all of the values. */
const REFERENCES = [
  ['run', 'job_id', 'job', 'id'],
  ['export', 'run_id', 'run', 'id'],
  ['chunk', 'export_row', 'export', 'id'],
  ['batch', 'export_row', 'chunk', 'export_row'],
  ['delivered', 'job_id', 'run', 'job_id'],
  ['delivered_block', 'segment', 'delivered_segment', 'id'],
  ['delivered_filter', 'segment', 'delivered_segment', 'id'],
] as const

const COUNTED = `chunk join export on export.id = chunk.export_row join run on run.id = export.run_id
  where chunk.state = 'settled' and run.pruned_at is null`

/** Queries that count records with lost parts. */
const LOSSES = {
  'finished exports without their chunks': `export where state = 'finished' and reading = 'whole' and totals is null
    and id not in (select export_row from chunk)`,
  'chunks without their reasons': `${COUNTED} and counts ->> '$.rows.rejected'
    + (select sum(value ->> '$.rejected' + value ->> '$.inDoubt') from json_each(counts, '$.records'))
    > (select count(*) from exception where exception.export_row = chunk.export_row and exception.chunk = chunk.number)`,
  'chunks of jobs without delivered rows': `${COUNTED} and job_id not in (select job_id from delivered)
    and counts ->> '$.records.biometric.accepted' + counts ->> '$.records.condition.accepted' > 0`,
  'batches without their records': `batch where state in ('planned', 'sending') and id not in (select batch from batch_holds)`,
  'exports without their mapping': `export join run on run.id = export.run_id
    where run.pruned_at is null and mapping_digest not in (select digest from mapping)`,
  'runs without the fingerprint of a key': 'run where not exists (select 1 from installation)',
  'segments without their parts': `delivered_segment where state = 'ready'
    and (id not in (select segment from delivered_block) or id not in (select segment from delivered_filter))`,
} as const

/**
 * Differences from a coherent ledger, in a single snapshot; empty: none. Reads every pack.
 * @param database with exactly the migrations of this program
 */
export function disagreements(database: DatabaseSync): string[] {
  const ask: Ask = (sql, ...parameters) => database.prepare(sql).all(...parameters)
  const count = (from: string): number => Number(ask(`select count(*) as n from ${from}`)[0]?.['n'])
  database.exec('begin')
  try {
    const counts = [
      ...REFERENCES.map(
        ([table, column, of, id]) =>
          [
            `${table} without ${of}`,
            count(`${table} where ${column} not in (select ${id} from ${of})`),
          ] as const,
      ),
      ...Object.entries(LOSSES).map(([what, from]) => [what, count(from)] as const),
      ...unreadable(database),
    ]
    const found = counts.flatMap(([what, many]) => (many > 0 ? [`${what}: ${many}`] : []))
    return [...shapeDifferences(ask), ...found]
  } catch (error) {
    return [reasonOf(error)]
  } finally {
    database.exec('rollback')
  }
}

const shapeOf = (ask: Ask): ReadonlyMap<string, unknown> =>
  new Map(
    ask(`select type || ' ' || name as what, sql from sqlite_schema where sql is not null`).map((row) => [
      String(row['what']),
      row['sql'],
    ]),
  )

function shapeDifferences(ask: Ask): string[] {
  const fresh = new DatabaseSync(':memory:')
  for (const statement of [...SHAPE, ...SHOWN_PEOPLE]) fresh.exec(statement)
  const wanted = shapeOf((sql) => fresh.prepare(sql).all())
  fresh.close()
  const found = shapeOf(ask)
  return [...new Set([...wanted.keys(), ...found.keys()])].flatMap((what) => {
    if (wanted.get(what) === found.get(what) || OF_STEPS.includes(what)) return []
    if (!wanted.has(what)) return [`${what} is none of Waybill's`]
    return [`${what} ${found.has(what) ? 'has another form' : 'is missing'}`]
  })
}

/** Counts packs and batches that cannot be read. */
function unreadable(database: DatabaseSync): (readonly [what: string, count: number])[] {
  /** Counts the rows for which `look` throws. */
  const failing = (sql: string, look: (row: Readonly<Record<string, unknown>>) => void): number => {
    let failed = 0
    for (const row of database.prepare(sql).iterate()) {
      try {
        look(row)
      } catch {
        failed += 1
      }
    }
    return failed
  }
  const packs = failing('select count, rows from delivered', ({ count, rows }) => {
    const keys = readPack(asBytes(rows)).rows()
    if (keys.length !== count || keys.some(({ row }) => row.rowKey.length !== 32))
      throw new Error('a row is cut off')
  })
  const batches = failing('select holds from batch_holds', ({ holds }) => unpackHolds(asBytes(holds)))
  return [
    ['packs that cannot be read', packs],
    ['batches that cannot be read', batches],
  ]
}
