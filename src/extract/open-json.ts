/** Opens an export of `format: json` or `ndjson`: one document, a list in it, or a document a line. */

import { isUtf8 } from 'node:buffer'
import { WaybillError } from '../model/errors.ts'
import { DEEPEST, membersIn } from '../model/json-depth.ts'
import type { JsonValue, Origin, Row, UnreadableRow } from '../model/row.ts'
import { type Compression, exportError } from './content.ts'
import { validStart } from './encoding.ts'
import {
  ByteWindow,
  CR,
  cutText,
  EXCERPT_BYTES,
  type FrameFault,
  firstOrigin,
  jsonRow,
  LF,
  type OpenFormat,
  ROW_BYTES,
  type RowFormat,
  type RowFrame,
  readRows,
  rowsOf,
  tooLarge,
  unreadableRow,
  utf8Check,
} from './framing.ts'
import { type JsonPlace, memberAt, NO_ROW, placeBehind, type RecordsPath, rowIn } from './json-path.ts'
import { openText, type TextSource } from './open-csv.ts'
import type { ReadDefinition } from './read-definition.ts'

type JsonDefinition = Extract<ReadDefinition, { format: 'json' }>

/** Paths from the document to members outside of the list, by their names in rows. */
type ContextPaths = Readonly<Record<string, readonly string[]>>

/** @throws `export-empty`, `export-unreadable` */
export async function openJson(
  path: string,
  compression: Compression,
  read: JsonDefinition,
): Promise<Pick<OpenFormat, 'seekable' | 'rows'>> {
  // RFC 8259, 8.1 wants UTF-8; some systems write UTF-16.
  const source = await openText(path, compression, { encoding: 'auto' })
  if (read.records === undefined) {
    // Reading always begins with the only row: the column of a fault counts from the start of the line.
    const rows = () => readRows(source.text, firstOrigin(source.start), jsonDocumentFormat)
    return { seekable: false, rows }
  }
  const found = await findRecords(source, read.records, read.context)
  return { seekable: source.seekable, rows: (from = found.first) => readRecords(found, from) }
}

const jsonDocumentFormat: RowFormat = {
  frame(bytes, start, ended) {
    if (bytes.length - start > ROW_BYTES) {
      const fault = tooLarge('the document is larger', '; name the list of its rows in read.records')
      return { end: start + ROW_BYTES, lines: 1, fault }
    }
    return ended ? { end: bytes.length, next: bytes.length, lines: 1 } : undefined
  },
  // The rest of a document that is too large is skipped.
  lineEnd: () => -1,
  rows: (bytes, frames) =>
    rowsOf(
      bytes,
      frames,
      (frame) => documentRow(bytes, frame),
      ({ start, end, line }) => notUtf8(bytes.subarray(start, end), { line, column: 1 }),
    ),
}

function documentRow(bytes: Buffer, frame: RowFrame): Row {
  const text = bytes.toString('utf8', frame.start, frame.end)
  const top = { line: frame.line, column: 1 }
  const reading = readJson(text, (at) => placeText(placeBehind(Buffer.from(text.slice(0, at)), top)))
  if ('problem' in reading)
    return unreadableRow(bytes, frame, { fault: 'row-json-invalid', message: reading.problem })
  let { start, end } = frame
  let line = frame.line
  while (isSpace(bytes[start])) if (bytes[start++] === LF) line += 1
  while (isSpace(bytes[end - 1])) end -= 1
  const origin = { row: frame.row, line, byteOffset: frame.byteOffset + start - frame.start }
  return jsonRow(origin, reading.value, bytes.toString('utf8', start, end))
}

export const ndjsonFormat: RowFormat = {
  frame(bytes, start, ended) {
    const found = bytes.indexOf(LF, start)
    const lineEnd = found === -1 ? bytes.length : found
    const end = bytes[lineEnd - 1] === CR && lineEnd > start ? lineEnd - 1 : lineEnd
    if (end - start > ROW_BYTES)
      return { end: start + ROW_BYTES, lines: 1, fault: tooLarge('the line is longer') }
    if (found === -1 && !ended) return undefined
    return { end, next: found === -1 ? lineEnd : found + 1, lines: 1, blank: isBlank(bytes, start, end) }
  },
  lineEnd: (bytes, from) => bytes.indexOf(LF, from),
  rows: (bytes, frames) =>
    rowsOf(
      bytes,
      frames,
      (frame) => lineRow(bytes, frame),
      () => ({
        fault: 'row-encoding-invalid',
        message: 'the row is not valid UTF-8; export the file as UTF-8',
      }),
    ),
}

