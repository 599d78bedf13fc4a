/**
 * The pace: requests a second, found from what the gateway refuses. There is none until it refuses some (429, 503 with Retry-After,
 * 408); then what was getting through becomes the pace. It is raised by small steps after a time of quiet that doubles
 * with each step too far, so that in the long run hardly anything is refused; and given up where the gateway has long taken more. Pure.
 *
 * Times are milliseconds in which sending was not held, so that a wait that was prescribed does not count as a slow gateway.
 */

export interface Pace {
  /** Requests a second; undefined: none. */
  readonly rate: number | undefined
  /** The rate that has lasted; below `rate` while a step is tried. */
  readonly base: number
  /** The rate that went a time of quiet without a refusal; 0: none has. */
  readonly lasted: number
  /** Whether the first estimate still waits for answers to what was under way with the refused one. */
  readonly estimating: boolean
  /** By which share the next step raises it; doubles with each that holds. */
  readonly step: number
  readonly quietMs: number
  readonly changedAt: number
  /** When the next request may start. */
  readonly nextAt: number
  /** When a request last started as soon as the pace let it: below that, there was nothing more to send. */
  readonly boundAt: number
  /** Requests that got through since one was refused last. */
  readonly accepted: number
  readonly second: Throughput
  readonly tenSeconds: Throughput
}

/** Room under what was getting through: the gateway's clock and ours do not tick together. */
const MARGIN = 0.98
/** What is left of a pace that has lasted and is refused again, and of one that never did. */
const CUT = { lasted: 0.96, guess: 0.75 }
/** One refused in so many is not a matter of the rate: of a share this small nothing is gained by going slower. */
const RARE = 200
/** Fewer than this in the last second, and the first estimate is a guess. */
const SURE = 10
const QUIET_MS = { sure: 10_000, guess: 1_000, longest: 120_000 }
const STEP = { sure: 0.02, after: 0.05, guess: 0.5, greatest: 1 }
/** How long a step is tried before the next. */
const STEP_MS = 2_000
const LOWEST_RATE = 0.2
/** What is tried first where too little got through to measure it. */
const UNMEASURED_RATE = 2
/** What a late timer may catch up on, in milliseconds. */
const CATCH_UP_MS = 250
/** Given up after so long in which the pace held nothing back, */
const IDLE_MS = 60_000
/** and where so many times what had lasted is taken. */
const FAR_BEYOND = 4

export const measureOver = (lengthMs: number): Throughput => ({
  lengthMs,
  beganAt: Number.NEGATIVE_INFINITY,
  current: 0,
  previous: 0,
})

export const NO_PACE: Pace = {
  rate: undefined,
  base: 0,
  lasted: 0,
  estimating: false,
  step: STEP.sure,
  quietMs: QUIET_MS.sure,
  changedAt: 0,
  nextAt: Number.NEGATIVE_INFINITY,
  boundAt: Number.NEGATIVE_INFINITY,
  accepted: 0,
  second: measureOver(1_000),
  tenSeconds: measureOver(10_000),
}

export function paceBegun(pace: Pace, now: number): Pace {
  const { rate, nextAt } = pace
  if (rate === undefined) return pace
  const due = Math.max(nextAt, now - CATCH_UP_MS)
  return { ...pace, nextAt: due + 1_000 / rate, boundAt: due === nextAt ? now : pace.boundAt }
}

/** @param late whether it was sent before what was refused last */
export function paceAccepted(pace: Pace, now: number, late: boolean): Pace {
  const counted = {
    ...pace,
    estimating: pace.estimating && late,
    accepted: pace.accepted + 1,
    second: count(pace.second, now),
    tenSeconds: count(pace.tenSeconds, now),
  }
  const { rate, base, step, quietMs, changedAt, boundAt } = pace
  if (rate === undefined) return counted
  if (late) {
    if (!pace.estimating) return counted
    const more = rate + MARGIN
    return { ...counted, rate: more, base: more }
  }
  if (now - Math.max(boundAt, changedAt) > IDLE_MS) return { ...counted, rate: undefined }
  const trying = rate > base
  const isBound = boundAt > now - STEP_MS
  if (now - changedAt < (trying ? STEP_MS : quietMs) || !isBound) return counted
  const next = trying ? Math.min(STEP.greatest, step * 2) : step
  const raised = rate * (1 + next)
  if (raised > FAR_BEYOND * base) return { ...counted, rate: undefined }
  return { ...counted, rate: raised, lasted: trying ? pace.lasted : rate, step: next, changedAt: now }
}

