/** The value of an Observation of FHIR R4, of a component or an extension of one, and what stands beside it. */
import { elements, firstText, membersOf } from './json-values.ts'
import {
  type Anchor,
  anchorAt,
  type FieldCheck,
  hasText,
  partCheck,
  type Reading,
  type ReadPaths,
  readingOf,
  readingsOf,
  type Structure,
  structureAt,
  tell,
} from './reading.ts'
import type { Trail } from './scope.ts'
import { FHIR, OF_OBSERVATION, OF_VALUE, type Part, VALUE_FORMS } from './structures.ts'

export function fhirStructure(anchor: Anchor, paths: ReadPaths): Structure {
  const { rule, mapping, ignore, trailsOf } = paths
  const hasQuantity = readingOf(anchor.whole, rule, trailsOf).below.has('valueQuantity')
  const all = readingOf(anchor.whole, mapping, trailsOf)
  const field = ({ name }: Part, check: FieldCheck, ...steps: string[]): Structure['fields'] =>
    ignore.has(name) ? [] : [{ steps, check }]
  const beside = OF_OBSERVATION.filter(({ at }) => hasQuantity || !String(at).startsWith('valueQuantity'))
  return {
    anchor,
    fields: [
      ...field(FHIR.value, formCheck(all)),
      ...structureAt(beside, anchor, (at) => String(at).split('.'), paths).fields,
      ...field(FHIR.component, componentCheck(all.below.get('component')), 'component'),
    ],
  }
}

/** The Observation whose state a component or extension shares; none where its state is read or ignored. */
export function ownerStructure(
  trails: readonly Trail[],
  { whole }: Anchor,
  { rule, ignore, trailsOf }: ReadPaths,
): Structure[] {
  const last = typeof whole.at(-1) === 'string' ? whole.length - 1 : whole.length - 2
  const isOwned = whole[last] === 'component' || whole[last] === 'extension'
  const anchor = isOwned && !ignore.has('status') ? anchorAt(trails, last) : undefined
  if (anchor === undefined || readingOf(anchor.whole, rule, trailsOf).below.has('status')) return []
  const statusOf = partCheck(FHIR.status)
  const check: FieldCheck = (owner) => {
    const { resourceType = 'Observation', status } = membersOf(owner)
    return firstText(resourceType) === 'OBSERVATION' && status !== undefined ? statusOf(status) : undefined
  }
  return [{ anchor, fields: [{ steps: [], check }] }]
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
