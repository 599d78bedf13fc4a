/**
 * Expressions (JSONata, docs/mapping.md). An expression sees the row alone, gives equal results for equal rows, and ends. The cost of an
 * evaluation is counted in steps and in produced units, not in time (docs/decisions/0023-expressions-pay.md).
 */
import { createRequire } from 'node:module'
import type jsonata from 'jsonata'
import { RE2JS } from 're2js'
import { fault } from '../model/record.ts'
import type { KeyPath } from '../system/yaml-file.ts'
import { type CompileContext, type CompiledField, type FieldText, NOT_SCALAR } from './compile-context.ts'
import { branchOf, type Scope } from './scope.ts'

/**
 * Names refused because of clock, chance, the machine's zone, or code known only at run time. The last two are JSONata's own hooks,
 * used here to bound an evaluation.
 */
const REFUSED: ReadonlySet<unknown> = new Set([
  'now',
  'millis',
  'toMillis',
  'random',
  'shuffle',
  'eval',
  '__evaluate_entry',
  '__evaluate_exit',
])

/** Loads JSONata with the first expression: few mappings have any. The package's types lack the option. */
type Parse = (text: string, options: { readonly RegexEngine: unknown }) => jsonata.Expression

const parse = (written: string): jsonata.Expression => {
  const parseWith: Parse = createRequire(import.meta.url)('jsonata')
  return parseWith(written, { RegexEngine: LinearPattern })
}

const FAILED = fault('expression-failed', 'the expression fails on this row')
const WITHOUT_OPERAND = fault('expression-failed', 'a calculation of the expression lacks an operand')
const TOO_COSTLY = fault(
  'expression-too-costly',
  'the expression takes too many steps on this row, or makes too much of it',
)

/** Nodes and functions that may read columns without naming any. */
const SEES_ALL: ReadonlySet<unknown> = new Set([
  ...['wildcard', 'descendant', '', '$', 'each', 'keys', 'lookup', 'merge', 'sift', 'spread'],
])

/** Compiles one expression; problems go to the context's findings. */
export function compileExpression(context: CompileContext, written: string, path: KeyPath): CompiledField {
  const nowhere: CompiledField = { from: written, branch: 0, read: () => '' }
  let expression: jsonata.Expression
  let nodes: readonly Node[]
  try {
    expression = parse(written)
    nodes = [...nodesOf(expression.ast())]
    for (const { value } of nodes) if (value instanceof RegExp) new LinearPattern(value)
  } catch (error) {
    context.report(path, `is no expression: ${reasonOf(error)}`)
    return nowhere
  }
  const named = new Set(nodes.flatMap(({ type, value }) => (type === 'variable' ? [String(value)] : [])))
  for (const name of named) {
    if (REFUSED.has(name)) context.report(path, `$${name} is unknown: an expression sees the row alone`)
    if (context.joins.has(name))
      context.report(path, `"${name}" is a join: an expression sees the row alone; read it by { from: … }`)
  }
  const variables = [...context.names.variables].filter(([name]) => named.has(name))
  const evaluate = bounded(expression, nodes, parse)
  const { faultOf } = context.names
  const seesAll = nodes.some(({ type, value }) => SEES_ALL.has(type === 'variable' ? value : type))
  const isRead = (column: string): boolean => seesAll || written.includes(column)
  return {
    from: written,
    branch: branchOf(...variables.map(([, variable]) => variable)),
    read(scope) {
      const bindings = Object.fromEntries(variables.map(([name, { place }]) => [name, scope[place]]))
      const subject = context.names.subject(scope, (cell) => context.blanks.has(cell))
      if (faultOf !== undefined)
        for (const [column, cell] of Object.entries(subject ?? {})) {
          const fault = isRead(column) && typeof cell === 'string' ? faultOf(cell) : undefined
          if (fault !== undefined) return fault
        }
      return asText(context, evaluate, subject, bindings)
    },
  }
}

function asText(
  context: CompileContext,
  evaluate: Evaluate,
  subject: Scope[number],
  bindings: Readonly<Record<string, unknown>>,
): FieldText {
  let value: unknown
  try {
    value = evaluate(subject, bindings)
  } catch (error) {
    return error instanceof TooCostly ? TOO_COSTLY : FAILED
  }
  if (value === undefined && meter.isIncomplete) return WITHOUT_OPERAND
  if (value === undefined || value === null) return ''
  if (typeof value === 'number' && !Number.isFinite(value)) return FAILED
  const text = textOf(value)
  if (text === undefined) return NOT_SCALAR
  return context.blanks.has(text) ? '' : text
}

/** Formats numbers like JSONata's own $string: 15 significant digits. */
function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value.trim()
  if (typeof value === 'number') return String(Number(value.toPrecision(15)))
  return typeof value === 'boolean' ? String(value) : undefined
}

function* nodesOf(node: unknown): Generator<Node> {
  if (typeof node !== 'object' || node === null) return
  yield node
  for (const inner of Object.values(node)) yield* nodesOf(inner)
}

