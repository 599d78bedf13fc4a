/** Joins: rows of a table, of a second export, or of the row's own document, found by key and read by name (docs/mapping.md, "Joins"). */

import { cellFault } from '../model/cell-fault.ts'
import { fault, HIDES_TEXT } from '../model/record.ts'
import { isTable, type JsonValue } from '../model/row.ts'
import type { KeyPath } from '../system/yaml-file.ts'
import {
  type Cell,
  type CompileContext,
  type CompiledField,
  type ExportJoin,
  NOT_SCALAR,
} from './compile-context.ts'
import { compileField, compileUnlisted } from './compile-field.ts'
import { elements } from './json-values.ts'
import type { MappingDefinition } from './mapping-definition.ts'
import {
  anyNames,
  compileSteps,
  csvNames,
  followAll,
  jsonNames,
  refuseMissing,
  rootScope,
  type Scope,
} from './scope.ts'

type JoinDefinition = NonNullable<MappingDefinition['joins']>[string]

/** Limit of a table in memory, or of the rows kept of an export. */
export const LARGEST_JOIN = { rows: 200_000, characters: 64 * 1024 * 1024 } as const

/** Result of a search for a key with several different rows. */
const DOUBLED = Symbol('several rows of one key')

/** Target of a join, whatever its source. */
interface Joined<Found> {
  /** Finds the row or element for a key; undefined where none has the key. */
  find(key: string, scope: Scope): Found | typeof DOUBLED | undefined
  /** All keys, in which another spelling of a key is recognised; a document has none: ids of FHIR differ by case. */
  keys?(): Iterable<string>
  /** Reads a field behind the join's name; undefined where the field does not exist (reported). */
  cell(rest: string, reading: KeyPath): ((found: Found) => Cell) | undefined
}

const NOT_FOUND = fault('value-not-in-join', 'the join has no row of this key')
const SEVERAL_FOUND = fault('value-doubled-in-join', 'several rows of the join have this key', HIDES_TEXT)

/** Compiles the joins of a mapping into its context; problems go to the context's findings. */
export function compileJoins(
  context: CompileContext,
  definitions: Readonly<Record<string, JoinDefinition>>,
  levels: readonly string[],
): void {
  for (const [name, definition] of Object.entries(definitions)) {
    const path = ['joins', name]
    if (levels.includes(name))
      context.report(path, `"${name}" is a level of the row: choose another name for the join`)
    const on = compileField(context, definition.on, [...path, 'on'])
    if (definition.within !== undefined) add(name, definition, on, joinDocument(context, definition, path))
    else if (definition.export !== undefined)
      add(name, definition, on, joinExport(context, name, definition, path))
    else add(name, definition, on, joinTable(context, definition, path))
  }

  function add<Found>(
    name: string,
    { missing, read }: JoinDefinition,
    on: CompiledField,
    joined: Joined<Found>,
  ): void {
    const notFound = missing === 'reject' ? NOT_FOUND : ''
    const isWorkbook = read?.format === 'xlsx'
    let unlisted: ReturnType<typeof compileUnlisted> | undefined
    const spelledOtherwise: typeof unlisted = (key) => {
      unlisted ??= compileUnlisted(joined.keys?.() ?? [])
      return unlisted(key)
    }
    context.joins.set(name, (rest, reading) => {
      const cell = joined.cell(rest, reading)
      if (cell === undefined) return { ...on, read: () => '' }
      return {
        from: on.from,
        branch: on.branch,
        read(scope) {
          const key = on.read(scope)
          if (typeof key !== 'string' || key === '') return key
          const found = joined.find(key, scope)
          if (found === undefined) return spelledOtherwise(key) ?? notFound
          if (found === DOUBLED) return SEVERAL_FOUND
          const text = cell(found)
          if (text === null) return NOT_SCALAR
          if (context.blanks.has(text)) return ''
          return (isWorkbook ? cellFault(text) : undefined) ?? text
        },
      }
    })
  }
}

