/** Cuts content into frames, a frame per row with its origin, by a `RowFormat`. */
import { isUtf8 } from 'node:buffer'
import type { JsonRow, JsonValue, Origin, Row, RowFault, UnreadableRow } from '../model/row.ts'

/** Rows handed over at once: the asynchronous step costs nothing a row, and the block stays small. */
const BLOCK_ROWS = 256
/** Bytes of an unreadable row that are kept for the rejects file. */
export const EXCERPT_BYTES = 64 * 1024
/** A row that is larger is not held. */
export const ROW_BYTES = 16 * 1024 * 1024

export const LF = 0x0a
export const CR = 0x0d

/** Reason why a frame cannot become a row. */
export interface FrameFault {
  readonly fault: RowFault
  readonly message: string
}

/** @param what `the line is longer` */
export const tooLarge = (what: string, remedy = ''): FrameFault => ({
  fault: 'row-too-large',
  message: `${what} than 16 MiB${remedy}`,
})

/** Place of a record in the window: positions, not offsets. */
export interface Frame {
  /** Behind the last byte, without the line end. */
  readonly end: number
  /** Start of the next frame; absent where the end of the line is too far away to be held. */
  readonly next?: number
  /** Physical lines of the record. */
  readonly lines: number
  /** No row. */
  readonly blank?: boolean
  /** CSV: a quote occurs, so that a delimiter need not end a cell. */
  readonly quoted?: boolean
  readonly fault?: FrameFault
}

/** A frame that is a row. */
export interface RowFrame extends Frame, Origin {
  readonly start: number
  /** True for a frame that ends with the content, without a line end. */
  readonly cutOff: boolean
}

/** Origin of the first row of a content. */
export const firstOrigin = (byteOffset: number): Origin => ({ row: 1, line: 1, byteOffset })

interface ControlTotal {
  readonly stated: number
  readonly found: number
}

/** An opened export of any format. */
export interface OpenFormat {
  readonly sheet?: string
  /** Observations about the file that change no row, without the content of any cell: hidden rows, merged cells. */
  readonly notes?: readonly string[]
  /** CSV, workbook: trimmed names of the header (or of `read.columns`). A column with an empty name cannot be mapped. */
  readonly columns?: readonly string[]
  /** Cells of the records that `header.skip` leaves out, as of units. */
  readonly below?: readonly (readonly string[])[]
  /** True for a plain file in UTF-8: reading from a later row skips the bytes before. */
  readonly seekable: boolean
  /**
   * The rows in blocks of some hundred, read as they are consumed.
   * @param from origin of a row, from an earlier reading. Default: the first row
   * @throws `export-unreadable`; `export-changed` where the content ends before `from`
   */
  rows(from?: Origin): AsyncIterable<readonly Row[]>
  /**
   * Compares row counts before anything of the export is sent. Undefined where the mapping names no such count.
   * @param counted number of rows, if `rows` has given all of them: the file is not read again
   */
  controlTotal(counted?: number): Promise<ControlTotal | undefined>
}

export interface RowFormat {
  /**
   * The frame that starts at `start`; undefined when `bytes` must reach further to tell. It depends on the content alone: a checkpoint and
   * any block size give the same rows.
   */
  frame(bytes: Buffer, start: number, ended: boolean): Frame | undefined
  /** The first byte of the next line end, or -1, to skip a line that is too long. Default: `lineEnd` */
  lineEnd?(bytes: Buffer, from: number): number
  /** The rows of a block of frames, in order. */
  rows(bytes: Buffer, frames: readonly RowFrame[]): Row[]
}

/** Content from an offset on. */
export type ContentFrom = (byteOffset: number) => AsyncIterable<Buffer>

/** The rows from an origin on. */
export async function* readRows(
  content: ContentFrom,
  from: Origin,
  format: RowFormat,
): AsyncGenerator<readonly Row[]> {
  for await (const { bytes, frames } of readFrames(content, from, format)) {
    const rows = format.rows(bytes, frames)
    const last = rows.findIndex(isRest)
    yield last < 0 ? rows : rows.slice(0, last + 1)
    if (last >= 0) return
  }
}

