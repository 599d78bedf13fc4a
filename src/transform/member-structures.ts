/** Structures whose parts are members, or fields, of one place: conditions, names of people, values of Redox. */

import { segmentIn } from './obx-structure.ts'
import { anchorAt, isSame, partCheck, type ReadPaths, readAt, readingOf, type Structure } from './reading.ts'
import { isFilter, type Step, type TrailStep } from './scope.ts'
import { type Member, OF_CONDITION, OF_NAME, OF_REDOX_VALUE } from './structures.ts'

/** Place of a structure on a path: its length in steps, and the steps from there to a part. */
interface Place {
  readonly length: number
  readonly partAt: (at: string | number) => readonly Step[]
}

/** A structure: how a path shows it, and its parts. */
export interface Kind {
  readonly placeOn: (steps: readonly TrailStep[]) => Place | undefined
  readonly parts: readonly Member[]
}

const among = (length: number): Place | undefined =>
  length < 0 ? undefined : { length, partAt: (at) => [at] }

/** `…Problems[*].Code` */
const inList =
  (lists: readonly string[], read: string): Kind['placeOn'] =>
  (steps) =>
    among(steps.findIndex((step, at) => step === read && lists.includes(String(steps[at - 2]))))

const segmentKind = (segment: 'DG1' | 'PRB'): Kind => ({
  placeOn(steps) {
    const found = segmentIn(steps, segment, 3)
    return found && { length: found.length, partAt: (at) => found.fieldAt(Number(at)) }
  },
  parts: OF_CONDITION[segment],
})

export const REDOX_VALUE: readonly Kind[] = [
  { placeOn: inList(['Results', 'Observations'], 'Value'), parts: OF_REDOX_VALUE },
]
export const CONDITION: readonly Kind[] = [
  {
    placeOn: (steps) =>
      among(
        steps.findIndex((step, at) => step === 'code' && ['coding', 'text'].includes(String(steps[at + 1]))),
      ),
    parts: OF_CONDITION.fhir,
  },
  segmentKind('DG1'),
  segmentKind('PRB'),
  { placeOn: inList(['Problems', 'Diagnoses'], 'Code'), parts: OF_CONDITION.redox },
]
export const NAME: readonly Kind[] = [
  {
    placeOn: (steps) => among(steps.findIndex((step) => step === 'given' || step === 'family')),
    parts: OF_NAME,
  },
]

/** Structures of these kinds that the paths lead to, with the parts that are neither read nor ignored. */
export function memberStructures(paths: ReadPaths, kinds: readonly Kind[]): Structure[] {
  const { value, rule, ignore, trailsOf } = paths
  const structures: Structure[] = []
  for (const name of value) {
    const trails = trailsOf(name)
    for (const { placeOn, parts } of kinds) {
      const place = placeOn(trails.at(-1)?.steps ?? [])
      const anchor = place && anchorAt(trails, place.length)
      if (!place || !anchor || structures.some((one) => isSame(one.anchor.whole, anchor.whole))) continue
      const reading = readingOf(anchor.whole, rule, trailsOf)
      // Also by a filter that chooses the element.
      const chosen = String(anchor.whole.findLast(isFilter) ?? '')
      const isRead = (at: string | number): boolean =>
        readAt(reading, place.partAt(at)) !== undefined || chosen.includes(`'${at}'`)
      const fields = parts
        .filter(({ name, at, toldBy = at }) => !ignore.has(name) && !isRead(at) && !isRead(toldBy))
        .map((part) => ({ steps: place.partAt(part.at), check: partCheck(part) }))
      structures.push({ anchor, fields })
    }
  }
  return structures
}
