/**
 * Cuts content into frames, a frame for each row, and gives each row its origin.
 * The two formats differ in where a frame ends and in what it becomes (`RowFormat`); counting, refilling, and
 * passing over lines too long to hold are the same for both.
 */
import { isUtf8 } from 'node:buffer'
import type { JsonRow, JsonValue, Origin, Row, RowFault, UnreadableRow } from '../model/row.ts'

/** Rows handed over at once: enough that the asynchronous step costs nothing a row, few enough to stay small. */
const BLOCK_ROWS = 256
/** Of an unreadable row, this much is kept for the rejects file. */
export const EXCERPT_BYTES = 64 * 1024

export const LF = 0x0a
export const CR = 0x0d

/** Why a frame cannot become a row, found while cutting. */
export interface FrameFault {
  readonly fault: RowFault
  readonly message: string
}

/** Where a record stands in the window: positions, not offsets. */
export interface Frame {
  /** Behind its last byte, without the line end. */
  readonly end: number
  /** Where the next frame starts; absent where the line's end lies beyond what may be held. */
  readonly next?: number
  /** Physical lines that it takes. */
  readonly lines: number
  /** Nothing stands there: no row. */
  readonly blank?: boolean
  /** CSV: a quote occurs, so that a delimiter need not end a cell. */
  readonly quoted?: boolean
  readonly fault?: FrameFault
}

/** A frame that is a row. */
export interface RowFrame extends Frame, Origin {
  readonly start: number
  /** It ends with the content, not with a line end. */
  readonly cutOff: boolean
}

/** How many data rows the trailer states, and how many there are. */
export interface ControlTotal {
  readonly stated: number
  readonly found: number
}

/** What an opened export gives, whatever its format. */
export interface OpenFormat {
  /** Name of the sheet of a workbook. */
  readonly sheet?: string
  /** What was seen around the rows and changes none of them, without the content of any cell: hidden rows, merged cells. */
  readonly notes?: readonly string[]
  /** CSV, workbook: the names in the header (or of `read.columns`), trimmed; a name may be empty, and such a column cannot be mapped. */
  readonly columns?: readonly string[]
  /** Whether reading from a later row spares reading what stands before it: a plain file in UTF-8. */
  readonly seekable: boolean
  /**
   * The rows in blocks of some hundred (a step a row would cost more than the row), read as they are asked for.
   * @param from origin of the row to begin with, as an earlier reading gave it; the rows are then the same as in that
   *   reading. Without it, the first.
   * @throws WaybillError `export-unreadable`; `export-changed` where the content ends before `from`
   */
  rows(from?: Origin): AsyncIterable<readonly Row[]>
  /**
   * How many rows the trailer states and how many there are, counted in one pass that takes no row apart; undefined where
   * the mapping names no such count. To be asked before anything of the export is sent.
   * @param counted number of rows, where `rows` has given all of them already: then nothing is read
   */
  controlTotal(counted?: number): Promise<ControlTotal | undefined>
}

export interface RowFormat {
  /**
   * The frame that starts at `start`, or undefined when `bytes` must reach further to tell. The answer depends on the
   * content alone, never on how much of it is in memory: a checkpoint and any block size give the same rows.
   */
  frame(bytes: Buffer, start: number, ended: boolean): Frame | undefined
  /** The first byte of the next line end, or -1: for passing over a line that is too long. */
  lineEnd(bytes: Buffer, from: number): number
  /** The rows of a block of frames, in their order. */
  rows(bytes: Buffer, frames: readonly RowFrame[]): Row[]
}

/** The rows from an origin on. The window must stand at the origin's byte offset; it is closed at the end. */
export async function* readRows(
  window: ByteWindow,
  from: Origin,
  format: RowFormat,
): AsyncGenerator<readonly Row[]> {
  for await (const { bytes, frames } of readFrames(window, from, format)) yield format.rows(bytes, frames)
}

/** How many rows there are from an origin on, without taking them apart. */
export async function countRows(window: ByteWindow, from: Origin, format: RowFormat): Promise<number> {
  let count = 0
  for await (const { frames } of readFrames(window, from, format)) count += frames.length
  return count
}

/** Where a later physical line starts, as the origin of a row 1; the end of the content where it has no such line. */
export async function originOfLine(
  window: ByteWindow,
  from: Origin,
  line: number,
  lineEnd: RowFormat['lineEnd'],
): Promise<Origin> {
  try {
    let position = 0
    for (let at = from.line; at < line; at += 1) position = await passLine(window, position, lineEnd)
    return { row: 1, line, byteOffset: window.offset + position }
  } finally {
    await window.close()
  }
}

interface FrameBlock {
  readonly bytes: Buffer
  readonly frames: readonly RowFrame[]
}

async function* readFrames(window: ByteWindow, from: Origin, format: RowFormat): AsyncGenerator<FrameBlock> {
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

/** The position behind the line end that comes next, reading and forgetting up to there. */
async function passLine(window: ByteWindow, from: number, lineEnd: RowFormat['lineEnd']): Promise<number> {
  let position = from
  for (;;) {
    const end = lineEnd(window.bytes, position)
    const next = end === -1 ? undefined : afterLineEnd(window.bytes, end, window.ended)
    if (next !== undefined) return next
    if (window.ended) return window.bytes.length
    await window.refill(end === -1 ? window.bytes.length : end)
    position = 0
  }
}

/** Behind LF, CR LF or CR at `end`; undefined when the byte after a CR is not yet known. */
export function afterLineEnd(bytes: Buffer, end: number, ended: boolean): number | undefined {
  if (bytes[end] !== CR) return end + 1
  if (end + 1 < bytes.length) return bytes[end + 1] === LF ? end + 2 : end + 1
  return ended ? end + 1 : undefined
}

/**
 * An unreadable row; its text is cut at 64 KiB.
 * @param otherwise how to read a text that is not UTF-8: as Latin-1 no byte is lost
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

export function jsonRow({ row, line, byteOffset }: Origin, value: JsonValue, text: string): JsonRow {
  return { kind: 'json', row, line, byteOffset, value, text }
}

/** Which frames are valid UTF-8 (one look at the whole block, and at the single frames only where that fails). */
export function utf8Check(bytes: Buffer, frames: readonly RowFrame[]): (frame: RowFrame) => boolean {
  const first = frames[0]
  const last = frames.at(-1)
  if (first === undefined || last === undefined || isUtf8(bytes.subarray(first.start, last.end)))
    return () => true
  return (frame) => isUtf8(bytes.subarray(frame.start, frame.end))
}

export const NOT_UTF8: FrameFault = {
  fault: 'row-encoding-invalid',
  message: 'the row is not valid UTF-8; export the file as UTF-8',
}

/** The stretch of an export's content that is in memory while rows are cut from it. */
export class ByteWindow {
  /** What is in memory. Positions within it hold until the next refill. */
  bytes: Buffer = Buffer.alloc(0)
  /** Offset in the content of `bytes[0]`. */
  offset: number
  /** Whether the content ends where `bytes` ends. */
  ended = false
  readonly #chunks: AsyncIterator<Buffer>

  constructor(content: AsyncIterable<Buffer>, offset: number) {
    this.#chunks = content[Symbol.asyncIterator]()
    this.offset = offset
  }

  /**
   * Forgets what stands before `keepFrom` and reads on. What is kept at least doubles, so that a record which needs
   * several refills is copied and looked through in time linear to its size.
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

  /** Ends the reading, also before the content's end. */
  async close(): Promise<void> {
    await this.#chunks.return?.()
  }
}
