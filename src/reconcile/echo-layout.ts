/**
 * How a gateway writes its echoes of one kind of record: text that is the same in each, and places where each has its own. It is learned from
 * two echoes of an answer that were read field by field; the others are compared with it in a few steps. Whatever is not exactly like
 * it is read field by field again.
 */
import type { Entry } from '../model/entry.ts'
import { hexDigit, type Piece, pieceOf } from '../model/text-writer.ts'

/**
 * What stands in a place: it must be the record's own, but for `id`, which the gateway gives, and what nobody compares: `text`, and `batchId`, which
 * is never the same for long.
 */
export type PlaceKind =
  | 'transactionId'
  | 'value'
  | 'instant'
  | 'epochMs'
  | 'reference'
  | 'accountId'
  | 'id'
  | 'batchId'
  | 'text'

/** Of an echo that was read: what stands from where to where. Texts without their quotes. */
export interface Mark {
  readonly kind: PlaceKind
  readonly from: number
  readonly to: number
}

/** An echo as it was read. */
export interface ReadEcho {
  /** In Latin-1, so that a place is one of the bytes. */
  readonly text: string
  /** In their order. */
  readonly marks: readonly Mark[]
}

export interface EchoLayout {
  /** Around the places: one more than they are. */
  readonly pieces: readonly Piece[]
  readonly places: readonly PlaceKind[]
}

/** What two echoes have in common; undefined where that is not their form. */
export function layoutOf(one: ReadEcho, other: ReadEcho): EchoLayout | undefined {
  if (one.marks.length !== other.marks.length) return undefined
  const pieces: string[] = []
  const places: PlaceKind[] = []
  let piece = ''
  let at = 0
  let otherAt = 0
  for (const [index, mark] of one.marks.entries()) {
    const otherMark = other.marks[index]
    if (mark.kind !== otherMark?.kind) return undefined
    const before = one.text.slice(at, mark.from)
    if (before !== other.text.slice(otherAt, otherMark.from)) return undefined
    const held = one.text.slice(mark.from, mark.to)
    piece += before
    // What nobody compares, and is the same in both, is most likely the same in all.
    if (mark.kind === 'text' && held === other.text.slice(otherMark.from, otherMark.to)) piece += held
    else {
      pieces.push(piece)
      places.push(mark.kind)
      piece = ''
    }
    at = mark.to
    otherAt = otherMark.to
  }
  const rest = one.text.slice(at)
  if (rest !== other.text.slice(otherAt)) return undefined
  return { pieces: [...pieces, piece + rest].map((text) => pieceOf(text, 'latin1')), places }
}

/** What a record is compared with beside itself. */
export interface Compared {
  /** The time that a text says; undefined where it says none. */
  readonly instant: (text: string) => number | undefined
  /** Whether an id that the gateway gives is that of the record's account. */
  readonly isAccount: (id: string, entry: Entry) => boolean
}

const NONE = -1
const HYPHEN = 0x2d

/** An answer that is compared with layouts, an echo after the other. */
export class ComparedAnswer {
  readonly #bytes: Buffer
  readonly #view: DataView
  readonly #compared: Compared
  /** Where the text of each kind stood last, and of which record: the records of a row, and of a batch, share most of theirs. */
  readonly #last = new Map<PlaceKind, { from: number; to: number; entry: Entry }>()
  /** What the transaction ids of a row begin with, where it stood last. */
  #idStart: string | undefined
  #idStartsAt = 0
  /** The gateway's id in the echo that was compared last. */
  id: string | undefined

  constructor(bytes: Buffer, compared: Compared) {
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.#compared = compared
  }

