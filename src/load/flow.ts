/**
 * Decides when the next request to a gateway may leave: ceiling, pace and breaker together. Pure; the clock, in milliseconds, is an argument.
 *
 * The breaker stops all sending when nothing gets through, or while the gateway has asked for a wait (Retry-After), and then lets one request
 * try. `closed`: all may be sent; `open`: nothing until a moment; `trying`: one request is on its way.
 *
 * The pace is requests a second, found from what the gateway refuses (429, 503 with Retry-After, 408). There is none until it refuses
 * some; then what was getting through becomes the pace. It falls with each refusal, and rises in steps that double after a time of quiet.
 */

export interface Flow {
  /** Requests under way at once, at most. */
  readonly ceiling: number
  readonly breaker: Breaker
  readonly pace: Pace
  /** Under way, those included that were begun before the breaker opened. */
  readonly underWay: number
}

/** End of a request: answered or not taken by the gateway, failed without a useful answer, or `aside`, for a reason that is none of the gateway. */
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

/** A lower ceiling changes nothing: another job sends less. */
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

/** Requests that were missed while sending was held are not made up for. */
const resumed = ({ breaker, pace }: Flow, now: number): Pace =>
  breaker.state === 'closed' ? pace : { ...pace, nextAt: Math.max(pace.nextAt, now) }

export interface Breaker {
  readonly state: 'closed' | 'open' | 'trying'
  /** While open: nothing is sent before. */
  readonly until: number
  /** While open: until when the gateway has asked for nothing to be sent. */
  readonly notBefore: number
  /** Openings since something got through. */
  readonly openings: number
  /** Failures since something got through. Each keeps its place among those under way: an outage is not fed with new requests. */
  readonly failures: number
  /** Requests under way that were begun in this epoch. */
  readonly underWay: number
  /** Begins with each opening. What was sent before it does not tell how things stand now. */
  readonly epoch: number
}

/** Waits between two tries double from the first to the longest, each ±20 %. */
const FIRST_WAIT_MS = 500
const LONGEST_WAIT_MS = 15_000
/** A gateway that says a year is asked again after this. */
const LONGEST_RETRY_AFTER_MS = 15 * 60_000
/** What is added to a Retry-After, at most, so that several clients do not return together; of a short one a tenth. */
const LONGEST_JITTER_MS = 500

export const CLOSED: Breaker = {
  state: 'closed',
  until: Number.NEGATIVE_INFINITY,
  notBefore: Number.NEGATIVE_INFINITY,
  openings: 0,
  failures: 0,
  underWay: 0,
  epoch: 0,
}

/** When the next request may start: a moment, now where it is past; Infinity: not before one under way has ended. */
export function mayStartAt({ state, until, underWay, failures }: Breaker, allowed: number): number {
  if (state === 'closed')
    return underWay + failures < allowed ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
  return state === 'open' ? until : Number.POSITIVE_INFINITY
}

export function begun(breaker: Breaker): Breaker {
  const state = breaker.state === 'open' ? 'trying' : breaker.state
  return { ...breaker, state, underWay: breaker.underWay + 1 }
}

export function answered(breaker: Breaker, epoch: number): Breaker {
  if (epoch !== breaker.epoch) return breaker
  return { ...CLOSED, epoch, underWay: breaker.underWay - 1 }
}

/** It ended, and tells nothing of the gateway. */
export function endedAside(breaker: Breaker, epoch: number): Breaker {
  if (epoch !== breaker.epoch) return breaker
  const underWay = breaker.underWay - 1
  // The one that tried has found out nothing: the next one is to.
  const state = breaker.state === 'trying' ? 'open' : breaker.state
  return { ...breaker, state, underWay }
}

/** Opens where nothing else is under way, or half of what is allowed has failed in a row: what hangs must not keep the rest from trying. */
export function failed(
  breaker: Breaker,
  epoch: number,
  allowed: number,
  now: number,
  random: () => number,
): Breaker {
  if (epoch !== breaker.epoch) return breaker
  const failures = breaker.failures + 1
  const underWay = breaker.underWay - 1
  if (breaker.state === 'closed' && underWay > 0 && failures < allowed / 2)
    return { ...breaker, failures, underWay }
  return open(breaker, now + backoff(breaker.openings, random))
}

/** A Retry-After holds all requests. Behind the first the waits grow, too, so that a gateway that always says one second is not asked every second. */
export function notTaken(
  breaker: Breaker,
  epoch: number,
  retryAfterMs: number | undefined,
  now: number,
  random: () => number,
): Breaker {
  const told = retryAfterMs === undefined ? 0 : asTold(retryAfterMs, random)
  const notBefore = now + told
  if (epoch !== breaker.epoch) {
    if (breaker.state !== 'open') return breaker
    const later = Math.max(breaker.notBefore, notBefore)
    return { ...breaker, until: Math.max(breaker.until, notBefore), notBefore: later }
  }
  const own = retryAfterMs === undefined || breaker.openings > 0 ? backoff(breaker.openings, random) : 0
  return { ...open(breaker, now + Math.max(told, own)), notBefore }
}

/** Brings the next try forward to that moment, but not before the one that the gateway has asked for. */
export function hastened(breaker: Breaker, at: number): Breaker {
  if (breaker.state !== 'open') return breaker
  return { ...breaker, until: Math.min(breaker.until, Math.max(at, breaker.notBefore)) }
}

const open = ({ openings, epoch }: Breaker, until: number): Breaker => ({
  state: 'open',
  until,
  notBefore: Number.NEGATIVE_INFINITY,
  openings: openings + 1,
  failures: 0,
  underWay: 0,
  epoch: epoch + 1,
})

