import fc from 'fast-check'
import { expect, it } from 'vitest'
import { inert, revived } from '../../src/job/spreadsheet-cells.ts'

/** Beginnings that matter, in every order. */
const cell = fc
  .tuple(fc.array(fc.constantFrom("'", '=', '+', '-', '@', '\t', '\r', '\n', '＝', ' ', '5')), fc.string())
  .map(([start, rest]) => start.join('') + rest)

it('a cell comes back as it was, and begins like no formula meanwhile', () => {
  fc.assert(
    fc.property(cell, (one) => {
      expect(revived(inert(one))).toBe(one)
      expect(inert(one)).not.toMatch(/^[=+\-@\t\r\n＝＋－＠]/)
    }),
  )
})

it.each([
  ['-5', "'-5"],
  ["'-5", "''-5"],
  ["O'Neill", "O'Neill"],
  ["'tis", "'tis"],
  ['5.1', '5.1'],
  ['', ''],
])('%j is written as %j', (came, written) => {
  expect(inert(came)).toBe(written)
})

it('a number that was corrected needs no apostrophe', () => {
  expect([revived('-6'), revived('6'), revived("'-6")]).toEqual(['-6', '6', '-6'])
})
