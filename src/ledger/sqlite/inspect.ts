import { existsSync, statSync } from 'node:fs'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { reasonOf } from '../../model/errors.ts'
import { readPack } from '../delivered-rows.ts'
import { unpackHolds } from '../packed-records.ts'
import { MIGRATIONS, openWithRoom, SHAPE, type SyncStatements } from './database.ts'
import { asBytes } from './delivered.ts'

const DAMAGES_SHOWN = 5

interface HeldLease {
  readonly job: string
  readonly run: string
  readonly owner: string
  readonly since: number
  readonly until: number
}

/** A given-up run with records that were never answered. */
export interface GivenUpRun {
  readonly run: string
  readonly job: string
  readonly gateway: string
  /** Records that nobody has looked up since. */
  readonly records: number
}

export interface LedgerFacts {
  readonly bytes: number
  /** Damage found by SQLite or by the check of coherence; empty: none. */
  readonly damage: readonly string[]
  /** Migrations that this program does not know: a newer program wrote the file. */
  readonly newer: readonly string[]
  /** Latest migration of the file, and whether this program has later ones. */
  readonly shape: string
  readonly older: boolean
  readonly leases: readonly HeldLease[]
  readonly givenUp: readonly GivenUpRun[]
  readonly latestRunAt: number | undefined
  /** When this file was copied from another ledger; undefined for an original. */
  readonly copiedAt: number | undefined
  readonly fingerprint: string | undefined
  readonly gateways: readonly string[]
  /** True where the ledger knows people, gateways or finished runs. */
  readonly isOfUse: boolean
}

type Rows = <Row>(sql: string, ...parameters: number[]) => readonly Row[]

/** Reads the facts; undefined without a file. @throws Error of SQLite if the file is no database, or cannot be read */
export function inspectLedger(file: string, now: number): LedgerFacts | undefined {
  if (!existsSync(file)) return undefined
  const database = openWithRoom((isAlone) => {
    const opened = new DatabaseSync(file, { readOnly: !isAlone, timeout: 10_000 })
    if (isAlone) opened.exec('pragma locking_mode = exclusive')
    return opened
  })
  try {
    const rows = <Row>(sql: string, ...parameters: number[]) =>
      database.prepare(sql).all(...parameters) as readonly unknown[] as readonly Row[]
    const namesOf = (sql: string): string[] => rows<{ name: string }>(sql).map(({ name }) => name)
    // `quick_check` does not compare indexes with tables: a full check would take minutes on a large file
    // (sqlite.org/pragma.html#pragma_quick_check).
    const checked = rows<{ quick_check: string }>(`pragma quick_check(${DAMAGES_SHOWN})`)
    const damage = checked.map(({ quick_check }) => quick_check).filter((text) => text !== 'ok')
    const tables = new Set(namesOf(`select name from sqlite_schema where type = 'table'`))
    const steps = tables.has('kysely_migration')
      ? namesOf('select name from kysely_migration order by name')
      : []
    const newer = steps.filter((name) => MIGRATIONS[name] === undefined)
    const older = steps.length - newer.length < Object.keys(MIGRATIONS).length
    if (damage.length === 0 && newer.length === 0 && !older) damage.push(...disagreements(database))
    const facts = { bytes: statSync(file).size, damage, newer, older, shape: steps.at(-1) ?? 'none' }
    return { ...facts, ...(tables.has('run') ? contentsIn(rows, now, damage.length > 0) : NOTHING_KNOWN) }
  } finally {
    database.close()
  }
}

const NOTHING_KNOWN = {
  leases: [],
  givenUp: [],
  latestRunAt: undefined,
  copiedAt: undefined,
  fingerprint: undefined,
  gateways: [],
  isOfUse: false,
}

/** Reads the contents; of a damaged ledger that cannot be read, the damage is what counts. */
function contentsIn(rows: Rows, now: number, isDamaged: boolean): ReturnType<typeof contentsOf> {
  try {
    return contentsOf(rows, now)
  } catch (error) {
    if (isDamaged) return NOTHING_KNOWN
    throw error
  }
}

const contentsOf = (rows: Rows, now: number) => ({
  leases: rows<HeldLease>(
    `select job.name as job, run_id as run, owner, acquired_at as since, expires_at as until
    from lease join job on job.id = lease.job_id where expires_at > ? order by acquired_at`,
    now,
  ),
  // Exceptions show the records that were in doubt by then.
  givenUp: rows<GivenUpRun>(
    `select run.id as run, job.name as job, job.gateway as gateway, count(*) as records
    from held join export on export.id = held.export_row join run on run.id = export.run_id
    join job on job.id = run.job_id
    where sent_until > 0 and not exists (select 1 from exception where exception.export_row = export.id
      and exception.content = lower(hex(held.content)) and exception.state = 'in-doubt')
    group by run.id order by run.started_at`,
  ),
  latestRunAt: rows<{ at: number | null }>('select max(started_at) as at from run')[0]?.at ?? undefined,
  copiedAt: rows<{ at: number | null }>('select max(taken_at) as at from copy')[0]?.at ?? undefined,
  fingerprint: rows<{ fingerprint: string }>('select fingerprint from installation')[0]?.fingerprint,
  gateways: rows<{ gateway: string }>('select distinct gateway from job').map(({ gateway }) => gateway),
  isOfUse:
    rows(`select 1 from gateway_met union all select 1 from account
      union all select 1 from run where state not in ('running', 'interrupted') limit 1`).length > 0,
})

type Ask = (sql: string, ...parameters: readonly SQLInputValue[]) => ReturnType<SyncStatements['all']>

/** Kysely's own tables. */
const OF_STEPS: readonly string[] = ['table kysely_migration', 'table kysely_migration_lock']

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
function disagreements(database: DatabaseSync): string[] {
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
  for (const statement of SHAPE) fresh.exec(statement)
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
