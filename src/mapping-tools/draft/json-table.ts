/**
 * JSON that has no known shape, as a table by its paths: where its rows are, and which list within them holds what is measured. Also XML as
 * JSON, in which attributes and texts are members of their own (`@unit`, `#text`), and a lone element stands where others are lists.
 */
import type { JsonValue } from '../../model/row.ts'
import { elements, isList } from '../../transform/json-values.ts'
import { type JsonSample, readerOf } from './draft-json.ts'
import { draftTable } from './draft-table.ts'
import { levelNames } from './json-shapes.ts'
import type { Vocabulary } from './names.ts'
import type { SampleTable } from './read-sample.ts'
import { type Draft, step } from './write-draft.ts'

export type Members = Readonly<Record<string, JsonValue>>

export const isObject = (value: JsonValue | undefined): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const DEEPEST = 10
const MOST_COLUMNS = 300
const MOST_MEMBERS = 5000
/** Lists within rows that are tried as levels, and rows that are looked at for each. */
const MOST_LEVELS = 8
const LOOKED_AT = 500

/** Names of members that lead from a document, or a row. */
type Trail = readonly string[]

const pathOf = (trail: Trail): string => `$${trail.map(step).join('')}`

/**
 * Places where the rows of documents may be: the elements of their longest list; else each object around that list, which may be one of several in
 * another file, the innermost first.
 * @param documents those of JSON files, one a file
 */
export function jsonRows(documents: readonly JsonValue[]): readonly [JsonSample, ...JsonSample[]] {
  const found = Map.groupBy(
    documents.flatMap((document) => listsOf(document, [])),
    ({ trail }) => keyOf(trail),
  )
  const lists = [...found.values()].flatMap(([first, ...others]) =>
    first === undefined
      ? []
      : [{ trail: first.trail, count: others.reduce((sum, one) => sum + one.count, first.count) }],
  )
  const [longest, ...others] = lists
    .filter(
      ({ trail }) => !lists.some((one) => one.trail.length < trail.length && isWithin(trail, one.trail)),
    )
    .sort((a, b) => b.count - a.count)
  if (longest === undefined)
    return [{ read: ['format: json'], notes: [], rows: documents, wrap: (row) => row }]
  const { trail } = longest
  const [document = null] = documents
  const isBundle = isObject(document) && document['resourceType'] === 'Bundle' && pathOf(trail) === '$.entry'
  const rowsAt = (to: Trail): readonly JsonValue[] =>
    documents.flatMap((one) =>
      elements(to.reduce<JsonValue>((value, name) => (isObject(value) ? (value[name] ?? null) : null), one)),
    )
  const records = (to: Trail, end = ''): string[] => [
    'format: json',
    `records: ${JSON.stringify(`${pathOf(to)}[*]${end}`)}`,
  ]
  const told = others.map((one) => pathOf(one.trail)).join(', ')
  const around = trail.slice(0, -1).map((_, at): JsonSample => {
    const to = trail.slice(0, at + 1)
    const alone = `DECIDE: ${pathOf(to)} stands alone in this file. Is it a row, and a file of several a list of them?`
    return { read: records(to), notes: [alone], rows: rowsAt(to), wrap: (row) => within(to, row) }
  })
  const rows = rowsAt(trail)
  return [
    {
      read: records(trail, isBundle ? '.resource' : ''),
      notes: told === '' ? [] : [`Other lists in the file: ${told}.`],
      rows: isBundle ? rows.flatMap((entry) => (isObject(entry) ? (entry['resource'] ?? []) : [])) : rows,
      wrap: (row) => within(trail, [isBundle ? { resource: row } : row]),
    },
    ...around.reverse(),
  ]
}

const within = (trail: Trail, value: JsonValue): JsonValue =>
  trail.reduceRight<JsonValue>((inner, name) => ({ [name]: inner }), value)

/** Lists of objects that are not within another list. */
function listsOf(value: JsonValue, trail: Trail): { readonly trail: Trail; readonly count: number }[] {
  if (isList(value)) return value.some(isObject) ? [{ trail, count: value.length }] : []
  if (!isObject(value) || trail.length === DEEPEST) return []
  return Object.entries(value).flatMap(([name, inner]) => listsOf(inner, [...trail, name]))
}

/** Values at a trail, in all rows together. */
interface Place {
  readonly trail: Trail
  readonly members: Map<string, Place>
  /** Of all lists there. */
  elements: number
  isList: boolean
  holdsObject: boolean
  holdsText: boolean
}

const placeAt = (trail: Trail): Place => ({
  ...{ trail, members: new Map(), elements: 0 },
  ...{ isList: false, holdsObject: false, holdsText: false },
})

