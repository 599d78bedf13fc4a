/** Columns that a mapping reads and an export lacks. */
import { WaybillError } from '../model/errors.ts'

/** Columns that were looked for. */
export interface Sought {
  readonly missing: ReadonlySet<string>
  readonly found: ReadonlySet<string>
}

/**
 * @param found those that are there. Where none is, the file may have no header: then what stands in its first line are a person's data, which
 *   belong in no log and no message
 * @param reader who reads them
 * @throws WaybillError `columns-missing` where there are any
 */
export function refuseMissing(
  { missing, found }: Sought,
  exportName: string,
  columns: readonly string[],
  reader: string,
): void {
  if (missing.size === 0) return
  const names = [...missing].map((name) => `"${name}"`).join(', ')
  throw new WaybillError('columns-missing', `${exportName} has no column ${names}, which ${reader} reads`, {
    place: { file: exportName, line: 1 },
    remedy:
      found.size === 0
        ? 'No column that is read is there at all: look whether the first line of the file is its header, and whether it is the file that it should be.'
        : `The export has: ${columns.join(', ')}. Correct the names in the mapping, or ask the vendor why columns are gone. A text that is the same for every row is written { constant: … }.`,
  })
}
