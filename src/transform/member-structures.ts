/** Structures of values and conditions (FHIR R4, HL7 v2.5.1, Redox) by the paths into them, and the parts that a rule must read (docs/mapping.md). */

import { type Fault, fault } from '../model/record.ts'
import type { JsonValue } from '../model/row.ts'
import { elements, firstText, membersOf } from './json-values.ts'
import {
  type Anchor,
  anchorAt,
  type CheckOf,
  contradiction,
  type FieldCheck,
  hasText,
  isSame,
  nothing,
  OF_VALUE,
  type Part,
  partCheck,
  type Reading,
  type ReadPaths,
  readAt,
  readingOf,
  readingsOf,
  repetitionsOf,
  type Structure,
  tell,
  textsOf,
  unreadIn,
} from './reading.ts'
import { EACH, isFilter, type Step, type TrailStep } from './scope.ts'

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
export interface Kind {
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
export function segmentIn(steps: readonly TrailStep[], segment: string, read: number): Place | undefined {
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

export const VALUE: readonly Kind[] = [
  { placeOn: (steps) => segmentIn(steps, 'OBX', 5), parts: OBX, checkOf: checkOfObx },
  { ...kind(OF_OBSERVATION, isValue), checkOf: checkOfFhir },
  {
    placeOn: ownerOn,
    parts: OF_OWNER,
    checkOf: checkOfOwner,
  },
  kind(
    OF_REDOX_VALUE,
    (step, _, list) => step === 'Value' && (list === 'Results' || list === 'Observations'),
  ),
]
export const CONDITION: readonly Kind[] = [
  kind(OF_CONDITION.fhir, (step, next) => step === 'code' && (next === 'coding' || next === 'text')),
  kind(OF_CONDITION.problem, (step, _, list) => step === 'Code' && list === 'Problems'),
  kind(OF_CONDITION.diagnosis, (step, _, list) => step === 'Code' && list === 'Diagnoses'),
  { placeOn: (steps) => segmentIn(steps, 'DG1', 3), parts: OF_CONDITION.DG1 },
  { placeOn: (steps) => segmentIn(steps, 'PRB', 3), parts: OF_CONDITION.PRB },
]

/** Structures on the paths, each once. */
export function structuresOn(
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
