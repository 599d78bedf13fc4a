/** Parts of a structure that a mapping reads, as a tree of the steps of its paths; and the unread parts. */
import { type Fault, fault } from '../model/record.ts'
import type { JsonValue } from '../model/row.ts'
import { elements, firstText, isText, membersOf } from './json-values.ts'
import {
  EACH,
  type Filter,
  follow,
  isFilter,
  matching,
  type Step,
  type Trail,
  type TrailStep,
} from './scope.ts'

/** Faults of the value itself. */
export const OF_VALUE = {
  form: fault('value-form-unread', 'no rule reads the form of the value, such as a text, a code or a date'),
  repeated: fault('value-repeated', 'the value is repeated, and the rule reads one of them'),
  part: fault('value-part-unread', 'the value has a part that the rule does not read'),
  joined: fault('value-not-a-number', 'the value is two numbers with nothing between them'),
  units: fault('unit-mismatch', 'unit and code of the quantity are different units'),
  bound: fault(
    'value-with-comparator',
    'a sign beside the value makes it a bound (below or above detection)',
  ),
}

/** A part of a structure. */
export interface Part {
  readonly name: string
  /** Members, joined by points; a field by its number; `value`: the structure itself. */
  readonly at: string | number
  readonly fault: Fault
  /** Texts, in capitals, that do not change the value. */
  readonly neutral?: ReadonlySet<string>
  /** Part with equal meaning: if the rule reads it, this part counts as read, unless it contradicts that part's neutral texts. */
  readonly givenBy?: string | number
}

/** Texts for a value below or above the range of the instrument (HL7 tables 0078 and v3-ObservationInterpretation). */
const OFF_SCALE: ReadonlySet<string> = new Set(['<', '>', 'OFF SCALE LOW', 'OFF SCALE HIGH'])

const CONTRADICTED = fault(
  'status-contradictory',
  'the state is active, but an end of the condition is beside it',
)

/** A part that is not read. */
export interface Unread {
  /** Name of the part, as in `ignore`. */
  readonly part: string
  readonly fault: Fault
  /** True for a part of the value itself: without the part, the value may seem to be missing. */
  readonly ofValue: boolean
}

export const tell = ({ name, fault }: Part, given = fault, ofValue = false): Unread => ({
  part: name,
  fault: given,
  ofValue,
})

/** Paths in a mapping, by the reader. */
export interface ReadPaths {
  readonly trailsOf: (name: string) => readonly Trail[]
  /** Paths of the value. */
  readonly value: readonly string[]
  /** Paths of the rule and of the row block. */
  readonly rule: readonly string[]
  /** Paths of all rules. */
  readonly mapping: readonly string[]
  readonly ignore: ReadonlySet<string>
}

/** Reads below a place, as a tree. */
export interface Reading {
  isRead: boolean
  readonly below: Map<TrailStep, Reading>
  readonly filters: [Filter, Reading][]
}

export const nothing = (): Reading => ({ isRead: false, below: new Map(), filters: [] })

/** Place of a structure. */
export interface Anchor {
  readonly from: number
  readonly steps: readonly Step[]
  /** Steps from the outermost level: equal for structures at one place. */
  readonly whole: readonly TrailStep[]
}

/** A structure, and the checks of its unread parts. */
export interface Structure {
  readonly anchor: Anchor
  readonly fields: readonly { readonly steps: readonly Step[]; readonly check: FieldCheck }[]
}

/** Steps from the innermost start on the trails to a length of the outermost trail; undefined where none reaches it. */
export function anchorAt(trails: readonly Trail[], length: number): Anchor | undefined {
  const all = trails.at(-1)?.steps ?? []
  for (const { from, steps: behind } of trails) {
    const start = all.length - behind.length
    const own = all.slice(start, length)
    const steps: Step[] = own.filter((step) => typeof step !== 'symbol')
    if (start <= length && steps.length === own.length) return { from, steps, whole: all.slice(0, length) }
  }
  return undefined
}

const keyOf = (step: TrailStep | undefined): unknown => (isFilter(step) ? String(step) : step)
export const isSame = (one: readonly TrailStep[], other: readonly TrailStep[]): boolean =>
  one.length === other.length && begins(one, other)
const begins = (start: readonly TrailStep[], steps: readonly TrailStep[]): boolean =>
  start.every((step, at) => keyOf(step) === keyOf(steps[at]))

/** Tree of the paths below a structure. */
export function readingOf(
  whole: readonly TrailStep[],
  read: readonly string[],
  trailsOf: ReadPaths['trailsOf'],
): Reading {
  const reading = nothing()
  for (const name of read) {
    const { steps = [] } = trailsOf(name).at(-1) ?? {}
    if (steps.length <= whole.length || !begins(whole, steps)) continue
    let at = reading
    for (const step of steps.slice(whole.length)) {
      const next = at.below.get(step) ?? nothing()
      if (isFilter(step)) at.filters.push([step, next])
      else at.below.set(step, next)
      at = next
    }
    at.isRead = true
  }
  return reading
}

export const readAt = (reading: Reading, steps: readonly TrailStep[]): Reading | undefined =>
  steps.reduce<Reading | undefined>((at, step) => at?.below.get(step), reading)

