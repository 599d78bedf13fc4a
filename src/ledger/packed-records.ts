/**
 * Records of a batch, packed: a few bytes for each record instead of a table row. Pure.
 * Form: rule names as a JSON array (length-prefixed), then the records, then a trailer.
 * Record: index of the rule, combined with the step from the previous record (row unchanged, next row, or elsewhere; varint); for elsewhere, the
 * difference of the row numbers (zigzag varint); 8 bytes of the content hash. Rule names and records are the content of the batch, and the batch
 * id is made of them.
 * Trailer: the slots of the records. The last 4 bytes hold the length of the trailer; 0 if slots are unknown. For each rule: 1 and the hash, or 0
 * if the records of the rule have several hashes. Then the ranks, each with the number of successive records (varint). Then the row key (16
 * bytes) of each record with a new row. Then the hash (4 bytes) of each record whose rule has several hashes.
 */
import { WaybillError } from '../model/errors.ts'
import { type ContentWords, wordsOf } from '../model/ids.ts'

/** A record of a batch, by position and hash. */
export interface Held {
  readonly row: number
  readonly rule: string
  /** 16 hex digits. */
  readonly content: string
  /** Undefined if packed without a slot. */
  readonly slot?: HeldSlot
}

interface HeldSlot {
  readonly rowKey: string
  readonly rule: string
  readonly rank: number
}

/** Step from the previous record: row unchanged, next row, or elsewhere. */
const SAME = 0
const NEXT = 1
const ELSEWHERE = 2
const STEPS = 3
const RANKS = 3

/** A record to pack. */
interface Packable extends ContentWords {
  readonly row: { readonly row: number }
  readonly rule: string
  readonly rowKey: string | undefined
  readonly ruleHash: string
  readonly rank: number
}

export const packHolds = (records: readonly Held[]): Uint8Array =>
  packEntries(
    records.map(({ row, rule, content, slot }) => ({
      row: { row },
      rule,
      ...wordsOf(content),
      rowKey: slot?.rowKey,
      ruleHash: slot?.rule ?? '',
      rank: slot?.rank ?? 0,
    })),
  )

interface PackedRule {
  readonly index: number
  readonly hash: string
  hasOthers: boolean
}

export function packEntries(records: readonly Packable[]): Uint8Array {
  const rules = new Map<string, PackedRule>()
  const ofRecords: PackedRule[] = []
  for (const { rule, ruleHash } of records) {
    let known = rules.get(rule)
    if (known === undefined) {
      known = { index: rules.size, hash: ruleHash, hasOthers: false }
      rules.set(rule, known)
    } else if (known.hash !== ruleHash) known.hasOthers = true
    ofRecords.push(known)
  }
  const names = Buffer.from(JSON.stringify([...rules.keys()]))
  const bytes = Buffer.allocUnsafe(5 + names.length + records.length * 18)
  let at = writeVarint(bytes, 0, names.length)
  at += names.copy(bytes, at)
  const rowKeys: (string | undefined)[] = []
  const hashes: string[] = []
  let nth = 0
  let before: Packable['row'] | undefined
  for (const record of records) {
    const { row, first, last } = record
    let step = SAME
    let distance = 0
    if (row !== before) {
      distance = row.row - (before?.row ?? 0)
      // A row number may have several row keys, as people correct lines of a rejects file by hand.
      if (distance !== 0 || before === undefined || record.rowKey !== rowKeys.at(-1)) {
        rowKeys.push(record.rowKey)
        step = distance === 1 ? NEXT : ELSEWHERE
      }
      before = row
    }
    const rule = ofRecords[nth++]
    if (rule?.hasOthers) hashes.push(record.ruleHash)
    at = writeVarint(bytes, at, (rule?.index ?? 0) * STEPS + step)
    if (step === ELSEWHERE) at = writeVarint(bytes, at, distance < 0 ? -distance * 2 - 1 : distance * 2)
    at = bytes.writeInt32BE(last, bytes.writeInt32BE(first, at))
  }
  const slots = rowKeys.includes(undefined)
    ? new Uint8Array()
    : packSlots(records, [...rules.values()], rowKeys.join(''), hashes.join(''))
  const length = Buffer.allocUnsafe(4)
  length.writeUInt32BE(slots.length)
  return Buffer.concat([bytes.subarray(0, at), slots, length])
}

/** @param rowKeys hex digits of all row keys @param hashes of the records whose rule has several */
function packSlots(
  records: readonly Pick<Packable, 'rank'>[],
  rules: readonly PackedRule[],
  rowKeys: string,
  hashes: string,
): Uint8Array {
  const bytes = Buffer.allocUnsafe(5 * rules.length + records.length + (rowKeys.length + hashes.length) / 2)
  let at = 0
  for (const { hash, hasOthers } of rules) {
    bytes[at++] = hasOthers ? 0 : 1
    if (!hasOthers) at += bytes.write(hash, at, 'hex')
  }
  for (let from = 0, to = 0; from < records.length; from = to) {
    const rank = records[from]?.rank ?? 0
    while (to < records.length && records[to]?.rank === rank) to++
    at = writeVarint(bytes, at, (to - from) * RANKS + rank)
  }
  at += bytes.write(rowKeys, at, 'hex')
  at += bytes.write(hashes, at, 'hex')
  return bytes.subarray(0, at)
}

