/**
 * Decides when the next request to a gateway may leave: ceiling, pace and breaker together. Pure; the clock, in milliseconds, is an argument.
 * The breaker stops all sending during an outage, or a wait that the gateway requested (Retry-After), then lets one request try. `closed`: all
 * requests may leave; `open`: none until a time; `trying`: one is in flight.
 * The pace, in requests a second, is learned from refusals (429, 503 with Retry-After, 408): none at first, then the measured throughput,
 * lowered by each refusal. After a quiet time the pace rises in steps that double.
 */
import type { Granted } from './share.ts'

export interface Flow {
  readonly ceiling: number
  readonly breaker: Breaker
  readonly pace: Pace
  /** Requests in flight, including those started before the breaker opened. */
  readonly underWay: number
  /** Part of the ceiling that this process has; Infinity where no other one sends. */
  readonly slots: number
}

/** End of a request: answered or not taken by the gateway, failed without a useful answer, or `aside`, for a reason unrelated to the gateway. */
export type Ending =
  | { kind: 'answered' }
  | { kind: 'not-taken'; retryAfterMs: number | undefined }
  | { kind: 'failed' }
  | { kind: 'aside' }

/** @param perSecond most requests a second; undefined: as many as the gateway takes */
export const beginFlow = (ceiling: number, perSecond?: number): Flow => ({
  ceiling,
  breaker: CLOSED,
  pace: beginPace(perSecond),
  underWay: 0,
  slots: Number.POSITIVE_INFINITY,
})

/** Takes over what was granted to this process, and the hold that another one has heard of. */
export function adopt(flow: Flow, { slots, rate, hold }: Granted, now: number): Flow {
  const { pace } = flow
  const isNew = rate !== undefined && pace.rate === Number.POSITIVE_INFINITY
  const paced = { ...pace, rate: rate ?? pace.rate, ...(isNew ? { changedAt: now, nextAt: now } : {}) }
  return { ...flow, slots, pace: paced, breaker: held(flow.breaker, hold, now) }
}

function held(breaker: Breaker, hold: Granted['hold'], now: number): Breaker {
  if (hold === undefined || hold.forMs <= 0) return breaker
  const [until, notBefore] = [now + hold.forMs, now + hold.askedForMs]
  if (breaker.state !== 'open')
    return { ...open(breaker, until), notBefore, openings: Math.max(breaker.openings, hold.openings) }
  return {
    ...breaker,
    until: Math.max(breaker.until, until),
    notBefore: Math.max(breaker.notBefore, notBefore),
  }
}

/** Raises the ceiling. A lower ceiling changes nothing: another job sends less. */
export const admit = (flow: Flow, ceiling: number): Flow => ({
  ...flow,
  ceiling: Math.max(flow.ceiling, ceiling),
})

/** Earliest start of the next request: now if past; Infinity: not before a request has ended. */
export function nextStart({ breaker, ceiling: ofAll, slots, pace, underWay }: Flow): number {
  const ceiling = Math.min(ofAll, slots)
  if (slots === 0) return Number.POSITIVE_INFINITY
  // A request hanging since before the breaker opened counts only for the ceiling, so that the rest can be sent.
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
 * @param epoch of the breaker when the request started
 * @param random in [0, 1)
 */
export function end(before: Flow, epoch: number, ending: Ending, now: number, random: () => number): Flow {
  const flow = { ...before, underWay: before.underWay - 1 }
  const { breaker, pace } = flow
  const ceiling = Math.min(flow.ceiling, flow.slots)
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
      // Among requests in flight together the first refusal counts alone. A try that comes too early says nothing about the rate.
      const tells = next.epoch !== breaker.epoch && breaker.state === 'closed'
      return { ...flow, breaker: next, pace: tells ? paceRefused(pace, now) : pace }
    }
  }
}

/** Requests missed during a hold are not caught up. */
const resumed = ({ breaker, pace }: Flow, now: number): Pace =>
  breaker.state === 'closed' ? pace : { ...pace, nextAt: Math.max(pace.nextAt, now) }

