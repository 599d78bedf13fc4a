/** Reference range of a value (interface, "Biometric record, as sent"): a text, and bounds from the text or from own columns. */
import { type Fault, fault } from '../model/record.ts'
import type { BiometricEntry } from './catalog.ts'
import type { CompileContext, CompiledField, FieldText } from './compile-context.ts'
import { compileField } from './compile-field.ts'
import type { FieldDefinition } from './field-definition.ts'
import { compareNumbers, type NumberReader, parseReferenceRange } from './numbers.ts'
import type { RuleSite } from './rule.ts'
import type { LongBiometricDefinition, WideBiometricDefinition } from './rule-definition.ts'
import { branchOf, type Scope } from './scope.ts'
import type { Conversion } from './units.ts'

/** Texts of a row, or ''. Bounds are JSON numbers. */
interface ReadRange {
  readonly text: string
  readonly low: string
  readonly high: string
  /** Unit of the bounds, and of a text without a unit; empty for the unit of the value. */
  readonly unit: string
}

export interface CompiledRange {
  readonly branch: number
  readonly read: (scope: Scope) => ReadRange | { readonly fault: Fault; readonly from: string | undefined }
}

const NO_NUMBER = fault('bound-not-a-number', 'a bound of the reference range is not a number')
const CROSSED = fault('bounds-crossed', 'the lower bound of the reference range is above the upper one')
const TWO_UNITS = fault('unit-mismatch', 'the bounds of the reference range have different units')

type Ranged = Pick<
  LongBiometricDefinition | WideBiometricDefinition,
  'refRange' | 'refLow' | 'refHigh' | 'refUnit'
>

/** A bound of FHIR, whose unit stands beside it; a column whose heading ends with a unit. */
const FHIR_BOUND = /^(.*referenceRange.*\.(?:low|high))\.value$/
const HEADING = /[([]([^()[\]]{2,})[)\]]$/

/** Units of a range: as the mapping says, or beside its bounds, or in their headings. */
function unitFields({ names, units }: CompileContext, { refUnit }: Ranged, reads: readonly string[]) {
  if (refUnit !== undefined) return [refUnit]
  return reads.flatMap((name): FieldDefinition[] => {
    const [, bound] = FHIR_BOUND.exec(name) ?? []
    if (bound !== undefined) return [{ firstOf: [`${bound}.code`, `${bound}.unit`] }]
    const [, constant = ''] = names.trails === undefined ? (HEADING.exec(name) ?? []) : []
    return units.resolve(constant) === undefined ? [] : [{ constant }]
  })
}

/** Compiles the range of a rule; undefined for a rule without range. */
export function compileRange(
  { context, path }: RuleSite,
  ranged: Ranged,
  readNumber: NumberReader,
): CompiledRange | undefined {
  const fieldOf = (key: string, field: Ranged['refLow']): CompiledField | undefined =>
    field === undefined ? undefined : compileField(context, field, [...path, key])
  const { result, read } = context.readsOf(() => [
    fieldOf('refRange', ranged.refRange),
    fieldOf('refLow', ranged.refLow),
    fieldOf('refHigh', ranged.refHigh),
  ])
  const [text, low, high] = result
  if ((text ?? low ?? high) === undefined) return undefined
  const units = unitFields(context, ranged, read).map((unit) =>
    compileField(context, unit, [...path, 'refUnit']),
  )
  const boundOf = (field: CompiledField | undefined, scope: Scope): FieldText => {
    const bound = field === undefined ? '' : field.read(scope)
    if (typeof bound !== 'string' || bound === '') return bound
    const number = readNumber(bound)
    return typeof number === 'string' ? number : NO_NUMBER
  }
  const unitOf = (scope: Scope): FieldText => {
    let unit = ''
    for (const { read } of units) {
      const text = read(scope)
      if (typeof text !== 'string') return text
      if (unit !== '' && text !== '' && context.units.resolve(unit) !== context.units.resolve(text))
        return TWO_UNITS
      unit ||= text
    }
    return unit
  }
  return {
    branch: branchOf(...result, ...units),
    read(scope) {
      const given = text === undefined ? '' : text.read(scope)
      if (typeof given !== 'string') return { fault: given, from: text?.from }
      const [least, most, unit] = [boundOf(low, scope), boundOf(high, scope), unitOf(scope)]
      if (typeof least !== 'string') return { fault: least, from: low?.from }
      if (typeof most !== 'string') return { fault: most, from: high?.from }
      if (typeof unit !== 'string') return { fault: unit, from: undefined }
      if (least !== '' && most !== '' && compareNumbers(least, most) > 0)
        return { fault: CROSSED, from: [low?.from, high?.from].filter(Boolean).join(', ') }
      return { text: given, low: least, high: most, unit }
    },
  }
}

/**
 * Members of the record's JSON text, or the fault of a unit. Bounds are converted to the unit of the catalog. Bounds from own columns take
 * precedence over those of the text. A text without a unit gets its unit appended where that is another than the record's.
 * @param unit of the value
 */
export function rangeText(
  context: CompileContext,
  given: ReadRange,
  unit: FieldText,
  readNumber: NumberReader,
  entry: BiometricEntry,
): string | Fault {
  const { text, low, high } = given
  const own = given.unit === '' && typeof unit === 'string' ? unit : given.unit
  const range = parseReferenceRange(text, readNumber)
  const from = (of: string): Conversion =>
    context.units.conversion(of, entry.unit, entry.molarMass, entry.loinc)
  const ofText = from(range === undefined || range.unit === '' ? own : range.unit)
  const isBare = range === undefined ? /\d/.test(text) : range.unit === ''
  const written = (ofText.ok && ofText.same) || !isBare ? text : `${text} ${own}`
  // Bounds come from a single source: own columns, else the text.
  const isOfText = low === '' && high === ''
  const conversion = isOfText ? ofText : from(own)
  if (!isOfText && !conversion.ok) return fault(conversion.code, `reference range: ${conversion.message}`)
  const bound = (name: string, number = ''): string => {
    if (number === '' || !conversion.ok) return ''
    const value = conversion.same ? number : conversion.convert(Number(number)).toFixed(entry.decimals)
    return `"${name}":${value},`
  }
  const read = isOfText ? range : given
  const member = text === '' ? '' : `"refRange":${JSON.stringify(written)},`
  return bound('refHigh', read?.high) + bound('refLow', read?.low) + member
}
