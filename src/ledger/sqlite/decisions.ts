/** What people decide of jobs and runs: a job is paused; what a run has left behind stays as it is, and needs nobody any more. */
import type { Acknowledgements, Pauses } from '../concerns.ts'
import type { Exclusive } from './exclusive.ts'

export const acknowledgementsOf = ({ db, write }: Exclusive): Acknowledgements => ({
  of: (runId) =>
    db
      .selectFrom('resolution')
      .select(['run_id as run', 'code', 'person as by', 'note', 'at'])
      .where('run_id', '=', runId)
      .where('decision', '=', 'acknowledge')
      .where('undone_at', 'is', null)
      .orderBy('id')
      .execute(),
  add: (runs, { by, ...acknowledgement }) =>
    write(async (writer) => {
      for (const run of runs)
        await writer
          .insertInto('resolution')
          .values({ run_id: run, decision: 'acknowledge', person: by, ...acknowledgement })
          .execute()
    }),
  undo: ({ run, code }, { by, note, at }) =>
    write(async (writer) => {
      const undone = await writer
        .updateTable('resolution')
        .set({ undone_at: at })
        .where('decision', '=', 'acknowledge')
        .where('undone_at', 'is', null)
        .$if(run !== undefined, (query) => query.where('run_id', '=', run ?? ''))
        .$if(code !== undefined, (query) => query.where('code', '=', code ?? ''))
        .returning(['run_id', 'code'])
        .execute()
      const runs = [...new Set(undone.map(({ run_id }) => run_id))]
      for (const run_id of runs)
        await writer
          .insertInto('resolution')
          .values({ run_id, decision: 'undo-acknowledge', person: by, note, at, code: code ?? null })
          .execute()
      return runs
    }),
})

export const pausesOf = ({ db }: Exclusive): Pauses => ({
  of: (jobId) =>
    db
      .selectFrom('pause')
      .select(['person as by', 'note', 'at'])
      .where('job_id', '=', jobId)
      .executeTakeFirst(),
  async begin(jobId, { by, note, at }) {
    const begun = await db
      .insertInto('pause')
      .values({ job_id: jobId, person: by, note, at })
      .onConflict((conflict) => conflict.doNothing())
      .returning('job_id')
      .execute()
    return begun.length > 0
  },
  async end(jobId) {
    return (await db.deleteFrom('pause').where('job_id', '=', jobId).returning('job_id').execute()).length > 0
  },
})
