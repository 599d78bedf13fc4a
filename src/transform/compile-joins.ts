/** Joins: rows of a table, of a second export, or of the row's own document, found by key, so that their fields can be named. */
import type { KeyPath } from '../yaml-file.ts'
import type { CompileContext } from './compile-context.ts'
import { compileField } from './compile-field.ts'
import type { CompiledField } from './field-text.ts'
import type { Join } from './join.ts'
import { joinDocument } from './joined-document.ts'
import { joinExport } from './joined-export.ts'
import { joinTable } from './joined-table.ts'
import type { JoinDefinition } from './mapping-definition.ts'

/** Compiles the joins of a mapping into its context; problems go to the context's findings. */
export function compileJoins(
  context: CompileContext,
  definitions: Readonly<Record<string, JoinDefinition>>,
  levels: readonly string[],
): void {
  for (const [name, definition] of Object.entries(definitions)) {
    const path = ['joins', name]
    if (levels.includes(name))
      context.report(path, `"${name}" is a level of the row already: name the join otherwise`)
    const on = compileField(context, definition.on, [...path, 'on'])
    context.joins.set(name, compileJoin(context, name, definition, on, path))
  }
}

function compileJoin(
  context: CompileContext,
  name: string,
  definition: JoinDefinition,
  on: CompiledField,
  path: KeyPath,
): Join {
  const { table, export: pattern, read, within } = definition
  if (within !== undefined) return joinDocument(context, { ...definition, within }, on, path)
  if (pattern !== undefined && read !== undefined)
    return joinExport(context, name, { ...definition, export: pattern, read }, on, path)
  return joinTable(context, { ...definition, table: table ?? '' }, on, path)
}