/** Packed records of a batch, without their slots. */
export const carriedOf = (packed: Uint8Array): Uint8Array => packed.subarray(0, trailerAt(packed))

function trailerAt(packed: Uint8Array): number {
  const { buffer, byteOffset, byteLength } = packed
  const at = byteLength - 4 - new DataView(buffer, byteOffset, byteLength).getUint32(byteLength - 4)
  if (at < 0) throw new RangeError('a trailer is cut off')
  return at
}

export const damagedLedger = (cause: unknown): WaybillError =>
  new WaybillError('ledger-unusable', 'the ledger is damaged: packed records cannot be read', {
    remedy:
      'Run nothing. See what else is damaged with `waybill doctor`, and restore the latest backup: docs/runbook.md.',
    cause,
  })

/** @throws `ledger-unusable` if the bytes are damaged */
export function unpacking<Unpacked>(unpack: () => Unpacked): Unpacked {
  try {
    return unpack()
  } catch (cause) {
    throw damagedLedger(cause)
  }
}

/** @throws `ledger-unusable` */
export const unpackHolds = (packed: Uint8Array): Held[] => unpacking(() => readHolds(packed))

function readHolds(packed: Uint8Array): Held[] {
  const bytes = Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength)
  const end = trailerAt(packed)
  const cursor = { at: 0 }
  const length = readVarint(bytes, cursor)
  const rules = JSON.parse(bytes.toString('utf8', cursor.at, cursor.at + length)) as string[]
  cursor.at += length
  const records: { row: number; rule: number; content: string; isOfRow: boolean }[] = []
  let row = 0
  while (cursor.at < end) {
    const ruleAndStep = readVarint(bytes, cursor)
    const step = ruleAndStep % STEPS
    const zigzag = step === ELSEWHERE ? readVarint(bytes, cursor) : step * 2
    row += zigzag % 2 === 0 ? zigzag / 2 : -(zigzag + 1) / 2
    const rule = Math.floor(ruleAndStep / STEPS)
    records.push({ row, rule, content: digits(bytes, cursor, 8), isOfRow: step === SAME })
  }
  if (cursor.at !== end) throw new RangeError('a record is cut off')
  const slots = bytes.length - 4 === end ? [] : readSlots(bytes, cursor, records, rules.length)
  return records.map(({ row: ofExport, rule, content }, at) => {
    const slot = slots[at]
    return { row: ofExport, rule: rules[rule] ?? '', content, ...(slot === undefined ? {} : { slot }) }
  })
}

function readSlots(
  bytes: Buffer,
  cursor: { at: number },
  records: readonly { readonly rule: number; readonly isOfRow: boolean }[],
  rules: number,
): HeldSlot[] {
  const hashes = Array.from({ length: rules }, () =>
    bytes[cursor.at++] === 1 ? digits(bytes, cursor, 4) : undefined,
  )
  const ranks: number[] = []
  while (ranks.length < records.length) {
    const run = readVarint(bytes, cursor)
    const count = Math.floor(run / RANKS)
    if (count === 0 || count > records.length - ranks.length) throw new RangeError('ranks do not add up')
    for (let left = count; left > 0; left--) ranks.push(run % RANKS)
  }
  const keys = records.flatMap(({ isOfRow }) => (isOfRow ? [] : digits(bytes, cursor, 16)))
  let row = -1
  const slots = records.map(({ rule, isOfRow }, at) => {
    if (!isOfRow) row++
    return { rowKey: keys[row] ?? '', rule: hashes[rule] ?? digits(bytes, cursor, 4), rank: ranks[at] ?? 0 }
  })
  if (cursor.at !== bytes.length - 4) throw new RangeError('a slot is cut off')
  return slots
}

function digits(bytes: Buffer, cursor: { at: number }, count: number): string {
  const from = cursor.at
  cursor.at += count
  return bytes.toString('hex', from, cursor.at)
}

export function writeVarint(bytes: Buffer, start: number, value: number): number {
  let at = start
  let rest = value
  while (rest >= 128) {
    bytes[at++] = (rest % 128) + 128
    rest = Math.floor(rest / 128)
  }
  bytes[at++] = rest
  return at
}

export function readVarint(bytes: Buffer, cursor: { at: number }): number {
  let value = 0
  let scale = 1
  for (;;) {
    const byte = bytes[cursor.at++]
    if (byte === undefined) throw new RangeError('a number is cut off')
    value += (byte % 128) * scale
    if (byte < 128) return value
    scale *= 128
  }
}
