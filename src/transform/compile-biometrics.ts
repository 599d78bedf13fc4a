/** Biometric rules: wide (a column is a measurement) and long (a coded row, or element, is one). */
import type { KeyPath } from '../yaml-file.ts'
import { type BiometricEntry, CODE_SYSTEM_OID } from './catalog.ts'
import { compileCode } from './compile-code.ts'
import type { CompileContext } from './compile-context.ts'
import { compileCondition, compileField } from './field.ts'
import type { LongBiometricDefinition, WideBiometricDefinition } from './mapping-definition.ts'
import { parseNumberText } from './number-text.ts'
import { compileDate, type ObservedAt } from './observed-at.ts'
import {
  type CompiledRule,
  FIELD_MESSAGES,
  LEFT_OUT,
  ordinalRule,
  type RowFacts,
  type RuleResult,
  recordRule,
  rejected,
} from './rule.ts'
import type { SourceText } from './source-text.ts'
import type { Conversion } from './units.ts'

type WorkingConversion = Extract<Conversion, { ok: true }>

/** Makes the record of one measurement once rule, value text and conversion are known. */
type MeasurementWriter = (
  rule: string,
  raw: string,
  conversion: WorkingConversion,
  field: string | undefined,
  facts: RowFacts,
  observedAt: ObservedAt,
) => RuleResult

const VALUE_MESSAGES = {
  'value-not-a-number': 'the value is no number',
  'value-with-comparator': 'the value is a bound (below or above detection), not a number',
  'value-in-scientific-notation':
    'the value is in scientific notation, as a spreadsheet writes what it has damaged',
} as const

/** Constant text of a measurement is folded here, once for each catalog entry. */
function compileMeasurement(
  entry: BiometricEntry,
  source: SourceText,
  sourceType: string,
): MeasurementWriter {
  const coding = { code: entry.loinc, codeSystem: CODE_SYSTEM_OID.LOINC, codeSystemName: 'LOINC' }
  const beforeDate = `,"name":${JSON.stringify(entry.name)},"observationDate":"`
  const beforeValue = `","codeSystem":"${coding.codeSystem}","codeSystemName":"LOINC","code":"${entry.loinc}","codes":${JSON.stringify(
    [{ ...coding, name: entry.name }],
  )},"type":"Observation","value":`
  const afterValue = `,"unit":${JSON.stringify(entry.unit)},${source.beforeKey}`
  const codes = [entry.loinc]
  const [low, high] = entry.range
  const outOfRange = `the value is outside the plausible range ${low} to ${high} ${entry.unit}`

  return (rule, raw, conversion, field, facts, observedAt) => {
    const number = parseNumberText(raw)
    if (!number.ok) return rejected('biometric', rule, number.code, VALUE_MESSAGES[number.code], field)
    const converted = conversion.same ? Number(number.text) : conversion.convert(Number(number.text))
    const value = conversion.same ? number.text : converted.toFixed(entry.decimals)
    if (!(converted >= low && converted <= high))
      return rejected('biometric', rule, 'value-out-of-range', outOfRange, field)
    if (!observedAt.ok)
      return { kind: 'rejected', rejected: { kind: 'biometric', rule, issue: observedAt.issue } }
    return {
      kind: 'record',
      record: {
        kind: 'biometric',
        rule,
        account: facts.account,
        series: `${facts.account.reference}\u0000${entry.loinc}\u0000${sourceType}`,
        observedAt: observedAt.at,
        sourceType,
        content: `${facts.accountJson}${beforeDate}${observedAt.iso}${beforeValue}${value}${afterValue}${facts.keyJson}${source.afterKey}`,
        evidence: { codes, name: entry.name, value, unit: entry.unit },
        primary: false,
      },
    }
  }
}

