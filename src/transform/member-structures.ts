/** Structures of values and conditions, by the paths that lead into them. */
import { checkOfFhir, checkOfOwner } from './fhir-structure.ts'
import { checkOfObx, type Place, segmentIn } from './obx-structure.ts'
import {
  type Anchor,
  anchorAt,
  type CheckOf,
  contradiction,
  isSame,
  type ReadPaths,
  readAt,
  readingOf,
  type Structure,
  unlessRead,
} from './reading.ts'
import { isFilter, type TrailStep } from './scope.ts'
import {
  FHIR,
  OBX,
  OF_CONDITION,
  OF_OBSERVATION,
  OF_OWNER,
  OF_REDOX_VALUE,
  type Part,
  VALUE_FORMS,
} from './structures.ts'

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
