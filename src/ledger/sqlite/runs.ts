/** Runs as they are listed. */

import { type Kysely, sql } from 'kysely'
import type { OpenExport, RunFilter } from '../concerns.ts'
import { RANGE_LENGTH } from '../run-writes.ts'
import type { LedgerTables, RunRecord } from '../tables.ts'

/** Of a backfill, without what else it was begun with. */
const rangeText = (run: 'run' | 'later') =>
  sql<string | null>`substr(${sql.ref(`${run}.backfill`)}, 1, ${RANGE_LENGTH})`

/** Newest first. */
export function readRuns(
  database: Kysely<LedgerTables>,
  limit: number,
  { job, failed }: RunFilter,
): Promise<(RunRecord & { job: string; gateway: string })[]> {
  return database
    .selectFrom('run')
    .innerJoin('job', 'job.id', 'run.job_id')
    .selectAll('run')
    .select(['job.name as job', 'job.gateway'])
    .$if(job !== undefined, (query) => query.where('job.name', '=', job ?? ''))
    .$if(failed === true, (query) =>
      query.where(({ eb, or, and, not, exists, selectFrom }) => {
        // The next run that reads all that the job finds reads again what one that failed had read, and what this one could not read.
        const followed = exists(
          selectFrom('run as later')
            .select('later.id')
            .whereRef('later.job_id', '=', 'run.job_id')
            .whereRef('later.started_at', '>', 'run.started_at')
            .where('later.state', '=', 'finished')
            .where('later.origin_run', 'is', null)
            .where('later.part', 'is', null)
            .where(rangeText('later'), 'is not distinct from', rangeText('run')),
        )
        const unread = exists(
          selectFrom('export')
            .select('export.id')
            .whereRef('export.run_id', '=', 'run.id')
            .where('export.state', '=', 'failed'),
        )
        const left = (state: 'rejected' | 'in-doubt') =>
          exists(
            selectFrom('exception')
              .innerJoin('export', 'export.id', 'exception.export_row')
              .select('exception.id')
              .whereRef('export.run_id', '=', 'run.id')
              .where('exception.state', '=', state),
          )
        return or([
          eb('run.state', 'in', ['running', 'interrupted']),
          and([or([eb('run.state', '=', 'failed'), unread]), not(followed)]),
          and([eb('run.state', '!=', 'failed'), left('rejected')]),
          left('in-doubt'),
        ])
      }),
    )
    .orderBy('run.started_at', 'desc')
    .limit(limit)
    .execute()
}

/** What unfinished runs of jobs of that name have open. */
export function readOpenExports(database: Kysely<LedgerTables>, job: string): Promise<OpenExport[]> {
  return database
    .selectFrom('export')
    .innerJoin('run', 'run.id', 'export.run_id')
    .innerJoin('job', 'job.id', 'run.job_id')
    .select(['run.id as run', 'job.gateway', 'export.path'])
    .where('job.name', '=', job)
    .where('run.state', 'in', ['running', 'interrupted'])
    .where('export.state', '=', 'open')
    .execute()
}
