/** Fires: the instants at which jobs are due, and what became of each. Shared by all processes that keep a schedule on one ledger. */
import type { Exclusive } from './exclusive.ts'
import { advanceFire, type FireEvent } from './states.ts'
import type { FireRecord } from './tables.ts'

/** When a job is due, as it was seen last. */
export interface Timetable {
  readonly cron: string
  readonly zone: string
  /** Fires up to this instant are written down. */
  readonly seenUntil: number
}

/** What a move of a fire writes down beside its state; what is left out stays as it is. */
export type FireChange = Partial<Omit<FireRecord, 'job_id' | 'due' | 'state'>>

export interface Fires {
  /** Undefined for a job that no schedule has seen. */
  timetable(jobId: number): Promise<Timetable | undefined>
  /**
   * Writes down what has come due, and the timetable as it is from now on.
   * @param known the timetable as it was read
   * @returns false, and nothing is written, where another process has done so since
   */
  comeDue(
    jobId: number,
    known: Timetable | undefined,
    timetable: Timetable,
    dues: readonly number[],
  ): Promise<boolean>
  /** The job is on no schedule any more: what was open is skipped. */
  forget(jobId: number, reason: string, at: number): Promise<void>
  /** Fires that are not over (`due`, `missed`, `running`, `interrupted`), oldest first. */
  open(jobId: number): Promise<FireRecord[]>
  /** Newest first. */
  latest(jobId: number, limit: number): Promise<FireRecord[]>
  /**
   * @param fire as it was read
   * @returns the fire as it is then; undefined where another process has moved it since
   * @throws WaybillError `state-illegal`
   */
  move(fire: FireRecord, event: FireEvent, change?: FireChange): Promise<FireRecord | undefined>
  /** Notes the run of a fire that is running. */
  noteRun(fire: FireRecord, runId: string): Promise<void>
}

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
