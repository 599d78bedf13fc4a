/** Opens a CSV export: finds encoding, trailer, delimiter and header, then gives the rows. */
import { isAscii, isUtf8 } from 'node:buffer'
import { stat } from 'node:fs/promises'
import type { Origin, Row } from '../model/row.ts'
import { behind, type Compression, exportError, readContent, textStart } from './content.ts'
import { cellSplitter, csvFormat, frameRecord } from './csv.ts'
import { findEncoding, transcode } from './encoding.ts'
import {
  afterLineEnd,
  type ContentFrom,
  countRows,
  firstOrigin,
  LF,
  lineEnd,
  type OpenFormat,
  originOfLine,
  readRows,
  readStart,
} from './framing.ts'
import type { CsvDefinition, Dialect } from './read-definition.ts'
import { findOtherHeader } from './second-header.ts'

/** Bytes of the content that decide on encoding and delimiter. */
const HEAD_BYTES = 64 * 1024

/** @throws `export-unreadable`, `export-empty` */
export async function openCsv(
  path: string,
  compression: Compression,
  read: CsvDefinition,
): Promise<OpenFormat> {
  const source = await openText(path, compression, read)
  const top = await topOf(source, read)
  const head = await readStart(source.text(top.origin.byteOffset), HEAD_BYTES)
  refuseOthers(path, head)
  const delimiter = top.delimiter ?? findDelimiter(path, head, read)
  const dialect = dialectOf(read, delimiter)
  const { invalidEncoding, transcoded } = source
  const form = { dialect, ragged: read.ragged, invalidEncoding, transcoded }
  const data = await dataOf(path, read, top.origin, readRows(source.text, top.origin, csvFormat(form)))
  const named = read.header === 'none' ? '`read.columns` has' : 'the header has'
  const isOtherHeader = findOtherHeader(read.header === 'none' ? [] : data.columns)
  const expected = { width: data.columns.length, named, isOtherHeader }
  const format = csvFormat({ ...form, expected })
  const trailer = source.trailer && cellsOf(source.trailer.text, dialect)
  if (read.trailer?.match === undefined && trailer?.length === data.columns.length && trailer.some(isDate))
    throw missing(path, 'ends with a line that has a date and the cells of a row, and no trailer')
  const stated =
    trailer === undefined || read.trailer?.count === undefined
      ? undefined
      : statedCount(path, read.trailer.count.cell, trailer)
  return {
    columns: data.columns,
    below: data.below,
    seekable: source.seekable,
    rows: (from) =>
      from === undefined
        ? withoutFirst(data.before, readRows(source.text, data.origin, format))
        : readRows(source.text, from, format),
    async controlTotal(counted) {
      if (stated === undefined) return undefined
      const found = counted ?? (await countRows(source.text, data.origin, format)) - data.before
      return { stated, found: Math.max(0, found) }
    },
  }
}

/** The content as UTF-8, up to the trailer. */
export interface TextSource {
  readonly path: string
  /** Offset of the first character. */
  readonly start: number
  readonly trailer: Trailer | undefined
  /** True for a plain file in UTF-8: reading can begin anywhere. */
  readonly seekable: boolean
  readonly transcoded: boolean
  /** See `csvFormat`. */
  readonly invalidEncoding: string
  readonly text: ContentFrom
}

export async function openText(
  path: string,
  compression: Compression,
  read: Pick<CsvDefinition, 'encoding' | 'trailer'>,
): Promise<TextSource> {
  const head = await readStart(readContent(path, compression, 0), HEAD_BYTES)
  const encoding = findEncoding(path, head.bytes, read.encoding)
  const all = (from: number) => decoded(path, compression, encoding, from)
  const start = await textStart(path, all(0))
  const transcoded = encoding !== 'utf-8'
  const seekable = compression.kind === 'plain' && !transcoded
  const trailer = await trailerOf(path, read, start, seekable, all)
  return {
    path,
    start,
    trailer,
    seekable,
    transcoded,
    invalidEncoding: invalidEncodingMessage(encoding, read.encoding, head.bytes),
    text: (from) => (trailer === undefined ? all(from) : upTo(all(from), trailer.byteOffset - from)),
  }
}

/** Content as UTF-8. Other encodings are read from the start, which tells where a character begins. */
function decoded(
  path: string,
  compression: Compression,
  encoding: string,
  from: number,
): AsyncIterable<Buffer> {
  if (encoding === 'utf-8') return readContent(path, compression, from)
  const content = transcode(readContent(path, compression, 0), encoding)
  return behind(path, countDecoded(compression, content), from)
}

