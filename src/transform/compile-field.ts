/**
 * Fields, dates and conditions (`when`, `skipWhen`) of a mapping compiled into functions over a row. What is done to a text is done in one
 * order, whatever the order of the keys: emptyWhen, split, extract, case, table; another order is had by a field within `firstOf`.
 */
import { RE2JS } from 're2js'
import { type Fault, fault, type Issue, type ObservedTime } from '../model/record.ts'
import type { KeyPath } from '../yaml-file.ts'
import {
  CellWithoutValue,
  type CompileContext,
  type CompiledField,
  type FieldText,
  issueOf,
  NOT_SCALAR,
} from './compile-context.ts'
import { compileInstant, type Instant } from './dates.ts'
import { compileExpression } from './expressions.ts'
import {
  COMPARISONS,
  type DateDefinition,
  type FieldDefinition,
  type FieldObject,
  type FieldSteps,
  type TestDefinition,
  type WhenDefinition,
} from './field-definition.ts'
import { firstText, membersOf } from './json-values.ts'
import { compareNumbers, type NumberReader, parseNumberText } from './numbers.ts'
import { branchOf, type Scope } from './scope.ts'
import { isZone, zoneFault } from './zones.ts'

const NOT_IN_TABLE = fault('value-not-in-table', 'the value is not in the table')
const NOT_EXTRACTED = fault('value-not-extracted', 'the expression of `extract` does not fit the value')

/** Compiles one field; problems go to the context's findings. */
export function compileField(
  context: CompileContext,
  definition: FieldDefinition,
  path: KeyPath,
): CompiledField {
  if (typeof definition !== 'string')
    return withSteps(compileSource(context, definition, path), compileSteps(context, definition, path))
  const joined = context.joined(definition, path)
  if (joined !== undefined) return { ...joined, from: definition }
  const { read, branch } = context.locate(definition, path)
  if (context.names.faultOf === undefined)
    return { from: definition, branch, read: (scope) => read(scope) ?? NOT_SCALAR }
  return { from: definition, branch, read: (scope) => context.textOf(read(scope)) }
}

/** The parts of `firstOf`, each with what is done to the whole; of any other field, the field alone. */
export function compileAlternatives(
  context: CompileContext,
  definition: FieldObject,
  path: KeyPath,
): CompiledField[] {
  const { firstOf } = definition
  if (firstOf === undefined) return [compileField(context, definition, path)]
  const steps = compileSteps(context, definition, path)
  return compileParts(context, firstOf, [...path, 'firstOf']).map((part) => withSteps(part, steps))
}

const withSteps = ({ from, branch, read }: CompiledField, steps: readonly Step[]): CompiledField => ({
  from,
  branch,
  read: steps.reduce(
    (before, step) => (scope: Scope) => {
      const text = before(scope)
      return typeof text === 'string' && text !== '' ? step(text) : text
    },
    read,
  ),
})

function compileSource(context: CompileContext, definition: FieldObject, path: KeyPath): CompiledField {
  const { constant, firstOf, concat, separator = '', expression } = definition
  if (constant !== undefined) return { from: undefined, branch: 0, read: () => constant }
  if (expression !== undefined) return compileExpression(context, expression, [...path, 'expression'])
  if (firstOf !== undefined)
    return combine(compileParts(context, firstOf, [...path, 'firstOf']), (parts, scope) => {
      for (const part of parts) {
        const text = part.read(scope)
        if (text !== '') return text
      }
      return ''
    })
  if (concat !== undefined)
    return combine(compileParts(context, concat, [...path, 'concat']), (parts, scope) => {
      const texts: string[] = []
      for (const part of parts) {
        const text = part.read(scope)
        if (typeof text !== 'string') return text
        if (text !== '') texts.push(text)
      }
      return texts.join(separator)
    })
  return compileField(context, definition.from ?? '', [...path, 'from'])
}

const compileParts = (
  context: CompileContext,
  parts: readonly FieldDefinition[],
  path: KeyPath,
): CompiledField[] => parts.map((part, at) => compileField(context, part, [...path, at]))

function combine(
  parts: readonly CompiledField[],
  read: (parts: readonly CompiledField[], scope: Scope) => FieldText,
): CompiledField {
  const names = parts.flatMap((part) => part.from ?? [])
  return {
    from: names.length === 0 ? undefined : names.join(', '),
    branch: branchOf(...parts),
    read: (scope) => read(parts, scope),
  }
}

