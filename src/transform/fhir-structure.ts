/** The value of an Observation of FHIR R4, of a component or an extension of one, and what stands beside it. */
import { elements, firstText, membersOf } from './json-values.ts'
import {
  type Anchor,
  anchorAt,
  type Check,
  type FieldCheck,
  hasText,
  partCheck,
  type Reading,
  type ReadPaths,
  readingOf,
  readingsOf,
  tell,
} from './reading.ts'
import { follow, SEVERAL, type Trail } from './scope.ts'
import { FHIR, OF_VALUE, OFF_SCALE, type Part, VALUE_FORMS } from './structures.ts'

/** The Observation of a component or extension: its state is theirs. */
function ownerOf(trails: readonly Trail[], { whole }: Anchor): Anchor | undefined {
  const last = typeof whole.at(-1) === 'string' ? whole.length - 1 : whole.length - 2
  const step = whole[last]
  return step === 'component' || step === 'extension' ? anchorAt(trails, last) : undefined
}

export function fhirCheck(trails: readonly Trail[], anchor: Anchor, paths: ReadPaths): Check {
  const { ignore } = paths
  const own = readingOf(anchor.whole, paths.rule, paths)
  const all = readingOf(anchor.whole, paths.mapping, paths)
  const owner = ownerOf(trails, anchor)
  const owned = owner && readingOf(owner.whole, paths.rule, paths)
  const parts = Object.values(FHIR).filter(({ name }) => !ignore.has(name))
  const isRead = (reading: Reading, name: string): boolean => reading.names.has(name)
  const asked = (name: keyof typeof FHIR): boolean => !ignore.has(name) && !isRead(own, name)
  const beside = parts.flatMap((part): [string, FieldCheck][] => {
    const { name } = part
    if (name === 'component') {
      const read = all.names.get(name)
      const every: FieldCheck = (list) =>
        elements(list).every((_, at, { length }) => read && readingsOf(read, list, at, length).length > 0)
          ? undefined
          : tell(part)
      return [[name, every]]
    }
    if (name === 'interpretation') return asked(name) ? [[name, interpretationCheck(part)]] : []
    const isBeside = name === 'status' || name === 'dataAbsentReason' || name === 'modifierExtension'
    return isBeside && asked(name) ? [[name, partCheck(part)]] : []
  })
  const quantity = own.names.get('valueQuantity')
  const isQuantityRead = (name: string): boolean => quantity?.names.has(name) ?? false
  const unitAsked = !ignore.has('unit') && !isQuantityRead('unit') && !isQuantityRead('code')
  const statusAsked = owned !== undefined && !ignore.has('status') && !isRead(owned, 'status')
  const status = partCheck(FHIR.status)
  return (at, scope) => {
    const members = membersOf(at)
    if (!ignore.has('value'))
      for (const name in members)
        if (VALUE_FORMS.has(name) && hasText(members[name])) {
          const read = all.names.get(name)
          if (read === undefined) return tell(FHIR.value, OF_VALUE.form, true)
          if (isTwofold(name) && Object.keys(membersOf(members[name])).some((one) => !read.names.has(one)))
            return tell(FHIR.value, undefined, true)
        }
    if (quantity !== undefined) {
      const { comparator, unit, code } = membersOf(members['valueQuantity'])
      if (!ignore.has('comparator') && !isQuantityRead('comparator') && hasText(comparator))
        return tell(FHIR.comparator)
      if (unitAsked && (hasText(unit) || hasText(code))) return tell(FHIR.unit)
    }
    for (const [name, check] of beside) {
      const value = members[name]
      const unread = value === undefined || value === null ? undefined : check(value)
      if (unread !== undefined) return unread
    }
    if (!statusAsked || owner === undefined) return undefined
    const above = follow(scope[owner.from], owner.steps)
    const told = above === SEVERAL ? {} : membersOf(above)
    return firstText(told['resourceType'] ?? 'Observation') === 'OBSERVATION' && told['status'] !== undefined
      ? status(told['status'])
      : undefined
  }
}

/** Both members of a range, and of a ratio, are the value. */
const isTwofold = (form: string): boolean => form === 'valueRange' || form === 'valueRatio'

/** A concept is what any of its codings says, or its text where it has none. */
function interpretationCheck(part: Part): FieldCheck {
  const isPlaced = (text: string): boolean => part.neutral?.has(text) === true
  return (value) => {
    for (const concept of elements(value)) {
      const { coding = null, text } = membersOf(concept)
      const codes = elements(coding).map((one) =>
        firstText(membersOf(one)['code'] ?? membersOf(one)['display']),
      )
      const said = [...codes.filter((code) => code !== ''), ...(hasText(text) ? [firstText(text)] : [])]
      if (said.some((one) => OFF_SCALE.has(one))) return tell(part, OF_VALUE.bound)
      if (hasText(concept) && !said.some(isPlaced)) return tell(part)
    }
    return undefined
  }
}