/** True for a row that stands for the rest of its file. */
const isRest = (row: Row): boolean => row.kind === 'unreadable' && row.fault === 'rest-unreadable'

/** Number of rows from an origin on. Parses no row. */
export async function countRows(content: ContentFrom, from: Origin, format: RowFormat): Promise<number> {
  let count = 0
  for await (const { frames } of readFrames(content, from, format)) count += frames.length
  return count
}

/** Origin of a row 1 at the start of a later physical line; the end of the content if there is no such line. */
export async function originOfLine(content: ContentFrom, from: Origin, line: number): Promise<Origin> {
  const window = windowAt(content, from)
  try {
    let position = 0
    for (let at = from.line; at < line; at += 1) position = await passLine(window, position)
    return { row: 1, line, byteOffset: window.offset + position }
  } finally {
    await window.close()
  }
}

const windowAt = (content: ContentFrom, { byteOffset }: Origin): ByteWindow =>
  new ByteWindow(content(byteOffset), byteOffset)

/** The first bytes of a content. @param least number of bytes, unless the content ends before */
export async function readStart(
  content: AsyncIterable<Buffer>,
  least: number,
): Promise<{ readonly bytes: Buffer; readonly whole: boolean }> {
  const window = new ByteWindow(content, 0)
  while (!window.ended && window.bytes.length < least) await window.refill(0)
  await window.close()
  return { bytes: window.bytes, whole: window.ended }
}

interface FrameBlock {
  readonly bytes: Buffer
  readonly frames: readonly RowFrame[]
}

async function* readFrames(
  content: ContentFrom,
  from: Origin,
  format: RowFormat,
): AsyncGenerator<FrameBlock> {
  const window = windowAt(content, from)
  let { row, line } = from
  let position = 0
  try {
    for (;;) {
      const frames: RowFrame[] = []
      const { bytes, ended } = window
      let overlong = false
      while (frames.length < BLOCK_ROWS && position < bytes.length && !overlong) {
        const start = position
        const frame = format.frame(bytes, start, ended)
        if (frame === undefined) break
        if (frame.blank !== true) {
          frames.push({
            ...frame,
            row,
            line,
            byteOffset: window.offset + start,
            start,
            cutOff: ended && frame.end === bytes.length,
          })
          row += 1
        }
        line += frame.lines
        overlong = frame.next === undefined
        position = frame.next ?? frame.end
      }
      if (frames.length > 0) yield { bytes, frames }
      if (overlong) position = await passLine(window, position, format.lineEnd)
      else if (frames.length < BLOCK_ROWS) {
        if (window.ended) return
        await window.refill(position)
        position = 0
      }
    }
  } finally {
    await window.close()
  }
}

/** First LF or CR from a position on; -1 for none. */
export function lineEnd(bytes: Buffer, from: number, limit: number = bytes.length): number {
  for (let position = from; position < limit; position += 1) {
    const byte = bytes[position]
    if (byte === LF || byte === CR) return position
  }
  return -1
}

/** Position behind the next line end. Reads on, and forgets the bytes before. */
async function passLine(window: ByteWindow, from: number, endOf = lineEnd): Promise<number> {
  let position = from
  for (;;) {
    const end = endOf(window.bytes, position)
    const next = end === -1 ? undefined : afterLineEnd(window.bytes, end, window.ended)
    if (next !== undefined) return next
    if (window.ended) return window.bytes.length
    await window.refill(end === -1 ? window.bytes.length : end)
    position = 0
  }
}

/** Position behind LF, CR LF or CR at `end`; undefined while the byte after a CR is unknown. */
export function afterLineEnd(bytes: Buffer, end: number, ended: boolean): number | undefined {
  if (bytes[end] !== CR) return end + 1
  if (end + 1 < bytes.length) return bytes[end + 1] === LF ? end + 2 : end + 1
  return ended ? end + 1 : undefined
}