/** Takes a text that is not empty. */
type Step = (text: string) => FieldText

function compileSteps(context: CompileContext, definition: FieldSteps, path: KeyPath): Step[] {
  const steps: Step[] = []
  const { emptyWhen, split, extract, case: letters, table, otherwise } = definition
  if (emptyWhen !== undefined) {
    const blank = new Set(emptyWhen)
    steps.push((text) => (blank.has(text) ? '' : text))
  }
  if (split !== undefined) {
    const at = split.take > 0 ? split.take - 1 : split.take
    steps.push((text) => text.split(split.by).at(at)?.trim() ?? '')
  }
  if (extract !== undefined) {
    const expression = RE2JS.compile(extract)
    const group = expression.groupCount() > 0 ? 1 : 0
    steps.push((text) => {
      const matcher = expression.matcher(text)
      return matcher.find() ? (matcher.group(group) ?? '').trim() : NOT_EXTRACTED
    })
  }
  if (letters === 'upper') steps.push((text) => text.toUpperCase())
  if (letters === 'lower') steps.push((text) => text.toLowerCase())
  if (table !== undefined) {
    const values = context.table(table, [...path, 'table'])
    steps.push((text) => values.get(text) ?? otherwise ?? NOT_IN_TABLE)
  }
  return steps
}

/** When a record was observed, in the forms that the interface wants. */
export type ObservedAt =
  | ({ readonly ok: true } & ObservedTime)
  | { readonly ok: false; readonly issue: Issue }

export interface CompiledDate {
  readonly branch: number
  readonly read: (scope: Scope) => ObservedAt
}

const DATE_MESSAGES = {
  'date-invalid': 'the date fits none of the forms that the mapping gives',
  'date-skipped-by-daylight-saving': 'this local time does not exist: the clocks were put forward over it',
  'date-doubled-by-daylight-saving': 'this local time happened twice: the clocks were put back over it',
} as const

const NO_DATE = fault('date-missing', 'there is no date')
const NO_ZONE = fault('zone-unknown', 'there is no time zone, or it is none that is known')
const OUT_OF_BOUNDS = fault('date-invalid', 'the year is out of all bounds')

/** The gateway writes its dates with four-digit years (interface, "Biometric record, as sent"). */
const EARLIEST = Date.parse('0001-01-01T00:00:00.000Z')
const LATEST = Date.parse('9999-12-31T23:59:59.999Z')

/** Compiles a date that every record may have; problems go to the context's findings. */
export function compileDate(
  context: CompileContext,
  definition: DateDefinition,
  path: KeyPath,
): CompiledDate {
  if (!('format' in definition)) {
    const constant = toObservedAt({ ok: true, at: Date.parse(definition.constant), offset: 0 }, undefined)
    return { branch: 0, read: () => constant }
  }
  const { from, branch, read } = compileField(context, definition, path)
  const missing = undated(NO_DATE, from)
  const zone = compileZone(context, definition, path)
  const unknownZone = undated(NO_ZONE, zone.from)
  const sent = definition.format.includes('HL7') ? compileInstant(['HL7'], { zone: 'UTC' }) : undefined
  const offsetOf = compileSentOffset()
  return {
    branch: branchOf({ branch }, zone),
    read: (scope) => {
      const text = read(scope)
      // An object or a list is no date.
      if (text === NOT_SCALAR) return toObservedAt({ ok: false, code: 'date-invalid' }, from)
      if (typeof text !== 'string') return undated(text, from)
      if (text === '') return missing
      if (sent !== undefined && HL7_WITHOUT_OFFSET.test(text)) {
        const offset = offsetOf(scope)
        if (offset !== '') return toObservedAt(sent(text + offset), from)
      }
      const parse = zone.parser(scope)
      return parse === undefined ? unknownZone : toObservedAt(parse(text), from)
    },
  }
}

/** A day, or a time of one; a year or a month is no time. */
const HL7_WITHOUT_OFFSET = /^\d{8,14}(?:\.\d{1,4})?$/

