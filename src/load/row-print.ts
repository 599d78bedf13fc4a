/** Prints of rows: `src/run/known-rows.ts` recognises by them rows that come again unchanged, before their records are made. */
import { FINAL, type MappedRow } from '../model/entry.ts'
import type { ContentWords, RowPrint } from '../model/ids.ts'

/** Hash of a row's cells, under the mapping and the version of the program. */
export type CellsHash = (cells: readonly string[]) => ContentWords

/**
 * @returns the print of a row whose records are all stored; undefined for a row of which more must be known than its slots: left-out or rejected parts,
 * warnings, care teams, and records with a place of their own in time
 */
export function printOf(
  { source, records, rejected, leftOut, warnings, withdrawn }: MappedRow,
  hashOf: CellsHash,
): RowPrint | undefined {
  if (source.kind !== 'cells' || withdrawn !== undefined) return undefined
  if (rejected.length + leftOut.length + warnings.length > 0) return undefined
  let biometrics = 0
  let conditions = 0
  for (const { kind, rank, issued } of records) {
    if (rank > FINAL || issued !== 0) return undefined
    if (kind === 'biometric') biometrics++
    else if (kind === 'condition') conditions++
    else return undefined
  }
  return { biometrics, conditions, ...hashOf(source.cells) }
}
