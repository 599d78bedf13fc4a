/** Where a text stops being JSON: JSON.parse does not tell for every fault, and quotes the content when it does. */

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
