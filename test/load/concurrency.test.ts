import { expect, it } from 'vitest'
import { beginConcurrency, type Concurrency, grow, lower, raiseCeiling } from '../../src/load/pace.ts'

const growBy = (concurrency: Concurrency, successes: number): Concurrency =>
  successes === 0 ? concurrency : growBy(grow(concurrency), successes - 1)
const round = (startedAt: number, now: number) => ({ startedAt, now })

it('halves down to one, and grows by one for each round that succeeds, up to the ceiling', () => {
  let concurrency = beginConcurrency(8)
  const allowed = [1, 2, 3, 4].map((now) => {
    concurrency = lower(concurrency, 0.5, round(now, now))
    return concurrency.allowed
  })
  expect(allowed).toEqual([4, 2, 1, 1])
  expect([0, 1, 2, 3, 5, 6, 100].map((successes) => growBy(concurrency, successes).allowed)).toEqual([
    1, 2, 2, 3, 3, 4, 8,
  ])
})

it('is lowered once for what was under way together', () => {
  const once = lower(beginConcurrency(8), 0.5, round(10, 20))
  expect(lower(once, 0.5, round(19, 25))).toBe(once)
  expect(lower(once, 0.5, round(20, 25)).allowed).toBe(2)
})

it('begins a round anew after it was lowered', () => {
  const grown = growBy(lower(beginConcurrency(8), 0.5, round(0, 1)), 3)
  expect(grow(lower(grown, 0.5, round(1, 2))).allowed).toBe(2)
})

it('follows a higher ceiling where nothing held it back, and no lower one', () => {
  expect(raiseCeiling(beginConcurrency(4), 8)).toEqual(beginConcurrency(8))
  expect(raiseCeiling(beginConcurrency(8), 4)).toEqual(beginConcurrency(8))
  expect(raiseCeiling(lower(beginConcurrency(4), 0.5, round(0, 0)), 8)).toMatchObject({
    ceiling: 8,
    allowed: 2,
  })
})
