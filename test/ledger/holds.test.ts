import fc from 'fast-check'
import { expect, it } from 'vitest'
import { carriedOf, type Held, packEntries, packHolds, unpackHolds } from '../../src/ledger/packed-records.ts'
import { biometric, entryOf } from '../load/made-up-entries.ts'

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

/** Few rows, rules and hashes, so that they meet in every way: rows of one number with several keys, rules with several hashes. */
const ofSlot: fc.Arbitrary<Held> = fc.record({
  row: fc.integer({ min: 1, max: 4 }),
  rule: fc.constantFrom('systolic-bp', 'hba1c-2', 'list'),
  content: fc.stringMatching(/^[0-9a-f]{16}$/),
  slot: fc.record({
    rowKey: fc.constantFrom('a'.repeat(32), '0'.repeat(32), 'ff'.repeat(16)),
    rule: fc.constantFrom('00000000', 'ffffffff', '0123abcd'),
    rank: fc.integer({ min: 0, max: 2 }),
  }),
})

it('gives back the slots, and what it carries is the same without', () => {
  fc.assert(
    fc.property(fc.array(ofSlot, { maxLength: 60 }), (records) => {
      const packed = packHolds(records)
      expect(unpackHolds(packed)).toEqual(records)
      expect(unpackHolds(packHolds(unpackHolds(packed)))).toEqual(records)
      const bare = packHolds(records.map(({ slot: _, ...one }) => one))
      expect(unpackHolds(bare).every((one) => one.slot === undefined)).toBe(true)
      // Of one row number with several keys it says so.
      const isPlain = records.every(
        ({ row, slot }, at) => records[at - 1]?.row !== row || records[at - 1]?.slot?.rowKey === slot?.rowKey,
      )
      if (isPlain) expect(carriedOf(packed)).toEqual(carriedOf(bare))
    }),
  )
})

it('packs records as they are held', () => {
  const entries = ['70', '75'].map((value, at) => entryOf(biometric, { row: at + 1, value, key: `k${at}` }))
  const held = entries.map(({ row, rule, content, rowKey, ruleHash, rank }) => ({
    ...{ row: row.row, rule, content, slot: { rowKey, rule: ruleHash, rank } },
  }))
  expect(unpackHolds(packEntries(entries))).toEqual(held)
  expect(packEntries(entries)).toEqual(packHolds(held))
})

it('refuses slots that are cut off, or are too many', () => {
  const one = { row: 1, rule: 'a', content: '0123456789abcdef' }
  const packed = packHolds([{ ...one, slot: { rowKey: 'a'.repeat(32), rule: '0123abcd', rank: 1 } }])
  for (let length = 0; length < packed.length; length++)
    expect(() => unpackHolds(packed.subarray(0, length))).toThrow('the ledger is damaged')
  const more = Buffer.concat([carriedOf(packed), Buffer.alloc(200, 3), Buffer.from([0, 0, 0, 200])])
  expect(() => unpackHolds(more)).toThrow('the ledger is damaged')
})

it('takes less than 32 bytes more for a row', () => {
  const of = (row: number, rule: string): Held => ({
    ...{ row, rule, content: '0123456789abcdef' },
    slot: { rowKey: String(row).padStart(32, '0'), rule: rule.padStart(8, '0'), rank: 1 },
  })
  const records = Array.from({ length: 100 }, (_, row) =>
    Array.from({ length: 14 }, (_, rule) => of(row + 1, `${rule}`)),
  ).flat()
  const packed = packHolds(records)
  expect((packed.length - carriedOf(packed).length) / 100).toBeLessThan(17)
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
