/** Cuts elements out of what is in memory, and reads them. */
import type { JsonValue, Row } from '../model/row.ts'
import { jsonRow, type RowFrame, unreadableRow, utf8Check } from './framing.ts'
import { type JsonCursor, JsonFault } from './json-cursor.ts'
import { CLOSE_LIST, CLOSE_OBJECT, COMMA, endsForCertain, frameValue } from './json-frame.ts'
import { type JsonPlace, memberAt, notUtf8, placeBehind, placeText } from './json-path.ts'
import { jsonFaultAt, readJson } from './json-text.ts'

const BLOCK_ROWS = 256

/**
 * What comes next. `first`: an element or the list's end. `lone`: what stands for a list of one, or null for none.
 * `tail`: what follows the elements.
 */
export type Expected = 'first' | 'element' | 'lone' | 'document' | 'tail'

export interface ElementFrame extends RowFrame {
  /** Offset in the content at which the element's first line starts. */
  readonly lineStart: number
}

export interface Cut {
  readonly frames: readonly ElementFrame[]
  readonly expected: Expected
  /** `more`: the window must reach further. `large`: an element over 16 MiB comes next. `end`: of the content. */
  readonly because: 'full' | 'more' | 'large' | 'end' | JsonFault
}

/**
 * Frames the elements in the window, up to a block of them. The cursor then stands where reading goes on, or at the
 * element with a fault: also where it is followed by neither a comma nor the end, since it need not end there then.
 */
export function cutElements(cursor: JsonCursor, from: Expected, row: number): Cut {
  const { bytes, ended } = cursor.window
  const frames: ElementFrame[] = []
  let expected = from
  const stop = (because: Cut['because']): Cut => ({ frames, expected, because })
  while (frames.length < BLOCK_ROWS && expected !== 'tail') {
    cursor.passSpace()
    const { position: start, line, lineStart, offset } = cursor
    if (start === bytes.length)
      return stop(!ended ? 'more' : expected === 'document' ? 'end' : cursor.broken())
    if (expected === 'first' && bytes[start] === CLOSE_LIST) {
      expected = 'tail'
      break
    }
    const framed = frameValue(bytes, start, ended)
    if (framed === undefined) return stop('more')
    if (framed.problem === 'large') return stop('large')
    const { end, lines } = framed
    const frame = {
      start,
      end,
      lines,
      row: row + frames.length,
      line,
      lineStart,
      byteOffset: offset,
      cutOff: false,
    }
    if (end === start) return stop(cursor.broken())
    if (framed.problem !== undefined) return stop(faultIn(bytes.toString('utf8', start, end), frame))
    cursor.passFrame(framed)
    cursor.passSpace()
    const next = expected === 'document' ? 'document' : behindElement(cursor, expected)
    if (next === undefined) {
      const known = cursor.position < bytes.length || ended
      const because = known ? faultAround(bytes.toString('utf8', start, end), frame, cursor) : 'more'
      Object.assign(cursor, { position: start, line, lineStart })
      return stop(because)
    }
    if (expected !== 'lone' || bytes.toString('latin1', start, end) !== 'null') frames.push(frame)
    expected = next
  }
  return stop('full')
}

/** Passes the comma behind an element. Undefined where neither it nor the end stands there. */
export function behindElement(cursor: JsonCursor, expected: Expected): Expected | undefined {
  const byte = cursor.window.bytes[cursor.position]
  if (expected === 'lone') return byte === COMMA || byte === CLOSE_OBJECT ? 'tail' : undefined
  if (byte === CLOSE_LIST) return 'tail'
  if (byte !== COMMA) return undefined
  cursor.position += 1
  return 'element'
}

/**
 * The rows of framed elements, up to the first of which it is not certain that it ends where its frame does.
 * @param within names that lead from an element to the row
 */
export function readElements(
  bytes: Buffer,
  frames: readonly ElementFrame[],
  within: readonly string[],
  context: JsonValue | undefined,
): { readonly rows: Row[]; readonly lost?: { readonly frame: ElementFrame; readonly fault: JsonFault } } {
  const isUtf8 = utf8Check(bytes, frames)
  const rows: Row[] = []
  for (const frame of frames) {
    const valid = isUtf8(frame)
    const text = bytes.toString(valid ? 'utf8' : 'latin1', frame.start, frame.end)
    const reading = readJson(text, (at) => placeText(placeIn(text, at, frame)))
    if ('problem' in reading && !endsForCertain(text))
      return { rows, lost: { frame, fault: faultIn(text, frame) } }
    if (!valid)
      rows.push(unreadableRow(bytes, frame, notUtf8(bytes.subarray(frame.start, frame.end), startOf(frame))))
    else if ('problem' in reading)
      rows.push(unreadableRow(bytes, frame, { fault: 'row-json-invalid', message: reading.problem }))
    else rows.push(elementRow(bytes, frame, text, memberAt(reading.value, within), context))
  }
  return { rows }
}

function elementRow(
  bytes: Buffer,
  frame: ElementFrame,
  text: string,
  value: JsonValue | undefined,
  context: JsonValue | undefined,
): Row {
  if (value === undefined)
    return unreadableRow(bytes, frame, {
      fault: 'row-member-missing',
      message: 'the element lacks the member to which read.records leads',
    })
  const row = jsonRow(frame, value, text)
  return context === undefined ? row : { ...row, context }
}

/** In an element or, where it is JSON, behind it. */
function faultAround(text: string, frame: ElementFrame, cursor: JsonCursor): JsonFault {
  return jsonFaultAt(text) < text.length ? faultIn(text, frame) : cursor.broken()
}

function faultIn(text: string, frame: ElementFrame): JsonFault {
  const at = jsonFaultAt(text)
  return new JsonFault(
    at < text.length ? 'not JSON: it breaks off' : 'it ends too early',
    placeIn(text, at, frame),
  )
}

/** Of a position in an element's text. */
function placeIn(text: string, at: number, frame: ElementFrame): JsonPlace {
  return placeBehind(Buffer.from(text.slice(0, at)), startOf(frame))
}

function startOf({ line, byteOffset, lineStart }: ElementFrame): JsonPlace {
  return { line, column: byteOffset - lineStart + 1 }
}
