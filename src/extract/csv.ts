/**
 * CSV rows. Where a record ends is found by `csv-frame.ts`, which gives its origin and survives a broken quote. Cells of a record without
 * quotes are what stands between the delimiters; csv-parse takes those with quotes apart, many in one call (docs/decisions/0006-csv-framing.md).
 */
import { parse } from 'csv-parse/sync'
import type { Row } from '../model/row.ts'
import { csvLineEnd, frameRecord } from './csv-frame.ts'
import { type FrameFault, type RowFormat, type RowFrame, unreadableRow, utf8Check } from './framing.ts'
import type { CsvDefinition, Dialect } from './read-definition.ts'

export interface CsvForm {
  readonly dialect: Dialect
  /** How many cells each row must have, and what says so; absent while the header itself is read. */
  readonly expected?: { readonly width: number; readonly named: string }
  readonly ragged: CsvDefinition['ragged']
  /** What to say of a row that is not valid in the file's encoding. */
  readonly invalidEncoding: string
  /** The content was in another encoding and is UTF-8 by now. */
  readonly transcoded: boolean
}

export function csvFormat({ dialect, expected, ragged, invalidEncoding, transcoded }: CsvForm): RowFormat {
  const splitAll = cellSplitter(dialect)
  const delimiter = String.fromCharCode(dialect.delimiter)
  const { widths } = dialect
  const split = (text: string): string[] =>
    widths === undefined ? text.split(delimiter) : cutByWidths(text, widths)
  const readAs = transcoded ? 'utf8' : 'latin1'
  const unreadable = (bytes: Buffer, frame: RowFrame, fault: FrameFault): Row =>
    unreadableRow(bytes, frame, fault, undefined, readAs)
  return {
    frame: (bytes, start, ended) => frameRecord(bytes, start, ended, dialect),
    lineEnd: (bytes, from) => csvLineEnd(bytes, from),
    rows(bytes, frames) {
      const isUtf8 = utf8Check(bytes, frames)
      const hasNul = nulCheck(bytes, frames)
      /** Its text, or what is wrong with it. */
      const told = (frame: RowFrame): string | Row => {
        if (frame.fault !== undefined) return unreadable(bytes, frame, frame.fault)
        if (!isUtf8(frame)) {
          const message = `${invalidEncoding} (column ${invalidColumn(bytes, frame)})`
          return unreadable(bytes, frame, { fault: 'row-encoding-invalid', message })
        }
        const text = bytes.toString('utf8', frame.start, frame.end)
        if (!hasNul || !text.includes('\0')) return text
        const message = `a NUL character stands at column ${text.indexOf('\0') + 1}; the file is damaged, or is UTF-16 and \`read.encoding\` does not say so`
        return unreadable(bytes, frame, { fault: 'row-encoding-invalid', message })
      }
      const records = frames.map((frame) => ({ frame, text: told(frame) }))
      const quoted = splitAll(
        records.flatMap(({ frame, text }) => (frame.quoted === true && typeof text === 'string' ? text : [])),
      ).values()
      return records.map(({ frame, text }): Row => {
        if (typeof text !== 'string') return text
        const found = frame.quoted === true ? (quoted.next().value ?? []) : split(text)
        const { row, line, byteOffset } = frame
        if (expected === undefined || found.length === expected.width)
          return { kind: 'cells', row, line, byteOffset, cells: found }
        const cells = fitted(found, expected.width, ragged)
        if (cells === undefined) return wrongWidth(bytes, frame, found, expected)
        return { kind: 'cells', row, line, byteOffset, cells }
      })
    },
  }
}

/** A line may end before its last cell does: blanks at its end are often left out. What stands behind all of them is a cell too many. */
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

/** Cells made as many as there are columns, or undefined where the mapping allows no such thing. */
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
  const cut = frame.cutOff ? '; this is the last line and it has no line end: the file may be cut off' : ''
  const fault = cells.length < width ? 'row-too-short' : 'row-too-long'
  return unreadableRow(bytes, frame, { fault, message: found + cut }, cells)
}

