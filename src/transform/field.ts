/** Fields of a mapping compiled into functions: read, blank out, look up. */
import type { KeyPath } from '../yaml-file.ts'
import type { CompileContext } from './compile-context.ts'
import type { ConditionDefinition, FieldDefinition } from './mapping-definition.ts'
import type { Reader, Scope } from './scope.ts'

/** Text of a field; '' where it is empty. */
export type FieldText =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly code: 'field-not-scalar' | 'value-not-in-table' }

export interface CompiledField {
  /** Name of the column or path, for messages; undefined for a constant. */
  readonly from: string | undefined
  readonly depth: number
  readonly read: (scope: Scope) => FieldText
}

const EMPTY: FieldText = { ok: true, text: '' }
const NOT_SCALAR: FieldText = { ok: false, code: 'field-not-scalar' }
const NOT_IN_TABLE: FieldText = { ok: false, code: 'value-not-in-table' }

const asText =
  (read: Reader): ((scope: Scope) => FieldText) =>
  (scope) => {
    const text = read(scope)
    return text === null ? NOT_SCALAR : text === '' ? EMPTY : { ok: true, text }
  }

/** Compiles one field; problems go to the context's findings. */
export function compileField(
  context: CompileContext,
  definition: FieldDefinition,
  path: KeyPath,
): CompiledField {
  if (typeof definition === 'string') {
    const { read, depth } = context.locate(definition, path)
    return { from: definition, depth, read: asText(read) }
  }
  if ('constant' in definition) {
    const constant: FieldText = { ok: true, text: definition.constant }
    return { from: undefined, depth: 0, read: () => constant }
  }
  const { read, depth } = context.locate(definition.from, [...path, 'from'])
  const blank = new Set(definition.emptyWhen ?? [])
  const table =
    definition.table === undefined ? undefined : context.table(definition.table, [...path, 'table'])
  return {
    from: definition.from,
    depth,
    read: (scope) => {
      const text = read(scope)
      if (text === null) return NOT_SCALAR
      if (text === '' || blank.has(text)) return EMPTY
      if (table === undefined) return { ok: true, text }
      const found = table.get(text)
      return found === undefined ? NOT_IN_TABLE : { ok: true, text: found }
    },
  }
}

export interface CompiledCondition {
  readonly depth: number
  readonly holds: (scope: Scope) => boolean
}

/** Compiles a `when` or `skipWhen`: all of its lines must hold; no lines, and it holds. */
export function compileCondition(
  context: CompileContext,
  definition: ConditionDefinition | undefined,
  path: KeyPath,
): CompiledCondition {
  const lines = Object.entries(definition ?? {}).map(([name, wanted]) => {
    const { read, depth } = context.locate(name, [...path, name])
    if (wanted === 'present') return { depth, holds: (scope: Scope) => read(scope) !== '' }
    if (wanted === 'absent') return { depth, holds: (scope: Scope) => read(scope) === '' }
    const values = new Set(typeof wanted === 'string' ? [wanted] : wanted)
    return {
      depth,
      holds: (scope: Scope) => {
        const text = read(scope)
        return text !== null && values.has(text)
      },
    }
  })
  const [only] = lines
  return {
    depth: Math.max(0, ...lines.map((line) => line.depth)),
    holds: lines.length === 1 && only ? only.holds : (scope) => lines.every((line) => line.holds(scope)),
  }
}
