/**
 * Shapes of results as JSON, with tests to recognise them and places of their parts (json-shapes.yaml). HL7 v2 in any spelling: segments,
 * fields and components are found by member names (`OBX.5`, `OBX_5_1`, `obx5`, `ObservationValue`), nested or flat. Each list above a
 * result is a level.
 */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import type { JsonValue } from '../../../../src/model/row.ts'
import { parseYaml } from '../../../../src/system/yaml-file.ts'
import { compileSteps, follow, SEVERAL } from '../../../../src/transform/scope.ts'
import { REGISTER } from '../../../../src/watch/column-names.ts'
import { hasWord, joined, nameWords } from '../../../../src/watch/names.ts'
import { isWithin, keyOf, levelsAt, placesIn, type Trail } from './json-places.ts'
import type { Vocabulary } from './vocabulary.ts'
import { step } from './write-draft.ts'

const Spellings = z.record(
  z.string(),
  z.array(z.string()).transform((names) => names.map(joined)),
)

/** Names, in words, of segments, fields (`OBX.5`) and components (`PID.5.2`). */
const Hl7Names = z.strictObject({
  segments: Spellings,
  fields: Spellings,
  components: Spellings,
  /** Members without meaning between a segment and its fields. */
  within: z.array(z.string()),
})
export type Hl7Names = z.infer<typeof Hl7Names>

export interface NamedHl7 {
  readonly each: Readonly<Record<string, string>>
  /** Returns the paths of a place. @param place `PID.5.2` */
  readonly pathsOf: (place: string) => string[]
}

interface Leaf {
  readonly trail: Trail
  /** Place like `OBX.5.1`; for a field without components, the first component. */
  readonly place: string
  readonly segment: number
  readonly field: number
}

const LOOKED_AT = 200
const KNOWN = /^(PID|MSH|OBR|OBX)$/

/** Finds HL7 v2 by names. Undefined if there are no codes of results. */
function findHl7(
  rows: readonly JsonValue[],
  names: Hl7Names,
  { naming, words }: Pick<Vocabulary, 'naming' | 'words'>,
): NamedHl7 | undefined {
  const places = placesIn(rows.slice(0, LOOKED_AT)).filter(({ trail }) => trail.length > 0)
  const trails = places.filter(({ holdsText }) => holdsText).map(({ trail }) => trail)
  const lists = new Set(places.filter((place) => place.isList).map(({ trail }) => keyOf(trail)))
  const beside = segmentsIn(trails, names)
  const leaves = trails.flatMap((trail) => placeOf(trail, names, beside.get(keyOf(trail.slice(0, -1)))) ?? [])
  // A goal, a previous value, or a family member.
  const isOthers = (name: string): boolean => hasWord(nameWords(name, naming).outside, words.otherwise)
  const known = leaves.filter(({ trail, segment }) => !trail.slice(0, segment).some(isOthers))
  const result =
    known.find(({ place }) => place === 'OBX.5.1') ??
    // Without a value, only members named by number count.
    known.find(({ place, trail }) => place === 'OBX.3.1' && NUMBERED.test(trail.at(-1) ?? ''))
  if (result === undefined) return undefined
  const own = result.trail.slice(0, result.segment)
  const isBeside = ({ trail, segment }: Leaf): boolean => segment === own.length && isWithin(trail, own)
  const at = (place: string): Leaf[] =>
    known.filter((leaf) => leaf.place === place && (!place.startsWith('OBX') || isBeside(leaf)))
  if (at('OBX.3.1').length === 0) return undefined
  // A single segment may stand without its list.
  const isLevel = (trail: Trail): boolean =>
    lists.has(keyOf(trail)) || (trail.length === own.length && KNOWN.test(own.at(-1)?.toUpperCase() ?? ''))
  const levels = levelsAt(own.map((_, at) => own.slice(0, at + 1)).filter(isLevel))
  const pathOf = (leaf: Leaf): string => {
    const isRoot = /^(?:PID|MSH)/.test(leaf.place)
    const base = isRoot ? { name: '$', length: 0 } : levels.baseOf(leaf.trail)
    return written(base.name, leaf, base.length, lists)
  }
  return { each: levels.each, pathsOf: (place) => [...new Set(at(place).map(pathOf))] }
}

/** Segments named in an object, by its trail. Other members of the object need not name theirs. */
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

/**
 * Recognises a field by segment and number; within its segment, by number alone or by its name in words; elsewhere, by an unambiguous name.
 */
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
    // Without a segment, short names could mean anything.
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
      // A component with parts stands for its first part.
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

/** Path from a start: through the only element that leads further in a list above a segment, and the first of repetitions. */
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
    // A field with components may repeat in another message.
    if (at > segment && (isList || (at === field && next !== undefined))) return `${path}${step(name)}[0]`
    return path + step(name) + (isList && next !== undefined ? `[?@${step(next)}]` : '')
  }, start)
}

