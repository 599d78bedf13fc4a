/** Structures of values, conditions and names, by the paths that lead into them. */

import { fhirStructure, ownerStructure } from './fhir-structure.ts'
import { obxStructure, type Place, segmentIn } from './obx-structure.ts'
import { type Anchor, anchorAt, isSame, type ReadPaths, type Structure, structureAt } from './reading.ts'
import type { Trail, TrailStep } from './scope.ts'
import {
  OBX,
  OF_CONDITION,
  OF_NAME,
  OF_OBSERVATION,
  OF_REDOX_VALUE,
  type Part,
  VALUE_FORMS,
} from './structures.ts'

/** A structure: how a path shows it, and its parts; `structuresAt` where they are more than members and fields. */
export interface Kind {
  readonly placeOn: (steps: readonly TrailStep[]) => Place | undefined
  readonly parts: readonly Part[]
  readonly structuresAt?: (
    anchor: Anchor,
    place: Place,
    paths: ReadPaths,
    trails: readonly Trail[],
  ) => Structure[]
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

export const VALUE: readonly Kind[] = [
  {
    placeOn: (steps) => segmentIn(steps, 'OBX', 5),
    parts: OBX,
    structuresAt: (anchor, { stepsTo }, paths) => [obxStructure(anchor, stepsTo, paths)],
  },
  {
    ...kind(OF_OBSERVATION, (step) => typeof step === 'string' && VALUE_FORMS.has(step)),
    structuresAt: (anchor, _, paths, trails) => [
      fhirStructure(anchor, paths),
      ...ownerStructure(trails, anchor, paths),
    ],
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
export const NAME: readonly Kind[] = [kind(OF_NAME, (step) => step === 'given' || step === 'family')]

/** Structures of these kinds to which the paths lead, each once. */
export function structuresOn(paths: ReadPaths, kinds: readonly Kind[]): Structure[] {
  const structures: Structure[] = []
  const places: Anchor[] = []
  for (const name of paths.value) {
    const trails = paths.trailsOf(name)
    for (const { placeOn, parts, structuresAt } of kinds) {
      const place = placeOn(trails.at(-1)?.steps ?? [])
      const anchor = place && anchorAt(trails, place.length)
      if (!place || !anchor || places.some((one) => isSame(one.whole, anchor.whole))) continue
      places.push(anchor)
      structures.push(
        ...(structuresAt?.(anchor, place, paths, trails) ?? [
          structureAt(parts, anchor, place.stepsTo, paths),
        ]),
      )
    }
  }
  return structures
}
