/** Jobs that a person has paused. */
import type { Pauses } from '../concerns.ts'
import type { Exclusive } from './exclusive.ts'

export const pausesOf = ({ read, write }: Pick<Exclusive, 'read' | 'write'>): Pauses => ({
  of: (jobId) =>
    read((db) =>
      db
        .selectFrom('pause')
        .select(['person as by', 'note', 'at'])
        .where('job_id', '=', jobId)
        .executeTakeFirst(),
    ),
  begin: (jobId, { by, note, at }) =>
    write(async (writer) => {
      const begun = await writer
        .insertInto('pause')
        .values({ job_id: jobId, person: by, note, at })
        .onConflict((conflict) => conflict.doNothing())
        .returning('job_id')
        .execute()
      return begun.length > 0
    }),
  end: (jobId) =>
    write(async (writer) => {
      const ended = await writer.deleteFrom('pause').where('job_id', '=', jobId).returning('job_id').execute()
      return ended.length > 0
    }),
})