/** The offset of MSH-7, which is that of all times of its message without one (HL7 v2.5.1, 2.15.9.7); else ''. MSH stands in the document, or its first member. */
function compileSentOffset(): (scope: Scope) => string {
  let last: Scope[number] | undefined
  let offset = ''
  return ([document]) => {
    // The dates of a row share their message.
    if (document !== last) {
      const [within] = Object.values(membersOf(document))
      const header = membersOf(document)['MSH'] ?? membersOf(within)['MSH']
      const { '7': plain, 'MSH.7': named = plain } = membersOf(Array.isArray(header) ? header[0] : header)
      offset = /\d([+-]\d{4})$/.exec(firstText(named))?.[1] ?? ''
      last = document
    }
    return offset
  }
}

type Parse = (text: string) => Instant

/** How dates are read in the zone of a row; undefined where the row names no zone. */
interface CompiledZone {
  readonly branch: number
  readonly from: string | undefined
  readonly parser: (scope: Scope) => Parse | undefined
}

function compileZone(
  context: CompileContext,
  { format, zone, ...options }: Exclude<DateDefinition, { constant: string }>,
  path: KeyPath,
): CompiledZone {
  if (zone === undefined || typeof zone === 'string') {
    const parse = compileInstant(format, { ...options, zone })
    return { branch: 0, from: undefined, parser: () => parse }
  }
  const at = [...path, 'zone']
  const { from, branch, read } = compileField(context, zone, at)
  reportZones(context, zone, at)
  // No more than there are zones.
  const parsers = new Map<string, Parse>()
  return {
    branch,
    from,
    parser(scope) {
      const named = read(scope)
      if (typeof named !== 'string') return undefined
      let parse = parsers.get(named)
      if (parse === undefined && isZone(named)) {
        parse = compileInstant(format, { ...options, zone: named })
        parsers.set(named, parse)
      }
      return parse
    },
  }
}

/** Names of zones that the mapping itself says, where it has a field for the zone. */
function reportZones(context: CompileContext, zone: FieldObject, path: KeyPath): void {
  const { constant, otherwise, table } = zone
  const report = (key: string, name: string | undefined): void => {
    const wrong = name === undefined ? undefined : zoneFault(name)
    if (wrong !== undefined) context.report([...path, key], `"${name}" ${wrong}`)
  }
  report('constant', table === undefined ? constant : undefined)
  report('otherwise', otherwise)
  if (typeof table === 'object') for (const name of Object.values(table)) report('table', name)
  else if (table !== undefined)
    for (const name of context.tables.get(table)?.values() ?? []) report('table', name)
}

function toObservedAt(instant: Instant, field: string | undefined): ObservedAt {
  if (!instant.ok) return undated(fault(instant.code, DATE_MESSAGES[instant.code]), field)
  if (instant.at < EARLIEST || instant.at > LATEST) return undated(OUT_OF_BOUNDS, field)
  return { ok: true, at: instant.at, iso: new Date(instant.at).toISOString() }
}

const undated = (fault: Fault, field: string | undefined): ObservedAt => ({
  ok: false,
  issue: issueOf(fault, field),
})

export interface CompiledCondition {
  readonly branch: number
  readonly holds: (scope: Scope) => boolean
}

type Line = WhenDefinition[string]
type TextTest = (text: string) => boolean

/** Compiles a `when` or `skipWhen`: all of its lines must hold; no lines, and it holds. */
export function compileWhen(
  context: CompileContext,
  definition: WhenDefinition | undefined,
  path: KeyPath,
): CompiledCondition {
  return every(
    Object.entries(definition ?? {}).map(([name, line]) => compileLine(context, name, line, [...path, name])),
  )
}

function compileLine(context: CompileContext, name: string, line: Line, path: KeyPath): CompiledCondition {
  if (name === 'not' && isWhen(line)) {
    const { branch, holds } = compileWhen(context, line, path)
    return { branch, holds: (scope) => !holds(scope) }
  }
  if ((name === 'any' || name === 'all') && isWhenList(line)) {
    const parts = line.map((part, at) => compileWhen(context, part, [...path, at]))
    return name === 'all'
      ? every(parts)
      : { branch: branchOf(...parts), holds: (scope) => parts.some((part) => part.holds(scope)) }
  }
  return compileColumn(context, name, line, path)
}

