/**
 * Text of batches as sent (interface, "Biometric record, as sent", "Condition record, as sent", "Care team entry, as sent"). A record shares nearly
 * all bytes with the previous record of the rule: the writer copies them, and overwrites the values of the row.
 */
import type { Entry } from '../model/entry.ts'
import type { RecordFrame } from '../model/record.ts'
import { pieceOf, TextWriter } from '../model/text-writer.ts'

/** Upper bound of the bytes that batch id, field names and punctuation add: the batch id has 42 characters, or a few more. */
const FRAME_BYTES = 150

export function recordText(
  { kind, text, transactionId }: Pick<Entry, 'kind' | 'text' | 'transactionId'>,
  batchId: string,
): string {
  const open = kind === 'careTeam' ? '{' : `{"transactionId":"${transactionId}",`
  return `${open}${text}${batchId}","persistentRecordId":"${transactionId}"}}}`
}

/** Upper bound of the record's length on the wire, in bytes. */
export function recordBytes({ textBytes, idLength }: Entry): number {
  return textBytes + 2 * idLength + FRAME_BYTES
}

/** Upper bound of a batch's length on the wire, in bytes. */
export function batchBytes(entries: readonly Entry[]): number {
  return entries.reduce((bytes, entry) => bytes + recordBytes(entry) + 1, 2)
}

/** Writes a batch as a JSON array into a buffer that is long enough; returns the used part. */
export function writeBatch(buffer: Buffer, entries: readonly Entry[], batchId: string): Buffer {
  const batch = new BatchWriter(buffer, batchId)
  for (const entry of entries) batch.add(entry)
  return batch.end()
}

const OPEN = pieceOf('{')
const OPEN_WITH_ID = pieceOf('{"transactionId":"')
const NEXT_MEMBER = pieceOf('",')
const CLOSE = pieceOf('"}}},')

/** Parts shared by the records of a row: lengths, and positions in the buffer. */
interface RowParts {
  readonly facts: Entry['facts']
  readonly observed: Entry['observed']
  readonly beginning: string
  readonly idStart: number
  readonly account: number
  readonly key: number
  /** Positions of the instant as text, and in milliseconds. */
  iso: number | undefined
  epochMs: number | undefined
}

/** Last record written under a frame. Positions count from the start of the record, or from the end of the value. */
interface Pattern {
  start: number
  readonly rule: string
  readonly texts: readonly string[]
  /** Lengths. */
  readonly idStart: number
  readonly account: number
  readonly key: number
  readonly instant: number
  readonly instantIs: 'iso' | 'epochMs' | undefined
  readonly accountAt: number
  readonly instantAt: number
  /** Position of the value, present or absent: no later than the key. */
  readonly valueAt: number
  value: number
  /** Counted from the end of the value. */
  readonly keyAt: number
  readonly lastIdAt: number
  readonly rest: number
}

class BatchWriter {
  readonly #writer: TextWriter
  /** Text between the record's own text and the id. */
  readonly #behind: ReturnType<typeof pieceOf>
  readonly #patterns = new Map<RecordFrame, Pattern>()
  #row: RowParts | undefined

  constructor(buffer: Buffer, batchId: string) {
    this.#writer = new TextWriter(buffer)
    this.#behind = pieceOf(`${batchId}","persistentRecordId":"`)
    this.#writer.text('[')
  }

  add(entry: Entry): void {
    const pattern = this.#patterns.get(entry.frame)
    if (pattern !== undefined && isLike(entry, pattern)) this.#addAlike(entry, pattern)
    else this.#addPlainly(entry)
  }

  end(): Buffer {
    const writer = this.#writer
    // Overwrites the last comma.
    if (writer.at > 1) writer.at--
    writer.text(']')
    return writer.written
  }

  #addPlainly(entry: Entry): void {
    const writer = this.#writer
    const start = writer.at
    if (entry.kind === 'careTeam') writer.piece(OPEN)
    else {
      writer.piece(OPEN_WITH_ID)
      entry.writeId(writer)
      writer.piece(NEXT_MEMBER)
    }
    entry.writeText(writer)
    writer.piece(this.#behind)
    entry.writeId(writer)
    writer.piece(CLOSE)
    const pattern = patternOf(entry, start, writer.at)
    if (pattern !== undefined) this.#patterns.set(entry.frame, pattern)
  }

