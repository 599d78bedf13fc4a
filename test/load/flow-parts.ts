/** Breaker and pace by themselves, each as it is within a flow whose other part holds nothing back. */
import {
  type Breaker,
  beginFlow,
  type Ending,
  end,
  type Flow,
  nextStart,
  start,
} from '../../src/load/flow.ts'

export type { Breaker }

type Pace = Flow['pace']

const free = beginFlow(Number.POSITIVE_INFINITY)

export const CLOSED = free.breaker

const withBreaker = (breaker: Breaker, ceiling = Number.POSITIVE_INFINITY): Flow => ({
  ...beginFlow(ceiling),
  breaker,
})

const ended =
  (ending: Ending) =>
  (breaker: Breaker, epoch: number): Breaker =>
    end(withBreaker(breaker), epoch, ending, 0, () => 0).breaker

export const mayStartAt = (breaker: Breaker, allowed: number): number =>
  nextStart(withBreaker(breaker, allowed))
export const begun = (breaker: Breaker): Breaker => start(withBreaker(breaker), 0).breaker
export const answered = ended({ kind: 'answered' })
export const endedAside = ended({ kind: 'aside' })

export const failed = (
  breaker: Breaker,
  epoch: number,
  allowed: number,
  now: number,
  random: () => number,
): Breaker => end(withBreaker(breaker, allowed), epoch, { kind: 'failed' }, now, random).breaker

export const notTaken = (
  breaker: Breaker,
  epoch: number,
  retryAfterMs: number | undefined,
  now: number,
  random: () => number,
): Breaker => end(withBreaker(breaker), epoch, { kind: 'not-taken', retryAfterMs }, now, random).breaker

export const beginPace = (limit?: number): Pace => beginFlow(1, limit).pace
export const paceBegun = (pace: Pace, now: number): Pace => start({ ...free, pace }, now).pace

/** @param late true for a request sent before the last refusal */
export const paceAccepted = (pace: Pace, now: number, late: boolean): Pace =>
  end({ ...free, pace }, late ? -1 : CLOSED.epoch, { kind: 'answered' }, now, () => 0).pace

export const paceRefused = (pace: Pace, now: number): Pace =>
  end({ ...free, pace }, CLOSED.epoch, { kind: 'not-taken', retryAfterMs: undefined }, now, () => 0).pace
