import fc from 'fast-check'
import { expect, it } from 'vitest'
import { countOthers, halve, partsOfRefused } from '../../src/load/refused-batch.ts'

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

const namesOf = (count: number): string[] => Array.from({ length: count }, (_, at) => `person-${at}`)

it('batches of one person are given up for three people, until a write gets through', () => {
  const others = countOthers()
  const giveUp = () => namesOf(4).map((person) => others.mayGiveUpBatch(new Set([person])))
  expect(giveUp()).toEqual([true, true, true, false])
  others.gotThrough('read', 'read profile')
  expect(others.mayGiveUpBatch(new Set(['person-0']))).toBe(false)
  others.gotThrough('batch', 'create')
  expect(giveUp()).toEqual([true, true, true, false])
})

it('the same person counts once, and is known as given up alone, until a write gets through', () => {
  const others = countOthers()
  const [ann, both] = [new Set(['ann']), new Set(['ann', 'ben'])]
  expect(others.hasGivenUp(ann)).toBe(false)
  expect(Array.from({ length: 5 }, () => others.mayGiveUpBatch(ann))).not.toContain(false)
  expect([ann, new Set(['ben']), both].map(others.hasGivenUp)).toEqual([true, false, false])
  others.gotThrough('registration', 'register')
  expect(others.hasGivenUp(ann)).toBe(false)
})

it('batches of several people are given up 32 times, until a write gets through', () => {
  const others = countOthers()
  const several = new Set(['ann', 'ben'])
  const giveUp = () => Array.from({ length: 33 }, () => others.mayGiveUpBatch(several)).indexOf(false)
  expect(giveUp()).toBe(32)
  others.gotThrough('follow-up', 'mark')
  expect(giveUp()).toBe(32)
})

it.each([
  [3, 'ask'],
  [4, 'stop'],
])('where %i registrations fail and no write gets through, each may %s', (count, end) => {
  const others = countOthers()
  const failing = namesOf(count).map(() => others.request('registration', 'register'))
  // Twice: a registration that fails again is no other one.
  for (const alone of [...failing, ...failing]) alone.failed(0)
  expect(new Set(failing.map((alone) => alone.atEnd()))).toEqual(new Set([end]))
  others.gotThrough('batch', 'create')
  const [first] = failing
  first?.failed(1)
  expect(first?.atEnd()).toBe('ask')
})

it('batches that fail count as one beside registrations', () => {
  const others = countOthers()
  const registrations = [1, 2].map(() => others.request('registration', 'register'))
  const batches = [1, 2].map(() => others.request('batch', 'create'))
  for (const alone of [...registrations, ...batches]) alone.failed(0)
  expect(registrations.map((alone) => alone.atEnd())).toEqual(['ask', 'ask'])
  others.request('registration', 'register').failed(0)
  expect(registrations.map((alone) => alone.atEnd())).toEqual(['stop', 'stop'])
})
