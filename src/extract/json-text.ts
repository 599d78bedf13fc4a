/**
 * JSON (RFC 8259) in which every number stays text, as written.
 *
 * Brackets and strings alone tell the end of a value, on the bytes: no byte of a longer UTF-8 sequence is ASCII. Numbers are quoted before
 * JSON.parse: exact, and 1.5 times the time of JSON.parse alone; a reviver that reads `context.source` takes 5 times as long.
 */

import { isUtf8 } from 'node:buffer'
import { DEEPEST, membersIn } from '../model/json-depth.ts'
import type { JsonValue } from '../model/row.ts'
import { ByteWindow, LF, ROW_BYTES } from './framing.ts'
import type { JsonPlace } from './json-path.ts'
import type { TextSource } from './open-csv.ts'

/** A number that is no key of an object. */
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![ \t\r\n]*:)/y

const QUOTE = 0x22
const BACKSLASH = 0x5c
export const COMMA = 0x2c
export const COLON = 0x3a
export const OPEN_LIST = 0x5b
export const CLOSE_LIST = 0x5d
export const OPEN_OBJECT = 0x7b
export const CLOSE_OBJECT = 0x7d
const MINUS = 0x2d

type JsonReading =
  | { readonly value: JsonValue }
  /** Message without any content. */
  | { readonly problem: string }

/** Text of a place in a message. */
type Spot = (at: number) => string

const columnAlone: Spot = (at) => `column ${at + 1}`

/**
 * Reads one document. Refuses an object with a key twice (RFC 7493, 2.3), as JSON.parse would keep the last value in silence, and nesting
 * beyond `DEEPEST`. `__proto__` is a key like any other.
 */
export function readJson(text: string, spot: Spot = columnAlone): JsonReading {
  const { quoted, members } = quoteNumbers(text)
  let value: JsonValue
  try {
    value = JSON.parse(quoted)
  } catch {
    return { problem: `not JSON: it breaks off at ${spot(jsonFaultAt(text))}` }
  }
  const found = membersIn(value)
  if (Number.isNaN(found)) return { problem: `nested deeper than ${DEEPEST} levels` }
  return found === members ? { value } : { problem: 'an object names a key twice' }
}

/**
 * Quotes each number, and counts the members of all objects (the colons outside strings). Invalid JSON stays invalid: a number is quoted
 * only in its valid form and never as a key, and the rest of an invalid number then follows a string, which the grammar forbids.
 */
function quoteNumbers(text: string): { quoted: string; members: number } {
  let quoted = ''
  let copied = 0
  let members = 0
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charCodeAt(at)
    if (char === QUOTE) {
      at = stringEnd(text, at + 1)
      if (at === -1) break
    } else if (char === COLON) members += 1
    else if (char === MINUS || (char >= 0x30 && char <= 0x39)) {
      NUMBER.lastIndex = at
      if (!NUMBER.test(text)) continue
      quoted += `${text.slice(copied, at)}"${text.slice(at, NUMBER.lastIndex)}"`
      copied = NUMBER.lastIndex
      at = copied - 1
    }
  }
  return { quoted: copied === 0 ? text : quoted + text.slice(copied), members }
}

/** Position of the closing quote, which has an even number of backslashes before it. */
function stringEnd(text: string, from: number): number {
  for (let end = text.indexOf('"', from); end !== -1; end = text.indexOf('"', end + 1)) {
    let before = end - 1
    while (text.charCodeAt(before) === BACKSLASH) before -= 1
    if ((end - before) % 2 === 1) return end
  }
  return -1
}

