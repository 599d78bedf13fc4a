/** Opens a CSV export: finds encoding, trailer, delimiter and header, then gives the rows. */
import { stat } from 'node:fs/promises'
import type { Origin, Row } from '../model/row.ts'
import {
  behind,
  type Compression,
  countDecoded,
  exportError,
  readContent,
  textStart,
  upTo,
} from './content.ts'
import { cellSplitter, csvFormat, frameRecord } from './csv.ts'
import {
  findDelimiter,
  findTrailer,
  type Head,
  readHeader,
  sepLine,
  statedCount,
  TAIL_BYTES,
  type Trailer,
} from './csv-layout.ts'
import { findEncoding, HEAD_BYTES, invalidEncodingMessage, transcode } from './encoding.ts'
import {
  type ContentFrom,
  countRows,
  firstOrigin,
  type OpenFormat,
  originOfLine,
  readRows,
  readStart,
} from './framing.ts'
import { type CsvDefinition, type Dialect, dialectOf } from './read-definition.ts'
import { findOtherHeader } from './second-header.ts'

/** @throws WaybillError `export-unreadable`, `export-empty` */
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
  const stated =
    source.trailer === undefined || read.trailer?.count === undefined
      ? undefined
      : statedCount(path, read.trailer.count.cell, cellsOf(source.trailer.text, dialect))
  return {
    columns: data.columns,
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
}

async function dataOf(
  path: string,
  { header, columns = [], duplicates }: CsvDefinition,
  top: Origin,
  blocks: AsyncIterable<readonly Row[]>,
): Promise<Data> {
  if (header === 'none') return { columns, origin: top, before: 0 }
  const found = await readHeader(path, header, duplicates, blocks)
  const { line, byteOffset } = found.origin
  return {
    columns: found.columns,
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

/** @throws WaybillError `export-unreadable` for JSON or HL7 v2: each line would be a broken row, without the reason */
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
