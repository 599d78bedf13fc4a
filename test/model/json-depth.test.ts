import { expect, test } from 'vitest'
import { DEEPEST, membersIn } from '../../src/model/json-depth.ts'

const nested = (levels: number): unknown => JSON.parse(`${'['.repeat(levels)}${']'.repeat(levels)}`)

test.each([
  [DEEPEST, 0],
  [DEEPEST + 1, Number.NaN],
])(
  'of a value of %i levels the members are counted, and of a deeper one nothing is said: %d',
  (levels, members) => {
    expect(membersIn(nested(levels))).toBe(members)
  },
)

test('members of all objects count, items of lists do not', () => {
  expect(membersIn({ a: 1, b: [{ c: 2 }, 3, [{ d: null, e: {} }]] })).toBe(5)
})
