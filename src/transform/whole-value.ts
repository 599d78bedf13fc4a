/**
 * A value is whole, or rejected: a part beside a value that the rule neither reads nor ignores rejects the record (docs/mapping.md). The
 * paths of the value show the structure (FHIR R4, HL7 v2.5.1, Redox), and the parts that the rule reads, as a tree of steps.
 */

import { type Fault, fault } from '../model/record.ts'
import type { JsonValue } from '../model/row.ts'
import { elements, firstText, isText, membersOf } from './json-values.ts'
import {
  EACH,
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

interface WholeContext {
  readonly names: Names
  readonly reads: readonly { readonly name: string }[]
}

interface WholeValue {
  /** Finds an unread part. @param hasValue true where the rule has read a value; without a value, only parts of the value itself count */
  unread(scope: Scope, hasValue: boolean): Unread | undefined
  /** Different texts for the unit of the value: unit and code of a FHIR quantity, or OBX-6; else empty. */
  unitsOf(scope: Scope): readonly string[]
  /** A structured number's comparator can be `=` (HL7 v2.5.1, 2.A.66). */
  readonly isHl7: boolean
}

/**
 * Compiles the check on its first use: by then the reads of all rules are known. Undefined for CSV, a format without structures.
 * @param value paths of the value
 * @param beside further paths that the rule or the row block reads
 */
export function compileWhole(
  { names: { trails: trailsOf }, reads }: WholeContext,
  of: keyof typeof KINDS,
  value: readonly string[],
  beside: readonly string[],
  ignored: readonly (readonly string[] | undefined)[],
): (() => WholeValue) | undefined {
  if (trailsOf === undefined) return undefined
  const ignore = new Set(ignored.flatMap((names = []) => names))
  const work = (): WholeValue => {
    const mapping = reads.map(({ name }) => name)
    const structures = structuresOn(
      { trailsOf, value, rule: [...value, ...beside], mapping, ignore },
      KINDS[of],
    )
    const [unit] = value.flatMap((name) => unitOn(trailsOf(name), ignore))
    return {
      unitsOf(scope) {
        const at = unit && follow(scope[unit.anchor.from], unit.anchor.steps)
        return at === undefined || at === null || at === SEVERAL ? [] : (unit?.textsOf(at) ?? [])
      },
      isHl7: value.some((name) => segmentIn(trailsOf(name).at(-1)?.steps ?? [], 'OBX', 5) !== undefined),
      unread(scope, hasValue) {
        for (const { anchor, fields } of structures) {
          const at = follow(scope[anchor.from], anchor.steps)
          const unread = at === undefined || at === null || at === SEVERAL ? undefined : unreadOf(at, fields)
          if (unread !== undefined && (hasValue || unread.ofValue)) return unread
        }
        return undefined
      },
    }
  }
  let done: WholeValue | undefined
  return () => {
    done ??= work()
    return done
  }
}

/** Components of OBX-6 that name a coding system (HL7 v2.5.1, 2.A.7). */
const SYSTEM = /(?:^|\.)[36]$/

/** Unit beside a value on the trails, which may have several texts: unit and code of a quantity of FHIR, or OBX-6. */
function unitOn(
  trails: readonly Trail[],
  ignore: ReadonlySet<string>,
): { readonly anchor: Anchor; readonly textsOf: (at: JsonValue) => readonly string[] }[] {
  const steps = trails.at(-1)?.steps ?? []
  const quantity = steps.indexOf('valueQuantity')
  const anchorOf = (length: number) => anchorAt(trails, length)
  if (quantity >= 0) {
    const anchor = ignore.has('unit') ? undefined : anchorOf(quantity + 1)
    const textsOf = (at: JsonValue): string[] => {
      const { unit, code } = membersOf(at)
      return [unit, code].filter((text) => typeof text === 'string')
    }
    return anchor === undefined ? [] : [{ anchor, textsOf }]
  }
  const place = segmentIn(steps, 'OBX', 5)
  const anchor = place && !ignore.has('OBX-6') ? anchorOf(place.length) : undefined
  if (place === undefined || anchor === undefined) return []
  const textsOf = (at: JsonValue): string[] => {
    const field = follow(at, place.stepsTo(6))
    if (typeof field !== 'object' || field === null) return []
    return Object.entries(membersOf(repetitionsOf(field)[0][0])).flatMap(([name, part]) =>
      typeof part === 'string' && !SYSTEM.test(name) ? [part] : [],
    )
  }
  return [{ anchor, textsOf }]
}

/** Finds an unread part; a part of the value itself takes precedence over parts beside it. */
function unreadOf(at: JsonValue, fields: Structure['fields']): Unread | undefined {
  let found: Unread | undefined
  const members = membersOf(at)
  for (const { steps, check } of fields) {
    const [only] = steps
    const field = steps.length === 1 && typeof only === 'string' ? members[only] : follow(at, steps)
    const unread = field === undefined || field === null || field === SEVERAL ? undefined : check(field, at)
    if (unread?.ofValue === true) return unread
    found ??= unread
  }
  return found
}

/** Faults of the value itself. */
export const OF_VALUE = {
  form: fault('value-form-unread', 'no rule reads the form of the value, such as a text, a code or a date'),
  repeated: fault('value-repeated', 'the value is repeated, and the rule reads one of them'),
  part: fault('value-part-unread', 'the value has a part that the rule does not read'),
  joined: fault('value-not-a-number', 'the value is two numbers with nothing between them'),
  units: fault('unit-mismatch', 'code and text of the unit are different units'),
  bound: fault(
    'value-with-comparator',
    'a sign beside the value makes it a bound (below or above detection)',
  ),
}

/** A part of a structure. */
interface Part {
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

const tell = ({ name, fault }: Part, given = fault, ofValue = false): Unread => ({
  part: name,
  fault: given,
  ofValue,
})

/** Paths in a mapping, by the reader. */
interface ReadPaths {
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
interface Structure {
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
const isSame = (one: readonly TrailStep[], other: readonly TrailStep[]): boolean =>
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
type FieldCheck = (field: JsonValue, at: JsonValue) => Unread | undefined

/** Repetitions of a field: its elements, or the elements of its only member. */
function repetitionsOf(
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
const partCheck =
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
const contradiction =
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
type CheckOf = (part: Part, read: Reading | undefined, own: Reading, all: Reading) => FieldCheck | undefined

const FLAGGED = fault('flag-unread', 'a flag beside the value means more than the place in its range')
const NOT_FINAL = fault('status-unread', 'the state is not final, and the rule does not read it')
const notRead = (code: string, what: string): Fault =>
  fault(code, `there is ${what}, and the rule does not read it`)
const UNIT_UNREAD = notRead('unit-unread', 'a unit')

const part = (
  at: string | number,
  fault: Fault,
  neutral?: Iterable<string>,
  more: Partial<Part> = {},
): Part => ({
  name: String(at).replace('valueQuantity.', ''),
  at,
  fault,
  ...(neutral && { neutral: new Set(neutral) }),
  ...more,
})
const fieldsOf = (segment: string, ...fields: readonly Part[]): readonly Part[] =>
  fields.map((one) => ({ ...one, name: `${segment}-${one.at}` }))

/** Texts for the place of a value in its range (HL7 tables 0078 and v3-ObservationInterpretation, codes and names). */
const PLACED = new Set([
  ...['N', 'A', 'AA', 'H', 'HH', 'HU', 'H>', 'L', 'LL', 'LU', 'L<', 'U', 'D', 'B', 'W', 'NULL'],
  ...['S', 'R', 'I', 'MS', 'VS', 'POS', 'NEG', 'RR', 'NR'],
  ...['NORMAL', 'ABNORMAL', 'HIGH', 'LOW', 'CRITICAL HIGH', 'CRITICAL LOW', 'CRITICAL ABNORMAL'],
  ...['VERY HIGH', 'VERY LOW', 'VERY ABNORMAL'],
])

/** Fields of OBX (HL7 v2.5.1, 7.4.2). OBX-2: types with the value itself as text. OBX-11: F final, C corrected. */
const OBX = fieldsOf(
  'OBX',
  part(2, OF_VALUE.form, ['NM', 'SN', 'ST', 'TX', 'FT', 'CQ']),
  part(3, notRead('code-unread', 'a code')),
  part(
    4,
    fault('sub-id-unread', 'a sub-id distinguishes results of one code, and the rule does not read it'),
  ),
  part(5, OF_VALUE.part),
  part(6, UNIT_UNREAD),
  part(7, notRead('range-unread', 'a reference range')),
  part(8, FLAGGED, PLACED),
  part(11, NOT_FINAL, ['F', 'C']),
)

/** Parts of an Observation or a component (FHIR R4, Observation). `value` stands for all forms of `value[x]`. */
const FHIR = {
  value: part('value', OF_VALUE.form),
  status: part('status', NOT_FINAL, ['FINAL', 'AMENDED', 'CORRECTED']),
  component: part('component', fault('components-unread', 'no rule reads the components beside the value')),
}
const MODIFIER = part(
  'modifierExtension',
  fault('modifier-unread', 'an extension changes the meaning, and the rule does not read it'),
)
const INTERPRETATION = part('interpretation', FLAGGED, PLACED)
/** Parts that also apply to components and extensions of an Observation. */
const OF_OWNER: readonly Part[] = [FHIR.status, INTERPRETATION, MODIFIER]
const OF_OBSERVATION: readonly Part[] = [
  FHIR.value,
  FHIR.component,
  part('valueQuantity.comparator', OF_VALUE.bound),
  part('valueQuantity.unit', UNIT_UNREAD, undefined, { givenBy: 'valueQuantity.code' }),
  part('valueQuantity.code', UNIT_UNREAD, undefined, { name: 'unit', givenBy: 'valueQuantity.unit' }),
  FHIR.status,
  part('dataAbsentReason', fault('absent-reason-unread', 'a reason for a missing value is beside the value')),
  INTERPRETATION,
  MODIFIER,
]

/** Forms of `value[x]` (FHIR R4, Observation and Extension), as members of the value's owner. */
const VALUE_FORMS: ReadonlySet<string> = new Set(
  [
    ...['Quantity', 'CodeableConcept', 'String', 'Boolean', 'Integer', 'Decimal', 'Range', 'Ratio'],
    ...['SampledData', 'Time', 'DateTime', 'Date', 'Period', 'Instant', 'Code', 'Coding', 'Age'],
    ...['Duration', 'Money', 'PositiveInt', 'UnsignedInt', 'Attachment', 'Integer64', 'Reference'],
  ].map((form) => `value${form}`),
)

const NOT_HELD = fault(
  'status-unread',
  'the condition may not hold, or no longer, and the rule does not read its state',
)
const ABATED = ['DateTime', 'Age', 'Period', 'Range', 'String', 'Boolean'].map((form) =>
  part(`abatement${form}`, NOT_HELD, ['FALSE'], { name: 'abatement', givenBy: 'clinicalStatus' }),
)

/** Parts beside the code of a condition: FHIR R4, Condition; HL7 v2.5.1, 6.5.2 (tables 0052, 0206) and 12.4.2 (0287); Redox. */
const OF_CONDITION = {
  fhir: [
    part('verificationStatus', NOT_HELD, ['CONFIRMED']),
    part('clinicalStatus', NOT_HELD, ['ACTIVE', 'RECURRENCE', 'RELAPSE']),
    ...ABATED,
    MODIFIER,
  ],
  DG1: fieldsOf('DG1', part(6, NOT_HELD, ['F', 'FINAL']), part(21, NOT_HELD, ['A', 'U', 'X'])),
  PRB: fieldsOf(
    'PRB',
    part(1, NOT_HELD, ['AD', 'CO', 'LI', 'UC', 'UP']),
    part(9, NOT_HELD, undefined, { givenBy: 14 }),
    part(13, NOT_HELD, ['CONFIRMED', 'C']),
    part(14, NOT_HELD, ['ACTIVE', 'A']),
  ),
  problem: [
    part('Status', NOT_HELD, ['ACTIVE', '55561003']),
    part('EndDate', NOT_HELD, undefined, { givenBy: 'Status' }),
  ],
  diagnosis: [part('Type', NOT_HELD, ['FINAL', 'DISCHARGE'])],
} satisfies Readonly<Record<string, readonly Part[]>>

/** Parts beside `Value` of a result or an observation of Redox. */
const OF_REDOX_VALUE: readonly Part[] = [
  part('ValueType', OF_VALUE.form, ['NUMERIC', 'PHYSICALQUANTITY', 'STRING', 'TEXT', 'FORMATTED TEXT']),
  part('Units', UNIT_UNREAD),
  part('Status', NOT_FINAL, ['FINAL', 'CORRECTED', 'COMPLETED']),
  ...['AbnormalFlag', 'Interpretation'].map((at) => part(at, FLAGGED, PLACED)),
]

/** Parts of an entry of a Bundle, as used in `ignore`. */
export const ENTRY = { subject: 'subject', request: 'request' } as const

/** Names of parts, as used in `ignore`. */
export const PART_NAMES: readonly string[] = [
  ...new Set(
    [...[...OBX, ...OF_OBSERVATION, ...OF_REDOX_VALUE], ...Object.values(OF_CONDITION).flat()].map(
      ({ name }) => name,
    ),
  ),
  ...Object.values(ENTRY),
]

/** A structure on a path: its length in steps, and the steps to its parts. */
interface Place {
  readonly length: number
  readonly stepsTo: (at: string | number) => readonly Step[]
}

/** A kind of structure: its place on a path, its parts, and their checks. */
interface Kind {
  readonly placeOn: (steps: readonly TrailStep[]) => Place | undefined
  readonly parts: readonly Part[]
  readonly checkOf?: CheckOf
}

/** @param isRead finds the member that a rule reads, by the next step and the list around it */
const kind = (
  parts: readonly Part[],
  isRead: (step: TrailStep, next: TrailStep | undefined, list: TrailStep | undefined) => boolean,
): Kind => ({
  placeOn(steps) {
    const length = steps.findIndex((step, at) => isRead(step, steps[at + 1], steps[at - 2]))
    return length < 0
      ? undefined
      : { length, stepsTo: (at) => (at === FHIR.value.at ? [] : String(at).split('.')) }
  },
  parts,
})

const isValue = (step: TrailStep): boolean => typeof step === 'string' && VALUE_FORMS.has(step)
/** Component or extension around a value. */
const ownerOn: Kind['placeOn'] = (steps) => {
  const at = steps.findIndex(isValue)
  const length = typeof steps[at - 1] === 'string' ? at - 1 : at - 2
  const isOwned = steps[length] === 'component' || steps[length] === 'extension'
  return isOwned ? { length, stepsTo: () => [] } : undefined
}

const unlessRead: CheckOf = (part, read) => (read === undefined ? partCheck(part) : undefined)

const checkOfFhir: CheckOf = (part, read, own, all) => {
  if (part === FHIR.value) return formCheck(all)
  if (part === FHIR.component) return componentCheck(all.below.get('component'))
  const isOfQuantity = String(part.at).startsWith('valueQuantity')
  return isOfQuantity && !own.below.has('valueQuantity') ? undefined : unlessRead(part, read, own, all)
}

/** Checks parts of an Observation that also apply to its components and extensions. */
const checkOfOwner: CheckOf = (part, _, own) => {
  const { at, name } = part
  if (own.below.has(name)) return undefined
  const check = partCheck(part)
  return (owner) => {
    const { resourceType = 'Observation', [at]: field = null } = membersOf(owner)
    return firstText(resourceType) === 'OBSERVATION' && field !== null ? check(field, owner) : undefined
  }
}

/** Checks the forms of `value[x]`: both members of a range, and of a ratio, are the value. */
const formCheck =
  ({ below }: Reading): FieldCheck =>
  (at) => {
    const members = membersOf(at)
    for (const name in members) {
      if (!VALUE_FORMS.has(name) || !hasText(members[name])) continue
      const read = below.get(name)
      if (read === undefined) return tell(FHIR.value, OF_VALUE.form, true)
      const isTwofold = name === 'valueRange' || name === 'valueRatio'
      if (isTwofold && Object.keys(membersOf(members[name])).some((one) => !read.below.has(one)))
        return tell(FHIR.value, undefined, true)
    }
    return undefined
  }

const componentCheck =
  (read: Reading | undefined): FieldCheck =>
  (list) =>
    elements(list).every((_, at, { length }) => read && readingsOf(read, list, at, length).length > 0)
      ? undefined
      : tell(FHIR.component)

/** Finds the steps `OBX` and `5`, `OBX.5`, or place 5 of a list that begins with `OBX`; likewise for further segments. */
function segmentIn(steps: readonly TrailStep[], segment: string, read: number): Place | undefined {
  const dotted = steps.indexOf(`${segment}.${read}`)
  if (dotted >= 0) return { length: dotted, stepsTo: (field) => [`${segment}.${field}`] }
  const at = steps.findLastIndex(
    (step) => step === segment || (isFilter(step) && new RegExp(`['"]${segment}['"]`).test(String(step))),
  )
  if (at < 0) return undefined
  const behind = steps.findIndex((step, place) => place > at && step !== EACH && step !== 0)
  const step = steps[behind]
  if (step === String(read)) return { length: behind, stepsTo: (field) => [String(field)] }
  if (step === read) return { length: behind, stepsTo: (field) => [field] }
  return step === 'fields' && steps[behind + 1] === read - 1
    ? { length: behind, stepsTo: (field) => ['fields', Number(field) - 1] }
    : undefined
}

const checkOfObx: CheckOf = (part, read) =>
  part.at === 5 ? valueCheck(part, read) : read === undefined ? partCheck(part) : repeatedCheck(part, read)

const valueCheck =
  (part: Part, read = nothing()): FieldCheck =>
  (field) => {
    if (isOneRead(field, read.below.get(0))) return undefined
    const unread = unreadIn(field, [read])
    if (unread !== undefined) return tell(part, unread === 'repeated' ? OF_VALUE.repeated : part.fault, true)
    return repetitionsOf(field)[0].some(areTwoNumbers) ? tell(part, OF_VALUE.joined, true) : undefined
  }

/** Finds adjacent components that would read as one number: `6^2` is not 62. */
const areTwoNumbers = (repetition: JsonValue): boolean =>
  textsOf(repetition).some((text, at, all) => /^\d+(?:\.\d*)?$/.test(text) && /\d$/.test(all[at - 1] ?? ''))

/** True for the usual field: one repetition of one component, and the rule reads it. */
function isOneRead(field: JsonValue, reading: Reading | undefined): boolean {
  if (reading === undefined || !Array.isArray(field) || field.length !== 1) return false
  const components = membersOf((field as readonly JsonValue[])[0])
  let isAny = false
  for (const name in components) {
    if (isAny || typeof components[name] !== 'string' || reading.below.get(name)?.isRead !== true)
      return false
    isAny = true
  }
  return isAny
}

/** Rejects unread repetitions of a field that is read. */
const repeatedCheck =
  (part: Part, read: Reading): FieldCheck =>
  (field) => {
    if (Array.isArray(field) && field.length < 2) return undefined
    const [list, reading = nothing()] = repetitionsOf(field, read)
    const isUnread = (one: JsonValue, at: number): boolean =>
      hasText(one) && readingsOf(reading, list, at, list.length).length === 0
    return list.length > 1 && list.some(isUnread) && !reading.isRead ? tell(part) : undefined
  }

/** Kinds of structures around a value, and around the code of a condition. */
const KINDS = {
  value: [
    { placeOn: (steps) => segmentIn(steps, 'OBX', 5), parts: OBX, checkOf: checkOfObx },
    { ...kind(OF_OBSERVATION, isValue), checkOf: checkOfFhir },
    { placeOn: ownerOn, parts: OF_OWNER, checkOf: checkOfOwner },
    kind(
      OF_REDOX_VALUE,
      (step, _, list) => step === 'Value' && (list === 'Results' || list === 'Observations'),
    ),
  ],
  condition: [
    kind(OF_CONDITION.fhir, (step, next) => step === 'code' && (next === 'coding' || next === 'text')),
    kind(OF_CONDITION.problem, (step, _, list) => step === 'Code' && list === 'Problems'),
    kind(OF_CONDITION.diagnosis, (step, _, list) => step === 'Code' && list === 'Diagnoses'),
    { placeOn: (steps) => segmentIn(steps, 'DG1', 3), parts: OF_CONDITION.DG1 },
    { placeOn: (steps) => segmentIn(steps, 'PRB', 3), parts: OF_CONDITION.PRB },
  ],
} satisfies Record<string, readonly Kind[]>

/** Structures on the paths, each once. */
function structuresOn(
  { value, rule, mapping, ignore, trailsOf }: ReadPaths,
  kinds: readonly Kind[],
): Structure[] {
  return kinds.flatMap(({ placeOn, parts, checkOf = unlessRead }) => {
    const places: Anchor[] = []
    return value.flatMap((name): Structure[] => {
      const trails = trailsOf(name)
      const place = placeOn(trails.at(-1)?.steps ?? [])
      const anchor = place && anchorAt(trails, place.length)
      if (!place || !anchor || places.some((one) => isSame(one.whole, anchor.whole))) return []
      places.push(anchor)
      const own = readingOf(anchor.whole, rule, trailsOf)
      const all = readingOf(anchor.whole, mapping, trailsOf)
      // A filter reads the part by which it selects.
      const chosen = String(anchor.whole.findLast(isFilter) ?? '')
      const fields = parts.flatMap((part) => {
        const { name, at, neutral, givenBy = at } = part
        if (ignore.has(name) || (neutral && chosen.includes(`.${at}`))) return []
        const steps = place.stepsTo(at)
        const [read, given] = [readAt(own, steps), readAt(own, place.stepsTo(givenBy))]
        const giver = parts.find((one) => one !== part && one.at === givenBy && one.neutral !== undefined)
        const check =
          read === undefined && given !== undefined && giver !== undefined
            ? contradiction(part, giver, place.stepsTo(givenBy))
            : checkOf(part, read ?? given, own, all)
        return check === undefined ? [] : { steps, check }
      })
      return [{ anchor, fields }]
    })
  })
}
