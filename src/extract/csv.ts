/**
 * CSV rows (RFC 4180 and its dialects): first the end of a record, without parsing; then its cells (docs/decisions/0006-csv-framing.md).
 *
 * LF, CR LF and CR each end a line. A quote opens only at the start of a cell, and only a delimiter or a line end follows a closing quote.
 * Otherwise the first physical line of the row alone is unreadable: a stray quote costs one line, never the rest of the file.
 * The next line with an open quote closes or breaks the first, so framing is linear; with lenient quotes, or escapes without quotes, the
 * lines of a record are bounded.
 */
import type { Row } from '../model/row.ts'
import { validStart } from './encoding.ts'
import {
  afterLineEnd,
  blockOf,
  CR,
  cutText,
  type Frame,
  type FrameFault,
  LF,
  lineEnd,
  type RowFormat,
  type RowFrame,
  unreadableRow,
  utf8Check,
} from './framing.ts'
import type { CsvDefinition, Dialect } from './read-definition.ts'
import { REST_UNDER_OTHER_HEADER } from './second-header.ts'

interface CsvForm {
  readonly dialect: Dialect
  /** Cells of each row, and the source of that number; absent while the header is read. */
  readonly expected?: {
    readonly width: number
    readonly named: string
    /** Finds a header under which all further rows stand. */
    readonly isOtherHeader: (cells: readonly string[]) => boolean
  }
  readonly ragged: CsvDefinition['ragged']
  /** Message for a row that is not valid in the encoding of the file. */
  readonly invalidEncoding: string
  /** The content was in another encoding and is UTF-8 now. */
  readonly transcoded: boolean
}

export function csvFormat({ dialect, expected, ragged, invalidEncoding, transcoded }: CsvForm): RowFormat {
  const splitQuoted = cellSplitter(dialect)
  const delimiter = String.fromCharCode(dialect.delimiter)
  const { widths } = dialect
  const split = (text: string): string[] =>
    widths === undefined ? text.split(delimiter) : cutByWidths(text, widths)
  const readAs = transcoded ? 'utf8' : 'latin1'
  const unreadable = (bytes: Buffer, frame: RowFrame, fault: FrameFault): Row =>
    unreadableRow(bytes, frame, fault, undefined, readAs)
  return {
    frame: (bytes, start, ended) => frameRecord(bytes, start, ended, dialect),
    rows(bytes, frames) {
      const isUtf8 = utf8Check(bytes, frames)
      const hasNul = blockOf(bytes, frames).includes(0)
      /** Text of a frame, or an unreadable row. */
      const decoded = (frame: RowFrame): string | Row => {
        if (frame.fault !== undefined) return unreadable(bytes, frame, frame.fault)
        if (!isUtf8(frame)) {
          const valid = validStart(bytes.subarray(frame.start, frame.end)).toString()
          const message = `${invalidEncoding} (column ${valid.length + 1})`
          return unreadable(bytes, frame, { fault: 'row-encoding-invalid', message })
        }
        const text = bytes.toString('utf8', frame.start, frame.end)
        if (!hasNul || !text.includes('\0')) return text
        const message = `a NUL character at column ${text.indexOf('\0') + 1}; the file is damaged, or is UTF-16 without \`read.encoding\``
        return unreadable(bytes, frame, { fault: 'row-encoding-invalid', message })
      }
      return frames.map((frame): Row => {
        const text = decoded(frame)
        if (typeof text !== 'string') return text
        if (widths !== undefined && !transcoded && isCutInBytes(text, widths))
          return unreadable(bytes, frame, CUT_BY_BYTE)
        const found = frame.quoted === true ? splitQuoted(text) : split(text)
        const { row, line, byteOffset } = frame
        if (expected?.isOtherHeader(found) === true)
          return unreadable(bytes, frame, { fault: 'rest-unreadable', message: REST_UNDER_OTHER_HEADER })
        if (frame.lines > 1 && expected !== undefined && holdsRowEnd(found, expected.width, delimiter))
          return unreadable(bytes, frame, ROW_IN_QUOTES)
        if (expected === undefined || found.length === expected.width)
          return { kind: 'cells', row, line, byteOffset, cells: found }
        const cells = fitted(found, expected.width, ragged)
        if (cells === undefined) return wrongWidth(bytes, frame, found, expected)
        return { kind: 'cells', row, line, byteOffset, cells }
      })
    },
  }
}

