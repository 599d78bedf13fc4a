import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  blocksOf,
  filterOf,
  firstKey,
  lastKey,
  mergeEntries,
  offsetOf,
  type Place,
  packOf,
  packRows,
  placeOf,
  readPack,
  SortedKeys,
  viewOf,
} from '../../src/ledger/delivered-rows.ts'
import type { DeliveredRow } from '../../src/ledger/ledger.ts'
import { anySlot, keptSlot } from './kept-slots.ts'

const hexOf = (digits: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: digits, maxLength: digits })
/** Many share their first or their last bytes, which hashes would not. */
const rowKey = fc
  .tuple(fc.constantFrom('00000000', '7fffffff', '80000000', 'ffffffff'), hexOf(1), fc.constantFrom('0', 'f'))
  .map(([first, middle, last]) => `${first}${'0'.repeat(7)}${middle}${last.repeat(16)}`)
const word = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })
const record = anySlot(fc.constantFrom('00000000', '0a0b0c0d', 'ffffffff'), word)
const count = fc.constantFrom(0, 1, 127, 128)
const print = fc.record({ first: word, last: word, biometrics: count, conditions: count })
const row: fc.Arbitrary<DeliveredRow> = fc.record(
  { rowKey, records: fc.array(record, { maxLength: 5 }), print },
  { requiredKeys: ['rowKey', 'records'] },
)
const hash = (text: string): string => createHash('md5').update(text).digest('hex')

describe('packs', () => {
  const long = (records: number): DeliveredRow => ({
    rowKey: hash('long'),
    records: Array.from({ length: records }, (_, at) =>
      keptSlot(hash(`rule ${at}`).slice(0, 8), hash(`${at}`).slice(0, 16), {
        ...{ arrival: at, row: at, isLate: at % 2 === 0, isStored: at % 3 === 0 },
      }),
    ),
  })
  const unpacked = (rows: readonly DeliveredRow[]) =>
    packRows(rows).flatMap(({ bytes }) =>
      readPack(bytes)
        .rows()
        .map((one) => one.row),
    )

  it('give rows back as they were, by their place and all in their order', () => {
    fc.assert(
      fc.property(fc.array(row, { maxLength: 40 }), (rows) => {
        expect(unpacked(rows)).toEqual(rows)
        const packs = packRows(rows)
        const byPlace = packs.flatMap(({ bytes, offsets }) => offsets.map(readPack(bytes).rowAt))
        expect(byPlace).toEqual(rows)
        const prints = packs.flatMap(({ bytes, offsets }) => offsets.map(readPack(bytes).printAt))
        expect(prints).toEqual(rows.map((one) => one.print))
      }),
    )
  })

  it.each([[0], [1], [127], [128], [129], [5_000]])('hold a row of %i records', (records) => {
    const rows = [long(1), long(records), long(2)]
    expect(unpacked(rows)).toEqual(rows)
  })

  it('are of a bounded size, with offsets that two bytes hold', () => {
    const packs = packRows(Array.from({ length: 3_000 }, () => long(13)))
    expect(packs.length).toBeGreaterThan(10)
    for (const { bytes, offsets } of packs) {
      expect(bytes.length).toBeLessThanOrEqual(4 * 4_092 + 489 - 20)
      expect(Math.max(...offsets)).toBeLessThan(2 ** 16)
    }
    // 16 bytes of key, 1 without a print, 1 of the row, 1 without a time of issue, 8 of each record, 3 of their words; and of each pack the words.
    expect(packs.reduce((sum, { bytes }) => sum + bytes.length, 0) / 3_000).toBeLessThan(
      16 + 1 + 1 + 1 + 13 * 8 + 3 + 2,
    )
    // What is too little for one more row is left of the pages.
    for (const { bytes } of packs.slice(0, -1)) expect(4 * 4_092 + 489 - bytes.length).toBeLessThan(200)
  })

  it('refuse a row key that is no hash of its length', () => {
    expect(() => new SortedKeys(['abc'])).toThrow('row key')
  })
})

describe('places', () => {
  it.each([
    [0, 0],
    [1, 16_000],
    [2 ** 32 - 1, 2 ** 16 - 1],
  ])('hold pack %i and offset %i', (pack, offset) => {
    const place = placeOf(pack, offset)
    expect([packOf(place), offsetOf(place)]).toEqual([pack, offset])
    const keys = new SortedKeys([hash('a')])
    expect(keys.placeIn(viewOf(keys.entries([place])), 0)).toBe(place)
  })
})

/** Entries of a segment, from keys and where their rows lie. */
const segment = (rows: ReadonlyMap<string, Place>): Uint8Array =>
  new SortedKeys([...rows.keys()]).entries([...rows.values()])
/** What entries say, in their order. */
const read = (entries: Uint8Array): [string, Place][] =>
  Array.from({ length: entries.length / 22 }, (_, at) => {
    const entry = Buffer.from(entries.buffer, entries.byteOffset + at * 22, 22)
    return [entry.toString('hex', 0, 16), placeOf(entry.readUInt32BE(16), entry.readUInt16BE(20))]
  })
