/** Cursor in JSON that is not held: token by token, each checked by the grammar of RFC 8259, with line and column. */
import { isUtf8 } from 'node:buffer'
import type { JsonValue } from '../model/row.ts'
import { ByteWindow, LF } from './framing.ts'
import type { JsonPlace } from './json-path.ts'
import {
  BACKSLASH,
  type Expected,
  type FramedValue,
  follow,
  frameValue,
  isSpace,
  QUOTE,
  readJson,
} from './json-text.ts'
import type { TextSource } from './open-csv.ts'

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
