/** A file that is one JSON document: one row. */
import type { Row } from '../model/row.ts'
import { type RowFormat, type RowFrame, unreadableRow, utf8Check } from './framing.ts'
import { isSpace, VALUE_BYTES } from './json-frame.ts'
import { notUtf8, placeBehind, placeText } from './json-place.ts'
import { readJson } from './json-text.ts'

export const jsonDocumentFormat: RowFormat = {
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
  const byteOffset = frame.byteOffset + start - frame.start
  return {
    kind: 'json',
    row: frame.row,
    line,
    byteOffset,
    value: reading.value,
    text: bytes.toString('utf8', start, end),
  }
}