/** Reads of an element of a list; a single value counts as a list of one. */
export function readingsOf(
  { below, filters }: Reading,
  list: JsonValue,
  at: number,
  length: number,
): readonly Reading[] {
  const found = [below.get(at), below.get(at - length), below.get(EACH)]
  for (const [filter, next] of filters) {
    const element = elements(list)[at]
    if (matching(list, filter).some((one) => one === element)) found.push(next)
  }
  return found.filter((one) => one !== undefined)
}

/**
 * Place of the first unread text; undefined where all is read.
 * @param repetition index in the outermost list; undefined before the first list
 */
export function unreadIn(
  value: JsonValue | undefined,
  readings: readonly Reading[],
  repetition?: number,
): 'repeated' | 'part' | undefined {
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'object') {
    if (readings.some(isReadAlone) || !isText(value)) return undefined
    return repetition === undefined || repetition === 0 ? 'part' : 'repeated'
  }
  if (Array.isArray(value)) {
    const list = value as readonly JsonValue[]
    for (const [at, element] of list.entries()) {
      const next = readings.flatMap((one) => readingsOf(one, list, at, list.length))
      // A path without an index leads to none of several elements.
      const place = next.length === 0 ? list.length - 1 : at
      const unread = unreadIn(element, next, repetition ?? place)
      if (unread !== undefined) return unread
    }
    return undefined
  }
  const whole = readings.flatMap((one) => [one, ...readingsOf(one, value, 0, 1)])
  for (const name in value) {
    const inner = whole.flatMap((one) => one.below.get(name) ?? [])
    const unread = unreadIn(membersOf(value)[name], inner, repetition)
    if (unread !== undefined) return unread
  }
  return undefined
}

/** True where a path reads the text itself, or reads it as a list of one, at any depth. */
const isReadAlone = ({ isRead, below }: Reading): boolean =>
  isRead ||
  [below.get(0), below.get(-1), below.get(EACH)].some((one) => one !== undefined && isReadAlone(one))

/** Finds text anywhere in a value. */
export function hasText(value: JsonValue | undefined): boolean {
  if (value === undefined || value === null) return false
  if (typeof value !== 'object') return isText(value)
  if (Array.isArray(value)) return value.some(hasText)
  for (const name in value) if (hasText(membersOf(value)[name])) return true
  return false
}

/** Texts within a value, in order. */
export function textsOf(value: JsonValue): string[] {
  if (value === null) return []
  if (typeof value !== 'object') return isText(value) ? [String(value)] : []
  return Object.values(value).flatMap(textsOf)
}

/** Finds an unread part of a field; undefined where all is read, or nothing changes the value. @param at the structure */
export type FieldCheck = (field: JsonValue, at: JsonValue) => Unread | undefined

/** Repetitions of a field: its elements, or the elements of its only member. */
export function repetitionsOf(
  field: JsonValue,
  reading?: Reading,
): [list: readonly JsonValue[], Reading | undefined] {
  const [only, another] = Object.entries(membersOf(field))
  return only === undefined || another !== undefined || !Array.isArray(only[1])
    ? [elements(field), reading]
    : [elements(only[1]), reading?.below.get(only[0])]
}

/** Text of a usual field: a text, or one repetition of one component; '' for any other field. */
function loneText(field: JsonValue): string {
  const only = Array.isArray(field) && field.length === 1 ? (field as readonly JsonValue[])[0] : field
  if (typeof only === 'string') return only
  return typeof only === 'object' && only !== null ? lone(membersOf(only)) : ''
}

function lone(members: Readonly<Record<string, JsonValue>>): string {
  let text = ''
  for (const name in members) {
    const member = members[name]
    if (text !== '' || typeof member !== 'string') return ''
    text = member
  }
  return text
}

/** Checks an unread part. One neutral text makes its repetition neutral: a concept has several codings, and a text. */
export const partCheck =
  (part: Part): FieldCheck =>
  (field) => {
    if (part.neutral?.has(loneText(field))) return undefined
    for (const one of repetitionsOf(field)[0]) {
      const texts = textsIn(one)
      if (texts.some((text) => OFF_SCALE.has(text))) return tell(part, OF_VALUE.bound)
      if (texts.length > 0 && !texts.some((text) => part.neutral?.has(text))) return tell(part)
    }
    return undefined
  }

/** Checks a part that contradicts a part that is read. @param teller its neutral texts say that the part is empty; `steps` lead to it */
export const contradiction =
  (part: Part, { neutral }: Part, steps: readonly Step[]): FieldCheck =>
  (field, at) => {
    if (partCheck(part)(field, at) === undefined) return undefined
    const given = follow(at, steps)
    const isDenied = typeof given !== 'symbol' && textsIn(given ?? null).some((text) => neutral?.has(text))
    return isDenied ? tell(part, CONTRADICTED) : undefined
  }

/** All texts in a value, in capitals. */
function textsIn(value: JsonValue): string[] {
  if (typeof value === 'object' && value !== null) return Object.values(value).flatMap(textsIn)
  const text = firstText(value)
  return text === '' ? [] : [text]
}

/**
 * Gives the check of a part; undefined where none is needed.
 * @param read reads of the part
 * @param own reads of the rule, in the structure
 * @param all reads of all rules
 */
export type CheckOf = (
  part: Part,
  read: Reading | undefined,
  own: Reading,
  all: Reading,
) => FieldCheck | undefined
