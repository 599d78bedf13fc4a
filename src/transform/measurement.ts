/** The record of one measurement, once its rule, value and unit are known (interface, "Biometric record, as sent"). */
import type { Issue } from '../model/record.ts'
import { type BiometricEntry, CODE_SYSTEM_OID } from './catalog.ts'
import type { CompileContext } from './compile-context.ts'
import { type MeasuredValue, VALUE_MESSAGES } from './measured-value.ts'
import type { NumberReader } from './number-text.ts'
import type { ObservedAt } from './observed-at.ts'
import { parseReferenceRange } from './reference-range.ts'
import { type RowFacts, type RuleResult, rejected } from './rule.ts'
import type { SourceText } from './source-text.ts'
import type { Conversion } from './units.ts'

export type WorkingConversion = Extract<Conversion, { ok: true }>

export interface Measurement {
  readonly rule: string
  readonly value: MeasuredValue
  /** Name of the value's field, for messages. */
  readonly field: string | undefined
  readonly conversion: WorkingConversion
  readonly observedAt: ObservedAt
  /** The reference range as it stands in the export, with the unit (as spelled) that the value is in. */
  readonly range?: { readonly text: string; readonly unit: string } | undefined
}

export type MeasurementWriter = (measurement: Measurement, facts: RowFacts) => RuleResult

/**
 * Constant text of a measurement is folded here, once for each catalog entry.
 * @param readNumber how numbers of the reference range are written
 */
export function compileMeasurement(
  context: CompileContext,
  entry: BiometricEntry,
  source: SourceText,
  sourceType: string,
  readNumber: NumberReader,
): MeasurementWriter {
  const coding = { code: entry.loinc, codeSystem: CODE_SYSTEM_OID.LOINC, codeSystemName: 'LOINC' }
  const beforeDate = `,"name":${JSON.stringify(entry.name)},"observationDate":"`
  const beforeRange = `","codeSystem":"${coding.codeSystem}","codeSystemName":"LOINC","code":"${entry.loinc}","codes":${JSON.stringify(
    [{ ...coding, name: entry.name }],
  )},`
  const beforeValue = '"type":"Observation","value":'
  const unit = `,"unit":${JSON.stringify(entry.unit)},`
  const afterValue = unit + source.beforeKey
  const codes = [entry.loinc]
  const [low, high] = entry.range
  const outside = (rule: string, value: number, field: string | undefined): Issue | undefined => {
    const issue: Issue = {
      stage: 'transform',
      code: 'value-out-of-range',
      message: `the value is outside the plausible range ${low} to ${high} ${entry.unit}`,
      ...(field === undefined ? {} : { field }),
    }
    // What no double can hold is no measurement, whatever the mapping says.
    return Number.isFinite(value) ? context.checks.found('plausible-range', 'biometric', rule, issue) : issue
  }

  return ({ rule, value: measured, field, conversion, observedAt, range }, facts) => {
    if (!measured.ok) return rejected('biometric', rule, measured.code, VALUE_MESSAGES[measured.code], field)
    const { text, note } = measured
    const converted = conversion.same ? Number(text) : conversion.convert(Number(text))
    const value = conversion.same ? text : converted.toFixed(entry.decimals)
    if (!observedAt.ok)
      return { kind: 'rejected', rejected: { kind: 'biometric', rule, issue: observedAt.issue } }
    if (!(converted >= low && converted <= high)) {
      const issue = outside(rule, converted, field)
      if (issue !== undefined) return { kind: 'rejected', rejected: { kind: 'biometric', rule, issue } }
    }
    const ranged = range === undefined ? '' : rangeText(context, range, readNumber, conversion, entry)
    const behind = note === undefined ? afterValue : unit + source.withNote(note)
    return {
      kind: 'record',
      record: {
        kind: 'biometric',
        rule,
        account: facts.account,
        series: `${facts.account.reference}\u0000${entry.loinc}\u0000${sourceType}`,
        observedAt: observedAt.at,
        sourceType,
        content: `${facts.accountJson}${beforeDate}${observedAt.iso}${beforeRange}${ranged}${beforeValue}${value}${behind}${facts.keyJson}${source.afterKey}`,
        evidence: { codes, name: entry.name, value, unit: entry.unit },
      },
    }
  }
}

/**
 * The range as text, and its bounds where they can be read and are in the unit of the value, converted along with it. Text
 * that is in another unit than the value sent says so.
 */
function rangeText(
  context: CompileContext,
  { text, unit }: NonNullable<Measurement['range']>,
  readNumber: NumberReader,
  conversion: WorkingConversion,
  entry: BiometricEntry,
): string {
  const range = parseReferenceRange(text, readNumber)
  const bare = range === undefined ? /\d/.test(text) : range.unit === ''
  const told = conversion.same || !bare ? text : `${text} ${unit}`
  const refRange = `"refRange":${JSON.stringify(told)},`
  if (range === undefined) return refRange
  if (range.unit !== '' && context.units.resolve(range.unit) !== context.units.resolve(unit)) return refRange
  const bound = (name: string, number: string | undefined): string => {
    if (number === undefined) return ''
    const value = conversion.same ? number : conversion.convert(Number(number)).toFixed(entry.decimals)
    return `"${name}":${value},`
  }
  return bound('refHigh', range.high) + bound('refLow', range.low) + refRange
}
