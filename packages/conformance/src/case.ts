import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import type { Answer, Client, Sent } from './client.ts'

/** Reference to a user: in bodies, and in queries as `accountReference` with its type. */
export interface Account {
  readonly reference: string
  readonly type: 'accountId' | 'partnerAccountId'
}

/** Abilities of a gateway under test without a call in the interface. */
export interface Control {
  /** Returns a bearer token for the user. */
  tokenOf(account: Account): Promise<string>
  /** Advances the gateway's clock by milliseconds. */
  passTime(ms: number): Promise<void>
}

/**
 * Statement of the interface document, tried on a gateway by HTTP alone. `section` is the heading; "States and transitions" and "Endpoints"
 * give `States: …` and `Endpoints: …`. `row` is the first cell of a table row, the method and path of an endpoint, or words of the section,
 * literally.
 *
 * `needs` names the needs of a run: `nothing` stores, changes and deletes nothing and reads no person's data; `account` reads the records
 * of a named account; `writes` registers made-up users and stores under them; `control` also uses abilities of a gateway under test.
 *
 * `run` rejects with an AssertionError if gateway and document differ, and with `NothingToJudge` if the gateway's data cannot decide. Words
 * never hold a value of a record: they name places, forms and kinds.
 */
export type ConformanceCase = { readonly section: string; readonly row: string } & (
  | { readonly needs: 'nothing' | 'writes'; readonly run: Run }
  | { readonly needs: 'account'; readonly run: Run<[account: Account]> }
  | { readonly needs: 'control'; readonly run: Run<[control: Control]> }
)
export type Run<Given extends unknown[] = []> = (client: Client, ...given: Given) => Promise<unknown>

/** Ends a case that the gateway's data cannot decide, for example for an account without a record. */
export class NothingToJudge extends Error {
  override readonly name = 'NothingToJudge'
}

/** Builds the cases of a section from a run for each row. */
export function inSection(section: string) {
  const needing =
    <Needs extends string, Running>(needs: Needs) =>
    (rows: Readonly<Record<string, Running>>) =>
      Object.entries(rows).map(([row, run]) => ({ section, row, needs, run }))
  return {
    nothing: needing<'nothing', Run>('nothing'),
    account: needing<'account', Run<[Account]>>('account'),
    writes: needing<'writes', Run>('writes'),
    control: needing<'control', Run<[Control]>>('control'),
  }
}

/** Maps names to rows. */
export const byName = <Name extends string, Made>(names: readonly Name[], make: (name: Name) => Made) =>
  Object.fromEntries(names.map((name) => [name, make(name)]))

interface Written {
  /** Completes the message "expected …". */
  readonly words: string
  holds(value: unknown): boolean
}

const form = (words: string, holds: (value: unknown) => boolean): Written => ({ words, holds })
const matching = (words: string, pattern: RegExp): Written =>
  form(words, (value) => typeof value === 'string' && pattern.test(value))
const isText = (value: unknown): boolean => typeof value === 'string'

/** Forms of fields in the document. */
const FORMS = {
  text: form('a string', isText),
  'text-or-null': form('a string or null', (value) => value === null || isText(value)),
  number: form('a number', (value) => typeof value === 'number'),
  integer: form('an integer', Number.isInteger),
  truth: form('a boolean', (value) => typeof value === 'boolean'),
  list: form('an array', Array.isArray),
  object: form('an object', isObject),
  'epoch-text': matching('epoch milliseconds in a string', /^-?\d{1,16}$/),
  'epoch-number': form('epoch milliseconds as a number', Number.isInteger),
  'iso-instant': matching(
    'an ISO 8601 UTC timestamp in a string',
    /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|\+00:?00)$/,
  ),
  'us-date': matching('a date of the form MM/DD/YYYY', /^\d{2}\/\d{2}\/\d{4}$/),
  'us-date-time': matching(
    'a time of the form MM/DD/YYYY HH:mm:ss',
    /^\d{2}\/\d{2}\/\d{4} \d{2}:\d{2}:\d{2}$/,
  ),
  'page-number': matching('a string of the form major.minor', /^\d+\.\d+$/),
  texts: form('an array, each item a string', (value) => Array.isArray(value) && value.every(isText)),
  'map-of-texts': form(
    'an object, each value a string',
    (value) => isObject(value) && Object.values(value).every(isText),
  ),
  error: form('an error', (value) => isText(value) || isObject(value)),
  /** Ids of the content service; the document does not say whether they are strings or numbers. */
  id: form('a string', (value) => Number.isInteger(value) || isText(value)),
}

