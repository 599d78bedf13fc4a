/**
 * Finds where a JSON value ends by its brackets and strings alone, without taking it apart: that, and whether it is JSON
 * at all, is for `json-text.ts`. Works on the bytes, since no byte of a longer UTF-8 sequence is ASCII.
 */
import { LF } from './framing.ts'
import { stringEnd } from './json-text.ts'

/** A value longer than this is not held. */
export const VALUE_BYTES = 16 * 1024 * 1024

export const QUOTE = 0x22
export const BACKSLASH = 0x5c
export const COMMA = 0x2c
export const COLON = 0x3a
export const OPEN_LIST = 0x5b
export const CLOSE_LIST = 0x5d
export const OPEN_OBJECT = 0x7b
export const CLOSE_OBJECT = 0x7d

export interface FramedValue {
  /** Behind its last byte. For what is no value (a comma, say), where it starts. */
  readonly end: number
  /** Line feeds within. */
  readonly lines: number
  /** Behind its last line feed; -1 where it has none. */
  readonly lineStart: number
  /** `cut`: the content ends within. `large`: over 16 MiB. `text`: a line ends within a string. */
  readonly problem?: 'cut' | 'large' | 'text'
}

/** White space of JSON (RFC 8259, 2). */
export function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === LF || byte === 0x0d || byte === 0x09
}

/** 1 for bytes at which something changes; all others are passed over by one look. */
const MARKS = Uint8Array.from({ length: 256 }, (_, byte) =>
  /["\n[\]{}]/.test(String.fromCharCode(byte)) ? 1 : 0,
)

/** The value whose first byte is at `start`, or undefined when `bytes` must reach further to tell. */
export function frameValue(bytes: Buffer, start: number, ended: boolean): FramedValue | undefined {
  const limit = Math.min(bytes.length, start + VALUE_BYTES + 1)
  let depth = 0
  let lines = 0
  let lineStart = -1
  let position = start
  if (!isMark(bytes[start])) {
    position = plainEnd(bytes, start, limit)
    if (position < limit || (ended && limit === bytes.length && limit - start <= VALUE_BYTES))
      return { end: position, lines, lineStart }
  }
  for (; position < limit; position += 1) {
    const byte = bytes[position] ?? 0
    if (MARKS[byte] === 0) continue
    if (byte === QUOTE) {
      position = closingQuote(bytes, position + 1, limit)
      if (position >= limit) break
      if (bytes[position] !== QUOTE) return { end: position, lines, lineStart, problem: 'text' }
    } else if (byte === LF) {
      lines += 1
      lineStart = position + 1
    } else if (byte === OPEN_OBJECT || byte === OPEN_LIST) depth += 1
    else depth -= 1
    if (depth <= 0) return { end: depth < 0 ? start : position + 1, lines, lineStart }
  }
  if (limit > start + VALUE_BYTES) return { end: start + VALUE_BYTES, lines, lineStart, problem: 'large' }
  return ended ? { end: limit, lines, lineStart, problem: 'cut' } : undefined
}

/** The quote that closes a string, or the line feed that breaks it off, or the limit. */
function closingQuote(bytes: Buffer, from: number, limit: number): number {
  for (let position = from; position < limit; position += 1) {
    const byte = bytes[position]
    if (byte === QUOTE || byte === LF) return position
    if (byte === BACKSLASH) position += 1
  }
  return limit
}

/** Behind a number or a literal. */
function plainEnd(bytes: Buffer, from: number, limit: number): number {
  let position = from
  while (position < limit && !isBorder(bytes[position])) position += 1
  return position
}

function isBorder(byte: number | undefined): boolean {
  return isMark(byte) || byte === COMMA || byte === COLON || isSpace(byte)
}

function isMark(byte: number | undefined): boolean {
  return byte !== undefined && MARKS[byte] === 1
}

/**
 * Whether a framed value that is not JSON ends for certain where its frame does: brackets match in kind, and each
 * string stands between marks of structure. A quote too many or too few turns texts into structure and structure into
 * texts, and then a string stands beside a text's own characters.
 */
export function endsForCertain(text: string): boolean {
  const open: string[] = []
  let before = ''
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charAt(at)
    if (isSpace(char.charCodeAt(0))) continue
    if (before === '"' && !',:]}'.includes(char)) return false
    if (char === '"') {
      if (!'[{,:'.includes(before)) return false
      at = stringEnd(text, at + 1)
      if (at === -1) return false
    } else if (char === '{' || char === '[') open.push(char)
    else if ((char === '}' && open.pop() !== '{') || (char === ']' && open.pop() !== '[')) return false
    before = char
  }
  return open.length === 0
}
