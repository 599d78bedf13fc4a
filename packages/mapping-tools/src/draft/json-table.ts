/**
 * JSON of unknown shape as a table by paths: the place of rows, and the list of measurements within. Includes XML as JSON: attributes and
 * texts are members (`@unit`, `#text`; `$.unit`, `_`), and a single element stands for a list, or every element is a list.
 */
import type { JsonValue } from '../../../../src/model/row.ts'
import { elements } from '../../../../src/transform/json-values.ts'
import type { JsonSample } from './draft-json.ts'
import { draftTable } from './draft-table.ts'
import {
  isObject,
  isWithin,
  keyOf,
  levelsAt,
  type Place,
  placesIn,
  type Trail,
  textsAt,
} from './json-places.ts'
import type { Vocabulary } from './vocabulary.ts'
import { type Draft, step } from './write-draft.ts'

const MOST_COLUMNS = 300
/** Maximum number of lists tried as levels, and rows read for each. */
const MOST_LEVELS = 8
const LOOKED_AT = 500

const pathOf = (trail: Trail): string => `$${trail.map(step).join('')}`

/** Lists that are not inside another list. */
const outermost = (lists: readonly Place[]): Place[] =>
  lists.filter(({ trail }) => !lists.some((one) => one.trail !== trail && isWithin(trail, one.trail)))

/**
 * Possible rows of documents: the elements of their longest list; otherwise each object around the list, innermost first, which may be a
 * list in another file.
 *
 * @param documents of JSON files, one per file
 */
export function jsonRows(documents: readonly JsonValue[]): readonly [JsonSample, ...JsonSample[]] {
  const lists = placesIn(documents).filter((one) => one.isList && one.holdsObject)
  const [longest, ...others] = outermost(lists).sort((a, b) => b.elements - a.elements)
  if (longest === undefined)
    return [{ read: { format: 'json' }, notes: [], rows: documents, wrap: (row) => row }]
  const { trail } = longest
  const [document = null] = documents
  const isBundle = isObject(document) && document['resourceType'] === 'Bundle' && pathOf(trail) === '$.entry'
  const sampleAt = (to: Trail, note: string): JsonSample => ({
    read: { format: 'json', records: `${pathOf(to)}[*]` },
    notes: note === '' ? [] : [note],
    element: to.at(-1),
    rows: documents.flatMap((one) =>
      elements(to.reduce<JsonValue>((value, name) => (isObject(value) ? (value[name] ?? null) : null), one)),
    ),
    wrap: (row) => to.reduceRight<JsonValue>((inner, name) => ({ [name]: inner }), row),
  })
  const otherLists = others.map((one) => pathOf(one.trail)).join(', ')
  const own = sampleAt(trail, otherLists === '' ? '' : `Other lists in the file: ${otherLists}.`)
  const around = trail.slice(0, -1).map((_, at) => {
    const to = trail.slice(0, at + 1)
    const alone = `DECIDE: ${pathOf(to)} occurs once in this file. Is it a row, and a list in files with several rows?`
    return sampleAt(to, alone)
  })
  const listed: JsonSample = { ...own, wrap: (row) => own.wrap([row]) }
  const ofBundle: JsonSample = {
    ...own,
    read: { format: 'json', records: '$.entry[*].resource' },
    rows: own.rows.flatMap((entry) => (isObject(entry) ? (entry['resource'] ?? []) : [])),
    wrap: (row) => own.wrap([{ resource: row }]),
  }
  return [isBundle ? ofBundle : listed, ...around.reverse()]
}

const TEXT = /^(?:#text|_)$/
const ATTRIBUTE = /^@_?/
const ATTRIBUTES = '$'
const isXml = ({ trail }: Place): boolean =>
  TEXT.test(trail.at(-1) ?? '') || ATTRIBUTE.test(trail.at(-1) ?? '') || trail.at(-2) === ATTRIBUTES

/** True where each element is a list, as xml2js writes XML: a text stands alone only as an attribute, or beside attributes. */
const isOfLists = (places: readonly Place[]): boolean =>
  places.some(({ isList, holdsText }) => isList && holdsText) &&
  places.every((place) => !place.holdsText || place.isList || isXml(place))

/** Name of a member: a text is named after its element, an attribute after its element and itself. */
function calledAt(trail: Trail): string {
  const [last = '', above = ''] = trail.filter((name) => name !== ATTRIBUTES).toReversed()
  if (TEXT.test(last)) return above || last
  return ATTRIBUTE.test(last) || trail.at(-2) === ATTRIBUTES
    ? `${above} ${last.replace(ATTRIBUTE, '')}`.trim()
    : last
}

/** Builds the table. @param level list whose elements are the rows; if undefined, rows stay as they are */
function tableAt(sample: JsonSample, places: readonly Place[], level: Place | undefined) {
  const entered = places.filter(
    (one) =>
      level !== undefined &&
      one.trail.length > 0 &&
      isWithin(level.trail, one.trail) &&
      (one.isList || one === level),
  )
  const inside = places.filter((one) => one.isList && !entered.includes(one))
  const lone = isOfLists(places) ? inside.filter(({ longest }) => longest === 1) : []
  const levels = levelsAt(
    entered.map(({ trail }) => trail),
    new Set(lone.map(({ trail }) => keyOf(trail))),
  )
  const lists = inside.filter((one) => !lone.includes(one))
  const trails = places
    .filter(({ trail, holdsText }) => holdsText && !lists.some((list) => isWithin(trail, list.trail)))
    .map(({ trail }) => trail)
    .slice(0, MOST_COLUMNS)
  const columns = trails.map((trail) => ({
    path: levels.pathOf(trail),
    name: calledAt([sample.element ?? '', ...trail]),
  }))
  const others = outermost(lists)
    .slice(0, 20)
    .map(({ trail }) => `"${levels.pathOf(trail)}[*]"`)
  const note = `Lists within a row, possible levels (read.each): ${others.join(', ')}.`
  const rows = level === undefined ? sample.rows : sample.rows.slice(0, LOOKED_AT)
  const table = {
    read: level === undefined ? sample.read : { ...sample.read, each: levels.each },
    notes: [...sample.notes, ...(others.length === 0 ? [] : [note])],
    columns,
    rows: textsAt(
      rows,
      levels.each,
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

/** Number of findings in a draft: measurements, and parts of the person. */
function foundIn({ draft: { found, persons, row } }: DraftedJson): number {
  const isAsked = row.some(({ key, open }) => key === 'row.account.reference' && open)
  return found.length + persons.size - (isAsked ? 1 : 0)
}

/**
 * Returns the draft with the most findings, over all places of rows and each list within as a level.
 *
 * @param before other drafts; they win ties
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

/** XML element with a finding that may be a list in another row. */
function loneOf({ draft, sample }: DraftedJson, places: readonly Place[]): Place | undefined {
  const { table, trails } = tableAt(sample, places, undefined)
  const [first = [], ...others] = trails.filter((_, at) => draft.coded.has(table.columns[at]?.path ?? ''))
  const isShared = (at: number): boolean => others.every((trail) => trail[at] === first[at])
  const apart = first.findIndex((_, at) => at === first.length - 1 || !isShared(at))
  return places.find(({ trail }) => apart > 0 && keyOf(trail) === keyOf(first.slice(0, apart)))
}
