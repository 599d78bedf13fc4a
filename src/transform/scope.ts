/**
 * The view of a rule on a row, and the names in a mapping file that lead into it.
 * CSV: the scope holds the cells. A name is a column, or a level: a part of a cell.
 * JSON: the scope holds the row and the current element of each level. A name is a path (RFC 9535) from the row (`$…`), a level or `context`.
 * Levels are a tree: sibling levels are never entered together.
 */
import { compile, JSONPathNode, type JSONValue, jsonpath } from 'json-p3'
import { reasonOf, WaybillError } from '../model/errors.ts'
import type { Fault } from '../model/record.ts'
import type { CsvRow, JsonRow, JsonValue } from '../model/row.ts'
import { didYouMean } from '../system/schema-problems.ts'
import { elements, isList } from './json-values.ts'
import { legalName, namesAt } from './person-names.ts'

/** CSV: the cells. JSON: the row at 0, its context at 1. Then the value of each entered level, at the place of the level. */
export type Scope = readonly JsonValue[]

/** Levels to enter, including their outer levels; a bit for each in the order of `read.each`. 0: none, the row itself. */
export type Branch = number

/** Branch with all levels of the parts. */
export const branchOf = (...parts: readonly ({ readonly branch: Branch } | undefined)[]): Branch =>
  parts.reduce((branch, part) => branch | (part?.branch ?? 0), 0)

/** True where all levels of a branch are entered with another branch. */
export const isWithin = (one: Branch, other: Branch): boolean => (one & ~other) === 0

/** Text of a scalar, trimmed; '' for none (absent, null, empty); null for an object or a list. */
type Reader = (scope: Scope) => string | null

/** A place in the row: its reader, and the levels to enter first. */
export interface Located {
  readonly read: Reader
  readonly branch: Branch
}

/** Resolves the names in a mapping; throws a plain Error with the reason where a name leads nowhere. */
export interface Names {
  locate(name: string): Located
  /** Every scope of a branch, in document order. */
  scopes(root: Scope, branch: Branch): readonly Scope[]
  /** Two levels of a branch with neither inside the other: the elements of both cannot be matched. */
  apart(branch: Branch): readonly [string, string] | undefined
  /** True for the name of a level, where a name could also be a column. */
  isLevel(name: string): boolean
  /** Fault of a cell's text without a value; undefined for formats without faulty cells. */
  readonly faultOf?: ((text: string) => Fault | undefined) | undefined
  /** Texts in the records below the header of a CSV, which are no rows. */
  textsBelow?(column: string): readonly string[]
  /** Value of `$` in an expression: the cells by column, without empty and blank cells; or the document. */
  subject(scope: Scope, meansNothing: (cell: string) => boolean): JsonValue
  /** Trails of a name into a row: from its own start, then from each outer level, the outermost last. Columns have none. */
  trails?(name: string): readonly Trail[]
  /** Further names for expressions: the context and the levels, with their places in a scope. */
  readonly variables: ReadonlyMap<string, { readonly place: number; readonly branch: Branch }>
}

/** Step of a trail for any element of a list that a level enters. */
export const EACH = Symbol('each element')
export type TrailStep = Step | typeof EACH

/** Steps from a place in a scope. */
export interface Trail {
  readonly from: number
  readonly steps: readonly TrailStep[]
}

/** A level as written in a mapping: the elements on a path; or the parts of a text, between delimiters. */
type LevelDefinition = string | { readonly from: string; readonly by: string }
export type Each = Readonly<Record<string, LevelDefinition>>

interface Level {
  readonly name: string
  /** The level itself, and its outer levels. */
  readonly branch: Branch
  /** Place of its value in a scope. */
  readonly place: number
  /** Steps from the outer level; none in CSV. */
  readonly trail?: Trail
  elements(scope: Scope): readonly JsonValue[]
}

/** Non-empty parts of a text. */
const partsOf = (text: string | null, by: string): readonly string[] =>
  (text ?? '').split(by).flatMap((part) => part.trim() || [])

/** Scopes of levels, for CSV and JSON. */
function tree(levels: readonly Level[]): Pick<Names, 'scopes' | 'apart'> {
  return {
    scopes(root, branch) {
      let scopes: readonly Scope[] = [root]
      for (const level of levels) {
        if (!isWithin(level.branch, branch)) continue
        scopes = scopes.flatMap((scope) =>
          level.elements(scope).map((element) => {
            const entered = scope.slice()
            entered[level.place] = element
            return entered
          }),
        )
      }
      return scopes
    },
    apart(branch) {
      const read = levels.filter((level) => isWithin(level.branch, branch))
      const last = read.at(-1)
      const other = last && read.find((level) => !isWithin(level.branch, last.branch))
      return last && other && [other.name, last.name]
    },
  }
}

/** Scope of a row, before any level is entered. */
export function rootScope(row: CsvRow | JsonRow): Scope {
  return row.kind === 'cells' ? row.cells : [row.value, row.context ?? null]
}

/**
 * Names of a CSV export: its columns and levels; a level takes precedence over a column of its name. Collects unknown columns, for
 * a single report, and known columns.
 */
