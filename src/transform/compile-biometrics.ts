/** Biometric rules: wide (a column is a measurement) and long (a coded row, or element, is one). */
import type { KeyPath } from '../yaml-file.ts'
import type { BiometricEntry } from './catalog.ts'
import { compileCoded } from './compile-code.ts'
import type { CompileContext } from './compile-context.ts'
import { compileField } from './compile-field.ts'
import { type CompiledCondition, compileWhen } from './compile-when.ts'
import { INCH } from './feet-and-inches.ts'
import { type CompiledField, FIELD_MESSAGES, type FieldText } from './field-text.ts'
import type { LongBiometricDefinition, RowBlock, WideBiometricDefinition } from './mapping-definition.ts'
import { compileValue } from './measured-value.ts'
import { compileMeasurement, type MeasurementWriter } from './measurement.ts'
import { compileNumber, type NumberReader } from './number-text.ts'
import { type CompiledDate, compileDate, type ObservedAt } from './observed-at.ts'
import {
  type CompiledRule,
  LEFT_OUT,
  ordinalRule,
  type RowFacts,
  type RuleResult,
  recordRule,
  rejected,
} from './rule.ts'
import type { Scope } from './scope.ts'
import type { SourceText } from './source-text.ts'
import type { Conversion } from './units.ts'

/** What wide and long rules have in common, compiled. */
interface Measured {
  readonly condition: CompiledCondition
  readonly value: CompiledField
  readonly readValue: ReturnType<typeof compileValue>
  readonly readNumber: NumberReader
  readonly unit: CompiledUnit
  readonly range: CompiledField | undefined
  readonly date: CompiledDate | undefined
  readonly depth: number
}

function compileMeasured(
  context: CompileContext,
  definition: WideBiometricDefinition | LongBiometricDefinition,
  value: CompiledField,
  unit: CompiledUnit,
  path: KeyPath,
  row: RowBlock,
): Measured {
  const condition = compileWhen(context, definition.when, [...path, 'when'])
  const { observedAt, refRange } = definition
  const date = observedAt && compileDate(context, observedAt, [...path, 'observedAt'])
  const range = refRange === undefined ? undefined : compileField(context, refRange, [...path, 'refRange'])
  return {
    condition,
    value,
    readValue: compileValue(definition, row),
    readNumber: compileNumber(definition.number ?? row.number),
    unit,
    range,
    date,
    depth: Math.max(condition.depth, value.depth, unit.depth, range?.depth ?? 0, date?.depth ?? 0),
  }
}

/** The unit that a value is in: always the same, or read. */
interface CompiledUnit {
  readonly depth: number
  readonly from: string | undefined
  /** The unit as spelled; '' where there is none. */
  readonly read: (scope: Scope) => FieldText
  /** How a fixed unit converts to that of the catalog; undefined where it must be read. */
  readonly fixed: Conversion | undefined
}

const fixedUnit = (spelling: string, fixed: Conversion | undefined): CompiledUnit => ({
  depth: 0,
  from: undefined,
  read: () => ({ ok: true, text: spelling }),
  fixed,
})

const readUnit = (field: CompiledField): CompiledUnit => ({ ...field, fixed: undefined })

/** From the value's text, which is not empty, to the record. */
function measure(
  context: CompileContext,
  parts: Measured,
  rule: string,
  text: string,
  entry: BiometricEntry,
  write: MeasurementWriter,
  scope: Scope,
  facts: RowFacts,
  rowDate: ObservedAt,
): RuleResult {
  const { value, unit, range, date } = parts
  const measured = parts.readValue(text)
  if (measured === LEFT_OUT) return LEFT_OUT
  const conversion = unit.fixed ?? unitConversion(context, entry, unit.read(scope))
  if (!conversion.ok) return rejected('biometric', rule, conversion.code, conversion.message, unit.from)
  const observedAt = date?.read(scope) ?? rowDate
  const measurement = { rule, value: measured, field: value.from, conversion, observedAt }
  if (range === undefined) return write(measurement, facts)
  const told = range.read(scope)
  if (!told.ok) return rejected('biometric', rule, told.code, FIELD_MESSAGES[told.code], range.from)
  if (told.text === '') return write(measurement, facts)
  const spelling = unit.read(scope)
  return write({ ...measurement, range: { text: told.text, unit: spelling.ok ? spelling.text : '' } }, facts)
}

