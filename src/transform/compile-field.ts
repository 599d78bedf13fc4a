/**
 * Compiles fields and conditions (`when`, `skipWhen`) of a mapping into functions over a row. Steps on a text run in one order: emptyWhen,
 * split, extract, case, table.
 */
import { RE2JS } from 're2js'
import { type Fault, fault, HIDES_TEXT } from '../model/record.ts'
import type { KeyPath } from '../system/yaml-file.ts'
import {
  CellWithoutValue,
  type CompileContext,
  type CompiledField,
  type FieldText,
  NOT_SCALAR,
} from './compile-context.ts'
import { compileInstant } from './dates.ts'
import { compileExpression } from './expressions.ts'
import {
  COMPARISONS,
  type FieldDefinition,
  type FieldObject,
  type FieldSteps,
  type TestDefinition,
  type WhenDefinition,
} from './mapping-definition.ts'
import { compareNumbers, type NumberReader, parseNumberText } from './numbers.ts'
import { undone } from './references.ts'
import { branchOf, type Scope } from './scope.ts'

const NOT_IN_TABLE = fault('value-not-in-table', 'the value is not in the table')
const NOT_EXTRACTED = fault('value-not-extracted', 'the expression of `extract` does not match the value')

/** Reach of a measurement's field: `split` leaves no part of the cell unread, `extract` no part of a number; or `extract` alone. */
type Reach = 'cell' | 'number'

/** Compiles one field; problems go to the context's findings. @param reach of a value of a measurement */
export function compileField(
  context: CompileContext,
  definition: FieldDefinition,
  path: KeyPath,
  reach?: Reach,
): CompiledField {
  if (typeof definition !== 'string')
    return withSteps(
      compileSource(context, definition, path, reach),
      compileSteps(context, definition, path, reach),
    )
  const joined = context.joined(definition, path)
  if (joined !== undefined) return { ...joined, from: definition }
  const { read, branch } = context.locate(definition, path)
  const steps = reach === undefined ? [] : compileBlankNumbers(context)
  const { faultOf } = context.names
  return withSteps(
    {
      from: definition,
      branch,
      read:
        faultOf === undefined ? (scope) => read(scope) ?? NOT_SCALAR : (scope) => context.textOf(read(scope)),
    },
    steps,
  )
}

/** Parts of `firstOf`, each with the steps of the whole; without `firstOf`, the field alone. */
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

