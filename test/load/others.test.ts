import { expect, it } from 'vitest'
import { countOthers, type Purpose } from '../../src/load/retry-policy.ts'

type Others = ReturnType<typeof countOthers>

/** Gives a batch up where it may be. */
const gaveUp = (others: Others, people: ReadonlySet<string>): boolean => {
  const may = others.besideBatch(people).mayBeGivenUp
  if (may) others.gaveUp(people)
  return may
}
const triesOf = (others: Others, purpose: Purpose, operation: string = purpose) =>
  others.lostTries(purpose, operation)

const namesOf = (count: number): string[] => Array.from({ length: count }, (_, at) => `person-${at}`)

it('batches of one person are given up for three people, until a write gets through', () => {
  const others = countOthers()
  const giveUp = () => namesOf(4).map((person) => gaveUp(others, new Set([person])))
  expect(giveUp()).toEqual([true, true, true, false])
  others.gotThrough('read', 'read profile')
  expect(others.besideBatch(new Set(['person-3'])).mayBeGivenUp).toBe(false)
  others.gotThrough('batch', 'create')
  expect(giveUp()).toEqual([true, true, true, false])
})

it('the same person counts once, and is known as given up alone, until a write gets through', () => {
  const others = countOthers()
  const [ann, both] = [new Set(['ann']), new Set(['ann', 'ben'])]
  expect(others.besideBatch(ann).isKnownToFail).toBe(false)
  expect(Array.from({ length: 5 }, () => gaveUp(others, ann))).not.toContain(false)
  expect([ann, new Set(['ben']), both].map((people) => others.besideBatch(people).isKnownToFail)).toEqual([
    true,
    false,
    false,
  ])
  others.gotThrough('registration', 'register')
  expect(others.besideBatch(ann).isKnownToFail).toBe(false)
})

it('batches of several people are given up 32 times, until a write gets through', () => {
  const others = countOthers()
  const several = new Set(['ann', 'ben'])
  const giveUp = () => Array.from({ length: 33 }, () => gaveUp(others, several)).indexOf(false)
  expect(giveUp()).toBe(32)
  others.gotThrough('follow-up', 'mark')
  expect(giveUp()).toBe(32)
})

it.each([
  [3, true],
  [4, false],
])('where %i registrations fail and no write gets through, they are few: %s', (count, areFew) => {
  const others = countOthers()
  const failing = namesOf(count).map(() => triesOf(others, 'registration'))
  // Twice: a registration that fails again is no other one.
  for (const lost of [...failing, ...failing]) lost.add(0)
  expect(new Set(failing.map((lost) => lost.beside().areFewFailing))).toEqual(new Set([areFew]))
  others.gotThrough('batch', 'create')
  const [first] = failing
  first?.add(1)
  expect(first?.beside().areFewFailing).toBe(true)
})

it('batches that fail count as one beside registrations', () => {
  const others = countOthers()
  for (const purpose of ['registration', 'batch', 'registration', 'batch'] as const)
    triesOf(others, purpose).add(0)
  const areFew = () => triesOf(others, 'read').beside().areFewFailing
  expect(areFew()).toBe(true)
  triesOf(others, 'registration').add(0)
  expect(areFew()).toBe(false)
})

it('what gets through counts since the first failure, and since the last, by its kind', () => {
  const others = countOthers()
  others.gotThrough('read', 'read profile')
  const lost = triesOf(others, 'read')
  const seen = () => {
    const { throughSinceFirst, throughSinceLast, anySinceFirst } = lost.beside()
    return [throughSinceFirst, throughSinceLast, anySinceFirst]
  }
  lost.add(100)
  expect(seen()).toEqual([false, false, false])
  others.gotThrough('batch', 'create')
  lost.add(200)
  expect(seen()).toEqual([false, false, true])
  others.gotThrough('read', 'read profile')
  lost.add(300)
  expect(seen()).toEqual([true, true, true])
  lost.add(400)
  expect(seen()).toEqual([true, false, true])
  expect([lost.count, lost.since]).toEqual([4, 100])
})

it.each([
  ['read', 'read', [true, true, true]],
  ['batch', 'read', [false, false, true]],
  ['read', 'batch', [false, false, true]],
  ['batch', 'registration', [true, true, true]],
  ['registration', 'follow-up', [true, true, true]],
] as const)('beside a lost %s, a %s that gets through counts as %j', (lostOne, through, expected) => {
  const others = countOthers()
  // More reads than writes, so that neither count stands for the other.
  for (const purpose of ['read', 'read', 'read', 'batch'] as const) others.gotThrough(purpose, purpose)
  const lost = triesOf(others, lostOne)
  lost.add(100)
  others.gotThrough(through, through)
  lost.add(200)
  const { throughSinceFirst, throughSinceLast, anySinceFirst } = lost.beside()
  expect([throughSinceFirst, throughSinceLast, anySinceFirst]).toEqual(expected)
})

it('follow-ups of an operation count together, until one of it gets through', () => {
  const others = countOthers()
  const [one, other] = [triesOf(others, 'follow-up', 'mark'), triesOf(others, 'follow-up', 'delete')]
  for (const lost of [one, triesOf(others, 'follow-up', 'mark'), other]) lost.add(0)
  const counts = () => [one, other].map((lost) => lost.beside().failuresOfOperation)
  expect(counts()).toEqual([2, 1])
  others.gotThrough('follow-up', 'mark')
  expect(counts()).toEqual([0, 1])
})
