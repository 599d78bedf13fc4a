import { expect, test } from 'vitest'
import { nameWords } from '../../src/watch/names.ts'

const naming = {
  silent: [],
  asides: [],
  ordinals: [],
  unitWords: new Map<string, string>(),
  unitOf: () => undefined,
}

test.each([
  ['Chol/HDL', [['chol'], ['hdl']]],
  ['total cholesterol : HDL', [['total', 'cholesterol'], ['hdl']]],
  ['Chol', []],
  ['Chol/', []],
  ['/HDL', []],
  ['a/b/c', []],
])('a name has two sides where one mark stands between words: %s', (name, sides) => {
  expect(nameWords(name, naming).sides).toEqual(sides)
})
