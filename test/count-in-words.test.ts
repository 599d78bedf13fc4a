import { expect, it } from 'vitest'
import { counted, n } from '../src/count-in-words.ts'

it.each([
  [0, '0 rows'],
  [1, '1 row'],
  [1_234_567, '1,234,567 rows'],
])('words %d rows', (count, words) => {
  expect(counted(count, 'row')).toBe(words)
  expect(n(count)).toBe(words.split(' ')[0])
})

it('takes a plural that is not made by an s', () => {
  expect([1, 2].map((count) => counted(count, 'entry', 'entries'))).toEqual(['1 entry', '2 entries'])
})