const Paths = z.array(z.string())
const Levels = z.record(z.string(), z.string())
const Results = z.strictObject({
  code: Paths,
  name: Paths,
  value: Paths,
  unit: Paths,
  status: Paths,
  refRange: Paths,
  comparator: Paths.default([]),
  rest: Paths.default([]),
  /** Value of another form, a whole number without a unit. */
  score: Paths.default([]),
  subId: Paths.default([]),
})
const Recognise = z.strictObject({ path: z.string(), is: z.string().optional() })

const Places = z.strictObject({
  key: Paths,
  /** Marks of messages that are not real. */
  test: Paths.default([]),
  reference: Paths,
  /** Types of numbers, beside the reference. */
  referenceType: Paths.default([]),
  register: z.partialRecord(z.enum(REGISTER), Paths).default({}),
  observedAt: Paths,
  /** Dates to ask about if no observation date is found. */
  written: Paths.default([]),
  biometrics: Results.optional(),
  /** Results within a result, with a separate level. */
  components: z.strictObject({ each: Levels, rules: Results }).optional(),
  conditions: z.record(z.enum(['code', 'status']), Paths).optional(),
})
type Places = z.infer<typeof Places>

const Named = { kind: z.string(), recognise: Recognise, each: Levels }

const Converter = z.strictObject({
  ...Named,
  segments: z.record(z.enum(['PID', 'MSH', 'OBR', 'OBX']), z.string()),
  firstField: z.record(z.string(), z.coerce.number()).default({}),
  component: Paths,
  whole: Paths.default([]),
})

const Shapes = z.strictObject({
  hl7: Places,
  names: Hl7Names,
  converters: z.array(Converter),
  shapes: z.array(z.strictObject({ ...Named, ...Places.shape })),
})

export interface JsonShape extends Places {
  readonly kind: string
  readonly recognises: (document: JsonValue) => boolean
  readonly each: Readonly<Record<string, string>>
  /** A row is a single result: the key includes its code. */
  readonly ofOneResult?: boolean
}
export type ResultPaths = z.infer<typeof Results>

const FILE = fileURLToPath(new URL('json-shapes.yaml', import.meta.url))

const readFile = (): z.infer<typeof Shapes> =>
  parseYaml(readFileSync(FILE, 'utf8'), FILE, Shapes, 'catalog-invalid', 'text').value

/** Shape of HL7 v2 from an unknown converter, by member names; undefined for other JSON. */
export function shapeByNames(
  rows: readonly JsonValue[],
  vocabulary: Pick<Vocabulary, 'naming' | 'words'>,
): JsonShape | undefined {
  const { hl7, names } = readFile()
  const found = findHl7(rows, names, vocabulary)
  return (
    found && {
      ...Places.parse(leadingTo(hl7, found.pathsOf)),
      kind: 'results, by the names that HL7 v2 has for their parts',
      ofOneResult: Object.keys(found.each).length === 0,
      recognises: () => true,
      each: found.each,
    }
  )
}

/** Reads the shapes. @throws WaybillError `catalog-invalid` if the file was changed */
export function readShapes(): JsonShape[] {
  const { hl7, converters, shapes } = readFile()
  const written = converters.map((converter) => ({
    ...Places.parse(leadingTo(hl7, (place) => pathsOf(converter, place))),
    kind: converter.kind,
    recognise: converter.recognise,
    each: converter.each,
  }))
  return [...written, ...shapes].map(({ recognise, ...shape }) => {
    const steps = compileSteps(recognise.path, recognise.path)
    return {
      ...shape,
      recognises(document) {
        const found = follow(document, steps)
        if (found === undefined || found === SEVERAL) return false
        return recognise.is === undefined || found === recognise.is
      },
    }
  })
}

/** Replaces each text in lists, at any depth, by the paths of the place it names. */
function leadingTo(value: unknown, pathsAt: (place: string) => readonly string[]): unknown {
  if (Array.isArray(value)) return value.flatMap((place) => pathsAt(String(place)))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, leadingTo(inner, pathsAt)]))
}

/** Paths of a component in a converter's spelling. @param place `PID.5.2` */
function pathsOf(
  { segments, firstField, component, whole }: z.infer<typeof Converter>,
  place: string,
): string[] {
  const [segment = '', field = '', part = ''] = place.split('.')
  const known: Readonly<Record<string, string | number | undefined>> = {
    at: Object.entries(segments).find(([name]) => name === segment)?.[1],
    segment,
    field,
    component: part,
    index: Number(field) - (firstField[segment] ?? 1),
    place: Number(part) - 1,
  }
  return [...component, ...(part === '1' ? whole : [])].map((template) =>
    template.replaceAll(/\{(\w+)\}/g, (_, name: string) => String(known[name])),
  )
}
