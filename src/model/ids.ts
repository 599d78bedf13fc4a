/**
 * Identity of rows, records and batches: keyed hashes, which nobody can invert by guessing, and ids built of them. Pure: the same export,
 * mapping and key give the same ids.
 *
 * SipHash-2-4 (Aumasson and Bernstein, 2012), a keyed 64-bit hash of short messages, hashes contents of records, by a key of each row.
 */
import { hash } from 'node:crypto'
import type { AccountKey, NamedProvider, ObservedTime, RecordFrame, RecordKind, RowFacts } from './record.ts'

/** 128 bits in four words, lowest first. */
type SipKey = readonly [number, number, number, number]

/** Low word, then high word. Each call overwrites both. */
const hashed = new Int32Array(2)

/** @param length bytes of the message, from the start of `bytes` */
export function sipHash24(key: SipKey, bytes: Uint8Array, length: number): Int32Array {
  const k0 = key[0]
  const k1 = key[1]
  const k2 = key[2]
  const k3 = key[3]
  // Four words of state, each in a low and a high half.
  let l0 = k0 ^ 0x70736575
  let h0 = k1 ^ 0x736f6d65
  let l1 = k2 ^ 0x6e646f6d
  let h1 = k3 ^ 0x646f7261
  let l2 = k0 ^ 0x6e657261
  let h2 = k1 ^ 0x6c796765
  let l3 = k2 ^ 0x79746573
  let h3 = k3 ^ 0x74656462
  const whole = length - (length & 7)
  // First the words of the message, then the rest with the length, then the end, which adds no data and runs four rounds.
  for (let at = 0; at <= whole + 8; at += 8) {
    let low = 0
    let high = 0
    let rounds = 2
    if (at < whole) {
      low = word(bytes, at)
      high = word(bytes, at + 4)
    } else if (at === whole) {
      high = length << 24
      for (let rest = at; rest < length; rest++) {
        const byte = bytes[rest] ?? 0
        const place = rest - at
        if (place < 4) low |= byte << (8 * place)
        else high |= byte << (8 * (place - 4))
      }
    } else {
      l2 ^= 0xff
      rounds = 4
    }
    l3 ^= low
    h3 ^= high
    for (let round = 0; round < rounds; round++) {
      let sum = (l0 + l1) | 0
      h0 = (h0 + h1 + carryOf(l0, l1, sum)) | 0
      l0 = sum
      let half = l1
      l1 = ((l1 << 13) | (h1 >>> 19)) ^ l0
      h1 = ((h1 << 13) | (half >>> 19)) ^ h0
      half = l0
      l0 = h0
      h0 = half
      sum = (l2 + l3) | 0
      h2 = (h2 + h3 + carryOf(l2, l3, sum)) | 0
      l2 = sum
      half = l3
      l3 = ((l3 << 16) | (h3 >>> 16)) ^ l2
      h3 = ((h3 << 16) | (half >>> 16)) ^ h2
      sum = (l0 + l3) | 0
      h0 = (h0 + h3 + carryOf(l0, l3, sum)) | 0
      l0 = sum
      half = l3
      l3 = ((l3 << 21) | (h3 >>> 11)) ^ l0
      h3 = ((h3 << 21) | (half >>> 11)) ^ h0
      sum = (l2 + l1) | 0
      h2 = (h2 + h1 + carryOf(l2, l1, sum)) | 0
      l2 = sum
      half = l1
      l1 = ((l1 << 17) | (h1 >>> 15)) ^ l2
      h1 = ((h1 << 17) | (half >>> 15)) ^ h2
      half = l2
      l2 = h2
      h2 = half
    }
    l0 ^= low
    h0 ^= high
  }
  hashed[0] = l0 ^ l1 ^ l2 ^ l3
  hashed[1] = h0 ^ h1 ^ h2 ^ h3
  return hashed
}

/** Carry of a sum of 32-bit numbers, without a branch: carries are random, and a wrong guess of the processor costs more than a round. */
const carryOf = (a: number, b: number, sum: number): number => ((a & b) | ((a | b) & ~sum)) >>> 31

const word = (bytes: Uint8Array, at: number): number =>
  (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8) | ((bytes[at + 2] ?? 0) << 16) | ((bytes[at + 3] ?? 0) << 24)

/** Digits of a row number in transaction ids, padded with zeros. */
const ROW_DIGITS = 6
const CHUNK_DIGITS = 5

/** Parts of a record that make up the identity (`Entry`). */
interface HashedRecord {
  readonly frame: RecordFrame
  readonly facts: RowFacts
  readonly observed: ObservedTime
  readonly provider: NamedProvider | undefined
  /** JSON text for a hole of the frame. */
  inHole(at: number): string
}

