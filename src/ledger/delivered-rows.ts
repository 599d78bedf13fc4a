/**
 * Delivered rows, as bytes. Packs hold rows in the order of delivery and never move. Segments hold sorted row keys with the places of the rows:
 * merging segments moves only 22 bytes a row, however large the row. A filter beside each piece of a segment rejects nearly every absent key.
 * Pure.
 */
import type { ContentWords, RowPrint } from '../model/ids.ts'
import type { DeliveredRow, KeptSlot, KeptWord, RowToSave } from './left-records.ts'
import { readVarint, unpacking, writeVarint } from './packed-records.ts'

const KEY_BYTES = 16
/** 4 bytes for the pack, 2 for the row in the pack. */
const PLACE_BYTES = 6
const ENTRY_BYTES = KEY_BYTES + PLACE_BYTES
const CONTENT_BYTES = 8
/** Most bytes of a print: two counts, and the hash. */
const PRINT_BYTES = 2 * 5 + CONTENT_BYTES

/**
 * Limit of a pack's bytes, unless a single row is larger. A look-up of a row reads one pack: four pages of 4 KiB and a part (489 bytes, less the
 * table's other columns) of a shared page. Below 2 ** 16, the limit of offsets in a place.
 */
const PACK_BYTES = 4 * 4_092 + 489 - 20

/** Entries of a block. A block fills a page of 4 KiB: a look-up of a key reads one page. */
const BLOCK_ENTRIES = 180

/** Most bytes of a word: rule, arrival, row, marks, and time of issue. */
const WORD_BYTES = 4 + 4 + 4 + 2 + 7

/** Place of a row: pack, and offset in the pack. */
export type Place = number

const PACK_UNIT = 2 ** 16
export const placeOf = (pack: number, offset: number): Place => pack * PACK_UNIT + offset
export const packOf = (place: Place): number => Math.floor(place / PACK_UNIT)
export const offsetOf = (place: Place): number => place % PACK_UNIT

// Packs

interface Pack {
  readonly bytes: Uint8Array
  readonly offsets: readonly number[]
}

/**
 * Packs rows: a list of words, then the rows. All counts and numbers without a size are varints.
 * Words: how many; for each the hash of the rule (4 bytes), arrival of the export (4 bytes), row minus the row of the row's first slot
 * (4 bytes), marks (2 bytes), and time of issue minus the earliest of the row.
 * Row: key, print (0 without one; else 1 + number of biometrics, number of conditions, 8 bytes), row in the export, earliest time of issue of
 * the slots (0 if a slot has none), numbers of the slots' words as runs (number of runs; first word and length of each run), and for each slot
 * the content (8 bytes), followed by the latest word's content if different.
 */
export function packRows(rows: readonly RowToSave[]): Pack[] {
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
  for (const row of rows) {
    const { rowKey, records, print } = row
    const needed = at + KEY_BYTES + PRINT_BYTES + 20 + records.length * (10 + 2 * CONTENT_BYTES)
    if (needed > bytes.length) bytes = Buffer.concat([bytes.subarray(0, at)], needed)
    const start = at
    offsets.push(at)
    at += bytes.write(rowKey, at, KEY_BYTES, 'hex')
    at = writePrint(bytes, at, print)
    at = words.writeRuns(bytes, at, row)
    at = writeContents(bytes, at, records)
    // The next row is probably as long.
    if (words.size + at + (at - start) > PACK_BYTES) close()
  }
  if (offsets.length > 0) close()
  return packs
}

function writeContents(bytes: Buffer, start: number, records: RowToSave['records']): number {
  let at = start
  for (let slot = 0; slot < records.length; slot++) {
    const record = records[slot]
    if (record === undefined) continue
    const { latest } = record
    at = writeContent(bytes, at, record)
    if (latest !== undefined && latest !== 'withdrawn') at = writeContent(bytes, at, latest)
  }
  return at
}

function writePrint(bytes: Buffer, at: number, print: RowPrint | undefined): number {
  if (print === undefined) return writeVarint(bytes, at, 0)
  const behindCounts = writeVarint(bytes, writeVarint(bytes, at, 1 + print.biometrics), print.conditions)
  return writeContent(bytes, behindCounts, print)
}

const writeContent = (bytes: Buffer, at: number, { first, last }: ContentWords): number =>
  bytes.writeInt32BE(last, bytes.writeInt32BE(first, at))

