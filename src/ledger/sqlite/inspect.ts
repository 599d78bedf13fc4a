import { existsSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { openWithRoom } from './database.ts'
import { MIGRATIONS } from './migrations.ts'

/** How much SQLite says of a damaged file at most. */
const DAMAGES_TOLD = 5

export interface HeldLease {
  readonly job: string
  readonly run: string
  /** Of that process alone; `processName` of it is `host:pid`. */
  readonly owner: string
  readonly since: number
  /** Until when, unless it is renewed. */
  readonly until: number
}

export interface UndeliveredNotifications {
  readonly job: string
  /** Names the target, without secrets. */
  readonly target: string
  /** Sixteen hex digits, which tell it from others of that name. */
  readonly key: string
  readonly state: 'pending' | 'given-up'
  readonly count: number
  /** Why the last of them was not delivered; null where nobody has tried. */
  readonly error: string | null
}

/** For so long it is told that a notification was given up. */
const GIVEN_UP_TOLD_MS = 7 * 86_400_000
/** What is not delivered for so long has met a hindrance, or its process was killed. */
const UNDELIVERED_MS = 10 * 60_000

export interface UnfinishedRun {
  readonly run: string
  readonly job: string
  readonly gateway: string
  readonly state: string
  /** Of a backfill: its range, as the ledger has it, and its folder. */
  readonly backfill: string | undefined
  readonly folder: string | undefined
}

/** A run that was given up with batches that were never answered: src/ledger/sqlite/perhaps-sent.ts. */
export interface GivenUpRun {
  readonly run: string
  readonly job: string
  readonly gateway: string
  /** What these hold. */
  readonly records: number
}

export interface LedgerFacts {
  readonly bytes: number
  /** What SQLite finds wrong with the file; empty: nothing. */
  readonly damage: readonly string[]
  /** Steps of the shape that this program does not know: a newer one wrote them. */
  readonly newer: readonly string[]
  /** The latest step of its shape, and whether this program has later ones. */
  readonly shape: string
  readonly older: boolean
  readonly leases: readonly HeldLease[]
  readonly unfinished: readonly UnfinishedRun[]
  readonly givenUp: readonly GivenUpRun[]
  readonly inDoubt: readonly { readonly run: string; readonly job: string; readonly records: number }[]
  /** Notifications that could not be delivered, by job, target and whether they are tried again: of late, those that were given up. */
  readonly undelivered: readonly UndeliveredNotifications[]
  /** When the latest run began; undefined where there was none. Milliseconds since the epoch. */
  readonly latestRunAt: number | undefined
  /** When this file was copied from another ledger; undefined where it was not. */
  readonly copiedAt: number | undefined
}

/** Undefined where there is no such file. @throws Error of SQLite where it is none of its files, or cannot be read */
export function inspectLedger(file: string, now: number): LedgerFacts | undefined {
  if (!existsSync(file)) return undefined
  const database = openWithRoom((isAlone) => {
    const opened = new DatabaseSync(file, { readOnly: !isAlone, timeout: 10_000 })
    if (isAlone) opened.exec('pragma locking_mode = exclusive')
    return opened
  })
  try {
    const damage = damageOf(database)
    const tables = tablesOf(database)
    const steps = tables.has('kysely_migration')
      ? textsOf(database, 'select name as text from kysely_migration order by name')
      : []
    const newer = steps.filter((name) => MIGRATIONS[name] === undefined)
    const facts = { bytes: statSync(file).size, damage, newer, shape: steps.at(-1) ?? 'none' }
    const older = steps.length - newer.length < Object.keys(MIGRATIONS).length
    if (!tables.has('run')) return { ...facts, older, ...NOTHING_KNOWN }
    // What it rests on has come with later steps of the shape.
    const givenUp = older ? [] : givenUpRuns(database)
    return { ...facts, older, ...contentsOf(database, tables, now), givenUp }
  } finally {
    database.close()
  }
}

type Contents = Pick<
  LedgerFacts,
  'leases' | 'unfinished' | 'inDoubt' | 'undelivered' | 'latestRunAt' | 'copiedAt'
>

const NOTHING_KNOWN: Contents & Pick<LedgerFacts, 'givenUp'> = {
  givenUp: [],
  leases: [],
  unfinished: [],
  inDoubt: [],
  undelivered: [],
  latestRunAt: undefined,
  copiedAt: undefined,
}

function contentsOf(database: DatabaseSync, tables: ReadonlySet<string>, now: number): Contents {
  const rows = (sql: string, ...parameters: number[]) => database.prepare(sql).all(...parameters)
  // What became of an exception later is kept since the third step of the shape.
  const state = rows('pragma table_info(exception)').some((column) => column['name'] === 'state')
    ? 'state'
    : 'outcome'
  const [latest] = rows('select max(started_at) as at from run')
  const [copied] = tables.has('copy') ? rows('select taken_at as at from copy') : []
  return {
    leases: rows(
      `select job.name as job, run_id as run, owner, acquired_at as since, expires_at as until
      from lease join job on job.id = lease.job_id where expires_at > ? order by acquired_at`,
      now,
    ).map((row) => ({
      job: String(row['job']),
      run: String(row['run']),
      owner: String(row['owner']),
      since: Number(row['since']),
      until: Number(row['until']),
    })),
    unfinished: rows(
      `select run.*, run.id as run, job.name as job, job.gateway as gateway from run join job on job.id = run.job_id
      where state in ('running', 'interrupted') order by started_at`,
    ).map((row) => ({
      ...{ run: String(row['run']), job: String(row['job']), state: String(row['state']) },
      gateway: String(row['gateway']),
      backfill: textOf(row['backfill']),
      folder: textOf(row['backfill_folder']),
    })),
    inDoubt: rows(
      `select run.id as run, job.name as job, count(*) as records from exception
      join export on export.id = exception.export_row join run on run.id = export.run_id
      join job on job.id = run.job_id where outcome = 'in-doubt' and exception.${state} = 'in-doubt'
      group by run.id order by run.started_at`,
    ).map((row) => ({ run: String(row['run']), job: String(row['job']), records: Number(row['records']) })),
    undelivered: tables.has('notification') ? undeliveredOf(rows, now) : [],
    latestRunAt: instantOf(latest),
    copiedAt: instantOf(copied),
  }
}

type Rows = (sql: string, ...parameters: number[]) => readonly Readonly<Record<string, unknown>>[]

/** SQLite takes the other columns from the row that has the maximum (sqlite.org/lang_select.html#bareagg). */
const undeliveredOf = (rows: Rows, now: number): UndeliveredNotifications[] =>
  rows(
    `select job.name as job, address, target, notification.state as state, count(*) as count, error, max(notification.id)
    from notification join job on job.id = notification.job_id
    where (notification.state = 'pending' and (error is not null or created_at < ?))
    or (notification.state = 'given-up' and created_at > ?)
    group by job.id, target, notification.state order by job.name, address`,
    now - UNDELIVERED_MS,
    now - GIVEN_UP_TOLD_MS,
  ).map((row) => ({
    job: String(row['job']),
    target: String(row['address']),
    key: String(row['target']),
    state: row['state'] === 'pending' ? 'pending' : 'given-up',
    count: Number(row['count']),
    error: row['error'] === null ? null : String(row['error']),
  }))

function givenUpRuns(database: DatabaseSync): GivenUpRun[] {
  const rows = database
    .prepare(
      `select run.id as run, job.name as job, job.gateway as gateway, sum(batch.records) as records
      from run join job on job.id = run.job_id join export on export.run_id = run.id
      join chunk on chunk.export_row = export.id and chunk.state = 'open'
      join batch on batch.export_row = chunk.export_row and batch.chunk = chunk.number and batch.state = 'sending'
      where run.state = 'failed' and run.reason = 'given-up'
      group by run.id order by run.started_at`,
    )
    .all()
  return rows.map((row) => ({
    ...{ run: String(row['run']), job: String(row['job']), gateway: String(row['gateway']) },
    records: Number(row['records']),
  }))
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

const instantOf = (row: Readonly<Record<string, unknown>> | undefined): number | undefined =>
  typeof row?.['at'] === 'number' ? row['at'] : undefined

/** Without comparing indexes with their tables, which would take minutes on a large file (sqlite.org/pragma.html#pragma_quick_check). */
function damageOf(database: DatabaseSync): string[] {
  return database
    .prepare(`pragma quick_check(${DAMAGES_TOLD})`)
    .all()
    .map((row) => String(row['quick_check']))
    .filter((text) => text !== 'ok')
}

const tablesOf = (database: DatabaseSync): Set<string> =>
  new Set(textsOf(database, `select name as text from sqlite_schema where type = 'table'`))

const textsOf = (database: DatabaseSync, sql: string): string[] =>
  database
    .prepare(sql)
    .all()
    .map((row) => String(row['text']))