  /** Copies the previous record, and overwrites the bytes that differ. */
  #addAlike(entry: Entry, pattern: Pattern): void {
    const writer = this.#writer
    const { value = '' } = entry
    const { valueAt, rest } = pattern
    const start = writer.at
    const behindValue = start + valueAt + value.length
    if (value.length === pattern.value) writer.repeat(pattern.start, valueAt + value.length + rest)
    else {
      writer.repeat(pattern.start, valueAt)
      writer.at += value.length
      writer.repeat(pattern.start + valueAt + pattern.value, rest)
    }
    writer.put(start + valueAt, value)
    pattern.start = start
    pattern.value = value.length
    this.#putRow(entry, pattern, start, behindValue)
    const id = start + ID_AT
    const lastId = behindValue + pattern.lastIdAt
    const digits = pattern.idStart + entry.rule.length + 1
    writer.putDigits(id + digits, entry.first)
    writer.copy(id, lastId, pattern.idStart)
    writer.putDigits(lastId + digits, entry.first)
  }

  /** Copies the row's parts from its previous record, or writes them for the first record. */
  #putRow(entry: Entry, pattern: Pattern, start: number, behindValue: number): void {
    const writer = this.#writer
    const { facts, observed, idStart: beginning } = entry
    const account = start + pattern.accountAt
    const key = behindValue + pattern.keyAt
    const idStart = start + ID_AT
    const instant = start + pattern.instantAt
    let row = this.#row
    if (row?.facts !== facts || row.observed !== observed || row.beginning !== beginning) {
      row = { facts, observed, beginning, idStart, account, key, iso: undefined, epochMs: undefined }
      this.#row = row
      writer.put(idStart, beginning)
      writer.put(account, facts.accountJson)
      writer.put(key, facts.keyJson)
    } else {
      writer.copy(row.idStart, idStart, pattern.idStart)
      writer.copy(row.account, account, pattern.account)
      writer.copy(row.key, key, pattern.key)
    }
    const { instantIs } = pattern
    if (instantIs === undefined) return
    const before = row[instantIs]
    if (before !== undefined) writer.copy(before, instant, pattern.instant)
    else writer.put(instant, instantIs === 'iso' ? observed.iso : String(observed.at))
    row[instantIs] = instant
  }
}

const ID_AT = OPEN_WITH_ID.bytes.length

/** Length of an instant in milliseconds from 2001 to 2286. */
const EPOCH_DIGITS = 13
const isOrdinary = ({ at }: Entry['observed']): boolean => at >= 1e12 && at < 1e13

const isAscii = ({ accountJson, keyJson, bytes }: Entry['facts']): boolean =>
  bytes === accountJson.length + keyJson.length

const haveEqualTexts = (one: readonly string[], other: readonly string[]): boolean =>
  one === other || (one.length === other.length && one.every((text, at) => text === other[at]))

/** True where a record differs from another record of its frame only in bytes of equal length, and in its value. */
const isLike = (entry: Entry, pattern: Pattern): boolean =>
  entry.rule === pattern.rule &&
  entry.idStart.length === pattern.idStart &&
  entry.facts.accountJson.length === pattern.account &&
  entry.facts.keyJson.length === pattern.key &&
  isAscii(entry.facts) &&
  (pattern.instantIs !== 'iso' || entry.observed.iso.length === pattern.instant) &&
  (pattern.instantIs !== 'epochMs' || isOrdinary(entry.observed)) &&
  haveEqualTexts(entry.texts, pattern.texts)

/** Finds the positions of the parts of a written record; undefined where later records cannot copy from it. */
function patternOf(entry: Entry, start: number, end: number): Pattern | undefined {
  const { frame, facts, rule, texts, observed, idLength } = entry
  const { holes, written } = frame
  const dates = holes.filter((hole) => hole === 'iso' || hole === 'epochMs')
  const [instantIs] = dates
  if (entry.kind === 'careTeam' || !isAscii(facts) || dates.length > 1) return undefined
  if (instantIs === 'epochMs' && !isOrdinary(observed)) return undefined
  const accountAt = ID_AT + idLength + NEXT_MEMBER.bytes.length
  let at = accountAt + facts.accountJson.length
  let instantAt = 0
  let valueAt: number | undefined
  for (const [place, hole] of holes.entries()) {
    at += written[place]?.bytes.length ?? 0
    if (hole === instantIs) instantAt = at
    if (hole === 'value') valueAt = at
    at += Buffer.byteLength(entry.inHole(place))
  }
  at += written[holes.length]?.bytes.length ?? 0
  valueAt ??= at
  const value = holes.includes('value') ? (entry.value ?? '').length : 0
  // A date behind the value would move with the value.
  if (instantAt > valueAt) return undefined
  const behindValue = valueAt + value
  return {
    start,
    rule,
    texts,
    idStart: entry.idStart.length,
    account: facts.accountJson.length,
    key: facts.keyJson.length,
    instant: instantIs === 'epochMs' ? EPOCH_DIGITS : observed.iso.length,
    instantIs,
    accountAt,
    instantAt,
    valueAt,
    value,
    keyAt: at - behindValue,
    lastIdAt: end - start - CLOSE.bytes.length - idLength - behindValue,
    rest: end - start - behindValue,
  }
}