  /** The place behind the echo of the record that the answer goes on with; -1 where it does not go on exactly so. */
  endOf({ pieces, places }: EchoLayout, from: number, entry: Entry): number {
    this.id = undefined
    let at = from
    let firstId = NONE
    for (let place = 0; place < places.length; place++) {
      at = this.#behindPiece(pieces[place], at)
      if (at === NONE) return NONE
      const kind = places[place]
      if (kind === 'transactionId') {
        const length = entry.idLength
        const isOurs = firstId === NONE ? this.#isIdAt(at, entry) : this.#isSame(firstId, at, length)
        if (!isOurs) return NONE
        firstId = at
        at += length
      } else if (kind === 'value' || kind === 'epochMs') {
        const { value = '', observedAt } = entry
        const expected = kind === 'value' ? value : String(observedAt)
        if (!this.#isAt(at, expected)) return NONE
        at += expected.length
      } else if (kind !== undefined) at = this.#behindText(kind, at, entry)
      if (at === NONE) return NONE
    }
    return this.#behindPiece(pieces[places.length], at)
  }

  #behindText(kind: PlaceKind, at: number, entry: Entry): number {
    const last = this.#last.get(kind)
    // With its closing quote.
    if (
      last !== undefined &&
      saysAlike(kind, entry, last.entry) &&
      this.#isSame(last.from, at, last.to + 1 - last.from)
    ) {
      last.to = at + last.to - last.from
      last.from = at
      last.entry = entry
      return last.to
    }
    const to = endOfText(this.#bytes, at)
    if (to < 0 || !this.#isOf(kind, at, to, entry)) return NONE
    this.#last.set(kind, { from: at, to, entry })
    return to
  }

  #isOf(kind: PlaceKind, at: number, to: number, entry: Entry): boolean {
    const { account, observed, observedAt } = entry
    const text = (): string => this.#bytes.toString('latin1', at, to)
    switch (kind) {
      case 'reference':
        return this.#isText(at, to, account.reference)
      case 'instant':
        return this.#isText(at, to, observed.iso) || this.#compared.instant(text()) === observedAt
      case 'accountId':
        return this.#compared.isAccount(text(), entry)
      case 'id':
        this.id = text()
        return true
      default:
        return true
    }
  }

  #behindPiece(piece: Piece | undefined, from: number): number {
    if (piece === undefined || from + piece.bytes.length > this.#bytes.length) return NONE
    const { words, bytes } = piece
    for (let word = 0; word < words.length; word++)
      if (this.#view.getFloat64(from + 8 * word, true) !== words[word]) return NONE
    for (let byte = 8 * words.length; byte < bytes.length; byte++)
      if (this.#bytes[from + byte] !== bytes[byte]) return NONE
    return from + bytes.length
  }

  /** Whether so many bytes are the same in two places. */
  #isSame(one: number, other: number, length: number): boolean {
    if (other + length > this.#bytes.length) return false
    let at = 0
    for (; at + 8 <= length; at += 8)
      if (this.#view.getFloat64(one + at, true) !== this.#view.getFloat64(other + at, true)) return false
    for (; at < length; at++) if (this.#bytes[one + at] !== this.#bytes[other + at]) return false
    return true
  }

  /** Its transaction id, part by part: no text is made of it. */
  #isIdAt(from: number, { idStart, rule, first }: Entry): boolean {
    const isStart =
      idStart === this.#idStart
        ? this.#isSame(this.#idStartsAt, from, idStart.length)
        : this.#isAt(from, idStart)
    if (!isStart) return false
    this.#idStart = idStart
    this.#idStartsAt = from
    let at = from + idStart.length
    if (!this.#isAt(at, rule)) return false
    at += rule.length
    if (this.#bytes[at] !== HYPHEN) return false
    for (let shift = 28; shift >= 0; shift -= 4)
      if (this.#bytes[++at] !== hexDigit((first >>> shift) & 15)) return false
    return true
  }

  #isText(from: number, to: number, expected: string): boolean {
    return to - from === expected.length && this.#isAt(from, expected)
  }

  /** ASCII alone: a byte of another character is none of a text. */
  #isAt(from: number, text: string): boolean {
    for (let at = 0; at < text.length; at++) {
      const unit = text.charCodeAt(at)
      if (unit >= 0x80 || this.#bytes[from + at] !== unit) return false
    }
    return true
  }
}

/** Whether the same text in a place of the kind is right for both records or for none. */
function saysAlike(kind: PlaceKind, one: Entry, other: Entry): boolean {
  switch (kind) {
    case 'reference':
    case 'accountId':
      return one.account === other.account
    case 'instant':
      return one.observedAt === other.observedAt
    case 'id':
      return false
    default:
      return true
  }
}

/** The closing quote of a plain ASCII text; -1 where it holds anything else. */
function endOfText(answer: Buffer, from: number): number {
  for (let at = from; at < answer.length; at++) {
    const byte = answer[at] ?? 0
    if (byte === 0x22) return at
    if (byte < 0x20 || byte === 0x5c || byte >= 0x7f) return -1
  }
  return -1
}