/**
 * An unreadable row; its text is cut at 64 KiB.
 * @param otherwise encoding for a text that is not UTF-8: Latin-1 loses no byte
 */
export function unreadableRow(
  bytes: Buffer,
  frame: RowFrame,
  { fault, message }: FrameFault,
  cells?: readonly string[],
  otherwise: 'latin1' | 'utf8' = 'latin1',
): UnreadableRow {
  const { row, line, byteOffset } = frame
  let excerpt = bytes.subarray(frame.start, frame.end)
  if (excerpt.length > EXCERPT_BYTES) {
    let end = EXCERPT_BYTES
    while (end > EXCERPT_BYTES - 3 && ((excerpt[end] ?? 0) & 0xc0) === 0x80) end -= 1
    excerpt = excerpt.subarray(0, end)
  }
  const text = excerpt.toString(isUtf8(excerpt) ? 'utf8' : otherwise)
  const unread = { kind: 'unreadable', row, line, byteOffset, fault, message, text } as const
  return cells === undefined ? unread : { ...unread, cells }
}

export const jsonRow = ({ row, line, byteOffset }: Origin, value: JsonValue, text: string): JsonRow => ({
  kind: 'json',
  row,
  line,
  byteOffset,
  value,
  text,
})

/** The bytes from the first frame to the last. */
export const blockOf = (bytes: Buffer, frames: readonly RowFrame[]): Buffer =>
  bytes.subarray(frames[0]?.start ?? 0, frames.at(-1)?.end ?? 0)

/** Checks the whole block for UTF-8 at once, and single frames only where that fails. */
export function utf8Check(bytes: Buffer, frames: readonly RowFrame[]): (frame: RowFrame) => boolean {
  if (isUtf8(blockOf(bytes, frames))) return () => true
  return (frame) => isUtf8(bytes.subarray(frame.start, frame.end))
}

/** Rows of frames; a frame with a fault, or in another encoding than UTF-8, is an unreadable row. */
export function rowsOf(
  bytes: Buffer,
  frames: readonly RowFrame[],
  row: (frame: RowFrame) => Row,
  invalid: (frame: RowFrame) => FrameFault,
): Row[] {
  const isValid = utf8Check(bytes, frames)
  return frames.map((frame) => {
    const fault = frame.fault ?? (isValid(frame) ? undefined : invalid(frame))
    return fault === undefined ? row(frame) : unreadableRow(bytes, frame, fault)
  })
}

/** For a row that a cut file may have shortened. */
export const cutText = ({ cutOff }: RowFrame): string =>
  cutOff ? '; this is the last line and it has no line end: the file may be cut off' : ''

/** The part of a content that is in memory while rows are cut. */
export class ByteWindow {
  /** Positions in the buffer hold until the next refill. */
  bytes: Buffer = Buffer.alloc(0)
  /** Offset in the content of `bytes[0]`. */
  offset: number
  /** True when the content ends where `bytes` ends. */
  ended = false
  readonly #chunks: AsyncIterator<Buffer>

  constructor(content: AsyncIterable<Buffer>, offset: number) {
    this.#chunks = content[Symbol.asyncIterator]()
    this.offset = offset
  }

  /**
   * Forgets the bytes before `keepFrom` and reads on. The kept bytes at least double: a record that needs several refills is copied and
   * searched in time linear to its size.
   */
  async refill(keepFrom: number): Promise<void> {
    const kept = this.bytes.subarray(keepFrom)
    const parts = kept.length === 0 ? [] : [kept]
    let added = 0
    while (!this.ended && (added === 0 || added < kept.length)) {
      const next = await this.#chunks.next()
      if (next.done === true) this.ended = true
      else {
        parts.push(next.value)
        added += next.value.length
      }
    }
    this.offset += keepFrom
    this.bytes = parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts)
  }

  /** Ends the reading, also before the end of the content. */
  async close(): Promise<void> {
    await this.#chunks.return?.()
  }
}
