/** Biometric rules: wide (a column is a measurement) and long (a coded row, or element, is one); the reference range last. */

import { PERCENT_FORMAT } from '../model/cell-fault.ts'
import { Entry, FINAL } from '../model/entry.ts'
import {
  createFrame,
  type Fault,
  fault,
  type RecordFrame,
  type RejectedRecord,
  type RowFacts,
} from '../model/record.ts'
import type { KeyPath } from '../system/yaml-file.ts'
import { type BiometricEntry, codingsOfMeasurement } from './catalog.ts'
import { type CompiledCode, compileCoded } from './compile-code.ts'
import {
  CellWithoutValue,
  type CompileContext,
  type CompiledField,
  type FieldText,
  NOT_SCALAR,
} from './compile-context.ts'
import type { CompiledDate, ObservedAt } from './compile-date.ts'
import { compileField, compileUnlisted } from './compile-field.ts'
import type {
  FieldDefinition,
  LongBiometricDefinition,
  WideBiometricDefinition,
} from './mapping-definition.ts'
import {
  compareNumbers,
  compileNumber,
  compileValue,
  type NotedValue,
  type NumberReader,
  parseReferenceRange,
} from './numbers.ts'
import {
  type CompiledRule,
  compileApplies,
  isListed,
  type LeftOut,
  leftOutAsWithdrawn,
  listedAs,
  ordinalRule,
  type RuleResult,
  type RuleSite,
  recordRule,
  rejected,
} from './rule.ts'
import { branchOf, type Scope } from './scope.ts'
import type { Conversion } from './units.ts'
import { compileWhole, OF_VALUE, type Unread } from './whole-value.ts'

/** Parts in which wide and long rules differ. */
interface Form {
  readonly subject: CompiledCode
  readonly value: CompiledField
  /** Columns or paths of the value. */
  readonly valueReads: readonly string[]
  readonly unit: CompiledUnit
  /** Reads the state of a result: kept, withdrawn or left out. */
  readonly status?: CompiledStatus | undefined
  /** True where a missing value is no fault. */
  readonly optional: boolean
  /** Possible measurements of the records, by catalog key. */
  readonly entries: ReadonlyMap<string, BiometricEntry>
}

interface CompiledStatus {
  readonly branch: number
  /** Rank of a kept result (`Entry.rank`); for a withdrawn result a `LeftOut` other than `NOT_KEPT`. */
  readonly read: (scope: Scope) => number | LeftOut
}

/** Unit of a value; `fixed`: its conversion to the catalog's unit, where both are constant. */
interface CompiledUnit extends CompiledField {
  readonly fixed?: Conversion
}

const constantUnit = (spelling: string): CompiledUnit => ({
  from: undefined,
  branch: 0,
  read: () => spelling,
})

/** Unit in brackets at the end of a heading. */
const HEADING = /[([]([^()[\]]{2,}|%)[)\]]$/
const unitOfHeading = (heading: string): string => HEADING.exec(heading)?.[1] ?? ''

const OTHER_UNIT = fault(
  'unit-mismatch',
  'the heading, a line below it, or the format of its cells gives another unit than the mapping',
)

