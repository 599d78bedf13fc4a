/**
 * HL7 v2 results as JSON in whatever spelling: segments, fields and components are found by the names of members (`OBX.5`, `OBX_5_1`, `obx5`,
 * `ObservationValue`), nested or flat, and each list above a result becomes a level.
 */
import { z } from 'zod'
import type { JsonValue } from '../../model/row.ts'
import { hasWord, joined, nameWords } from './names.ts'
import type { Vocabulary } from './vocabulary.ts'
import { step } from './write-draft.ts'

const Spellings = z.record(
  z.string(),
  z.array(z.string()).transform((names) => names.map(joined)),
)

/** What segments, their fields (`OBX.5`) and components (`PID.5.2`) are called in words. */
export const Hl7Names = z.strictObject({
  segments: Spellings,
  fields: Spellings,
  components: Spellings,
  /** Members between a segment and its fields that say nothing. */
  within: z.array(z.string()),
})
export type Hl7Names = z.infer<typeof Hl7Names>

export interface NamedHl7 {
  readonly each: Readonly<Record<string, string>>
  /** @param place `PID.5.2` */
  readonly pathsOf: (place: string) => string[]
}

/** Names of members from the document to a text. */
type Trail = readonly string[]

interface Leaf {
  readonly trail: Trail
  /** `OBX.5.1`; of a field without components the first. */
  readonly place: string
  /** How many members lead to the segment, or to the object that holds its fields. */
  readonly segment: number
  /** And how many to the field. */
  readonly field: number
}

const LOOKED_AT = 200
const DEEPEST = 12
const KNOWN = /^(PID|MSH|OBR|OBX)$/

const keyOf = (trail: Trail): string => JSON.stringify(trail)

/** Undefined where no codes of results are found. */
export function findHl7(
  rows: readonly JsonValue[],
  names: Hl7Names,
  { naming, words }: Pick<Vocabulary, 'naming' | 'words'>,
): NamedHl7 | undefined {
  const trails = new Map<string, Trail>()
  const lists = new Set<string>()
  for (const row of rows.slice(0, LOOKED_AT)) collect(row, [], trails, lists)
  const beside = segmentsIn(trails.values(), names)
  const leaves = [...trails.values()].flatMap(
    (trail) => placeOf(trail, names, beside.get(keyOf(trail.slice(0, -1)))) ?? [],
  )
  // A goal, the value before, somebody of the family.
  const isOthers = (name: string): boolean => hasWord(nameWords(name, naming).outside, words.otherwise)
  const known = leaves.filter(({ trail, segment }) => !trail.slice(0, segment).some(isOthers))
  const result =
    known.find(({ place }) => place === 'OBX.5.1') ??
    // Without a value, only what is called by its number.
    known.find(({ place, trail }) => place === 'OBX.3.1' && NUMBERED.test(trail.at(-1) ?? ''))
  if (result === undefined) return undefined
  const own = result.trail.slice(0, result.segment)
  const isBeside = ({ trail, segment }: Leaf): boolean => keyOf(trail.slice(0, segment)) === keyOf(own)
  const at = (place: string): Leaf[] =>
    known.filter((leaf) => leaf.place === place && (!place.startsWith('OBX') || isBeside(leaf)))
  if (at('OBX.3.1').length === 0) return undefined
  // A lone segment may stand without its list.
  const levels = own.flatMap((_, index) => {
    const trail = own.slice(0, index + 1)
    return lists.has(keyOf(trail)) ||
      (index === own.length - 1 && KNOWN.test(own[index]?.toUpperCase() ?? ''))
      ? [trail]
      : []
  })
  const called = levelNames(levels)
  const nameOf = (trail: Trail): string => called.get(keyOf(trail)) ?? '$'
  const pathOf = (leaf: Leaf): string => {
    const { trail, place } = leaf
    const isRoot = /^(?:PID|MSH)/.test(place)
    const base = isRoot
      ? undefined
      : levels.findLast((level) => keyOf(trail.slice(0, level.length)) === keyOf(level))
    return written(base === undefined ? '$' : nameOf(base), leaf, base?.length ?? 0, lists)
  }
  return {
    each: Object.fromEntries(
      levels.map((level, index) => {
        const above = levels[index - 1]
        const start = above === undefined ? '$' : nameOf(above)
        return [
          nameOf(level),
          `${start}${level
            .slice(above?.length ?? 0)
            .map(step)
            .join('')}[*]`,
        ]
      }),
    ),
    pathsOf: (place) => [...new Set(at(place).map(pathOf))],
  }
}

/** By their last members, in small letters. */
function levelNames(levels: readonly Trail[]): ReadonlyMap<string, string> {
  const names = new Map<string, string>()
  for (const level of levels) {
    const plain = (level.at(-1) ?? '')
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, '_')
      .replace(/^[^a-z]+|_+$/g, '')
    const isFree = plain !== '' && plain !== 'context' && ![...names.values()].includes(plain)
    names.set(keyOf(level), isFree ? plain : `level_${names.size + 1}`)
  }
  return names
}