const ROW_IN_QUOTES: FrameFault = {
  fault: 'row-quote-broken',
  message:
    'a quoted cell holds the end of a row and the beginning of the next: a quote is missing or too many',
}
/** In narrower tables, an address of two lines has as many delimiters. */
const FEWEST_CELLS = 6

/** True where quotes joined rows: the first line of a cell completes the row, the last begins another. */
function holdsRowEnd(cells: readonly string[], width: number, delimiter: string): boolean {
  if (width < FEWEST_CELLS) return false
  return cells.some((cell, at) => {
    const lines = cell.split(/\r\n|[\r\n]/)
    const counts = lines.map((line) => line.split(delimiter).length - 1)
    const [first, ...rest] = counts
    const last = rest.pop()
    return first === width - 1 - at && last === at && rest.every((count) => count === width - 1)
  })
}

const CUT_BY_BYTE: FrameFault = {
  fault: 'row-too-short',
  message:
    'the line has its whole width in bytes, and less in characters: the columns behind its letters are shifted',
}

/** True for a line that a program has padded to a number of bytes. */
function isCutInBytes(text: string, widths: readonly number[]): boolean {
  const width = widths.reduce((sum, one) => sum + one, 0)
  return text.length < width && Buffer.byteLength(text) === width
}

/** Splits a line by widths. Text behind the last width is a cell too many. */
export function cutByWidths(text: string, widths: readonly number[]): string[] {
  const cells: string[] = []
  let at = 0
  for (const width of widths) {
    if (at >= text.length) return cells
    cells.push(text.slice(at, at + width))
    at += width
  }
  const rest = text.slice(at)
  return rest.trim() === '' ? cells : [...cells, rest]
}

/** Pads or trims cells to the width; undefined where the mapping does not allow that. */
function fitted(
  cells: readonly string[],
  width: number,
  ragged: CsvDefinition['ragged'],
): readonly string[] | undefined {
  if (ragged === 'pad' && cells.length < width)
    return [...cells, ...Array.from({ length: width - cells.length }, () => '')]
  if (ragged === 'trim' && cells.slice(width).every((cell) => cell.trim() === '') && cells.length > width)
    return cells.slice(0, width)
  return undefined
}

function wrongWidth(
  bytes: Buffer,
  frame: RowFrame,
  cells: readonly string[],
  { width, named }: NonNullable<CsvForm['expected']>,
): Row {
  const found = `${cells.length} ${cells.length === 1 ? 'cell' : 'cells'} where ${named} ${width}`
  const fault = cells.length < width ? 'row-too-short' : 'row-too-long'
  return unreadableRow(bytes, frame, { fault, message: found + cutText(frame) }, cells)
}

/** Marks of the dialect as text; empty for none. */
interface Marks {
  readonly delimiter: string
  readonly quote: string
  readonly escapedBy: string
}

/** Splits a whole record, whose quotes are known to be in order, into cells. */
export function cellSplitter(dialect: Dialect): (record: string) => string[] {
  const [delimiter = '', quote = '', escapedBy = ''] = [
    dialect.delimiter,
    dialect.quote,
    dialect.escapedBy,
  ].map((byte) => (byte < 0 ? '' : String.fromCharCode(byte)))
  const marks: Marks = { delimiter, quote, escapedBy }
  const literal = unescaper(marks)
  const bare = quote === '' && escapedBy !== ''
  return (record) => {
    const cells: string[] = []
    for (let at = 0; ; at += 1) {
      const quoted = quote !== '' && record.startsWith(quote, at)
      const from = quoted ? at + 1 : at
      const to = quoted
        ? closingMark(record, from, marks)
        : find(record, from, delimiter, bare ? escapedBy : '')
      const text = record.slice(from, to)
      cells.push(quoted || bare ? literal(text) : text)
      at = quoted ? to + 1 : to
      if (at >= record.length) return cells
    }
  }
}

