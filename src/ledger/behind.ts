/** Whether a job may have delivered what its ledger, being a copy, knows nothing of. */
import { type Kysely, sql } from 'kysely'
import type { BackfillRange } from './run-start.ts'
import type { LedgerTables } from './tables.ts'

/** A run that is about to send. */
export interface AboutToSend {
  /** Where it is a backfill: of which range. */
  readonly backfill?: BackfillRange | undefined
  /** Whether it takes up what another run left behind. */
  readonly takesUp: boolean
}

/**
 * When the ledger was copied, where no run was begun and finished since that has looked for all that this one may send. An ordinary run
 * looks for what the job finds, a backfill for what lies in its range: neither speaks for the other. What is taken up was perhaps
 * taken up before, after the copy was made: no run speaks for that.
 * @returns until when something of that may have been sent; milliseconds since the epoch
 */
export async function readBehind(
  database: Kysely<LedgerTables>,
  jobId: number,
  { backfill, takesUp }: AboutToSend,
): Promise<number | undefined> {
  const copies = await database.selectFrom('copy').select('taken_at').orderBy('taken_at', 'desc').execute()
  const [last] = copies
  if (last === undefined || takesUp) return last?.taken_at
  const proof = database
    .selectFrom('run')
    .select('run.id')
    .where('run.job_id', '=', jobId)
    .where('run.state', '=', 'finished')
    .where('run.origin_run', 'is', null)
    .where('run.part', 'is', null)
    .where('run.started_at', '>', last.taken_at)
  if (backfill !== undefined) {
    const proved = await proof
      .where(sql`substr(run.backfill, 1, 10)`, '<=', backfill.from)
      .where(sql`substr(run.backfill, 12, 10)`, '>=', backfill.to)
      .where('run.backfill_folder', 'is', backfill.in ?? null)
      .executeTakeFirst()
    return proved === undefined ? last.taken_at : undefined
  }
  // What is resumed goes through the exports that it had begun, and no others.
  const proved = await proof
    .where('run.backfill', 'is', null)
    .where('run.resumed_at', 'is', null)
    .executeTakeFirst()
  // It may have come far after the copy was made, and the same records may stand in other exports.
  const filling = await database
    .selectFrom('run')
    .select('run.id')
    .where('run.job_id', '=', jobId)
    .where('run.state', 'in', ['running', 'interrupted'])
    .where('run.backfill', 'is not', null)
    .where('run.started_at', '<=', last.taken_at)
    .executeTakeFirst()
  return proved === undefined || filling !== undefined ? last.taken_at : undefined
}
