import fc from 'fast-check'
import { expect, it } from 'vitest'
import { type Held, packHolds, unpackHolds } from '../../src/ledger/packed-records.ts'

const held: fc.Arbitrary<Held> = fc.record({
  row: fc.integer({ min: 1, max: 2 ** 45 }),
  rule: fc.oneof(fc.constantFrom('systolic-bp', 'hba1c-2'), fc.string({ unit: 'binary', maxLength: 300 })),
  content: fc.stringMatching(/^[0-9a-f]{16}$/),
})

it('gives back what was packed, in its order', () => {
  fc.assert(
    fc.property(fc.array(held, { maxLength: 400 }), (records) => {
      expect(unpackHolds(packHolds(records))).toEqual(records)
    }),
  )
})

it('gives back many rules', () => {
  const records = Array.from({ length: 1000 }, (_, at) => ({
    row: 1000 - at,
    rule: `rule-${at}`,
    content: '00ff00ff00ff00ff',
  }))
  expect(unpackHolds(packHolds(records))).toEqual(records)
})

it('reads from the middle of a buffer, as a database hands it out', () => {
  const records = [{ row: 7, rule: 'pcp', content: '0123456789abcdef' }]
  const packed = packHolds(records)
  const surrounded = new Uint8Array(packed.length + 20).fill(255)
  surrounded.set(packed, 10)
  expect(unpackHolds(surrounded.subarray(10, 10 + packed.length))).toEqual(records)
})

it('takes nine bytes a record of neighbouring rows', () => {
  const records = Array.from({ length: 500 }, (_, at) => ({
    row: 900_000 + at,
    rule: 'systolic-bp',
    content: '0123456789abcdef',
  }))
  expect(packHolds(records).length).toBeLessThan(500 * 9 + 40)
})
