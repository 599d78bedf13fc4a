/**
 * The breaker: stops all sending when nothing gets through, or when the gateway says when to come back, and lets one request try again.
 * `closed`: all may be sent; `open`: nothing until a moment; `trying`: one request is on its way to see. Pure; times in
 * milliseconds of the clock that is handed in.
 */
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

/** The gateway answered the request, be it with a refusal. */
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

/**
 * No answer, or a useless one. Opens where nothing else is under way, or where half of what is allowed has failed in a row: what
 * hangs must not keep the rest from trying.
 */
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

/**
 * The gateway did not take it, and may have said when to come back: that holds all. Behind the first such answer the waits grow,
 * too, so that a gateway that always says one second is not asked every second.
 */
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

const asTold = (retryAfterMs: number, random: () => number): number =>
  Math.min(retryAfterMs, LONGEST_RETRY_AFTER_MS) + random() * Math.min(LONGEST_JITTER_MS, retryAfterMs / 10)