const SPACE = /[ \t\r\n]*/y
const PUNCTUATION = /[{}[\],:]/y
const SCALAR = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
/** Bounded for the stack of the regular expression: a long string is matched in pieces. */
const STRING_PIECE = /(?:[^"\\\p{Cc}]|[\x7f-\x9f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})){1,1000}/uy

type Expected = 'value' | 'value-or-end' | 'key' | 'key-or-end' | 'colon' | 'more'

/** Position of the first misplaced token; the length of a text that ends too early. */
export function jsonFaultAt(text: string): number {
  const open: ('{' | '[')[] = []
  let expected: Expected = 'value'
  let at = behind(SPACE, text, 0)
  while (at < text.length) {
    if (expected === 'more' && open.length === 0) return at
    const end = tokenEnd(text, at)
    const next: Expected | undefined = end === -1 ? undefined : follow(expected, text.charAt(at), open)
    if (next === undefined) return at
    expected = next
    at = behind(SPACE, text, end)
  }
  return text.length
}

/** Expectation after a token that begins with `first`; undefined for a misplaced token. */
function follow(expected: Expected, first: string, open: ('{' | '[')[]): Expected | undefined {
  const inside = open.at(-1)
  if (first === ':') return expected === 'colon' ? 'value' : undefined
  if (first === ',')
    return expected !== 'more' || inside === undefined ? undefined : inside === '{' ? 'key' : 'value'
  if (first === '}' || first === ']') {
    const matching = first === '}' ? '{' : '['
    const mayEnd = expected === 'more' || expected === (first === '}' ? 'key-or-end' : 'value-or-end')
    return mayEnd && open.pop() === matching ? 'more' : undefined
  }
  if (expected === 'key' || expected === 'key-or-end') return first === '"' ? 'colon' : undefined
  if (expected !== 'value' && expected !== 'value-or-end') return undefined
  if (first !== '{' && first !== '[') return 'more'
  open.push(first)
  return first === '{' ? 'key-or-end' : 'value-or-end'
}

function tokenEnd(text: string, at: number): number {
  if (text.charAt(at) !== '"') return Math.max(behind(PUNCTUATION, text, at), behind(SCALAR, text, at))
  let end = at + 1
  for (;;) {
    const next = behind(STRING_PIECE, text, end)
    if (next === -1) break
    end = next
  }
  return text.charAt(end) === '"' ? end + 1 : -1
}

/** End of a match that starts at `at`, or -1. */
function behind(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex : -1
}

interface FramedValue {
  /** Behind the last byte; the start for what is no value (a comma, say). */
  readonly end: number
  /** Number of line feeds. */
  readonly lines: number
  /** Behind the last line feed; -1 for none. */
  readonly lineStart: number
  /** `cut`: the content ends within. `large`: over 16 MiB. `text`: a line ends within a string. */
  readonly problem?: 'cut' | 'large' | 'text'
}

/** White space of JSON (RFC 8259, 2). */
export const isSpace = (byte: number | undefined): boolean =>
  byte === 0x20 || byte === LF || byte === 0x0d || byte === 0x09

/** 1 for bytes of structure; one look passes each other byte. */
const MARKS = Uint8Array.from({ length: 256 }, (_, byte) =>
  /["\n[\]{}]/.test(String.fromCharCode(byte)) ? 1 : 0,
)

/** The value at `start`; undefined when `bytes` must reach further to tell. */
export function frameValue(bytes: Buffer, start: number, ended: boolean): FramedValue | undefined {
  const limit = Math.min(bytes.length, start + ROW_BYTES + 1)
  let depth = 0
  let lines = 0
  let lineStart = -1
  let position = start
  if (!isMark(bytes[start])) {
    position = plainEnd(bytes, start, limit)
    if (position < limit || (ended && limit === bytes.length && limit - start <= ROW_BYTES))
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
    if (depth > 0) continue
    const end = depth < 0 ? start : position + 1
    if (end - start > ROW_BYTES) break
    return { end, lines, lineStart }
  }
  if (limit > start + ROW_BYTES) return { end: start + ROW_BYTES, lines, lineStart, problem: 'large' }
  return ended ? { end: limit, lines, lineStart, problem: 'cut' } : undefined
}

/** Position of the closing quote, of the line feed that breaks the string off, or the limit. */
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

const isBorder = (byte: number | undefined): boolean =>
  isMark(byte) || byte === COMMA || byte === COLON || isSpace(byte)

const isMark = (byte: number | undefined): boolean => byte !== undefined && MARKS[byte] === 1

/**
 * True if a framed value that is not JSON ends for certain with its frame: brackets match in kind, and each string stands between marks of
 * structure. A quote too many or too few turns texts into structure and structure into texts; then a string stands beside characters of a text.
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

/** A longer key, number or literal is damage. */
const TOKEN_BYTES = 64 * 1024
const DEPTH = 100_000
/** First distance of the search for an earlier line feed and token. */
const LOOK_BACK_BYTES = 64 * 1024

const PLAIN = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$/
const PLAIN_BYTE = /[\w.+-]/
const ESCAPE = /^\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/

export type JsonSource = Pick<TextSource, 'path' | 'start' | 'text'>

/** Fault of the content, with names of members as its only content. */
export class JsonFault extends Error {
  readonly place: JsonPlace

  constructor(message: string, place: JsonPlace) {
    super(message)
    this.place = place
  }
}

/** @param isMore true for content behind the place */
export const jsonFault = (isMore: boolean, place: JsonPlace): JsonFault =>
  new JsonFault(isMore ? 'not JSON: it breaks off' : 'it ends too early', place)

/**
 * Cursor in JSON that is not held: token by token, each checked by the grammar of RFC 8259, with line and column.
 */
export class JsonCursor {
  readonly window: ByteWindow
  /** Position of the next byte, in the window. */
  position = 0
  line: number
  /** Offset in the content. */
  lineStart: number

  constructor(window: ByteWindow, line: number, lineStart: number) {
    this.window = window
    this.line = line
    this.lineStart = lineStart
  }

  get offset(): number {
    return this.window.offset + this.position
  }

  get place(): JsonPlace {
    return { line: this.line, column: this.offset - this.lineStart + 1 }
  }

  broken(): JsonFault {
    return jsonFault(this.position < this.window.bytes.length, this.place)
  }

  /** Reads on and forgets the bytes before the position. */
  async refill(): Promise<void> {
    await this.window.refill(this.position)
    this.position = 0
  }

  /** Passes white space in the window. */
  passSpace(): void {
    const { bytes } = this.window
    while (isSpace(bytes[this.position])) {
      this.position += 1
      if (bytes[this.position - 1] === LF) this.endLine(this.position)
    }
  }

  /** @param position start of the next line, in the window */
  endLine(position: number): void {
    this.line += 1
    this.lineStart = this.window.offset + position
  }

  /** The next byte that is no white space; -1 at the end. */
  async peek(): Promise<number> {
    for (;;) {
      this.passSpace()
      const byte = this.window.bytes[this.position]
      if (byte !== undefined) return byte
      if (this.window.ended) return -1
      await this.refill()
    }
  }

  /** Passes a byte. @throws JsonFault for another byte */
  async expect(byte: number): Promise<void> {
    if ((await this.peek()) !== byte) throw this.broken()
    this.position += 1
  }

  /** Passes a value of any size. @throws JsonFault */
  async skipValue(): Promise<void> {
    const open: ('{' | '[')[] = []
    let expected: Expected = 'value'
    do {
      const byte = await this.peek()
      const char = byte === -1 ? '' : String.fromCharCode(byte)
      const next: Expected | undefined = char === '' ? undefined : follow(expected, char, open)
      if (next === undefined || open.length > DEPTH) throw this.broken()
      expected = next
      if (byte === QUOTE) await this.#skipString()
      else if (PLAIN_BYTE.test(char)) await this.#skipPlain()
      else if (',:{}[]'.includes(char)) this.position += 1
      else throw this.broken()
    } while (open.length > 0)
  }

  /** Passes the name of a member. @throws JsonFault */
  async readKey(): Promise<string> {
    if ((await this.peek()) !== QUOTE) throw this.broken()
    const key = await this.readValue(TOKEN_BYTES)
    if (typeof key !== 'string') throw this.broken()
    return key
  }

  /** Reads and passes a value. @throws JsonFault, also for more than `limit` bytes */
  async readValue(limit: number): Promise<JsonValue> {
    await this.peek()
    const framed = await this.frame()
    const bytes = this.window.bytes.subarray(this.position, framed.end)
    if (bytes.length > limit)
      throw new JsonFault(`the value here is longer than ${limit / 1024} KiB`, this.place)
    const reading = isUtf8(bytes) ? readJson(bytes.toString()) : { problem: 'not UTF-8' }
    if ('problem' in reading) throw this.broken()
    this.passFrame(framed)
    return reading.value
  }

  /** Frames the value at the position, and holds it in the window. */
  async frame(): Promise<FramedValue> {
    for (;;) {
      const framed = frameValue(this.window.bytes, this.position, this.window.ended)
      if (framed !== undefined) return framed
      await this.refill()
    }
  }

  passFrame({ end, lines, lineStart }: FramedValue): void {
    this.position = end
    this.line += lines
    if (lineStart !== -1) this.lineStart = this.window.offset + lineStart
  }

  async #skipPlain(): Promise<void> {
    for (;;) {
      const { bytes, ended } = this.window
      let end = this.position
      while (end < bytes.length && PLAIN_BYTE.test(String.fromCharCode(bytes[end] ?? 0))) end += 1
      if (end === bytes.length && !ended && end - this.position <= TOKEN_BYTES) await this.refill()
      else {
        if (!PLAIN.test(bytes.toString('latin1', this.position, end))) throw this.broken()
        this.position = end
        return
      }
    }
  }

  async #skipString(): Promise<void> {
    this.position += 1
    for (;;) {
      const { bytes, ended } = this.window
      this.position = plainTextEnd(bytes, this.position)
      const byte = bytes[this.position]
      if (byte === QUOTE) {
        this.position += 1
        return
      }
      const left = bytes.length - this.position
      if (left === 0 || (byte === BACKSLASH && left < 6 && !ended)) {
        if (ended) throw this.broken()
        await this.refill()
        continue
      }
      const escaped = ESCAPE.exec(bytes.toString('latin1', this.position, this.position + 6))?.[0]
      if (escaped === undefined) throw this.broken()
      this.position += escaped.length
    }
  }
}

/** Position of the end of a string, an escape, or a control character. */
function plainTextEnd(bytes: Buffer, from: number): number {
  for (let position = from; position < bytes.length; position += 1) {
    const byte = bytes[position] ?? 0
    if (byte === QUOTE || byte === BACKSLASH || byte < 0x20) return position
  }
  return bytes.length
}

/**
 * A cursor at an offset where a token starts.
 * @returns with the last byte before that is no white space; undefined at the start of the content
 */
export async function cursorAt(
  source: JsonSource,
  { byteOffset, line }: { readonly byteOffset: number; readonly line: number },
): Promise<{ readonly cursor: JsonCursor; readonly before: number | undefined }> {
  const { before, lineStart } = await lookBack(source, byteOffset)
  return {
    cursor: new JsonCursor(new ByteWindow(source.text(byteOffset), byteOffset), line, lineStart),
    before,
  }
}

/** Searches near the offset first, and from the start of the content for a longer line. */
async function lookBack(source: JsonSource, offset: number) {
  let before: number | undefined
  let lineStart = source.start
  for (const from of [offset - LOOK_BACK_BYTES, source.start]) {
    if (from < source.start) continue
    let position = from
    for await (const chunk of source.text(from)) {
      const bytes = chunk.subarray(0, offset - position)
      const lineEnd = bytes.lastIndexOf(LF)
      if (lineEnd !== -1) lineStart = position + lineEnd + 1
      before = bytes.findLast((byte) => !isSpace(byte)) ?? before
      position += bytes.length
      if (position >= offset) break
    }
    if (lineStart > source.start && before !== undefined) break
  }
  return { before, lineStart }
}
