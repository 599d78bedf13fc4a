/**
 * What the evaluation of one expression may cost, in steps and in what it makes: counted, not timed, so that a row gives the same on every
 * machine. Each value that a step gives is paid for before the next step can make more of it, and so is each call that can make much of
 * little: no single step makes more than JSONata's longest range, of ten million numbers.
 */
import type jsonata from 'jsonata'

const MOST_STEPS = 100_000
const DEEPEST = 500
/** Of units, each of eight to some twenty bytes: a number, eight characters of a text. */
const MOST_UNITS = 2_000_000
/** A list or an object, beside what is in it. */
const CONTAINER = 8

/** The expression does not end, or makes too much of a row. */
export class TooCostly extends Error {
  override readonly name = 'TooCostly'
}

type Sizes = WeakMap<object, number> | undefined

/** Of values as they are once made, so that the same part of a row is measured once. A transformation changes what it has copied. */
const SIZES: Sizes = new WeakMap()

const meter = { steps: 0, depth: 0, units: 0 }

/** Pays for work that the running evaluation is about to do. @throws TooCostly */
export function spend(units: number): void {
  meter.units += units
  if (!(meter.units <= MOST_UNITS)) throw new TooCostly('the expression makes too much of the row')
}

/** A node of a parsed expression. */
export interface Node {
  readonly type?: unknown
  readonly value?: unknown
  readonly lhs?: unknown
  readonly rhs?: unknown
}

export type Evaluate = (subject: unknown, bindings: Readonly<Record<string, unknown>>) => unknown

interface BuiltIn {
  readonly _jsonata_function: true
  readonly implementation: (this: unknown, ...args: unknown[]) => unknown
}

/**
 * @param nodes of the expression, all of them
 * @param parse of an expression, with the same options
 * @returns an evaluation that throws `TooCostly` where it passes a bound
 */
export function bounded(
  expression: jsonata.Expression,
  nodes: readonly Node[],
  parse: (text: string) => jsonata.Expression,
): Evaluate {
  const sizes = nodes.some(({ type }) => type === 'transform') ? undefined : SIZES
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
    if (meter.steps > MOST_STEPS || meter.depth > DEEPEST) throw new TooCostly('the expression does not end')
  })
  // JSONata's own hook, which is told of every step that ends, and of what it gave.
  expression.assign(
    '__evaluate_exit',
    (node: Node, _input: unknown, _environment: unknown, result: unknown) => {
      meter.depth -= 1
      pay(result, sizes)
      if (compared.has(node)) spend(sizeOf(result, sizes))
    },
  )
  return (subject, bindings) => {
    Object.assign(meter, { steps: 0, depth: 0, units: 0 })
    return expression.evaluate(subject, bindings)
  }
}

/** For what was made; what was measured before was paid for. */
function pay(made: unknown, sizes: Sizes): void {
  if (typeof made === 'string') spend(made.length / 8)
  else if (typeof made === 'object' && made !== null && sizes?.get(made) === undefined)
    spend(sizeOf(made, sizes))
}

const lengthOf = (value: unknown): number =>
  typeof value === 'string' || Array.isArray(value) ? value.length : 0

/** Each character of a picture may become a part. */
const pictured = (args: readonly unknown[]): number =>
  20 * args.reduce<number>((sum, arg) => sum + lengthOf(arg), 0)

/** What a call may make of its arguments beyond their own length, in units. */
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
  // JSONata reads how many arguments it takes, and their names from its text.
  paid.toString = () => String(implementation)
  return { ...known, implementation: paid, arity: implementation.length }
}

function isBuiltIn(value: unknown): value is BuiltIn {
  return typeof value === 'object' && value !== null && '_jsonata_function' in value
}

/**
 * Units of a value as a tree: what stands in it twice counts twice.
 * @param sizes known ones, which are added to; undefined where values change
 * @throws TooCostly where it is larger than all that may be made
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

/** As a value it is one, whatever it closes over. */
const isFunction = (value: object): boolean => '_jsonata_lambda' in value || '_jsonata_function' in value
