/** Fires: the instants at which jobs are due, and what became of each. Shared by all processes that keep a schedule on one ledger. */
import type { Fires } from '../concerns.ts'
import { advanceFire } from '../states.ts'
import type { FireRecord } from '../tables.ts'
import type { Exclusive } from './exclusive.ts'

export function firesOf({ db, write }: Exclusive): Fires {
  const asRead = ({ job_id, due, owner, begun_at }: FireRecord) =>
    db
      .updateTable('fire')
      .where('job_id', '=', job_id)
      .where('due', '=', due)
      .where('owner', 'is', owner)
      .where('begun_at', 'is', begun_at)
  return {
    timetable: async (jobId) => {
      const row = await db.selectFrom('timetable').selectAll().where('job_id', '=', jobId).executeTakeFirst()
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
      db
        .selectFrom('fire')
        .selectAll()
        .where('job_id', '=', jobId)
        .where('state', 'in', ['due', 'missed', 'running', 'interrupted'])
        .orderBy('due')
        .execute(),
    latest: (jobId, limit) =>
      db
        .selectFrom('fire')
        .selectAll()
        .where('job_id', '=', jobId)
        .orderBy('due', 'desc')
        .limit(limit)
        .execute(),
    move: async (fire, event, change = {}) =>
      asRead(fire)
        .set({ ...change, state: advanceFire(fire.state, event) })
        .where('state', '=', fire.state)
        .returningAll()
        .executeTakeFirst(),
    async noteRun(fire, runId) {
      await asRead(fire).set({ run_id: runId }).where('state', '=', 'running').execute()
    },
  }
}