function compileSource(
  context: CompileContext,
  definition: FieldObject,
  path: KeyPath,
  reach?: Reach,
): CompiledField {
  const { constant, firstOf, concat, separator = '', expression } = definition
  if (constant !== undefined) return { from: undefined, branch: 0, read: () => constant }
  if (expression !== undefined) return compileExpression(context, expression, [...path, 'expression'])
  if (firstOf !== undefined)
    return combine(
      compileParts(context, firstOf, [...path, 'firstOf'], reach, reach && 'number'),
      (parts, scope) => {
        for (const part of parts) {
          const text = part.read(scope)
          if (text !== '') return text
        }
        return ''
      },
    )
  if (concat !== undefined)
    return combine(compileParts(context, concat, [...path, 'concat'], reach), (parts, scope) => {
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

/** @param reach of a part that alone reads its column; `shared`: of parts of one column */
const compileParts = (
  context: CompileContext,
  parts: readonly FieldDefinition[],
  path: KeyPath,
  reach?: Reach,
  shared?: Reach,
): CompiledField[] => {
  const columns = parts.map((part) => (typeof part === 'string' ? part : part.from))
  const isShared = (at: number): boolean =>
    columns[at] !== undefined && columns.indexOf(columns[at]) !== columns.lastIndexOf(columns[at])
  return parts.map((part, at) => compileField(context, part, [...path, at], isShared(at) ? shared : reach))
}

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

/** Step on a non-empty text. */
type Step = (text: string) => FieldText

function compileSteps(
  context: CompileContext,
  definition: FieldObject,
  path: KeyPath,
  reach?: Reach,
): Step[] {
  const steps: Step[] = []
  const {
    from,
    expression,
    constant,
    emptyWhen,
    split,
    extract,
    case: letters,
    table,
    otherwise,
  } = definition
  if (emptyWhen !== undefined) {
    const blank = new Set(emptyWhen)
    steps.push((text) => (blank.has(text) ? '' : text))
  }
  if (split !== undefined) {
    const at = split.take > 0 ? split.take - 1 : split.take
    const isOther =
      reach === 'cell' && from !== undefined ? compileOtherParts(context, from, split) : undefined
    steps.push((text) => {
      const parts = text.split(split.by)
      return isOther?.(parts) === true ? OTHER_PARTS : (parts.at(at)?.trim() ?? '')
    })
  }
  if (extract !== undefined) {
    const pattern = RE2JS.compile(extract)
    const group = pattern.groupCount() > 0 ? 1 : 0
    // A table gives the text a meaning of its own; the result of a calculation is no cell.
    const isWhole = reach !== undefined && table === undefined && expression === undefined
    steps.push((text) => {
      const matcher = pattern.matcher(text)
      const found = matcher.find() ? (matcher.group(group) ?? '').trim() : NOT_EXTRACTED
      return isWhole && typeof found === 'string' && isCut(text, found) ? CUT : found
    })
  }
  if (letters === 'upper') steps.push((text) => text.toUpperCase())
  if (letters === 'lower') steps.push((text) => text.toLowerCase())
  if (table !== undefined) {
    const values = context.table(table, [...path, 'table'])
    const unlisted = compileUnlisted(values.keys())
    steps.push(
      (text) => values.get(text) ?? (otherwise === undefined ? NOT_IN_TABLE : (unlisted(text) ?? otherwise)),
    )
  }
  const isWord = table !== undefined || constant !== undefined
  return reach === undefined || isWord ? steps : [...steps, ...compileBlankNumbers(context, emptyWhen)]
}

/** A number without sign of plus, zeros around it, and its mark: `-9.50` is `-9,5`. */
const SPELLED = /^(?:\+|(-))?0*(\d+)(?:[.,](\d*?)0*)?$/
function numberWord(text: string): string | undefined {
  const [, sign = '', digits, fraction = ''] = SPELLED.exec(text) ?? []
  return digits === undefined
    ? undefined
    : `${/[1-9]/.test(digits + fraction) ? sign : ''}${digits}.${fraction}`
}

/** Rejects another spelling of a number that counts as empty: `999.0` of `999`. @param emptyWhen of the field, beside that of the row */
function compileBlankNumbers(context: CompileContext, emptyWhen: readonly string[] = []): Step[] {
  const numbers = new Set([...context.blanks, ...emptyWhen].flatMap((text) => numberWord(text) ?? []))
  return numbers.size === 0 ? [] : [(text) => (numbers.has(numberWord(text) ?? '') ? UNLISTED : text)]
}

const CUT = fault('value-part-unread', '`extract` takes a part of a number, or leaves its sign out')
const OTHER_PARTS = fault('value-part-unread', 'the cell has more or fewer parts than the rules read of it')

/** `<`, `≥`, `> or =`, and `<` as written in HTML. */
const COMPARATOR = /(?:[<>≤≥＜＞≦≧⩽⩾]|&[lg][te];)(?:\s*(?:or\b|\/))?\s*=?\s*/.source
/** A hyphen behind a digit is no sign. */
const MINUS = /(?<!\d\s?)[-\u2212]/.source
/** Digits in threes, or with marks; the first mark may stand before all digits: `.9`. */
const DIGITS = /(?:\d{1,3}(?:[ '’\u00a0\u2009\u202f]\d{3}(?!\d))+|[.,]?\d+)(?:[.,]\d+)*(?:e[+-]?\d+)?/.source
/** Numbers in a text, each with its comparator or sign. */
const NUMBERS = new RegExp(`(?:${COMPARATOR}|${MINUS})?${DIGITS}`, 'gi')
/** True for a number that is a part of a number of the cell: `22` of `22,5` or of `<22`. */
const isCut = (cell: string, number: string): boolean =>
  /^\d+(?:[.,]\d+)*$/.test(number) && cell.match(NUMBERS)?.includes(number) === false

/** Compiles the test for cells with other parts than all rules of the column read, from both ends. */
function compileOtherParts(
  context: CompileContext,
  column: string,
  { by, take }: NonNullable<FieldSteps['split']>,
): (parts: readonly string[]) => boolean {
  const taken = context.listedIn(`${by}\n${column}`, [String(take)])
  return (parts) => {
    if (taken.size < 2) return false
    const places = [...taken].map(Number)
    const [first, last] = [Math.max(0, ...places), Math.max(0, ...places.map((place) => -place))]
    const between = parts.slice(first, parts.length - last)
    return parts.length < first + last || between.some((part) => part.trim() !== '')
  }
}

export interface CompiledCondition {
  readonly branch: number
  readonly holds: (scope: Scope) => boolean
}

type Line = WhenDefinition[string]
type TextTest = (text: string) => boolean

/** Compiles a `when` or `skipWhen`: all lines must hold; without lines, the condition holds. */
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
  const [only, other] = parts
  if (only === undefined) return { branch: 0, holds: () => true }
  if (other === undefined) return only
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
  const test = isTest(line)
    ? compileTest(context, name, line, path)
    : oneOf(context, name, textsOf(line), path)
  return {
    branch,
    holds: (scope) => {
      const text = read(scope)
      return text !== null && test(text)
    },
  }
}

function compileTest(
  context: CompileContext,
  name: string,
  definition: TestDefinition,
  path: KeyPath,
): TextTest {
  const tests: TextTest[] = []
  if (definition.is !== undefined) tests.push(oneOf(context, name, [definition.is], [...path, 'is']))
  if (definition.in !== undefined) tests.push(oneOf(context, name, definition.in, [...path, 'in']))
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

const UNLISTED = fault(
  'spelling-unlisted',
  'the cell has another spelling of a word or number of the mapping, or of a key of the join',
  HIDES_TEXT,
)
/** Words of flags. */
const YES = /^(?:y|yes|true|1|ja|oui|s[ií]|sim|wahr|vrai|verdadeiro|verdadero|checked|[✓✔☑])$/
const NO = /^(?:n|no|false|0|nein|non|n[aã]o|falsch|faux|falso|unchecked)$/
/** No listed word is longer. */
const LONGEST_WORD = 200
/** Limit of remembered texts. */
const REMEMBERED = 1_000

/** One text for all spellings of a word: of `Yes`, `y`, `TRUE` and `1.0`; of `7`, `007` and `7.0`; of `Type 2` and `TYPE  2`. */
function wordOf(text: string): string {
  if (text.length > LONGEST_WORD) return text
  const word = undone(text.normalize('NFKC'))
    .text.toLowerCase()
    .replace(/^0*(\d+)(?:\.0+)?$/, '$1')
  return YES.test(word) ? 'yes' : NO.test(word) ? 'no' : word
}

/** Compiles the fault of texts that spell a listed word otherwise. @param listed words of the mapping */
export function compileUnlisted(listed: Iterable<string>): (text: string) => Fault | undefined {
  const words = new Set([...listed].map(wordOf))
  const others = new Set([''])
  return (text) => {
    if (others.has(text)) return undefined
    if (words.has(wordOf(text))) return UNLISTED
    if (others.size < REMEMBERED) others.add(text)
    return undefined
  }
}

/**
 * Test for listed texts. Another spelling of a listed word can be neither taken nor passed over: @throws CellWithoutValue unless
 * another condition on the column lists that spelling.
 */
function oneOf(context: CompileContext, name: string, texts: readonly string[], path: KeyPath): TextTest {
  const blank = texts.find((text) => context.blanks.has(text))
  if (blank !== undefined)
    context.report(path, `"${blank}" is empty by row.emptyWhen, so the condition never holds: write absent`)
  const values = new Set(texts)
  const listed = context.listedIn(name, texts)
  const unlisted = compileUnlisted(texts)
  return (text) => {
    if (values.has(text)) return true
    const fault = unlisted(text)
    if (fault !== undefined && !listed.has(text)) throw new CellWithoutValue(fault, name)
    return false
  }
}

const HOLDS: Readonly<Record<(typeof COMPARISONS)[number], (order: number) => boolean>> = {
  '<': (order) => order < 0,
  '<=': (order) => order <= 0,
  '>': (order) => order > 0,
  '>=': (order) => order >= 0,
}

/** Test against a bound, or the fault of the bound. A text without a number or date passes no comparison. */
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

/** Texts of a line, for an equal value. */
function textsOf(line: Line): readonly string[] {
  if (typeof line === 'string') return [line]
  return Array.isArray(line) ? line.filter((text) => typeof text === 'string') : []
}
