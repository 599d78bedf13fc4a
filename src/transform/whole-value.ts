/**
 * A value is whole, or rejected: what stands beside it in its own structure is read by the rule, named by the mapping under `ignore`, or the record is
 * rejected by what it was (structures.ts). The paths of the value tell the structure, and what the rule reads of it; compiled once for a rule.
 */
import type { JsonValue } from '../model/row.ts'
import type { CompileContext } from './compile-context.ts'
import { fhirStructure, ownerStructure } from './fhir-structure.ts'
import { membersOf } from './json-values.ts'
import { type Kind, memberStructures, REDOX_VALUE } from './member-structures.ts'
import { obxStructure, segmentIn } from './obx-structure.ts'
import { anchorAt, isSame, type ReadPaths, type Structure, type Unread } from './reading.ts'
import { follow, type Names, type Scope, SEVERAL } from './scope.ts'
import { VALUE_FORMS } from './structures.ts'

export interface WholeValue {
  /** @param hasValue true where the rule has read a value; without, parts of the value itself alone count */
  unread(scope: Scope, hasValue: boolean): Unread | undefined
  /** A structured number's comparator can be `=` (HL7 v2.5.1, 2.A.66). */
  readonly isHl7: boolean
}

/** Undefined where the value is in no known structure. */
export function compileWhole(paths: ReadPaths): WholeValue | undefined {
  const structures: Structure[] = []
  const owners: Structure[] = []
  let isHl7 = false
  for (const name of paths.value) {
    const trails = paths.trailsOf(name)
    const { steps = [] } = trails.at(-1) ?? {}
    const obx = segmentIn(steps, 'OBX', 5)
    const length = obx?.length ?? steps.findIndex((step) => typeof step === 'string' && VALUE_FORMS.has(step))
    const anchor = length < 0 ? undefined : anchorAt(trails, length)
    if (anchor === undefined || structures.some((one) => isSame(one.anchor.whole, anchor.whole))) continue
    isHl7 ||= obx !== undefined
    structures.push(obx ? obxStructure(anchor, obx.stepsTo, paths) : fhirStructure(anchor, paths))
    const owner = obx ? undefined : ownerStructure(trails, anchor, paths)
    if (owner !== undefined) owners.push(owner)
  }
  const all = [...structures, ...owners, ...memberStructures(paths, REDOX_VALUE)]
  return all.length === 0 ? undefined : { isHl7, unread: unreadAmong(all) }
}

/** Checks structures of these kinds to which paths of a rule lead; undefined of CSV. */
export const compileMembers = (
  context: CompileContext,
  kinds: readonly Kind[],
  value: readonly string[],
  ofRow: readonly string[] = [],
  ofRule: readonly string[] = [],
  beside: readonly string[] = [],
): (() => WholeValue['unread']) | undefined =>
  once(context, (trailsOf) => {
    const ignore = new Set([...ofRow, ...ofRule])
    const rule = [...value, ...beside]
    return unreadAmong(memberStructures({ trailsOf, value, rule, mapping: rule, ignore }, kinds))
  })

/** Finds the first part that nobody reads. */
const unreadAmong =
  (all: readonly Structure[]): WholeValue['unread'] =>
  (scope, hasValue) => {
    for (const { anchor, fields } of all) {
      const at = follow(scope[anchor.from], anchor.steps)
      const unread = at === undefined || at === null || at === SEVERAL ? undefined : unreadOf(at, fields)
      if (unread !== undefined && (hasValue || unread.ofValue)) return unread
    }
    return undefined
  }

/** A part of the value itself counts before what stands beside it. */
function unreadOf(at: JsonValue, fields: Structure['fields']): Unread | undefined {
  let found: Unread | undefined
  const members = membersOf(at)
  for (const { steps, check } of fields) {
    const [only] = steps
    const field = steps.length === 1 && typeof only === 'string' ? members[only] : follow(at, steps)
    const unread = field === undefined || field === null || field === SEVERAL ? undefined : check(field)
    if (unread?.ofValue === true) return unread
    found ??= unread
  }
  return found
}

/** Worked out where it is first asked for: what the other rules of the mapping read is known by then. Undefined of CSV, which has no structures. */
export function once<Found>(
  { names }: CompileContext,
  work: (trailsOf: NonNullable<Names['trails']>) => Found,
): (() => Found) | undefined {
  const { trails } = names
  if (trails === undefined) return undefined
  let done: { readonly result: Found } | undefined
  return () => {
    done ??= { result: work(trails) }
    return done.result
  }
}
