/** Fields of what a join leads to, whatever it was read from. */
import type { CompileContext } from './compile-context.ts'
import { type CompiledField, EMPTY, type FieldText } from './field-text.ts'
import type { Cell } from './join.ts'
import type { JoinDefinition } from './mapping-definition.ts'
import type { Scope } from './scope.ts'

/** Where several rows have the key, and differ. */
export const DOUBLED = Symbol('several rows of one key')

const NOT_SCALAR: FieldText = { ok: false, code: 'field-not-scalar' }
const NOT_FOUND: FieldText = { ok: false, code: 'value-not-in-join' }
const SEVERAL_FOUND: FieldText = { ok: false, code: 'value-doubled-in-join' }

/** A field of the row that `find` gives for the key. */
export function fieldByKey<Found>(
  context: CompileContext,
  on: CompiledField,
  { missing }: Pick<JoinDefinition, 'missing'>,
  find: (key: string, scope: Scope) => Found | typeof DOUBLED | undefined,
  cell: (found: Found) => Cell,
): CompiledField {
  const notFound = missing === 'reject' ? NOT_FOUND : EMPTY
  const read = (scope: Scope): FieldText => {
    const key = on.read(scope)
    if (!key.ok || key.text === '') return key
    const found = find(key.text, scope)
    if (found === undefined) return notFound
    if (found === DOUBLED) return SEVERAL_FOUND
    const text = cell(found)
    if (text === null) return NOT_SCALAR
    return text === '' || context.isBlank(text) ? EMPTY : { ok: true, text }
  }
  return { from: on.from, depth: on.depth, read }
}

/** One that leads nowhere, which has been reported. */
export const nowhere = (on: CompiledField): CompiledField => ({ ...on, read: () => EMPTY })