const wordIn = ({ records, word }: RowToSave, slot: number): KeptWord | undefined =>
  word ?? records[slot]?.word

const earliestOf = ({ records, word }: RowToSave): number =>
  word?.issued ??
  records.reduce((least, slot) => Math.min(least, slot.word?.issued ?? 0), records[0]?.word?.issued ?? 0)

const SEEN = ['nothing', 'stored', 'whole'] as const
/** Copies of a ledger that slots can tell apart: the marks have 7 bits for the copy. */
export const COPIES = 128

/** From the lowest bit: rank (2), late, stored, lapsed, other latest word, withdrawn, seen (2), copy (7). */
function marksOf(word: KeptWord, latest: KeptSlot['latest']): number {
  const { rank, isLate, isStored, isLapsed, seen, copy } = word
  const flags = (isLate ? 4 : 0) + (isStored ? 8 : 0) + (isLapsed ? 16 : 0)
  const other = latest === undefined ? 0 : latest === 'withdrawn' ? 64 : 32
  return rank + flags + other + SEEN.indexOf(seen) * 128 + copy * 512
}

const wordOf = (marks: number, arrival: number, row: number, issued: number): KeptWord => ({
  arrival,
  row,
  issued,
  rank: marks & 3,
  isLate: (marks & 4) !== 0,
  isStored: (marks & 8) !== 0,
  isLapsed: (marks & 16) !== 0,
  seen: SEEN[(marks >> 7) & 3] ?? 'nothing',
  copy: marks >> 9,
})
const hasLatest = (marks: number): boolean => (marks & 32) !== 0
const isWithdrawn = (marks: number): boolean => (marks & 64) !== 0

interface PackedWord {
  readonly ruleHash: string
  readonly arrival: number
  readonly row: number
  readonly marks: number
  readonly issued: number
}

/** Words compared before a look-up by text, which takes longer. */
const WORDS_COMPARED = 16

/** Rules and words of slots: a pack has few, in the same order in most rows. */
class Words {
  private readonly packed: PackedWord[] = []
  private readonly known = new Map<string, number>()
  private readonly runs: number[] = []
  private word: KeptWord | undefined
  private marks = 0

  /** Writes the row in the export, the earliest time of issue, and the words of the slots. */
  writeRuns(bytes: Buffer, start: number, row: RowToSave): number {
    const { runs } = this
    const { records } = row
    const base = wordIn(row, 0)?.row ?? 0
    const issued = earliestOf(row)
    let used = 0
    let next = -1
    for (let slot = 0; slot < records.length; slot++) {
      const record = records[slot]
      const ofSlot = wordIn(row, slot)
      if (record === undefined || ofSlot === undefined) continue
      const word = this.numberOf(record, ofSlot, base, issued, Math.max(next, 0))
      if (word !== next) {
        runs[used++] = word
        runs[used++] = 0
      }
      runs[used - 1] = (runs[used - 1] ?? 0) + 1
      next = word + 1
    }
    let at = writeVarint(bytes, start, base)
    at = writeVarint(bytes, at, issued)
    at = writeVarint(bytes, at, used / 2)
    for (let run = 0; run < used; run++) at = writeVarint(bytes, at, runs[run] ?? 0)
    return at
  }

  /** @param base row of the row's first slot @param earliest time of issue of the row @param likely the probable number */
  private numberOf(
    { ruleHash, latest }: Omit<KeptSlot, 'word'>,
    word: KeptWord,
    base: number,
    earliest: number,
    likely: number,
  ): number {
    if (word !== this.word || latest !== undefined) {
      this.marks = marksOf(word, latest)
      this.word = latest === undefined ? word : undefined
    }
    const { marks, packed } = this
    const row = word.row - base
    const issued = word.issued - earliest
    for (let step = 0; step < Math.min(WORDS_COMPARED, packed.length); step++) {
      const number = (likely + step) % packed.length
      const one = packed[number]
      if (
        one !== undefined &&
        one.ruleHash === ruleHash &&
        one.arrival === word.arrival &&
        one.row === row &&
        one.marks === marks &&
        one.issued === issued
      )
        return number
    }
    const key = `${ruleHash} ${word.arrival} ${row} ${marks} ${issued}`
    const number = this.known.get(key) ?? packed.length
    if (number < packed.length) return number
    this.known.set(key, number)
    packed.push({ ruleHash, arrival: word.arrival, row, marks, issued })
    return number
  }

