/**
 * A value is whole, or rejected: what stands beside it in its own structure is read by the rule, named by the mapping under `ignore`, or the record is
 * rejected by what it was (structures.ts). The structure is known by the paths that lead to the value, and looked into with what the rule reads of it,
 * compiled once for a rule.
 */
import type { Fault } from '../model/record.ts'
import type { JsonValue } from '../model/row.ts'
import {
  EACH,
  elements,
  type Filter,
  follow,
  isFilter,
  matching,
  type Names,
  type Scope,
  SEVERAL,
  type Step,
  type Trail,
  type TrailStep,
} from './scope.ts'
import { BOUND, FHIR, FORM_UNREAD, OBX, OFF_SCALE, type Part, REPEATED, VALUE_FORMS } from './structures.ts'

/** What nobody reads beside a value, or of it. */
export interface Unread {
  /** As `ignore` names it. */
  readonly part: string
  readonly fault: Fault
  /** It is of the value itself: without it there may seem to be none. */
  readonly ofValue: boolean
}

export interface WholeValue {
  /** @param hasValue whether the rule has read a value; without one, only what is of the value itself is told */
  unread(scope: Scope, hasValue: boolean): Unread | undefined
  /** Whether the value may be a structured number, whose comparator can be `=` (HL7 v2.5.1, 2.A.66). */
  readonly isHl7: boolean
}

/** Paths as a mapping names them. */
export interface ReadPaths {
  readonly names: Names
  /** Those of the value. */
  readonly value: readonly string[]
  /** Those of the rule and of the row block. */
  readonly rule: readonly string[]
  /** Those of all rules. */
  readonly mapping: readonly string[]
  readonly ignore: ReadonlySet<string>
}

/** What is read below a place, as a tree. */
interface Reading {
  isRead: boolean
  readonly names: Map<string, Reading>
  readonly indices: Map<number, Reading>
  each: Reading | undefined
  readonly filters: [Filter, Reading][]
}

const nothing = (): Reading => ({
  isRead: false,
  names: new Map(),
  indices: new Map(),
  each: undefined,
  filters: [],
})

/** Where a structure stands. */
interface Anchor {
  readonly from: number
  readonly steps: readonly Step[]
  /** From the outermost level, with what leads up to the structure: two of one structure are the same. */
  readonly whole: readonly TrailStep[]
}

type Check = (at: JsonValue, scope: Scope) => Unread | undefined

/** How a shape of HL7 v2 as JSON names a field of OBX, by its number. */
type FieldSteps = (field: number) => readonly Step[]

/** Undefined where the value stands in no structure that is known. */
export function compileWhole(paths: ReadPaths): WholeValue | undefined {
  const { names } = paths
  const checks: Structure[] = []
  for (const name of paths.value) {
    const found = structureOf(names.trails(name), paths)
    if (found !== undefined && !checks.some(({ anchor }) => isSame(anchor.whole, found.anchor.whole)))
      checks.push(found)
  }
  if (checks.length === 0) return undefined
  return {
    isHl7: checks.some(({ isHl7 }) => isHl7),
    unread(scope, hasValue) {
      for (const { anchor, check } of checks) {
        const at = follow(scope[anchor.from], anchor.steps)
        if (at === undefined || at === null || at === SEVERAL) continue
        const unread = check(at, scope)
        if (unread !== undefined && (hasValue || unread.ofValue)) return unread
      }
      return undefined
    },
  }
}

interface Structure {
  readonly anchor: Anchor
  readonly check: Check
  readonly isHl7: boolean
}

function structureOf(trails: readonly Trail[], paths: ReadPaths): Structure | undefined {
  const steps = trails.at(-1)?.steps ?? []
  const obx = obxIn(steps)
  if (obx !== undefined) {
    const anchor = anchorAt(trails, obx.length)
    return (
      anchor && {
        ...{ anchor, isHl7: true },
        check: obxCheck(obx.fieldAt, readingOf(anchor.whole, paths.rule, paths), paths),
      }
    )
  }
  const length = steps.findIndex((step) => typeof step === 'string' && VALUE_FORMS.has(step))
  const anchor = length < 0 ? undefined : anchorAt(trails, length)
  return anchor && { anchor, isHl7: false, check: fhirCheck(trails, anchor, paths) }
}