function every(parts: readonly CompiledCondition[]): CompiledCondition {
  const [only] = parts
  if (parts.length === 1 && only !== undefined) return only
  return { branch: branchOf(...parts), holds: (scope) => parts.every((part) => part.holds(scope)) }
}

function compileColumn(context: CompileContext, name: string, line: Line, path: KeyPath): CompiledCondition {
  const located = context.locate(name, path)
  const { branch } = located
  const { faultOf } = context.names
  const read =
    faultOf === undefined
      ? located.read
      : (scope: Scope): string | null => {
          const text = located.read(scope)
          const fault = text === null ? undefined : faultOf(text)
          if (fault !== undefined) throw new CellWithoutValue(fault, name)
          return text
        }
  if (line === 'present') return { branch, holds: (scope) => read(scope) !== '' }
  if (line === 'absent') return { branch, holds: (scope) => read(scope) === '' }
  const test = isTest(line) ? compileTest(context, line, path) : oneOf(context, textsOf(line), path)
  return {
    branch,
    holds: (scope) => {
      const text = read(scope)
      return text !== null && test(text)
    },
  }
}

function compileTest(context: CompileContext, definition: TestDefinition, path: KeyPath): TextTest {
  const tests: TextTest[] = []
  if (definition.is !== undefined) tests.push(oneOf(context, [definition.is], [...path, 'is']))
  if (definition.in !== undefined) tests.push(oneOf(context, definition.in, [...path, 'in']))
  if (definition.matches !== undefined) {
    const expression = RE2JS.compile(definition.matches)
    tests.push((text) => expression.matcher(text).find())
  }
  const compare =
    definition.format === undefined
      ? numbers(context.readNumber)
      : instants(compileInstant(definition.format, { zone: definition.zone }), definition.zone)
  for (const comparison of COMPARISONS) {
    const bound = definition[comparison]
    if (bound === undefined) continue
    const test = compare(bound, HOLDS[comparison])
    if (typeof test === 'string') context.report([...path, comparison], test)
    else tests.push(test)
  }
  const [only] = tests
  return tests.length === 1 && only !== undefined ? only : (text) => tests.every((test) => test(text))
}

function oneOf(context: CompileContext, texts: readonly string[], path: KeyPath): TextTest {
  const blank = texts.find((text) => context.isBlank(text))
  if (blank !== undefined)
    context.report(path, `"${blank}" is empty by row.emptyWhen, so this never holds: write absent`)
  const values = new Set(texts)
  return (text) => values.has(text)
}

const HOLDS: Readonly<Record<(typeof COMPARISONS)[number], (order: number) => boolean>> = {
  '<': (order) => order < 0,
  '<=': (order) => order <= 0,
  '>': (order) => order > 0,
  '>=': (order) => order >= 0,
}

/** A test against a bound, or what is wrong with the bound. What is no number, or no date, compares with nothing. */
type Compare = (bound: string, holds: (order: number) => boolean) => TextTest | string

const numbers =
  (read: NumberReader): Compare =>
  (bound, holds) => {
    const limit = parseNumberText(bound)
    if (typeof limit !== 'string') return 'needs a number; for a date give its format, too'
    return (text) => {
      const number = read(text)
      return typeof number === 'string' && holds(compareNumbers(number, limit))
    }
  }

const instants =
  (parse: ReturnType<typeof compileInstant>, zone: string | undefined): Compare =>
  (bound, holds) => {
    const limit = compileInstant(['ISO'], { zone })(bound)
    if (!limit.ok) return 'needs a date like 2026-01-31, or a time like 2026-01-31T12:00'
    return (text) => {
      const instant = parse(text)
      return instant.ok && holds(instant.at - limit.at)
    }
  }

const isObject = (line: Line): line is TestDefinition | WhenDefinition =>
  typeof line === 'object' && !Array.isArray(line)
const isWhen = (line: Line): line is WhenDefinition => isObject(line)
const isTest = (line: Line): line is TestDefinition => isObject(line)
const isWhenList = (line: Line): line is readonly WhenDefinition[] =>
  Array.isArray(line) && typeof line[0] === 'object'

/** Texts that a line is to equal one of. */
function textsOf(line: Line): readonly string[] {
  if (typeof line === 'string') return [line]
  return Array.isArray(line) ? line.filter((text) => typeof text === 'string') : []
}
