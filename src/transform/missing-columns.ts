/** Columns that a mapping reads and an export lacks. */
import { WaybillError } from '../errors.ts'

/** @param reader who reads them @throws WaybillError `columns-missing` where there are any */
export function refuseMissing(
  missing: ReadonlySet<string>,
  exportName: string,
  columns: readonly string[],
  reader: string,
): void {
  if (missing.size === 0) return
  const names = [...missing].map((name) => `"${name}"`).join(', ')
  throw new WaybillError('columns-missing', `${exportName} has no column ${names}, which ${reader} reads`, {
    place: { file: exportName, line: 1 },
    remedy: `The export has: ${columns.join(', ')}. Correct the names in the mapping, or ask the vendor why columns are gone. A text that is the same for every row is written { constant: … }.`,
  })
}
