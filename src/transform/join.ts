/** What a join is read from, and what it leads to. */
import type { CsvRow, JsonRow } from '../model/row.ts'
import type { KeyPath } from '../yaml-file.ts'
import type { CompiledField } from './field-text.ts'

/** A table as it stands in its file: the header, then the rows. */
export interface Sheet {
  readonly columns: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

/** Text of a joined row's field; null where there is an object or a list. */
export type Cell = string | null

/** What is kept of a joined export: of each row the fields that the mapping reads, by key. */
export interface KeptRows {
  readonly fields: readonly string[]
  readonly rows: ReadonlyMap<string, readonly Cell[]>
}

/** A join to a second export: what must be read of it before rows can be mapped. */
export interface ExportJoin {
  readonly name: string
  /** Pattern for the name of its file. */
  readonly export: string
  /** What the mapping reads of its rows, as it stands behind the join's name. */
  readonly fields: readonly string[]
  /**
   * @returns reads a row's key and fields; undefined where the row has no key, so that nothing can lead to it
   * @throws WaybillError `columns-missing`
   */
  bind(
    columns: readonly string[] | undefined,
    exportName: string,
  ): (row: CsvRow | JsonRow) => { readonly key: string; readonly cells: readonly Cell[] } | undefined
}

/** Fields of the row that a join leads to. */
export interface Join {
  /** The field of what stands behind the join's name (`.NPI`); one that leads nowhere is reported and reads as empty. */
  readonly field: (rest: string, path: KeyPath) => CompiledField
}
