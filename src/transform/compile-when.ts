/** Conditions of a mapping (`when`, `skipWhen`) compiled into predicates over a row. */
import { RE2JS } from 're2js'
import type { KeyPath } from '../yaml-file.ts'
import type { CompileContext } from './compile-context.ts'
import { compileInstant } from './dates.ts'
import { COMPARISONS, type TestDefinition, type WhenDefinition } from './field-definition.ts'
import { compareNumbers, type NumberReader, parseNumberText } from './numbers.ts'
import { branchOf, type Scope } from './scope.ts'

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
  const { read, branch } = context.locate(name, path)
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