export function compileWideBiometric(
  context: CompileContext,
  rule: string,
  definition: WideBiometricDefinition,
  path: KeyPath,
  source: SourceText,
  sourceType: string,
): CompiledRule | undefined {
  const key = definition.catalog ?? rule
  const entry = context.catalog.biometrics.get(key)
  if (entry === undefined) {
    context.report(
      definition.catalog === undefined ? path : [...path, 'catalog'],
      `"${key}" is not in the catalog of biometrics`,
    )
    return undefined
  }
  const field = compileField(context, { from: definition.from, emptyWhen: definition.emptyWhen }, path)
  const condition = compileCondition(context, definition.when, [...path, 'when'])
  const date =
    definition.observedAt === undefined
      ? undefined
      : compileDate(context, definition.observedAt, [...path, 'observedAt'])
  const write = compileMeasurement(entry, source, sourceType)
  const unit = definition.unit ?? entry.unit
  const unitField =
    typeof unit === 'string' ? undefined : compileField(context, unit.from, [...path, 'unit', 'from'])
  const fixed =
    typeof unit === 'string' ? context.units.conversion(unit, entry.unit, entry.molarMass) : undefined
  if (fixed && !fixed.ok) context.report([...path, 'unit'], `unit of ${rule}: ${fixed.message}`)

  const depth = Math.max(field.depth, condition.depth, date?.depth ?? 0, unitField?.depth ?? 0)
  return {
    depth,
    apply(scope, facts, observedAt, ordinals) {
      const value = field.read(scope)
      if ((value.ok && value.text === '') || !condition.holds(scope)) return undefined
      const name = recordRule(rule, depth, ordinals)
      if (!value.ok) return rejected('biometric', name, value.code, FIELD_MESSAGES[value.code], field.from)
      const conversion = fixed ?? unitConversion(context, entry, unitField?.read(scope))
      if (!conversion.ok)
        return rejected('biometric', name, conversion.code, conversion.message, unitField?.from)
      return write(name, value.text, conversion, field.from, facts, date?.read(scope) ?? observedAt)
    },
  }
}

export function compileLongBiometric(
  context: CompileContext,
  definition: LongBiometricDefinition,
  path: KeyPath,
  source: SourceText,
  sourceType: string,
): CompiledRule {
  const code = compileCode(context, definition.code, 'biometrics', [...path, 'code'])
  const valueField = compileField(context, definition.value, [...path, 'value'])
  const unitField = compileField(context, definition.unit, [...path, 'unit'])
  const condition = compileCondition(context, definition.when, [...path, 'when'])
  const date =
    definition.observedAt === undefined
      ? undefined
      : compileDate(context, definition.observedAt, [...path, 'observedAt'])
  const status =
    definition.status && compileField(context, definition.status.from, [...path, 'status', 'from'])
  const kept = new Set(definition.status?.keep ?? [])
  const writers = new Map<string, { entry: BiometricEntry; write: MeasurementWriter }>()
  for (const [key, entry] of context.catalog.biometrics) {
    writers.set(key, { entry, write: compileMeasurement(entry, source, sourceType) })
  }

  return {
    depth: Math.max(
      code.depth,
      valueField.depth,
      unitField.depth,
      condition.depth,
      date?.depth ?? 0,
      status?.depth ?? 0,
    ),
    apply(scope, facts, observedAt, ordinals) {
      if (!condition.holds(scope)) return LEFT_OUT
      const state = status?.read(scope)
      if (state !== undefined && !(state.ok && kept.has(state.text))) return LEFT_OUT
      const found = code.read(scope)
      if (found === LEFT_OUT) return LEFT_OUT
      if (!found.ok)
        return rejected('biometric', ordinalRule('unmapped', ordinals), found.code, found.message, code.from)
      const writer = writers.get(found.key)
      if (writer === undefined) return LEFT_OUT
      const rule = ordinalRule(found.key, ordinals)
      const value = valueField.read(scope)
      if (!value.ok)
        return rejected('biometric', rule, value.code, FIELD_MESSAGES[value.code], valueField.from)
      if (value.text === '')
        return rejected('biometric', rule, 'value-missing', 'there is no value', valueField.from)
      const conversion = unitConversion(context, writer.entry, unitField.read(scope))
      if (!conversion.ok)
        return rejected('biometric', rule, conversion.code, conversion.message, unitField.from)
      return writer.write(
        rule,
        value.text,
        conversion,
        valueField.from,
        facts,
        date?.read(scope) ?? observedAt,
      )
    },
  }
}

function unitConversion(
  context: CompileContext,
  entry: BiometricEntry,
  unit: ReturnType<ReturnType<typeof compileField>['read']> | undefined,
): Conversion {
  if (unit?.ok === false)
    return { ok: false, code: 'unit-unknown', message: `unit: ${FIELD_MESSAGES[unit.code]}` }
  if (unit === undefined || unit.text === '')
    return { ok: false, code: 'unit-unknown', message: 'there is no unit' }
  return context.units.conversion(unit.text, entry.unit, entry.molarMass)
}
