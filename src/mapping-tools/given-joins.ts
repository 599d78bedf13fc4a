/** Rows of second exports that a case file gives, instead of the exports that a mapping joins. */

import { readJson } from '../extract/json-text.ts'
import { WaybillError } from '../model/errors.ts'
import type { CsvRow, JsonRow } from '../model/row.ts'
import type { ExportJoin, KeptRows } from '../transform/compile-context.ts'
import type { CaseFile } from './cases.ts'

type GivenRows = NonNullable<CaseFile['joins']>[string]

/**
 * What is kept of the rows given, by join; a join of which none are given has none.
 * @throws WaybillError `columns-missing`; `cases-invalid`: rows of a join that the mapping does not have, or that are no JSON
 */
export function keepGiven(
  joins: readonly ExportJoin[],
  given: NonNullable<CaseFile['joins']>,
  file: string,
): ReadonlyMap<string, KeptRows> {
  const refuse = (name: string, problem: string): WaybillError =>
    new WaybillError('cases-invalid', `${file}: ${problem}`, { place: { file, key: `joins.${name}` } })
  for (const name of Object.keys(given)) {
    if (!joins.some((join) => join.name === name))
      throw refuse(name, `the mapping joins no second export as "${name}"`)
  }
  return new Map(
    joins.map((join) => {
      const rows = new Map<string, readonly (string | null)[]>()
      const told = given[join.name] ?? []
      if (told.length > 0) {
        const columns = [...new Set(told.flatMap((row) => (typeof row === 'string' ? [] : Object.keys(row))))]
        const read = join.bind(columns, `joins.${join.name}`)
        for (const row of told) {
          const found = read(rowOf(row, columns, (problem) => refuse(join.name, problem)))
          if (found !== undefined && !rows.has(found.key)) rows.set(found.key, found.cells)
        }
      }
      return [join.name, { fields: join.fields, rows }] as const
    }),
  )
}

const ORIGIN = { row: 1, line: 1, byteOffset: 0 }

function rowOf(
  row: GivenRows[number],
  columns: readonly string[],
  refuse: (problem: string) => WaybillError,
): CsvRow | JsonRow {
  if (typeof row !== 'string')
    return { ...ORIGIN, kind: 'cells', cells: columns.map((column) => row[column] ?? '') }
  const read = readJson(row)
  if ('problem' in read) throw refuse(`a joined row is ${read.problem}`)
  return { ...ORIGIN, kind: 'json', value: read.value, text: row }
}
