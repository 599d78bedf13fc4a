import { existsSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { sql } from 'kysely'
import type { Standing } from '../concerns.ts'
import { disagreements } from './coherence.ts'
import { MIGRATIONS, openWithRoom } from './database.ts'
import type { Exclusive } from './exclusive.ts'

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
  readonly backfill: string | null
  readonly backfill_folder: string | null
}

/** A run that was given up with records that were never answered. */
export interface GivenUpRun {
  readonly run: string
  readonly job: string
  readonly gateway: string
  /** For which nobody has looked since. */
  readonly records: number
}

export interface LedgerFacts {
  readonly bytes: number
  /** Damage that SQLite or the check of coherence finds; empty: none. */
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
  /** Fingerprint of the key; undefined where no key was used yet. */
  readonly fingerprint: string | undefined
  /** Gateways of its jobs. */
  readonly gateways: readonly string[]
  /** True where the ledger knows people, gateways or finished runs. */
  readonly isOfUse: boolean
}

type Rows = <Row>(sql: string, ...parameters: number[]) => readonly Row[]

/** Undefined where there is no such file. @throws Error of SQLite where it is none of its files, or cannot be read */
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
    // Without comparing indexes with their tables, which would take minutes on a large file (sqlite.org/pragma.html#pragma_quick_check).
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
  // Of what was in doubt by then the exceptions tell.
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
  // SQLite takes the other columns from the row that has the maximum (sqlite.org/lang_select.html#bareagg).
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

/** What stands open in the ledger, counted by job: for who watches an installation, each minute. */
export async function readStanding({ db }: Exclusive): Promise<Standing> {
  const notifications = await db
    .selectFrom('notification')
    .innerJoin('job', 'job.id', 'notification.job_id')
    .select(['job.name as job', 'notification.state', (of) => of.fn.countAll<number>().as('count')])
    .where('notification.state', 'in', ['pending', 'given-up'])
    .groupBy(['job.name', 'notification.state'])
    .execute()
  // Of each expectation its latest deadline counts: what has come since is late no more.
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
