/** A line of a rejects file as a row: it stands where the original stood, and for one of its records. */
import type { Row } from '../model/row.ts'

export type RejectedLine = Row & {
  /** The rule whose record was rejected; undefined where the row was, as a whole. */
  readonly rule: string | undefined
  readonly exportName: string
}

export const ruleOf = (row: Row): string | undefined => (isRejectedLine(row) ? row.rule : undefined)

export const exportNameOf = (row: Row): string | undefined =>
  isRejectedLine(row) ? row.exportName : undefined

const isRejectedLine = (row: Row): row is RejectedLine => 'exportName' in row
