/** What came in an answer, looked at without telling it: words name places, forms and kinds, never a value. */
import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import type { Answer } from './client.ts'

/** A form that the document gives a field. */
export interface Form {
  /** Reads after "the document has". */
  readonly words: string
  holds(value: unknown): boolean
}

const form = (words: string, holds: (value: unknown) => boolean): Form => ({ words, holds })
const matching = (words: string, pattern: RegExp): Form =>
  form(words, (value) => typeof value === 'string' && pattern.test(value))

export const TEXT = form('a string', (value) => typeof value === 'string')
export const TEXT_OR_NULL = form('a string or null', (value) => value === null || typeof value === 'string')
export const NUMBER = form('a number', (value) => typeof value === 'number')
export const INTEGER = form('an integer', Number.isInteger)
export const TRUTH = form('a boolean', (value) => typeof value === 'boolean')
export const LIST = form('an array', Array.isArray)
export const OBJECT = form('an object', isObject)
export const EPOCH_TEXT = matching('epoch milliseconds in a string', /^-?\d{1,16}$/)
export const EPOCH_NUMBER = form('epoch milliseconds as a number', Number.isInteger)
export const ISO_INSTANT = matching(
  'an ISO 8601 UTC timestamp in a string',
  /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|\+00:?00)$/,
)
export const US_DATE = matching('a date of the form MM/DD/YYYY', /^\d{2}\/\d{2}\/\d{4}$/)
export const US_DATE_TIME = matching(
  'a time of the form MM/DD/YYYY HH:mm:ss',
  /^\d{2}\/\d{2}\/\d{4} \d{2}:\d{2}:\d{2}$/,
)
export const PAGE_NUMBER = matching('a string of the form major.minor', /^\d+\.\d+$/)
export const TEXTS = listOf(TEXT)

export function listOf(item: Form): Form {
  return form(`an array, each item ${item.words}`, (value) => Array.isArray(value) && value.every(item.holds))
}

export function mapOf(item: Form): Form {
  return form(
    `an object, each value ${item.words}`,
    (value) => isObject(value) && Object.values(value).every(item.holds),
  )
}

export function oneOf(...values: readonly unknown[]): Form {
  return form(`one of ${values.map((value) => JSON.stringify(value)).join(', ')}`, (value) =>
    values.includes(value),
  )
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** What is at a path of keys and indexes (`data.0.source.meta`); undefined where there is nothing. */
export function at(value: unknown, path: string): unknown {
  let found = value
  for (const key of path.split('.')) {
    if (Array.isArray(found)) found = found[Number(key)]
    else found = isObject(found) && Object.hasOwn(found, key) ? found[key] : undefined
  }
  return found
}

/** The text at a path; fails where there is none. */
export function textAt(value: unknown, path: string): string {
  const found = at(value, path)
  assert.ok(typeof found === 'string', `${path}: the document has a string; came ${kindOf(found)}`)
  return found
}

/** The array at a path; fails where there is none. */
export function listAt(value: unknown, path: string): readonly unknown[] {
  const found = at(value, path)
  assert.ok(Array.isArray(found), `${path}: the document has an array; came ${kindOf(found)}`)
  return found
}

export function assertForm(value: unknown, expected: Form, place: string): void {
  assert.ok(expected.holds(value), `${place}: the document has ${expected.words}; came ${kindOf(value)}`)
}

/** What was sent is what came; the order of keys does not count. */
export function assertKept(came: unknown, sent: unknown, place: string): void {
  if (isDeepStrictEqual(came, sent)) return
  assert.fail(`${place}: expected what was sent; came ${kindOf(came)} that differs`)
}

/** The status is one of these. */
export function assertStatus(answer: Answer, ...statuses: readonly number[]): void {
  assert.ok(
    statuses.includes(answer.status),
    `${answer.call}: the document has status ${statuses.join(' or ')}; came ${answer.status}`,
  )
}

/** The call is refused; with which status of 4xx, the document leaves open. */
export function assertRefused(answer: Answer, why: string): void {
  const { call, status } = answer
  assert.ok(status >= 400 && status < 500, `${call}: expected a refusal (4xx), as ${why}; came ${status}`)
}

/** The answer's JSON. */
export function jsonOf(answer: Answer): unknown {
  try {
    return JSON.parse(answer.text)
  } catch {
    const type = answer.headers.get('content-type')?.split(';')[0] ?? 'no type'
    assert.fail(
      `${answer.call}: the document has JSON; came ${answer.text === '' ? 'nothing' : 'something else'} (${type})`,
    )
  }
}

/** Epoch milliseconds of a time in any of the document's forms; undefined where it is none. */
export function instantOf(value: unknown): number | undefined {
  if (typeof value === 'number') return value
  if (typeof value !== 'string') return undefined
  if (EPOCH_TEXT.holds(value)) return Number(value)
  const parsed = Date.parse(value)
  return Number.isNaN(parsed) ? undefined : parsed
}

/** The kind of a value, for words. */
function kindOf(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (value === null) return 'null'
  if (Array.isArray(value)) return `an array of ${value.length}`
  if (typeof value === 'string') return value === '' ? 'an empty string' : 'a string'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}