  /** Most bytes of the packed words. */
  get size(): number {
    return 3 + this.packed.length * WORD_BYTES
  }

  bytes(): Uint8Array {
    const bytes = Buffer.allocUnsafe(6 + this.packed.length * WORD_BYTES)
    let at = writeVarint(bytes, 0, this.packed.length)
    for (const { ruleHash, arrival, row, marks, issued } of this.packed) {
      at += bytes.write(ruleHash, at, 4, 'hex')
      at = bytes.writeUInt16BE(marks, bytes.writeInt32BE(row, bytes.writeUInt32BE(arrival, at)))
      at = writeVarint(bytes, at, issued)
    }
    return bytes.subarray(0, at)
  }
}

/** True for words that differ in their rules at most. */
const isAlike = (one: PackedWord, other: PackedWord): boolean =>
  one.arrival === other.arrival &&
  one.row === other.row &&
  one.marks === other.marks &&
  one.issued === other.issued

export interface PackReader {
  rowAt(offset: number): DeliveredRow
  printAt(offset: number): RowPrint | undefined
  rows(): { readonly row: DeliveredRow; readonly offset: number }[]
}

/** Reads a pack. @throws WaybillError `ledger-unusable`, also from the methods of the reader */
export const readPack = (packed: Uint8Array): PackReader => unpacking(() => openPack(packed))