/** @param seekable true reads the tail of the file only */
async function trailerOf(
  path: string,
  { trailer }: Pick<CsvDefinition, 'trailer'>,
  start: number,
  seekable: boolean,
  all: ContentFrom,
): Promise<Trailer | undefined> {
  if (trailer === undefined) return undefined
  const from = seekable ? Math.max(start, (await stat(path)).size - TAIL_BYTES) : start
  return findTrailer(path, trailer, all(from), from, from === start)
}

/** Start of the search for header or first row; the delimiter, unless it must be found. */
async function topOf(
  source: TextSource,
  { delimiter, header }: CsvDefinition,
): Promise<{ origin: Origin; delimiter: string | undefined }> {
  const first = firstOrigin(source.start)
  const sep =
    delimiter === 'auto' ? sepLine(await readStart(source.text(source.start), HEAD_BYTES)) : undefined
  const from = sep === undefined ? first : { row: 1, line: 2, byteOffset: source.start + sep.next }
  const given = delimiter === 'auto' ? sep?.delimiter : delimiter
  const line = header === 'none' ? 1 : (header.line ?? 1)
  const origin = line <= from.line ? from : await originOfLine(source.text, from, line)
  return { origin, delimiter: given }
}

/** Columns, and the origin of reading: the header, which is skipped with the records below. */
interface Data {
  readonly columns: readonly string[]
  readonly origin: Origin
  /** Records before the first row. */
  readonly before: number
  readonly below: Header['below']
}

async function dataOf(
  path: string,
  { header, columns = [], duplicates }: CsvDefinition,
  top: Origin,
  blocks: AsyncIterable<readonly Row[]>,
): Promise<Data> {
  if (header === 'none') return { columns, origin: top, before: 0, below: [] }
  const found = await readHeader(path, header, duplicates, blocks)
  const { line, byteOffset } = found.origin
  return {
    columns: found.columns,
    below: found.below,
    origin: { row: -header.skip, line, byteOffset },
    before: 1 + header.skip,
  }
}

async function* withoutFirst(
  count: number,
  blocks: AsyncIterable<readonly Row[]>,
): AsyncGenerator<readonly Row[]> {
  let skip = count
  for await (const block of blocks) {
    if (block.length > skip) yield skip === 0 ? block : block.slice(skip)
    skip = Math.max(0, skip - block.length)
  }
}