const inOrder = (rows: ReadonlyMap<string, Place>) => [...rows].sort(([a], [b]) => (a < b ? -1 : 1))
const someRows = (most: number) =>
  fc
    .array(fc.tuple(rowKey, fc.integer({ min: 0, max: 2 ** 40 })), { maxLength: most })
    .map((pairs) => new Map(pairs))

describe('keys', () => {
  it('stand in their order, each once; of equal ones the last counts', () => {
    fc.assert(
      fc.property(fc.array(rowKey, { maxLength: 60 }), (keys) => {
        const entries = new SortedKeys(keys).entries([...keys.keys()])
        expect(read(entries)).toEqual(inOrder(new Map(keys.map((key, at) => [key, at]))))
      }),
    )
  })

  it('are found in their block alone', () => {
    fc.assert(
      fc.property(someRows(60), fc.array(rowKey, { maxLength: 20 }), (rows, others) => {
        const keys = new SortedKeys([...rows.keys(), ...others])
        const asked = [...rows.keys(), ...others]
        const block = viewOf(segment(rows))
        for (const [rank, from] of keys.from.entries())
          expect(keys.placeIn(block, rank)).toBe(rows.get(asked[from] ?? ''))
      }),
    )
  })

  it.each([
    [1, 1],
    [180, 1],
    [181, 2],
    [540, 3],
    [1_000, 6],
  ])('%i of them are %i blocks of a page', (count, expected) => {
    const rows = new Map(Array.from({ length: count }, (_, at) => [hash(`${at}`), at]))
    const blocks = blocksOf(segment(rows))
    expect(blocks).toHaveLength(expected)
    expect(blocks.flatMap(read)).toEqual(inOrder(rows))
    for (const block of blocks) {
      // A page of 4,096 bytes holds a row of 4,061, with its segment and its first key.
      expect(block.length).toBeLessThanOrEqual(4_000)
      expect(Buffer.from(firstKey(block)).toString('hex')).toBe(read(block)[0]?.[0])
      expect(Buffer.from(lastKey(block)).toString('hex')).toBe(read(block).at(-1)?.[0])
    }
  })
})

describe('merging', () => {
  /** Cut into blocks of so many entries, from the one on that may hold what stands behind the key. */
  function blocksFrom(entries: Uint8Array, size: number, after: Uint8Array | undefined) {
    const blocks = Array.from({ length: Math.ceil(entries.length / 22 / size) }, (_, at) =>
      entries.slice(at * size * 22, (at + 1) * size * 22),
    )
    const isBefore = (block: Uint8Array) => after !== undefined && Buffer.compare(firstKey(block), after) <= 0
    const start = Math.max(0, blocks.findLastIndex(isBefore))
    const left = blocks.slice(start)
    return () => left.shift()
  }

  it('in pieces of any size says what a map says that the segments were written to, oldest first', () => {
    fc.assert(
      fc.property(
        fc.array(someRows(25), { maxLength: 5 }),
        fc.integer({ min: 1, max: 30 }),
        fc.integer({ min: 1, max: 9 }),
        (oldestFirst, limit, size) => {
          const newestFirst = oldestFirst.map(segment).reverse()
          const merged: [string, Place][] = []
          let after: Uint8Array | undefined
          for (let isOver = false; !isOver; ) {
            const blocks = newestFirst.map((entries) => blocksFrom(entries, size, after))
            const { entries, isEnd } = mergeEntries(blocks, after, limit)
            expect(entries.length).toBeLessThanOrEqual(limit * 22)
            merged.push(...read(entries))
            if (entries.length > 0) after = lastKey(entries)
            isOver = isEnd
          }
          expect(merged).toEqual(inOrder(new Map(oldestFirst.flatMap((rows) => [...rows]))))
        },
      ),
    )
  })
})

describe('a filter', () => {
  it('never says of a key that it is not there', () => {
    fc.assert(
      fc.property(someRows(60), fc.constantFrom(12, 16), (rows, bits) => {
        const keys = new SortedKeys([...rows.keys()])
        const filter = filterOf(segment(rows), bits)
        for (let rank = 0; rank < keys.count; rank++) expect(keys.mayBeIn(filter, rank)).toBe(true)
      }),
    )
  })

  // (1 - e^(-k/b))^k, with k = b ln 2 bits set of each key, is 3.1 and 0.46 of 1,000.
  it.each([
    [12, 0.0045],
    [16, 0.0012],
  ])('of %i bits a key takes few others for one of them', (bits, most) => {
    const rows = new Map(Array.from({ length: 10_000 }, (_, at) => [hash(`${at}`), at]))
    const filter = filterOf(segment(rows), bits)
    expect(filter.length).toBeLessThanOrEqual((10_000 * bits) / 8 + 2)
    const others = new SortedKeys(Array.from({ length: 20_000 }, (_, at) => hash(`other ${at}`)))
    let taken = 0
    for (let rank = 0; rank < others.count; rank++) if (others.mayBeIn(filter, rank)) taken++
    expect(taken / others.count).toBeLessThan(most)
  })
})
