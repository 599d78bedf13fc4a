/** Joins within the row's own document: a reference in it leads to another part of it, as in a FHIR Bundle. */
import type { JsonValue } from '../model/row.ts'
import type { KeyPath } from '../yaml-file.ts'
import type { CompileContext } from './compile-context.ts'
import { compileField } from './compile-field.ts'
import { DOUBLED, fieldByKey } from './field-by-key.ts'
import type { CompiledField } from './field-text.ts'
import type { Join } from './join.ts'
import { compileSteps, elements, followAll } from './json-steps.ts'
import type { JoinDefinition } from './mapping-definition.ts'
import { jsonNames } from './scope.ts'

export function joinDocument(
  context: CompileContext,
  definition: JoinDefinition & { readonly within: string },
  on: CompiledField,
  path: KeyPath,
): Join {
  const inner = context.under(jsonNames({}, () => undefined))
  const key = compileField(inner, definition.key, [...path, 'key'])
  const elementsOf = compileElements(context, definition.within, [...path, 'within'])
  const index = (document: JsonValue): ReadonlyMap<string, JsonValue | typeof DOUBLED> => {
    const rows = new Map<string, JsonValue | typeof DOUBLED>()
    for (const element of elementsOf(document)) {
      const found = key.read([element, null])
      if (!found.ok || found.text === '') continue
      const before = rows.get(found.text)
      const same = before === undefined || JSON.stringify(before) === JSON.stringify(element)
      rows.set(found.text, same ? element : DOUBLED)
    }
    return rows
  }
  // Rows come one after another: that of the last one serves all fields of all its levels.
  let last: { readonly document: JsonValue; readonly rows: ReturnType<typeof index> } | undefined
  const find = (
    of: string,
    [document = null]: readonly JsonValue[],
  ): JsonValue | typeof DOUBLED | undefined => {
    if (last === undefined || last.document !== document) last = { document, rows: index(document) }
    return last.rows.get(of)
  }
  return {
    field(rest, reading) {
      const { read } = inner.locate(`$${rest}`, reading)
      return fieldByKey(context, on, definition, find, (element) => read([element, null]))
    },
  }
}

/** All that a path leads to; unlike that of a field, it may have `[*]` anywhere. A lone object stands for a list of one. */
function compileElements(
  context: CompileContext,
  written: string,
  path: KeyPath,
): (document: JsonValue) => readonly JsonValue[] {
  try {
    if (!written.startsWith('$')) throw new Error(`"${written}" must start with $`)
    const [first = '', ...rest] = written.split('[*]')
    const start = compileSteps(first, written)
    const further = rest.map((part) => compileSteps(`$${part}`, written))
    return (document) =>
      further
        .reduce<readonly JsonValue[]>(
          (found, steps) => found.flatMap(elements).flatMap((one) => followAll(one, steps)),
          followAll(document, start),
        )
        .flatMap(elements)
  } catch (error) {
    context.report(path, error instanceof Error ? error.message : String(error))
    return () => []
  }
}
