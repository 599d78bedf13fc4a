/** The document around the list of rows: the way in, the way out, and the context that is read on the way. */

import type { JsonValue } from '../model/row.ts'
import { type JsonCursor, JsonFault } from './json-cursor.ts'
import { type ContextPaths, type JsonPlace, memberAt, type RecordsPath } from './json-path.ts'
import { CLOSE_OBJECT, COLON, COMMA, OPEN_LIST, OPEN_OBJECT } from './json-text.ts'

/** Most bytes of a member of the context. */
const CONTEXT_BYTES = 1024 * 1024
const KEYS_SHOWN = 12
const NULL = 0x6e

export class Envelope {
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
