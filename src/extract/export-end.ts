/** End of an export: a cut file may lack the end of its last line, of a batch, or of a segment. */
import { type Compression, readContent } from './content.ts'
import type { ReadDefinition } from './read-definition.ts'

export interface ExportEnd {
  /** The last line has a line end. */
  readonly isEnded: boolean
  /** Sign of a missing part in the text. */
  readonly cut?: string | undefined
}

const TAIL = 4_096

/** Line feed, carriage return, ends of MLLP and of old systems; in UTF-16 a zero may stand behind. */
const ENDS = [0x0a, 0x0d, 0x1c, 0x1a]

/** Segments that begin or end a batch, behind a line end, a byte order mark or a byte of MLLP. */
const BATCH = /[^ -~](FHS|BHS|BTS|FTS)(?=[^A-Za-z0-9])/g

/**
 * Reads the last bytes; the whole file if it is compressed, or HL7.
 * @param bytes of the file
 * @returns undefined for formats without lines
 * @throws `export-unreadable`, `export-too-large`, `export-changed`
 */
export async function readEnd(
  path: string,
  compression: Compression,
  bytes: number,
  { format }: Pick<ReadDefinition, 'format'>,
): Promise<ExportEnd | undefined> {
  if (format === 'json' || format === 'xlsx') return undefined
  const isHl7 = format === 'hl7v2'
  const from = isHl7 || compression.kind !== 'plain' ? 0 : Math.max(0, bytes - TAIL)
  const open = new Map([
    ['FHS', 0],
    ['BHS', 0],
  ])
  let tail: Buffer = Buffer.alloc(0)
  for await (const chunk of readContent(path, compression, from)) {
    const before = tail.length === 0 ? '\n' : tail.toString('latin1', Math.max(0, tail.length - 4))
    const text = isHl7 ? before + chunk.toString('latin1') : ''
    for (const [, name = ''] of text.matchAll(BATCH)) {
      const begin = name.replace('TS', 'HS')
      open.set(begin, (open.get(begin) ?? 0) + (name === begin ? 1 : -1))
    }
    tail = Buffer.concat([tail, chunk]).subarray(-TAIL)
  }
  const last = tail.at(-1) === 0 ? tail.at(-2) : tail.at(-1)
  const isEnded = last === undefined || ENDS.includes(last)
  const [left] = [...open].flatMap(([name, count]) => (count > 0 ? [name] : []))
  if (left !== undefined) return { isEnded, cut: `a batch begins with ${left} and does not end` }
  const isCut = isHl7 && !isEnded && isCutSegment(tail.toString('latin1'))
  return { isEnded, ...(isCut ? { cut: 'the last message stops within a segment' } : {}) }
}

/** Segments that are never the last of a result (HL7 v2.5.1, 7.3.1). */
const NEVER_LAST = ['MSH', 'PID', 'PV1', 'ORC', 'OBR']

/** A segment without a line end may be whole. The state of a result, OBX-11, is required (7.4.2.11). */
function isCutSegment(tail: string): boolean {
  const segment = tail.slice(Math.max(tail.lastIndexOf('\r'), tail.lastIndexOf('\n')) + 1).trimStart()
  if (segment.length === TAIL) return false
  const name = /^[A-Z][A-Z0-9]{2}(?=[^A-Za-z0-9])/.exec(segment)?.[0]
  if (name === undefined || NEVER_LAST.includes(name)) return true
  return name === 'OBX' && (segment.split(segment[3] ?? '|')[11] ?? '') === ''
}