/** Steps of the trail with the innermost start that reaches a length of the outermost one. */
function anchorAt(trails: readonly Trail[], length: number): Anchor | undefined {
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
const isSame = (one: readonly TrailStep[], other: readonly TrailStep[]): boolean =>
  one.length === other.length && begins(one, other)
const begins = (start: readonly TrailStep[], steps: readonly TrailStep[]): boolean =>
  start.every((step, at) => keyOf(step) === keyOf(steps[at]))

/** What of a structure paths read. */
function readingOf(
  whole: readonly TrailStep[],
  read: readonly string[],
  { names }: Pick<ReadPaths, 'names'>,
): Reading {
  const reading = nothing()
  for (const name of read) {
    const { steps = [] } = names.trails(name).at(-1) ?? {}
    if (steps.length > whole.length && begins(whole, steps)) add(reading, steps.slice(whole.length))
  }
  return reading
}

function add(to: Reading, steps: readonly TrailStep[]): void {
  let at = to
  for (const step of steps) {
    const next = below(at, step) ?? nothing()
    if (typeof step === 'string') at.names.set(step, next)
    else if (typeof step === 'number') at.indices.set(step, next)
    else if (step === EACH) at.each = next
    else at.filters.push([step, next])
    at = next
  }
  at.isRead = true
}

function below(at: Reading | undefined, step: TrailStep): Reading | undefined {
  if (typeof step === 'string') return at?.names.get(step)
  if (typeof step === 'number') return at?.indices.get(step)
  return step === EACH ? at?.each : at?.filters.find(([filter]) => keyOf(filter) === keyOf(step))?.[1]
}

const readAt = (reading: Reading, steps: readonly TrailStep[]): Reading | undefined =>
  steps.reduce<Reading | undefined>(below, reading)

/** What of an element of a list is read; a single value stands for a list of one. */
function readingsOf(reading: Reading, list: JsonValue, at: number, length: number): readonly Reading[] {
  const found = [reading.indices.get(at), reading.indices.get(at - length), reading.each]
  for (const [filter, next] of reading.filters) {
    const element = elements(list)[at]
    if (matching(list, filter).some((one) => one === element)) found.push(next)
  }
  return found.filter((one) => one !== undefined)
}

const isText = (value: JsonValue): boolean => {
  const text = String(value).trim()
  // HL7's null.
  return text !== '' && text !== '""'
}

/**
 * The first text that is read nowhere, by where it stands; undefined where all is read.
 * @param repetition in which of several it stands; undefined where no list was met yet
 */
function unreadIn(
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
      // A path that names no place leads to none of several.
      const place = next.length === 0 ? list.length - 1 : at
      const unread = unreadIn(element, next, repetition ?? place)
      if (unread !== undefined) return unread
    }
    return undefined
  }
  const whole = readings.flatMap((one) => [one, ...readingsOf(one, value, 0, 1)])
  for (const name in value) {
    const inner = whole.flatMap((one) => one.names.get(name) ?? [])
    const unread = unreadIn(membersOf(value)[name], inner, repetition)
    if (unread !== undefined) return unread
  }
  return undefined
}

/** A text stands for a list of one, at whatever depth. */
function isReadAlone(reading: Reading): boolean {
  if (reading.isRead) return true
  const inner = [reading.indices.get(0), reading.indices.get(-1), reading.each]
  return inner.some((one) => one !== undefined && isReadAlone(one))
}

const hasText = (value: JsonValue | undefined): boolean => unreadIn(value, []) !== undefined

