/**
 * What was delivered, as bytes. Packs hold rows in the order in which they were delivered and are never moved; segments hold their keys, sorted,
 * with the places of the rows. What is merged as the ledger grows is thus 22 bytes a row, whatever the row holds. A filter beside each piece of
 * a segment tells of nearly every key that is not there. Pure.
 */
import type { ContentWords } from '../model/ids.ts'
import type { DeliveredRow, KeptSlot, KeptWord } from './left-records.ts'
import { readVarint, unpacking, writeVarint } from './packed-records.ts'

const KEY_BYTES = 16
/** Of the pack 4 bytes, of the row in it 2. */
const PLACE_BYTES = 6
const ENTRY_BYTES = KEY_BYTES + PLACE_BYTES
const CONTENT_BYTES = 8

/**
 * A pack has no more, but for a row that is larger: to look one row up reads one pack, of four pages of 4 KiB and a part of one (489 bytes, of
 * which the table's other columns take some) that it shares with others. Below 2 ** 16, as places are.
 */
const PACK_BYTES = 4 * 4_092 + 489 - 20

/** Entries of a block: they fill a page of 4 KiB, so that to look a key up reads one page. */
const BLOCK_ENTRIES = 180

/** Rule, arrival, row, marks, and the time of issue at most. */
const WORD_BYTES = 4 + 4 + 4 + 2 + 7

/** Where a row lies: its pack, and its offset there. */
export type Place = number

const PACK_UNIT = 2 ** 16
export const placeOf = (pack: number, offset: number): Place => pack * PACK_UNIT + offset
export const packOf = (place: Place): number => Math.floor(place / PACK_UNIT)
export const offsetOf = (place: Place): number => place % PACK_UNIT

// Packs

export interface Pack {
  readonly bytes: Uint8Array
  /** Of its rows. */
  readonly offsets: readonly number[]
}

/**
 * Form of a pack: the words that its slots begin with (their number as a varint; of each the rule's hash, 4 bytes, the arrival of the export, 4 bytes,
 * the row less that of the row's first slot, 4 bytes, marks, 2 bytes, the time of issue less the row's earliest, varint), then the rows: key, row in the
 * export (varint), the earliest time of issue of its slots (varint; 0 where one has none), the numbers of the words of its slots as runs (how many, of each where it begins and its length, varints), and of each slot its content, 8 bytes, with the latest word behind it
 * where that is another.
 */
export function packRows(rows: readonly DeliveredRow[]): Pack[] {
  const packs: Pack[] = []
  let words = new Words()
  let bytes = Buffer.allocUnsafe(2 * PACK_BYTES)
  let at = 0
  let offsets: number[] = []
  const close = (): void => {
    packs.push({ bytes: Buffer.concat([words.bytes(), bytes.subarray(0, at)]), offsets })
    words = new Words()
    at = 0
    offsets = []
  }
  for (const { rowKey, records } of rows) {
    const needed = at + KEY_BYTES + 20 + records.length * (10 + 2 * CONTENT_BYTES)
    if (needed > bytes.length) bytes = Buffer.concat([bytes.subarray(0, at)], needed)
    const start = at
    offsets.push(at)
    at += bytes.write(rowKey, at, KEY_BYTES, 'hex')
    const base = records[0]?.word.row ?? 0
    at = writeVarint(bytes, at, base)
    const issued = records.reduce(
      (least, { word }) => Math.min(least, word.issued),
      records[0]?.word.issued ?? 0,
    )
    at = writeVarint(bytes, at, issued)
    const runs: number[] = []
    let next = -1
    for (const record of records) {
      const word = words.numberOf(record, base, issued, Math.max(next, 0))
      if (word === next) runs.push((runs.pop() ?? 0) + 1)
      else runs.push(word, 1)
      next = word + 1
    }
    at = writeVarint(bytes, at, runs.length / 2)
    for (const number of runs) at = writeVarint(bytes, at, number)
    for (const { first, last, latest } of records) {
      at = bytes.writeInt32BE(last, bytes.writeInt32BE(first, at))
      if (latest !== undefined && latest !== 'withdrawn')
        at = bytes.writeInt32BE(latest.last, bytes.writeInt32BE(latest.first, at))
    }
    // The next row is likely to be as long.
    if (words.size + at + (at - start) > PACK_BYTES) close()
  }
  if (offsets.length > 0) close()
  return packs
}

