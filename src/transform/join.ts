/** What a join is read from, and what it leads to. */
import type { CompiledField } from './field-text.ts'

/** A table as it stands in its file: the header, then the rows. */
export interface Sheet {
  readonly columns: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

/** Fields of the row that a join leads to. */
export interface Join {
  /** The field of a column; undefined where the table has no such column. */
  readonly field: (column: string) => CompiledField | undefined
  readonly columns: readonly string[]
}
