/**
 * Opens an export of `format: hl7v2`: messages of HL7 v2 as text, each a row, within batches (HL7 v2.5.1, section 2.10.3: FHS, BHS, BTS,
 * FTS) or bytes of MLLP.
 */
import { isAscii, isUtf8 } from 'node:buffer'
import type { JsonValue, Row } from '../model/row.ts'
import { type Compression, exportError, readContent, textStart } from './content.ts'
import { encodingOf } from './encoding.ts'
import {
  afterLineEnd,
  ByteWindow,
  CR,
  type Frame,
  type FrameFault,
  firstOrigin,
  jsonRow,
  LF,
  lineEnd,
  type OpenFormat,
  ROW_BYTES,
  type RowFormat,
  type RowFrame,
  readRows,
  tooLarge,
  unreadableRow,
} from './framing.ts'
import { readMessage } from './hl7v2-message.ts'
import type { ReadDefinition } from './read-definition.ts'

type Hl7v2Definition = Extract<ReadDefinition, { format: 'hl7v2' }>

/** Bytes of MLLP before and behind a message (HL7 v2.5.1, appendix C.4): VT and FS. */
const MLLP = new Set([0x0b, 0x1c])
const isBlankByte = (byte: number | undefined): boolean =>
  byte === 0x20 || byte === 0x09 || MLLP.has(byte ?? -1)

/** Passes blanks, bytes of MLLP, and the mark of UTF-8 between joined files. */
function passBlank(bytes: Buffer, from: number): number {
  let at = from
  for (;;) {
    if (isBlankByte(bytes[at])) at++
    else if (bytes[at] === 0xef && bytes[at + 1] === 0xbb && bytes[at + 2] === 0xbf) at += 3
    else return at
  }
}

/** @throws `export-empty`; `export-unreadable` where neither a message nor a batch begins */
export async function openHl7v2(
  path: string,
  compression: Compression,
  read: Hl7v2Definition,
): Promise<OpenFormat> {
  const content = (from: number) => readContent(path, compression, from)
  const first = firstOrigin(await textStart(path, content(0)))
  await assertHl7v2(path, new ByteWindow(content(first.byteOffset), first.byteOffset))
  const format = messageFormat(read.encoding)
  return {
    // The ordinal of a patient follows from a count from the start only.
    seekable: compression.kind === 'plain' && read.rows === 'messages',
    rows: (from = first) =>
      read.rows === 'messages'
        ? readRows(content, from, format)
        : patientsOf(readRows(content, first, format), from.row),
    async controlTotal() {
      let [stated, found] = [0, 0]
      let isStated = false
      for await (const block of readRows(content, first, COUNTED_LINES))
        for (const row of block) {
          if (row.kind !== 'json') continue
          if (row.text === '') found++
          else {
            isStated = true
            stated += Number(row.text)
          }
        }
      return isStated ? { stated, found } : undefined
    },
  }
}

/** A row for each patient: a message with that patient only. @param from ordinal of the first row */
async function* patientsOf(
  messages: AsyncIterable<readonly Row[]>,
  from: number,
): AsyncGenerator<readonly Row[]> {
  let row = 0
  for await (const block of messages) {
    const rows = block.flatMap(apart).map((one): Row => ({ ...one, row: ++row }))
    if (row >= from) yield rows.filter((one) => one.row >= from)
  }
}

function apart(message: Row): readonly Row[] {
  const value = message.kind === 'json' ? message.value : null
  if (typeof value !== 'object' || value === null || !('PATIENT_RESULT' in value)) return [message]
  const { PATIENT_RESULT: patients } = value
  if (!Array.isArray(patients) || patients.length < 2) return [message]
  return patients.map((patient: JsonValue): Row => {
    const own = { ...value, PATIENT_RESULT: [patient] }
    return jsonRow(message, own, JSON.stringify(own))
  })
}

async function assertHl7v2(path: string, window: ByteWindow): Promise<void> {
  const isSpace = (byte: number | undefined) => byte === CR || byte === LF || isBlankByte(byte)
  let at = 0
  while (!window.ended && window.bytes.length < at + 3) {
    await window.refill(0)
    while (isSpace(window.bytes[at])) at++
  }
  await window.close()
  if (markAt(window.bytes, at) !== undefined) return
  if (at === window.bytes.length) throw exportError(path, 'The export is empty.', { code: 'export-empty' })
  throw exportError(path, 'The export does not begin as HL7 v2 does: with MSH, or FHS or BHS of a batch.', {
    line: 1,
    remedy: 'Use the mapping that is meant for these files, or correct `read.format`.',
  })
}

