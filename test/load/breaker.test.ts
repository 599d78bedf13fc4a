import { describe, expect, it } from 'vitest'
import { hastened } from '../../src/load/flow.ts'
import {
  answered,
  type Breaker,
  begun,
  CLOSED,
  endedAside,
  failed,
  mayStartAt,
  notTaken,
} from './flow-parts.ts'

const middle = () => 0.5
const underWay = (count: number, breaker: Breaker = CLOSED): Breaker =>
  count === 0 ? breaker : underWay(count - 1, begun(breaker))
const fail = (breaker: Breaker, now = 0, allowed = 8): Breaker =>
  failed(breaker, breaker.epoch, allowed, now, middle)

/** Moments of the tries of an outage, each a millisecond long. */
function triesOf(random: () => number, untilMs: number): number[] {
  let breaker = failed(underWay(1), 0, 8, 0, random)
  const tries: number[] = []
  while (breaker.until < untilMs) {
    const now = breaker.until
    tries.push(now)
    breaker = failed(begun(breaker), breaker.epoch, 8, now + 1, random)
  }
  return tries
}

describe('the breaker', () => {
  it('opens where nothing else is under way', () => {
    const one = fail(underWay(2))
    expect([one.state, one.failures]).toEqual(['closed', 1])
    expect(fail(one)).toMatchObject({ state: 'open', until: 500, openings: 1, epoch: 1 })
  })

  it('opens where half of what is allowed has failed in a row', () => {
    let breaker = underWay(8)
    const states = [1, 2, 3, 4].map(() => {
      breaker = fail(breaker)
      return breaker.state
    })
    expect(states).toEqual(['closed', 'closed', 'closed', 'open'])
  })

  it('keeps the place of a failure until something gets through', () => {
    const two = fail(fail(underWay(8)))
    expect(mayStartAt(two, 8)).toBe(Number.POSITIVE_INFINITY)
    expect(mayStartAt(answered(two, 0), 8)).toBe(Number.NEGATIVE_INFINITY)
  })

  it('lets one try when its time has come, and nothing beside it', () => {
    const open = fail(underWay(1), 1_000)
    expect(mayStartAt(open, 8)).toBe(1_500)
    const trying = begun(open)
    expect(trying.state).toBe('trying')
    expect(mayStartAt(trying, 8)).toBe(Number.POSITIVE_INFINITY)
    expect(answered(trying, open.epoch)).toMatchObject({ state: 'closed', openings: 0 })
    expect(fail(trying, 1_501)).toMatchObject({ state: 'open', until: 2_501, openings: 2 })
    expect(endedAside(trying, open.epoch)).toMatchObject({ state: 'open', until: 1_500 })
  })

  it('tries at intervals that double up to a quarter of a minute, each a fifth longer or shorter', () => {
    expect(triesOf(middle, 61_000).map(Math.round)).toEqual([
      500, 1501, 3502, 7503, 15_504, 30_505, 45_506, 60_507,
    ])
    expect(triesOf(() => 0, 60_000).length).toBeLessThan(12)
    expect(triesOf(() => 0, 2_000)[0]).toBe(400)
    expect(triesOf(() => 1, 2_000)[0]).toBeCloseTo(600)
  })

  it('hears nothing of what was sent before it opened, but a longer wait', () => {
    const open = notTaken(underWay(3), 0, 1_000, 0, () => 0)
    expect(answered(open, 0)).toBe(open)
    expect(failed(open, 0, 8, 10, middle)).toBe(open)
    expect(notTaken(open, 0, 500, 10, () => 0)).toEqual(open)
    expect(notTaken(open, 0, 2_000, 10, () => 0)).toEqual({ ...open, until: 2_010, notBefore: 2_010 })
  })

  it.each([
    [7_000, 0, 7_000],
    [7_000, 1, 7_500],
    [1_000, 1, 1_100],
    [0, 1, 0],
    [31_536_000_000, 0, 900_000],
    [undefined, 0.5, 500],
  ])('holds after Retry-After %s (chance %s) for %s', (retryAfterMs, chance, expected) => {
    expect(notTaken(underWay(1), 0, retryAfterMs, 0, () => chance).until).toBe(expected)
  })

  it('is tried earlier at the end of the patience, but not before the gateway has asked for', () => {
    const outage = failed(underWay(1), 0, 8, 0, middle)
    expect([outage.until, hastened(outage, 100).until]).toEqual([500, 100])
    expect(hastened(outage, 900).until).toBe(500)
    const asked = notTaken(underWay(1), 0, 7_000, 0, () => 0)
    expect(hastened(asked, 100).until).toBe(7_000)
  })

  it('waits longer than a Retry-After that was given in vain', () => {
    let breaker = notTaken(underWay(1), 0, 1_000, 0, middle)
    const waits = [1, 2, 3, 4, 5].map(() => {
      const now = breaker.until
      breaker = notTaken(begun(breaker), breaker.epoch, 1_000, now, middle)
      return breaker.until - now
    })
    expect(waits).toEqual([1_050, 2_000, 4_000, 8_000, 15_000])
  })
})