/** The first text, by capitals. */
function firstText(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return ''
  if (typeof value === 'object') {
    for (const inner of Array.isArray(value) ? (value as readonly JsonValue[]) : Object.values(value)) {
      const text = firstText(inner)
      if (text !== '') return text
    }
    return ''
  }
  return isText(value) ? String(value).trim().toUpperCase() : ''
}

const tell = ({ name, fault }: Part, told = fault, ofValue = false): Unread => ({
  part: name,
  fault: told,
  ofValue,
})

/** `OBX` and `5`, `OBX.5`, or place 5 of a list that begins with `OBX`: where the segment ends, and how its fields are named. */
function obxIn(
  steps: readonly TrailStep[],
): { readonly length: number; readonly fieldAt: FieldSteps } | undefined {
  const dotted = steps.indexOf('OBX.5')
  if (dotted >= 0) return { length: dotted, fieldAt: (field) => [`OBX.${field}`] }
  const at = steps.findLastIndex(
    (step) => step === 'OBX' || (isFilter(step) && /['"]OBX['"]/.test(String(step))),
  )
  if (at < 0) return undefined
  const behind = steps.findIndex((step, place) => place > at && step !== EACH && step !== 0)
  const step = steps[behind]
  if (step === '5') return { length: behind, fieldAt: (field) => [String(field)] }
  if (step === 5) return { length: behind, fieldAt: (field) => [field] }
  return step === 'fields' && steps[behind + 1] === 4
    ? { length: behind, fieldAt: (field) => ['fields', field - 1] }
    : undefined
}

/** The part of a field that is not read; undefined where all is read, or says nothing that changes the value. */
type FieldCheck = (field: JsonValue) => Unread | undefined

function obxCheck(fieldAt: FieldSteps, reading: Reading, { ignore }: ReadPaths): Check {
  const fields = [...OBX].flatMap(([number, part]) => {
    if (ignore.has(part.name)) return []
    const steps = fieldAt(number)
    const read = readAt(reading, steps)
    const check =
      number === 5 ? valueCheck(part, read) : read === undefined ? partCheck(part) : repeatedCheck(part, read)
    return [{ steps, check }]
  })
  return (obx) => {
    let found: Unread | undefined
    for (const { steps, check } of fields) {
      const field = follow(obx, steps)
      const unread = field === undefined || field === null || field === SEVERAL ? undefined : check(field)
      if (unread?.ofValue === true) return unread
      found ??= unread
    }
    return found
  }
}

const valueCheck =
  (part: Part, read = nothing()): FieldCheck =>
  (field) => {
    const unread = unreadIn(field, [read])
    return unread && tell(part, unread === 'repeated' ? REPEATED : part.fault, true)
  }

/** Of a field that is read, its further repetitions are not by that. */
const repeatedCheck =
  (part: Part, read: Reading): FieldCheck =>
  (field) => {
    if (!Array.isArray(field) || field.length < 2) return undefined
    const list = field as readonly JsonValue[]
    const isUnread = (one: JsonValue, at: number): boolean =>
      hasText(one) && readingsOf(read, list, at, list.length).length === 0
    return list.some(isUnread) && read.names.size === 0 && !read.isRead ? tell(part) : undefined
  }

const partCheck = (part: Part): FieldCheck => {
  const { neutral } = part
  if (neutral === undefined) return (field) => (hasText(field) ? tell(part) : undefined)
  return (field) => {
    for (const one of elements(field)) {
      const text = firstText(one)
      if (text !== '' && !neutral.has(text)) return tell(part, OFF_SCALE.has(text) ? BOUND : part.fault)
    }
    return undefined
  }
}

/** Members of an object; none of anything else. */
const membersOf = (value: JsonValue | undefined): Readonly<Record<string, JsonValue>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, JsonValue>>)
    : {}

/** What FHIR says of the whole Observation stands beside its components, and its extensions, too. */
function ownerOf(trails: readonly Trail[], { whole }: Anchor): Anchor | undefined {
  const last = typeof whole.at(-1) === 'string' ? whole.length - 1 : whole.length - 2
  const step = whole[last]
  return step === 'component' || step === 'extension' ? anchorAt(trails, last) : undefined
}

function fhirCheck(trails: readonly Trail[], anchor: Anchor, paths: ReadPaths): Check {
  const { ignore } = paths
  const own = readingOf(anchor.whole, paths.rule, paths)
  const all = readingOf(anchor.whole, paths.mapping, paths)
  const owner = ownerOf(trails, anchor)
  const owned = owner && readingOf(owner.whole, paths.rule, paths)
  const parts = Object.values(FHIR).filter(({ name }) => !ignore.has(name))
  const isRead = (reading: Reading, name: string): boolean => reading.names.has(name)
  const asked = (name: keyof typeof FHIR): boolean => !ignore.has(name) && !isRead(own, name)
  const beside = parts.flatMap((part): [string, FieldCheck][] => {
    const { name } = part
    if (name === 'component') {
      const read = all.names.get(name)
      const every: FieldCheck = (list) =>
        elements(list).every((_, at, { length }) => read && readingsOf(read, list, at, length).length > 0)
          ? undefined
          : tell(part)
      return [[name, every]]
    }
    if (name === 'interpretation') return asked(name) ? [[name, interpretationCheck(part)]] : []
    const isBeside = name === 'status' || name === 'dataAbsentReason' || name === 'modifierExtension'
    return isBeside && asked(name) ? [[name, partCheck(part)]] : []
  })
  const quantity = own.names.get('valueQuantity')
  const isQuantityRead = (name: string): boolean => quantity?.names.has(name) ?? false
  const unitAsked = !ignore.has('unit') && !isQuantityRead('unit') && !isQuantityRead('code')
  const statusAsked = owned !== undefined && !ignore.has('status') && !isRead(owned, 'status')
  const status = partCheck(FHIR.status)
  return (at, scope) => {
    const members = membersOf(at)
    if (!ignore.has('value'))
      for (const name in members)
        if (VALUE_FORMS.has(name) && hasText(members[name])) {
          const read = all.names.get(name)
          if (read === undefined) return tell(FHIR.value, FORM_UNREAD, true)
          if (isTwofold(name) && Object.keys(membersOf(members[name])).some((one) => !read.names.has(one)))
            return tell(FHIR.value, undefined, true)
        }
    if (quantity !== undefined) {
      const { comparator, unit, code } = membersOf(members['valueQuantity'])
      if (!ignore.has('comparator') && !isQuantityRead('comparator') && hasText(comparator))
        return tell(FHIR.comparator)
      if (unitAsked && (hasText(unit) || hasText(code))) return tell(FHIR.unit)
    }
    for (const [name, check] of beside) {
      const value = members[name]
      const unread = value === undefined || value === null ? undefined : check(value)
      if (unread !== undefined) return unread
    }
    if (!statusAsked || owner === undefined) return undefined
    const above = follow(scope[owner.from], owner.steps)
    const told = above === SEVERAL ? {} : membersOf(above)
    return firstText(told['resourceType'] ?? 'Observation') === 'OBSERVATION' && told['status'] !== undefined
      ? status(told['status'])
      : undefined
  }
}

/** Of a range, and of a ratio, both members are the value. */
const isTwofold = (form: string): boolean => form === 'valueRange' || form === 'valueRatio'

/** A concept is what any of its codings says, or its text where it has none. */
function interpretationCheck(part: Part): FieldCheck {
  const isPlaced = (text: string): boolean => part.neutral?.has(text) === true
  return (value) => {
    for (const concept of elements(value)) {
      const { coding = null, text } = membersOf(concept)
      const codes = elements(coding).map((one) =>
        firstText(membersOf(one)['code'] ?? membersOf(one)['display']),
      )
      const said = [...codes.filter((code) => code !== ''), ...(hasText(text) ? [firstText(text)] : [])]
      if (said.some((one) => OFF_SCALE.has(one))) return tell(part, BOUND)
      if (hasText(concept) && !said.some(isPlaced)) return tell(part)
    }
    return undefined
  }
}
