/** NDJSON rows: one JSON document a line, lines ended by LF or CR LF; lines of nothing but white space are no rows. */
import type { Row } from '../model/row.ts'
import { CR, LF, NOT_UTF8, type RowFormat, type RowFrame, unreadableRow, utf8Check } from './framing.ts'
import { readJson } from './json-text.ts'

/** A line longer than this is passed over without being held. */
export const LINE_BYTES = 16 * 1024 * 1024

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
      return isUtf8(frame) ? jsonRow(bytes, frame) : unreadableRow(bytes, frame, NOT_UTF8)
    })
  },
}

function jsonRow(bytes: Buffer, frame: RowFrame): Row {
  const text = bytes.toString('utf8', frame.start, frame.end)
  const reading = readJson(text)
  if ('problem' in reading) {
    const cut = frame.cutOff ? '; this is the last line and it has no line end: the file may be cut off' : ''
    return unreadableRow(bytes, frame, { fault: 'row-json-invalid', message: reading.problem + cut })
  }
  const { row, line, byteOffset } = frame
  return { kind: 'json', row, line, byteOffset, value: reading.value, text }
}

/** The white space of JSON but LF, which cannot occur here. */
function isBlank(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at]
    if (byte !== 0x20 && byte !== 0x09 && byte !== CR) return false
  }
  return true
}
