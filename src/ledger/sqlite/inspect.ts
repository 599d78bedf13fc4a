import { existsSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { sql } from 'kysely'
import type { Standing } from '../concerns.ts'
import { disagreements } from './coherence.ts'
import { MIGRATIONS, openWithRoom } from './database.ts'
import type { Exclusive } from './exclusive.ts'

/** Limit of SQLite's messages about a damaged file. */
const DAMAGES_TOLD = 5

export interface HeldLease {
  readonly job: string
  readonly run: string
  /** Owner, unique to the process; `processName` gives `host:pid`. */
  readonly owner: string
  readonly since: number
  /** Time of expiry, unless the lease is renewed. */
  readonly until: number
}

export interface UndeliveredNotifications {
  readonly job: string
  /** Name of the target, without secrets. */
  readonly target: string
  /** Sixteen hex digits: tells apart targets with equal names. */
  readonly key: string
  readonly state: 'pending' | 'given-up'
  readonly count: number
  /** Error of the latest try; null if delivery was never tried. */
  readonly error: string | null
}

/** Time for which a notification that was given up stays in the list. */
const GIVEN_UP_TOLD_MS = 7 * 86_400_000
/** A notification still undelivered after this time has met an obstacle, or the process was killed. */
const UNDELIVERED_MS = 10 * 60_000

export interface UnfinishedRun {
  readonly run: string
  readonly job: string
  readonly gateway: string
  readonly state: string
  /** Range and folder of a backfill, as the ledger holds them. */
  readonly backfill: string | null
  readonly backfill_folder: string | null
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
  readonly unfinished: readonly UnfinishedRun[]
  readonly givenUp: readonly GivenUpRun[]
  readonly inDoubt: readonly { readonly run: string; readonly job: string; readonly records: number }[]
  /** Undelivered notifications by job, target and state. Notifications that were given up: recent ones only. */
  readonly undelivered: readonly UndeliveredNotifications[]
  /** Begin of the latest run, milliseconds since the epoch; undefined without a run. */
  readonly latestRunAt: number | undefined
  /** When this file was copied from another ledger; undefined for an original. */
  readonly copiedAt: number | undefined
  /** Fingerprint of the key; undefined before a key is used. */
  readonly fingerprint: string | undefined
  /** Gateways of the jobs. */
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
    const checked = rows<{ quick_check: string }>(`pragma quick_check(${DAMAGES_TOLD})`)
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
  ...{ leases: [], unfinished: [], givenUp: [], inDoubt: [], undelivered: [] },
  ...{ latestRunAt: undefined, copiedAt: undefined, fingerprint: undefined, gateways: [], isOfUse: false },
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
  unfinished: rows<UnfinishedRun>(
    `select run.id as run, job.name as job, gateway, state, backfill, backfill_folder
    from run join job on job.id = run.job_id where state in ('running', 'interrupted') order by started_at`,
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
  inDoubt: rows<LedgerFacts['inDoubt'][number]>(
    `select run.id as run, job.name as job, count(*) as records from exception
    join export on export.id = exception.export_row join run on run.id = export.run_id
    join job on job.id = run.job_id where outcome = 'in-doubt' and exception.state = 'in-doubt'
    group by run.id order by run.started_at`,
  ),
  // SQLite takes the bare columns from the row with the maximum (sqlite.org/lang_select.html#bareagg).
  undelivered: rows<UndeliveredNotifications>(
    `select job.name as job, address as target, target as key, notification.state as state, count(*) as count, error,
    max(notification.id) from notification join job on job.id = notification.job_id
    where (notification.state = 'pending' and (error is not null or created_at < ?))
    or (notification.state = 'given-up' and created_at > ?)
    group by job.id, notification.target, notification.state order by job.name, address`,
    now - UNDELIVERED_MS,
    now - GIVEN_UP_TOLD_MS,
  ),
  latestRunAt: rows<{ at: number | null }>('select max(started_at) as at from run')[0]?.at ?? undefined,
  copiedAt: rows<{ at: number | null }>('select max(taken_at) as at from copy')[0]?.at ?? undefined,
  fingerprint: rows<{ fingerprint: string }>('select fingerprint from installation')[0]?.fingerprint,
  gateways: rows<{ gateway: string }>('select distinct gateway from job').map(({ gateway }) => gateway),
  isOfUse:
    rows(`select 1 from gateway_met union all select 1 from account
      union all select 1 from run where state not in ('running', 'interrupted') limit 1`).length > 0,
})

/** Open notifications, deadlines and backfills, counted by job: for monitoring, every minute. */
export async function readStanding({ db }: Exclusive): Promise<Standing> {
  const notifications = await db
    .selectFrom('notification')
    .innerJoin('job', 'job.id', 'notification.job_id')
    .select(['job.name as job', 'notification.state', (of) => of.fn.countAll<number>().as('count')])
    .where('notification.state', 'in', ['pending', 'given-up'])
    .groupBy(['job.name', 'notification.state'])
    .execute()
  // The latest deadline of an expectation counts: an export that has arrived since is no longer late.
  const { rows: overdue } = await sql<{ job: string; count: number }>`
      select job, count(*) as count from deadline where state in ('missing', 'unreachable') and due = (
        select max(due) from deadline as later where later.job = deadline.job and later.mapping = deadline.mapping
          and later.source = deadline.source and later.timetable = deadline.timetable)
      group by job`.execute(db)
  const backfills = await db
    .selectFrom('run')
    .innerJoin('job', 'job.id', 'run.job_id')
    .select('job.name as job')
    .distinct()
    .where('run.backfill', 'is not', null)
    .where('run.state', 'in', ['running', 'interrupted'])
    .execute()
  return { notifications, overdue, backfills: backfills.map(({ job }) => job) }
}
