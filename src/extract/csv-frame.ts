/**
 * Finds where a CSV record ends, without taking it apart (RFC 4180, and the dialects beside it).
 *
 * LF, CR LF and CR each end a line. A quote may open only at the start of a cell, and a closing quote may be followed
 * only by a delimiter or a line end. Where that does not hold, the row's first physical line alone is unreadable and
 * the next line is looked at afresh, so that one stray quote costs one line and never the rest of the file.
 *
 * This stays linear in the file: of two lines that each leave a quote open, the second closes (or breaks) what the
 * first has opened, since the number of its quotes is odd; an escaped quote outside of quotes breaks a line at once. So
 * the stretches that are looked at twice do not overlap. Lenient quotes, and escapes without quotes, give no such proof;
 * there a bound on the lines of a record keeps a byte from being looked at more often than that.
 */

import { afterLineEnd, CR, type Frame, type FrameFault, LF } from './framing.ts'
import type { Dialect } from './read-definition.ts'

/** A record longer than this is taken for one whose quote was never closed. */
export const RECORD_BYTES = 1024 * 1024
/** Line ends that a record may hold with lenient quotes, or with escapes and no quotes. */
export const INNER_LINES = 64

const TOO_LARGE: FrameFault = { fault: 'row-too-large', message: 'the line is longer than 1 MiB' }
const TOO_MANY_LINES: FrameFault = {
  fault: 'row-quote-not-closed',
  message: `a record that begins on this line does not end within ${INNER_LINES} lines`,
}

/** The record at `start`, or undefined when `bytes` must reach further to tell. */
export function frameRecord(
  bytes: Buffer,
  start: number,
  ended: boolean,
  dialect: Dialect,
): Frame | undefined {
  const { delimiter, quote, escapedBy, lenient } = dialect
  const comment = commentFrame(bytes, start, ended, dialect)
  if (comment !== 'none') return comment
  const limit = Math.min(bytes.length, start + RECORD_BYTES + 1)
  const fail = (fault: FrameFault) => firstLineAlone(bytes, start, ended, fault)
  let quoted = false
  let open = false
  let inner = 0
  for (let position = start; position < limit; position += 1) {
    const byte = bytes[position]
    if (byte === LF || byte === CR) {
      const next = afterLineEnd(bytes, position, ended)
      if (next === undefined) return undefined
      const lines = quoted ? 1 + lineEnds(bytes, start, position) : 1
      return { end: position, next, lines, quoted, blank: position === start }
    }
    if (byte === escapedBy && quote < 0) {
      quoted = true
      const from = position
      position = lastEscaped(bytes, position)
      inner += lineEnds(bytes, from, position + 1)
      if (inner > INNER_LINES) return fail(TOO_MANY_LINES)
      continue
    }
    if (byte !== quote) continue
    if (position !== start && bytes[position - 1] !== delimiter) {
      if (lenient) continue
      return fail(broken('a quote stands inside a cell', bytes, start, position))
    }
    quoted = true
    const from = position
    position = closingQuote(bytes, position + 1, limit, dialect)
    open = position === -1
    if (open) break
    if (lenient) inner += lineEnds(bytes, from, position)
    if (inner > INNER_LINES) return fail(TOO_MANY_LINES)
    const after = bytes[position + 1]
    if (after === undefined && !ended) return undefined
    if (after === undefined || after === delimiter || after === LF || after === CR) continue
    if (lineEnds(bytes, start, position) === 0)
      return fail(broken('text follows a closing quote', bytes, start, position + 1))
    return fail(notClosed('where it would be closed, on a later line, text follows'))
  }
  if (limit > start + RECORD_BYTES)
    return fail(quote < 0 ? TOO_LARGE : notClosed('the record would be longer than 1 MiB'))
  if (!ended) return undefined
  if (open) return fail(notClosed('the file ends before that'))
  return { end: limit, next: limit, lines: 1 + lineEnds(bytes, start, limit), quoted }
}

/** A comment line, which is no row; `none` where another line starts. */
function commentFrame(
  bytes: Buffer,
  start: number,
  ended: boolean,
  { comment }: Dialect,
): Frame | undefined | 'none' {
  if (comment === undefined || bytes[start] !== comment[0]) return 'none'
  if (!bytes.subarray(start, start + comment.length).equals(comment)) return 'none'
  const line = firstLineAlone(bytes, start, ended)
  return line && { ...line, blank: true }
}

/** The first line end from a position on, or -1. */
export function csvLineEnd(bytes: Buffer, from: number, limit: number = bytes.length): number {
  for (let position = from; position < limit; position += 1) {
    const byte = bytes[position]
    if (byte === LF || byte === CR) return position
  }
  return -1
}

/** The quote that closes a cell: one that is neither doubled nor escaped. -1: it stands behind the limit, if anywhere. */
function closingQuote(bytes: Buffer, from: number, limit: number, { quote, escapedBy }: Dialect): number {
  for (let position = from; position < limit; position += 1) {
    const byte = bytes[position]
    if (byte === escapedBy) position = lastEscaped(bytes, position)
    else if (byte === quote) {
      if (bytes[position + 1] !== quote) return position
      position += 1
    }
  }
  return -1
}

/** The last byte of what an escape stands before: one byte, or CR LF. */
function lastEscaped(bytes: Buffer, at: number): number {
  return bytes[at + 1] === CR && bytes[at + 2] === LF ? at + 2 : at + 1
}

function lineEnds(bytes: Buffer, from: number, to: number): number {
  let count = 0
  for (let position = from; position < to; position += 1) {
    const byte = bytes[position]
    if (byte === LF || (byte === CR && bytes[position + 1] !== LF)) count += 1
  }
  return count
}

/** The physical line at `start` as a frame of its own, with what is wrong with it, if anything is. */
function firstLineAlone(bytes: Buffer, start: number, ended: boolean, fault?: FrameFault): Frame | undefined {
  const faulty = fault && { fault }
  const limit = Math.min(bytes.length, start + RECORD_BYTES + 1)
  const end = csvLineEnd(bytes, start, limit)
  if (end !== -1) {
    const next = afterLineEnd(bytes, end, ended)
    return next === undefined ? undefined : { end, next, lines: 1, ...faulty }
  }
  if (limit > start + RECORD_BYTES) return { end: limit, lines: 1, fault: TOO_LARGE }
  return ended ? { end: limit, next: limit, lines: 1, ...faulty } : undefined
}

function broken(what: string, bytes: Buffer, start: number, position: number): FrameFault {
  const column = bytes.toString('utf8', start, position).length + 1
  return { fault: 'row-quote-broken', message: `${what}, at column ${column}` }
}

function notClosed(why: string): FrameFault {
  return { fault: 'row-quote-not-closed', message: `a quote that opens on this line is not closed: ${why}` }
}