/** @throws `export-unreadable` for JSON or HL7 v2: each line would be a broken row, without the reason */
function refuseOthers(path: string, { bytes }: Head): void {
  const head = bytes.toString('utf8', 0, 200)
  const [json, list] = /^\s*(\[\s*)?\{\s*["}]/.exec(head) ?? []
  const [hl7v2] = /^\s*(?:MSH|FHS|BHS)\|\^~/.exec(head) ?? []
  if (json === undefined && hl7v2 === undefined) return
  const [is, format] =
    json === undefined ? ['HL7 v2', 'hl7v2'] : ['JSON', list === undefined ? 'ndjson' : 'json']
  throw exportError(path, `The export is ${is}, and the mapping reads CSV.`, {
    line: 1,
    remedy: `Use the mapping that is meant for these files, or write \`read: { format: ${format} }\` into this one.`,
  })
}

/** Cells of an unframed line; split at the delimiters where quotes are broken. */
function cellsOf(line: string, dialect: Dialect): readonly string[] {
  // The trailer of a file of fixed widths has other widths: blanks separate its words.
  if (dialect.widths !== undefined) return line.trim().split(/\s+/)
  const isWhole = frameRecord(Buffer.from(line), 0, true, dialect)?.fault === undefined
  return isWhole ? cellSplitter(dialect)(line) : line.split(String.fromCharCode(dialect.delimiter))
}

/** Records that are searched for `header.find`. */
const SEARCHED_RECORDS = 50

interface Header {
  /** Trimmed; a name may be empty. */
  readonly columns: readonly string[]
  readonly origin: Origin
  /** Cells of the records to skip. */
  readonly below: readonly (readonly string[])[]
}

type HeaderPlace = Exclude<CsvDefinition['header'], 'none'>

/** Index of the header among the first records (undefined: broken); undefined for none. */
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

/** @throws `export-empty` (no record), `export-unreadable` (not found, broken, a name twice) */
export async function readHeader(
  path: string,
  place: HeaderPlace,
  duplicates: CsvDefinition['duplicates'],
  blocks: AsyncIterable<readonly Row[]>,
): Promise<Header> {
  const wanted = (place.find === undefined ? 1 : SEARCHED_RECORDS) + place.skip
  const rows: Row[] = []
  for await (const block of blocks) {
    rows.push(...block)
    if (rows.length >= wanted) break
  }
  const [first] = rows
  if (first === undefined) throw exportError(path, 'The export has no header.', { code: 'export-empty' })
  const at = findHeader(
    place,
    rows.map((row) => (row.kind === 'cells' ? row.cells : undefined)),
  )
  const row = at === undefined ? undefined : rows[at]
  if (row === undefined) {
    const names = place.find?.map((name) => `"${name}"`).join(', ')
    const message = `None of the first ${SEARCHED_RECORDS} records has the cells ${names} of \`read.header.find\`.`
    throw exportError(path, message, { line: first.line })
  }
  if (row.kind !== 'cells') {
    const reason = row.kind === 'unreadable' ? row.message : 'it is not CSV'
    throw exportError(path, `The header cannot be read: ${reason}.`, {
      line: row.line,
      remedy:
        'If the file is complete, correct `read` in the mapping. Otherwise ask the vendor for the file again.',
    })
  }
  const columns = columnsOf(path, row, row.cells, duplicates)
  const below = rows.slice(rows.indexOf(row) + 1).slice(0, place.skip)
  const dated = below.find((one) => one.kind === 'cells' && one.cells.some(isDate))
  if (dated === undefined)
    return { columns, origin: row, below: below.flatMap((one) => (one.kind === 'cells' ? [one.cells] : [])) }
  throw exportError(path, 'A record that `read.header.skip` leaves out has a date, like a row.', {
    line: dated.line,
    remedy: 'If this export lacks a record below the header, as of units, correct `skip` or ask the vendor.',
  })
}

/** Dates as exports write them. */
const DATE =
  /^(?:\d{1,4}([-/.])\d{1,2}\1\d{1,4}|(?:19|20)\d\d[01]\d[0-3]\d(?:\d{4}){0,2}|\d{1,2}[- ][a-z]{3,9}[- ]\d{2,4}|[a-z]{3,9} \d{1,2},? \d{4})(?=$|[T ])/i
const isDate = (cell: string): boolean => DATE.test(cell.trim())

/** Most repeated names in a message. */
const MOST_NAMED = 20

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
  // Numbers, no names: a file without its header has a person's data there.
  const numbers = columns.flatMap((name, at) => {
    const before = first.get(name) ?? at
    return name === '' || before === at ? [] : [`column ${at + 1} has the name of column ${before + 1}`]
  })
  if (numbers.length === 0) return columns
  if (numbers.length > MOST_NAMED)
    numbers.splice(MOST_NAMED, numbers.length, `and ${numbers.length - MOST_NAMED} more`)
  throw exportError(path, `Names in the header are not unique: ${numbers.join(', ')}.`, {
    line: origin.line,
    remedy: 'Ask the vendor for a file with unique column names, or set `duplicates: number` in `read`.',
  })
}

/** `name`, `name_2`, `name_3`; skips a name that another column has. */
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
/** Shares of the records as wide as the header, tried in turn: the strictest with one delimiter decides. */
const SHARES = [1, 0.9, 0.5]

interface Head {
  readonly bytes: Buffer
  readonly whole: boolean
}

/** `sep=;` in the first line (Excel): the delimiter, and the start of the next line. */
function sepLine({ bytes, whole }: Head): { delimiter: string; next: number } | undefined {
  const end = lineEnd(bytes, 0)
  const next = end === -1 ? undefined : afterLineEnd(bytes, end, whole)
  if (next === undefined) return undefined
  const delimiter = /^sep=([\t -~])$/i.exec(bytes.toString('latin1', 0, end))?.[1]
  return delimiter === undefined ? undefined : { delimiter, next }
}

/**
 * Returns the only delimiter among `,` `;` tab `|` that splits header and records into the same number of cells. @throws WaybillError
 * `export-unreadable` for none, or several
 */
function findDelimiter(path: string, head: Head, read: CsvDefinition): string {
  const fits = CANDIDATES.map((delimiter) => ({ delimiter, share: shareOfAlike(head, read, delimiter) }))
  for (const share of SHARES) {
    const fitting = fits.filter((one) => one.share >= share).map((one) => one.delimiter)
    if (fitting.length === 1 && fitting[0] !== undefined) return fitting[0]
    if (fitting.length > 1) throw unclear(path, `could be ${fitting.map(spelled).join(' or ')}`)
  }
  // A single column has no delimiter: one that does not occur reads it.
  if (!CANDIDATES.some((delimiter) => head.bytes.includes(delimiter))) return ','
  throw unclear(path, `is none of ${CANDIDATES.map(spelled).join(' ')}: none splits the first records alike`)
}

/** Share of the records as wide as the header; -1 where the header is not split. */
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

/** Cells of the first whole records; undefined for a broken record. */
function sampleOf(
  { bytes, whole }: Head,
  read: CsvDefinition,
  delimiter: string,
): (readonly string[] | undefined)[] {
  const dialect = dialectOf(read, delimiter)
  const split = cellSplitter(dialect)
  const records: (readonly string[] | undefined)[] = []
  let position = 0
  while (position < bytes.length && records.length < SAMPLE_RECORDS) {
    const frame = frameRecord(bytes, position, whole, dialect)
    if (frame === undefined) break
    if (frame.blank !== true)
      records.push(frame.fault === undefined ? split(bytes.toString('utf8', position, frame.end)) : undefined)
    if (frame.next === undefined) break
    position = frame.next
  }
  return records
}

const spelled = (delimiter: string): string => (delimiter === '\t' ? 'tab' : `"${delimiter}"`)

const unclear = (path: string, what: string) =>
  exportError(path, `The delimiter ${what}.`, {
    remedy: 'Set the delimiter in the mapping, for example `delimiter: ";"`.',
  })

/** Bytes at the end that hold the trailer. */
const TAIL_BYTES = 64 * 1024

type TrailerDefinition = NonNullable<CsvDefinition['trailer']>

interface Trailer {
  /** Offset in the content: the end of the rows. */
  readonly byteOffset: number
  /** The first line. */
  readonly text: string
}

/**
 * Finds the trailer from the end, before the first row is read: no row is taken for the trailer, nor the trailer for a row.
 * @param content from `from` on to the end; only the last of it is held
 * @param isStart whether a line starts at `from`
 * @throws `export-unreadable` where the export does not end with the trailer
 */
async function findTrailer(
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

/** Number of last lines that are the trailer. */
function trailerLength({ match, lines = 0 }: TrailerDefinition, texts: readonly string[]): number {
  if (match === undefined) return lines
  const pattern = new RegExp(match, 'u')
  return texts.length - 1 - texts.findLastIndex((text) => !pattern.test(text))
}

/** The only run of digits in a cell of the trailer. @throws `export-unreadable` for none, or several */
function statedCount(path: string, cell: number, cells: readonly string[]): number {
  const digits = /^\D*(\d{1,15})\D*$/.exec(cells[cell - 1] ?? '')?.[1]
  if (digits === undefined)
    throw missing(path, `has no number of rows in cell ${cell} of its trailer (\`read.trailer.count\`)`)
  return Number(digits)
}

const missing = (path: string, what: string) => exportError(path, `The export ${what}.`)

/**
 * Message and remedy for a row that is not valid in its encoding.
 * @param head UTF-8 as read: with characters beyond ASCII, the file is UTF-8 and the row damaged
 */
function invalidEncodingMessage(encoding: string, asked: string, head: Buffer): string {
  const invalid = `the row is not valid ${SPELLED[encoding] ?? encoding}`
  if (encoding === 'iso-8859-1') return `${invalid}; the file may be windows-1252: set \`read.encoding\``
  if (encoding !== 'utf-8') return `${invalid}; the file is damaged, or \`read.encoding\` is wrong`
  const lines = head.subarray(0, head.lastIndexOf(LF) + 1)
  const proven = !isAscii(lines) && isUtf8(lines)
  return asked !== 'auto' || proven
    ? `${invalid}; export the file as UTF-8`
    : `${invalid}; name the encoding in the mapping, for example \`encoding: windows-1252\`, or export the file as UTF-8`
}

const SPELLED: Readonly<Record<string, string>> = {
  'utf-8': 'UTF-8',
  'utf-16le': 'UTF-16LE',
  'utf-16be': 'UTF-16BE',
  'iso-8859-1': 'ISO 8859-1',
}

/** Counts content in UTF-8 for `shareBefore`. */
async function* countDecoded(
  { reading }: Compression,
  content: AsyncIterable<Buffer>,
): AsyncGenerator<Buffer> {
  let bytes = 0
  for await (const chunk of content) {
    bytes += chunk.length
    reading.decoded = bytes
    yield chunk
  }
}

async function* upTo(content: AsyncIterable<Buffer>, bytes: number): AsyncGenerator<Buffer> {
  let left = bytes
  for await (const chunk of content) {
    if (left > 0) yield chunk.length <= left ? chunk : chunk.subarray(0, left)
    left -= chunk.length
    if (left <= 0) return
  }
}

/** No byte: an absent mark never matches. */
const NONE = -1

function dialectOf(read: CsvDefinition, delimiter: string): Dialect {
  const escapedBy = read.escape === 'doubled' || read.escape === read.quote ? undefined : read.escape
  return {
    delimiter: delimiter.charCodeAt(0),
    widths: read.widths,
    quote: read.quote === 'none' || read.widths !== undefined ? NONE : read.quote.charCodeAt(0),
    escapedBy: escapedBy === undefined || read.widths !== undefined ? NONE : escapedBy.charCodeAt(0),
    lenient: read.quotes === 'lenient',
    comment: read.comment === undefined ? undefined : Buffer.from(read.comment),
  }
}
