/** Lines and columns in JSON, for messages. */
import { type FrameFault, LF } from './framing.ts'

/** Lines and columns count from 1; a column counts bytes. */
export interface JsonPlace {
  readonly line: number
  readonly column: number
}

const REPLACEMENT = '\ufffd'
const REPLACEMENT_BYTES = Buffer.from(REPLACEMENT)

export const placeText = ({ line, column }: JsonPlace): string => `line ${line}, column ${column}`

/** Where one stands behind a stretch of text that starts at a place. */
export function placeBehind(passed: Buffer, start: JsonPlace): JsonPlace {
  const lineEnd = passed.lastIndexOf(LF)
  if (lineEnd === -1) return { line: start.line, column: start.column + passed.length }
  let lines = 0
  for (let at = passed.indexOf(LF); at !== -1; at = passed.indexOf(LF, at + 1)) lines += 1
  return { line: start.line + lines, column: passed.length - lineEnd }
}

/** The fault of bytes that are not UTF-8, with the place of the first that is wrong. */
export function notUtf8(bytes: Buffer, start: JsonPlace): FrameFault {
  const text = bytes.toString()
  let before = 0
  let passed = 0
  for (let at = text.indexOf(REPLACEMENT); at !== -1; at = text.indexOf(REPLACEMENT, at + 1)) {
    before += Buffer.byteLength(text.slice(passed, at))
    passed = at + 1
    if (!bytes.subarray(before, before + 3).equals(REPLACEMENT_BYTES)) break
    before += 3
  }
  const place = placeText(placeBehind(bytes.subarray(0, before), start))
  return { fault: 'row-encoding-invalid', message: `not UTF-8 at ${place}; export the file as UTF-8` }
}
