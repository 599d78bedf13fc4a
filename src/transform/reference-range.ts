/** Reference range of a value (interface, "Biometric record, as sent"): a text, and bounds from the text or from own columns. */
import { type Fault, fault } from '../model/record.ts'
import type { BiometricEntry } from './catalog.ts'
import type { CompileContext, CompiledField, FieldText } from './compile-context.ts'
import { compileField } from './compile-field.ts'
import { compareNumbers, type NumberReader, parseReferenceRange } from './numbers.ts'
import type { RuleSite } from './rule.ts'
import type { LongBiometricDefinition, WideBiometricDefinition } from './rule-definition.ts'
import { branchOf, type Scope } from './scope.ts'
import type { Conversion } from './units.ts'

/** Texts of a row, or ''. Bounds are JSON numbers in the unit of the value. */
interface RangeTold {
  readonly text: string
  readonly low: string
  readonly high: string
}

export interface CompiledRange {
  readonly branch: number
  readonly read: (scope: Scope) => RangeTold | { readonly fault: Fault; readonly from: string | undefined }
}

const NO_NUMBER = fault('bound-not-a-number', 'a bound of the reference range is no number')
const CROSSED = fault('bounds-crossed', 'the lower bound of the reference range is above the upper one')

type Ranged = Pick<LongBiometricDefinition | WideBiometricDefinition, 'refRange' | 'refLow' | 'refHigh'>

/** Compiles the range of a rule; undefined for a rule without range. */
export function compileRange(
  { context, path }: RuleSite,
  { refRange, refLow, refHigh }: Ranged,
  readNumber: NumberReader,
): CompiledRange | undefined {
  const fieldOf = (key: string, field: Ranged['refLow']): CompiledField | undefined =>
    field === undefined ? undefined : compileField(context, field, [...path, key])
  const text = fieldOf('refRange', refRange)
  const low = fieldOf('refLow', refLow)
  const high = fieldOf('refHigh', refHigh)
  if ((text ?? low ?? high) === undefined) return undefined
  const boundOf = (field: CompiledField | undefined, scope: Scope): FieldText => {
    const bound = field === undefined ? '' : field.read(scope)
    if (typeof bound !== 'string' || bound === '') return bound
    const number = readNumber(bound)
    return typeof number === 'string' ? number : NO_NUMBER
  }
  return {
    branch: branchOf(text, low, high),
    read(scope) {
      const told = text === undefined ? '' : text.read(scope)
      if (typeof told !== 'string') return { fault: told, from: text?.from }
      const [least, most] = [boundOf(low, scope), boundOf(high, scope)]
      if (typeof least !== 'string') return { fault: least, from: low?.from }
      if (typeof most !== 'string') return { fault: most, from: high?.from }
      if (least !== '' && most !== '' && compareNumbers(least, most) > 0)
        return { fault: CROSSED, from: [low?.from, high?.from].filter(Boolean).join(', ') }
      return { text: told, low: least, high: most }
    },
  }
}

/**
 * Members of the record's JSON text. Bounds are converted with the value. Bounds from own columns take precedence; bounds from the
 * text count only in the unit of the value. A text without a unit gets the row's unit appended where the value is converted.
 */
export function rangeText(
  context: CompileContext,
  told: RangeTold,
  unit: FieldText,
  readNumber: NumberReader,
  conversion: Extract<Conversion, { ok: true }>,
  entry: BiometricEntry,
): string {
  const { text, low, high } = told
  const spelling = typeof unit === 'string' ? unit : ''
  const range = parseReferenceRange(text, readNumber)
  const bare = range === undefined ? /\d/.test(text) : range.unit === ''
  const written = conversion.same || !bare ? text : `${text} ${spelling}`
  const isOfValue = (of: string): boolean =>
    of === '' || context.units.resolve(of) === context.units.resolve(spelling)
  // Bounds come from a single source: own columns, else the text.
  const read =
    low === '' && high === '' && range !== undefined && isOfValue(range.unit) ? range : { low, high }
  const bound = (name: string, number = ''): string => {
    if (number === '') return ''
    const value = conversion.same ? number : conversion.convert(Number(number)).toFixed(entry.decimals)
    return `"${name}":${value},`
  }
  const member = text === '' ? '' : `"refRange":${JSON.stringify(written)},`
  return bound('refHigh', read.high) + bound('refLow', read.low) + member
}