export interface Identity {
  /** Distinguishes this key from another, and reveals nothing else: 32 hex digits. */
  readonly fingerprint: string
  /**
   * Hash of a record as sent, without ids, and of the primary-care mark: two words, overwritten by the next call. Same content, same
   * record. Fastest where records of one row and instant follow each other.
   */
  contentWords(record: HashedRecord): Int32Array
  /** `contentWords` as 16 hex digits. */
  content(record: HashedRecord): string
  /**
   * Hash of a row's key: 32 hex digits.
   * @param forgotten number of times the person was erased: earlier knowledge under the key is no longer found
   */
  rowKey(key: string, forgotten?: number): string
  /** Hash of a rule's name: 8 hex digits. */
  rule(rule: string): string
  /** Hash of a place in a list, of which a row may have any number: 8 hex digits. */
  listed(place: string): string
  /** Hash of a series: 16 hex digits. */
  series(series: string): string
  /** Hash of a person's reference: 32 hex digits. */
  account(account: AccountKey): string
  /**
   * Keyed hash of a person's birth date, 32 bits: distinguishes two dates, and reveals neither.
   * @param account hash of the person's reference
   * @param bornAt first instant of the day in UTC, milliseconds
   */
  born(account: string, bornAt: number): number
  /** Keyed hash of a person's name, 32 bits. @param account hash of the person's reference */
  named(account: string, name: string): number
  /** Hash of a provider's NPI: 32 hex digits. */
  npi(npi: string): string
  /** Hash of a medical-records request's reference number: 32 hex digits. */
  request(reference: string): string
  /** Hash of a medical-records request as sent: 16 hex digits. */
  requestBody(body: string): string
  /** Hash of the data collected of a person: 16 hex digits. */
  collected(content: string): string
  /**
   * Returns a keyed hash of the cells of a row: equal cells under an equal context give equal records.
   * @param context all that determines the records of a row, beside its cells
   */
  cellsUnder(context: string): (cells: readonly string[]) => ContentWords
  /** `<export id>-<chunk>-<kind>-<8 hex digits of a hash of the content>`. */
  batchId(exportId: string, chunk: number, kind: RecordKind, carried: Uint8Array): string
}

/**
 * @param key secret of this installation. SHA-256 with the key as prefix keeps the hashed text secret. HMAC would also prevent length
 * extension, useless to an attacker here, at twice the cost.
 */
export function createIdentity(key: string): Identity {
  const keyed = (domain: string, text: string): string => hash('sha256', `${key}\n${domain}\n${text}`, 'hex')
  const batchKey = Buffer.from(`${key}\nbatch\n`)
  // A mapping has a few dozen rules, and each record needs the hash of one.
  const rules = new Map<string, string>()
  const contentHash = createContentHash()
  let row: RowFacts | undefined
  let instant: ObservedTime | undefined
  let secret: SipKey = [0, 0, 0, 0]
  const birthKey = sipKeyOf(keyed('born', ''))
  const nameKey = sipKeyOf(keyed('named', ''))
  /** Buffer for the hashed text; longer names are cut. */
  const hashedText = Buffer.alloc(256)
  const contentWords = (record: HashedRecord): Int32Array => {
    const { facts, observed } = record
    if (facts !== row || observed !== instant) {
      const { at, iso } = observed
      const digits = keyed('row', `${facts.accountJson}\n${facts.keyJson}\n${at}\n${iso}`)
      secret = sipKeyOf(digits)
      row = facts
      instant = observed
    }
    return contentHash(secret, record)
  }
  return {
    fingerprint: keyed('fingerprint', 'waybill').slice(0, 32),
    contentWords,
    content(record) {
      const [first = 0, last = 0] = contentWords(record)
      return contentDigits({ first, last })
    },
    rowKey: (rowKey, forgotten = 0) =>
      keyed(forgotten === 0 ? 'row-key' : `row-key ${forgotten}`, rowKey).slice(0, 32),
    rule(rule) {
      const known = rules.get(rule)
      if (known !== undefined) return known
      const hashed = keyed('rule', rule).slice(0, 8)
      rules.set(rule, hashed)
      return hashed
    },
    listed: (place) => keyed('listed', place).slice(0, 8),
    series: (series) => keyed('series', series).slice(0, 16),
    account: ({ type, reference }) => keyed('account', `${type}\n${reference}`).slice(0, 32),
    born(account, bornAt) {
      const length = hashedText.write(account, 'latin1')
      hashedText.writeInt32LE(Math.floor(bornAt / DAY_MS), length)
      return sipHash24(birthKey, hashedText, length + 4)[0] ?? 0
    },
    named(account, name) {
      const length = hashedText.write(account.slice(0, 8), 'latin1')
      return sipHash24(nameKey, hashedText, length + hashedText.write(name, length))[0] ?? 0
    },
    npi: (npi) => keyed('npi', npi).slice(0, 32),
    request: (reference) => keyed('request', reference).slice(0, 32),
    requestBody: (body) => keyed('request-body', body).slice(0, 16),
    collected: (content) => keyed('collected', content).slice(0, 16),
    cellsUnder: (context) => createCellsHash(sipKeyOf(keyed('cells', context))),
    batchId(exportId, chunk, kind, carried) {
      const hashed = hash('sha256', Buffer.concat([batchKey, carried]), 'hex').slice(0, 8)
      return `${exportId}-${String(chunk).padStart(CHUNK_DIGITS, '0')}-${kind}-${hashed}`
    },
  }
}