/** The gateway did not take a request, for the first time since it was last let go on. */
export function paceRefused(pace: Pace, now: number): Pace {
  const { rate, base, step, quietMs, boundAt, accepted, changedAt, lasted } = pace
  const counted = { ...pace, accepted: 0 }
  const inLastSecond = lately(pace.second, now)
  const measured = Math.max(inLastSecond, lately(pace.tenSeconds, now) / 10, LOWEST_RATE)
  if (rate === undefined) {
    if (accepted >= RARE) return counted
    const isSure = inLastSecond >= SURE
    const guess = accepted < SURE ? Math.max(measured, UNMEASURED_RATE) : measured
    return {
      ...settleAt(counted, guess * MARGIN, now),
      estimating: true,
      quietMs: isSure ? QUIET_MS.sure : QUIET_MS.guess,
      step: isSure ? STEP.sure : STEP.guess,
    }
  }
  if (rate > base) {
    const held = rate / (1 + step)
    const wentFar = held >= 1.2 * base
    return {
      ...settleAt(counted, Math.max(base, held * MARGIN), now),
      quietMs: wentFar ? QUIET_MS.sure : Math.min(QUIET_MS.longest, quietMs * 2),
      step: STEP.sure,
    }
  }
  if (accepted >= RARE || boundAt < now - 1_000) return counted
  if (now - changedAt >= QUIET_MS.sure)
    return { ...settleAt(counted, Math.max(LOWEST_RATE, rate * CUT.lasted), now), step: STEP.sure }
  const lower = Math.max(LOWEST_RATE, rate * CUT.guess, Math.min(lasted, rate * CUT.lasted))
  return { ...settleAt(counted, lower, now), step: STEP.after, quietMs: QUIET_MS.sure }
}

const settleAt = (pace: Pace, rate: number, now: number): Pace => ({
  ...pace,
  rate,
  base: rate,
  changedAt: now,
  nextAt: now,
  boundAt: now,
})

/**
 * How many requests may be under way at once: additive increase, multiplicative decrease (Chiu and Jain 1989), between 1 and the
 * ceiling. Pure.
 */
export interface Concurrency {
  readonly ceiling: number
  readonly allowed: number
  /** Requests that got through since the last change; as many as are allowed make it grow by one. */
  readonly succeeded: number
  /** When it was lowered last: what was sent before that says nothing about the present. Milliseconds. */
  readonly loweredAt: number
}

/** Begins at the ceiling: a gateway that bears it is never made to wait for it. */
export function beginConcurrency(ceiling: number): Concurrency {
  return { ceiling, allowed: ceiling, succeeded: 0, loweredAt: Number.NEGATIVE_INFINITY }
}

/** A ceiling below the present one changes nothing: it is that of a job that sends less than another. */
export function raiseCeiling(concurrency: Concurrency, ceiling: number): Concurrency {
  if (ceiling <= concurrency.ceiling) return concurrency
  const unhindered = concurrency.allowed === concurrency.ceiling
  return { ...concurrency, ceiling, allowed: unhindered ? ceiling : concurrency.allowed }
}

/** A request got through, as fast as it should. */
export function grow(concurrency: Concurrency): Concurrency {
  const { allowed, ceiling } = concurrency
  if (allowed >= ceiling) return concurrency
  const succeeded = concurrency.succeeded + 1
  return succeeded >= allowed
    ? { ...concurrency, allowed: allowed + 1, succeeded: 0 }
    : { ...concurrency, succeeded }
}