/** Joins a table of `mappings/tables`, held in memory and therefore bounded. */
function joinTable(
  context: CompileContext,
  { table = '', key }: JoinDefinition,
  path: KeyPath,
): Joined<readonly string[]> {
  const rows = new Map<string, readonly string[]>()
  const sheet = context.sheets.get(table)
  if (sheet === undefined) {
    context.report([...path, 'table'], `there is no table "${table}" in mappings/tables`)
    return { find: () => undefined, cell: () => undefined }
  }
  const has = `it has: ${sheet.columns.join(', ')}`
  const keyAt = typeof key === 'string' ? sheet.columns.indexOf(key) : -1
  if (keyAt < 0) context.report([...path, 'key'], `${table}.csv has no column "${key}"; ${has}`)
  let characters = 0
  for (const row of keyAt < 0 ? [] : sheet.rows) {
    for (const cell of row) characters += cell.length
    const value = row[keyAt] ?? ''
    if (value === '') continue
    if (rows.has(value)) {
      context.report([...path, 'key'], `two rows of ${table}.csv have the same "${key}": a join needs one`)
      break
    }
    rows.set(value, row)
  }
  if (sheet.rows.length > LARGEST_JOIN.rows || characters > LARGEST_JOIN.characters)
    context.report(
      [...path, 'table'],
      `${table}.csv is too large: at most 200,000 rows and 64 MiB; remove unused rows or columns`,
    )
  return {
    find: (value) => rows.get(value),
    keys: () => rows.keys(),
    cell(rest, reading) {
      const at = rest.startsWith('.') ? sheet.columns.indexOf(rest.slice(1)) : -1
      if (at >= 0) return (row) => row[at] ?? ''
      context.report(reading, `"${path.at(-1)}${rest}" leads to no column of the join; ${has}`)
      return undefined
    },
  }
}

/**
 * Joins a second export. The mapping is compiled without the export, for the fields that are read of its rows, then again with the rows
 * that were read (run/joined-exports.ts).
 */
function joinExport(
  context: CompileContext,
  name: string,
  { export: pattern = '', read, key }: JoinDefinition,
  path: KeyPath,
): Joined<readonly Cell[]> {
  const isCells = isTable(read?.format ?? '')
  const faultOf = read?.format === 'xlsx' ? cellFault : undefined
  const documents = jsonNames({}, () => undefined)
  const nameOf = (field: string): string => (isCells ? field.replace(/^\./, '') : `$${field}`)
  const checked = context.under(isCells ? { ...anyNames(), faultOf } : documents)
  compileField(checked, key, [...path, 'key'])

  const fields: string[] = []
  const kept = context.kept?.get(name)
  const bind: ExportJoin['bind'] = (columns = [], exportName) => {
    const sought = { missing: new Set<string>(), found: new Set<string>() }
    const inner = context.under(
      isCells ? { ...csvNames(columns, sought.missing, sought.found), faultOf } : documents,
    )
    const keyField = compileField(inner, key, [...path, 'key'])
    const cells = fields.map((field) => inner.locate(nameOf(field), path))
    refuseMissing(sought, exportName, columns, `the join ${name} of the mapping`)
    return (row) => {
      const scope = rootScope(row)
      const found = keyField.read(scope)
      if (typeof found !== 'string' || found === '') return undefined
      return { key: found, cells: cells.map((cell) => cell.read(scope)) }
    }
  }
  context.exportJoins.push({ name, export: pattern, fields, bind })
  return {
    find: (value) => kept?.rows.get(value),
    keys: () => kept?.rows.keys() ?? [],
    cell(rest, reading) {
      checked.locate(nameOf(rest), reading)
      if (!fields.includes(rest)) fields.push(rest)
      const at = kept?.fields.indexOf(rest) ?? -1
      return (row) => row[at] ?? null
    },
  }
}

/** Joins the row's own document: a reference leads to another part of the document, as in a FHIR Bundle. */
function joinDocument(
  context: CompileContext,
  { within = '', key }: JoinDefinition,
  path: KeyPath,
): Joined<JsonValue> {
  const inner = context.under(jsonNames({}, () => undefined))
  const keyField = compileField(inner, key, [...path, 'key'])
  const elementsOf = context.attempt(
    [...path, 'within'],
    () => compileElements(within),
    () => [],
  )
  const index = (document: JsonValue): ReadonlyMap<string, JsonValue | typeof DOUBLED> => {
    const rows = new Map<string, JsonValue | typeof DOUBLED>()
    for (const element of elementsOf(document)) {
      const found = keyField.read([element, null])
      if (typeof found !== 'string' || found === '') continue
      const before = rows.get(found)
      const same = before === undefined || JSON.stringify(before) === JSON.stringify(element)
      rows.set(found, same ? element : DOUBLED)
    }
    return rows
  }
  // Rows come one after another: the index of the last row serves all fields of all its levels.
  let last: { readonly document: JsonValue; readonly rows: ReturnType<typeof index> } | undefined
  return {
    find(value, [document = null]) {
      if (last === undefined || last.document !== document) last = { document, rows: index(document) }
      return last.rows.get(value)
    },
    cell(rest, reading) {
      const { read } = inner.locate(`$${rest}`, reading)
      return (element) => read([element, null])
    },
  }
}

/** Compiles a path to all its values; unlike a field's path, it may have `[*]` anywhere. A lone object stands for a list of one. */
function compileElements(written: string): (document: JsonValue) => readonly JsonValue[] {
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
}
