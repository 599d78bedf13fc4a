/**
 * How long a run was at work: counted as it goes, at each settled chunk and each renewal of its lease, so that a session that is
 * killed counts up to its last sign of life. `worked_at` is the instant up to which it is counted; null while nobody is at work.
 */
import { sql, type Transaction } from 'kysely'
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