const SEEN = ['nothing', 'stored', 'whole'] as const
/** Copies of a ledger that slots tell apart: the marks have 7 bits for them. */
export const COPIES = 128

/** From the lowest bit: rank (2), late, stored, lapsed, another latest word, withdrawn, seen (2), copy (7). */
function marksOf({ word, latest }: KeptSlot): number {
  const { rank, isLate, isStored, isLapsed, seen, copy } = word
  const flags = [
    isLate,
    isStored,
    isLapsed,
    latest !== undefined && latest !== 'withdrawn',
    latest === 'withdrawn',
  ]
  let marks = rank
  for (let flag = 0; flag < flags.length; flag++) if (flags[flag] === true) marks += 4 << flag
  return marks + SEEN.indexOf(seen) * 128 + copy * 512
}

const wordOf = (marks: number, arrival: number, row: number, issued: number): KeptWord => ({
  ...{ arrival, row, issued, rank: marks & 3 },
  ...{ isLate: (marks & 4) !== 0, isStored: (marks & 8) !== 0, isLapsed: (marks & 16) !== 0 },
  ...{ seen: SEEN[(marks >> 7) & 3] ?? 'nothing', copy: marks >> 9 },
})
const hasLatest = (marks: number): boolean => (marks & 32) !== 0
const isWithdrawn = (marks: number): boolean => (marks & 64) !== 0

interface PackedWord {
  readonly rule: string
  readonly arrival: number
  readonly row: number
  readonly marks: number
  readonly issued: number
}

/** Rule and word of slots: few of each pack, and in most rows in the same order. */
class Words {
  private readonly packed: PackedWord[] = []
  private readonly known = new Map<string, number>()
  private word: KeptWord | undefined
  private marks = 0

  /** @param base row of the row's first slot @param earliest time of issue of the row @param likely the number that it probably has */
  numberOf(slot: KeptSlot, base: number, earliest: number, likely: number): number {
    const { rule, word, latest } = slot
    if (word !== this.word || latest !== undefined) {
      this.marks = marksOf(slot)
      this.word = latest === undefined ? word : undefined
    }
    const { marks } = this
    const row = word.row - base
    const issued = word.issued - earliest
    const one = this.packed[likely]
    if (
      one !== undefined &&
      one.rule === rule &&
      one.arrival === word.arrival &&
      one.row === row &&
      one.marks === marks &&
      one.issued === issued
    )
      return likely
    const key = `${rule} ${word.arrival} ${row} ${marks} ${issued}`
    const number = this.known.get(key) ?? this.packed.length
    if (number < this.packed.length) return number
    this.known.set(key, number)
    this.packed.push({ rule, arrival: word.arrival, row, marks, issued })
    return number
  }

  /** In bytes, at most. */
  get size(): number {
    return 2 + this.packed.length * WORD_BYTES
  }

  bytes(): Uint8Array {
    const bytes = Buffer.allocUnsafe(5 + this.packed.length * WORD_BYTES)
    let at = writeVarint(bytes, 0, this.packed.length)
    for (const { rule, arrival, row, marks, issued } of this.packed) {
      at += bytes.write(rule, at, 4, 'hex')
      at = bytes.writeUInt16BE(marks, bytes.writeInt32BE(row, bytes.writeUInt32BE(arrival, at)))
      at = writeVarint(bytes, at, issued)
    }
    return bytes.subarray(0, at)
  }
}

export interface PackReader {
  rowAt(offset: number): DeliveredRow
  rows(): { readonly row: DeliveredRow; readonly offset: number }[]
}

