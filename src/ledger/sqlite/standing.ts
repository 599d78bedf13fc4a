/** What stands open in the ledger, counted by job: for who watches an installation, each minute. */
import { sql } from 'kysely'
import type { Standing } from '../concerns.ts'
import type { Exclusive } from './exclusive.ts'

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
