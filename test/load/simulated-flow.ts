/** A gateway and a sender in simulated time: events in the order of their moments, and not a millisecond waited. */
import { beginFlow, type Ending, end, type Flow, nextStart, start } from '../../src/load/flow.ts'

/** Whether a request that arrives now is taken. */
export type Limiter = (now: number) => { readonly taken: boolean; readonly retryAfterMs: number }

export const LIMITERS = {
  /** So many in each second of its clock. */
  'fixed window': (perSecond: number): Limiter => {
    let window = -1
    let taken = 0
    return (now) => {
      const current = Math.floor(now / 1000)
      if (current !== window) taken = 0
      window = current
      const retryAfterMs = 1000
      return ++taken <= perSecond ? { taken: true, retryAfterMs } : { taken: false, retryAfterMs }
    }
  },
  /** So many in any second. */
  'sliding window': (perSecond: number): Limiter => {
    const times: number[] = []
    return (now) => {
      while (times[0] !== undefined && times[0] <= now - 1000) times.shift()
      if (times.length >= perSecond) return { taken: false, retryAfterMs: 1000 }
      times.push(now)
      return { taken: true, retryAfterMs: 1000 }
    }
  },
  /** A bucket that holds what passes in a second, and fills steadily. */
  'token bucket': (perSecond: number): Limiter => {
    let tokens = perSecond
    let filledAt = 0
    return (now) => {
      tokens = Math.min(perSecond, tokens + ((now - filledAt) * perSecond) / 1000)
      filledAt = now
      if (tokens < 1) return { taken: false, retryAfterMs: 1000 }
      tokens--
      return { taken: true, retryAfterMs: 1000 }
    }
  },
} satisfies Record<string, (perSecond: number) => Limiter>

export interface Simulated {
  readonly durationMs: number
  readonly ceiling: number
  readonly random: () => number
  /** Milliseconds that the way to the gateway takes, and those until its answer is back. */
  readonly latency: (now: number, underWay: number) => readonly [there: number, back: number]
  /** What becomes of a request that arrives now. */
  readonly answer: (now: number) => Ending
  readonly flow?: Flow
}

export interface Observed {
  readonly flow: Flow
  readonly answered: number
  readonly notTaken: number
  /** When each request left. */
  readonly sentAt: readonly number[]
}

/** Sends as much as it may, for so long. */
export function simulate({ durationMs, ceiling, random, latency, answer, flow: given }: Simulated): Observed {
  let flow = given ?? beginFlow(ceiling)
  let now = 0
  const sentAt: number[] = []
  const counts = { answered: 0, 'not-taken': 0, failed: 0, aside: 0 }
  type Event = { at: number; arrives?: true; ending?: Ending; epoch: number; back: number }
  const events: Event[] = []
  const plan = (event: Event): void => {
    let place = events.length
    while (place > 0 && (events[place - 1]?.at ?? 0) > event.at) place--
    events.splice(place, 0, event)
  }
  while (now < durationMs) {
    const startAt = nextStart(flow)
    const event = events[0]
    if (startAt <= now) {
      flow = start(flow, now)
      sentAt.push(now)
      const [there, back] = latency(now, flow.underWay)
      plan({ at: now + there, arrives: true, epoch: flow.breaker.epoch, back })
      continue
    }
    if (event === undefined || startAt < event.at) {
      if (startAt === Number.POSITIVE_INFINITY) throw new Error('nothing is under way, and nothing may start')
      // Timers are late, never early.
      now = startAt + random() * 2
      continue
    }
    events.shift()
    now = Math.max(now, event.at)
    if (event.ending === undefined) plan({ ...event, at: now + event.back, ending: answer(now) })
    else {
      flow = end(flow, event.epoch, event.ending, now, random)
      counts[event.ending.kind]++
    }
  }
  return { flow, answered: counts.answered, notTaken: counts['not-taken'], sentAt }
}

/** Numbers in [0, 1) that a seed decides (mulberry32). */
export function drawFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
