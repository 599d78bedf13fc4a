/**
 * The pace: requests a second, found from what the gateway refuses (429, 503 with Retry-After, 408). There is none until it refuses
 * some; then what was getting through becomes the pace. It falls with each refusal, and is raised in steps that double after a time
 * of quiet. Pure; times in milliseconds of the clock that is handed in.
 */
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

/** How many requests got through lately: two counts, of a second and of the one before it. */
interface Throughput {
  readonly beganAt: number
  readonly current: number
  readonly previous: number
}

function count(throughput: Throughput, now: number): Throughput {
  const moved = moveTo(throughput, now)
  return { ...moved, current: moved.current + 1 }
}

/** How many got through in the last second, the part of it that lies in the second before estimated. */
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
