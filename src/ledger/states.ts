/**
 * States of runs, chunks, batches, fires and notifications, and their legal moves (docs/states.md). Pure.
 */
import { WaybillError } from '../model/errors.ts'

/** `interrupted` runs are resumed by the next run of their job; the other ends are final. */
export type RunState = 'running' | 'finished' | 'interrupted' | 'failed'
/** `give-up`: a person has decided that it is not to be finished. */
export type RunEvent = 'finish' | 'interrupt' | 'fail' | 'resume' | 'give-up'

/** A chunk is open from its first intent to the transaction that records all of its outcomes. */
export type ChunkState = 'open' | 'settled'
export type ChunkEvent = 'settle'

/**
 * `planned` was not sent, unless the machine was started again since. `sending` found by a later process means in doubt. `split`: refused
 * as a whole, its halves are batches of their own.
 */
export type BatchState = 'planned' | 'sending' | 'settled' | 'split'
export type BatchEvent = 'send' | 'settle' | 'split'

/**
 * What has become of something that a run left behind: a row or record that it rejected, or a record in doubt. `settled`: a later run
 * has got it through, and counts it as accepted; it is among what its own run has rejected.
 */
export type LeftState = 'in-doubt' | 'rejected' | 'accepted' | 'settled'
/**
 * `accept`, `resend`: a person has decided. `find`, `miss`: the profile shows that it is stored, or that it is not. `deliver`,
 * `refuse`: a later run has sent it. `supersede`: a later run has sent what is newer in its place, so that it stands no longer, if it ever did.
 */
export type LeftEvent = 'accept' | 'resend' | 'find' | 'miss' | 'deliver' | 'refuse' | 'supersede'

/**
 * A fire: an instant at which a job is due. `missed`: it did not run at its time, and may be made up for. `interrupted`: its run was,
 * and the next start of the schedule goes on with it.
 */
export type FireState = 'due' | 'missed' | 'running' | 'interrupted' | 'ended' | 'skipped'
/** `miss` of one that is running: the job was held. `interrupt` is also said of what a process that is gone has left running. */
export type FireEvent = 'begin' | 'miss' | 'skip' | 'end' | 'interrupt' | 'resume'

/**
 * What was found when exports had to have arrived. `seen`: the first of an expectation, which is not told of. `arrived`: in time; `late`: by now; `missing`: not as many as expected;
 * `unreachable`: nobody could look.
 */
export type DeadlineState = 'seen' | 'arrived' | 'late' | 'missing' | 'unreachable'

/** `given-up`: not tried any more. */
export type NotificationState = 'pending' | 'delivered' | 'given-up'
/** `fail`: it is tried again later. */
export type NotificationEvent = 'deliver' | 'fail' | 'give-up'

/** @returns the state that an event leads to. @throws WaybillError `state-illegal` where none leads from there */
const moves =
  <State extends string, Event extends string>(
    what: string,
    table: Readonly<Partial<Record<State, Partial<Record<Event, State>>>>>,
  ) =>
  (state: State, event: Event): State => {
    const next = table[state]?.[event]
    if (next !== undefined) return next
    throw new WaybillError('state-illegal', `a ${what} that is ${state} cannot ${event}`)
  }

export const advanceRun = moves<RunState, RunEvent>('run', {
  running: {
    ...{ finish: 'finished', interrupt: 'interrupted', fail: 'failed', resume: 'running' },
    'give-up': 'failed',
  },
  interrupted: { resume: 'running', 'give-up': 'failed' },
})
export const advanceChunk = moves<ChunkState, ChunkEvent>('chunk', { open: { settle: 'settled' } })
export const advanceBatch = moves<BatchState, BatchEvent>('batch', {
  planned: { send: 'sending' },
  sending: { send: 'sending', settle: 'settled', split: 'split' },
})
export const advanceLeft = moves<LeftState, LeftEvent>('record', {
  'in-doubt': {
    ...{ accept: 'accepted', resend: 'in-doubt', find: 'accepted', miss: 'rejected' },
    ...{ deliver: 'settled', refuse: 'rejected', supersede: 'settled' },
  },
  rejected: { deliver: 'settled' },
})
export const advanceFire = moves<FireState, FireEvent>('fire', {
  due: { begin: 'running', miss: 'missed', skip: 'skipped' },
  missed: { begin: 'running', skip: 'skipped' },
  running: { end: 'ended', interrupt: 'interrupted', miss: 'missed' },
  interrupted: { resume: 'running', skip: 'skipped' },
})
export const advanceNotification = moves<NotificationState, NotificationEvent>('notification', {
  pending: { deliver: 'delivered', fail: 'pending', 'give-up': 'given-up' },
})
