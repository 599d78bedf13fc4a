/**
 * Expressions (JSONata, docs/mapping.md): the way out where the language has no words. They see the row and nothing else, give the
 * same for the same row wherever and whenever, and end (expression-bounds.ts).
 */
import { createRequire } from 'node:module'
import type jsonata from 'jsonata'
import type { KeyPath } from '../yaml-file.ts'
import type { CompileContext } from './compile-context.ts'
import { bounded, type Evaluate, type Node, TooCostly } from './expression-bounds.ts'
import { LinearPattern } from './expression-pattern.ts'
import { type CompiledField, EMPTY, type FieldText } from './field-text.ts'
import type { Scope } from './scope.ts'

/** By clock, chance, or the machine's zone; or not known before it runs. The last two are JSONata's own hooks, which bound it. */
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

/** Loaded with the first expression: hardly a mapping has any. The option, which holds for all expressions, is not in the package's types. */
type Parse = (text: string, options: { readonly RegexEngine: unknown }) => jsonata.Expression

const parse = (written: string): jsonata.Expression => {
  const parseWith: Parse = createRequire(import.meta.url)('jsonata')
  return parseWith(written, { RegexEngine: LinearPattern })
}

const FAILED: FieldText = { ok: false, code: 'expression-failed' }
const TOO_COSTLY: FieldText = { ok: false, code: 'expression-too-costly' }
const NOT_SCALAR: FieldText = { ok: false, code: 'field-not-scalar' }

/** Compiles one expression; problems go to the context's findings. */
export function compileExpression(context: CompileContext, written: string, path: KeyPath): CompiledField {
  const nowhere: CompiledField = { from: written, depth: 0, read: () => EMPTY }
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
    if (REFUSED.has(name))
      context.report(path, `$${name} is not known here: an expression sees the row alone`)
    if (context.joins.has(name))
      context.report(path, `"${name}" is a join: an expression sees the row alone; read it by { from: … }`)
  }
  const variables = [...context.names.variables].filter(([name]) => named.has(name))
  const evaluate = bounded(expression, nodes, parse)
  return {
    from: written,
    depth: Math.max(0, ...variables.map(([, { depth }]) => depth)),
    read(scope) {
      const bindings = Object.fromEntries(variables.map(([name, { place }]) => [name, scope[place]]))
      const subject = context.names.subject(scope, (cell) => context.isBlank(cell))
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
  if (value === undefined || value === null) return EMPTY
  if (typeof value === 'number' && !Number.isFinite(value)) return FAILED
  const text = textOf(value)
  if (text === undefined) return NOT_SCALAR
  return text === '' || context.isBlank(text) ? EMPTY : { ok: true, text }
}

/** Numbers as JSONata's own $string prints them: 15 significant digits. */
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

/** JSONata throws objects with a message, and the place as a number of characters. */
function reasonOf(error: unknown): string {
  if (typeof error !== 'object' || error === null || !('message' in error)) return String(error)
  const place = 'position' in error ? `, at character ${String(error.position)}` : ''
  return `${String(error.message)}${place}`
}