const backoff = (openings: number, random: () => number): number =>
  Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** openings) * (0.8 + 0.4 * random())

export const asTold = (retryAfterMs: number, random: () => number): number =>
  Math.min(retryAfterMs, LONGEST_RETRY_AFTER_MS) + random() * Math.min(LONGEST_JITTER_MS, retryAfterMs / 10)

export interface Pace {
  /** Requests a second at most, whatever the gateway takes; Infinity: nobody has asked for a limit. */
  readonly limit: number
  /** Requests a second that the gateway seems to permit; Infinity: as many as there are. */
  readonly rate: number
  /** By which share the next step raises it. */
  readonly step: number
  readonly changedAt: number
  /** Milliseconds that this rate lasts before more is tried. */
  readonly quietMs: number
  /** When the next request may start. */
  readonly nextAt: number
  /** When a request last started as soon as the rate let it: below that, there was nothing more to send. */
  readonly boundAt: number
  /** Requests that got through since one was refused or the rate was raised. */
  readonly accepted: number
  /** Whether the rate was measured, and what was under way with the refused request and gets through still belongs to it. */
  readonly isMeasured: boolean
  readonly throughput: Throughput
}

/** Room under what was getting through: the gateway's clock and ours do not tick together. */
const MARGIN = 0.98
/** What is left of a rate that is refused. */
const CUT = 0.9
/** One refused in so many is not a matter of the rate: nothing is gained by going slower. */
const RARE = 200
/** A rate lasts so long before more is tried, at most. */
const QUIET_MS = 45_000
/** And so long for each request that it was measured by: few requests refused by chance look like a low limit. */
const QUIET_EACH_MS = 2_000
const FIRST_STEP = 0.02
/** How long a step is tried before the next, which is twice as large. */
const STEP_MS = 1_000
/** What a late timer may catch up on. */
const CATCH_UP_MS = 250

/** @param limit requests a second at most; undefined: as many as the gateway takes */
export const beginPace = (limit = Number.POSITIVE_INFINITY): Pace => ({
  limit,
  rate: Number.POSITIVE_INFINITY,
  step: FIRST_STEP,
  changedAt: 0,
  quietMs: QUIET_MS,
  nextAt: Number.NEGATIVE_INFINITY,
  boundAt: Number.NEGATIVE_INFINITY,
  accepted: 0,
  isMeasured: false,
  throughput: { beganAt: Number.NEGATIVE_INFINITY, current: 0, previous: 0 },
})

export function paceBegun(pace: Pace, now: number): Pace {
  const { limit, rate, nextAt } = pace
  // In no second may more leave than somebody has asked for, so that a limit is not caught up with.
  const earliest = limit <= rate ? now : now - CATCH_UP_MS
  return {
    ...pace,
    nextAt: Math.max(nextAt, earliest) + 1_000 / Math.min(limit, rate),
    boundAt: rate < limit && nextAt > earliest ? now : pace.boundAt,
  }
}

/** @param late whether it was sent before what was refused last */
export function paceAccepted(pace: Pace, now: number, late: boolean): Pace {
  const { rate, step, changedAt, quietMs } = pace
  const counted = { ...pace, accepted: pace.accepted + 1, throughput: count(pace.throughput, now) }
  if (late) return pace.isMeasured ? { ...counted, rate: rate + MARGIN } : counted
  const lastsMs = step === FIRST_STEP ? quietMs : STEP_MS
  if (now - changedAt < lastsMs || !isBound(pace, now)) return counted
  return { ...counted, rate: rate * (1 + step), step: Math.min(1, step * 2), changedAt: now, accepted: 0 }
}

/** The gateway did not take a request, for the first time since it was last let go on. */
export function paceRefused(pace: Pace, now: number): Pace {
  const { rate, step, accepted, quietMs } = pace
  const refused = { ...pace, accepted: 0 }
  if (accepted >= RARE) return refused
  const settle = (to: number, isMeasured: boolean, forMs: number): Pace => ({
    ...refused,
    rate: to,
    isMeasured,
    quietMs: Math.min(QUIET_MS, forMs),
    step: FIRST_STEP,
    changedAt: now,
    nextAt: now,
    boundAt: now,
  })
  if (isBound(pace, now)) {
    if (step > FIRST_STEP) return settle((rate / (1 + step / 2)) * MARGIN, false, 2 * quietMs)
    // Less than a second's worth, and that is how much there was to be had.
    return settle(Math.max(rate / 2, Math.min(rate * CUT, accepted * MARGIN)), false, 2 * quietMs)
  }
  const measured = lately(pace.throughput, now)
  return measured === 0 ? refused : settle(measured * MARGIN, true, measured * QUIET_EACH_MS)
}

/** Whether the rate was what held requests back, lately. */
const isBound = ({ boundAt, rate }: Pace, now: number): boolean => now - boundAt < STEP_MS + 1_000 / rate

/** Requests that got through in this second, and in the one before. */
interface Throughput {
  readonly beganAt: number
  readonly current: number
  readonly previous: number
}

function count(throughput: Throughput, now: number): Throughput {
  const moved = moveTo(throughput, now)
  return { ...moved, current: moved.current + 1 }
}

/** Requests of the last second: its part in the second before is estimated. */
function lately(throughput: Throughput, now: number): number {
  const { current, previous, beganAt } = moveTo(throughput, now)
  return current + previous * (1 - (now - beganAt) / 1_000)
}

function moveTo(throughput: Throughput, now: number): Throughput {
  const { beganAt, current } = throughput
  const passed = now - beganAt
  if (passed < 1_000) return throughput
  if (passed < 2_000) return { beganAt: beganAt + 1_000, current: 0, previous: current }
  return { beganAt: now, current: 0, previous: 0 }
}
