/**
 * What decides when the next request may leave: concurrency, pace, breaker and the rate that was asked for together, for all that goes to one gateway. Pure: the
 * clock, in milliseconds, is an argument; `src/load/dispatcher.ts` carries it out.
 */
import { answered, type Breaker, begun, CLOSED, endedAside, failed, mayStartAt, notTaken } from './breaker.ts'
import {
  beginConcurrency,
  type Concurrency,
  grow,
  type Latency,
  lower,
  mayBegin,
  NO_LATENCY,
  NO_PACE,
  observe,
  type Pace,
  paceAccepted,
  paceBegun,
  paceRefused,
  type RateLimit,
  raiseCeiling,
  rateBegun,
  rateLimit,
} from './pace.ts'

export interface Flow {
  readonly concurrency: Concurrency
  readonly breaker: Breaker
  readonly pace: Pace
  readonly rateLimit: RateLimit
  /** By the name of the operation: a batch takes longer than a registration. */
  readonly latencies: ReadonlyMap<string, Latency>
  /** Under way, those included that were begun before the breaker opened. */
  readonly underWay: number
  /** Since when the breaker is not closed. */
  readonly heldSince: number | undefined
  /** How long it was not, before that. */
  readonly heldMs: number
}

/** Given to a request when it starts, and brought back when it ends. */
export interface Ticket {
  readonly startedAt: number
  readonly epoch: number
}

/**
 * How a request ended: `answered` by the gateway, `not-taken` by it, `failed` without an answer that is worth anything, or
 * `aside`, for a reason that has nothing to do with the gateway.
 */
export type Ending =
  | { readonly kind: 'answered' }
  | { readonly kind: 'not-taken'; readonly retryAfterMs: number | undefined }
  | { readonly kind: 'failed' }
  | { readonly kind: 'aside' }

/** What is left of the concurrency where answers take far too long, */
const OVERLOADED_FACTOR = 0.8
/** where a request was not taken and there was no pace, */
const NOT_TAKEN_FACTOR = 0.5
/** and where there was one, which is what has to change. */
const PACED_FACTOR = 0.75

/** @param perSecond requests at most; undefined: as many as the gateway takes */
export function beginFlow(ceiling: number, perSecond?: number): Flow {
  return {
    concurrency: beginConcurrency(ceiling),
    breaker: CLOSED,
    pace: NO_PACE,
    rateLimit: rateLimit(perSecond),
    latencies: new Map(),
    underWay: 0,
    heldSince: undefined,
    heldMs: 0,
  }
}

export function admit(flow: Flow, ceiling: number): Flow {
  return { ...flow, concurrency: raiseCeiling(flow.concurrency, ceiling) }
}

/** When the next request may start: now, where that is past; Infinity: not before one has ended. */
export function nextStart(flow: Flow, now: number): number {
  const { breaker, concurrency, pace, underWay } = flow
  // What hangs since before the breaker opened counts for the ceiling alone: it must not keep the rest from being sent.
  if (breaker.state === 'closed' && underWay >= concurrency.ceiling) return Number.POSITIVE_INFINITY
  const allowedAt = Math.max(mayStartAt(breaker, concurrency.allowed), mayBegin(flow.rateLimit))
  if (pace.rate === undefined || breaker.state !== 'closed') return allowedAt
  return Math.max(allowedAt, now + pace.nextAt - freeTime(flow, now))
}

export function start(flow: Flow, now: number): { readonly flow: Flow; readonly ticket: Ticket } {
  return {
    flow: {
      ...flow,
      breaker: begun(flow.breaker),
      pace: paceBegun(flow.pace, freeTime(flow, now)),
      rateLimit: rateBegun(flow.rateLimit, now),
      underWay: flow.underWay + 1,
    },
    ticket: { startedAt: now, epoch: flow.breaker.epoch },
  }
}

/**
 * @param operation names requests that take about the same time
 * @param random in [0, 1)
 */
export function end(
  before: Flow,
  { startedAt, epoch }: Ticket,
  operation: string,
  ending: Ending,
  now: number,
  random: () => number,
): Flow {
  const flow = { ...before, underWay: before.underWay - 1 }
  const { breaker, concurrency, pace } = flow
  const free = freeTime(flow, now)
  const round = { startedAt, now }
  switch (ending.kind) {
    case 'aside':
      return withBreaker(flow, endedAside(breaker, epoch), now)
    case 'answered':
      return withBreaker(
        { ...timed(flow, operation, round), pace: paceAccepted(pace, free, epoch !== breaker.epoch) },
        answered(breaker, epoch),
        now,
      )
    case 'failed': {
      const next = failed(breaker, epoch, concurrency.allowed, now, random)
      // After an outage it begins with one at once, and grows: the gateway is not met by all that waited.
      const lowered = next.epoch === breaker.epoch ? concurrency : lower(concurrency, 0, round)
      return withBreaker({ ...flow, concurrency: lowered }, next, now)
    }
    case 'not-taken': {
      const next = notTaken(breaker, epoch, ending.retryAfterMs, now, random)
      // Of what was under way together the first says it all; and a try that comes too early does not tell of the rate.
      if (next.epoch === breaker.epoch || breaker.state !== 'closed') return withBreaker(flow, next, now)
      const factor = pace.rate === undefined ? NOT_TAKEN_FACTOR : PACED_FACTOR
      return withBreaker(
        { ...flow, concurrency: lower(concurrency, factor, round), pace: paceRefused(pace, free) },
        next,
        now,
      )
    }
  }
}

/** Takes the time of an answer into account, where the request started after the concurrency was lowered. */
function timed(flow: Flow, operation: string, round: { startedAt: number; now: number }): Flow {
  const { concurrency } = flow
  if (round.startedAt < concurrency.loweredAt) return flow
  const latency = observe(flow.latencies.get(operation) ?? NO_LATENCY, round.now - round.startedAt)
  const latencies = new Map(flow.latencies).set(operation, latency)
  const isNew = latency.samples.length === 0
  if (isNew && latency.verdict === 'overloaded')
    return { ...flow, latencies, concurrency: lower(concurrency, OVERLOADED_FACTOR, round) }
  return { ...flow, latencies, concurrency: latency.verdict === 'good' ? grow(concurrency) : concurrency }
}

function withBreaker(flow: Flow, breaker: Breaker, now: number): Flow {
  const { heldSince, heldMs } = flow
  if (breaker.state !== 'closed') return { ...flow, breaker, heldSince: heldSince ?? now }
  if (heldSince === undefined) return { ...flow, breaker }
  return { ...flow, breaker, heldSince: undefined, heldMs: heldMs + now - heldSince }
}

/** Milliseconds in which sending was not held. */
const freeTime = ({ heldSince, heldMs }: Flow, now: number): number => (heldSince ?? now) - heldMs
