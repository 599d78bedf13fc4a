/** Fires: the instants at which jobs are due, and what became of each. Shared by all processes that keep a schedule on one ledger. */
import type { Fires } from '../concerns.ts'
import { advanceFire } from '../states.ts'
import type { Exclusive } from './exclusive.ts'

export function firesOf({ read, write }: Pick<Exclusive, 'read' | 'write'>): Fires {
  return {
    timetable: async (jobId) => {
      const row = await read((db) =>
        db.selectFrom('timetable').selectAll().where('job_id', '=', jobId).executeTakeFirst(),
      )
      return row && { cron: row.cron, zone: row.zone, seenUntil: row.seen_until }
    },
    comeDue: (jobId, known, timetable, dues) =>
      write(async (writer) => {
        const row = await writer
          .selectFrom('timetable')
          .selectAll()
          .where('job_id', '=', jobId)
          .executeTakeFirst()
        if (row?.cron !== known?.cron || row?.zone !== known?.zone || row?.seen_until !== known?.seenUntil)
          return false
        const values = { cron: timetable.cron, zone: timetable.zone, seen_until: timetable.seenUntil }
        await writer
          .insertInto('timetable')
          .values({ job_id: jobId, ...values })
          .onConflict((conflict) => conflict.column('job_id').doUpdateSet(values))
          .execute()
        for (const due of dues) {
          await writer
            .insertInto('fire')
            .values({ job_id: jobId, due, state: 'due' })
            .onConflict((conflict) => conflict.doNothing())
            .execute()
        }
        return true
      }),
    forget: (jobId, reason, at) =>
      write(async (writer) => {
        await writer.deleteFrom('timetable').where('job_id', '=', jobId).execute()
        for (const state of ['due', 'missed', 'interrupted'] as const) {
          await writer
            .updateTable('fire')
            .set({ state: advanceFire(state, 'skip'), ended_at: at, reason })
            .where('job_id', '=', jobId)
            .where('state', '=', state)
            .execute()
        }
      }),
    open: (jobId) =>
      read((db) =>
        db
          .selectFrom('fire')
          .selectAll()
          .where('job_id', '=', jobId)
          .where('state', 'in', ['due', 'missed', 'running', 'interrupted'])
          .orderBy('due')
          .execute(),
      ),
    latest: (jobId, limit) =>
      read((db) =>
        db
          .selectFrom('fire')
          .selectAll()
          .where('job_id', '=', jobId)
          .orderBy('due', 'desc')
          .limit(limit)
          .execute(),
      ),
    move: (fire, event, change = {}) =>
      write((writer) =>
        writer
          .updateTable('fire')
          .set({ ...change, state: advanceFire(fire.state, event) })
          .where('job_id', '=', fire.job_id)
          .where('due', '=', fire.due)
          .where('state', '=', fire.state)
          .where('owner', 'is', fire.owner)
          .where('begun_at', 'is', fire.begun_at)
          .returningAll()
          .executeTakeFirst(),
      ),
    noteRun: async (fire, runId) => {
      await write((writer) =>
        writer
          .updateTable('fire')
          .set({ run_id: runId })
          .where('job_id', '=', fire.job_id)
          .where('due', '=', fire.due)
          .where('state', '=', 'running')
          .where('owner', 'is', fire.owner)
          .where('begun_at', 'is', fire.begun_at)
          .execute(),
      )
    },
  }
}
