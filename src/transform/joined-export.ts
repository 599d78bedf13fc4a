/**
 * Joins to a second export. Compiled once without it, to learn what is read of its rows; then it is read (job/joined-exports.ts), and the
 * mapping is compiled with what was kept.
 */
import { WaybillError } from '../model/errors.ts'
import type { KeyPath } from '../yaml-file.ts'
import type { CompileContext } from './compile-context.ts'
import { compileField } from './compile-field.ts'
import { fieldByKey } from './field-by-key.ts'
import type { CompiledField } from './field-text.ts'
import type { ExportJoin, Join } from './join.ts'
import type { JoinDefinition } from './mapping-definition.ts'
import { refuseMissing } from './missing-columns.ts'
import { ANY_NAMES, csvNames, jsonNames, rootScope } from './scope.ts'

interface ToExport extends JoinDefinition {
  readonly export: string
  readonly read: NonNullable<JoinDefinition['read']>
}

export function joinExport(
  context: CompileContext,
  name: string,
  definition: ToExport,
  on: CompiledField,
  path: KeyPath,
): Join {
  const csv = definition.read.format === 'csv'
  const documents = jsonNames({}, () => undefined)
  const nameOf = (field: string): string => (csv ? field.replace(/^\./, '') : `$${field}`)
  const checked = context.under(csv ? ANY_NAMES : documents)
  compileField(checked, definition.key, [...path, 'key'])

  const fields: string[] = []
  const kept = context.kept?.get(name)
  const bind: ExportJoin['bind'] = (columns = [], exportName) => {
    const sought = { missing: new Set<string>(), found: new Set<string>() }
    const inner = context.under(csv ? csvNames(columns, sought.missing, sought.found) : documents)
    const key = compileField(inner, definition.key, [...path, 'key'])
    const cells = fields.map((field) => inner.locate(nameOf(field), path))
    refuseMissing(sought, exportName, columns, `the join ${name} of the mapping`)
    return (row) => {
      const scope = rootScope(row)
      const found = key.read(scope)
      if (!found.ok || found.text === '') return undefined
      return { key: found.text, cells: cells.map(({ read }) => read(scope)) }
    }
  }
  context.exportJoins.push({ name, export: definition.export, fields, bind })
  return {
    field(rest, reading) {
      checked.locate(nameOf(rest), reading)
      if (!fields.includes(rest)) fields.push(rest)
      const at = kept?.fields.indexOf(rest) ?? -1
      return fieldByKey(
        context,
        on,
        definition,
        (key) => kept?.rows.get(key),
        (row) => row[at] ?? null,
      )
    },
  }
}

/** @throws WaybillError `export-join-missing`: without what it joins, a mapping would take all of it for empty */
export function refuseUnread({ exportJoins: [first], kept }: CompileContext): void {
  if (first === undefined || kept !== undefined) return
  throw new WaybillError(
    'export-join-missing',
    `The mapping joins ${first.export}, and there is no export beside which it lies.`,
  )
}