function lineRow(bytes: Buffer, frame: RowFrame): Row {
  const text = bytes.toString('utf8', frame.start, frame.end)
  const reading = readJson(text)
  if ('problem' in reading) {
    const message = reading.problem + cutText(frame)
    return unreadableRow(bytes, frame, { fault: 'row-json-invalid', message })
  }
  return jsonRow(frame, reading.value, text)
}

function isBlank(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) if (!isSpace(bytes[at])) return false
  return true
}

interface JsonRecords {
  readonly source: JsonSource
  readonly records: RecordsPath
  readonly envelope: Envelope
  /** Values of `read.context` by name; undefined without it. */
  readonly context: JsonValue | undefined
  readonly first: Origin
}

/**
 * Finds the first row.
 * @throws `export-empty`: only white space; `export-unreadable`: not JSON, no list where the path leads, or no context before the
 *   list
 */
async function findRecords(
  source: JsonSource,
  records: RecordsPath,
  contextPaths: ContextPaths | undefined,
): Promise<JsonRecords> {
  const envelope = new Envelope(records, contextPaths ?? {})
  const { cursor } = await cursorAt(source, { byteOffset: source.start, line: 1 })
  try {
    if ((await cursor.peek()) === -1)
      throw exportError(source.path, 'The export holds no JSON document.', { code: 'export-empty' })
    const values = records.list ? await envelope.enter(cursor) : {}
    if (records.list) await passBracket(cursor)
    const context = contextPaths === undefined ? undefined : values
    return { source, records, envelope, context, first: originAt(cursor, 1) }
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error
    throw new WaybillError('export-unreadable', `The rows of the export cannot be found: ${error.message}.`, {
      place: { file: source.path, ...error.place },
      remedy: 'Correct read.records (and read.context) in the mapping, or ask the vendor for a whole file.',
    })
  } finally {
    await cursor.window.close()
  }
}

/** The rows from an origin on, in blocks. All behind a place that cannot be read is one row, the last. */
async function* readRecords(found: JsonRecords, from: Origin): AsyncGenerator<readonly Row[]> {
  const { source, records, context } = found
  const { cursor, before } = await cursorAt(source, from)
  let origin = from
  try {
    let expected: Expected | undefined = records.list ? await expectedAt(cursor, before) : 'document'
    let { row } = from
    while (expected !== undefined) {
      if (expected === 'tail') {
        origin = originAt(cursor, row)
        expected = await nextDocument(cursor, found)
        continue
      }
      const cut = cutElements(cursor, expected, row)
      const { rows, lost } = readElements(cursor.window.bytes, cut.frames, records.within, context)
      if (rows.length > 0) yield rows
      row += rows.length
      origin = lost === undefined ? originAt(cursor, row) : lost.frame
      if (lost !== undefined) throw lost.fault
      if (cut.because instanceof JsonFault) throw cut.because
      if (cut.because === 'end') return
      expected = cut.expected
      if (cut.because === 'more') await cursor.refill()
      if (cut.because === 'large') {
        const large = largeRow(cursor, origin)
        await cursor.skipValue()
        expected = await expectedBehind(cursor, expected)
        yield [large]
        row += 1
      }
    }
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error
    yield [await restRow(source, origin, error)]
  } finally {
    await cursor.window.close()
  }
}

/** @throws JsonFault at a place that is no origin of a row */
async function expectedAt(cursor: JsonCursor, before: number | undefined): Promise<Expected> {
  if (before === OPEN_LIST) return 'first'
  if (before === COMMA) return 'element'
  if (before === COLON) return 'lone'
  const byte = await cursor.peek()
  if (byte === CLOSE_LIST || byte === CLOSE_OBJECT || byte === COMMA) return 'tail'
  throw cursor.broken()
}

async function expectedBehind(cursor: JsonCursor, passed: Expected): Promise<Expected> {
  if (passed === 'document') return passed
  await cursor.peek()
  const next = behindElement(cursor, passed)
  if (next === undefined) throw cursor.broken()
  return next
}

