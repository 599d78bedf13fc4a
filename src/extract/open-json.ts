/**
 * Opens an export of `format: json`: finds out encoding and where its rows stand, then gives them. The file is one document, a list in
 * it, or a document a line.
 */

import type { Origin, Row } from '../model/row.ts'
import type { Compression } from './content.ts'
import {
  ByteWindow,
  CR,
  jsonRow,
  LF,
  NOT_UTF8,
  type OpenFormat,
  type RowFormat,
  type RowFrame,
  readRows,
  unreadableRow,
  utf8Check,
} from './framing.ts'
import { notUtf8, placeBehind, placeText } from './json-path.ts'
import { findRecords, readRecords } from './json-records.ts'
import { isSpace, readJson, VALUE_BYTES } from './json-text.ts'
import { openText } from './open-csv.ts'
import type { JsonDefinition } from './read-definition.ts'

/** @throws WaybillError `export-empty`, `export-unreadable` */
export async function openJson(
  path: string,
  compression: Compression,
  read: JsonDefinition,
): Promise<Pick<OpenFormat, 'seekable' | 'rows'>> {
  // RFC 8259, 8.1 wants UTF-8; UTF-16 is what some systems write, and is known by its mark or its NULs.
  const source = await openText(path, compression, { encoding: 'auto' })
  if (read.records === undefined) {
    const { start } = source
    const first: Origin = { row: 1, line: 1, byteOffset: start }
    // There is one row, so reading always begins with it: the column of a fault counts from the line's start.
    return {
      seekable: false,
      rows: () => readRows(new ByteWindow(source.text(start), start), first, jsonDocumentFormat),
    }
  }
  const found = await findRecords(source, read.records, read.context)
  return { seekable: source.seekable, rows: (from = found.first) => readRecords(found, from) }
}

const jsonDocumentFormat: RowFormat = {
  frame(bytes, start, ended) {
    if (bytes.length - start > VALUE_BYTES)
      return {
        end: start + VALUE_BYTES,
        lines: 1,
        fault: {
          fault: 'row-too-large',
          message: 'the document is larger than 16 MiB; name the list of its rows in read.records',
        },
      }
    return ended ? { end: bytes.length, next: bytes.length, lines: 1 } : undefined
  },
  // What is too large is passed over to the end.
  lineEnd: () => -1,
  rows(bytes, frames) {
    const isUtf8 = utf8Check(bytes, frames)
    return frames.map((frame) => {
      if (frame.fault !== undefined) return unreadableRow(bytes, frame, frame.fault)
      if (isUtf8(frame)) return documentRow(bytes, frame)
      const document = bytes.subarray(frame.start, frame.end)
      return unreadableRow(bytes, frame, notUtf8(document, { line: frame.line, column: 1 }))
    })
  },
}

function documentRow(bytes: Buffer, frame: RowFrame): Row {
  const text = bytes.toString('utf8', frame.start, frame.end)
  const top = { line: frame.line, column: 1 }
  const reading = readJson(text, (at) => placeText(placeBehind(Buffer.from(text.slice(0, at)), top)))
  if ('problem' in reading)
    return unreadableRow(bytes, frame, { fault: 'row-json-invalid', message: reading.problem })
  let { start, end } = frame
  let line = frame.line
  while (isSpace(bytes[start])) if (bytes[start++] === 0x0a) line += 1
  while (isSpace(bytes[end - 1])) end -= 1
  const origin = { row: frame.row, line, byteOffset: frame.byteOffset + start - frame.start }
  return jsonRow(origin, reading.value, bytes.toString('utf8', start, end))
}

/** A line longer than this is passed over without being held. */
const LINE_BYTES = 16 * 1024 * 1024

export const ndjsonFormat: RowFormat = {
  frame(bytes, start, ended) {
    const found = bytes.indexOf(LF, start)
    const lineEnd = found === -1 ? bytes.length : found
    const end = bytes[lineEnd - 1] === CR && lineEnd > start ? lineEnd - 1 : lineEnd
    if (end - start > LINE_BYTES)
      return {
        end: start + LINE_BYTES,
        lines: 1,
        fault: { fault: 'row-too-large', message: 'the line is longer than 16 MiB' },
      }
    if (found === -1 && !ended) return undefined
    return { end, next: found === -1 ? lineEnd : found + 1, lines: 1, blank: isBlank(bytes, start, end) }
  },
  lineEnd: (bytes, from) => bytes.indexOf(LF, from),
  rows(bytes, frames) {
    const isUtf8 = utf8Check(bytes, frames)
    return frames.map((frame) => {
      if (frame.fault !== undefined) return unreadableRow(bytes, frame, frame.fault)
      return isUtf8(frame) ? lineRow(bytes, frame) : unreadableRow(bytes, frame, NOT_UTF8)
    })
  },
}

function lineRow(bytes: Buffer, frame: RowFrame): Row {
  const text = bytes.toString('utf8', frame.start, frame.end)
  const reading = readJson(text)
  if ('problem' in reading) {
    const cut = frame.cutOff ? '; this is the last line and it has no line end: the file may be cut off' : ''
    return unreadableRow(bytes, frame, { fault: 'row-json-invalid', message: reading.problem + cut })
  }
  return jsonRow(frame, reading.value, text)
}

/** The white space of JSON but LF, which cannot occur here. */
function isBlank(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at]
    if (byte !== 0x20 && byte !== 0x09 && byte !== CR) return false
  }
  return true
}