function wideForm(site: RuleSite, definition: WideBiometricDefinition): Form | undefined {
  const { context, name = '', path } = site
  const key = definition.catalog ?? name
  const entry = context.catalog.biometrics.get(key)
  const subject = compileCoded(context, definition, 'biometrics', path, site.name)
  if (entry === undefined) return undefined
  const { result: value, read: valueReads } = context.readsOf(() =>
    compileField(context, definition, path, 'cell'),
  )
  const common = { subject, value, valueReads, optional: true, entries: new Map([[key, entry]]) }
  // A bare word is the unit itself; without a unit, the value is in the catalog's unit.
  const unit = definition.form === undefined ? (definition.unit ?? entry.unit) : INCH
  if (typeof unit !== 'string') return { ...common, unit: compileField(context, unit, [...path, 'unit']) }
  if (unit === definition.unit) context.word(unit, [...path, 'unit'])
  const fixed = context.units.conversion(unit, entry.unit, entry.molarMass, entry.loinc)
  if (!fixed.ok) {
    const hint = fixed.code === 'unit-unknown' ? `; if it is a column, write { from: ${unit} }` : ''
    const at = definition.form === undefined ? 'unit' : 'form'
    context.report([...path, at], `unit of ${name}: ${fixed.message}${hint}`)
  }
  const { from } = definition
  const below = from === undefined ? [] : (context.names.textsBelow?.(from) ?? [])
  const headings = context.names.trails === undefined ? valueReads.map(unitOfHeading) : []
  // A unit in the mapping has the word where the heading is wrong; two headings cannot both be right.
  const isGiven = definition.unit !== undefined || definition.form !== undefined
  const told = isGiven ? headings : [unit, ...headings]
  const isOther =
    (definition.form === undefined && areOther(context, entry, told)) ||
    (!isGiven && headings.some((text) => isOfAnother(context, entry, text))) ||
    (unit === '%' && below.includes(PERCENT_FORMAT)) ||
    below.some((text) => areOther(context, entry, [unit, text.replace(/^[([](.*)[)\]]$/, '$1')]))
  const read = (scope: Scope): FieldText => (value.read(scope) === '' ? '' : OTHER_UNIT)
  return {
    ...common,
    value: isOther ? { ...value, read } : value,
    unit: { ...constantUnit(unit), fixed },
  }
}

function longForm(site: RuleSite, definition: LongBiometricDefinition): Form {
  const { context, path } = site
  const { unit, status, code } = definition
  const subject = compileCoded(context, definition, 'biometrics', path, site.name)
  const { result: value, read: valueReads } = context.readsOf(() =>
    compileField(context, definition.value, [...path, 'value'], 'cell'),
  )
  return {
    subject,
    value,
    valueReads,
    unit: unit === undefined ? constantUnit(INCH) : compileField(context, unit, [...path, 'unit']),
    status: status && compileStatus(context, status, [...path, 'status']),
    optional: code === undefined,
    entries: context.catalog.biometrics,
  }
}

const NOT_KEPT: LeftOut = { leftOut: 'status' }

/** States that come before and after `final`, in capitals (HL7 table 0085; FHIR R4, ObservationStatus). */
const BEFORE_FINAL = ['P', 'R', 'S', 'I', 'PRELIMINARY', 'REGISTERED', 'PARTIAL']
const BEHIND_FINAL = ['C', 'CORRECTED', 'AMENDED']

const rankOf = (text: string): number => {
  const state = text.toUpperCase()
  return BEFORE_FINAL.includes(state) ? FINAL - 1 : BEHIND_FINAL.includes(state) ? FINAL + 1 : FINAL
}

function compileStatus(
  context: CompileContext,
  definition: NonNullable<LongBiometricDefinition['status']>,
  path: KeyPath,
): CompiledStatus {
  const state = compileField(context, definition, path)
  const kept = new Map<FieldText, number>(definition.keep.map((text) => [text, rankOf(text)]))
  const withdrawn = new Map<FieldText, LeftOut>(
    definition.withdrawn?.map((text) => [text, { leftOut: `status ${text}` }]),
  )
  const unlisted = compileUnlisted([...definition.keep, ...(definition.withdrawn ?? [])])
  const both = definition.withdrawn?.find((text) => kept.has(text))
  if (both !== undefined)
    context.report(
      [...path, 'withdrawn'],
      `"${both}" is under keep, too: a state is either kept or withdrawn`,
    )
  return {
    branch: state.branch,
    read(scope) {
      const text = decisiveText(state, context, scope)
      const known = kept.get(text) ?? withdrawn.get(text)
      const fault = known === undefined && typeof text === 'string' ? unlisted(text) : undefined
      if (fault !== undefined) throw new CellWithoutValue(fault, state.from ?? '')
      return known ?? NOT_KEPT
    },
  }
}

const COMPARATOR: LeftOut = { leftOut: 'comparator' }
const NO_VALUE = fault('value-missing', 'there is no value')

