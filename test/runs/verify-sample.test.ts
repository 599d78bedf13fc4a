import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createLowestDraws, drawOf } from '../../src/runs/reconcile.ts'

const people = Array.from({ length: 10_000 }, (_, at) => `person ${at}`)

test('draws are spread evenly, and are others for another seed', () => {
  const share = people.filter((one) => drawOf('seed', one) < 0.05).length
  expect(share).toBeGreaterThan(400)
  expect(share).toBeLessThan(600)
  expect(drawOf('seed', 'person 1')).toBe(drawOf('seed', 'person 1'))
  expect(drawOf('seed', 'person 1')).not.toBe(drawOf('other', 'person 1'))
})

test('the lowest draws are those of so many people, however often each comes', () => {
  const draw = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
  fc.assert(
    fc.property(fc.array(draw, { minLength: 1 }), fc.integer({ min: 1, max: 20 }), (draws, count) => {
      const lowest = createLowestDraws(count)
      for (const one of [...draws, ...draws.toReversed()]) lowest.add(one)
      const distinct = [...new Set(draws)].sort((a, b) => a - b)
      expect(lowest.highest).toBe(distinct[Math.min(count, distinct.length) - 1])
    }),
  )
})