/** Moves from behind the elements of a document to those of the next one; undefined for none. */
async function nextDocument(
  cursor: JsonCursor,
  { envelope, context }: JsonRecords,
): Promise<Expected | undefined> {
  if ((await cursor.peek()) === CLOSE_LIST) cursor.position += 1
  await envelope.leave(cursor)
  if ((await cursor.peek()) === -1) return undefined
  if (context !== undefined)
    throw new JsonFault(
      'a second document begins, but read.context needs a file with a single document',
      cursor.place,
    )
  await envelope.enter(cursor)
  return (await passBracket(cursor)) ? 'first' : 'lone'
}

async function passBracket(cursor: JsonCursor): Promise<boolean> {
  if ((await cursor.peek()) !== OPEN_LIST) return false
  cursor.position += 1
  await cursor.peek()
  return true
}

const originAt = (cursor: JsonCursor, row: number): Origin => ({
  row,
  line: cursor.line,
  byteOffset: cursor.offset,
})

/** The element at the cursor, of which 16 MiB are in the window. */
function largeRow(cursor: JsonCursor, origin: Origin): UnreadableRow {
  const start = cursor.position
  const frame = { ...origin, start, end: start + ROW_BYTES, lines: 1, cutOff: false }
  return unreadableRow(cursor.window.bytes, frame, tooLarge('the element is larger'))
}

async function restRow(
  source: JsonSource,
  origin: Origin,
  { message, place }: JsonFault,
): Promise<UnreadableRow> {
  const parts: Buffer[] = []
  let held = 0
  for await (const chunk of source.text(origin.byteOffset)) {
    parts.push(chunk)
    held += chunk.length
    if (held > EXCERPT_BYTES) break
  }
  const bytes = Buffer.concat(parts)
  const frame = { ...origin, start: 0, end: bytes.length, lines: 1, cutOff: true }
  return unreadableRow(bytes, frame, {
    fault: 'rest-unreadable',
    message: `${message} (${placeText(place)}); the file was not read from here on`,
  })
}

const BLOCK_ROWS = 256

/** `first`: an element or the end of the list. `lone`: an object for a list of one, or null for none. `tail`: behind the elements. */
type Expected = 'first' | 'element' | 'lone' | 'document' | 'tail'

interface ElementFrame extends RowFrame {
  readonly lineStart: number
}

interface Cut {
  readonly frames: readonly ElementFrame[]
  readonly expected: Expected
  /** `more`: the window must reach further. `large`: an element over 16 MiB comes next. `end`: of the content. */
  readonly because: 'full' | 'more' | 'large' | 'end' | JsonFault
}

/**
 * Frames a block of elements in the window, up to a fault. Without a comma or the end behind an element, its end is uncertain: that is a fault of the
 * element, too.
 */
function cutElements(cursor: JsonCursor, from: Expected, row: number): Cut {
  const { bytes, ended } = cursor.window
  const frames: ElementFrame[] = []
  let expected = from
  const stop = (because: Cut['because']): Cut => ({ frames, expected, because })
  while (frames.length < BLOCK_ROWS && expected !== 'tail') {
    cursor.passSpace()
    const { position: start, line, lineStart, offset } = cursor
    if (start === bytes.length)
      return stop(!ended ? 'more' : expected === 'document' ? 'end' : cursor.broken())
    if (expected === 'first' && bytes[start] === CLOSE_LIST) {
      expected = 'tail'
      break
    }
    const framed = frameValue(bytes, start, ended)
    if (framed === undefined) return stop('more')
    if (framed.problem === 'large') return stop('large')
    const { end, lines } = framed
    const frame = {
      start,
      end,
      lines,
      row: row + frames.length,
      line,
      lineStart,
      byteOffset: offset,
      cutOff: false,
    }
    if (end === start) return stop(cursor.broken())
    if (framed.problem !== undefined) return stop(faultIn(bytes.toString('utf8', start, end), frame))
    cursor.passFrame(framed)
    cursor.passSpace()
    const next = expected === 'document' ? 'document' : behindElement(cursor, expected)
    if (next === undefined) {
      const known = cursor.position < bytes.length || ended
      const because = known ? faultAround(bytes.toString('utf8', start, end), frame, cursor) : 'more'
      Object.assign(cursor, { position: start, line, lineStart })
      return stop(because)
    }
    if (expected !== 'lone' || bytes.toString('latin1', start, end) !== 'null') frames.push(frame)
    expected = next
  }
  return stop('full')
}

