/**
 * CSV rows. Where a record ends is found by `csv-frame.ts`, which gives its origin and survives a broken quote; cells of
 * a record without quotes are what stands between the delimiters; a record with quotes is taken apart by csv-parse,
 * many in one call. So no row pays for csv-parse's `info`, and most do not pay for csv-parse.
 */
import { parse } from 'csv-parse/sync'
import { csvLineEnd, type Dialect, frameRecord } from './csv-frame.ts'
import { NOT_UTF8, type RowFormat, type RowFrame, unreadableRow, utf8Check } from './framing.ts'
import type { CsvDefinition } from './read-definition.ts'
import type { Row } from './row.ts'

const LINE_END = Buffer.from('\n')

/**
 * @param width how many cells each row must have; undefined while the header itself is read
 */
export function csvFormat(read: CsvDefinition, width: number | undefined): RowFormat {
  const dialect: Dialect = { delimiter: read.delimiter.charCodeAt(0), quote: read.quote.charCodeAt(0) }
  return {
    frame: (bytes, start, ended) => frameRecord(bytes, start, ended, dialect),
    lineEnd: (bytes, from) => csvLineEnd(bytes, from),
    rows(bytes, frames) {
      const isUtf8 = utf8Check(bytes, frames)
      const quoted = splitQuoted(
        bytes,
        frames.filter((frame) => frame.quoted === true && isUtf8(frame)),
        read,
      )
      return frames.map((frame): Row => {
        if (frame.fault !== undefined) return unreadableRow(bytes, frame, frame.fault)
        if (!isUtf8(frame)) return unreadableRow(bytes, frame, NOT_UTF8)
        const cells =
          quoted.get(frame) ?? bytes.toString('utf8', frame.start, frame.end).split(read.delimiter)
        if (width !== undefined && cells.length !== width) return wrongWidth(bytes, frame, cells, width)
        const { row, line, byteOffset } = frame
        return { kind: 'cells', row, line, byteOffset, cells }
      })
    },
  }
}

/** The cells of records in which a quote occurs. Each is known to be whole, so they can be set on lines of their own. */
function splitQuoted(
  bytes: Buffer,
  frames: readonly RowFrame[],
  { delimiter, quote }: CsvDefinition,
): ReadonlyMap<RowFrame, readonly string[]> {
  if (frames.length === 0) return new Map()
  const records = frames.flatMap((frame) => [bytes.subarray(frame.start, frame.end), LINE_END])
  const parsed: string[][] = parse(Buffer.concat(records), {
    delimiter,
    quote,
    escape: quote,
    record_delimiter: '\n',
    relax_column_count: true,
  })
  return new Map(frames.map((frame, at) => [frame, parsed[at] ?? []]))
}

function wrongWidth(bytes: Buffer, frame: RowFrame, cells: readonly string[], width: number): Row {
  const found = `${cells.length} ${cells.length === 1 ? 'cell' : 'cells'} where the header has ${width}`
  const cut = frame.cutOff ? '; this is the last line and it has no line end: the file may be cut off' : ''
  const fault = cells.length < width ? 'row-too-short' : 'row-too-long'
  return unreadableRow(bytes, frame, { fault, message: found + cut }, cells)
}
