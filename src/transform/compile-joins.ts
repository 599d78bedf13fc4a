/**
 * Joins: a table of `mappings/tables` read by key, so that fields of the row it leads to can be named (`providers.NPI`).
 * A table is held in memory, and therefore bounded; as it is part of the mapping's snapshot, a run maps with one table.
 */
import type { KeyPath } from '../yaml-file.ts'
import type { CompileContext } from './compile-context.ts'
import { compileField } from './compile-field.ts'
import { type CompiledField, EMPTY, type FieldText } from './field-text.ts'
import type { Join, Sheet } from './join.ts'
import type { JoinDefinition } from './mapping-definition.ts'
import type { Scope } from './scope.ts'

export const LARGEST_SHEET = { rows: 200_000, characters: 64 * 1024 * 1024 } as const

const NOT_FOUND: FieldText = { ok: false, code: 'value-not-in-join' }

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
    context.joins.set(name, compileJoin(context, definition, path))
  }
}

function compileJoin(context: CompileContext, definition: JoinDefinition, path: KeyPath): Join {
  const on = compileField(context, definition.on, [...path, 'on'])
  const sheet = context.sheets.get(definition.table)
  if (sheet === undefined) {
    context.report([...path, 'table'], `there is no table "${definition.table}" in mappings/tables`)
    return { field: () => undefined, columns: [] }
  }
  const rows = indexRows(context, sheet, definition, path)
  const missing = definition.missing === 'reject' ? NOT_FOUND : EMPTY
  const field = (column: string): CompiledField | undefined => {
    const at = sheet.columns.indexOf(column)
    if (at < 0) return undefined
    const read = (scope: Scope): FieldText => {
      const key = on.read(scope)
      if (!key.ok || key.text === '') return key
      const row = rows.get(key.text)
      if (row === undefined) return missing
      const text = row[at] ?? ''
      return text === '' || context.isBlank(text) ? EMPTY : { ok: true, text }
    }
    return { from: on.from, depth: on.depth, read }
  }
  return { field, columns: sheet.columns }
}

function indexRows(
  context: CompileContext,
  sheet: Sheet,
  { table, key }: JoinDefinition,
  path: KeyPath,
): ReadonlyMap<string, readonly string[]> {
  const rows = new Map<string, readonly string[]>()
  const at = sheet.columns.indexOf(key)
  if (at < 0) {
    context.report(
      [...path, 'key'],
      `${table}.csv has no column "${key}"; it has: ${sheet.columns.join(', ')}`,
    )
    return rows
  }
  let characters = 0
  for (const row of sheet.rows) {
    for (const cell of row) characters += cell.length
    const value = row[at] ?? ''
    if (value === '') continue
    if (rows.has(value)) {
      context.report([...path, 'key'], `two rows of ${table}.csv have the same "${key}": a join needs one`)
      return rows
    }
    rows.set(value, row)
  }
  if (sheet.rows.length > LARGEST_SHEET.rows || characters > LARGEST_SHEET.characters) {
    context.report(
      [...path, 'table'],
      `${table}.csv is too large to be held in memory: at most 200,000 rows and 64 MiB; leave out what is not needed`,
    )
  }
  return rows
}