function openPack(packed: Uint8Array): PackReader {
  const bytes = Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength)
  const cursor = { at: 0 }
  const words: PackedWord[] = []
  for (let left = readVarint(bytes, cursor); left > 0; left--) {
    const { at } = cursor
    cursor.at += 14
    words.push({
      ruleHash: bytes.toString('hex', at, at + 4),
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
  const readPrint = (): RowPrint | undefined => {
    const count = readVarint(bytes, cursor)
    if (count === 0) return undefined
    const conditions = readVarint(bytes, cursor)
    return { biometrics: count - 1, conditions, ...readWords() }
  }
  const readRow = (): DeliveredRow => {
    const rowKey = bytes.toString('hex', cursor.at, cursor.at + KEY_BYTES)
    cursor.at += KEY_BYTES
    const print = readPrint()
    const base = readVarint(bytes, cursor)
    const earliest = readVarint(bytes, cursor)
    const runs: number[] = []
    for (let left = 2 * readVarint(bytes, cursor); left > 0; left--) runs.push(readVarint(bytes, cursor))
    let before: PackedWord | undefined
    let word: KeptWord | undefined
    const records: KeptSlot[] = []
    for (let run = 0; run < runs.length; run += 2) {
      const from = runs[run] ?? 0
      for (const packed of words.slice(from, from + (runs[run + 1] ?? 0))) {
        const { ruleHash, marks } = packed
        if (word === undefined || before === undefined || !isAlike(before, packed))
          word = wordOf(marks, packed.arrival, base + packed.row, earliest + packed.issued)
        before = packed
        const { first, last } = readWords()
        const slot = { ruleHash, first, last, word }
        if (isWithdrawn(marks)) records.push({ ...slot, latest: 'withdrawn' })
        else if (hasLatest(marks)) records.push({ ...slot, latest: readWords() })
        else records.push(slot)
      }
    }
    return print === undefined ? { rowKey, records } : { rowKey, records, print }
  }
  return {
    rowAt: (offset) =>
      unpacking(() => {
        cursor.at = start + offset
        return readRow()
      }),
    printAt: (offset) =>
      unpacking(() => {
        cursor.at = start + offset + KEY_BYTES
        return readPrint()
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

/** Distinct keys in sorted order, by rank. */
export class SortedKeys {
  /** Position of each key in the input, by rank; for equal keys the last position. */
  readonly from: readonly number[]
  readonly #view: DataView

  constructor(rowKeys: readonly string[]) {
    const given = Buffer.from(rowKeys.join(''), 'hex')
    if (given.length !== rowKeys.length * KEY_BYTES) throw new Error('a row key has not 32 hex digits')
    const view = viewOf(given)
    const order = Uint32Array.from(rowKeys.keys())
    order.sort((a, b) => compareKeys(view, a * KEY_BYTES, view, b * KEY_BYTES) || a - b)
    const from: number[] = []
    const sorted = Buffer.allocUnsafe(given.length)
    for (let rank = 0; rank < order.length; rank++) {
      const at = order[rank] ?? 0
      const next = order[rank + 1]
      if (next !== undefined && compareKeys(view, next * KEY_BYTES, view, at * KEY_BYTES) === 0) continue
      given.copy(sorted, from.length * KEY_BYTES, at * KEY_BYTES, (at + 1) * KEY_BYTES)
      from.push(at)
    }
    this.from = from
    this.#view = viewOf(sorted)
  }

  get count(): number {
    return this.from.length
  }

  bytes(rank: number): Uint8Array {
    return new Uint8Array(this.#view.buffer, this.#view.byteOffset + rank * KEY_BYTES, KEY_BYTES)
  }

  /** Entries of a block. @param places by position of the key in the input */
  entries(places: readonly Place[]): Uint8Array {
    const entries = new Uint8Array(this.count * ENTRY_BYTES)
    const view = viewOf(entries)
    for (const [rank, from] of this.from.entries()) {
      const place = places[from] ?? 0
      entries.set(this.bytes(rank), rank * ENTRY_BYTES)
      view.setUint32(rank * ENTRY_BYTES + KEY_BYTES, packOf(place))
      view.setUint16(rank * ENTRY_BYTES + KEY_BYTES + 4, offsetOf(place))
    }
    return entries
  }

  /** True if the key sorts after the last key of the block. */
  isBehind(rank: number, block: DataView): boolean {
    return compareKeys(this.#view, rank * KEY_BYTES, block, block.byteLength - ENTRY_BYTES) > 0
  }

  /** True if the key sorts at or after the first key. */
  isFrom(rank: number, first: DataView): boolean {
    return compareKeys(first, 0, this.#view, rank * KEY_BYTES) <= 0
  }

  placeIn(block: DataView, rank: number): Place | undefined {
    const at = lowerBound(block, this.#view, rank * KEY_BYTES)
    if (at === block.byteLength || compareKeys(block, at, this.#view, rank * KEY_BYTES) !== 0)
      return undefined
    return placeOf(block.getUint32(at + KEY_BYTES), block.getUint16(at + KEY_BYTES + 4))
  }

  /** True for every key of the filter; seldom true for an absent key. */
  mayBeIn(filter: Uint8Array, rank: number): boolean {
    const scale = scaleOf(filter)
    const step = this.#view.getUint32(rank * KEY_BYTES + 12) | 1
    let hash = this.#view.getUint32(rank * KEY_BYTES + 8)
    for (let left = filter[0] ?? 0; left > 0; left--) {
      const bit = (hash * scale) | 0
      if (((filter[1 + (bit >>> 3)] ?? 0) & (1 << (bit & 7))) === 0) return false
      hash = (hash + step) >>> 0
    }
    return true
  }
}

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

export const firstKey = (entries: Uint8Array): Uint8Array => entries.subarray(0, KEY_BYTES)
export const lastKey = (entries: Uint8Array): Uint8Array => entries.slice(-ENTRY_BYTES, -PLACE_BYTES)

/** Blocks of nearly equal size. */
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

/** Offset of the first entry at or after the key. */
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

/** Returns the blocks of a segment in order. */
type NextBlock = () => Uint8Array | undefined

interface Head {
  readonly next: NextBlock
  block: DataView
  at: number
}

/**
 * Merges entries after a key. For equal keys, the newest segment counts.
 * @param newestFirst for each segment the blocks, starting with the block that may hold the key
 * @param limit most entries
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
    for (let at = 0; at < heads.length; at++) {
      const head = heads[at] ?? least
      if (head !== least && compareKeys(head.block, head.at, least.block, least.at) < 0) least = head
    }
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

/** Moves on to the next block. @returns false at the end */
function isFilled(head: Head): boolean {
  const block = head.next()
  if (block === undefined) return false
  head.block = viewOf(block)
  head.at = 0
  return true
}

// Filters

/**
 * A Bloom filter over the keys: a byte with the number of bits set for each key, then the bits. Row keys are keyed hashes already: their last
 * eight bytes need no further hashing. Their first bytes, the sort key, are nearly equal within a piece.
 * @param bits for each key: with 12, 3 of 1,000 absent keys pass; with 16, 5 of 10,000
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

/** Scale from a 32-bit hash to the number of a bit: a division for each bit would take longer than everything else. */
const scaleOf = (filter: Uint8Array): number => ((filter.length - 1) * 8) / 2 ** 32