export function csvNames(
  columns: readonly string[],
  missing: Set<string>,
  found = new Set<string>(),
  each: Each = {},
): Names {
  const positions = new Map(columns.map((column, position) => [column, position]))
  const levels: Level[] = []
  const locateColumn = (name: string): Located => {
    const position = positions.get(name)
    const there = position === undefined ? missing : found
    there.add(name)
    return { branch: 0, read: position === undefined ? () => '' : (scope) => scalarText(scope[position]) }
  }
  const locate = (name: string): Located => {
    const level = levels.find((one) => one.name === name)
    if (level === undefined) return locateColumn(name)
    return { branch: level.branch, read: (scope) => scalarText(scope[level.place]) }
  }
  for (const [at, [name, level]] of Object.entries(each).entries()) {
    if (typeof level === 'string') continue
    const { read, branch } = locate(level.from)
    const elements = (scope: Scope): readonly string[] => partsOf(read(scope), level.by)
    levels.push({ name, branch: branch | (1 << at), place: columns.length + at, elements })
  }
  return {
    locate,
    ...tree(levels),
    isLevel: (name) => levels.some((level) => level.name === name),
    subject: (scope, meansNothing) =>
      Object.fromEntries(
        columns.flatMap((column, position) => {
          const cell = scalarText(scope[position]) ?? ''
          return cell === '' || meansNothing(cell) ? [] : [[column, cell]]
        }),
      ),
    variables: new Map(levels.map(({ name, place, branch }) => [name, { place, branch }])),
  }
}

/** Names of a CSV before its columns are known: accepts every name as a column. */
export const anyNames = (each: Each = {}): Names => csvNames([], new Set(), new Set(), each)

/**
 * Rejects an export without columns that are read.
 * @param found columns that exist. Where none exists, the first line may hold a person's data, and must not appear in a message
 * @param reader the part that reads the columns, for the message
 * @throws WaybillError `columns-missing`
 */
export function refuseMissing(
  { missing, found }: { readonly missing: ReadonlySet<string>; readonly found: ReadonlySet<string> },
  exportName: string,
  columns: readonly string[],
  reader: string,
): void {
  if (missing.size === 0) return
  const unread = columns.filter((one) => one !== '' && !found.has(one))
  const names = [...missing].map((name) => `"${name}"`).join(', ')
  const near = missing.size === 1 && found.size > 0 ? didYouMean([...missing].join(), unread) : ''
  throw new WaybillError(
    'columns-missing',
    `${exportName} has no column ${names}, which ${reader} reads${near}`,
    {
      place: { file: exportName, line: 1 },
      remedy:
        found.size === 0
          ? 'None of the mapped columns is there: check that the first line is the header, and that this is the right file.'
          : `Unread columns: ${unread.join(', ') || 'none'}. Correct the names in the mapping, or ask the vendor about missing columns.`,
    },
  )
}

/** Levels of a JSON row, and names of `read.context`. */
interface JsonLevels {
  readonly each?: Each | undefined
  readonly context?: Readonly<Record<string, unknown>> | undefined
}

/** Start of a path, by its place in a scope, and the steps from there. */
interface Place {
  readonly from: number
  readonly steps: readonly Step[]
}

/** Place in a scope of the outermost level. */
const OUTERMOST = 2

/**
 * Names of a JSON export, with the levels of `read.each`, each written after its outer level.
 * @param report called for each level that leads nowhere
 */
export function jsonNames(
  { each = {}, context = {} }: JsonLevels,
  report: (level: string, message: string) => void,
): Names {
  const starts = ['$', 'context', ...Object.keys(each)]
  const levels = levelsOf(each, context, starts, report)
  return {
    locate(name) {
      const { from, steps } = placeOf(name, starts, context)
      const at = namesAt(steps)
      if (at < 0)
        return { branch: branchAt(levels, from), read: (scope) => scalarText(follow(scope[from], steps)) }
      const isByPlace = steps[at + 1] === 0
      const read: Reader = (scope) => {
        const names = follow(scope[from], steps.slice(0, at + 1))
        // Without an index, a list has no name that is meant.
        if (names === SEVERAL || (!isByPlace && isList(names ?? null))) return null
        return scalarText(follow(legalName(names), steps.slice(isByPlace ? at + 2 : at + 1)))
      }
      return { branch: branchAt(levels, from), read }
    },
    trails(name) {
      const trails: Trail[] = [placeOf(name, starts, context)]
      for (let at = 0; at < trails.length; at += 1) {
        const { from, steps = [] } = trails[at] ?? {}
        const above = levels.find(({ place }) => place === from)?.trail
        if (above !== undefined) trails.push({ from: above.from, steps: [...above.steps, ...steps] })
      }
      return trails
    },
    ...tree(levels),
    isLevel: () => false,
    subject: ([document = null]) => document,
    variables: new Map(
      starts.slice(1).map((name, at) => [name, { place: at + 1, branch: branchAt(levels, at + 1) }]),
    ),
  }
}

/**
 * @param known names that the path may start with, in the order of a scope
 * @throws Error with the reason
 */
