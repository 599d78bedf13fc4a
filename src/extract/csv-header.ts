/** Where the header of a CSV stands and which columns it names. */
import { WaybillError } from '../model/errors.ts'
import type { Origin, Row } from '../model/row.ts'
import type { CsvDefinition } from './read-definition.ts'

/** Records among which a header with certain cells is looked for. */
const SEARCHED_RECORDS = 50

export interface Header {
  /** Trimmed; a name may be empty. */
  readonly columns: readonly string[]
  readonly origin: Origin
}

type HeaderPlace = Exclude<CsvDefinition['header'], 'none'>

/** Index of the header among the first records (undefined: one that is broken), or undefined where it is not there. */
export function findHeader(
  { find }: HeaderPlace,
  records: readonly (readonly string[] | undefined)[],
): number | undefined {
  if (find === undefined) return 0
  const at = records.slice(0, SEARCHED_RECORDS).findIndex((cells) => {
    const names = new Set(cells?.map((cell) => cell.trim()))
    return find.every((name) => names.has(name))
  })
  return at === -1 ? undefined : at
}

/**
 * @param blocks rows from where the header is looked for
 * @throws WaybillError `export-empty` (no record), `export-unreadable` (not found, broken, a name twice)
 */
export async function readHeader(
  path: string,
  place: HeaderPlace,
  duplicates: CsvDefinition['duplicates'],
  blocks: AsyncIterable<readonly Row[]>,
): Promise<Header> {
  const wanted = place.find === undefined ? 1 : SEARCHED_RECORDS
  const rows: Row[] = []
  for await (const block of blocks) {
    rows.push(...block)
    if (rows.length >= wanted) break
  }
  const [first] = rows
  if (first === undefined)
    throw new WaybillError('export-empty', 'The export has no header.', { place: { file: path } })
  const at = findHeader(
    place,
    rows.map((row) => (row.kind === 'cells' ? row.cells : undefined)),
  )
  const row = at === undefined ? undefined : rows[at]
  if (row === undefined) {
    const names = place.find?.map((name) => `"${name}"`).join(', ')
    throw new WaybillError(
      'export-unreadable',
      `None of the first ${SEARCHED_RECORDS} records has the cells ${names} of \`read.header.find\`.`,
      { place: { file: path, line: first.line } },
    )
  }
  if (row.kind !== 'cells') {
    const reason = row.kind === 'unreadable' ? row.message : 'it is not CSV'
    throw new WaybillError('export-unreadable', `The header cannot be read: ${reason}.`, {
      place: { file: path, line: row.line },
    })
  }
  return { columns: columnsOf(path, row, row.cells, duplicates), origin: row }
}

function columnsOf(
  path: string,
  origin: Origin,
  cells: readonly string[],
  duplicates: CsvDefinition['duplicates'],
): readonly string[] {
  const columns = cells.map((cell) => cell.trim())
  if (duplicates === 'number') return numbered(columns)
  const first = (name: string): number => columns.indexOf(name)
  const again = columns.flatMap((name, at) => (name !== '' && first(name) !== at ? [{ name, at }] : []))
  if (again.length === 0) return columns
  // By their numbers: a file that has lost its header has a person's data in its place.
  const numbers = again.map(({ name, at }) => `column ${at + 1} is named as column ${first(name) + 1}`)
  throw new WaybillError('export-unreadable', `Names in the header are not unique: ${numbers.join(', ')}.`, {
    place: { file: path, line: origin.line },
    remedy:
      'Ask the vendor for a file in which each column has a name of its own, or say `duplicates: number` in `read`.',
  })
}

/** `name`, `name_2`, `name_3`; a number that another column already has in its name is passed over. */
function numbered(columns: readonly string[]): readonly string[] {
  const taken = new Set(columns)
  const seen = new Map<string, number>()
  return columns.map((name) => {
    let ordinal = (seen.get(name) ?? 0) + 1
    if (ordinal > 1) while (taken.has(`${name}_${ordinal}`)) ordinal += 1
    seen.set(name, ordinal)
    const unique = ordinal === 1 || name === '' ? name : `${name}_${ordinal}`
    taken.add(unique)
    return unique
  })
}
