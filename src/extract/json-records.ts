/**
 * Rows from the elements of a list within a JSON document, or from documents one after another. The file is never held: elements are framed
 * and parsed one by one, the rest is passed token by token.
 *
 * Reading can begin at the origin of any row: the byte before determines the expected content. A row for unreadable rest
 * (`rest-unreadable`) has its origin at such a place, too.
 */
import { WaybillError } from '../model/errors.ts'
import type { JsonValue, Origin, Row, UnreadableRow } from '../model/row.ts'
import { exportError } from './content.ts'
import {
  EXCERPT_BYTES,
  jsonRow,
  ROW_BYTES,
  type RowFrame,
  tooLarge,
  unreadableRow,
  utf8Check,
} from './framing.ts'
import {
  type ContextPaths,
  type JsonPlace,
  memberAt,
  NO_ROW,
  notUtf8,
  placeBehind,
  placeText,
  type RecordsPath,
  rowIn,
} from './json-path.ts'
import {
  CLOSE_LIST,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  cursorAt,
  endsForCertain,
  frameValue,
  type JsonCursor,
  JsonFault,
  type JsonSource,
  jsonFault,
  jsonFaultAt,
  OPEN_LIST,
  OPEN_OBJECT,
  readJson,
} from './json-text.ts'

/** Layout of an export, as found up to its first row. */
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
 * @throws WaybillError `export-empty`: only white space; `export-unreadable`: not JSON, no list where the path leads, or no context before the
 *   list
 */
export async function findRecords(
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
export async function* readRecords(found: JsonRecords, from: Origin): AsyncGenerator<readonly Row[]> {
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
  /** Offset in the content: start of the first line of the element. */
  readonly lineStart: number
}

interface Cut {
  readonly frames: readonly ElementFrame[]
  readonly expected: Expected
  /** `more`: the window must reach further. `large`: an element over 16 MiB comes next. `end`: of the content. */
  readonly because: 'full' | 'more' | 'large' | 'end' | JsonFault
}

/**
 * Frames a block of elements in the window. Leaves the cursor where reading goes on, or at an element with a fault; without a comma or the end
 * behind an element, its end is uncertain: that is a fault of the element, too.
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

/** Place of a position in the text of an element. */
const placeIn = (text: string, at: number, frame: ElementFrame): JsonPlace =>
  placeBehind(Buffer.from(text.slice(0, at)), startOf(frame))

const startOf = ({ line, byteOffset, lineStart }: ElementFrame): JsonPlace => ({
  line,
  column: byteOffset - lineStart + 1,
})

/** Most bytes of a member of the context. */
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

  /** Parts of the context in a member. */
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