/** Kind of a segment that begins a message or belongs to a batch; undefined for others. */
function markAt(bytes: Buffer, at: number): 'message' | 'batch' | undefined {
  const name = bytes.toString('latin1', at, at + 3)
  if (name === 'MSH') return 'message'
  return name === 'FHS' || name === 'BHS' || name === 'BTS' || name === 'FTS' ? 'batch' : undefined
}

/**
 * End of a segment in a message whose segments end with CR: a line feed there is text, unless a message or a batch begins behind.
 * @param header start of the message, whose delimiters all messages of the file have
 * @returns -1 for none; undefined when `bytes` must reach further to tell
 */
function segmentEnd(bytes: Buffer, from: number, header: number, ended: boolean): number | undefined {
  for (let at = from; at < bytes.length; at++) {
    if (bytes[at] === CR) return at
    if (bytes[at] !== LF) continue
    let next = at
    while (bytes[next] === LF || bytes[next] === CR) next = passBlank(bytes, next + 1)
    if (bytes.length < next + 5 && !ended) return undefined
    const mark = markAt(bytes, next)
    const delimiters = mark === 'message' ? 2 : 1
    if (
      mark !== undefined &&
      bytes.compare(bytes, header + 3, header + 3 + delimiters, next + 3, next + 3 + delimiters) === 0
    )
      return at
  }
  return -1
}

const largeAt = (start: number): Frame => ({
  end: start + ROW_BYTES,
  lines: 1,
  fault: tooLarge('the message is larger'),
})

/**
 * Start of a line behind bytes of MLLP, its end, and the start of the next one; undefined when `bytes` must reach further to tell.
 * @param header start of the message, if its segments end with CR
 */
function lineAt(bytes: Buffer, start: number, ended: boolean, header?: number) {
  const from = passBlank(bytes, start)
  const found = header === undefined ? lineEnd(bytes, from) : segmentEnd(bytes, from, header, ended)
  if (found === undefined) return undefined
  const next = found === -1 ? undefined : afterLineEnd(bytes, found, ended)
  if (next === undefined && !ended) return undefined
  let end = found === -1 ? bytes.length : found
  const endsWithCr = bytes[end] === CR && next === end + 1
  while (end > from && (isBlankByte(bytes[end - 1]) || bytes[end - 1] === LF)) end--
  return { from, end, next: next ?? bytes.length, endsWithCr }
}

function linesIn(bytes: Buffer, from: number, end: number): number {
  let lines = 1
  for (let at = bytes.indexOf(LF, from); at !== -1 && at < end; at = bytes.indexOf(LF, at + 1)) lines++
  return lines
}

/** A message up to the next one; a line outside of a message is a frame of its own. */
export function messageFrame(bytes: Buffer, start: number, ended: boolean): Frame | undefined {
  const first = lineAt(bytes, start, ended)
  if (first === undefined) return bytes.length - start > ROW_BYTES ? largeAt(start) : undefined
  const mark = markAt(bytes, first.from)
  if (first.from === first.end || mark === 'batch') return { ...first, lines: 1, blank: true }
  const header = mark === 'message' && first.endsWithCr ? first.from : undefined
  let { end, next } = first
  let lines = 1
  while (next < bytes.length || !ended) {
    if (next - start > ROW_BYTES) return largeAt(start)
    if (markAt(bytes, passBlank(bytes, next)) !== undefined) break
    const line = lineAt(bytes, next, ended, header)
    if (line === undefined) return undefined
    if (line.from < line.end) end = line.end
    next = line.next
    lines += header === undefined ? 1 : linesIn(bytes, line.from, line.end)
  }
  return { end, next, lines }
}

/** @param encoding of all messages; `auto`: by MSH-18 */
const messageFormat = (encoding: string): RowFormat => ({
  frame: messageFrame,
  rows: (bytes, frames) => frames.map((frame) => messageRow(bytes, frame, encoding)),
})

