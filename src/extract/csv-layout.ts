/**
 * What a CSV file says of itself: which columns its header names and where that stands; the delimiter where the mapping says `delimiter: auto`,
 * by Excel's `sep=` line or by what splits the first records alike; and the trailer, the last lines, which are no data rows and may state how
 * many of those there are. It is found from the end before the first row is read, so that a row is never taken for the trailer, or the trailer
 * for a row.
 */

import { WaybillError } from '../model/errors.ts'
import type { Origin, Row } from '../model/row.ts'
import { cellSplitter, csvLineEnd, frameRecord } from './csv.ts'
import { afterLineEnd } from './framing.ts'
import { type CsvDefinition, dialectOf } from './read-definition.ts'

/** Records among which a header with certain cells is looked for. */
const SEARCHED_RECORDS = 50

export interface Header {
  /** Trimmed; a name may be empty. */
  readonly columns: readonly string[]
  readonly origin: Origin
}

type HeaderPlace = Exclude<CsvDefinition['header'], 'none'>

/** Index of the header among the first records (undefined: one that is broken), or undefined where it is not there. */
function findHeader(
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
      remedy:
        'Correct `read` in the mapping where the file is whole; else ask the vendor for the file again.',
    })
  }
  return { columns: columnsOf(path, row, row.cells, duplicates), origin: row }
}

/** Repeated column names in a message. */
const MOST_TOLD = 20