/** Place of the closing quote, which is neither doubled nor escaped. */
function closingMark(record: string, from: number, { quote, escapedBy }: Marks): number {
  for (let at = from; ; at += 2) {
    at = find(record, at, quote, escapedBy)
    if (!record.startsWith(quote, at + 1)) return at
  }
}

/** Place of the first mark without an escape before it; the length of the record for none. */
function find(record: string, from: number, mark: string, escapedBy: string): number {
  if (escapedBy === '') {
    const found = record.indexOf(mark, from)
    return found === -1 ? record.length : found
  }
  for (let at = from; at < record.length; at += 1) {
    if (record.startsWith(escapedBy, at)) at += record.startsWith('\r\n', at + 1) ? 2 : 1
    else if (record.startsWith(mark, at)) return at
  }
  return record.length
}

/** Removes escapes before a mark of the dialect or a line end; other escapes are text. */
function unescaper({ delimiter, quote, escapedBy }: Marks): (text: string) => string {
  if (escapedBy === '') return (text) => text.replaceAll(quote + quote, quote)
  const escaped = `${code(escapedBy)}(\\r\\n|[\\r\\n${code(delimiter + escapedBy + quote)}])`
  const pattern = new RegExp(quote === '' ? escaped : `${escaped}|${code(quote + quote)}`, 'g')
  return (text) => text.replace(pattern, (_, mark: string | undefined) => mark ?? quote)
}

/** Characters as escapes of a regular expression. */
const code = (marks: string): string =>
  [...marks].map((mark) => `\\x${mark.charCodeAt(0).toString(16).padStart(2, '0')}`).join('')

/** A longer record has a quote that is never closed. */
const RECORD_BYTES = 1024 * 1024
/** Most line ends in a record with lenient quotes, or with escapes and no quotes. */
const INNER_LINES = 64

const TOO_LARGE: FrameFault = { fault: 'row-too-large', message: 'the line is longer than 1 MiB' }
const TOO_MANY_LINES: FrameFault = {
  fault: 'row-quote-not-closed',
  message: `a record that begins on this line does not end within ${INNER_LINES} lines`,
}

/** The record at `start`; undefined when `bytes` must reach further to tell. */
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
      return fail(broken('a quote inside a cell', bytes, start, position))
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
    return fail(notClosed('text follows the next quote, on a later line'))
  }
  if (limit > start + RECORD_BYTES)
    return fail(quote < 0 ? TOO_LARGE : notClosed('the record would be longer than 1 MiB'))
  if (!ended) return undefined
  if (open) return fail(notClosed('the file ends before that'))
  return { end: limit, next: limit, lines: 1 + lineEnds(bytes, start, limit), quoted }
}

/** A comment line, which is no row; `none` for another line. */
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

/** Position of the closing quote, which is neither doubled nor escaped; -1 for none before the limit. */
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

/** Position of the last escaped byte: an escape escapes one byte, or CR LF. */
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

/** The physical line at `start` as a frame of its own, with a fault if there is any. */
function firstLineAlone(bytes: Buffer, start: number, ended: boolean, fault?: FrameFault): Frame | undefined {
  const faulty = fault && { fault }
  const limit = Math.min(bytes.length, start + RECORD_BYTES + 1)
  const end = lineEnd(bytes, start, limit)
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

const notClosed = (why: string): FrameFault => ({
  fault: 'row-quote-not-closed',
  message: `a quote that opens on this line is not closed: ${why}`,
})
