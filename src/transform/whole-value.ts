/**
 * A value is whole, or rejected: what stands beside it in its own structure is read by the rule, named by the mapping under `ignore`, or the record is
 * rejected by what it was (structures.ts). The structure is known by the paths that lead to the value, and looked into with what the rule reads of it,
 * compiled once for a rule.
 */
import { fhirCheck } from './fhir-structure.ts'
import { obxCheck, obxIn } from './obx-structure.ts'
import {
  type Anchor,
  anchorAt,
  type Check,
  isSame,
  type ReadPaths,
  readingOf,
  type Unread,
} from './reading.ts'
import { follow, type Scope, SEVERAL, type Trail } from './scope.ts'
import { VALUE_FORMS } from './structures.ts'

export interface WholeValue {
  /** @param hasValue whether the rule has read a value; without one, only what is of the value itself is told */
  unread(scope: Scope, hasValue: boolean): Unread | undefined
  /** A structured number's comparator can be `=` (HL7 v2.5.1, 2.A.66). */
  readonly isHl7: boolean
}

/** Undefined where the value stands in no structure that is known. */
export function compileWhole(paths: ReadPaths): WholeValue | undefined {
  const { trailsOf } = paths
  const checks: Structure[] = []
  for (const name of paths.value) {
    const found = structureOf(trailsOf(name), paths)
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