function messageRow(bytes: Buffer, frame: RowFrame, encoding: string): Row {
  if (frame.fault !== undefined) return unreadableRow(bytes, frame, frame.fault)
  const content = bytes.subarray(passBlank(bytes, frame.start), frame.end)
  const invalid = (message: string): Row =>
    unreadableRow(bytes, frame, { fault: 'row-message-invalid', message })
  if (markAt(content, 0) !== 'message') return invalid('it precedes any message: a message begins with MSH')
  const decoded = decode(content, encoding)
  if (typeof decoded !== 'string') return unreadableRow(bytes, frame, decoded)
  const reading = readMessage(decoded)
  if ('problem' in reading) return invalid(reading.problem)
  return jsonRow(frame, reading.value, JSON.stringify(reading.value))
}

/** Values of MSH-18 by HL7 table 0211 (v2.5.1, section 2.15.9.18) as labels of the WHATWG. ASCII, and nothing, is read as UTF-8. */
const CHARACTER_SETS: Readonly<Record<string, string>> = {
  '': 'utf-8',
  ASCII: 'utf-8',
  UNICODE: 'utf-8',
  'UNICODE UTF-8': 'utf-8',
  'UTF-8': 'utf-8',
  '8859/1': 'iso-8859-1',
  '8859/2': 'iso-8859-2',
  '8859/3': 'iso-8859-3',
  '8859/4': 'iso-8859-4',
  '8859/5': 'iso-8859-5',
  '8859/6': 'iso-8859-6',
  '8859/7': 'iso-8859-7',
  '8859/8': 'iso-8859-8',
  '8859/9': 'windows-1254',
  '8859/15': 'iso-8859-15',
  'GB 18030-2000': 'gb18030',
  'BIG-5': 'big5',
}

/** The text; a fault where only a guess could read the message. */
function decode(content: Buffer, asked: string): string | FrameFault {
  if (isAscii(content)) return content.toString('latin1')
  const refuse = (message: string): FrameFault => ({ fault: 'row-encoding-invalid', message })
  const named = asked === 'auto' ? characterSetOf(content) : ''
  const label = asked === 'auto' ? CHARACTER_SETS[named] : encodingOf(asked)
  if (label === undefined) return refuse('MSH-18 names an unknown character set; set `read.encoding`')
  if (label === 'utf-8')
    return isUtf8(content)
      ? content.toString('utf8')
      : refuse('the message is not valid UTF-8; set `read.encoding`')
  if (asked === 'auto' && isUtf8(content))
    return refuse(
      `MSH-18 names ${named}, but the letters are UTF-8; set \`read.encoding\` to the right encoding`,
    )
  if (label === 'iso-8859-1') return content.toString('latin1')
  try {
    return new TextDecoder(label, { fatal: true }).decode(content)
  } catch {
    return refuse(`the message is not valid ${label}; the file is damaged, or \`read.encoding\` is wrong`)
  }
}

/** The first value of MSH-18. MSH-1, the delimiter, counts as a field. */
function characterSetOf(content: Buffer): string {
  const [header = ''] = content.toString('latin1').split(/[\r\n]/, 1)
  const fields = header.split(header[3] ?? '|')
  return (fields[17] ?? '').split(header[5] ?? '~')[0] ?? ''
}

/** Messages (text: empty), and batch ends with a count (BTS-1). */
const COUNTED_LINES: RowFormat = {
  frame(bytes, start, ended) {
    const frame = messageFrame(bytes, start, ended)
    if (frame === undefined) return undefined
    const from = passBlank(bytes, start)
    const isCounted = markAt(bytes, from) === 'message' || statedAt(bytes, { from, end: frame.end }) !== ''
    return { ...frame, blank: !isCounted }
  },
  rows: (bytes, frames) =>
    frames.map((frame) =>
      jsonRow(frame, null, statedAt(bytes, { from: passBlank(bytes, frame.start), end: frame.end })),
    ),
}

function statedAt(bytes: Buffer, { from, end }: { readonly from: number; readonly end: number }): string {
  const text = bytes.toString('latin1', from, Math.min(end, from + 40))
  return /^BTS\W(\d+)(?:\W|$)/.exec(text)?.[1] ?? ''
}
