/** Opens a CSV export: finds out encoding, trailer, delimiter and header, then gives its rows. */
import { stat } from 'node:fs/promises'
import { WaybillError } from '../model/errors.ts'
import type { Origin, Row } from '../model/row.ts'
import { behind, type Compression, countDecoded, readContent, textStart, upTo } from './content.ts'
import { cellSplitter, csvFormat, csvLineEnd, frameRecord } from './csv.ts'
import {
  findDelimiter,
  findTrailer,
  type Head,
  type Header,
  readHeader,
  sepLine,
  statedCount,
  TAIL_BYTES,
  type Trailer,
} from './csv-layout.ts'
import { type Encoding, findEncoding, HEAD_BYTES, invalidEncodingMessage, transcode } from './encoding.ts'
import { ByteWindow, countRows, type OpenFormat, originOfLine, type RowFormat, readRows } from './framing.ts'
import { type CsvDefinition, type Dialect, dialectOf } from './read-definition.ts'

/** @throws WaybillError `export-unreadable`, `export-empty` */
export async function openCsv(
  path: string,
  compression: Compression,
  read: CsvDefinition,
): Promise<OpenFormat> {
  const source = await openText(path, compression, read)
  const top = await topOf(source, read)
  const head = await headOf(source.text(top.origin.byteOffset))
  refuseOthers(path, head)
  const delimiter = top.delimiter ?? findDelimiter(path, head, read)
  const dialect = dialectOf(read, delimiter)
  const { invalidEncoding, transcoded } = source
  const form = { dialect, ragged: read.ragged, invalidEncoding, transcoded }
  const rowsFrom = (from: Origin, format: RowFormat) =>
    readRows(new ByteWindow(source.text(from.byteOffset), from.byteOffset), from, format)

  const data = await dataOf(path, read, top.origin, rowsFrom(top.origin, csvFormat(form)))
  const named = read.header === 'none' ? '`read.columns` has' : 'the header has'
  const format = csvFormat({ ...form, expected: { width: data.columns.length, named } })
  const stated =
    source.trailer === undefined || read.trailer?.count === undefined
      ? undefined
      : statedCount(path, read.trailer.count.cell, cellsOf(source.trailer.text, dialect))
  return {
    columns: data.columns,
    seekable: source.seekable,
    rows: (from) =>
      from === undefined ? withoutFirst(data.before, rowsFrom(data.origin, format)) : rowsFrom(from, format),
    async controlTotal(counted) {
      if (stated === undefined) return undefined
      if (counted !== undefined) return { stated, found: counted }
      const { origin, before } = data
      const all = await countRows(
        new ByteWindow(source.text(origin.byteOffset), origin.byteOffset),
        origin,
        format,
      )
      return { stated, found: Math.max(0, all - before) }
    },
  }
}

/** The content as UTF-8, up to the trailer. */
export interface TextSource {
  readonly path: string
  /** Offset of the first character. */
  readonly start: number
  readonly trailer: Trailer | undefined
  /** Whether reading can begin anywhere: a plain file in UTF-8. */
  readonly seekable: boolean
  readonly transcoded: boolean
  /** See `csvFormat`. */
  readonly invalidEncoding: string
  /** From an offset on. */
  text(from: number): AsyncIterable<Buffer>
}

export async function openText(
  path: string,
  compression: Compression,
  read: Pick<CsvDefinition, 'encoding' | 'trailer'>,
): Promise<TextSource> {
  const head = await headOf(readContent(path, compression, 0))
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

/** As UTF-8. Other encodings are read from their start: only so is it known where a character begins. */
function decoded(
  path: string,
  compression: Compression,
  encoding: Encoding,
  from: number,
): AsyncIterable<Buffer> {
  if (encoding === 'utf-8') return readContent(path, compression, from)
  const content = transcode(readContent(path, compression, 0), encoding)
  return behind(path, countDecoded(compression, content), from)
}

/** @param seekable then the tail of the file suffices */
async function trailerOf(
  path: string,
  { trailer }: Pick<CsvDefinition, 'trailer'>,
  start: number,
  seekable: boolean,
  all: (from: number) => AsyncIterable<Buffer>,
): Promise<Trailer | undefined> {
  if (trailer === undefined) return undefined
  const from = seekable ? Math.max(start, (await stat(path)).size - TAIL_BYTES) : start
  return findTrailer(path, trailer, all(from), from, from === start)
}

/** Where header or first row is looked for, and the delimiter, unless it must be found. */
async function topOf(
  source: TextSource,
  { delimiter, header }: CsvDefinition,
): Promise<{ origin: Origin; delimiter: string | undefined }> {
  const first: Origin = { row: 1, line: 1, byteOffset: source.start }
  const sep = delimiter === 'auto' ? sepLine(await headOf(source.text(source.start))) : undefined
  const from = sep === undefined ? first : { row: 1, line: 2, byteOffset: source.start + sep.next }
  const given = delimiter === 'auto' ? sep?.delimiter : delimiter
  const line = header === 'none' ? 1 : (header.line ?? 1)
  if (line <= from.line) return { origin: from, delimiter: given }
  const window = new ByteWindow(source.text(from.byteOffset), from.byteOffset)
  return { origin: await originOfLine(window, from, line, csvLineEnd), delimiter: given }
}

/** The columns, and where reading begins: with the header, which is then left out with what stands below it. */
interface Data {
  readonly columns: readonly string[]
  readonly origin: Origin
  /** Records there before the first row. */
  readonly before: number
}

async function dataOf(
  path: string,
  { header, columns = [], duplicates }: CsvDefinition,
  top: Origin,
  blocks: AsyncIterable<readonly Row[]>,
): Promise<Data> {
  if (header === 'none') return { columns, origin: top, before: 0 }
  const found: Header = await readHeader(path, header, duplicates, blocks)
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

/** @throws WaybillError `export-unreadable` where the file is JSON or HL7 v2: as CSV, each of its lines would be broken, and none would say why */
function refuseOthers(path: string, { bytes }: Head): void {
  const head = bytes.toString('utf8', 0, 200)
  const [json, list] = /^\s*(\[\s*)?\{\s*["}]/.exec(head) ?? []
  const [hl7v2] = /^\s*(?:MSH|FHS|BHS)\|\^~/.exec(head) ?? []
  if (json === undefined && hl7v2 === undefined) return
  const [is, format] =
    json === undefined ? ['HL7 v2', 'hl7v2'] : ['JSON', list === undefined ? 'ndjson' : 'json']
  throw new WaybillError('export-unreadable', `The export is ${is}, and the mapping reads CSV.`, {
    place: { file: path, line: 1 },
    remedy: `Use the mapping that is meant for these files, or write \`read: { format: ${format} }\` into this one.`,
  })
}

async function headOf(content: AsyncIterable<Buffer>): Promise<Head> {
  const window = new ByteWindow(content, 0)
  while (!window.ended && window.bytes.length < HEAD_BYTES) await window.refill(0)
  await window.close()
  return { bytes: window.bytes, whole: window.ended }
}

/** Of a line that nobody has framed: where its quotes are broken, what stands between the delimiters. */
function cellsOf(line: string, dialect: Dialect): readonly string[] {
  // The trailer of a file of fixed widths has widths of its own: its words stand apart.
  if (dialect.widths !== undefined) return line.trim().split(/\s+/)
  const isWhole = frameRecord(Buffer.from(line), 0, true, dialect)?.fault === undefined
  const cells = isWhole ? cellSplitter(dialect)([line])[0] : undefined
  return cells ?? line.split(String.fromCharCode(dialect.delimiter))
}