/** Passes the comma behind an element. Undefined for neither comma nor end. */
function behindElement(cursor: JsonCursor, expected: Expected): Expected | undefined {
  const byte = cursor.window.bytes[cursor.position]
  if (expected === 'lone') return byte === COMMA || byte === CLOSE_OBJECT ? 'tail' : undefined
  if (byte === CLOSE_LIST) return 'tail'
  if (byte !== COMMA) return undefined
  cursor.position += 1
  return 'element'
}

/**
 * The rows of framed elements, up to the first whose end is uncertain.
 * @param within member names from an element to the row
 */
function readElements(
  bytes: Buffer,
  frames: readonly ElementFrame[],
  within: readonly string[],
  context: JsonValue | undefined,
): { readonly rows: Row[]; readonly lost?: { readonly frame: ElementFrame; readonly fault: JsonFault } } {
  const isUtf8 = utf8Check(bytes, frames)
  const rows: Row[] = []
  for (const frame of frames) {
    const valid = isUtf8(frame)
    const text = bytes.toString(valid ? 'utf8' : 'latin1', frame.start, frame.end)
    const reading = readJson(text, (at) => placeText(placeIn(text, at, frame)))
    if ('problem' in reading && !endsForCertain(text))
      return { rows, lost: { frame, fault: faultIn(text, frame) } }
    if (!valid)
      rows.push(unreadableRow(bytes, frame, notUtf8(bytes.subarray(frame.start, frame.end), startOf(frame))))
    else if ('problem' in reading)
      rows.push(unreadableRow(bytes, frame, { fault: 'row-json-invalid', message: reading.problem }))
    else rows.push(elementRow(bytes, frame, text, rowIn(reading.value, within), context))
  }
  return { rows }
}

function elementRow(
  bytes: Buffer,
  frame: ElementFrame,
  text: string,
  value: JsonValue | undefined,
  context: JsonValue | undefined,
): Row {
  if (value === undefined)
    return unreadableRow(bytes, frame, { fault: 'row-member-missing', message: NO_ROW })
  const row = jsonRow(frame, value, text)
  return context === undefined ? row : { ...row, context }
}

/** Fault in an element, or behind an element that is JSON. */
function faultAround(text: string, frame: ElementFrame, cursor: JsonCursor): JsonFault {
  return jsonFaultAt(text) < text.length ? faultIn(text, frame) : cursor.broken()
}

function faultIn(text: string, frame: ElementFrame): JsonFault {
  const at = jsonFaultAt(text)
  return jsonFault(at < text.length, placeIn(text, at, frame))
}

const placeIn = (text: string, at: number, frame: ElementFrame): JsonPlace =>
  placeBehind(Buffer.from(text.slice(0, at)), startOf(frame))

const startOf = ({ line, byteOffset, lineStart }: ElementFrame): JsonPlace => ({
  line,
  column: byteOffset - lineStart + 1,
})

const CONTEXT_BYTES = 1024 * 1024
const KEYS_SHOWN = 12
const NULL = 0x6e

/** The document around the list of rows: the way in, the way out, and the context that is read on the way. */
class Envelope {
  readonly #records: RecordsPath
  readonly #context: readonly (readonly [name: string, path: readonly string[]])[]

  constructor(records: RecordsPath, context: ContextPaths) {
    this.#records = records
    this.#context = Object.entries(context)
  }

  /**
   * Moves the cursor from the start of a document to the list, or to what stands for a list: a lone object, or null.
   * @throws JsonFault where the way does not lead there, with what was met instead
   */
  async enter(cursor: JsonCursor): Promise<Readonly<Record<string, JsonValue>>> {
    const { to, text } = this.#records
    const found = new Map<string, JsonValue>()
    for (const [depth, name] of to.entries()) {
      if ((await cursor.peek()) !== OPEN_OBJECT) throw await this.#unmet(cursor, depth)
      await this.#seek(cursor, depth, name, found)
    }
    const byte = await cursor.peek()
    const lone = to.length > 0 && (byte === OPEN_OBJECT || byte === NULL)
    if (byte !== OPEN_LIST && !lone) throw await this.#unmet(cursor, to.length)
    const missing = this.#context.filter(([name]) => !found.has(name))
    if (missing.length === 0) return Object.fromEntries(found)
    const names = missing.map(([name, path]) => `${name} (${way(path)})`).join(', ')
    throw new JsonFault(
      `before the list of "${text}" there is no ${names}, required by read.context`,
      cursor.place,
    )
  }

