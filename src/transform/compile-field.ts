/**
 * Fields of a mapping compiled into functions. What is done to a text is done in one order, whatever the order of the
 * keys: emptyWhen, split, extract, case, table; another order is had by a field within `firstOf`.
 */
import type { KeyPath } from '../yaml-file.ts'
import type { CompileContext } from './compile-context.ts'
import { compileExpression } from './compile-expression.ts'
import type { FieldDefinition, FieldObject, FieldSteps } from './field-definition.ts'
import { type CompiledField, EMPTY, type FieldText } from './field-text.ts'
import { compileExtract } from './pattern.ts'
import type { Reader, Scope } from './scope.ts'

const NOT_SCALAR: FieldText = { ok: false, code: 'field-not-scalar' }
const NOT_IN_TABLE: FieldText = { ok: false, code: 'value-not-in-table' }
const NOT_EXTRACTED: FieldText = { ok: false, code: 'value-not-extracted' }

const asText =
  (read: Reader): ((scope: Scope) => FieldText) =>
  (scope) => {
    const text = read(scope)
    return text === null ? NOT_SCALAR : text === '' ? EMPTY : { ok: true, text }
  }

const found = (text: string): FieldText => (text === '' ? EMPTY : { ok: true, text })

/** Compiles one field; problems go to the context's findings. */
export function compileField(
  context: CompileContext,
  definition: FieldDefinition,
  path: KeyPath,
): CompiledField {
  if (typeof definition === 'string') {
    const joined = context.joined(definition, path)
    if (joined !== undefined) return { ...joined, from: definition }
    const { read, depth } = context.locate(definition, path)
    return { from: definition, depth, read: asText(read) }
  }
  return withSteps(compileSource(context, definition, path), compileSteps(context, definition, path))
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

const withSteps = ({ from, depth, read }: CompiledField, steps: readonly Step[]): CompiledField => ({
  from,
  depth,
  read: steps.reduce(
    (before, step) => (scope: Scope) => {
      const text = before(scope)
      return text.ok && text.text !== '' ? step(text.text, text) : text
    },
    read,
  ),
})

function compileSource(context: CompileContext, definition: FieldObject, path: KeyPath): CompiledField {
  const { constant, firstOf, concat, separator = '', expression } = definition
  if (constant !== undefined) {
    const text: FieldText = { ok: true, text: constant }
    return { from: undefined, depth: 0, read: () => text }
  }
  if (expression !== undefined) return compileExpression(context, expression, [...path, 'expression'])
  if (firstOf !== undefined) {
    return combine(compileParts(context, firstOf, [...path, 'firstOf']), (parts, scope) => {
      for (const part of parts) {
        const text = part.read(scope)
        if (!text.ok || text.text !== '') return text
      }
      return EMPTY
    })
  }
  if (concat !== undefined) {
    return combine(compileParts(context, concat, [...path, 'concat']), (parts, scope) => {
      const texts: string[] = []
      for (const part of parts) {
        const text = part.read(scope)
        if (!text.ok) return text
        if (text.text !== '') texts.push(text.text)
      }
      return found(texts.join(separator))
    })
  }
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
    depth: Math.max(...parts.map((part) => part.depth)),
    read: (scope) => read(parts, scope),
  }
}

/** Takes a text that is not empty, and the same as it was read. */
type Step = (text: string, read: FieldText) => FieldText

function compileSteps(context: CompileContext, definition: FieldSteps, path: KeyPath): Step[] {
  const steps: Step[] = []
  const { emptyWhen, split, extract, case: letters, table } = definition
  if (emptyWhen !== undefined) {
    const blank = new Set(emptyWhen)
    steps.push((text, read) => (blank.has(text) ? EMPTY : read))
  }
  if (split !== undefined) {
    const at = split.take > 0 ? split.take - 1 : split.take
    steps.push((text) => found(text.split(split.by).at(at)?.trim() ?? ''))
  }
  if (extract !== undefined) {
    const match = compileExtract(extract)
    steps.push((text) => {
      const matched = match(text)
      return matched === undefined ? NOT_EXTRACTED : found(matched.trim())
    })
  }
  if (letters === 'upper') steps.push((text) => found(text.toUpperCase()))
  if (letters === 'lower') steps.push((text) => found(text.toLowerCase()))
  if (table !== undefined) {
    const values = context.table(table, [...path, 'table'])
    steps.push((text) => {
      const value = values.get(text)
      return value === undefined ? NOT_IN_TABLE : { ok: true, text: value }
    })
  }
  return steps
}
