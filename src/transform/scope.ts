/**
 * What a rule can see of a row, and how names in a mapping file lead into it.
 * CSV: the row's cells, a name is a column. JSON: the row and, for nested rows, the current element of each level; a name
 * is a path (RFC 9535), `$…` from the row, `level…` from a named level, `context…` from what `read.context` has read of
 * the document around the rows.
 */
import { compile, JSONPathNode, type JSONValue, jsonpath } from 'json-p3'
import { didYouMean } from '../did-you-mean.ts'
import { WaybillError } from '../model/errors.ts'
import type { CsvRow, JsonRow, JsonValue } from '../model/row.ts'

/** CSV: the cells. JSON: the row at 0, its context at 1, then one value for each level entered. */
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
  /** What an expression sees as `$`: the cells by column, without those that are empty or mean nothing; or the document. */
  subject(scope: Scope, meansNothing: (cell: string) => boolean): JsonValue
  /** What it can name besides: the context and the levels, with their places in a scope, and how deep a scope must be for them. */
  readonly variables: ReadonlyMap<string, { readonly place: number; readonly depth: number }>
}

/** Of a CSV whose columns are not known yet: every name is taken for one. */
export const ANY_NAMES: Names = {
  locate: () => ({ depth: 0, read: () => '' }),
  scopes: (root) => [root],
  subject: () => null,
  variables: new Map(),
}

/** The scope of a row, before any level is entered. */
export function rootScope(row: CsvRow | JsonRow): Scope {
  return row.kind === 'cells' ? row.cells : [row.value, row.context ?? null]
}

/** Names of a CSV export: its columns. Unknown columns are collected, so that all of them can be reported at once; and those that are there. */
export function csvNames(columns: readonly string[], missing: Set<string>, found = new Set<string>()): Names {
  const positions = new Map(columns.map((column, position) => [column, position]))
  return {
    locate(name) {
      const position = positions.get(name)
      const there = position === undefined ? missing : found
      there.add(name)
      return { depth: 0, read: position === undefined ? () => '' : (scope) => scalarText(scope[position]) }
    },
    scopes: (root) => [root],
    subject: (scope, meansNothing) =>
      Object.fromEntries(
        columns.flatMap((column, position) => {
          const cell = scalarText(scope[position]) ?? ''
          return cell === '' || meansNothing(cell) ? [] : [[column, cell]]
        }),
      ),
    variables: new Map(),
  }
}

/**
 * Refuses an export that lacks columns which are read.
 * @param found those that are there. Where none is, the file may have no header: then what stands in its first line are a person's data, which
 *   belong in no log and no message
 * @param reader who reads them
 * @throws WaybillError `columns-missing` where there are any
 */
export function refuseMissing(
  { missing, found }: { readonly missing: ReadonlySet<string>; readonly found: ReadonlySet<string> },
  exportName: string,
  columns: readonly string[],
  reader: string,
): void {
  if (missing.size === 0) return
  // Where no column is there, what stands in their place are no names.
  const meant = found.size === 0 ? [] : columns
  const names = [...missing].map((name) => `"${name}"`).join(', ')
  const near = missing.size === 1 ? didYouMean([...missing].join(), meant) : ''
  throw new WaybillError(
    'columns-missing',
    `${exportName} has no column ${names}, which ${reader} reads${near}`,
    {
      place: { file: exportName, line: 1 },
      remedy:
        found.size === 0
          ? 'No column that is read is there at all: look whether the first line of the file is its header, and whether it is the file that it should be.'
          : `The export has: ${columns.join(', ')}. Correct the names in the mapping, or ask the vendor why columns are gone. A text that is the same for every row is written { constant: … }.`,
    },
  )
}

/** The levels of a JSON row, and what `read.context` names. */
export interface JsonLevels {
  readonly each?: Readonly<Record<string, string>> | undefined
  readonly context?: Readonly<Record<string, unknown>> | undefined
}

/** What a path starts from, by its place in a scope, and the steps from there. */
interface Place {
  readonly from: number
  readonly steps: readonly Step[]
}

interface Entry extends Place {
  /** The steps lead to lists; otherwise to the elements themselves, chosen by a filter. */
  readonly lists: boolean
}

/** Place in a scope of the outermost level. */
const OUTERMOST = 2

/**
 * Names of a JSON export, with the levels of `read.each`, outermost first.
 * @param report told of each level that leads nowhere
 */
