/**
 * How long a run was at work: counted as it goes, at each settled chunk and each renewal of its lease, so that a session that is
 * killed counts up to its last sign of life. `worked_at` is the instant up to which it is counted; null while nobody is at work.
 */
import { type Kysely, sql, type Transaction } from 'kysely'
import type { LedgerTables } from './tables.ts'

type Writer = Transaction<LedgerTables>

/** A lease is renewed several times a minute: where so much lies between two signs, the process stood still or its machine slept. */
const STOOD_STILL_MS = 60_000

/** @param at milliseconds since the epoch; a clock that was set back counts nothing */
export async function countWork(
  writer: Writer,
  runId: string,
  at: number,
  goesOn: 'goes-on' | 'pauses',
): Promise<void> {
  await writer
    .updateTable('run')
    .set({
      worked_ms: sql<number>`worked_ms + case when ${at} - worked_at between 0 and ${STOOD_STILL_MS}
        then ${at} - worked_at else 0 end`,
      worked_at: goesOn === 'goes-on' ? at : null,
    })
    .where('id', '=', runId)
    .where('worked_at', 'is not', null)
    .execute()
}

export async function beginWork(writer: Writer, runId: string, at: number): Promise<void> {
  await writer.updateTable('run').set({ worked_at: at }).where('id', '=', runId).execute()
}

/** Whoever takes a job over begins to count anew: what lies between was no work. */
export async function forgetWork(writer: Writer, jobId: number): Promise<void> {
  await writer
    .updateTable('run')
    .set({ worked_at: null })
    .where('job_id', '=', jobId)
    .where('worked_at', 'is not', null)
    .execute()
}

/**
 * The step of the shape. What earlier versions have settled counts as worked since the settlement before, where that is no more
 * than a minute: they counted no session that was killed.
 */
export async function addWorkedTime(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('run').addColumn('worked_at', 'integer').execute()
  await db.schema.alterTable('chunk').addColumn('worked_ms', 'integer').execute()
  await sql`update chunk set worked_ms = counted.worked from (
    select id, sum(case when gap between 0 and ${sql.lit(STOOD_STILL_MS)} then gap else 0 end)
      over (partition by run_id order by settled_at, id) as worked
    from (select chunk.rowid as id, run_id, settled_at,
      settled_at - lag(settled_at, 1, started_at) over (partition by run_id order by settled_at, chunk.rowid) as gap
      from chunk join export on export.id = export_row join run on run.id = run_id where settled_at is not null)
    ) as counted where counted.id = chunk.rowid`.execute(db)
  await sql`update run set worked_ms = counted.worked from (
    select run_id, max(worked_ms) as worked from chunk join export on export.id = export_row group by run_id
    ) as counted where counted.run_id = run.id and counted.worked > run.worked_ms`.execute(db)
}
