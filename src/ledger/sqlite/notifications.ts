/** The outbox: notices on their way to their targets. All processes share the outbox; a single process at a time delivers each notice. */
import type { NotificationRecord, Notifications, UntoldTarget } from '../concerns.ts'
import { advanceNotification } from '../states.ts'
import type { Exclusive } from './exclusive.ts'

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

export const notificationsOf = (turns: Exclusive): Notifications => ({
  ...outbox(turns),
  ...receivedBy(turns),
})

/** Notices on their way. */
const outbox = ({ db, write }: Exclusive): Pick<Notifications, 'add' | 'claim' | 'move' | 'revive'> => ({
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
    const state = advanceNotification(claimed.state, event)
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
          .set({ state: state === 'pending' ? state : advanceNotification(state, 'revive'), next_at: now })
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
}: Exclusive): Pick<Notifications, 'untold' | 'isNotified' | 'heardFailure' | 'countOpen'> => ({
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
