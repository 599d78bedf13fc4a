/** Shifts of times of day, found in counts by half hour alone. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { HALVES, hoursMoved } from '../../src/watch/times-of-day.ts'

/** Rows of opening hours: as many in each of some half hours, the rest none. */
const open = (first: number, halves: number, each: number, placeless = false) => ({
  rows: Array.from({ length: HALVES }, (_, at) => ((at - first + 2 * HALVES) % HALVES < halves ? each : 0)),
  placeless,
})

test('the same opening hours moved around the clock are moved by as much, whenever they are', () => {
  const shift = fc.integer({ min: -23, max: 24 })
  fc.assert(
    fc.property(fc.nat(47), fc.integer({ min: 6, max: 20 }), shift, fc.nat(2), (first, halves, by, more) => {
      const earlier = [0, 1, 2].map(() => open(first, halves, 200))
      const now = open(first + by, halves, 200 + more)
      // Half an hour may be chance.
      expect(hoursMoved(now, earlier, 3)).toBe(Math.abs(by) < 2 ? undefined : by / 2)
    }),
  )
})

test('without as many exports as are asked for, nothing is compared', () => {
  const earlier = [open(16, 16, 100), open(16, 16, 100)]
  expect(hoursMoved(open(22, 16, 100), earlier, 2)).toBe(3)
  expect(hoursMoved(open(22, 16, 100), earlier, 3)).toBeUndefined()
})

test('a shift is none where an earlier export lay nearer to it than to the others', () => {
  const usual = [16, 16, 16].map((first) => open(first, 16, 200))
  expect(hoursMoved(open(22, 16, 200), [...usual, open(18, 16, 200)], 3)).toBe(3)
  expect(hoursMoved(open(22, 16, 200), [...usual, open(21, 16, 200)], 3)).toBeUndefined()
})

test.each([
  // An hour of summer time, in zones without a place alone.
  [2, [true, true], undefined],
  [-2, [true, true], undefined],
  [2, [false, true], 1],
  [2, [true, false], 1],
  [4, [true, true], 2],
])('moved by %i half hours in zones without a place (%j): %s hours', (by, [now, before], hours) => {
  expect(hoursMoved(open(16 + by, 16, 200, now), [open(16, 16, 200, before)], 1)).toBe(hours)
})

test.each([
  // Eight hours spread by 2 h about their middle: 4 × 2 × √(1/48 + 1/48) = 1.6 h, and 4 × 2 × √(1/16 + 1/48) = 2.3 h.
  [3, 2],
  [1, undefined],
])('a shift of two hours, with %i rows each half hour, against chance: %s', (each, hours) => {
  expect(hoursMoved(open(20, 16, each), [open(16, 16, 3)], 1)).toBe(hours)
})

test.each([
  // Exports that were 2 h apart from the usual are expected to be so again; a shift of less than twice as much is theirs.
  ['as far as exports usually are', [16, 20, 12], 22, undefined],
  ['twice as far', [16, 17, 15], 24, 4],
  ['near an earlier one', [16, 16, 16, 22], 22, undefined],
])('opening hours %s', (_, before, first, hours) => {
  const earlier = before.map((at) => open(at, 16, 200))
  expect(hoursMoved(open(first, 16, 200), earlier, 1)).toBe(hours)
})

test.each([
  ['of hours cut to their half', open(24, 8, 200), undefined],
  ['of hours that are a little longer', open(22, 18, 200), 3],
])('another pattern %s', (_, now, hours) => {
  expect(hoursMoved(now, [open(16, 16, 200)], 1)).toBe(hours)
})