export interface Breaker {
  readonly state: 'closed' | 'open' | 'trying'
  /** While open: earliest time of the next request. */
  readonly until: number
  /** While open: end of the wait requested by the gateway. */
  readonly notBefore: number
  /** Openings since the last success. */
  readonly openings: number
  /** Failures since the last success. Each occupies a place in flight, so that an outage gets no new requests. */
  readonly failures: number
  /** Requests in flight started in this epoch. */
  readonly underWay: number
  /** Number of openings. Requests sent in an earlier epoch say nothing about the gateway now. */
  readonly epoch: number
}

const FIRST_WAIT_MS = 500
const LONGEST_WAIT_MS = 15_000
/** Longest Retry-After honoured: a gateway that asks for a year is tried again after this. */
const LONGEST_RETRY_AFTER_MS = 15 * 60_000
/** Most jitter added to a Retry-After, so that several clients do not return together; a tenth for a short one. */
const LONGEST_JITTER_MS = 500

const CLOSED: Breaker = {
  state: 'closed',
  until: Number.NEGATIVE_INFINITY,
  notBefore: Number.NEGATIVE_INFINITY,
  openings: 0,
  failures: 0,
  underWay: 0,
  epoch: 0,
}

/** Earliest start of the next request: now if past; Infinity: not before a request in flight has ended. */
function mayStartAt({ state, until, underWay, failures }: Breaker, allowed: number): number {
  if (state === 'closed')
    return underWay + failures < allowed ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
  return state === 'open' ? until : Number.POSITIVE_INFINITY
}

function begun(breaker: Breaker): Breaker {
  const state = breaker.state === 'open' ? 'trying' : breaker.state
  return { ...breaker, state, underWay: breaker.underWay + 1 }
}

function answered(breaker: Breaker, epoch: number): Breaker {
  if (epoch !== breaker.epoch) return breaker
  return { ...CLOSED, epoch, underWay: breaker.underWay - 1 }
}

/** Ends a request that says nothing about the gateway. */
function endedAside(breaker: Breaker, epoch: number): Breaker {
  if (epoch !== breaker.epoch) return breaker
  const underWay = breaker.underWay - 1
  // The trying request has found out nothing: the next one tries.
  const state = breaker.state === 'trying' ? 'open' : breaker.state
  return { ...breaker, state, underWay }
}

/**
 * Opens where nothing else is in flight, or half of the permitted requests have failed in a row: hanging requests must not keep the rest from trying.
 */
