/**
 * Timetables, fires, arrived files, judgements of deadlines, notices and their targets, shared by all processes of a ledger. Files are stored under
 * the name of the job, regardless of the gateway.
 */
import type { NotificationRecord, UntoldTarget } from '../concerns.ts'
import type { Ledger } from '../ledger.ts'
import type { AccountIdCipher, SealedId } from '../sealed-ids.ts'
import { advance } from '../states.ts'
import type { FireRecord } from '../tables.ts'
import type { Exclusive } from './exclusive.ts'

export const scheduleOf = (
  turns: Exclusive,
  ids: AccountIdCipher,
): Pick<Ledger, 'fires' | 'expectations' | 'notifications' | 'lastTargets'> => ({
  fires: firesOf(turns),
  expectations: expectationsOf(turns),
  notifications: notificationsOf(turns),
  lastTargets: lastTargetsOf(turns, ids),
})

function firesOf({ db, write }: Exclusive): Ledger['fires'] {
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
            .set({ state: advance('fire', state, 'skip'), ended_at: at, reason })
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
        .set({ ...change, state: advance('fire', fire.state, event) })
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

function expectationsOf({ db, write }: Exclusive): Ledger['expectations'] {
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

/** Kinds of notices that say how runs of a job go. */
const ON_RUNS = [
  'run-ended',
  'run-stopped',
  'run-refused',
  'job-broken',
  'job-late',
  'job-recovered',
] as const

const tellsFailure = (notice: string): boolean => {
  const told: unknown = JSON.parse(notice)
  return typeof told === 'object' && told !== null && 'failure' in told && told.failure === true
}

/** Notices on their way to their targets. All processes share the outbox; a single process at a time delivers each notice. */
const notificationsOf = (turns: Exclusive): Ledger['notifications'] => ({
  ...outbox(turns),
  ...receivedBy(turns),
})

const outbox = ({
  db,
  write,
}: Exclusive): Pick<Ledger['notifications'], 'add' | 'claim' | 'move' | 'revive'> => ({
  add: (jobId, notifications, at) =>
    write(async (writer) => {
      let added = 0
      for (const { messageId, ...notification } of notifications) {
        const { numInsertedOrUpdatedRows: rows = 0n } = await writer
          .insertInto('notification')
          .values({
            ...notification,
            message_id: messageId,
            job_id: jobId,
            state: 'pending',
            next_at: at,
            created_at: at,
          })
          .onConflict((conflict) => conflict.doNothing())
          .executeTakeFirst()
        added += Number(rows)
      }
      return added
    }),
  async claim(now, until) {
    // Looks outside of a writing transaction: usually nothing is due.
    for (;;) {
      const due = await db
        .selectFrom('notification')
        .innerJoin('job', 'job.id', 'notification.job_id')
        .selectAll('notification')
        .select('job.name as job')
        .where('notification.state', '=', 'pending')
        .where('next_at', '<=', now)
        .orderBy('attempts')
        .orderBy('notification.id')
        .executeTakeFirst()
      if (due === undefined) return undefined
      const claim = { attempts: due.attempts + 1, next_at: until }
      const taken = await asRead(db, due).set(claim).executeTakeFirst()
      if (taken.numUpdatedRows > 0n) return { ...due, ...claim }
    }
  },
  move: async (claimed, event, { at, nextAt, error }) => {
    const state = advance('notification', claimed.state, event)
    const moved = await asRead(db, claimed)
      .set({
        state,
        ...(nextAt === undefined ? {} : { next_at: nextAt }),
        delivered_at: state === 'delivered' ? at : null,
        error: error ?? null,
      })
      .executeTakeFirst()
    return moved.numUpdatedRows > 0n
  },
  revive: (job, now) =>
    write(async (writer) => {
      let count = 0
      for (const state of ['pending', 'given-up'] as const) {
        const revived = await writer
          .updateTable('notification')
          .set({
            state: state === 'pending' ? state : advance('notification', state, 'revive'),
            next_at: now,
          })
          .where('job_id', 'in', (of) => of.selectFrom('job').select('id').where('name', '=', job))
          .where('state', '=', state)
          .executeTakeFirst()
        count += Number(revived.numUpdatedRows)
      }
      return count
    }),
})

/** The notice, unless another process has changed it meanwhile. */
const asRead = (
  db: Exclusive['db'],
  { id, state, attempts }: Pick<NotificationRecord, 'id' | 'state' | 'attempts'>,
) =>
  db
    .updateTable('notification')
    .where('id', '=', id)
    .where('state', '=', state)
    .where('attempts', '=', attempts)

/** Notices by target and job: received, waiting, or given up. */
const receivedBy = ({
  db,
}: Exclusive): Pick<Ledger['notifications'], 'untold' | 'isNotified' | 'heardFailure' | 'countOpen'> => ({
  async untold(jobId, runId) {
    const rows = await db
      .selectFrom('notification')
      .select(['target', 'address', 'state', 'error'])
      .where('job_id', '=', jobId)
      .where('kind', 'in', ['run-ended', 'run-stopped'])
      // Subjects that begin with the run and a blank, found by the index: the exclamation mark follows the blank.
      .where('subject', '>=', `${runId} `)
      .where('subject', '<', `${runId}!`)
      .orderBy('id')
      .execute()
    const newest = new Map(rows.map((row) => [row.target, row]))
    return [...newest.values()]
      .flatMap(({ address, state, error }): UntoldTarget[] =>
        state === 'delivered' ? [] : [{ target: address, state, ...(error === null ? {} : { error }) }],
      )
      .sort((a, b) => (a.target < b.target ? -1 : 1))
  },
  async isNotified(jobId, target) {
    const latest = await db
      .selectFrom('notification')
      .select('state')
      .where('job_id', '=', jobId)
      .where('kind', '=', 'run-ended')
      .where('target', '=', target)
      .orderBy('id', 'desc')
      .limit(1)
      .executeTakeFirst()
    return latest !== undefined && latest.state !== 'given-up'
  },
  async heardFailure(jobId, target) {
    const latest = await db
      .selectFrom('notification')
      .select('notice')
      .where('job_id', '=', jobId)
      .where('kind', 'in', ON_RUNS)
      .where('target', '=', target)
      .orderBy('id', 'desc')
      .limit(1)
      .executeTakeFirst()
    return latest !== undefined && tellsFailure(latest.notice)
  },
  async countOpen(job) {
    const counted = db
      .selectFrom('notification')
      .innerJoin('job', 'job.id', 'notification.job_id')
      .where('job.name', '=', job)
      .where('state', 'in', ['pending', 'given-up'])
      .select((eb) => eb.fn.countAll<number>().as('count'))
    return (await counted.executeTakeFirstOrThrow()).count
  },
})

/**
 * Notification targets of jobs, as their files last named them: for a file that nobody can read any more. Encrypted, as addresses hold
 * secrets.
 */
const lastTargetsOf = ({ db, write }: Exclusive, cipher: AccountIdCipher): Ledger['lastTargets'] => {
  const sealedOf = async (job: string): Promise<SealedId | null> => {
    const row = await db
      .selectFrom('last_targets')
      .select('targets')
      .where('job', '=', job)
      .executeTakeFirst()
    return row?.targets ?? null
  }
  return {
    async of(job) {
      return cipher.open(await sealedOf(job)) ?? undefined
    },
    async keep(job, text) {
      const targets = cipher.seal(text)
      // Equal texts are sealed alike: a job that names the same targets writes nothing.
      if (targets === null || targets === (await sealedOf(job))) return
      await write((writer) =>
        writer
          .insertInto('last_targets')
          .values({ job, targets })
          .onConflict((conflict) => conflict.column('job').doUpdateSet({ targets }))
          .execute(),
      )
    },
  }
}
