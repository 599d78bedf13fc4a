/**
 * What a rule can see of a row, and how names in a mapping file lead into it.
 * CSV: the row's cells, a name is a column, or a level: a part of a cell that holds several. JSON: the row and, for nested rows, the current element
 * of each level; a name is a path (RFC 9535), `$…` from the row, `level…` from a named level, `context…` from what `read.context` has read of
 * the document around the rows. Levels are a tree: those side by side are never entered together.
 */
import { compile, JSONPathNode, type JSONValue, jsonpath } from 'json-p3'
import { reasonOf, WaybillError } from '../model/errors.ts'
import type { Fault } from '../model/record.ts'
import type { CsvRow, JsonRow, JsonValue } from '../model/row.ts'
import { didYouMean } from '../schema-problems.ts'
import { elements, isList } from './json-values.ts'

/** CSV: the cells. JSON: the row at 0, its context at 1. Then the value of each level that is entered, at the place of the level. */
export type Scope = readonly JsonValue[]

/** Levels that must be entered, a bit for each in the order of `read.each`, with those that they lie in; 0: none, the row itself. */
export type Branch = number

/** What is read together. */
export const branchOf = (...parts: readonly ({ readonly branch: Branch } | undefined)[]): Branch =>
  parts.reduce((branch, part) => branch | (part?.branch ?? 0), 0)

/** Whether all levels of one are entered with the other. */
export const isWithin = (one: Branch, other: Branch): boolean => (one & ~other) === 0

/** Text of a scalar, trimmed; '' where there is nothing (absent, null, empty); null where there is an object or a list. */
export type Reader = (scope: Scope) => string | null

/** A place in the row: how to read it, and which levels must be entered for it. */
export interface Located {
  readonly read: Reader
  readonly branch: Branch
}

/** Resolves the names in a mapping; throws a plain Error with the reason where a name leads nowhere. */
export interface Names {
  locate(name: string): Located
  /** Every scope of a branch, in document order. */
  scopes(root: Scope, branch: Branch): readonly Scope[]
  /** Two levels of a branch of which neither lies in the other: then nobody can tell which elements belong together. */
  apart(branch: Branch): readonly [string, string] | undefined
  /** Whether a name is that of a level, where it could be a column. */
  isLevel(name: string): boolean
  /** Why the text of a cell is no value; undefined of names whose cells always are. */
  readonly faultOf?: ((text: string) => Fault | undefined) | undefined
  /** What an expression sees as `$`: the cells by column, without those that are empty or mean nothing; or the document. */
  subject(scope: Scope, meansNothing: (cell: string) => boolean): JsonValue
  /** How a name leads into a row: from where it starts, and from each level that this lies in, the outermost last. Columns have none. */
  trails?(name: string): readonly Trail[]
  /** What it can name besides: the context and the levels, with their places in a scope, and what must be entered for them. */
  readonly variables: ReadonlyMap<string, { readonly place: number; readonly branch: Branch }>
}

/** Stands in a trail for whichever element of a list a level has entered. */
export const EACH = Symbol('each element')
export type TrailStep = Step | typeof EACH

/** Steps from a place in a scope. */
export interface Trail {
  readonly from: number
  readonly steps: readonly TrailStep[]
}

/** A level as a mapping writes it: the elements to which a path leads; or the parts of a text, between delimiters. */
export type LevelDefinition = string | { readonly from: string; readonly by: string }
export type Each = Readonly<Record<string, LevelDefinition>>

interface Level {
  readonly name: string
  /** Itself, and the levels that it lies in. */
  readonly branch: Branch
  /** Where its value stands in a scope. */
  readonly place: number
  /** Steps from the level that it lies in; none in CSV. */
  readonly trail?: Trail
  elements(scope: Scope): readonly JsonValue[]
}

/** The parts of a text that hold something. */
const partsOf = (text: string | null, by: string): readonly string[] =>
  (text ?? '').split(by).flatMap((part) => part.trim() || [])

/** What names do with levels, whatever these are of. */
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

/** The scope of a row, before any level is entered. */
export function rootScope(row: CsvRow | JsonRow): Scope {
  return row.kind === 'cells' ? row.cells : [row.value, row.context ?? null]
}

/**
 * Names of a CSV export: its columns, and levels, which stand before columns of their name. Unknown columns are collected, so that all of them can
 * be reported at once; and those that are there.
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

/** Of a CSV whose columns are not known yet: every name is taken for one. */
export const anyNames = (each: Each = {}): Names => csvNames([], new Set(), new Set(), each)

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
  readonly each?: Each | undefined
  readonly context?: Readonly<Record<string, unknown>> | undefined
}

/** What a path starts from, by its place in a scope, and the steps from there. */
interface Place {
  readonly from: number
  readonly steps: readonly Step[]
}

/** Place in a scope of the outermost level. */
const OUTERMOST = 2

/**
 * Names of a JSON export, with the levels of `read.each`, each behind those that it lies in.
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
  const levels: Level[] = []
  const branchAt = (place: number): Branch => levels.find((level) => level.place === place)?.branch ?? 0
  const toLevel = (name: string, written: LevelDefinition, at: number): Level => {
    if (name === 'context')
      throw new Error('level "context" needs another name: this one is for read.context')
    const path = typeof written === 'string' ? written : written.from
    const lists = typeof written === 'string' && path.endsWith('[*]')
    const { from, steps } = toPlace(lists ? path.slice(0, -3) : path, starts.slice(0, OUTERMOST + at))
    if (starts[from] === 'context')
      throw new Error(
        `level "${name}" must start at $ or at a level: what is around the rows has no elements`,
      )
    const own = { name, branch: branchAt(from) | (1 << at), place: OUTERMOST + at }
    if (typeof written !== 'string') {
      const { by } = written
      return {
        ...own,
        trail: { from, steps },
        elements: (scope) => partsOf(scalarText(follow(scope[from], steps)), by),
      }
    }
    if (!lists && !isFilter(steps.at(-1)))
      throw new Error(`level "${name}" must end in [*] or a filter, as it names the elements of a list`)
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
  return {
    locate(name) {
      const { from, steps } = toPlace(name, starts)
      return { branch: branchAt(from), read: (scope) => scalarText(follow(scope[from], steps)) }
    },
    trails(name) {
      const trails: Trail[] = [toPlace(name, starts)]
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
      starts.slice(1).map((name, at) => [name, { place: at + 1, branch: branchAt(at + 1) }]),
    ),
  }
}

function scalarText(value: Found): string | null {
  if (typeof value === 'string') return value.trim()
  if (value === undefined || value === null) return ''
  if (typeof value === 'boolean') return value ? 'true' : 'false'
  return null
}

/** The steps of a path (RFC 9535) through JSON are compiled once; a general engine is asked only for filters. */
export type Filter = InstanceType<typeof jsonpath.selectors.FilterSelector>

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
export function matching(value: JsonValue, filter: Filter): readonly JsonValue[] {
  return filter
    .resolve(new JSONPathNode(elements(value) as JSONValue, [], value as JSONValue))
    .map((node) => node.value as JsonValue)
}