/** Reads a pack. @throws WaybillError `ledger-unusable`, as its reader does */
export const readPack = (packed: Uint8Array): PackReader => unpacking(() => openPack(packed))

function openPack(packed: Uint8Array): PackReader {
  const bytes = Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength)
  const cursor = { at: 0 }
  const words: PackedWord[] = []
  for (let left = readVarint(bytes, cursor); left > 0; left--) {
    const { at } = cursor
    cursor.at += 14
    words.push({
      rule: bytes.toString('hex', at, at + 4),
      arrival: bytes.readUInt32BE(at + 4),
      row: bytes.readInt32BE(at + 8),
      marks: bytes.readUInt16BE(at + 12),
      issued: readVarint(bytes, cursor),
    })
  }
  const start = cursor.at
  const readWords = (): ContentWords => {
    const first = bytes.readInt32BE(cursor.at)
    const last = bytes.readInt32BE(cursor.at + 4)
    cursor.at += CONTENT_BYTES
    return { first, last }
  }
  const readRow = (): DeliveredRow => {
    const rowKey = bytes.toString('hex', cursor.at, cursor.at + KEY_BYTES)
    cursor.at += KEY_BYTES
    const base = readVarint(bytes, cursor)
    const earliest = readVarint(bytes, cursor)
    const ofSlots: PackedWord[] = []
    for (let runs = readVarint(bytes, cursor); runs > 0; runs--) {
      const first = readVarint(bytes, cursor)
      ofSlots.push(...words.slice(first, first + readVarint(bytes, cursor)))
    }
    let before: PackedWord | undefined
    let word: KeptWord | undefined
    const records = ofSlots.map((packed): KeptSlot => {
      const { rule, arrival, row, marks, issued } = packed
      const isAlike =
        before?.arrival === arrival &&
        before.row === row &&
        before.marks === marks &&
        before.issued === issued
      if (!isAlike || word === undefined) word = wordOf(marks, arrival, base + row, earliest + issued)
      before = packed
      const { first, last } = readWords()
      if (isWithdrawn(marks)) return { rule, first, last, word, latest: 'withdrawn' }
      return hasLatest(marks) ? { rule, first, last, word, latest: readWords() } : { rule, first, last, word }
    })
    return { rowKey, records }
  }
  return {
    rowAt: (offset) =>
      unpacking(() => {
        cursor.at = start + offset
        return readRow()
      }),
    rows: () =>
      unpacking(() => {
        const rows: { row: DeliveredRow; offset: number }[] = []
        for (cursor.at = start; cursor.at < bytes.length; ) {
          const offset = cursor.at - start
          rows.push({ row: readRow(), offset })
        }
        return rows
      }),
  }
}

// Keys

/** Keys in their order, each once. */
export interface SortedKeys {
  readonly count: number
  readonly view: DataView
  /** By rank: where the key stood; of equal ones the last. */
  readonly from: readonly number[]
}

export function sortKeys(rowKeys: readonly string[]): SortedKeys {
  const given = Buffer.from(rowKeys.join(''), 'hex')
  if (given.length !== rowKeys.length * KEY_BYTES) throw new Error('a row key has not 32 hex digits')
  // Six bytes are exact in a number, and tell nearly all keys apart.
  const heads = Float64Array.from(rowKeys, (_, at) => given.readUIntBE(at * KEY_BYTES, 6))
  const tail = (at: number): Buffer => given.subarray(at * KEY_BYTES + 6, (at + 1) * KEY_BYTES)
  const order = Array.from(rowKeys, (_, at) => at)
  order.sort((a, b) => (heads[a] ?? 0) - (heads[b] ?? 0) || Buffer.compare(tail(a), tail(b)) || a - b)
  const from: number[] = []
  const sorted = Buffer.allocUnsafe(given.length)
  for (const [rank, at] of order.entries()) {
    const next = order[rank + 1]
    if (next !== undefined && heads[next] === heads[at] && tail(next).equals(tail(at))) continue
    given.copy(sorted, from.length * KEY_BYTES, at * KEY_BYTES, (at + 1) * KEY_BYTES)
    from.push(at)
  }
  return { count: from.length, view: viewOf(sorted), from }
}

