/** Value of an Observation of FHIR R4, of a component or an extension, and the parts beside the value. */
import { elements, firstText, membersOf } from './json-values.ts'
import {
  type CheckOf,
  type FieldCheck,
  hasText,
  partCheck,
  type Reading,
  readingsOf,
  tell,
  unlessRead,
} from './reading.ts'
import { FHIR, OF_VALUE, VALUE_FORMS } from './structures.ts'

export const checkOfFhir: CheckOf = (part, read, own, all) => {
  if (part === FHIR.value) return formCheck(all)
  if (part === FHIR.component) return componentCheck(all.below.get('component'))
  const isOfQuantity = String(part.at).startsWith('valueQuantity')
  return isOfQuantity && !own.below.has('valueQuantity') ? undefined : unlessRead(part, read, own, all)
}

/** Checks parts of an Observation that also apply to its components and extensions. */
export const checkOfOwner: CheckOf = (part, _, own) => {
  const { at, name } = part
  if (own.below.has(name)) return undefined
  const check = partCheck(part)
  return (owner) => {
    const { resourceType = 'Observation', [at]: field = null } = membersOf(owner)
    return firstText(resourceType) === 'OBSERVATION' && field !== null ? check(field, owner) : undefined
  }
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
