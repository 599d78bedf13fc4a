/** What has arrived, and what was judged of it by when it had to. By the job's name: what arrives does not hang on where it is sent. */

import type { DeliveredFile, Expectations } from '../concerns.ts'
import type { Exclusive, Writer } from './exclusive.ts'

/** So many judgements of an expectation are kept: the newest, the one before, and one more for where nobody could look at that. */
const KEPT = 3

export function expectationsOf({ db, write }: Exclusive): Expectations {
  return {
    taken: (job, mapping, limit) =>
      db
        .selectFrom('delivery')
        .selectAll()
        .where('job', '=', job)
        .where('mapping', '=', mapping)
        .orderBy('taken_at', 'desc')
        .orderBy('modified_at', 'desc')
        .limit(limit)
        .execute(),
    judged: ({ job, mapping, source, timetable }) =>
      db
        .selectFrom('deadline')
        .selectAll()
        .where(({ and }) => and({ job, mapping, source, timetable }))
        .orderBy('due', 'desc')
        .limit(KEPT)
        .execute(),
    judge: (record) =>
      write(async (writer) => {
        const { job, mapping, source, timetable, due, ...found } = record
        await writer
          .insertInto('deadline')
          .values(record)
          .onConflict((conflict) =>
            conflict.columns(['job', 'mapping', 'source', 'timetable', 'due']).doUpdateSet(found),
          )
          .execute()
        const kept = writer
          .selectFrom('deadline')
          .select('due')
          .where(({ and }) => and({ job, mapping, source, timetable }))
          .orderBy('due', 'desc')
          .limit(KEPT)
        await writer
          .deleteFrom('deadline')
          .where(({ and }) => and({ job, mapping, source, timetable }))
          .where('due', 'not in', kept)
          .execute()
      }),
  }
}

/** A run has begun with the file: the first and the latest that did are remembered. */
export async function noteTaken(
  writer: Writer,
  runId: string,
  mapping: string,
  { address, name, bytes, modifiedAt }: DeliveredFile,
): Promise<void> {
  const run = await writer
    .selectFrom('run')
    .innerJoin('job', 'job.id', 'run.job_id')
    .select(['job.name', 'run.started_at'])
    .where('run.id', '=', runId)
    .executeTakeFirstOrThrow()
  const taken = {
    job: run.name,
    mapping,
    address,
    name,
    bytes,
    modified_at: modifiedAt,
    taken_at: run.started_at,
    seen_at: run.started_at,
  }
  await writer
    .insertInto('delivery')
    .values(taken)
    .onConflict((conflict) =>
      conflict
        .columns(['job', 'mapping', 'address', 'modified_at', 'bytes'])
        .doUpdateSet({ seen_at: run.started_at }),
    )
    .execute()
}