/** Compiles a wide or a long rule; undefined where its key is not in the catalog (reported). */
export function compileBiometric(
  site: RuleSite,
  written: string | WideBiometricDefinition | LongBiometricDefinition,
): CompiledRule | undefined {
  const definition = typeof written === 'string' ? { from: written } : written
  const { context, name, row } = site
  const readNumber = compileNumber(definition.number ?? row.number, context.exponents)
  const { result: parts, read } = context.readsOf(() => compileParts(site, definition, readNumber))
  if (parts === undefined) return undefined
  const { form, range } = parts
  const { condition, date, otherwise } = parts.applies
  const { subject, value, unit, status, optional, entries } = form
  const reads = [...site.rowReads, ...read]
  const wholeOf = compileWhole(context, 'value', form.valueReads, reads, [row.ignore, definition.ignore])
  const branch = branchOf(subject, condition, value, unit, range, date, status)
  const readValue = compileValue(definition, row, context.exponents)
  const measured = { value, unit, range, date, readNumber }
  const writers = new Map(
    [...entries].map(([key, entry]) => [
      key,
      compileMeasurement(site, entry, { ...measured, listed: listedAs(name, key, branch) }),
    ]),
  )

  /** Withdraws a result without its value, which may be missing by now. */
  const takeBack = (
    { leftOut }: LeftOut,
    key: ReturnType<CompiledCode['read']>,
    scope: Scope,
    facts: RowFacts,
    rowDate: ObservedAt,
    ordinals: Map<string, number>,
  ): LeftOut => {
    const frame = typeof key === 'string' ? writers.get(key)?.frameOf() : undefined
    if (typeof key !== 'string' || frame === undefined) return { leftOut }
    const observedAt = date === undefined ? rowDate : date.read(scope)
    return leftOutAsWithdrawn(frame, recordRule(name, key, branch, ordinals), facts, observedAt, leftOut)
  }

  return {
    branch,
    dateOf: isListed(name, branch) ? (scope, rowDate) => date?.read(scope) ?? rowDate : undefined,
    apply(scope, facts, rowDate, ordinals) {
      const cell = optional && wholeOf === undefined ? value.read(scope) : undefined
      if (cell === '' || !condition.holds(scope)) return otherwise
      const state = status?.read(scope)
      if (state === NOT_KEPT) return state
      const key = subject.read(scope)
      if (typeof state === 'object') return takeBack(state, key, scope, facts, rowDate, ordinals)
      if (typeof key === 'object' && 'leftOut' in key) return key
      if (typeof key !== 'string')
        return rejected('biometric', ordinalRule('unmapped', ordinals), key, subject.from)
      const text = cell ?? value.read(scope)
      const whole = wholeOf?.()
      const beside = whole?.unread(scope, text !== '')
      if (text === '' && optional && beside === undefined) return otherwise
      const rule = recordRule(name, key, branch, ordinals)
      if (beside !== undefined) return unread(rule, beside)
      if (typeof text !== 'string' || text === '')
        return rejected('biometric', rule, text || NO_VALUE, value.from)
      const measured = readValue(whole?.isHl7 === true ? text.replace(/^=\s*/, '') : text)
      if (measured === undefined) return COMPARATOR
      if (whole !== undefined && areOther(context, entries.get(key), whole.unitsOf(scope)))
        return unread(rule, whole.isHl7 ? { ...OTHER_UNITS, part: 'OBX-6' } : OTHER_UNITS)
      const made = writers.get(key)?.write(rule, measured, scope, facts, rowDate)
      if (state !== undefined && state !== FINAL && made instanceof Entry) made.rank = state
      return made
    },
    // A rule for a single measurement recognises its elements only by its condition.
    unread(scope, ordinals) {
      if (optional) return undefined
      if (typeof status?.read(scope) === 'object') return undefined
      const left = wholeOf?.()?.unread(scope, false)
      const key = left === undefined ? undefined : subject.read(scope)
      return left === undefined || typeof key !== 'string'
        ? undefined
        : unread(recordRule(name, key, branch, ordinals), left)
    },
  }
}

const unread = (rule: string, { fault, part }: Unread): RejectedRecord =>
  rejected('biometric', rule, fault, part)

/** Compiles all that a rule reads. */
function compileParts(
  site: RuleSite,
  definition: WideBiometricDefinition | LongBiometricDefinition,
  readNumber: NumberReader,
) {
  const form = 'value' in definition ? longForm(site, definition) : wideForm(site, definition)
  if (form === undefined) return undefined
  const range = compileRange(site, definition, readNumber)
  return { form, applies: compileApplies(site, definition), range }
}