/** @param factor in [0, 1): what is left; of one round of requests only the first lowers it */
export function lower(
  concurrency: Concurrency,
  factor: number,
  { startedAt, now }: { readonly startedAt: number; readonly now: number },
): Concurrency {
  if (startedAt < concurrency.loweredAt) return concurrency
  const allowed = Math.max(1, Math.floor(concurrency.allowed * factor))
  return { ...concurrency, allowed, succeeded: 0, loweredAt: now }
}

/**
 * Whether answers take much longer than the best that was seen of their kind: then requests queue at the gateway, and fewer at once lose
 * nothing (as in TCP Vegas). It judges medians of windows, so that single slow answers, and a machine that is busy for a
 * moment, change nothing. Pure.
 */
export interface Latency {
  /** Median, in milliseconds, of the fastest window; undefined until one is full. It drifts up, as gateways change. */
  readonly best: number | undefined
  readonly samples: readonly number[]
  readonly verdict: Verdict
}

/** `good`: more at once may be tried; `strained`: no more; `overloaded`: fewer. */
export type Verdict = 'good' | 'strained' | 'overloaded'

const WINDOW = 20
/** Between the two bounds nothing changes, so that it does not swing from one to the other. */
const STRAINED = { factor: 2, slackMs: 50 }
const OVERLOADED = { factor: 3, slackMs: 100 }
/** How far the best drifts with each window that is slower. */
const DRIFT = 1.05

export const NO_LATENCY: Latency = { best: undefined, samples: [], verdict: 'good' }

/** @returns with an empty window where this answer filled it: the verdict is new then */
export function observe({ best, samples, verdict }: Latency, ms: number): Latency {
  if (samples.length + 1 < WINDOW) return { best, samples: [...samples, ms], verdict }
  const median = [...samples, ms].sort((a, b) => a - b)[WINDOW / 2] ?? ms
  const beyond = ({ factor, slackMs }: typeof STRAINED): boolean =>
    best !== undefined && median > factor * best + slackMs
  return {
    best: best === undefined ? median : Math.min(median, best * DRIFT),
    samples: [],
    verdict: beyond(OVERLOADED) ? 'overloaded' : beyond(STRAINED) ? 'strained' : 'good',
  }
}

/** How many requests a second got through lately, kept in two counts of a window and of the one before it. Pure. */
export interface Throughput {
  readonly lengthMs: number
  readonly beganAt: number
  readonly current: number
  readonly previous: number
}

export function count(throughput: Throughput, now: number): Throughput {
  const moved = moveTo(throughput, now)
  return { ...moved, current: moved.current + 1 }
}

/** How many got through in the last window, the part of it that lies in the window before estimated. */
export function lately(throughput: Throughput, now: number): number {
  const { current, previous, beganAt, lengthMs } = moveTo(throughput, now)
  return current + previous * (1 - (now - beganAt) / lengthMs)
}

function moveTo(throughput: Throughput, now: number): Throughput {
  const { lengthMs, beganAt, current } = throughput
  const passed = now - beganAt
  if (passed < lengthMs) return throughput
  if (passed < 2 * lengthMs) return { lengthMs, beganAt: beganAt + lengthMs, current: 0, previous: current }
  return { lengthMs, beganAt: now, current: 0, previous: 0 }
}

/**
 * A ceiling on requests a second that somebody has asked for, whatever the gateway takes: requests leave at even distances, and none is
 * made up for, so that in no second more of them leave. Pure.
 */
export interface RateLimit {
  /** Milliseconds from one request to the next; 0: there is no ceiling. */
  readonly distanceMs: number
  /** When the next request may leave. */
  readonly nextAt: number
}

export const rateLimit = (perSecond: number | undefined): RateLimit => ({
  distanceMs: perSecond === undefined ? 0 : 1_000 / perSecond,
  nextAt: Number.NEGATIVE_INFINITY,
})

export const mayBegin = ({ nextAt }: RateLimit): number => nextAt

export const rateBegun = (limit: RateLimit, now: number): RateLimit =>
  limit.distanceMs === 0 ? limit : { ...limit, nextAt: now + limit.distanceMs }