const DAY_MS = 86_400_000

/** @param digits 32 hex digits or more */
const sipKeyOf = (digits: string): SipKey => [
  wordAt(digits, 0),
  wordAt(digits, 8),
  wordAt(digits, 16),
  wordAt(digits, 24),
]

/** Number of 8 lower-case hex digits. */
function wordAt(digits: string, from: number): number {
  let word = 0
  for (let at = from; at < from + 8; at++) {
    const code = digits.charCodeAt(at)
    word = (word << 4) | (code < 0x3a ? code - 0x30 : code - 0x57)
  }
  return word
}

/** Content hash as numbers: the first four bytes and the last four. */
export interface ContentWords {
  readonly first: number
  readonly last: number
}

/** Print of a row: a hash of the cells, the mapping and the program's version, with the number of records by kind. */
export interface RowPrint extends ContentWords {
  readonly biometrics: number
  readonly conditions: number
}

export const hasSameContent = (one: ContentWords, other: ContentWords): boolean =>
  one.first === other.first && one.last === other.last

/** @param content 16 hex digits */
export const wordsOf = (content: string): ContentWords => ({
  first: wordAt(content, 0),
  last: wordAt(content, 8),
})

const digits = Buffer.alloc(8)

/** Content hash as 16 hex digits. */
export function contentDigits({ first, last }: ContentWords): string {
  digits.writeInt32BE(first, 0)
  digits.writeInt32BE(last, 4)
  return digits.toString('hex')
}

/** Parts to hash together, written one behind the other. */
class Message {
  bytes = Buffer.alloc(1024)
  length = 0

  /** @param behind byte that no text contains */
  add(text: string, behind: number): void {
    // A UTF-16 unit takes three bytes at most, the byte behind the text one, a mark one.
    if (this.length + 3 * text.length + 2 > this.bytes.length)
      this.bytes = Buffer.concat([this.bytes], 2 * (this.length + 3 * text.length + 2))
    const { bytes, length: from } = this
    let units = 0
    for (let code = 0; units < text.length; units++) {
      code = text.charCodeAt(units)
      if (code >= 0x80) break
      bytes[from + units] = code
    }
    this.length = from + (units < text.length ? bytes.write(text, from) : units)
    this.bytes[this.length++] = behind
  }
}

/** Hashes the fields of a record beside row and instant. A zero byte, absent in JSON text, separates the parts. */
function createContentHash(): (secret: SipKey, record: HashedRecord) => Int32Array {
  const message = new Message()
  return (secret, record) => {
    const { frame, provider } = record
    const { digest, holes } = frame
    for (let at = 0; at < digest.length; at++) message.bytes[at] = digest[at] ?? 0
    message.length = digest.length
    for (let hole = 0; hole < holes.length; hole++) {
      const kind = holes[hole]
      if (typeof kind === 'number' || kind === 'value') message.add(record.inHole(hole), 0)
    }
    if (provider?.primary !== undefined) message.bytes[message.length++] = provider.primary ? 1 : 2
    return sipHash24(secret, message.bytes, message.length)
  }
}

/** Byte that UTF-8 never contains. */
const NO_TEXT = 0xff

function createCellsHash(secret: SipKey): (cells: readonly string[]) => ContentWords {
  const message = new Message()
  return (cells) => {
    message.length = 0
    for (let at = 0; at < cells.length; at++) message.add(cells[at] ?? '', NO_TEXT)
    const words = sipHash24(secret, message.bytes, message.length)
    return { first: words[0] ?? 0, last: words[1] ?? 0 }
  }
}

/** `<export id>-<row>-<rule>-<content>`: leads back to file, row and rule without an index of records. */
export const transactionId = (exportId: string, row: number, rule: string, content: string): string =>
  `${idStart(exportId, row)}${rule}-${content.slice(0, 8)}`

/** Rule and content of a transaction id: equal for a record in every export under the same key. Undefined for a foreign id. */
export function recordOfId(id: string): string | undefined {
  const parsed = parseTransactionId(id)
  return parsed && `${parsed.rule}-${parsed.content}`
}

/** Start of the transaction ids of a row. */
export const idStart = (exportId: string, row: number): string =>
  `${exportId}-${String(row).padStart(ROW_DIGITS, '0')}-`

const TRANSACTION_ID = /^([0-9a-f]{16})-(\d{6,})-([a-z0-9]+(?:-[a-z0-9]+)*)-([0-9a-f]{8})$/

/** Parts of a transaction id; undefined for a foreign id. */
export function parseTransactionId(
  id: string,
): { exportId: string; row: number; rule: string; content: string } | undefined {
  const [, exportId, row, rule, content] = TRANSACTION_ID.exec(id) ?? []
  if (exportId === undefined || row === undefined || rule === undefined || content === undefined)
    return undefined
  return { exportId, row: Number(row), rule, content }
}
