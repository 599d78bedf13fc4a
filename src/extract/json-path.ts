/** Paths of `read.records` and `read.context` (RFC 9535): member names, and a single `[*]` for the list of the rows. */
import { compile, jsonpath } from 'json-p3'
import type { JsonValue } from '../model/row.ts'
import { LF } from './framing.ts'

/** Place of the rows in a JSON export. */
export interface RecordsPath {
  readonly text: string
  /** Member names from the document to the list. */
  readonly to: readonly string[]
  /** True if the elements of a list are the rows, false if each document is a row. */
  readonly list: boolean
  /** Member names from an element to the row: `resource` in `$.entry[*].resource`. */
  readonly within: readonly string[]
}

/** @throws Error with the reason: no RFC 9535 path, more than one list, or steps other than member names */
export function parseRecordsPath(text: string): RecordsPath {
  const names: string[] = []
  let list: number | undefined
  for (const step of steps(text)) {
    if (step !== undefined) names.push(step)
    else if (list === undefined) list = names.length
    else throw new Error(`"${text}" has two lists; name the inner one as a level in each`)
  }
  if (list === undefined && names.length > 0)
    throw new Error(`"${text}" must name a list by [*], or be "$" for whole documents`)
  return { text, to: names.slice(0, list), list: list !== undefined, within: names.slice(list ?? 0) }
}

/** @throws Error with the reason: no RFC 9535 path, or steps other than member names */
export function parseMemberPath(text: string): readonly string[] {
  const names = steps(text)
  if (names.length === 0) throw new Error(`"${text}" must name a member, for example "$.sentAt"`)
  return names.map((name) => {
    if (name === undefined) throw new Error(`"${text}" must lead to one value by names alone`)
    return name
  })
}

/** Member names; undefined for `[*]`. */
function steps(text: string): (string | undefined)[] {
  return compile(text).segments.map((segment) => {
    const [selector, second] = segment.selectors
    if (second === undefined && !segment.toString().startsWith('..')) {
      if (selector instanceof jsonpath.selectors.NameSelector) return selector.name
      if (selector instanceof jsonpath.selectors.WildcardSelector) return undefined
    }
    throw new Error(`"${text}" may hold names of members and one [*] alone`)
  })
}

/** The value at a path of names; undefined for none. */
export function memberAt(value: JsonValue, names: readonly string[]): JsonValue | undefined {
  let found: JsonValue | undefined = value
  for (const name of names) {
    if (!isObject(found) || !Object.hasOwn(found, name)) return undefined
    found = found[name]
  }
  return found
}

/** The row in an element of a list; undefined for none, and for an entry of a FHIR Bundle that deletes. */
export function rowIn(element: JsonValue, within: readonly string[]): JsonValue | undefined {
  const isDeleted = within[0] === 'resource' && memberAt(element, ['request', 'method']) === 'DELETE'
  return isDeleted ? undefined : memberAt(element, within)
}

export const NO_ROW =
  'the element lacks the member to which read.records leads, or is an entry that deletes its resource'

function isObject(value: JsonValue | undefined): value is { readonly [key: string]: JsonValue } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Lines and columns count from 1; a column counts bytes. */
export interface JsonPlace {
  readonly line: number
  readonly column: number
}

/** Place behind a text that starts at a place. */
export function placeBehind(passed: Buffer, start: JsonPlace): JsonPlace {
  const lineEnd = passed.lastIndexOf(LF)
  if (lineEnd === -1) return { line: start.line, column: start.column + passed.length }
  let lines = 0
  for (let at = passed.indexOf(LF); at !== -1; at = passed.indexOf(LF, at + 1)) lines += 1
  return { line: start.line + lines, column: passed.length - lineEnd }
}