/** Reason of a JSONata error: an object with a message, and the place as a number of characters. */
function reasonOf(error: unknown): string {
  if (typeof error !== 'object' || error === null || !('message' in error)) return String(error)
  const place = 'position' in error ? `, at character ${String(error.position)}` : ''
  return `${String(error.message)}${place}`
}

const MOST_STEPS = 100_000
const DEEPEST = 500
/** Units of eight to about twenty bytes: a number, eight characters of a text. */
const MOST_UNITS = 2_000_000
/** Units of a list or an object, without its content. */
const CONTAINER = 8

/** Thrown where the expression does not end, or makes too much of a row. */
class TooCostly extends Error {
  override readonly name = 'TooCostly'
}

type Sizes = WeakMap<object, number> | undefined

/** Sizes of finished values, each measured once. Not for transformations, which change their copies. */
const SIZES: Sizes = new WeakMap()

const meter = { steps: 0, depth: 0, units: 0, filled: new Set<Node>(), isIncomplete: false }

/** Pays before the running evaluation does some work. @throws TooCostly */
function spend(units: number): void {
  meter.units += units
  if (!(meter.units <= MOST_UNITS)) throw new TooCostly('the expression makes too much of the row')
}

/** A node of a parsed expression. */
interface Node {
  readonly type?: unknown
  readonly condition?: unknown
  readonly value?: unknown
  readonly lhs?: unknown
  readonly rhs?: unknown
}

/**
 * Notes calculations with a filled operand and an empty one: JSONata gives them no result, and the filled one would be lost. A path in
 * the condition of `? :` is no operand.
 */
function operandWatch(nodes: readonly Node[]): (node: Node, result: unknown) => void {
  const pathsIn = (node: unknown): Node[] => {
    if (typeof node !== 'object' || node === null) return []
    const { condition, ...parts }: Node = node
    return [...(parts.type === 'path' ? [node] : []), ...Object.values(parts).flatMap(pathsIn)]
  }
  const sums = nodes.filter(({ type, value }) => type === 'binary' && /^[-+*/%]$/.test(String(value)))
  const operands = new Map(sums.map((sum) => [sum, [sum.lhs, sum.rhs].flatMap(pathsIn)]))
  const watched = new Set([...operands.values()].flat())
  return (node, result) => {
    // JSONata's empty sequence is no result.
    const isEmpty = result === undefined || (Array.isArray(result) && result.length === 0)
    if (watched.has(node)) meter.filled[isEmpty ? 'delete' : 'add'](node)
    else if (isEmpty && operands.get(node)?.some((path) => meter.filled.has(path))) meter.isIncomplete = true
  }
}

type Evaluate = (subject: unknown, bindings: Readonly<Record<string, unknown>>) => unknown

interface BuiltIn {
  readonly _jsonata_function: true
  readonly implementation: (this: unknown, ...args: unknown[]) => unknown
}

/**
 * Bounds the cost of an expression.
 * @param nodes all nodes of the expression
 * @param parse parses an expression with the options of this one
 * @returns an evaluation that throws `TooCostly` beyond a bound
 */
function bounded(
  expression: jsonata.Expression,
  nodes: readonly Node[],
  parse: (text: string) => jsonata.Expression,
): Evaluate {
  const sizes = nodes.some(({ type }) => type === 'transform') ? undefined : SIZES
  const watchOperands = operandWatch(nodes)
  const compared = new Set<unknown>(
    nodes.flatMap(({ type, value, lhs, rhs }) =>
      type === 'binary' && ['=', '!=', 'in'].includes(String(value)) ? [lhs, rhs] : [],
    ),
  )
  for (const name of new Set(
    nodes.flatMap(({ type, value }) => (type === 'variable' ? [String(value)] : [])),
  )) {
    const known: unknown = name === '' || name === '$' ? undefined : parse(`$${name}`).evaluate({})
    if (isBuiltIn(known)) expression.assign(name, paidFor(name, known, sizes))
  }
  expression.assign('__evaluate_entry', () => {
    meter.steps += 1
    meter.depth += 1
    if (meter.steps > MOST_STEPS || meter.depth > DEEPEST)
      throw new TooCostly('the expression takes too many steps')
  })
  // JSONata's own hook: called at the end of every step, with its result.
  expression.assign(
    '__evaluate_exit',
    (node: Node, _input: unknown, _environment: unknown, result: unknown) => {
      meter.depth -= 1
      pay(result, sizes)
      watchOperands(node, result)
      if (compared.has(node)) spend(sizeOf(result, sizes))
    },
  )
  return (subject, bindings) => {
    meter.filled.clear()
    Object.assign(meter, { steps: 0, depth: 0, units: 0, isIncomplete: false })
    return expression.evaluate(subject, bindings)
  }
}