  /** Moves the cursor from behind the list to the end of the document. @throws JsonFault */
  async leave(cursor: JsonCursor): Promise<void> {
    for (const [depth, name] of [...this.#records.to.entries()].reverse()) {
      for await (const { key, place } of members(cursor, COMMA)) {
        if (key === name || this.#taken(depth, key).length > 0) throw namedTwice(key, place)
        await cursor.skipValue()
      }
      await cursor.expect(CLOSE_OBJECT)
    }
  }

  /** Passes the members of an object up to the value of the next one on the way. */
  async #seek(cursor: JsonCursor, depth: number, name: string, found: Map<string, JsonValue>): Promise<void> {
    const start = cursor.place
    const keys: string[] = []
    for await (const { key, place } of members(cursor, OPEN_OBJECT)) {
      if (key === name) return
      if (keys.length <= KEYS_SHOWN) keys.push(key)
      const taken = this.#taken(depth, key)
      if (taken.some(([wanted]) => found.has(wanted))) throw namedTwice(key, place)
      if (taken.length === 0) await cursor.skipValue()
      else {
        const value = await cursor.readValue(CONTEXT_BYTES)
        for (const [wanted, path] of taken) {
          const part = memberAt(value, path.slice(depth + 1))
          if (part !== undefined) found.set(wanted, part)
        }
      }
    }
    const { to } = this.#records
    const met = depth === 0 ? objectWith(keys) : `${way(to.slice(0, depth))} is an object without "${name}"`
    throw this.#nowhere(met, start)
  }

  async #unmet(cursor: JsonCursor, depth: number): Promise<JsonFault> {
    const { place } = cursor
    const { to } = this.#records
    const byte = await cursor.peek()
    if (byte === OPEN_OBJECT && depth === 0) return this.#nowhere(objectWith(await firstKeys(cursor)), place)
    // Only JSON is called a value.
    if (byte !== OPEN_LIST && byte !== OPEN_OBJECT) await cursor.skipValue()
    const kind = byte === OPEN_LIST ? 'a list' : byte === OPEN_OBJECT ? 'an object' : 'a single value'
    const what = depth === 0 ? 'the document' : way(to.slice(0, depth))
    return this.#nowhere(`${what} is ${kind}, not ${depth < to.length ? 'an object' : 'a list'}`, place)
  }

  #nowhere(met: string, place: JsonPlace): JsonFault {
    return new JsonFault(`"${this.#records.text}" leads nowhere: ${met}`, place)
  }

  #taken(depth: number, key: string) {
    const { to } = this.#records
    return this.#context.filter(
      ([, path]) => path[depth] === key && path.slice(0, depth).every((name, at) => name === to[at]),
    )
  }
}

/**
 * The members of an object, or the rest of them. The consumer passes each value; the end of the object is not passed.
 * @param before byte before the first member
 */
async function* members(
  cursor: JsonCursor,
  before: typeof OPEN_OBJECT | typeof COMMA,
): AsyncGenerator<{ readonly key: string; readonly place: JsonPlace }> {
  if (before === OPEN_OBJECT) await cursor.expect(OPEN_OBJECT)
  for (let mark = before; (await cursor.peek()) !== CLOSE_OBJECT; mark = COMMA) {
    if (mark === COMMA) await cursor.expect(COMMA)
    await cursor.peek()
    const { place } = cursor
    const key = await cursor.readKey()
    await cursor.expect(COLON)
    yield { key, place }
  }
}

async function firstKeys(cursor: JsonCursor): Promise<string[]> {
  const keys: string[] = []
  for await (const { key } of members(cursor, OPEN_OBJECT)) {
    keys.push(key)
    if (keys.length > KEYS_SHOWN) break
    await cursor.skipValue()
  }
  return keys
}

function objectWith(keys: readonly string[]): string {
  if (keys.length === 0) return 'the document is an object without members'
  const shown = keys.slice(0, KEYS_SHOWN).map((key) => JSON.stringify(key))
  return `the document is an object with ${shown.join(', ')}${keys.length > KEYS_SHOWN ? ' and more' : ''}`
}

const way = (names: readonly string[]): string => ['$', ...names].join('.')

/** @param key a name in the mapping */
function namedTwice(key: string, place: JsonPlace): JsonFault {
  return new JsonFault(`an object has ${JSON.stringify(key)} twice`, place)
}

/** A number that is no key of an object. */
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![ \t\r\n]*:)/y

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_LIST = 0x5b
const CLOSE_LIST = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const MINUS = 0x2d