/** Parts read beside the value. */
interface Parts {
  readonly value: CompiledField
  readonly unit: CompiledUnit
  readonly range: CompiledRange | undefined
  readonly date: CompiledDate | undefined
  /** Reads numbers of the reference range. */
  readonly readNumber: NumberReader
  readonly listed: string | undefined
}

interface MeasurementWriter {
  readonly frameOf: () => RecordFrame
  readonly write: (
    rule: string,
    value: string | NotedValue | Fault,
    scope: Scope,
    facts: RowFacts,
    rowDate: ObservedAt,
  ) => RuleResult
}

/** Writes the record of one measurement (interface, "Biometric record, as sent"). */
function compileMeasurement(
  { context, source }: RuleSite,
  entry: BiometricEntry,
  { value: { from }, unit, range, date, readNumber, listed }: Parts,
): MeasurementWriter {
  const { loinc, name, unit: written } = entry
  const codings = codingsOfMeasurement(entry)
  // Date, reference range and value fill the gaps between the pieces.
  const before = [
    `,"name":${JSON.stringify(name)},"observationDate":"`,
    `","codeSystem":"${codings[0].codeSystem}","codeSystemName":"LOINC","code":"${loinc}","codes":${JSON.stringify(codings)},`,
    '"type":"Observation","value":',
  ]
  const unitText = `,"unit":${JSON.stringify(written)},`
  const common = {
    kind: 'biometric' as const,
    codes: [loinc],
    name,
    unit: written,
    listedAs: listed,
  }
  const framesOf = source.each(({ type: sourceType, beforeKey, afterKey, withNote }) => ({
    plain: createFrame({
      ...common,
      sourceType,
      pieces: [...before, unitText + beforeKey, afterKey],
      holes: ['iso', 0, 'value'],
    }),
    // A note belongs to the source object, as part of the row's content.
    noted: createFrame({
      ...common,
      sourceType,
      pieces: [...before, unitText, '', afterKey],
      holes: ['iso', 0, 'value', 1],
    }),
    withNote,
  }))
  const [low, high] = entry.range
  const OUTSIDE = fault(
    'value-out-of-range',
    `the value is outside the plausible range ${low} to ${high} ${entry.unit}`,
  )

  const write: MeasurementWriter['write'] = (rule, measured, scope, facts, rowDate) => {
    const conversion = unit.fixed ?? conversionOf(context, entry, unit.read(scope))
    if (!conversion.ok) return rejected('biometric', rule, conversion, unit.from)
    const bounds = range?.read(scope)
    if (bounds !== undefined && 'fault' in bounds)
      return rejected('biometric', rule, bounds.fault, bounds.from)
    if (typeof measured === 'object' && 'code' in measured) return rejected('biometric', rule, measured, from)
    const text = typeof measured === 'string' ? measured : measured.text
    if (entry.unit === 'cm' && FEET_DOT_INCHES.test(text) && isFoot(context, unit.read(scope)))
      return rejected('biometric', rule, FEET_OR_INCHES, from)
    const converted = conversion.same ? Number(text) : conversion.convert(Number(text))
    const value = conversion.same ? text : converted.toFixed(entry.decimals)
    const observedAt = date === undefined ? rowDate : date.read(scope)
    if (!observedAt.ok) return { kind: 'biometric', rule, issue: observedAt.issue }
    if (!(converted >= low && converted <= high)) {
      const outside = { ...rejected('biometric', rule, OUTSIDE, from), value: converted }
      // A value beyond the range of a double is no measurement, whatever the mapping's checks.
      if (!Number.isFinite(converted)) return outside
      const issue = context.checks.found('plausible-range', 'biometric', rule, outside.issue)
      if (issue !== undefined) return outside
    }
    const ranged = bounds === undefined ? '' : rangeText(context, bounds, unit.read(scope), readNumber, entry)
    if (typeof ranged !== 'string') return rejected('biometric', rule, ranged, undefined)
    const { plain, noted, withNote } = framesOf()
    if (typeof measured !== 'string')
      return new Entry(noted, rule, facts, observedAt, value, [ranged, withNote(measured.note)])
    return new Entry(plain, rule, facts, observedAt, value, ranged === '' ? NO_RANGE : [ranged])
  }
  return { frameOf: () => framesOf().plain, write }
}

