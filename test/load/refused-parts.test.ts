import fc from 'fast-check'
import { expect, it } from 'vitest'
import { halve, partsOfRefused } from '../../src/load/refused-batch.ts'

const items = (count: number): string[] => Array.from({ length: count }, (_, at) => `item-${at}-`)
const partsOf = (count: number, refusal: unknown) => partsOfRefused(items(count), refusal, (item) => item)

it.each([
  ['a path', { message: 'records[2].value: too high' }, [2]],
  ['a JSON pointer', { errors: [{ message: '/2/value must be a number' }] }, [2]],
  ['a path behind a word', { message: 'body/2/value must be a number' }, [2]],
  ['an id', { message: 'refused: item-7-' }, [7]],
  ['two of them', { errors: [{ message: '[2].unit' }, { message: '[5].unit' }] }, [2, 5]],
  ['a place, which may be counted from 0 or 1', { errors: [{ index: 2 }] }, [2, 1]],
  ['places of which one is 0', { errors: [{ index: 2 }, { index: 0 }] }, [2, 0]],
  ['a count in words', { message: 'the patient block of request 3 of 8' }, [3, 2]],
  ['text within text', { message: 'failed: {"errors":[{"message":"records[2]: bad"}]}' }, [2]],
])('what a refusal names goes alone: %s', (_what, refusal, places) => {
  const all = items(8)
  expect(partsOf(8, refusal)).toEqual({
    named: places.map((place) => all[place]),
    others: all.filter((_, at) => !places.includes(at)),
  })
})

it.each([
  ['no body', undefined],
  ['a body that names none', { code: 400, message: 'out of range: 10.5 mmol/L' }],
  ['a place beyond the batch', { errors: [{ index: 400 }] }],
  ['more than half of them', { message: [0, 1, 2, 3, 4].map((at) => `[${at}]`).join() }],
])('names nobody: %s', (_what, refusal) => {
  expect(partsOf(8, refusal)).toBeUndefined()
})

it('parts hold each item once, and are all smaller than the whole', () => {
  const Refusal = fc.oneof(
    fc.jsonValue(),
    fc.record({ errors: fc.array(fc.record({ position: fc.nat(20) })) }),
    fc.array(fc.nat(20)).map((places) => ({ message: places.map((at) => `records[${at}]`).join('; ') })),
  )
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 12 }), Refusal, (count, refusal) => {
      const cut = partsOf(count, refusal)
      if (cut === undefined) return
      expect([...cut.named, ...cut.others].toSorted()).toEqual(items(count).toSorted())
      expect(cut.named.length).toBeGreaterThan(0)
      expect(cut.others.length).toBeGreaterThan(0)
    }),
  )
})

it('halves are the batch, in its order, and neither is empty', () => {
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 600 }), (count) => {
      const [left, right] = halve(items(count))
      expect([...left, ...right]).toEqual(items(count))
      expect(Math.abs(left.length - right.length)).toBeLessThanOrEqual(1)
    }),
    { numRuns: 20 },
  )
})
