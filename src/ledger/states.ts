/** States of runs, chunks, batches, fires and notifications, and their legal moves (docs/states.md). Pure. */
import { WaybillError } from '../model/errors.ts'

/** `interrupted` runs are resumed by the next run of their job. `finished` and `failed` are final. */
export type RunState = 'running' | 'finished' | 'interrupted' | 'failed'
/** `give-up`: a person has decided to leave the run unfinished. */
type RunEvent = 'finish' | 'interrupt' | 'fail' | 'resume' | 'give-up'

/** A chunk is open from the first intent to the transaction that records all outcomes. */
export type ChunkState = 'open' | 'settled'
type ChunkEvent = 'settle'

/**
 * `planned` was not sent, unless the machine was restarted since. `sending`, found by a later process, means in doubt. `split`: refused as a
 * whole; the halves are batches of their own.
 */
export type BatchState = 'planned' | 'sending' | 'settled' | 'split'
export type BatchEvent = 'send' | 'settle' | 'split'

/**
 * Outcome of a rejected row or record, or of a record in doubt, that a run left behind. `settled`: a later run has delivered the record; this run
 * still counts a reject.
 */
export type LeftState = 'in-doubt' | 'rejected' | 'accepted' | 'settled'
/**
 * `accept`, `resend`: decision of a person. `find`, `miss`: the profile shows the record, or does not. `deliver`, `refuse`: outcome of a later
 * try.
 * `supersede`: a later run has sent a newer record in this place, so that the record no longer counts, stored or not.
 */
export type LeftEvent = 'accept' | 'resend' | 'find' | 'miss' | 'deliver' | 'refuse' | 'supersede'

/**
 * A fire: an instant at which a job is due. `missed`: the job did not run in time, and a later run may make up for the fire. `interrupted`: the
 * run was interrupted, and the next start of the schedule resumes the run. `retrying`: the gateway was away, and the run resumes at `retry_at`.
 */
export type FireState = 'due' | 'missed' | 'running' | 'interrupted' | 'retrying' | 'ended' | 'skipped'
/** `miss` of a running fire: the job was held. `interrupt` also applies to a running fire of a dead process. */
export type FireEvent = 'begin' | 'miss' | 'skip' | 'end' | 'interrupt' | 'retry' | 'resume'

/**
 * Result of a deadline for exports. `seen`: first judgement, notifies nobody. `arrived`: in time. `late`: by now. `missing`: fewer than expected.
 * `unreachable`: the source could not be read.
 */
export type DeadlineState = 'seen' | 'arrived' | 'late' | 'missing' | 'unreachable'

/** `given-up`: no more tries. */
export type NotificationState = 'pending' | 'delivered' | 'given-up'
/** `fail`: a later try follows. `revive`: a person asks for it again. */
export type NotificationEvent = 'deliver' | 'fail' | 'give-up' | 'revive'

/**
 * Builds a function from state and event to the next state.
 * @throws `state-illegal`, from the built function, for an illegal move
 */
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
    finish: 'finished',
    interrupt: 'interrupted',
    fail: 'failed',
    resume: 'running',
    'give-up': 'failed',
  },
  interrupted: { resume: 'running', 'give-up': 'failed' },
})
export const advanceChunk = moves<ChunkState, ChunkEvent>('chunk', { open: { settle: 'settled' } })
const OF_BATCH: Readonly<Partial<Record<BatchState, Partial<Record<BatchEvent, BatchState>>>>> = {
  planned: { send: 'sending' },
  sending: { send: 'sending', settle: 'settled', split: 'split' },
}
export const advanceBatch = moves('batch', OF_BATCH)
/** States in which an event is legal. */
export const batchStatesBefore = (event: BatchEvent): BatchState[] =>
  (['planned', 'sending', 'settled', 'split'] as const).filter(
    (state) => OF_BATCH[state]?.[event] !== undefined,
  )
export const advanceLeft = moves<LeftState, LeftEvent>('record', {
  'in-doubt': {
    accept: 'accepted',
    resend: 'in-doubt',
    find: 'accepted',
    miss: 'rejected',
    deliver: 'settled',
    refuse: 'rejected',
    supersede: 'settled',
  },
  rejected: { deliver: 'settled' },
})
export const advanceFire = moves<FireState, FireEvent>('fire', {
  due: { begin: 'running', miss: 'missed', skip: 'skipped' },
  missed: { begin: 'running', skip: 'skipped' },
  running: { end: 'ended', interrupt: 'interrupted', retry: 'retrying', miss: 'missed' },
  interrupted: { resume: 'running', skip: 'skipped' },
  retrying: { resume: 'running', end: 'ended', skip: 'skipped' },
})
export const advanceNotification = moves<NotificationState, NotificationEvent>('notification', {
  pending: { deliver: 'delivered', fail: 'pending', 'give-up': 'given-up' },
  'given-up': { revive: 'pending' },
})