/** `5.11` in feet may be 5 feet 11 inches; `5.25` is not. */
/** UCUM code of the unit of a height in feet and inches. */
const INCH = '[in_i]'
const FEET_DOT_INCHES = /^\d\.(?:0?[1-9]|1[01])$/
const FEET_OR_INCHES = fault(
  'value-not-feet-and-inches',
  'the height may be in feet with decimals, or in feet and inches',
)
const isFoot = ({ units }: CompileContext, unit: FieldText): boolean =>
  typeof unit === 'string' && units.resolve(unit)?.startsWith('[ft_') === true

/** Shared by most records. */
const NO_RANGE: readonly string[] = ['']

const OTHER_UNITS: Unread = { part: 'unit', fault: OF_VALUE.units, ofValue: false }

/** True where the texts of a unit give a number different values. A text without a known unit of the measurement says nothing. */
function areOther(
  context: CompileContext,
  entry: BiometricEntry | undefined,
  texts: readonly string[],
): boolean {
  if (entry === undefined || texts.length < 2 || texts.every((text) => text === texts[0])) return false
  const [first, ...others] = texts.flatMap((text) => {
    const conversion = conversionOf(context, entry, text)
    return conversion.ok ? [conversion.convert] : []
  })
  if (first === undefined) return false
  return others.some((other) =>
    [0, 1].some((value) => {
      const [by, or] = [first(value), other(value)]
      return Math.abs(by - or) > 1e-6 * Math.max(Math.abs(by), Math.abs(or))
    }),
  )
}

/** True for a unit of other measurements, which does not convert: `mmol/mol` of HbA1c in %. */
function isOfAnother(context: CompileContext, entry: BiometricEntry, text: string): boolean {
  const unit = text === '' ? undefined : context.units.resolve(text)
  const isOfCatalog = context.catalog.biometrics.values().some((other) => other.unit === unit)
  return isOfCatalog && !conversionOf(context, entry, text).ok
}

const unknownUnit = (message: string): Conversion => ({ ok: false, code: 'unit-unknown', message })

function conversionOf(context: CompileContext, entry: BiometricEntry, unit: FieldText): Conversion {
  if (typeof unit !== 'string') return unknownUnit(`unit: ${unit.message}`)
  if (unit === '') return unknownUnit('there is no unit')
  return context.units.conversion(unit, entry.unit, entry.molarMass, entry.loinc)
}

/** Texts of a row, or ''. Bounds are JSON numbers. */
interface ReadRange {
  readonly text: string
  readonly low: string
  readonly high: string
  /** Unit of the bounds, and of a text without a unit; empty for the unit of the value. */
  readonly unit: string
}

interface CompiledRange {
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

/** A bound of FHIR, whose unit stands beside it. */
const FHIR_BOUND = /^(.*referenceRange.*\.(?:low|high))\.value$/

/** Units of a range: as the mapping says, or beside its bounds, or in their headings. */
function unitFields({ names, units }: CompileContext, { refUnit }: Ranged, reads: readonly string[]) {
  if (refUnit !== undefined) return [refUnit]
  return reads.flatMap((name): FieldDefinition[] => {
    const [, bound] = FHIR_BOUND.exec(name) ?? []
    if (bound !== undefined) return [{ firstOf: [`${bound}.code`, `${bound}.unit`] }]
    const constant = names.trails === undefined ? unitOfHeading(name) : ''
    return units.resolve(constant) === undefined ? [] : [{ constant }]
  })
}

/** Compiles the range of a rule; undefined for a rule without range. */
function compileRange(
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
 * Members of the record's JSON text, or the fault of a unit. Bounds are converted to the unit of the catalog; those from columns precede
 * those of the text. A text without a unit gets its unit where that is another than the record's.
 * @param unit of the value
 */
function rangeText(
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

/** Text of a field that decides, as a condition does. @throws CellWithoutValue */
function decisiveText(
  { read, from = '' }: CompiledField,
  { names }: CompileContext,
  scope: Scope,
): FieldText {
  const text = read(scope)
  if (typeof text !== 'string' && names.faultOf !== undefined && text !== NOT_SCALAR)
    throw new CellWithoutValue(text, from)
  return text
}