type JsonReading = { readonly value: JsonValue } | { readonly problem: string }

type Spot = (at: number) => string

const columnAlone: Spot = (at) => `column ${at + 1}`

/**
 * Reads one document. Refuses an object with a key twice (RFC 7493, 2.3), and nesting beyond `DEEPEST`. `__proto__` is a key like any
 * other.
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
 * Quotes each number, and counts the members of all objects (colons outside strings). Invalid JSON stays invalid: an invalid number leaves
 * its rest behind a string. A reviver that reads `context.source` takes three times as long.
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

type ExpectedToken = 'value' | 'value-or-end' | 'key' | 'key-or-end' | 'colon' | 'more'

/** Position of the first misplaced token; the length of a text that ends too early. */
function jsonFaultAt(text: string): number {
  const open: ('{' | '[')[] = []
  let expected: ExpectedToken = 'value'
  let at = behind(SPACE, text, 0)
  while (at < text.length) {
    if (expected === 'more' && open.length === 0) return at
    const end = tokenEnd(text, at)
    const next: ExpectedToken | undefined = end === -1 ? undefined : follow(expected, text.charAt(at), open)
    if (next === undefined) return at
    expected = next
    at = behind(SPACE, text, end)
  }
  return text.length
}

/** Expectation after a token that begins with `first`; undefined for a misplaced token. */
function follow(expected: ExpectedToken, first: string, open: ('{' | '[')[]): ExpectedToken | undefined {
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
  readonly lines: number
  /** Behind the last line feed; -1 for none. */
  readonly lineStart: number
  /** `cut`: the content ends within. `large`: over 16 MiB. `text`: a line ends within a string. */
  readonly problem?: 'cut' | 'large' | 'text'
}

/** White space of JSON (RFC 8259, 2). */
const isSpace = (byte: number | undefined): boolean =>
  byte === 0x20 || byte === LF || byte === 0x0d || byte === 0x09

/** 1 for bytes of structure; one look passes each other byte. */
const MARKS = Uint8Array.from({ length: 256 }, (_, byte) =>
  /["\n[\]{}]/.test(String.fromCharCode(byte)) ? 1 : 0,
)

/**
 * Finds the end of the value at `start` by brackets and strings alone, on the bytes: no byte of a longer UTF-8 sequence is ASCII.
 * @returns undefined when `bytes` must reach further to tell
 */
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
 * True if a framed value that is not JSON ends for certain with its frame: brackets match in kind, and strings stand between marks of
 * structure, unlike after a quote too many or too few.
 */
function endsForCertain(text: string): boolean {
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

type JsonSource = Pick<TextSource, 'path' | 'start' | 'text'>

class JsonFault extends Error {
  readonly place: JsonPlace

  constructor(message: string, place: JsonPlace) {
    super(message)
    this.place = place
  }
}

/** @param isMore true for content behind the place */
const jsonFault = (isMore: boolean, place: JsonPlace): JsonFault =>
  new JsonFault(isMore ? 'not JSON: it breaks off' : 'it ends too early', place)

/** Cursor in JSON that is not held: token by token, by the grammar of RFC 8259. */
class JsonCursor {
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
    let expected: ExpectedToken = 'value'
    do {
      const byte = await this.peek()
      const char = byte === -1 ? '' : String.fromCharCode(byte)
      const next: ExpectedToken | undefined = char === '' ? undefined : follow(expected, char, open)
      if (next === undefined || open.length > DEPTH) throw this.broken()
      expected = next
      if (byte === QUOTE) await this.#skipString()
      else if (PLAIN_BYTE.test(char)) await this.#skipPlain()
      else if (',:{}[]'.includes(char)) this.position += 1
      else throw this.broken()
    } while (open.length > 0)
  }

  async readKey(): Promise<string> {
    if ((await this.peek()) !== QUOTE) throw this.broken()
    const key = await this.readValue(TOKEN_BYTES)
    if (typeof key !== 'string') throw this.broken()
    return key
  }

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
async function cursorAt(
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

/** Fault of bytes that are not UTF-8, with the place of the first wrong byte. */
function notUtf8(bytes: Buffer, start: JsonPlace): FrameFault {
  const place = placeText(placeBehind(validStart(bytes), start))
  return { fault: 'row-encoding-invalid', message: `not UTF-8 at ${place}; export the file as UTF-8` }
}

const placeText = ({ line, column }: JsonPlace): string => `line ${line}, column ${column}`
