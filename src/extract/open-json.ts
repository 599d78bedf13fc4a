/** Opens an export of `format: json` or `ndjson`: one document, a list in it, or a document a line. */

import type { Row } from '../model/row.ts'
import type { Compression } from './content.ts'
import {
  CR,
  cutText,
  firstOrigin,
  jsonRow,
  LF,
  type OpenFormat,
  ROW_BYTES,
  type RowFormat,
  type RowFrame,
  readRows,
  rowsOf,
  tooLarge,
  unreadableRow,
} from './framing.ts'
import { notUtf8, placeBehind, placeText } from './json-path.ts'
import { findRecords, isSpace, readJson, readRecords } from './json-records.ts'
import { openText } from './open-csv.ts'
import type { JsonDefinition } from './read-definition.ts'

/** @throws WaybillError `export-empty`, `export-unreadable` */
export async function openJson(
  path: string,
  compression: Compression,
  read: JsonDefinition,
): Promise<Pick<OpenFormat, 'seekable' | 'rows'>> {
  // RFC 8259, 8.1 wants UTF-8; some systems write UTF-16.
  const source = await openText(path, compression, { encoding: 'auto' })
  if (read.records === undefined) {
    // Reading always begins with the only row: the column of a fault counts from the start of the line.
    const rows = () => readRows(source.text, firstOrigin(source.start), jsonDocumentFormat)
    return { seekable: false, rows }
  }
  const found = await findRecords(source, read.records, read.context)
  return { seekable: source.seekable, rows: (from = found.first) => readRecords(found, from) }
}

const jsonDocumentFormat: RowFormat = {
  frame(bytes, start, ended) {
    if (bytes.length - start > ROW_BYTES) {
      const fault = tooLarge('the document is larger', '; name the list of its rows in read.records')
      return { end: start + ROW_BYTES, lines: 1, fault }
    }
    return ended ? { end: bytes.length, next: bytes.length, lines: 1 } : undefined
  },
  // The rest of a document that is too large is skipped.
  lineEnd: () => -1,
  rows: (bytes, frames) =>
    rowsOf(
      bytes,
      frames,
      (frame) => documentRow(bytes, frame),
      ({ start, end, line }) => notUtf8(bytes.subarray(start, end), { line, column: 1 }),
    ),
}

function documentRow(bytes: Buffer, frame: RowFrame): Row {
  const text = bytes.toString('utf8', frame.start, frame.end)
  const top = { line: frame.line, column: 1 }
  const reading = readJson(text, (at) => placeText(placeBehind(Buffer.from(text.slice(0, at)), top)))
  if ('problem' in reading)
    return unreadableRow(bytes, frame, { fault: 'row-json-invalid', message: reading.problem })
  let { start, end } = frame
  let line = frame.line
  while (isSpace(bytes[start])) if (bytes[start++] === LF) line += 1
  while (isSpace(bytes[end - 1])) end -= 1
  const origin = { row: frame.row, line, byteOffset: frame.byteOffset + start - frame.start }
  return jsonRow(origin, reading.value, bytes.toString('utf8', start, end))
}

export const ndjsonFormat: RowFormat = {
  frame(bytes, start, ended) {
    const found = bytes.indexOf(LF, start)
    const lineEnd = found === -1 ? bytes.length : found
    const end = bytes[lineEnd - 1] === CR && lineEnd > start ? lineEnd - 1 : lineEnd
    if (end - start > ROW_BYTES)
      return { end: start + ROW_BYTES, lines: 1, fault: tooLarge('the line is longer') }
    if (found === -1 && !ended) return undefined
    return { end, next: found === -1 ? lineEnd : found + 1, lines: 1, blank: isBlank(bytes, start, end) }
  },
  lineEnd: (bytes, from) => bytes.indexOf(LF, from),
  rows: (bytes, frames) =>
    rowsOf(
      bytes,
      frames,
      (frame) => lineRow(bytes, frame),
      () => ({
        fault: 'row-encoding-invalid',
        message: 'the row is not valid UTF-8; export the file as UTF-8',
      }),
    ),
}

function lineRow(bytes: Buffer, frame: RowFrame): Row {
  const text = bytes.toString('utf8', frame.start, frame.end)
  const reading = readJson(text)
  if ('problem' in reading) {
    const message = reading.problem + cutText(frame)
    return unreadableRow(bytes, frame, { fault: 'row-json-invalid', message })
  }
  return jsonRow(frame, reading.value, text)
}

function isBlank(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) if (!isSpace(bytes[at])) return false
  return true
}
