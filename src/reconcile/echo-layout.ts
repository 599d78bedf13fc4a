/**
 * Form of a gateway's echoes of one kind of record: constant text, and places that differ from echo to echo. Two echoes, read field by
 * field, teach the form; further echoes are compared with the form in a few steps. An echo that does not match exactly is read field by
 * field again.
 */
import type { Entry } from '../model/entry.ts'
import { hexDigit, type Piece, pieceOf } from '../model/text-writer.ts'

/**
 * Content of a place. Each place must hold the record's own value, with three exceptions: the gateway chooses `id`; nobody compares `text`
 * or `batchId`, and a batch id changes soon.
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

/** Place in an echo, from byte to byte. Texts come without quotes. */
export interface Mark {
  readonly kind: PlaceKind
  readonly from: number
  readonly to: number
}

/** An echo that was read field by field. */
export interface ReadEcho {
  /** In Latin-1: an index is a byte offset. */
  readonly text: string
  /** In the order of the text. */
  readonly marks: readonly Mark[]
}

export interface EchoLayout {
  /** Text around the places: one piece more than places. */
  readonly pieces: readonly Piece[]
  readonly places: readonly PlaceKind[]
}

/** Form that two echoes share; undefined if the echoes differ in more than the places. */
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
    // Text that nobody compares, if equal in both echoes, is probably constant.
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

/** Context for comparing a record. */
interface Compared {
  /** Parses a date; undefined for any other text. */
  readonly instant: (text: string) => number | undefined
  /** Returns true if an id of the gateway belongs to the record's account. */
  readonly isAccount: (id: string, entry: Entry) => boolean
}

const NONE = -1
const HYPHEN = 0x2d

/** Answer that is compared with layouts, echo by echo. */
export class ComparedAnswer {
  readonly #bytes: Buffer
  readonly #view: DataView
  readonly #compared: Compared
  /** Last text of each kind, and the record of that text: records of a row, and of a batch, share most texts. */
  readonly #last = new Map<PlaceKind, { from: number; to: number; entry: Entry }>()
  /** Start of the transaction ids of a row, and its last offset. */
  #idStart: string | undefined
  #idStartsAt = 0
  /** Id at the gateway in the last compared echo. */
  id: string | undefined

  constructor(bytes: Buffer, compared: Compared) {
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.#compared = compared
  }

  /** Offset behind the echo of the record; -1 if the answer does not continue exactly like the layout. */
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
    // Includes the closing quote.
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

  /** Compares two stretches of bytes. */
  #isSame(one: number, other: number, length: number): boolean {
    if (other + length > this.#bytes.length) return false
    let at = 0
    for (; at + 8 <= length; at += 8)
      if (this.#view.getFloat64(one + at, true) !== this.#view.getFloat64(other + at, true)) return false
    for (; at < length; at++) if (this.#bytes[one + at] !== this.#bytes[other + at]) return false
    return true
  }

  /** Compares the transaction id part by part, without building a string. */
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

  /** ASCII only: a byte of a longer character never matches. */
  #isAt(from: number, text: string): boolean {
    for (let at = 0; at < text.length; at++) {
      const unit = text.charCodeAt(at)
      if (unit >= 0x80 || this.#bytes[from + at] !== unit) return false
    }
    return true
  }
}

/** True if a text in a place of this kind is right for both records or for neither. */
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

/** Offset of the closing quote of plain ASCII text; -1 if the text holds anything else. */
function endOfText(answer: Buffer, from: number): number {
  for (let at = from; at < answer.length; at++) {
    const byte = answer[at] ?? 0
    if (byte === 0x22) return at
    if (byte < 0x20 || byte === 0x5c || byte >= 0x7f) return -1
  }
  return -1
}