/** Whether any of the frames can hold a NUL. */
function nulCheck(bytes: Buffer, frames: readonly RowFrame[]): boolean {
  const [first] = frames
  const last = frames.at(-1)
  if (first === undefined || last === undefined) return false
  return bytes.subarray(first.start, last.end).includes(0)
}

/** Column, from 1, of the first character that is not UTF-8: the first replacement that was not in the text itself. */
function invalidColumn(bytes: Buffer, { start, end }: RowFrame): number {
  const text = bytes.toString('utf8', start, end)
  let offset = start
  let counted = 0
  for (let at = text.indexOf(REPLACEMENT); at !== -1; at = text.indexOf(REPLACEMENT, at + 1)) {
    offset += Buffer.byteLength(text.slice(counted, at))
    counted = at
    if (bytes.toString('latin1', offset, offset + 3) !== REPLACEMENT_BYTES) return at + 1
  }
  return text.length + 1
}

const REPLACEMENT = '\ufffd'
const REPLACEMENT_BYTES = '\xef\xbf\xbd'

/** Records that are whole, each into its cells. */
export type CellSplitter = (records: readonly string[]) => readonly (readonly string[])[]

/** The dialect's marks as text; those it does not have are empty. */
interface Marks {
  readonly delimiter: string
  readonly quote: string
  readonly escapedBy: string
}

export function cellSplitter(dialect: Dialect): CellSplitter {
  const [delimiter, quote, escapedBy] = [dialect.delimiter, dialect.quote, dialect.escapedBy].map((byte) =>
    byte < 0 ? '' : String.fromCharCode(byte),
  ) as [string, string, string]
  // csv-parse knows escapes within quotes alone, and takes a lenient quote for the end of its cell.
  if (quote === '' || escapedBy !== '' || dialect.lenient) {
    const split = splitterOf({ delimiter, quote, escapedBy })
    return (records) => records.map(split)
  }
  const options = { delimiter, quote, escape: quote, record_delimiter: '\n', relax_column_count: true }
  return (records) => {
    const cells = records.length === 0 ? [] : parse(records.join('\n'), options)
    // One more or less, and each row behind it would have the cells of another person.
    if (cells.length !== records.length)
      throw new Error(`csv-parse made ${cells.length} records of ${records.length}`)
    return cells
  }
}

/** Of the dialects that csv-parse does not read as their writers mean them. */
function splitterOf(marks: Marks): (record: string) => string[] {
  const { delimiter, quote, escapedBy } = marks
  const literal = unescaper(marks)
  const bare = quote === '' && escapedBy !== ''
  return (record) => {
    const cells: string[] = []
    for (let at = 0; ; at += 1) {
      const quoted = quote !== '' && record.startsWith(quote, at)
      const from = quoted ? at + 1 : at
      const to = quoted
        ? closingQuote(record, from, marks)
        : find(record, from, delimiter, bare ? escapedBy : '')
      const text = record.slice(from, to)
      cells.push(quoted || bare ? literal(text) : text)
      at = quoted ? to + 1 : to
      if (at >= record.length) return cells
    }
  }
}

/** The quote that closes the cell: one that is neither doubled nor escaped. */
function closingQuote(record: string, from: number, { quote, escapedBy }: Marks): number {
  for (let at = from; ; at += 2) {
    at = find(record, at, quote, escapedBy)
    if (!record.startsWith(quote, at + 1)) return at
  }
}

/** The first mark before which no escape stands; the record's length where there is none. */
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

/** Takes escapes away before a mark of the dialect or a line end; before anything else they are text. */
function unescaper({ delimiter, quote, escapedBy }: Marks): (text: string) => string {
  if (escapedBy === '') return (text) => text.replaceAll(quote + quote, quote)
  const escaped = `${code(escapedBy)}(\\r\\n|[\\r\\n${code(delimiter + escapedBy + quote)}])`
  const pattern = new RegExp(quote === '' ? escaped : `${escaped}|${code(quote + quote)}`, 'g')
  return (text) => text.replace(pattern, (_, mark: string | undefined) => mark ?? quote)
}

/** Characters as a regular expression names them, whatever they mean in one. */
function code(marks: string): string {
  return [...marks].map((mark) => `\\x${mark.charCodeAt(0).toString(16).padStart(2, '0')}`).join('')
}