function collect(value: JsonValue, trail: Trail, trails: Map<string, Trail>, lists: Set<string>): void {
  if (Array.isArray(value)) {
    const elements = value as readonly JsonValue[]
    // Lists in lists have no names.
    if (trail.length === 0 || elements.some((element) => Array.isArray(element))) return
    lists.add(keyOf(trail))
    for (const element of elements) collect(element, trail, trails, lists)
  } else if (typeof value === 'object' && value !== null) {
    if (trail.length < DEEPEST)
      for (const [name, inner] of Object.entries(value)) collect(inner, [...trail, name], trails, lists)
  } else if (trail.length > 0) trails.set(keyOf(trail), trail)
}

/** Segments of which something stands in an object, so that other members of it need not name theirs. */
function segmentsIn(trails: Iterable<Trail>, names: Hl7Names): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, Set<string>>()
  for (const trail of trails) {
    const segment = fieldNamed(trail.at(-1) ?? '', undefined, names)?.place.slice(0, 3)
    if (segment === undefined) continue
    const above = keyOf(trail.slice(0, -1))
    found.set(above, (found.get(above) ?? new Set()).add(segment))
  }
  return found
}

const NUMBERED = /^([a-z]{2}[a-z0-9])[\s._-]?(\d{1,2})(?:[\s._-](\d{1,2}))?$/i

/** A field by its number with its segment; by its number alone, or its name in words, within its segment; by a name that only it has. */
function fieldNamed(
  name: string,
  segments: ReadonlySet<string> | undefined,
  { fields }: Hl7Names,
): { readonly place: string; readonly component?: string | undefined } | undefined {
  const [, of = '', number, component] = NUMBERED.exec(name) ?? []
  if (KNOWN.test(of.toUpperCase())) return { place: `${of.toUpperCase()}.${Number(number)}`, component }
  const called = joined(name)
  const bare = /^(?:field)?(\d{1,2})$/.exec(called)?.[1]
  const [only, second] = [...(segments ?? [])]
  if (bare !== undefined)
    return only === undefined || second !== undefined ? undefined : { place: `${only}.${Number(bare)}` }
  const places = Object.entries(fields).flatMap(([place, names]) => {
    if (!names.includes(called)) return []
    // Short names are those of anything, without a segment.
    return segments === undefined
      ? names.indexOf(called) === 0
        ? [place]
        : []
      : segments.has(place.slice(0, 3))
        ? [place]
        : []
  })
  const [place, another] = places
  if (place === undefined || another !== undefined) return undefined
  const [segment, field, part] = place.split('.')
  return { place: `${segment}.${field}`, component: part }
}

function placeOf(trail: Trail, names: Hl7Names, beside: ReadonlySet<string> | undefined): Leaf | undefined {
  let segment: { readonly name: string; readonly length: number } | undefined
  let field: string | undefined
  let fieldAt = 0
  let component: string | undefined
  for (const [index, name] of trail.entries()) {
    const called = joined(name)
    if (field !== undefined) {
      const number = /(?:^|[\s._-])(\d{1,2})$/.exec(name)?.[1]
      const known = Object.entries(names.components).find(
        ([place, all]) => place.startsWith(`${field}.`) && all.includes(called),
      )?.[0]
      const part = number ?? known?.split('.')[2]
      if (part === undefined) return undefined
      // Of a component that has parts of its own, the first is the one that is meant.
      if (component !== undefined && Number(part) !== 1) return undefined
      component ??= String(Number(part))
      continue
    }
    const isLast = index === trail.length - 1
    const found = fieldNamed(
      name,
      segment === undefined ? (isLast ? beside : undefined) : new Set([segment.name]),
      names,
    )
    if (found !== undefined) {
      field = found.place
      fieldAt = index + 1
      component = found.component === undefined ? undefined : String(Number(found.component))
      segment ??= { name: field.slice(0, 3), length: index }
      continue
    }
    const [named] = KNOWN.test(name.toUpperCase())
      ? [name.toUpperCase()]
      : (Object.entries(names.segments).find(([, all]) => all.includes(called)) ?? [])
    if (named !== undefined) segment = { name: named, length: index + 1 }
    else if (segment !== undefined && !names.within.includes(called)) return undefined
  }
  return field === undefined || segment === undefined || !field.startsWith(segment.name)
    ? undefined
    : { trail, place: `${field}.${component ?? '1'}`, segment: segment.length, field: fieldAt }
}

/** The path behind what it starts from: of the lists above a segment one element may lead on, of repetitions the first is taken. */
function written(
  start: string,
  { trail, segment, field }: Pick<Leaf, 'trail' | 'segment' | 'field'>,
  from: number,
  lists: ReadonlySet<string>,
): string {
  return trail.slice(from).reduce((path, name, offset) => {
    const at = from + offset + 1
    const next = trail[at]
    const isList = lists.has(keyOf(trail.slice(0, at)))
    // A field with components may be repeated in another message.
    if (at > segment && (isList || (at === field && next !== undefined))) return `${path}${step(name)}[0]`
    return path + step(name) + (isList && next !== undefined ? `[?@${step(next)}]` : '')
  }, start)
}
