/** Value of an OBX segment of HL7 v2, in any JSON shape, and the fields beside it (HL7 v2.5.1, 7.4.2). */
import type { JsonValue } from '../model/row.ts'
import { membersOf } from './json-values.ts'
import {
  type CheckOf,
  type FieldCheck,
  hasText,
  nothing,
  type PartSteps,
  partCheck,
  type Reading,
  readingsOf,
  repetitionsOf,
  tell,
  textsOf,
  unreadIn,
} from './reading.ts'
import { EACH, isFilter, type TrailStep } from './scope.ts'
import { OF_VALUE, type Part } from './structures.ts'

/** A structure on a path: its length in steps, and the steps to its parts. */
export interface Place {
  readonly length: number
  readonly stepsTo: PartSteps
}

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

export const checkOfObx: CheckOf = (part, read) =>
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
