/** Name of a person among several: the legal one, never a former one (HL7 v2.5.1, PID-5.7 and table 0200; FHIR R4, HumanName.use). */
import type { JsonValue } from '../model/row.ts'
import { firstText, isList, membersOf } from './json-values.ts'

const PID = /^PID$|['"]PID['"]/
const NAMES = /^(?:names?|PID[._ -]?5|patient[._ -]?names?)$/i

/**
 * Index of the step to names on a path: PID-5 in any spelling, `name` of FHIR; -1 for none.
 * @param steps of a path to a part of a name
 */
export const namesAt = (steps: readonly unknown[]): number =>
  steps.findIndex((step, at) => {
    // A filter, or another index, says which name is meant.
    if (steps[at + 1] !== 0 && typeof steps[at + 1] !== 'string') return false
    if (NAMES.test(String(step))) return true
    const segment = String(steps.slice(0, at).findLast((one) => one !== 0))
    const field = step === 'value' ? String(steps[at - 3]) : segment
    const isFifth = step === 'value' ? steps[at - 2] === 'fields' && steps[at - 1] === 4 : Number(step) === 5
    return isFifth && PID.test(field)
  })

const NEVER = Number.POSITIVE_INFINITY
const RANKS = new Map([
  ...['L', 'OFFICIAL'].map((type) => [type, 0] as const),
  ...['USUAL', 'C', 'D'].map((type) => [type, 1] as const),
  // Former names, names of a time, and names that nobody is registered under.
  ...['OLD', 'MAIDEN', 'NICKNAME', 'TEMP', 'ANONYMOUS', ...'ABMNPRST'].map((type) => [type, NEVER] as const),
])

/** Member of a type: `use`, `PID.5.7`, `XPN.7`, `7`, `nameTypeCode`. */
const TYPE = /^use$|(?:^|\D)7$|type[._ -]?code$/i

function rankOf(name: JsonValue): number {
  const members = membersOf(name)
  if (firstText(membersOf(members['period'])['end']) !== '') return NEVER
  const type = isList(name) ? name[6] : Object.entries(members).find(([key]) => TYPE.test(key))?.[1]
  return RANKS.get(firstText(type)) ?? 2
}

/** The name to register a person under; undefined for none. @param names a list, or a single name */
export function legalName(names: JsonValue | undefined): JsonValue | undefined {
  if (names === undefined || names === null) return undefined
  // A single name in positional lists is a list of its components.
  const all = isList(names) && names.some((one) => typeof one === 'object') ? names : [names]
  const ranked = all.map((name) => ({ name, rank: rankOf(name) })).sort((a, b) => a.rank - b.rank)
  return ranked.find(({ rank }) => rank !== NEVER)?.name
}
