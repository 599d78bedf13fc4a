/** Open matters of all jobs. */
import { sql } from 'kysely'
import type { OpenWork } from '../concerns.ts'
import type { Ledger } from '../ledger.ts'
import { readTallies } from '../run-ledger.ts'
import type { Exclusive } from './exclusive.ts'

export const overviewOf = (turns: Exclusive): Ledger['overview'] => ({
  standing: () => readStanding(turns),
  openWork: (now) => readOpenWork(turns, now),
})

/** Time in the list of a notification that was given up. */
const GIVEN_UP_SHOWN_MS = 7 * 86_400_000
/** A notification still undelivered after this time has met an obstacle, or the process was killed. */
const UNDELIVERED_MS = 10 * 60_000
/** Age of a missed fire beyond repair. */
const MISSED_SHOWN_MS = 30 * 86_400_000

/** Latest deadlines passed without the exports, unless runs have read as many since. */
const OVERDUE = sql<boolean>`(state in ('missing', 'unreachable') and due = (select max(due) from deadline as later
    where later.job = deadline.job and later.mapping = deadline.mapping and later.source = deadline.source
      and later.timetable = deadline.timetable)
  and arrived + (select count(*) from delivery where delivery.job = deadline.job and delivery.mapping = deadline.mapping
    and delivery.taken_at > deadline.judged_at) < expected)`

/** Open notifications, deadlines and backfills, counted by job: for monitoring, every minute. */
async function readStanding({ db }: Exclusive) {
  const notifications = await db
    .selectFrom('notification')
    .innerJoin('job', 'job.id', 'notification.job_id')
    .select(['job.name as job', 'notification.state', (of) => of.fn.countAll<number>().as('count')])
    .where('notification.state', 'in', ['pending', 'given-up'])
    .groupBy(['job.name', 'notification.state'])
    .execute()
  const { rows: overdue } = await sql<{ job: string; count: number }>`
      select job, count(*) as count from deadline where ${OVERDUE} group by job`.execute(db)
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

/** Forgotten work beside the runs. Read for a list, not often. */
async function readOpenWork({ db }: Exclusive, now: number): Promise<OpenWork> {
  const rows = async <Row>(query: ReturnType<typeof sql<Row>>): Promise<Row[]> =>
    (await query.execute(db)).rows
  const undelivered = await rows(sql<OpenWork['undelivered'][number]>`
    select job, address as target, target as "key", state, count, error, since from (
      select job.name as job, address, target, notification.state, error,
        count(*) over (partition by job.id, target) as count, min(created_at) over (partition by job.id, target) as since,
        row_number() over (partition by job.id, target order by notification.id desc) as place
      from notification join job on job.id = notification.job_id
      where (notification.state = 'pending' and (error is not null or created_at < ${now - UNDELIVERED_MS}))
        or (notification.state = 'given-up' and created_at > ${now - GIVEN_UP_SHOWN_MS})) as undelivered
    where place = 1 order by job, address`)
  const overdue = await rows(sql<OpenWork['overdue'][number]>`
    select job, source, due, expected, arrived, state from deadline
    where ${OVERDUE} order by due`)
  const pauses = await rows(sql<OpenWork['pauses'][number]>`
    select job.name as job, person as "by", note, at, until from pause join job on job.id = pause.job_id
    where until is null order by at`)
  // A run finished since has read the exports that had come by then.
  const missed = await rows(sql<OpenWork['missed'][number]>`
    select job.name as job, due, fire.reason as reason from fire join job on job.id = fire.job_id
    where fire.state = 'skipped' and made_up_by is null and due > ${now - MISSED_SHOWN_MS}
      and fire.reason in ('not-scheduled', 'job-held', 'job-invalid', 'earlier-first')
      and not exists (select 1 from run where run.job_id = fire.job_id and run.started_at > due
        and run.state = 'finished' and run.part is null and run.origin_run is null and run.backfill is null)
    order by due`)
  const timetables = await rows(sql<OpenWork['timetables'][number]>`
    select job.name as job, job.gateway as gateway, cron, zone, seen_until as "seenUntil"
    from timetable join job on job.id = timetable.job_id order by job.name`)
  const copies = await rows(sql<{ takenAt: number; usedAt: number | null }>`
    select taken_at as "takenAt", used_at as "usedAt" from copy order by number desc limit 1`)
  const [copy] = copies
  const behind = await rows(sql<{ job: string }>`
    select distinct job.name as job from job join run on run.job_id = job.id
    where not exists (select 1 from run later where later.job_id = job.id and later.state = 'finished'
      and later.started_at >= ${copy?.usedAt ?? copy?.takenAt ?? 0}) order by job.name`)
  const [first] = await rows(sql<{ at: number | null }>`select min(started_at) as at from run`)
  const ended = await rows(sql<{ run: string; people: number; tallies: string }>`
    select run.id as run, tallies, (select count(distinct account) from care_team join job on job.gateway = care_team.gateway
        where job.id = run.job_id and (mark in ('to-set', 'to-unset') or deletions is not null)
        and (mark_by = job.id or deletions_by = job.id)) as people
      from run where run.state = 'finished' and run.backfill is null
      and not exists (select 1 from run later where later.job_id = run.job_id and later.state = 'finished'
        and later.backfill is null and (later.started_at, later.id) > (run.started_at, run.id))
    order by run.started_at, run.id`)
  return {
    undelivered,
    overdue,
    pauses,
    missed,
    timetables,
    copy: copy && { takenAt: copy.takenAt, jobs: behind.map(({ job }) => job) },
    firstRunAt: first?.at ?? undefined,
    owing: ended.flatMap(({ run, people, tallies }) =>
      readTallies(tallies).careTeams.owed > 0 ? [{ run, people }] : [],
    ),
  }
}
