/** Reads of a row what a profile counts: columns (CSV), the paths that a mapping reads (JSON), and the units of values. */

import type { LoadedMapping } from '../definitions/definition-files.ts'
import type { CsvRow, JsonRow } from '../model/row.ts'
import { compileCoded } from '../transform/compile-code.ts'
import { CompileContext } from '../transform/compile-context.ts'
import { compileField } from '../transform/compile-field.ts'
import { compileJoins } from '../transform/compile-joins.ts'
import type { CompiledField } from '../transform/field-text.ts'
import type { MappingDefinition } from '../transform/mapping-definition.ts'
import { csvNames, jsonNames, type Located, type Names, rootScope, type Scope } from '../transform/scope.ts'

/** Stands for values that are neither UCUM nor in the catalog, and for all beyond those that a profile keeps. */
export const OTHER = '*'

/** A value stands in a unit. */
export interface Measured {
  /** The rule's name, or the catalog entry to which a coded row leads. */
  readonly rule: string
  /** UCUM code, '' where none is given, or `OTHER`. */
  readonly unit: string
}

export interface DriftFields {
  readonly columns: readonly string[]
  /** @param onValue is told each value of a column, by its place in `columns`: '' where empty, null for what is no scalar */
  read(
    row: CsvRow | JsonRow,
    onValue: (column: number, text: string | null) => void,
    onUnit: (measured: Measured) => void,
  ): void
}

type ColumnReader = (row: CsvRow | JsonRow, onValue: (column: number, text: string | null) => void) => void
type UnitReader = (root: Scope, onUnit: (measured: Measured) => void) => void

/** The mapping must have been bound to these columns before: its names are taken as right. */
export function compileDriftFields(
  { definition, resources, compiled }: LoadedMapping,
  header: readonly string[] | undefined,
): DriftFields {
  const { read, row, joins = {} } = definition
  const levels = ['context', ...Object.keys(read.each ?? {})]
  const names = header === undefined ? jsonNames(read, () => {}) : csvNames(header, new Set())
  const context = new CompileContext(resources, names, () => ({}), row, levels)
  compileJoins(context, joins, levels)
  const units = compileUnits(context, names, definition)
  const { columns, read: readColumns } =
    header === undefined
      ? jsonColumns(context, names, new Set(compiled.reads.map(({ name }) => name)))
      : csvColumns(context, header)
  return {
    columns,
    read(one, onValue, onUnit) {
      readColumns(one, onValue)
      if (units.length === 0) return
      const root = rootScope(one)
      for (const unit of units) unit(root, onUnit)
    },
  }
}

interface Columns {
  readonly columns: readonly string[]
  readonly read: ColumnReader
}

/** A column without a name cannot be told from another one. */
function csvColumns(context: CompileContext, header: readonly string[]): Columns {
  const positions = [...header.keys()].filter((at) => header[at] !== '')
  return {
    columns: positions.map((at) => header[at] ?? ''),
    read(row, onValue) {
      if (row.kind !== 'cells') return
      for (let at = 0; at < positions.length; at++) {
        const text = (row.cells[positions[at] ?? at] ?? '').trim()
        onValue(at, context.isBlank(text) ? '' : text)
      }
    },
  }
}

function jsonColumns(context: CompileContext, names: Names, paths: ReadonlySet<string>): Columns {
  const located = [...paths].sort().map((path): [string, Located] => [path, context.locate(path, [])])
  const byDepth = [...Map.groupBy(located.keys(), (at) => located[at]?.[1].depth ?? 0)]
  return {
    columns: located.map(([path]) => path),
    read(row, onValue) {
      const root = rootScope(row)
      for (const [depth, positions] of byDepth) {
        for (const scope of names.scopes(root, depth)) {
          for (const at of positions) onValue(at, located[at]?.[1].read(scope) ?? null)
        }
      }
    },
  }
}

/** Units that are read, of values that are there. */
function compileUnits(
  context: CompileContext,
  names: Names,
  { biometrics = {} }: MappingDefinition,
): UnitReader[] {
  const label = labelUnits(context)
  const reader = (
    depths: readonly number[],
    ruleOf: (scope: Scope) => string | undefined,
    value: CompiledField,
    unit: CompiledField,
  ): UnitReader => {
    const depth = Math.max(value.depth, unit.depth, ...depths)
    return (root, onUnit) => {
      for (const scope of names.scopes(root, depth)) {
        const rule = ruleOf(scope)
        if (rule === undefined) continue
        const text = value.read(scope)
        if (!text.ok || text.text === '') continue
        const spelling = unit.read(scope)
        onUnit({ rule, unit: spelling.ok ? label(spelling.text) : OTHER })
      }
    }
  }
  if (!Array.isArray(biometrics)) {
    return Object.entries(biometrics).flatMap(([rule, definition]) => {
      if (typeof definition === 'string' || typeof definition.unit !== 'object') return []
      const value = compileField(context, definition, [])
      return [reader([], () => rule, value, compileField(context, definition.unit, []))]
    })
  }
  return biometrics.flatMap((definition) => {
    if (definition.unit === undefined) return []
    const code = compileCoded(context, definition, 'biometrics', [])
    const ruleOf = (scope: Scope): string | undefined => {
      const found = code.read(scope)
      return found !== 'left-out' && found.ok ? found.key : undefined
    }
    const value = compileField(context, definition.value, [])
    return [reader([code.depth], ruleOf, value, compileField(context, definition.unit, []))]
  })
}

/** Spellings whose code is remembered; a column of free text must not grow this without bound. */
const SPELLINGS_KEPT = 1_000

function labelUnits({ units }: CompileContext): (spelling: string) => string {
  const known = new Map<string, string>([['', '']])
  return (spelling) => {
    const label = known.get(spelling)
    if (label !== undefined) return label
    const code = units.resolve(spelling) ?? OTHER
    if (known.size < SPELLINGS_KEPT) known.set(spelling, code)
    return code
  }
}
