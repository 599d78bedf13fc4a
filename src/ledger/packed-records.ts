/**
 * What a batch carries, packed: a few bytes for each record instead of a table row.
 * Form: rule names as a JSON array (length-prefixed), then for each record its rule's index together with whether it stands in the same row as the
 * one before, in the next one, or elsewhere (varint; elsewhere: then the difference of the row numbers, zigzag varint), and the 8 bytes of its
 * content hash. Pure.
 */
import { WaybillError } from '../model/errors.ts'
import { type ContentWords, wordsOf } from '../model/ids.ts'

/** One record of a batch, by position and hash. */
export interface Held {
  readonly row: number
  readonly rule: string
  /** 16 hex digits. */
  readonly content: string
}

/** Where a record stands after the one before: 0 and 1 are rows further down. */
const ELSEWHERE = 2
const STEPS = 3

/** A record as it is packed. */
export interface Packable extends ContentWords {
  readonly row: { readonly row: number }
  readonly rule: string
}

export const packHolds = (records: readonly Held[]): Uint8Array =>
  packEntries(
    records.map(({ row, rule, content }) => ({
      ...{ row: { row }, rule },
      ...wordsOf(content),
    })),
  )

export function packEntries(records: readonly Packable[]): Uint8Array {
  const indexes = new Map<string, number>()
  for (const { rule } of records) if (!indexes.has(rule)) indexes.set(rule, indexes.size)
  const names = Buffer.from(JSON.stringify([...indexes.keys()]))
  const bytes = Buffer.allocUnsafe(5 + names.length + records.length * 18)
  let at = writeVarint(bytes, 0, names.length)
  at += names.copy(bytes, at)
  let previous = 0
  for (const { row: ofRow, rule, first, last } of records) {
    const { row } = ofRow
    const step = row - previous
    previous = row
    const isNear = step === 0 || step === 1
    at = writeVarint(bytes, at, (indexes.get(rule) ?? 0) * STEPS + (isNear ? step : ELSEWHERE))
    if (!isNear) at = writeVarint(bytes, at, step < 0 ? -step * 2 - 1 : step * 2)
    at = bytes.writeInt32BE(last, bytes.writeInt32BE(first, at))
  }
  return bytes.subarray(0, at)
}

export const damagedLedger = (cause: unknown): WaybillError =>
  new WaybillError('ledger-unusable', 'the ledger is damaged: packed records cannot be read', {
    remedy:
      'Run nothing. See what else is damaged with `waybill doctor`, and restore the latest backup: docs/runbook.md.',
    cause,
  })

/** @throws WaybillError `ledger-unusable` where the bytes are not what was packed */
export function unpacking<Unpacked>(unpack: () => Unpacked): Unpacked {
  try {
    return unpack()
  } catch (cause) {
    throw damagedLedger(cause)
  }
}

/** @throws WaybillError `ledger-unusable` */
export const unpackHolds = (packed: Uint8Array): Held[] => unpacking(() => readHolds(packed))

function readHolds(packed: Uint8Array): Held[] {
  const bytes = Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength)
  const cursor = { at: 0 }
  const length = readVarint(bytes, cursor)
  const rules = JSON.parse(bytes.toString('utf8', cursor.at, cursor.at + length)) as string[]
  cursor.at += length
  const records: Held[] = []
  let row = 0
  while (cursor.at < bytes.length) {
    const ruleAndStep = readVarint(bytes, cursor)
    const step = ruleAndStep % STEPS
    const zigzag = step === ELSEWHERE ? readVarint(bytes, cursor) : step * 2
    row += zigzag % 2 === 0 ? zigzag / 2 : -(zigzag + 1) / 2
    const rule = rules[Math.floor(ruleAndStep / STEPS)] ?? ''
    records.push({ row, rule, content: bytes.toString('hex', cursor.at, cursor.at + 8) })
    cursor.at += 8
  }
  return records
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