/** Name of a form, or a form built for the occasion. */
export type Form = keyof typeof FORMS | Written

const writtenOf = (form: Form): Written => (typeof form === 'string' ? FORMS[form] : form)

export const isOfForm = (value: unknown, form: Form): boolean => writtenOf(form).holds(value)

/** Maps fields and their forms to rows. @param forms by row; a row begins with its field */
export const byField = <Made>(
  forms: Readonly<Record<string, Form>>,
  make: (field: string, form: Form) => Made,
) => Object.fromEntries(Object.entries(forms).map(([row, form]) => [row, make(row.replace(/ .*/, ''), form)]))

export const oneOf = (...values: readonly unknown[]): Written =>
  form(`one of ${values.map((value) => JSON.stringify(value)).join(', ')}`, (value) => values.includes(value))

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns the value at a path of keys and indexes (`data.0.source.meta`); undefined if absent. */
export function at(value: unknown, path: string): unknown {
  let found = value
  for (const key of path.split('.')) {
    if (Array.isArray(found)) found = found[Number(key)]
    else found = isObject(found) && Object.hasOwn(found, key) ? found[key] : undefined
  }
  return found
}

/** Returns the text at a path; fails if absent. */
export function textAt(value: unknown, path: string): string {
  const found = at(value, path)
  assert.ok(typeof found === 'string', `${path}: expected a string; got ${kindOf(found)}`)
  return found
}

/** Returns the array at a path; fails if absent. */
export function listAt(value: unknown, path: string): readonly unknown[] {
  const found = at(value, path)
  assert.ok(Array.isArray(found), `${path}: expected an array; got ${kindOf(found)}`)
  return found
}

/** Fails if the value has another form. */
export function formed(value: unknown, expected: Form, place: string): void {
  const { words, holds } = writtenOf(expected)
  assert.ok(holds(value), `${place}: expected ${words}; got ${kindOf(value)}`)
}

/** Fails if a field has another form than given for its path. */
export function allFormed(value: unknown, fields: Readonly<Record<string, Form>>, prefix = ''): void {
  for (const [path, expected] of Object.entries(fields)) formed(at(value, path), expected, prefix + path)
}

/** Fails if the value received differs from the value expected; the order of keys does not count. */
export function kept(came: unknown, sent: unknown, place: string): void {
  if (isDeepStrictEqual(came, sent)) return
  assert.fail(`${place}: got ${kindOf(came)} that differs from the expected value`)
}

/** Returns the answer; fails unless it has a given status. */
export function answered(answer: Answer, ...statuses: readonly number[]): Answer {
  const { call, status } = answer
  assert.ok(statuses.includes(status), `${call}: expected status ${statuses.join(' or ')}; got ${status}`)
  return answer
}

/** Fails if the call is not refused; the document leaves the 4xx status open. */
export function refused({ call, status }: Answer, why: string): void {
  assert.ok(status >= 400 && status < 500, `${call}: expected a refusal (4xx), because ${why}; got ${status}`)
}

/** Parses the answer as JSON. */
export function jsonOf(answer: Answer): unknown {
  try {
    return JSON.parse(answer.text)
  } catch {
    const type = answer.headers.get('content-type')?.split(';')[0] ?? 'no type'
    assert.fail(
      `${answer.call}: expected JSON; got ${answer.text === '' ? 'an empty body' : 'another format'} (${type})`,
    )
  }
}

/** Reads the JSON of a GET; the status must be 200. */
export const read = async (client: Client, path: string, sent: Sent = {}): Promise<unknown> =>
  jsonOf(answered(await client.send('GET', path, sent), 200))

/** Epoch milliseconds of a time in any of the document's forms; undefined for anything else. */
export function instantOf(value: unknown): number | undefined {
  if (typeof value === 'number') return value
  if (typeof value !== 'string') return undefined
  if (isOfForm(value, 'epoch-text')) return Number(value)
  const parsed = Date.parse(value)
  return Number.isNaN(parsed) ? undefined : parsed
}

function kindOf(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (value === null) return 'null'
  if (Array.isArray(value)) return `an array of ${value.length}`
  if (typeof value === 'string') return value === '' ? 'an empty string' : 'a string'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}