export const keyBytes = ({ view }: SortedKeys, rank: number): Uint8Array =>
  new Uint8Array(view.buffer, view.byteOffset + rank * KEY_BYTES, KEY_BYTES)

export const viewOf = (bytes: Uint8Array): DataView =>
  new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)

function compareKeys(a: DataView, atA: number, b: DataView, atB: number): number {
  for (let at = 0; at < KEY_BYTES; at += 4) {
    const ofA = a.getUint32(atA + at)
    const ofB = b.getUint32(atB + at)
    if (ofA !== ofB) return ofA - ofB
  }
  return 0
}

// Blocks

/** Sorted keys with the places of their rows. @param places by where a key stood */
export function entriesOf(keys: SortedKeys, places: readonly Place[]): Uint8Array {
  const entries = new Uint8Array(keys.count * ENTRY_BYTES)
  const view = viewOf(entries)
  for (const [rank, from] of keys.from.entries()) {
    const place = places[from] ?? 0
    entries.set(keyBytes(keys, rank), rank * ENTRY_BYTES)
    view.setUint32(rank * ENTRY_BYTES + KEY_BYTES, packOf(place))
    view.setUint16(rank * ENTRY_BYTES + KEY_BYTES + 4, offsetOf(place))
  }
  return entries
}

export const firstKey = (entries: Uint8Array): Uint8Array => entries.subarray(0, KEY_BYTES)
export const lastKey = (entries: Uint8Array): Uint8Array => entries.slice(-ENTRY_BYTES, -PLACE_BYTES)

/** In blocks of about the same size. */
export function blocksOf(entries: Uint8Array): Uint8Array[] {
  const count = entries.length / ENTRY_BYTES
  const blocks = Math.ceil(count / BLOCK_ENTRIES)
  return Array.from({ length: blocks }, (_, at) =>
    entries.subarray(
      Math.floor((at * count) / blocks) * ENTRY_BYTES,
      Math.floor(((at + 1) * count) / blocks) * ENTRY_BYTES,
    ),
  )
}

/** Whether the key stands behind the last of the block. */
export const isBehind = (block: DataView, { view }: SortedKeys, rank: number): boolean =>
  compareKeys(view, rank * KEY_BYTES, block, block.byteLength - ENTRY_BYTES) > 0

export function placeIn(block: DataView, { view }: SortedKeys, rank: number): Place | undefined {
  const at = lowerBound(block, view, rank * KEY_BYTES)
  if (at === block.byteLength || compareKeys(block, at, view, rank * KEY_BYTES) !== 0) return undefined
  return placeOf(block.getUint32(at + KEY_BYTES), block.getUint16(at + KEY_BYTES + 4))
}

/** Offset of the first entry that does not stand before the key. */
function lowerBound(block: DataView, key: DataView, keyAt: number): number {
  let low = 0
  let high = block.byteLength / ENTRY_BYTES
  while (low < high) {
    const middle = (low + high) >>> 1
    if (compareKeys(block, middle * ENTRY_BYTES, key, keyAt) < 0) low = middle + 1
    else high = middle
  }
  return low * ENTRY_BYTES
}

/** Gives the blocks of a segment in their order. */
export type NextBlock = () => Uint8Array | undefined

interface Head {
  readonly next: NextBlock
  block: DataView
  at: number
}

/**
 * Merges what stands behind a key, of equal keys the one of the newest segment.
 * @param newestFirst of each segment the blocks from that one on that may hold the key
 * @param limit entries at most
 */
