/**
 * Timetables of jobs, fires, arrived files, and judgements of deadlines. All processes that keep a schedule on one ledger share them. Files are
 * stored under the name of the job, regardless of the gateway.
 */
import type { DeliveredFile, Expectations, Fires } from '../concerns.ts'
import { advanceFire } from '../states.ts'
import type { FireRecord } from '../tables.ts'
import type { Exclusive, Writer } from './exclusive.ts'

export function firesOf({ db, write }: Exclusive): Fires {
  const asRead = ({ job_id, due, owner, begun_at }: FireRecord) =>
    db
      .updateTable('fire')
      .where('job_id', '=', job_id)
      .where('due', '=', due)
      .where('owner', 'is not distinct from', owner)
      .where('begun_at', 'is not distinct from', begun_at)
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
        for (const state of ['due', 'missed', 'interrupted', 'retrying'] as const) {
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
        .where('state', 'in', ['due', 'missed', 'running', 'interrupted', 'retrying'])
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

/** Judgements kept of each expectation: the newest, the previous, and a third in case nobody could look at the previous deadline. */
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
            conflict
              .columns(['job', 'mapping', 'source', 'timetable', 'due'])
              .doUpdateSet(found)
              .where('deadline.judged_at', '<=', found.judged_at),
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

/** Notes that a run has begun with the file. First and latest begin are kept. */
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
