/**
 * CSV rows. Where a record ends is found by `csv-frame.ts`, which gives its origin and survives a broken quote; cells of
 * a record without quotes are what stands between the delimiters, and only one with quotes is looked through again
 * (`csv-cells.ts`).
 */
import type { Row } from '../model/row.ts'
import { cellSplitter } from './csv-cells.ts'
import type { CsvDefinition } from './csv-definition.ts'
import type { Dialect } from './csv-dialect.ts'
import { csvLineEnd, frameRecord } from './csv-frame.ts'
import { type FrameFault, type RowFormat, type RowFrame, unreadableRow, utf8Check } from './framing.ts'

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
  const split = cellSplitter(dialect)
  const delimiter = String.fromCharCode(dialect.delimiter)
  const readAs = transcoded ? 'utf8' : 'latin1'
  const unreadable = (bytes: Buffer, frame: RowFrame, fault: FrameFault): Row =>
    unreadableRow(bytes, frame, fault, undefined, readAs)
  return {
    frame: (bytes, start, ended) => frameRecord(bytes, start, ended, dialect),
    lineEnd: (bytes, from) => csvLineEnd(bytes, from),
    rows(bytes, frames) {
      const isUtf8 = utf8Check(bytes, frames)
      const hasNul = nulCheck(bytes, frames)
      return frames.map((frame): Row => {
        if (frame.fault !== undefined) return unreadable(bytes, frame, frame.fault)
        if (!isUtf8(frame)) {
          const message = `${invalidEncoding} (column ${invalidColumn(bytes, frame)})`
          return unreadable(bytes, frame, { fault: 'row-encoding-invalid', message })
        }
        const text = bytes.toString('utf8', frame.start, frame.end)
        if (hasNul && text.includes('\0')) {
          const message = `a NUL character stands at column ${text.indexOf('\0') + 1}; the file is damaged, or is UTF-16 and \`read.encoding\` does not say so`
          return unreadable(bytes, frame, { fault: 'row-encoding-invalid', message })
        }
        const found = frame.quoted === true ? split(text) : text.split(delimiter)
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