/** Pays for a result; a value measured before is paid for already. */
function pay(made: unknown, sizes: Sizes): void {
  if (typeof made === 'string') spend(made.length / 8)
  else if (typeof made === 'object' && made !== null && sizes?.get(made) === undefined)
    spend(sizeOf(made, sizes))
}

const lengthOf = (value: unknown): number =>
  typeof value === 'string' || Array.isArray(value) ? value.length : 0

/** Estimate for pictures: each character may become a part. */
const pictured = (args: readonly unknown[]): number =>
  20 * args.reduce<number>((sum, arg) => sum + lengthOf(arg), 0)

/** Units that a call may produce beyond the length of its arguments. */
const GROWTH: Readonly<Record<string, (args: readonly unknown[], sizes: Sizes) => number>> = {
  pad: ([, width, by]) => (Math.abs(Number(width)) * (lengthOf(by) + 1)) / 8,
  join: ([items, separator]) => (lengthOf(items) * lengthOf(separator)) / 8,
  replace: ([text, , by]) => (typeof by === 'string' ? (lengthOf(text) + 1) * by.length : 0) / 8,
  formatNumber: pictured,
  formatInteger: pictured,
  parseInteger: pictured,
  fromMillis: pictured,
  distinct: ([items], sizes) => lengthOf(items) * sizeOf(items, sizes),
  string: ([value], sizes) => sizeOf(value, sizes),
  boolean: ([value], sizes) => sizeOf(value, sizes),
  not: ([value], sizes) => sizeOf(value, sizes),
}

function paidFor(name: string, known: BuiltIn, sizes: Sizes): object {
  const { implementation } = known
  const growth = GROWTH[name]
  const paid = function (this: unknown, ...args: unknown[]): unknown {
    spend(args.reduce<number>((sum, arg) => sum + lengthOf(arg) / 8, 1) + (growth?.(args, sizes) ?? 0))
    const result = implementation.apply(this, args)
    pay(result, sizes)
    return result
  }
  // JSONata takes the number of arguments, and their names, from the function's text.
  paid.toString = () => String(implementation)
  return { ...known, implementation: paid, arity: implementation.length }
}

function isBuiltIn(value: unknown): value is BuiltIn {
  return typeof value === 'object' && value !== null && '_jsonata_function' in value
}

/**
 * Units of a value as a tree: a part that occurs twice counts twice.
 * @param sizes cache of known sizes; undefined where values change
 * @throws TooCostly where the value is larger than the limit
 */
function sizeOf(value: unknown, sizes: Sizes): number {
  let left = MOST_UNITS
  const measure = (one: unknown): number => {
    if (typeof one === 'string') return 1 + one.length / 8
    if (typeof one !== 'object' || one === null || isFunction(one)) return 1
    const known = sizes?.get(one)
    if (known !== undefined) return known
    let size = CONTAINER
    for (const inner of Array.isArray(one) ? one : Object.values(one)) {
      left -= 1
      size += measure(inner)
      if (left < 0 || size > MOST_UNITS) throw new TooCostly('the expression makes too much of the row')
    }
    sizes?.set(one, size)
    return size
  }
  return measure(value)
}

/** True for functions: a function counts as one unit, whatever its closure. */
const isFunction = (value: object): boolean => '_jsonata_lambda' in value || '_jsonata_function' in value

/** Limit of characters in one search with the simplest expression. */
const MOST_TEXT = 2_000_000

/** Units of a search, beside the searched text. */
const SEARCH = 20

const compiled = new WeakMap<RegExp, RE2JS>()

/**
 * A regular expression within an expression, on RE2 like all regular expressions here. Offers the parts of a RegExp with the flag
 * `g` that JSONata needs.
 */
class LinearPattern {
  lastIndex = 0
  readonly #expression: RE2JS

  /** @throws Error where RE2 does not support a part of the expression */
  constructor(written: RegExp) {
    const { source, ignoreCase, multiline } = written
    const flags = (ignoreCase ? RE2JS.CASE_INSENSITIVE : 0) | (multiline ? RE2JS.MULTILINE : 0)
    this.#expression = compiled.get(written) ?? RE2JS.compile(source, flags)
    compiled.set(written, this.#expression)
  }

  exec(text: string): ((string | undefined)[] & { readonly index: number }) | null {
    const from = this.lastIndex
    const cost = 1 + this.#expression.programSize() / 16
    // Costs the full text without a match, else the text up to the end of the match.
    if (text.length - from > MOST_TEXT / cost) spend(Number.POSITIVE_INFINITY)
    const matcher = this.#expression.matcher(text)
    const found = matcher.find(from)
    this.lastIndex = found ? matcher.end() : 0
    spend(SEARCH + ((found ? matcher.end() : text.length) - from) * cost)
    if (!found) return null
    const groups = Array.from(
      { length: this.#expression.groupCount() + 1 },
      (_, at) => matcher.group(at) ?? undefined,
    )
    return Object.assign(groups, { index: matcher.start() })
  }
}
