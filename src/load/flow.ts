/**
 * What decides when the next request may leave: ceiling, pace and breaker together, for all that goes to one gateway. Pure: the clock, in
 * milliseconds, is an argument; `src/load/dispatcher.ts` carries it out.
 */
import { answered, type Breaker, begun, CLOSED, endedAside, failed, mayStartAt, notTaken } from './breaker.ts'
import { beginPace, type Pace, paceAccepted, paceBegun, paceRefused } from './pace.ts'

export interface Flow {
  /** Requests under way at once, at most. */
  readonly ceiling: number
  readonly breaker: Breaker
  readonly pace: Pace
  /** Under way, those included that were begun before the breaker opened. */
  readonly underWay: number
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

/** @param perSecond requests at most; undefined: as many as the gateway takes */
export const beginFlow = (ceiling: number, perSecond?: number): Flow => ({
  ceiling,
  breaker: CLOSED,
  pace: beginPace(perSecond),
  underWay: 0,
})

/** A ceiling below the present one changes nothing: it is that of a job that sends less than another. */
export const admit = (flow: Flow, ceiling: number): Flow => ({
  ...flow,
  ceiling: Math.max(flow.ceiling, ceiling),
})

/** When the next request may start: now, where that is past; Infinity: not before one has ended. */
export function nextStart({ breaker, ceiling, pace, underWay }: Flow): number {
  // What hangs since before the breaker opened counts for the ceiling alone: it must not keep the rest from being sent.
  if (breaker.state === 'closed' && underWay >= ceiling) return Number.POSITIVE_INFINITY
  return Math.max(mayStartAt(breaker, ceiling), pace.nextAt)
}

export const start = (flow: Flow, now: number): Flow => ({
  ...flow,
  breaker: begun(flow.breaker),
  pace: paceBegun(resumed(flow, now), now),
  underWay: flow.underWay + 1,
})

/**
 * @param epoch that of the breaker when the request started
 * @param random in [0, 1)
 */
export function end(before: Flow, epoch: number, ending: Ending, now: number, random: () => number): Flow {
  const flow = { ...before, underWay: before.underWay - 1 }
  const { breaker, ceiling, pace } = flow
  switch (ending.kind) {
    case 'aside':
      return { ...flow, breaker: endedAside(breaker, epoch) }
    case 'answered':
      return {
        ...flow,
        breaker: answered(breaker, epoch),
        pace: paceAccepted(resumed(flow, now), now, epoch !== breaker.epoch),
      }
    case 'failed':
      return { ...flow, breaker: failed(breaker, epoch, ceiling, now, random) }
    case 'not-taken': {
      const next = notTaken(breaker, epoch, ending.retryAfterMs, now, random)
      // Of what was under way together the first says it all; and a try that comes too early does not tell of the rate.
      const tells = next.epoch !== breaker.epoch && breaker.state === 'closed'
      return { ...flow, breaker: next, pace: tells ? paceRefused(pace, now) : pace }
    }
  }
}

/** What was missed while sending was held is not made up for, neither by the one that tries nor by those behind it. */
const resumed = ({ breaker, pace }: Flow, now: number): Pace =>
  breaker.state === 'closed' ? pace : { ...pace, nextAt: Math.max(pace.nextAt, now) }