export function jsonNames(
  { each = {}, context = {} }: JsonLevels,
  report: (level: string, message: string) => void,
): Names {
  const starts = ['$', 'context', ...Object.keys(each)]
  const toPlace = (path: string, known: readonly string[]): Place => {
    const name = /^(\$|[a-z][A-Za-z0-9_]*)/.exec(path)?.[0]
    const from = name === undefined ? -1 : known.indexOf(name)
    if (name === undefined || from < 0) {
      const levels = known.slice(OUTERMOST).join(', ') || 'none here'
      const near = didYouMean(/^\w+/.exec(path)?.[0] ?? '', known.slice(OUTERMOST))
      throw new Error(`"${path}" must start with $ or the name of a level (${levels})${near}`)
    }
    const steps = compileSteps(`$${path.slice(name.length)}`, path)
    if (name === 'context' && !Object.hasOwn(context, String(steps[0])))
      throw new Error(`"${path}" names nothing that read.context has`)
    return { from, steps }
  }
  const toEntry = (name: string, path: string, at: number): Entry => {
    if (name === 'context')
      throw new Error('level "context" needs another name: this one is for read.context')
    const lists = path.endsWith('[*]')
    const place = toPlace(lists ? path.slice(0, -3) : path, starts.slice(0, OUTERMOST + at))
    if (!lists && !isFilter(place.steps.at(-1)))
      throw new Error(`level "${name}" must end in [*] or a filter, as it names the elements of a list`)
    // Elements of two lists side by side would be paired each with each.
    const before = at === 0 ? 0 : OUTERMOST + at - 1
    if (place.from !== before)
      throw new Error(
        `level "${name}" must start at "${starts[before]}", as each level lies within the one before it`,
      )
    return { ...place, lists }
  }
  const entries = Object.entries(each).map(([name, path], at): Entry => {
    try {
      return toEntry(name, path, at)
    } catch (error) {
      report(name, error instanceof Error ? error.message : String(error))
      return { from: 0, steps: [], lists: true }
    }
  })
  return {
    locate(name) {
      const { from, steps } = toPlace(name, starts)
      return { depth: depthOf(from), read: (scope) => scalarText(follow(scope[from], steps)) }
    },
    scopes(root, depth) {
      let scopes: readonly Scope[] = [root]
      for (const { from, steps, lists } of entries.slice(0, depth)) {
        scopes = scopes.flatMap((scope) => {
          const found = followAll(scope[from], steps)
          return (lists ? found.flatMap(elements) : found).map((element) => [...scope, element])
        })
      }
      return scopes
    },
    subject: ([document = null]) => document,
    variables: new Map(starts.slice(1).map((name, at) => [name, { place: at + 1, depth: depthOf(at + 1) }])),
  }
}

/** How deep a scope must be to have that place. */
const depthOf = (place: number): number => Math.max(0, place - OUTERMOST + 1)

function scalarText(value: Found): string | null {
  if (typeof value === 'string') return value.trim()
  if (value === undefined || value === null) return ''
  if (typeof value === 'boolean') return value ? 'true' : 'false'
  return null
}

/** The steps of a path (RFC 9535) through JSON are compiled once; a general engine is asked only for filters. */
type Filter = InstanceType<typeof jsonpath.selectors.FilterSelector>

/** A member's name, an element's index, or a filter `[?…]`. */
export type Step = string | number | Filter

/**
 * What stands at the end of steps: a value, nothing (undefined), or several values, where a filter holds for several or
 * a name meets a list.
 */
export const SEVERAL = Symbol('several values')
export type Found = JsonValue | undefined | typeof SEVERAL

/** @throws Error with the reason: no RFC 9535 path, or one that leads to several values by wildcard, slice or descent */
export function compileSteps(path: string, shown: string): readonly Step[] {
  return compile(path).segments.map((segment) => {
    const [selector, second] = segment.selectors
    if (second === undefined && !segment.toString().startsWith('..')) {
      if (selector instanceof jsonpath.selectors.NameSelector) return selector.name
      if (selector instanceof jsonpath.selectors.IndexSelector) return selector.index
      if (selector instanceof jsonpath.selectors.FilterSelector) return selector
    }
    throw new Error(`"${shown}" can lead to several values; name one`)
  })
}

export const isFilter = (step: Step | undefined): step is Filter => typeof step === 'object'

/** Follows steps to one value. */
export function follow(from: JsonValue | undefined, steps: readonly Step[]): Found {
  let value = from
  for (let at = 0; at < steps.length; at += 1) {
    const step = steps[at]
    if (value === null || value === undefined || step === undefined) return undefined
    if (isFilter(step)) {
      const rest = steps.slice(at + 1)
      const found = matching(value, step).map((one) => follow(one, rest))
      const there = found.filter((one) => one !== undefined)
      return there.length > 1 ? SEVERAL : there[0]
    }
    const next = take(value, step)
    if (next === SEVERAL) return next
    value = next
  }
  return value
}

/** Follows steps to all values they lead to, in document order; a name asked of a list is asked of each of its elements. */
export function followAll(from: JsonValue | undefined, steps: readonly Step[]): readonly JsonValue[] {
  if (from === undefined) return []
  const [step, ...rest] = steps
  if (step === undefined) return [from]
  if (from === null) return []
  if (isFilter(step)) return matching(from, step).flatMap((one) => followAll(one, rest))
  const next = take(from, step)
  return next === SEVERAL ? elements(from).flatMap((one) => followAll(one, steps)) : followAll(next, rest)
}

/** A list's elements; a single value stands for a list of one, as converters write a lone segment. */
export function elements(value: JsonValue): readonly JsonValue[] {
  if (value === null) return []
  return isList(value) ? value : [value]
}

/**
 * A member, or an element: the first and the last of a single value are the value itself. A name asked of a list is no
 * absence: which of its elements is meant cannot be told.
 */
function take(value: Exclude<JsonValue, null>, step: string | number): Found {
  if (isList(value)) {
    if (typeof step === 'number') return value.at(step)
    return value.length === 0 ? undefined : SEVERAL
  }
  if (typeof step === 'number') return step === 0 || step === -1 ? value : undefined
  return typeof value === 'object' && Object.hasOwn(value, step) ? value[step] : undefined
}

/** The elements for which a filter holds. */
function matching(value: JsonValue, filter: Filter): readonly JsonValue[] {
  return filter
    .resolve(new JSONPathNode(elements(value) as JSONValue, [], value as JSONValue))
    .map((node) => node.value as JsonValue)
}

const isList = (value: JsonValue): value is readonly JsonValue[] => Array.isArray(value)
