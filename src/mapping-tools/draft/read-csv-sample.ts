/** Finds out a CSV's dialect: what extract proves (encoding, delimiter), and what has to be weighed (a preamble, lenient quotes). */
import { WaybillError } from '../../model/errors.ts'
import type { Row, RowFault } from '../../model/row.ts'
import { type OpenedSample, openSample } from './open-sample.ts'
import { list, type SampleTable, scalar } from './sample.ts'

/** A `read` block under way. */
interface Dialect {
  readonly format: 'csv'
  readonly encoding?: string
  readonly delimiter: string
  readonly quotes?: 'lenient'
  readonly header?: 'none' | { readonly line: number }
  readonly columns?: readonly string[]
  readonly duplicates?: 'number'
}

const DELIMITERS = [',', ';', '\t', '|']
/** Records by which a delimiter or a header is found where there is a preamble. */
const LOOKED_AT = 60

/** @throws WaybillError `export-unreadable`, `export-empty` */
export async function readCsvSample(path: string): Promise<SampleTable> {
  const dialect = await findDialect(path)
  const opened = await openSample(path, dialect)
  const rows = opened.rows.flatMap((row) => (row.kind === 'cells' ? [row.cells] : []))
  const columns = opened.columns.flatMap((name, at) => (name === '' ? [] : [{ at, path: name, name }]))
  return {
    read: readLines(dialect),
    notes: faultNotes(opened.rows),
    columns,
    rows: rows.map((cells) => columns.map(({ at }) => cells[at] ?? '')),
  }
}

async function findDialect(path: string): Promise<Dialect> {
  const plain: Dialect = { format: 'csv', delimiter: 'auto', duplicates: 'number' }
  // Without a header, so that nothing of the file keeps its bytes from being looked at.
  const { rows } = await openSample(path, { ...plain, delimiter: ',', header: 'none', columns: ['-'] })
  const encoding = rows.some(hasFault('row-encoding-invalid')) ? { encoding: 'windows-1252' } : {}
  const marked: Dialect = { ...plain, ...encoding }
  const opened = await attempt(path, marked)
  const usable = opened !== undefined && opened.columns.length > 1 && mostAreRows(opened.rows)
  const dialect = usable
    ? await pinned(path, marked, opened.columns)
    : ((await behindPreamble(path, marked)) ?? (opened === undefined ? plain : marked))
  return settled(path, dialect)
}

/** Undefined where it cannot be opened so; that the file is empty or cannot be read at all is thrown. */
async function attempt(path: string, dialect: Dialect): Promise<OpenedSample | undefined> {
  try {
    return await openSample(path, dialect)
  } catch (error) {
    if (error instanceof WaybillError && error.code === 'export-unreadable' && error.cause === undefined)
      return undefined
    throw error
  }
}

const hasFault =
  (...faults: RowFault[]) =>
  (row: Row): boolean =>
    row.kind === 'unreadable' && faults.includes(row.fault)

const mostAreRows = (rows: readonly Row[]): boolean =>
  rows.length === 0 || rows.filter(({ kind }) => kind === 'cells').length >= rows.length / 2

/** The delimiter that `auto` found, by its name, so that a later file that looks otherwise is refused. */
async function pinned(path: string, dialect: Dialect, columns: readonly string[]): Promise<Dialect> {
  for (const delimiter of DELIMITERS) {
    const opened = await attempt(path, { ...dialect, delimiter })
    if (opened?.columns.join('\n') === columns.join('\n')) return { ...dialect, delimiter }
  }
  return dialect
}

/** Every record, however many cells it has; undefined for one that is broken. */
async function records(
  path: string,
  dialect: Dialect,
): Promise<{ line: number; cells: readonly string[] }[]> {
  const opened = await openSample(path, { ...dialect, header: 'none', columns: ['-'] })
  return opened.rows.slice(0, LOOKED_AT).map((row) => {
    const cells = row.kind === 'json' ? [] : (row.cells ?? [])
    return { line: row.line, cells }
  })
}

/** Lines above the header are narrower: it is the first record that is as wide as most. */
async function behindPreamble(path: string, dialect: Dialect): Promise<Dialect | undefined> {
  let best: { dialect: Dialect; rows: number } | undefined
  for (const delimiter of DELIMITERS) {
    const all = await records(path, { ...dialect, delimiter })
    const widths = Map.groupBy(all, ({ cells }) => cells.length)
    for (const [width, alike] of widths) {
      const [header] = alike
      if (width < 2 || header === undefined || alike.length < 2 || alike.length <= (best?.rows ?? 0)) continue
      best = { dialect: { ...dialect, delimiter, header: { line: header.line } }, rows: alike.length }
    }
  }
  return best?.dialect
}

/** Header or not, names that stand twice, quotes that are text. */
async function settled(path: string, dialect: Dialect): Promise<Dialect> {
  const opened = await openSample(path, dialect)
  const { duplicates: _duplicates, ...once } = dialect
  const named = (await attempt(path, once)) === undefined ? dialect : once
  if (
    opened.columns.some((name) =>
      /^[+-]?\d+([.,]\d+)?$|^\d{4}-\d{2}-\d{2}|^\d{1,2}\/\d{1,2}\/\d{2,4}/.test(name),
    )
  ) {
    const columns = opened.columns.map((_, at) => `column_${at + 1}`)
    return { ...once, header: 'none', columns }
  }
  const broken = hasFault('row-quote-broken', 'row-quote-not-closed')
  if (!opened.rows.some(broken)) return named
  const lenient: Dialect = { ...named, quotes: 'lenient' }
  const again = await attempt(path, lenient)
  const fewer = again !== undefined && again.rows.filter(broken).length < opened.rows.filter(broken).length
  return fewer ? lenient : named
}

function readLines({ encoding, delimiter, quotes, header, columns, duplicates }: Dialect): string[] {
  return [
    'format: csv',
    ...(encoding === undefined ? [] : [`encoding: ${encoding}`]),
    ...(delimiter === ',' ? [] : [`delimiter: ${JSON.stringify(delimiter)}`]),
    ...(quotes === undefined ? [] : [`quotes: ${quotes}`]),
    ...(header === undefined ? [] : [`header: ${header === 'none' ? 'none' : `{ line: ${header.line} }`}`]),
    ...(columns === undefined ? [] : [`columns: ${list(columns)}`]),
    ...(duplicates === undefined ? [] : [`duplicates: ${scalar(duplicates)}`]),
  ]
}

function faultNotes(rows: readonly Row[]): string[] {
  const faults = Map.groupBy(
    rows.flatMap((row) => (row.kind === 'unreadable' ? [row] : [])),
    ({ fault }) => fault,
  )
  return [...faults].map(([fault, { length, 0: first }]) => {
    const last = length === 1 && rows.at(-1) === first ? ', the last: a trailer? See read.trailer' : ''
    return `DECIDE: ${length} of ${rows.length} rows cannot be read (${fault}), first on line ${first?.line}${last}.`
  })
}
