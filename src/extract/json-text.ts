/**
 * JSON (RFC 8259) in which every number stays the text that stood there.
 *
 * Numbers are put into quotes before JSON.parse sees them: exact, and 1.5 times the time of JSON.parse alone, where a
 * reviver that looks at `context.source` takes 5 times as long.
 */
import type { JsonValue } from '../model/row.ts'

/** A number that is not, by mistake, the key of an object. */
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![ \t\r\n]*:)/y

const QUOTE = 0x22
const COLON = 0x3a
const MINUS = 0x2d
const BACKSLASH = 0x5c

export type JsonReading =
  | { readonly value: JsonValue }
  /** What is wrong, without any content, as a message. */
  | { readonly problem: string }

/** How a message says where in the text something stands. */
export type Spot = (at: number) => string

const columnAlone: Spot = (at) => `column ${at + 1}`

/**
 * Reads one document. An object that names a key twice is refused (RFC 7493, 2.3): JSON.parse would keep the last
 * value and drop the others unseen. `__proto__` is a key like any other.
 */
export function readJson(text: string, spot: Spot = columnAlone): JsonReading {
  const { quoted, members } = quoteNumbers(text)
  let value: JsonValue
  try {
    value = JSON.parse(quoted)
  } catch {
    return { problem: `not JSON: it breaks off at ${spot(jsonFaultAt(text))}` }
  }
  return countMembers(value) === members ? { value } : { problem: 'an object names a key twice' }
}

/**
 * The text with each number in quotes, and how many members its objects have in all (the colons outside of strings).
 * A text that is not JSON does not become JSON by it: a number is quoted only in its full, valid form and never as a key,
 * and what is left of an invalid one stands beside a string, which no grammar rule allows.
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

/** The quote that closes a string: one with an even number of backslashes before it. */
export function stringEnd(text: string, from: number): number {
  for (let end = text.indexOf('"', from); end !== -1; end = text.indexOf('"', end + 1)) {
    let before = end - 1
    while (text.charCodeAt(before) === BACKSLASH) before -= 1
    if ((end - before) % 2 === 1) return end
  }
  return -1
}

/** Without recursion: a document may be nested deeper than the stack is. */
function countMembers(value: JsonValue): number {
  let members = 0
  const open: JsonValue[] = [value]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (next === null || typeof next !== 'object') continue
    const parts: readonly JsonValue[] = Array.isArray(next) ? next : Object.values(next)
    if (parts !== next) members += parts.length
    for (const part of parts) if (typeof part === 'object' && part !== null) open.push(part)
  }
  return members
}

const SPACE = /[ \t\r\n]*/y
const PUNCTUATION = /[{}[\],:]/y
const SCALAR = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
/** Bounded, so that the stack of the regular expression is: a long string is matched in pieces. */
const STRING_PIECE = /(?:[^"\\\p{Cc}]|[\x7f-\x9f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})){1,1000}/uy

/** What may stand next. */
export type Expected = 'value' | 'value-or-end' | 'key' | 'key-or-end' | 'colon' | 'more'

/** Position of the first token that does not belong where it stands; the text's length where it ends too early. */
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

/** What may stand after a token that begins with `first`, or undefined when it may not stand here. */
export function follow(expected: Expected, first: string, open: ('{' | '[')[]): Expected | undefined {
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

/** Where a match that starts at `at` ends, or -1. */
function behind(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex : -1
}
