/** Whether a job may have delivered what its ledger knows nothing of. */
import type { Kysely } from 'kysely'
import type { LedgerTables } from './tables.ts'

export async function readIsBehind(database: Kysely<LedgerTables>, jobId: number): Promise<boolean> {
  return (await isCopyUnproved(database, jobId)) || (await hasGivenUp(database, jobId))
}

/** On a copy no run of the job was begun and finished yet. */
async function isCopyUnproved(database: Kysely<LedgerTables>, jobId: number): Promise<boolean> {
  const copy = await database
    .selectFrom('copy')
    .select('taken_at')
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('run')
            .select('run.id')
            .where('run.job_id', '=', jobId)
            .where('run.state', '=', 'finished')
            .where('run.origin_run', 'is', null)
            .where('run.backfill', 'is', null)
            .whereRef('run.started_at', '>', 'copy.taken_at'),
        ),
      ),
    )
    .executeTakeFirst()
  return copy !== undefined
}

/** A run was given up in the middle of an export, and none of that name was read to its end since. */
async function hasGivenUp(database: Kysely<LedgerTables>, jobId: number): Promise<boolean> {
  const open = await database
    .selectFrom('run')
    .innerJoin('export', 'export.run_id', 'run.id')
    .select('export.id')
    .where('run.job_id', '=', jobId)
    .where('run.state', '=', 'failed')
    .where('run.reason', '=', 'given-up')
    .where('export.state', '=', 'open')
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('export as later')
            .innerJoin('run as since', 'since.id', 'later.run_id')
            .select('later.id')
            .whereRef('since.job_id', '=', 'run.job_id')
            .whereRef('since.started_at', '>', 'run.started_at')
            .where('since.state', '=', 'finished')
            .whereRef('later.name', '=', 'export.name')
            .where('later.state', '=', 'finished')
            .where('later.reading', '=', 'whole'),
        ),
      ),
    )
    .executeTakeFirst()
  return open !== undefined
}
