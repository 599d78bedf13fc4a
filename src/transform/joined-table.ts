/**
 * Joins to a table of `mappings/tables`. It is held in memory, and therefore bounded; as it is part of the mapping's snapshot, a run
 * maps with one table.
 */
import type { KeyPath } from '../yaml-file.ts'
import type { CompileContext } from './compile-context.ts'
import { fieldByKey, nowhere } from './field-by-key.ts'
import type { CompiledField } from './field-text.ts'
import type { Join, Sheet } from './join.ts'
import type { JoinDefinition } from './mapping-definition.ts'

/** What may be held of a table, or kept of an export. */
export const LARGEST_JOIN = { rows: 200_000, characters: 64 * 1024 * 1024 } as const

interface TableJoin extends JoinDefinition {
  readonly table: string
}

export function joinTable(
  context: CompileContext,
  definition: TableJoin,
  on: CompiledField,
  path: KeyPath,
): Join {
  const sheet = context.sheets.get(definition.table)
  if (sheet === undefined) {
    context.report([...path, 'table'], `there is no table "${definition.table}" in mappings/tables`)
    return { field: () => nowhere(on) }
  }
  const rows = indexRows(context, sheet, definition, path)
  return {
    field(rest, reading) {
      const at = rest.startsWith('.') ? sheet.columns.indexOf(rest.slice(1)) : -1
      if (at >= 0)
        return fieldByKey(
          context,
          on,
          definition,
          (key) => rows.get(key),
          (row) => row[at] ?? '',
        )
      const name = `${path.at(-1)}${rest}`
      context.report(reading, `"${name}" leads to no column of the join; it has: ${sheet.columns.join(', ')}`)
      return nowhere(on)
    },
  }
}

function indexRows(
  context: CompileContext,
  sheet: Sheet,
  { table, key }: TableJoin,
  path: KeyPath,
): ReadonlyMap<string, readonly string[]> {
  const rows = new Map<string, readonly string[]>()
  const at = typeof key === 'string' ? sheet.columns.indexOf(key) : -1
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
  if (sheet.rows.length > LARGEST_JOIN.rows || characters > LARGEST_JOIN.characters) {
    context.report(
      [...path, 'table'],
      `${table}.csv is too large to be held in memory: at most 200,000 rows and 64 MiB; leave out what is not needed`,
    )
  }
  return rows
}