export function compileWideBiometric(
  context: CompileContext,
  rule: string,
  definition: WideBiometricDefinition,
  path: KeyPath,
  source: SourceText,
  row: RowBlock,
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
  const value = compileField(context, definition, path)
  const unit = compileWideUnit(context, rule, definition, entry, path)
  const parts = compileMeasured(context, definition, value, unit, path, row)
  const write = compileMeasurement(context, entry, source, row.source.type, parts.readNumber)
  const { condition, depth } = parts
  return {
    depth,
    apply(scope, facts, rowDate, ordinals) {
      const text = value.read(scope)
      if ((text.ok && text.text === '') || !condition.holds(scope)) return undefined
      const name = recordRule(rule, depth, ordinals)
      if (!text.ok) return rejected('biometric', name, text.code, FIELD_MESSAGES[text.code], value.from)
      return measure(context, parts, name, text.text, entry, write, scope, facts, rowDate)
    },
  }
}

/** A bare word is the unit itself; without one, the value is in the catalog's unit. */
function compileWideUnit(
  context: CompileContext,
  rule: string,
  definition: WideBiometricDefinition,
  entry: BiometricEntry,
  path: KeyPath,
): CompiledUnit {
  const unit = definition.form === undefined ? (definition.unit ?? entry.unit) : INCH
  if (typeof unit !== 'string') return readUnit(compileField(context, unit, [...path, 'unit']))
  const fixed = context.units.conversion(unit, entry.unit, entry.molarMass)
  if (!fixed.ok) {
    const hint = fixed.code === 'unit-unknown' ? `; if it is a column, write { from: ${unit} }` : ''
    context.report(
      [...path, definition.form === undefined ? 'unit' : 'form'],
      `unit of ${rule}: ${fixed.message}${hint}`,
    )
  }
  return fixedUnit(unit, fixed)
}

export function compileLongBiometric(
  context: CompileContext,
  definition: LongBiometricDefinition,
  path: KeyPath,
  source: SourceText,
  row: RowBlock,
): CompiledRule {
  const code = compileCoded(context, definition, 'biometrics', path)
  const value = compileField(context, definition.value, [...path, 'value'])
  const unit =
    definition.unit === undefined
      ? fixedUnit(INCH, undefined)
      : readUnit(compileField(context, definition.unit, [...path, 'unit']))
  const parts = compileMeasured(context, definition, value, unit, path, row)
  const status = definition.status && compileField(context, definition.status, [...path, 'status'])
  const kept = new Set(definition.status?.keep ?? [])
  const writers = new Map<string, { entry: BiometricEntry; write: MeasurementWriter }>()
  for (const [key, entry] of context.catalog.biometrics) {
    const write = compileMeasurement(context, entry, source, row.source.type, parts.readNumber)
    writers.set(key, { entry, write })
  }

  return {
    depth: Math.max(code.depth, parts.depth, status?.depth ?? 0),
    apply(scope, facts, rowDate, ordinals) {
      if (!parts.condition.holds(scope)) return LEFT_OUT
      const state = status?.read(scope)
      if (state !== undefined && !(state.ok && kept.has(state.text))) return LEFT_OUT
      const found = code.read(scope)
      if (found === LEFT_OUT) return LEFT_OUT
      if (!found.ok)
        return rejected('biometric', ordinalRule('unmapped', ordinals), found.code, found.message, code.from)
      const writer = writers.get(found.key)
      if (writer === undefined) return LEFT_OUT
      const text = value.read(scope)
      // Without a code, nothing says that there should be a value.
      if (text.ok && text.text === '' && definition.code === undefined) return LEFT_OUT
      const rule = ordinalRule(found.key, ordinals)
      if (!text.ok) return rejected('biometric', rule, text.code, FIELD_MESSAGES[text.code], value.from)
      if (text.text === '')
        return rejected('biometric', rule, 'value-missing', 'there is no value', value.from)
      return measure(context, parts, rule, text.text, writer.entry, writer.write, scope, facts, rowDate)
    },
  }
}

function unitConversion(context: CompileContext, entry: BiometricEntry, unit: FieldText): Conversion {
  if (!unit.ok) return { ok: false, code: 'unit-unknown', message: `unit: ${FIELD_MESSAGES[unit.code]}` }
  if (unit.text === '') return { ok: false, code: 'unit-unknown', message: 'there is no unit' }
  return context.units.conversion(unit.text, entry.unit, entry.molarMass)
}
