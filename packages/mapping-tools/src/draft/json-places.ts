/** Places of values in JSON documents, and the levels that a mapping makes of lists. */
import type { JsonValue } from '../../../../src/model/row.ts'
import { isList } from '../../../../src/transform/json-values.ts'
import { branchOf, type Each, jsonNames, rootScope, type Scope } from '../../../../src/transform/scope.ts'
import { step } from './write-draft.ts'

export type Members = Readonly<Record<string, JsonValue>>

const isObject = (value: JsonValue | undefined): value is Members =>
  typeof value === 'object' && value !== null && !isList(value)

/** Member names from a document to a value. */
export type Trail = readonly string[]

export const keyOf = (trail: Trail): string => JSON.stringify(trail)

/** True if a trail begins with another. */
export const isWithin = (trail: Trail, outer: Trail): boolean => outer.every((name, at) => trail[at] === name)

const DEEPEST = 12
const MOST_MEMBERS = 5000

/** Values at a trail, over all documents. */
export interface Place {
  readonly trail: Trail
  readonly members: Map<string, Place>
  elements: number
  /** Elements of the longest list; 1 for the lists of converters that make one of each element of XML. */
  longest: number
  isList: boolean
  holdsObject: boolean
  holdsText: boolean
}

const placeAt = (trail: Trail): Place => ({
  trail,
  members: new Map(),
  elements: 0,
  longest: 0,
  isList: false,
  holdsObject: false,
  holdsText: false,
})

/** Lists the places of documents, each after its enclosing places. Lists in lists have none. */
export function placesIn(documents: readonly JsonValue[]): Place[] {
  const root = placeAt([])
  const places = [root]
  const add = (place: Place, value: JsonValue): void => {
    if (isList(value)) {
      place.isList = true
      place.elements += value.length
      place.longest = Math.max(place.longest, value.length)
      for (const element of value) if (!isList(element)) add(place, element)
    } else if (isObject(value)) {
      place.holdsObject = true
      if (place.trail.length === DEEPEST) return
      for (const [name, inner] of Object.entries(value)) {
        let member = place.members.get(name)
        if (member === undefined) {
          if (places.length > MOST_MEMBERS) continue
          member = placeAt([...place.trail, name])
          place.members.set(name, member)
          places.push(member)
        }
        add(member, inner)
      }
    } else if (value !== null) place.holdsText = true
  }
  for (const document of documents) add(root, document)
  return places
}

export interface Levels {
  /** Value for `read.each`. */
  readonly each: Readonly<Record<string, string>>
  /** Deepest level around a trail, or the document. */
  baseOf(trail: Trail): { readonly name: string; readonly length: number }
  pathOf(trail: Trail): string
}

/**
 * Creates levels.
 * @param trails of lists, each after its enclosing lists; levels are named after the last members, in lower case
 * @param lone trails of lists with a single element each, by `keyOf`: a path leads to that, and nowhere if there are several
 */
export function levelsAt(trails: readonly Trail[], lone: ReadonlySet<string> = new Set()): Levels {
  const names = new Map<string, string>()
  for (const trail of trails) {
    const plain = (trail.at(-1) ?? '')
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, '_')
      .replace(/^[^a-z]+|_+$/g, '')
    const isFree = plain !== '' && plain !== 'context' && ![...names.values()].includes(plain)
    names.set(keyOf(trail), isFree ? plain : `level_${names.size + 1}`)
  }
  const nameOf = (trail: Trail): string => names.get(keyOf(trail)) ?? '$'
  const baseOf: Levels['baseOf'] = (trail) => {
    const base = trails.findLast((one) => one.length < trail.length && isWithin(trail, one)) ?? []
    return { name: nameOf(base), length: base.length }
  }
  const pathOf: Levels['pathOf'] = (trail) => {
    const { name, length } = baseOf(trail)
    const isLone = (at: number): boolean => lone.has(keyOf(trail.slice(0, at)))
    return trail
      .slice(length)
      .reduce((path, one, at) => `${path}${step(one)}${isLone(length + at + 1) ? '[?@]' : ''}`, name)
  }
  return { each: Object.fromEntries(trails.map((one) => [nameOf(one), `${pathOf(one)}[*]`])), baseOf, pathOf }
}

const scopesOf = (rows: readonly JsonValue[], names: ReturnType<typeof jsonNames>, branch: number): Scope[] =>
  rows.flatMap((value, at) =>
    names.scopes(rootScope({ kind: 'json', value, text: '', row: at + 1, line: 1, byteOffset: 0 }), branch),
  )

/** Texts at paths of a single branch of levels: a list for each element of the deepest level. */
export function textsAt(rows: readonly JsonValue[], each: Each, paths: readonly string[]): string[][] {
  const names = jsonNames({ each }, () => {})
  const places = paths.map((path) => names.locate(path))
  return scopesOf(rows, names, branchOf(...places)).map((scope) =>
    places.map(({ read }) => read(scope) ?? ''),
  )
}

/** Sample, read by paths. */
export interface Reader {
  /** Returns the path with the most matching texts; the first of equals. */
  best(paths: readonly string[], fits?: (text: string) => boolean): string | undefined
  /** Returns the best path and marks it as used. */
  take(paths: readonly string[], fits?: (text: string) => boolean): string | undefined
  readonly used: ReadonlySet<string>
  /** Texts at a path, for each element of the deepest level. */
  textsAt(path: string | undefined): string[]
}

/** Creates the reader. @param each levels, each within the one before */
export function readerOf(rows: readonly JsonValue[], each: Each): Reader {
  const names = jsonNames({ each }, () => {})
  const scopes = scopesOf(rows, names, (1 << Object.keys(each).length) - 1)
  const used = new Set<string>()
  const readAt: Reader['textsAt'] = (path) => {
    const read = path === undefined ? () => '' : names.locate(path).read
    return scopes.map((scope) => read(scope) ?? '')
  }
  const best: Reader['best'] = (paths, fits = () => true) => {
    const counted = paths.map((path) => {
      const filled = readAt(path).filter((text) => text !== '' && text !== '""' && fits(text))
      return { path, count: filled.length }
    })
    const most = Math.max(0, ...counted.map(({ count }) => count))
    return most === 0 ? undefined : counted.find(({ count }) => count === most)?.path
  }
  return {
    best,
    used,
    textsAt: readAt,
    take(paths, fits) {
      const path = best(paths, fits)
      if (path !== undefined) used.add(path)
      return path
    },
  }
}