/** The places of rows, each behind those around it. */
function placesIn(rows: readonly JsonValue[]): Place[] {
  const root = placeAt([])
  const places = [root]
  const add = (place: Place, value: JsonValue): void => {
    if (isList(value)) {
      place.isList = true
      place.elements += value.length
      for (const element of value) if (!isList(element)) add(place, element)
    } else if (isObject(value)) {
      place.holdsObject = true
      if (place.trail.length < DEEPEST)
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
  for (const row of rows) add(root, row)
  return places
}

const TEXT = '#text'
const ATTRIBUTE = /^@_?/
const isXml = ({ trail }: Place): boolean => trail.at(-1) === TEXT || ATTRIBUTE.test(trail.at(-1) ?? '')

/** Name of a member: a text like its element, an attribute like it, too, and by its own name behind that. */
function calledAt(trail: Trail): string {
  const [last = '', above = ''] = trail.toReversed()
  if (last === TEXT) return above || last
  return ATTRIBUTE.test(last) ? `${above} ${last.replace(ATTRIBUTE, '')}`.trim() : last
}

/** Tells whether a trail begins with another. */
const isWithin = (trail: Trail, outer: Trail): boolean => outer.every((name, at) => trail[at] === name)

const keyOf = (trail: Trail): string => JSON.stringify(trail)

/** @param level the list whose elements are entered, with those around it; without one, rows are read as they are */
function tableAt(sample: JsonSample, places: readonly Place[], level: Place | undefined) {
  const levels = places.filter(
    (one) =>
      level !== undefined &&
      one.trail.length > 0 &&
      isWithin(level.trail, one.trail) &&
      (one.isList || one === level),
  )
  const names = levelNames(levels.map(({ trail }) => trail))
  const nameOf = (trail: Trail): string => names.get(keyOf(trail)) ?? '$'
  /** From the deepest level around it. */
  const written = (trail: Trail): string => {
    const base = levels.findLast((one) => one.trail.length < trail.length && isWithin(trail, one.trail))
    return nameOf(base?.trail ?? []) + trail.slice(base?.trail.length).map(step).join('')
  }
  const each = Object.fromEntries(levels.map(({ trail }) => [nameOf(trail), `${written(trail)}[*]`]))
  const lists = places.filter((one) => one.isList && !levels.includes(one)).map(({ trail }) => trail)
  const trails = places
    .filter(({ trail, holdsText }) => holdsText && !lists.some((list) => isWithin(trail, list)))
    .map(({ trail }) => trail)
    .slice(0, MOST_COLUMNS)
  const [, row = ''] = /([^.[\]*'"]+)['"\]]*\[\*\]/.exec(sample.read.at(-1) ?? '') ?? []
  const columns = trails.map((trail) => ({ path: written(trail), name: calledAt([row, ...trail]) }))
  const others = lists
    .filter((trail) => !lists.some((one) => one !== trail && isWithin(trail, one)))
    .slice(0, 20)
    .map((trail) => `"${written(trail)}[*]"`)
  const entered = Object.entries(each).map(([name, path]) => `${name}: ${JSON.stringify(path)}`)
  const note = `Lists within a row, each of which could be a level (read.each): ${others.join(', ')}.`
  const table: SampleTable = {
    read: [...sample.read, ...(level === undefined ? [] : [`each: { ${entered.join(', ')} }`])],
    notes: [...sample.notes, ...(others.length === 0 ? [] : [note])],
    columns,
    rows: readerOf(level === undefined ? sample.rows : sample.rows.slice(0, LOOKED_AT), each).texts(
      columns.map(({ path }) => path),
    ),
    hasLevels: level !== undefined,
  }
  return { table, trails }
}

export interface DraftedJson {
  readonly draft: Draft
  readonly sample: JsonSample
}

/** Findings of a draft, counted: what is measured, and whom it is of. */
function foundIn({ draft: { found, persons, row } }: DraftedJson): number {
  const isAsked = row.some(({ yaml, note }) => yaml?.startsWith('  reference:') && note !== undefined)
  return found.length + persons.size - (isAsked ? 1 : 0)
}

/**
 * The draft that has found the most, of all places where rows may be, and of each list within them that may be a level.
 * @param before other drafts, which go before those that have found no more
 */
export function draftJsonTable(
  name: string,
  file: string,
  samples: readonly [JsonSample, ...JsonSample[]],
  vocabulary: Vocabulary,
  before: readonly DraftedJson[],
): DraftedJson {
  const drafted = samples.flatMap((sample) => {
    const places = placesIn(sample.rows)
    const draftOf = (level?: Place): DraftedJson => ({
      sample,
      draft: draftTable(name, file, tableAt(sample, places, level).table, vocabulary),
    })
    const plain = draftOf()
    const lone = plain.draft.finding && places.some(isXml) ? loneOf(plain, places) : undefined
    const lists = places
      .filter((one) => one.trail.length > 0 && one.isList && one.holdsObject)
      .sort((a, b) => b.elements - a.elements)
    return [lone === undefined ? plain : draftOf(lone), ...lists.slice(0, MOST_LEVELS).map(draftOf)]
  })
  return [...before, ...drafted].reduce((most, one) => (foundIn(one) > foundIn(most) ? one : most))
}

/** Element of XML that holds a finding, which may be one of several in another row. */
function loneOf({ draft, sample }: DraftedJson, places: readonly Place[]): Place | undefined {
  const { table, trails } = tableAt(sample, places, undefined)
  const [first = [], ...others] = trails.filter((_, at) => draft.coded.has(table.columns[at]?.path ?? ''))
  const isShared = (at: number): boolean => others.every((trail) => trail[at] === first[at])
  const apart = first.findIndex((_, at) => at === first.length - 1 || !isShared(at))
  return places.find(({ trail }) => apart > 0 && keyOf(trail) === keyOf(first.slice(0, apart)))
}
