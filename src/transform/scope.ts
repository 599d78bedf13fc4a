/**
 * What a rule can see of a row, and how names in a mapping file lead into it.
 * CSV: the row's cells, a name is a column. JSON: the document and, for nested rows, the current element of each level;
 * a name is a path (RFC 9535), `$…` from the document or `level…` from a named level.
 */
import { compile as compileQuery, type JSONPathQuery, jsonpath } from 'json-p3'
import type { JsonValue } from '../extract/row.ts'

/** CSV: the cells. JSON: the document at 0, then one value for each level entered. */
export type Scope = readonly JsonValue[]

/** Text of a scalar, trimmed; '' where there is nothing (absent, null, empty); null where there is an object or a list. */
export type Reader = (scope: Scope) => string | null

/** A place in the row: how to read it, and how deep the levels must be entered for it (0: the row itself). */
export interface Located {
  readonly read: Reader
  readonly depth: number
}

/** Resolves the names in a mapping; throws a plain Error with the reason where a name leads nowhere. */
export interface Names {
  locate(name: string): Located
  /** Every scope at a depth, in document order. */
  scopes(root: Scope, depth: number): readonly Scope[]
}

/** Names of a CSV export: its columns. Unknown columns are collected, so that all of them can be reported at once. */
export function csvNames(columns: readonly string[], missing: Set<string>): Names {
  const positions = new Map(columns.map((column, position) => [column, position]))
  return {
    locate(name) {
      const position = positions.get(name)
      if (position === undefined) missing.add(name)
      return { depth: 0, read: position === undefined ? () => '' : (scope) => scalarText(scope[position]) }
    },
    scopes: (root) => [root],
  }
}

interface Step {
  readonly level: number
  readonly keys: readonly (string | number)[]
}

/**
 * Names of a JSON export, with the levels of `read.each`, outermost first.
 * @param report told of each level that leads nowhere
 */
export function jsonNames(
  each: Readonly<Record<string, string>>,
  report: (level: string, message: string) => void,
): Names {
  const levels = ['$', ...Object.keys(each)]
  const toStep = (path: string, known: readonly string[]): Step => {
    const name = /^(\$|[a-z][A-Za-z0-9_]*)/.exec(path)?.[0]
    const level = name === undefined ? -1 : known.indexOf(name)
    if (name === undefined || level < 0) {
      throw new Error(
        `"${path}" must start with $ or the name of a level (${known.slice(1).join(', ') || 'none here'})`,
      )
    }
    const query = compileQuery(`$${path.slice(name.length)}`)
    return { level, keys: singularKeys(query, path) }
  }
  const toEntry = (name: string, path: string, at: number): Step => {
    if (!path.endsWith('[*]'))
      throw new Error(`level "${name}" must end in [*], as it names the elements of a list`)
    const step = toStep(path.slice(0, -3), levels.slice(0, at + 1))
    // Elements of two lists side by side would be paired each with each.
    if (step.level < at)
      throw new Error(
        `level "${name}" must start at "${levels[at]}", as each level lies within the one before it`,
      )
    return step
  }
  const entries = Object.entries(each).map(([name, path], at): Step => {
    try {
      return toEntry(name, path, at)
    } catch (error) {
      report(name, error instanceof Error ? error.message : String(error))
      return { level: at, keys: [] }
    }
  })
  return {
    locate(name) {
      const step = toStep(name, levels)
      return { depth: step.level, read: (scope) => scalarText(follow(scope[step.level], step.keys)) }
    },
    scopes(root, depth) {
      let scopes: readonly Scope[] = [root]
      for (const entry of entries.slice(0, depth)) {
        scopes = scopes.flatMap((scope) =>
          elements(follow(scope[entry.level], entry.keys)).map((element) => [...scope, element]),
        )
      }
      return scopes
    },
  }
}

/** A list's elements; a single value stands for a list of one, as converters write a lone segment. */
function elements(value: JsonValue | undefined): readonly JsonValue[] {
  if (value === undefined || value === null) return []
  return isList(value) ? value : [value]
}

const isList = (value: JsonValue): value is readonly JsonValue[] => Array.isArray(value)

function follow(from: JsonValue | undefined, keys: readonly (string | number)[]): JsonValue | undefined {
  let value = from
  for (const key of keys) {
    if (value === null || typeof value !== 'object') return undefined
    if (isList(value)) value = typeof key === 'number' ? value.at(key) : undefined
    else value = typeof key === 'string' && Object.hasOwn(value, key) ? value[key] : undefined
  }
  return value
}

function singularKeys(query: JSONPathQuery, path: string): (string | number)[] {
  if (!query.singularQuery()) throw new Error(`"${path}" can lead to several values; name one`)
  return query.segments.flatMap((segment) =>
    segment.selectors.map((selector) => {
      if (selector instanceof jsonpath.selectors.NameSelector) return selector.name
      if (selector instanceof jsonpath.selectors.IndexSelector) return selector.index
      throw new Error(`"${path}" can lead to several values; name one`)
    }),
  )
}

function scalarText(value: JsonValue | undefined): string | null {
  if (typeof value === 'string') return value.trim()
  if (value === undefined || value === null) return ''
  if (typeof value === 'boolean') return value ? 'true' : 'false'
  return null
}
