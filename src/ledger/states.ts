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
 * `refuse`: a later run has sent it.
 */
export type LeftEvent = 'accept' | 'resend' | 'find' | 'miss' | 'deliver' | 'refuse'

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

const RUN_MOVES: Readonly<Record<RunState, Partial<Record<RunEvent, RunState>>>> = {
  running: {
    finish: 'finished',
    interrupt: 'interrupted',
    fail: 'failed',
    resume: 'running',
    'give-up': 'failed',
  },
  interrupted: { resume: 'running', 'give-up': 'failed' },
  finished: {},
  failed: {},
}

const CHUNK_MOVES: Readonly<Record<ChunkState, Partial<Record<ChunkEvent, ChunkState>>>> = {
  open: { settle: 'settled' },
  settled: {},
}

const BATCH_MOVES: Readonly<Record<BatchState, Partial<Record<BatchEvent, BatchState>>>> = {
  planned: { send: 'sending' },
  sending: { send: 'sending', settle: 'settled', split: 'split' },
  settled: {},
  split: {},
}

const LEFT_MOVES: Readonly<Record<LeftState, Partial<Record<LeftEvent, LeftState>>>> = {
  'in-doubt': {
    accept: 'accepted',
    resend: 'in-doubt',
    find: 'accepted',
    miss: 'rejected',
    deliver: 'settled',
    refuse: 'rejected',
  },
  rejected: { deliver: 'settled' },
  accepted: {},
  settled: {},
}

const FIRE_MOVES: Readonly<Record<FireState, Partial<Record<FireEvent, FireState>>>> = {
  due: { begin: 'running', miss: 'missed', skip: 'skipped' },
  missed: { begin: 'running', skip: 'skipped' },
  running: { end: 'ended', interrupt: 'interrupted', miss: 'missed' },
  interrupted: { resume: 'running', skip: 'skipped' },
  ended: {},
  skipped: {},
}

const NOTIFICATION_MOVES: Readonly<
  Record<NotificationState, Partial<Record<NotificationEvent, NotificationState>>>
> = {
  pending: { deliver: 'delivered', fail: 'pending', 'give-up': 'given-up' },
  delivered: {},
  'given-up': {},
}

export const advanceRun = (state: RunState, event: RunEvent): RunState => move('run', RUN_MOVES, state, event)
export const advanceChunk = (state: ChunkState, event: ChunkEvent): ChunkState =>
  move('chunk', CHUNK_MOVES, state, event)
export const advanceBatch = (state: BatchState, event: BatchEvent): BatchState =>
  move('batch', BATCH_MOVES, state, event)
export const advanceLeft = (state: LeftState, event: LeftEvent): LeftState =>
  move('record', LEFT_MOVES, state, event)
export const advanceFire = (state: FireState, event: FireEvent): FireState =>
  move('fire', FIRE_MOVES, state, event)
export const advanceNotification = (state: NotificationState, event: NotificationEvent): NotificationState =>
  move('notification', NOTIFICATION_MOVES, state, event)

/** @throws WaybillError `state-illegal` */
function move<State extends string, Event extends string>(
  what: string,
  moves: Readonly<Record<State, Partial<Record<Event, State>>>>,
  state: State,
  event: Event,
): State {
  const next = moves[state][event]
  if (next === undefined)
    throw new WaybillError('state-illegal', `a ${what} that is ${state} cannot ${event}`)
  return next
}
