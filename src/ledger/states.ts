/** States of runs, chunks, batches, fires and notifications, and their legal moves (docs/states.md). Pure. */
import { WaybillError } from '../model/errors.ts'

/** Checks that moves lead to states of the table. */
const table = <
  const Moves extends { readonly [State in keyof Moves]: Readonly<Record<string, keyof Moves>> },
>(
  moves: Moves,
): Moves => moves

/** Next state by state and event. */
const MOVES = {
  /**
   * `interrupted` runs are resumed by the next run of their job. `finished` and `failed` are final. `give-up`: a person has decided to leave the
   * run unfinished.
   */
  run: table({
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
  }),
  /** A chunk is open from the first intent to the transaction that records all outcomes. */
  chunk: table({ open: { settle: 'settled' }, settled: {} }),
  /**
   * `planned` was not sent, unless the machine was restarted since. `sending`, found by a later process, means in doubt. `split`: refused as a
   * whole; the halves are batches of their own.
   */
  batch: table({
    planned: { send: 'sending' },
    sending: { send: 'sending', settle: 'settled', split: 'split' },
    settled: {},
    split: {},
  }),
  /**
   * Outcome of a rejected row or record, or of a record in doubt, that a run left behind. `settled`: a later run has delivered the record; this
   * run still counts a reject.
   * `accept`, `resend`: decision of a person. `find`, `miss`: the profile shows the record, or does not. `deliver`, `refuse`: outcome of a
   * later try. `supersede`: a later run has sent a newer record in this place, so that the record no longer counts, stored or not.
   */
  record: table({
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
    accepted: {},
    settled: {},
  }),
  /**
   * A fire: an instant at which a job is due. `missed`: the job did not run in time, and a later run may make up for the fire. `interrupted`: the
   * run was interrupted, and the next start of the schedule resumes the run. `retrying`: the gateway was away, and the run resumes at `retry_at`.
   * `miss` of a running fire: the job was held. `interrupt` also applies to a running fire of a dead process.
   */
  fire: table({
    due: { begin: 'running', miss: 'missed', skip: 'skipped' },
    missed: { begin: 'running', skip: 'skipped' },
    running: { end: 'ended', interrupt: 'interrupted', retry: 'retrying', miss: 'missed' },
    interrupted: { resume: 'running', end: 'ended', skip: 'skipped' },
    retrying: { resume: 'running', end: 'ended', skip: 'skipped' },
    ended: {},
    skipped: {},
  }),
  /** `given-up`: no more tries. `fail`: a later try follows. `revive`: a person asks for it again. */
  notification: table({
    pending: { deliver: 'delivered', fail: 'pending', 'give-up': 'given-up' },
    'given-up': { revive: 'pending' },
    delivered: {},
  }),
}

type Kind = keyof typeof MOVES
export type StateOf<Of extends Kind> = keyof (typeof MOVES)[Of]
export type EventOf<Of extends Kind> = {
  [State in StateOf<Of>]: keyof (typeof MOVES)[Of][State]
}[StateOf<Of>]

export type RunState = StateOf<'run'>
export type LeftEvent = EventOf<'record'>

/**
 * Result of a deadline for exports. `seen`: first judgement, notifies nobody. `arrived`: in time. `late`: by now. `missing`: fewer than expected.
 * `unreachable`: the source could not be read.
 */
export type DeadlineState = 'seen' | 'arrived' | 'late' | 'missing' | 'unreachable'

function movesOf<Of extends Kind>(of: Of) {
  const moves: Readonly<Record<string, Readonly<Record<string, string>>>> = MOVES[of]
  // The cast is sound: the moves of a table lead to its states.
  return moves as Readonly<Record<StateOf<Of>, Readonly<Partial<Record<EventOf<Of>, StateOf<Of>>>>>>
}

/** @throws `state-illegal` for an illegal move */
export function advance<Of extends Kind>(of: Of, state: StateOf<Of>, event: EventOf<Of>): StateOf<Of> {
  const next = movesOf(of)[state][event]
  if (next !== undefined) return next
  throw new WaybillError('state-illegal', `a ${of} that is ${String(state)} cannot ${String(event)}`)
}

/** States in which an event is legal. */
export const statesBefore = <Of extends Kind>(of: Of, event: EventOf<Of>): StateOf<Of>[] =>
  (Object.keys(MOVES[of]) as StateOf<Of>[]).filter((state) => movesOf(of)[state][event] !== undefined)
