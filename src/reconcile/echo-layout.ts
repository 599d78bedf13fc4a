/**
 * How a gateway writes its echoes of one kind of record: text that is the same in each, and places where each has its own. It is learned from
 * two echoes of an answer that were read field by field; the others are compared with it in a few steps. Whatever is not exactly like
 * it is read field by field again.
 */
import type { Entry } from '../model/entry.ts'

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
  readonly pieces: readonly Buffer[]
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
  return { pieces: [...pieces, piece + rest].map((text) => Buffer.from(text, 'latin1')), places }
}

/** Where the echo ends, and the gateway's id. */
export interface Recognised {
  readonly to: number
  readonly id: string | undefined
}

/** What a record is compared with beside itself. */
export interface Compared {
  /** The time that a text says; undefined where it says none. */
  readonly instant: (text: string) => number | undefined
  /** Whether an id that the gateway gives is that of the record's account. */
  readonly isAccount: (id: string, entry: Entry) => boolean
}

/** Whether an answer goes on with an echo of the record; undefined where it does not go on exactly so. */
export function recognise(
  { pieces, places }: EchoLayout,
  answer: Buffer,
  from: number,
  entry: Entry,
  { instant, isAccount }: Compared,
): Recognised | undefined {
  const { record } = entry
  let at = from
  let id: string | undefined
  for (let place = 0; place < places.length; place++) {
    const piece = pieces[place] ?? NOTHING
    if (!goesOn(answer, at, piece)) return undefined
    at += piece.length
    const kind = places[place]
    if (kind === 'transactionId' || kind === 'value' || kind === 'epochMs') {
      const expected = heldIn(kind, entry)
      if (!isAt(answer, at, expected)) return undefined
      at += expected.length
      continue
    }
    const to = endOfText(answer, at)
    if (to < 0) return undefined
    switch (kind) {
      case 'reference':
        if (!isText(answer, at, to, record.account.reference)) return undefined
        break
      case 'instant':
        if (isText(answer, at, to, record.observed.iso)) break
        if (instant(answer.toString('latin1', at, to)) !== record.observedAt) return undefined
        break
      case 'accountId':
        if (!isAccount(answer.toString('latin1', at, to), entry)) return undefined
        break
      case 'id':
        id = answer.toString('latin1', at, to)
    }
    at = to
  }
  const last = pieces[places.length] ?? NOTHING
  return goesOn(answer, at, last) ? { to: at + last.length, id } : undefined
}

/** What a place of these holds, without quotes around it or between its own. */
function heldIn(kind: 'transactionId' | 'value' | 'epochMs', { record, transactionId }: Entry): string {
  if (kind === 'transactionId') return transactionId
  return kind === 'value' ? (record.value ?? '') : String(record.observedAt)
}

const NOTHING = Buffer.alloc(0)
/** Shorter pieces are compared quicker byte by byte. */
const SHORT = 40

function goesOn(answer: Buffer, from: number, piece: Buffer): boolean {
  const to = from + piece.length
  if (to > answer.length) return false
  if (piece.length > SHORT) return answer.compare(piece, 0, piece.length, from, to) === 0
  for (let at = 0; at < piece.length; at++) if (answer[from + at] !== piece[at]) return false
  return true
}

const isText = (answer: Buffer, from: number, to: number, expected: string): boolean =>
  to - from === expected.length && isAt(answer, from, expected)

/** ASCII alone: a byte of another character is none of a text. */
function isAt(answer: Buffer, from: number, text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit >= 0x80 || answer[from + at] !== unit) return false
  }
  return true
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