export function mergeEntries(
  newestFirst: readonly NextBlock[],
  after: Uint8Array | undefined,
  limit: number,
): { readonly entries: Uint8Array; readonly isEnd: boolean } {
  const heads = newestFirst.flatMap((next): Head[] => {
    const head = { next, block: viewOf(new Uint8Array()), at: 0 }
    if (!isFilled(head)) return []
    while (after !== undefined) {
      head.at = lowerBound(head.block, viewOf(after), 0)
      if (head.at < head.block.byteLength && compareKeys(head.block, head.at, viewOf(after), 0) === 0)
        head.at += ENTRY_BYTES
      if (head.at < head.block.byteLength) break
      if (!isFilled(head)) return []
    }
    return [head]
  })
  const merged = new Uint8Array(limit * ENTRY_BYTES)
  const view = viewOf(merged)
  let end = 0
  let [first] = heads
  while (first !== undefined) {
    let least = first
    for (const head of heads)
      if (head !== least && compareKeys(head.block, head.at, least.block, least.at) < 0) least = head
    const { block, at } = least
    if (end === 0 || compareKeys(block, at, view, end - ENTRY_BYTES) !== 0) {
      if (end === merged.length) return { entries: merged, isEnd: false }
      for (let byte = 0; byte < 20; byte += 4) view.setUint32(end + byte, block.getUint32(at + byte))
      view.setUint16(end + 20, block.getUint16(at + 20))
      end += ENTRY_BYTES
    }
    least.at += ENTRY_BYTES
    if (least.at === block.byteLength && !isFilled(least)) {
      heads.splice(heads.indexOf(least), 1)
      first = heads[0]
    }
  }
  return { entries: merged.subarray(0, end), isEnd: true }
}

/** Goes on with the next block. @returns false where there is none */
function isFilled(head: Head): boolean {
  const block = head.next()
  if (block === undefined) return false
  head.block = viewOf(block)
  head.at = 0
  return true
}

// Filters

/**
 * A Bloom filter over the keys: one byte says how many bits are set of each, the others are the bits. Row keys are keyed hashes already, so that
 * their last eight bytes are all the hashing it needs; their first bytes, by which they are sorted, are much the same within a piece.
 * @param bits of each key: 12 take 3 of 1,000 other keys for one of these, 16 take 5 of 10,000
 */
export function filterOf(entries: Uint8Array, bits: number): Uint8Array {
  const filter = new Uint8Array(2 + Math.floor((entries.length / ENTRY_BYTES) * (bits / 8)))
  const hashes = Math.round(bits * Math.LN2)
  filter[0] = hashes
  const scale = scaleOf(filter)
  const view = viewOf(entries)
  for (let at = 0; at < entries.length; at += ENTRY_BYTES) {
    const step = view.getUint32(at + 12) | 1
    let hash = view.getUint32(at + 8)
    for (let left = hashes; left > 0; left--) {
      const bit = (hash * scale) | 0
      const byte = 1 + (bit >>> 3)
      filter[byte] = (filter[byte] ?? 0) | (1 << (bit & 7))
      hash = (hash + step) >>> 0
    }
  }
  return filter
}

/** From a hash of 32 bits to the number of a bit: a division of each would take longer than all else. */
const scaleOf = (filter: Uint8Array): number => ((filter.length - 1) * 8) / 2 ** 32

/** Never false of a key that is one of those; seldom true of another one. */
export function mayHold(filter: Uint8Array, { view }: SortedKeys, rank: number): boolean {
  const scale = scaleOf(filter)
  const step = view.getUint32(rank * KEY_BYTES + 12) | 1
  let hash = view.getUint32(rank * KEY_BYTES + 8)
  for (let left = filter[0] ?? 0; left > 0; left--) {
    const bit = (hash * scale) | 0
    if (((filter[1 + (bit >>> 3)] ?? 0) & (1 << (bit & 7))) === 0) return false
    hash = (hash + step) >>> 0
  }
  return true
}

/** Whether the key does not stand before the other one. */
export const isFrom = (first: DataView, { view }: SortedKeys, rank: number): boolean =>
  compareKeys(first, 0, view, rank * KEY_BYTES) <= 0
