import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import type { Answer, Client, Sent } from './client.ts'

/** A user as the interface refers to one: in bodies, and in queries as `accountReference` and its type. */
export interface Account {
  readonly reference: string
  readonly type: 'accountId' | 'partnerAccountId'
}

/** What the interface itself has no call for, and a gateway under test offers in its own way. */
export interface Control {
  /** A bearer token that stands for the user. */
  tokenOf(account: Account): Promise<string>
  /** Lets the gateway's clock go on by so many milliseconds. */
  passTime(ms: number): Promise<void>
}

/**
 * One statement of the interface document, tried on a gateway by HTTP alone. `section` is the heading (of the sections
 * "States and transitions" and "Endpoints" `States: …` and `Endpoints: …`); `row` the first cell of a table's row, of an
 * endpoint its method and path, or words of the section, as they stand there.
 *
 * `needs` says what a run takes: `nothing` stores, changes and deletes nothing and asks for no person's data; `account`
 * reads what an account that is named holds; `writes` registers made-up users and stores under them; `control` also
 * takes what only a gateway under test can give.
 *
 * `run` rejects with an AssertionError where gateway and document differ, and with `NothingToJudge` where what the
 * gateway holds does not show it. Words never hold a value of a record: they name places, forms and kinds.
 */
export type ConformanceCase = { readonly section: string; readonly row: string } & (
  | { readonly needs: 'nothing' | 'writes'; readonly run: Run }
  | { readonly needs: 'account'; readonly run: Run<[account: Account]> }
  | { readonly needs: 'control'; readonly run: Run<[control: Control]> }
)
export type Run<Given extends unknown[] = []> = (client: Client, ...given: Given) => Promise<unknown>

/** Ends a case that the gateway's data cannot decide: an account without a record, say. */
export class NothingToJudge extends Error {
  override readonly name = 'NothingToJudge'
}

/** Makers of the cases of one section, from what runs for each row. */
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

/** For each of the names what is made of it, as rows. */
export const byName = <Name extends string, Made>(names: readonly Name[], make: (name: Name) => Made) =>
  Object.fromEntries(names.map((name) => [name, make(name)]))

interface Written {
  /** Reads after "the document has". */
  readonly words: string
  holds(value: unknown): boolean
}

const form = (words: string, holds: (value: unknown) => boolean): Written => ({ words, holds })
const matching = (words: string, pattern: RegExp): Written =>
  form(words, (value) => typeof value === 'string' && pattern.test(value))
const isText = (value: unknown): boolean => typeof value === 'string'

/** Forms that the document gives fields. */
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
  /** In the content service: the document does not say which. */
  id: form('a string', (value) => Number.isInteger(value) || isText(value)),
}

/** By its name, or one of its own. */
export type Form = keyof typeof FORMS | Written

const writtenOf = (form: Form): Written => (typeof form === 'string' ? FORMS[form] : form)

export const isOfForm = (value: unknown, form: Form): boolean => writtenOf(form).holds(value)

/** As `byName`, of fields with their forms. @param forms by row: a row begins with its field */
export const byField = <Made>(
  forms: Readonly<Record<string, Form>>,
  make: (field: string, form: Form) => Made,
) => Object.fromEntries(Object.entries(forms).map(([row, form]) => [row, make(row.replace(/ .*/, ''), form)]))

export const oneOf = (...values: readonly unknown[]): Written =>
  form(`one of ${values.map((value) => JSON.stringify(value)).join(', ')}`, (value) => values.includes(value))

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

/** Fails where the value has another form. */
export function formed(value: unknown, expected: Form, place: string): void {
  const { words, holds } = writtenOf(expected)
  assert.ok(holds(value), `${place}: the document has ${words}; came ${kindOf(value)}`)
}

/** Fails where a field of the value has another form than that beside its path. */
export function allFormed(value: unknown, fields: Readonly<Record<string, Form>>, prefix = ''): void {
  for (const [path, expected] of Object.entries(fields)) formed(at(value, path), expected, prefix + path)
}

/** Fails where what came is not what was sent; the order of keys does not count. */
export function kept(came: unknown, sent: unknown, place: string): void {
  if (isDeepStrictEqual(came, sent)) return
  assert.fail(`${place}: expected what was sent; came ${kindOf(came)} that differs`)
}

/** The answer; fails where its status is none of these. */
export function answered(answer: Answer, ...statuses: readonly number[]): Answer {
  const { call, status } = answer
  assert.ok(
    statuses.includes(status),
    `${call}: the document has status ${statuses.join(' or ')}; came ${status}`,
  )
  return answer
}

/** Fails where the call is not refused; with which status of 4xx, the document leaves open. */
export function refused({ call, status }: Answer, why: string): void {
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

/** The JSON of a GET that is answered with 200. */
export const read = async (client: Client, path: string, sent: Sent = {}): Promise<unknown> =>
  jsonOf(answered(await client.send('GET', path, sent), 200))

/** Epoch milliseconds of a time in any of the document's forms; undefined where it is none. */
export function instantOf(value: unknown): number | undefined {
  if (typeof value === 'number') return value
  if (typeof value !== 'string') return undefined
  if (isOfForm(value, 'epoch-text')) return Number(value)
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
