/** Name of a person among several: the legal one, never a former one (HL7 v2.5.1, PID-5.7 and table 0200; FHIR R4, HumanName.use). */
import type { JsonValue } from '../model/row.ts'
import { elements, firstText, isList, membersOf } from './json-values.ts'

const PID = /^PID$|['"]PID['"]/
const NAMES = /^(?:names?|PID[._ -]?5|patient[._ -]?names?)$/i

/**
 * Index of the step to names on a path: PID-5 in any spelling, `name` of FHIR; -1 for none.
 * @param steps of a path to a part of a name
 */
export const namesAt = (steps: readonly unknown[]): number =>
  steps.findIndex((step, at) => {
    if (at === steps.length - 1) return false
    if (NAMES.test(String(step))) return true
    const segment = String(steps.slice(0, at).findLast((one) => one !== 0))
    const field = step === 'value' ? String(steps[at - 3]) : segment
    const isFifth = step === 'value' ? steps[at - 2] === 'fields' && steps[at - 1] === 4 : Number(step) === 5
    return isFifth && PID.test(field)
  })

const RANKS = new Map([
  ...['L', 'OFFICIAL'].map((type) => [type, 0] as const),
  ...['USUAL', 'C', 'D'].map((type) => [type, 1] as const),
])
/** Types of names that are former, of a time, or none to be registered under. */
const OTHERS = new Set([
  ...['OLD', 'MAIDEN', 'NICKNAME', 'TEMP', 'ANONYMOUS'],
  ...['A', 'B', 'M', 'N', 'P', 'R', 'S', 'T'],
])
/** Member of a type: `use`, `PID.5.7`, `XPN.7`, `7`, `nameTypeCode`. */
const TYPE = /^use$|(?:^|\D)7$|type[._ -]?code$/i

function typeOf(name: JsonValue): string {
  if (isList(name)) return firstText(name[6])
  const members = Object.entries(membersOf(name))
  return firstText(members.find(([key]) => TYPE.test(key))?.[1])
}

/** The name to register a person under; undefined where all are others. @param names a list, or a single name */
export function legalName(names: JsonValue | undefined): JsonValue | undefined {
  if (names === undefined || names === null) return undefined
  // A single name by place is a list of its components.
  const all = isList(names) && names.some((one) => typeof one === 'object') ? names : [names]
  const rankOf = (name: JsonValue): number => {
    const isOver = firstText(membersOf(membersOf(name)['period'])['end']) !== ''
    return isOver || OTHERS.has(typeOf(name)) ? Number.POSITIVE_INFINITY : (RANKS.get(typeOf(name)) ?? 2)
  }
  const ranked = elements(all).map((name) => ({ name, rank: rankOf(name) }))
  const [best] = ranked.filter(({ rank }) => Number.isFinite(rank)).sort((a, b) => a.rank - b.rank)
  return best?.name
}