function placeOf(path: string, known: readonly string[], context: NonNullable<JsonLevels['context']>): Place {
  const name = /^(\$|[a-z][A-Za-z0-9_]*)/.exec(path)?.[0]
  const from = name === undefined ? -1 : known.indexOf(name)
  if (name === undefined || from < 0) {
    const levels = known.slice(OUTERMOST).join(', ') || 'none here'
    const near = didYouMean(/^\w+/.exec(path)?.[0] ?? '', known.slice(OUTERMOST))
    throw new Error(`"${path}" must start with $ or the name of a level (${levels})${near}`)
  }
  const steps = compileSteps(`$${path.slice(name.length)}`, path)
  if (name === 'context' && !Object.hasOwn(context, String(steps[0])))
    throw new Error(`"${path}" is not a name of read.context`)
  return { from, steps }
}

const branchAt = (levels: readonly Level[], place: number): Branch =>
  levels.find((level) => level.place === place)?.branch ?? 0

function levelsOf(
  each: NonNullable<JsonLevels['each']>,
  context: NonNullable<JsonLevels['context']>,
  starts: readonly string[],
  report: (level: string, message: string) => void,
): Level[] {
  const levels: Level[] = []
  const toLevel = (name: string, written: LevelDefinition, at: number): Level => {
    if (name === 'context')
      throw new Error('level "context" needs another name: this is the name of read.context')
    const known = starts.slice(0, OUTERMOST + at)
    const path = typeof written === 'string' ? written : written.from
    const lists = typeof written === 'string' && path.endsWith('[*]')
    const { from, steps } = placeOf(lists ? path.slice(0, -3) : path, known, context)
    if (known[from] === 'context')
      throw new Error(
        `level "${name}" must start at $ or at a level: the surroundings of the rows have no elements`,
      )
    const own = { name, branch: branchAt(levels, from) | (1 << at), place: OUTERMOST + at }
    if (typeof written !== 'string') {
      const { by } = written
      return {
        ...own,
        trail: { from, steps },
        elements: (scope) => partsOf(scalarText(follow(scope[from], steps)), by),
      }
    }
    if (!lists && !isFilter(steps.at(-1)))
      throw new Error(`level "${name}" must end in [*] or a filter: a level is the elements of a list`)
    return {
      ...own,
      trail: { from, steps: lists ? [...steps, EACH] : steps },
      elements(scope) {
        const found = followAll(scope[from], steps)
        return lists ? found.flatMap(elements) : found
      },
    }
  }
  for (const [at, [name, written]] of Object.entries(each).entries()) {
    try {
      levels.push(toLevel(name, written, at))
    } catch (error) {
      report(name, reasonOf(error))
      levels.push({ name, branch: 1 << at, place: OUTERMOST + at, elements: () => [] })
    }
  }
  return levels
}

function scalarText(value: Found): string | null {
  if (typeof value === 'string') return value.trim()
  if (value === undefined || value === null) return ''
  if (typeof value === 'boolean') return value ? 'true' : 'false'
  return null
}

/** Steps of a path (RFC 9535) through JSON are compiled once; a general engine evaluates only filters. */
export type Filter = InstanceType<typeof jsonpath.selectors.FilterSelector>

/** Name of a member, index of an element, or a filter `[?…]`. */
export type Step = string | number | Filter

/** Several values at the end of steps: a filter selects several, or a name meets a list. `undefined` stands for no value. */
export const SEVERAL = Symbol('several values')
type Found = JsonValue | undefined | typeof SEVERAL

/** Compiles a path into steps. @throws Error with the reason: no RFC 9535 path, or several values by wildcard, slice or descent */
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

export const isFilter = (step: TrailStep | undefined): step is Filter => typeof step === 'object'

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

/** Follows steps to all their values, in document order; a name applied to a list applies to each element. */
export function followAll(from: JsonValue | undefined, steps: readonly Step[]): readonly JsonValue[] {
  if (from === undefined) return []
  const [step, ...rest] = steps
  if (step === undefined) return [from]
  if (from === null) return []
  if (isFilter(step)) return matching(from, step).flatMap((one) => followAll(one, rest))
  const next = take(from, step)
  return next === SEVERAL ? elements(from).flatMap((one) => followAll(one, steps)) : followAll(next, rest)
}

/**
 * Takes a member or an element. Index 0 or -1 of a single value is the value itself. A name applied to a list gives several values,
 * not none: no element is preferred.
 */
function take(value: Exclude<JsonValue, null>, step: string | number): Found {
  if (isList(value)) {
    if (typeof step === 'number') return value.at(step)
    return value.length === 0 ? undefined : SEVERAL
  }
  if (typeof step === 'number') return step === 0 || step === -1 ? value : undefined
  return typeof value === 'object' && Object.hasOwn(value, step) ? value[step] : undefined
}

/** Elements selected by a filter. */
export function matching(value: JsonValue, filter: Filter): readonly JsonValue[] {
  return filter
    .resolve(new JSONPathNode(elements(value) as JSONValue, [], value as JSONValue))
    .map((node) => node.value as JsonValue)
}