function failed(
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
 * Holds all requests for a Retry-After. The waits grow after the first, so that a gateway that always asks for one second is not tried every second.
 */
function notTaken(
  breaker: Breaker,
  epoch: number,
  retryAfterMs: number | undefined,
  now: number,
  random: () => number,
): Breaker {
  const askedMs = retryAfterMs === undefined ? 0 : retryAfterWait(retryAfterMs, random)
  const notBefore = now + askedMs
  if (epoch !== breaker.epoch) {
    if (breaker.state !== 'open') return breaker
    const later = Math.max(breaker.notBefore, notBefore)
    return { ...breaker, until: Math.max(breaker.until, notBefore), notBefore: later }
  }
  const own = retryAfterMs === undefined || breaker.openings > 0 ? backoff(breaker.openings, random) : 0
  return { ...open(breaker, now + Math.max(askedMs, own)), notBefore }
}

/** Brings the next try forward to the given time, but not before the time requested by the gateway. */
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

/** Wait for a `Retry-After`, up to the longest one, with jitter. */
export const retryAfterWait = (retryAfterMs: number, random: () => number): number =>
  Math.min(retryAfterMs, LONGEST_RETRY_AFTER_MS) + random() * Math.min(LONGEST_JITTER_MS, retryAfterMs / 10)

interface Pace {
  /** Configured limit in requests a second; Infinity: none. */
  readonly limit: number
  /** Requests a second that the gateway seems to permit; Infinity: unlimited. */
  readonly rate: number
  /** Share by which the next step raises the rate. */
  readonly step: number
  readonly changedAt: number
  /** Milliseconds at this rate before the next step. */
  readonly quietMs: number
  readonly nextAt: number
  /** Last time that a request started as soon as the rate permitted: since then there was nothing more to send. */
  readonly boundAt: number
  /** Requests accepted since the last refusal or step. */
  readonly accepted: number
  /** True where the rate was measured: accepted requests from before the refusal still add to the rate. */
  readonly isMeasured: boolean
  readonly throughput: Throughput
}

/** Margin below the measured throughput: the gateway's clock and ours differ. */
const MARGIN = 0.98
/** Share of a refused rate that is kept. */
const CUT = 0.9
/** One refusal in this many is not caused by the rate: a slower pace gains nothing. */
const RARE = 200
/**
 * Slowest learned pace, in requests a second: a gateway that refuses at random would slow it without end, and a slower limit names its wait
 * (Retry-After).
 */
const SLOWEST = 1
/** Longest time at a rate before the next step. */
const QUIET_MS = 45_000
/** Time at a rate for each measured request: a few requests refused by chance look like a low limit. */
const QUIET_EACH_MS = 2_000
const FIRST_STEP = 0.02
/** Duration of a step before the next, twice as large. */
const STEP_MS = 1_000
/** Most lateness that a late timer may catch up. */
const CATCH_UP_MS = 250

/** @param limit most requests a second; undefined: as many as the gateway takes */
const beginPace = (limit = Number.POSITIVE_INFINITY): Pace => ({
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

function paceBegun(pace: Pace, now: number): Pace {
  const { limit, rate, nextAt } = pace
  // A configured limit holds in every second, and so is not caught up.
  const earliest = limit <= rate ? now : now - CATCH_UP_MS
  return {
    ...pace,
    nextAt: Math.max(nextAt, earliest) + 1_000 / Math.min(limit, rate),
    boundAt: rate < limit && nextAt > earliest ? now : pace.boundAt,
  }
}

/** @param late true for a request sent before the last refusal */
function paceAccepted(pace: Pace, now: number, late: boolean): Pace {
  const { rate, step, changedAt, quietMs } = pace
  const counted = { ...pace, accepted: pace.accepted + 1, throughput: count(pace.throughput, now) }
  if (late) return pace.isMeasured ? { ...counted, rate: rate + MARGIN } : counted
  const lastsMs = step === FIRST_STEP ? quietMs : STEP_MS
  if (now - changedAt < lastsMs || !isBound(pace, now)) return counted
  return { ...counted, rate: rate * (1 + step), step: Math.min(1, step * 2), changedAt: now, accepted: 0 }
}

/** Lowers the pace after the first refusal since the last hold. */
function paceRefused(pace: Pace, now: number): Pace {
  const { rate, step, accepted, quietMs } = pace
  const refused = { ...pace, accepted: 0 }
  if (accepted >= RARE) return refused
  const settle = (to: number, isMeasured: boolean, forMs: number): Pace => ({
    ...refused,
    rate: Math.max(SLOWEST, to),
    isMeasured,
    quietMs: Math.min(QUIET_MS, forMs),
    step: FIRST_STEP,
    changedAt: now,
    nextAt: now,
    boundAt: now,
  })
  if (isBound(pace, now)) {
    if (step > FIRST_STEP) return settle((rate / (1 + step / 2)) * MARGIN, false, 2 * quietMs)
    // Less than a second's worth was accepted: the count is the throughput.
    return settle(Math.max(rate / 2, Math.min(rate * CUT, accepted * MARGIN)), false, 2 * quietMs)
  }
  const measured = lately(pace.throughput, now)
  return measured === 0 ? refused : settle(measured * MARGIN, true, measured * QUIET_EACH_MS)
}

/** True where the rate recently held requests back. */
const isBound = ({ boundAt, rate }: Pace, now: number): boolean => now - boundAt < STEP_MS + 1_000 / rate

/** Requests accepted in this second, and in the one before. */
interface Throughput {
  readonly beganAt: number
  readonly current: number
  readonly previous: number
}

function count(throughput: Throughput, now: number): Throughput {
  const moved = moveTo(throughput, now)
  return { ...moved, current: moved.current + 1 }
}

/** Requests of the last second; the share of the second before is estimated. */
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
