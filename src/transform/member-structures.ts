/** Structures whose parts are members, or fields, of one place: conditions, names of people, values of Redox. */

import { type Place, segmentIn } from './obx-structure.ts'
import { anchorAt, isSame, type ReadPaths, type Structure, structureAt } from './reading.ts'
import type { TrailStep } from './scope.ts'
import { OF_CONDITION, OF_NAME, OF_REDOX_VALUE, type Part } from './structures.ts'

/** A structure: how a path shows it, and its parts. */
export interface Kind {
  readonly placeOn: (steps: readonly TrailStep[]) => Place | undefined
  readonly parts: readonly Part[]
}

/** @param isRead tells the member that a rule reads, by the step behind it, and by the list whose elements have it */
const kind = (
  parts: readonly Part[],
  isRead: (step: TrailStep, next: TrailStep | undefined, list: TrailStep | undefined) => boolean,
): Kind => ({
  placeOn(steps) {
    const length = steps.findIndex((step, at) => isRead(step, steps[at + 1], steps[at - 2]))
    return length < 0 ? undefined : { length, stepsTo: (at) => [at] }
  },
  parts,
})

export const REDOX_VALUE: readonly Kind[] = [
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
export const NAME: readonly Kind[] = [kind(OF_NAME, (step) => step === 'given' || step === 'family')]

/** Structures of these kinds to which the paths lead. */
export function memberStructures(paths: ReadPaths, kinds: readonly Kind[]): Structure[] {
  const structures: Structure[] = []
  for (const name of paths.value) {
    const trails = paths.trailsOf(name)
    for (const { placeOn, parts } of kinds) {
      const place = placeOn(trails.at(-1)?.steps ?? [])
      const anchor = place && anchorAt(trails, place.length)
      if (!place || !anchor || structures.some((one) => isSame(one.anchor.whole, anchor.whole))) continue
      structures.push(structureAt(parts, anchor, place.stepsTo, paths))
    }
  }
  return structures
}