function columnsOf(
  path: string,
  origin: Origin,
  cells: readonly string[],
  duplicates: CsvDefinition['duplicates'],
): readonly string[] {
  const columns = cells.map((cell) => cell.trim())
  if (duplicates === 'number') return numbered(columns)
  const first = new Map<string, number>()
  for (const [at, name] of columns.entries()) if (!first.has(name)) first.set(name, at)
  // By their numbers: a file that has lost its header has a person's data in its place.
  const numbers = columns.flatMap((name, at) => {
    const before = first.get(name) ?? at
    return name === '' || before === at ? [] : [`column ${at + 1} is named as column ${before + 1}`]
  })
  if (numbers.length === 0) return columns
  if (numbers.length > MOST_TOLD)
    numbers.splice(MOST_TOLD, numbers.length, `and ${numbers.length - MOST_TOLD} more`)
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

const CANDIDATES: readonly string[] = [',', ';', '\t', '|']
const SAMPLE_RECORDS = 100
/** Shares of the records that must be as wide as the header, tried in turn: the strictest that tells one decides. */
const SHARES = [1, 0.9, 0.5]

/** The first of a content: UTF-8, behind the byte order mark. */
export interface Head {
  readonly bytes: Buffer
  /** Whether that is all. */
  readonly whole: boolean
}

/** `sep=;` in the first line (Excel): the delimiter, and where the next line starts. */
export function sepLine({ bytes, whole }: Head): { delimiter: string; next: number } | undefined {
  const end = csvLineEnd(bytes, 0)
  const next = end === -1 ? undefined : afterLineEnd(bytes, end, whole)
  if (next === undefined) return undefined
  const delimiter = /^sep=([\t -~])$/i.exec(bytes.toString('latin1', 0, end))?.[1]
  return delimiter === undefined ? undefined : { delimiter, next }
}

/**
 * The only one of `,` `;` tab `|` that splits header and records alike.
 * @throws WaybillError `export-unreadable` where none does, or more than one
 */
export function findDelimiter(path: string, head: Head, read: CsvDefinition): string {
  const fits = CANDIDATES.map((delimiter) => ({ delimiter, share: shareOfAlike(head, read, delimiter) }))
  for (const share of SHARES) {
    const fitting = fits.filter((one) => one.share >= share).map((one) => one.delimiter)
    if (fitting.length === 1 && fitting[0] !== undefined) return fitting[0]
    if (fitting.length > 1) throw unclear(path, `could be ${fitting.map(spelled).join(' or ')}`)
  }
  // A single column has no delimiter, and any that does not occur reads it.
  if (!CANDIDATES.some((delimiter) => head.bytes.includes(delimiter))) return ','
  throw unclear(path, `is none of ${CANDIDATES.map(spelled).join(' ')}: none splits the first records alike`)
}

/** Share of the sample's records that are as wide as the header; -1 where the header is not split at all. */
function shareOfAlike(head: Head, read: CsvDefinition, delimiter: string): number {
  const records = sampleOf(head, read, delimiter)
  const { header } = read
  const at = header === 'none' ? -1 : findHeader(header, records)
  if (at === undefined) return -1
  const width = header === 'none' ? read.columns?.length : records[at]?.length
  if (width === undefined || width < 2) return -1
  const rows = records.slice(at + 1 + (header === 'none' ? 0 : header.skip))
  return rows.length === 0 ? 1 : rows.filter((cells) => cells?.length === width).length / rows.length
}

/** The cells of the first whole records; undefined where one is broken. */
function sampleOf(
  { bytes, whole }: Head,
  read: CsvDefinition,
  delimiter: string,
): (readonly string[] | undefined)[] {
  const dialect = dialectOf(read, delimiter)
  const splitAll = cellSplitter(dialect)
  const records: (readonly string[] | undefined)[] = []
  let position = 0
  while (position < bytes.length && records.length < SAMPLE_RECORDS) {
    const frame = frameRecord(bytes, position, whole, dialect)
    if (frame === undefined) break
    if (frame.blank !== true)
      records.push(
        frame.fault === undefined ? splitAll([bytes.toString('utf8', position, frame.end)])[0] : undefined,
      )
    if (frame.next === undefined) break
    position = frame.next
  }
  return records
}

const spelled = (delimiter: string): string => (delimiter === '\t' ? 'tab' : `"${delimiter}"`)

function unclear(path: string, what: string): WaybillError {
  return new WaybillError('export-unreadable', `The delimiter ${what}.`, {
    place: { file: path },
    remedy: 'Say which it is in the mapping, for example `delimiter: ";"`.',
  })
}

/** The trailer must stand within the last so many bytes. */
export const TAIL_BYTES = 64 * 1024

type TrailerDefinition = NonNullable<CsvDefinition['trailer']>

export interface Trailer {
  /** Offset in the content at which it starts: where the rows end. */
  readonly byteOffset: number
  /** Its first line. */
  readonly text: string
}

/**
 * @param content from `from` on to its end; only the last of it is held
 * @param isStart whether a line starts at `from`
 * @throws WaybillError `export-unreadable` where the export does not end with it
 */
export async function findTrailer(
  path: string,
  definition: TrailerDefinition,
  content: AsyncIterable<Buffer>,
  from: number,
  isStart: boolean,
): Promise<Trailer> {
  let tail: Buffer = Buffer.alloc(0)
  let offset = from
  for await (const chunk of content) {
    const joined = Buffer.concat([tail, chunk])
    const dropped = Math.max(0, joined.length - TAIL_BYTES)
    tail = joined.subarray(dropped)
    offset += dropped
  }
  const whole = isStart && offset === from
  const lines = [...tail.toString('latin1').matchAll(/[^\r\n]+/g)]
    .slice(whole ? 0 : 1)
    .map(({ index, 0: line }) => ({
      byteOffset: offset + index,
      text: tail.toString('utf8', index, index + line.length),
    }))
    .filter(({ text }) => text.trim() !== '')
  const length = trailerLength(
    definition,
    lines.map(({ text }) => text),
  )
  const first = lines.at(-length)
  if (length === 0 || first === undefined)
    throw missing(path, 'does not end with the trailer that `read.trailer` describes: it may be cut off')
  if (length === lines.length && !whole) throw missing(path, 'has a trailer longer than 64 KiB')
  return first
}

/** How many of the last lines are the trailer. */
function trailerLength({ match, lines = 0 }: TrailerDefinition, texts: readonly string[]): number {
  if (match === undefined) return lines
  const pattern = new RegExp(match, 'u')
  return texts.length - 1 - texts.findLastIndex((text) => !pattern.test(text))
}

/**
 * The number in the trailer's cell: its only run of digits.
 * @param cells those of the trailer's first line
 * @throws WaybillError `export-unreadable` where there is none, or more than one
 */
export function statedCount(path: string, cell: number, cells: readonly string[]): number {
  const digits = /^\D*(\d{1,15})\D*$/.exec(cells[cell - 1] ?? '')?.[1]
  if (digits === undefined)
    throw missing(path, `states no number of rows in cell ${cell} of its trailer (\`read.trailer.count\`)`)
  return Number(digits)
}

function missing(path: string, what: string): WaybillError {
  return new WaybillError('export-unreadable', `The export ${what}.`, { place: { file: path } })
}
