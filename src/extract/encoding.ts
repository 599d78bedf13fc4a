/**
 * Which character encoding an export is in: as the mapping says, or by what its first bytes prove. Never by a guess. Content in another
 * one becomes UTF-8, chunk by chunk.
 */
import { isAscii, isUtf8 } from 'node:buffer'
import { WaybillError } from '../model/errors.ts'

const LF = 0x0a

/** The WHATWG name of an encoding, or `iso-8859-1`, which is itself here and not windows-1252. */
export type Encoding = string
/** `auto`, or a label of an encoding. */
export type AskedEncoding = string

/** The encoding of a label (WHATWG Encoding, 4.2, "Names and labels"); undefined for one that is none. */
export function encodingOf(label: string): Encoding | undefined {
  if (label === 'iso-8859-1') return label
  try {
    return new TextDecoder(label).encoding
  } catch {
    return undefined
  }
}

/** How much of the content is looked at. */
export const HEAD_BYTES = 64 * 1024

/** Byte order marks (Unicode 16, 2.6 and 23.8). UTF-32 comes first: its mark begins with that of UTF-16. */
const MARKS: readonly { readonly bytes: Buffer; readonly encoding: Encoding | 'utf-32' }[] = [
  { bytes: Buffer.of(0xff, 0xfe, 0, 0), encoding: 'utf-32' },
  { bytes: Buffer.of(0, 0, 0xfe, 0xff), encoding: 'utf-32' },
  { bytes: Buffer.of(0xef, 0xbb, 0xbf), encoding: 'utf-8' },
  { bytes: Buffer.of(0xff, 0xfe), encoding: 'utf-16le' },
  { bytes: Buffer.of(0xfe, 0xff), encoding: 'utf-16be' },
]

/**
 * The encoding of a content that begins with `head`. `auto` goes by the byte order mark, then by the NUL that is half of
 * every ASCII character in UTF-16; all else is UTF-8, and what is not valid in it is a rejected row later.
 * @throws WaybillError `export-unreadable`: a mark that contradicts what was asked for; UTF-32
 */
export function findEncoding(path: string, head: Buffer, asked: AskedEncoding): Encoding {
  const marked = MARKS.find(({ bytes }) => head.subarray(0, bytes.length).equals(bytes))?.encoding
  if (marked === 'utf-32') throw contradiction(path, marked, 'Have the file exported as UTF-8.')
  if (asked === 'auto') return marked ?? byNul(head)
  const named = encodingOf(asked) ?? asked
  if (marked === undefined || marked === named) return named
  throw contradiction(
    path,
    marked,
    `Leave \`encoding: ${asked}\` out of \`read\`: the mark tells the encoding.`,
  )
}

function contradiction(path: string, marked: string, remedy: string): WaybillError {
  const message = `The export begins with the byte order mark of ${marked}.`
  return new WaybillError('export-unreadable', message, { place: { file: path }, remedy })
}

/**
 * Proof of UTF-16 is that the first character is ASCII, a tenth of all units are, and NULs hardly stand elsewhere: a NUL or
 * two in UTF-8 are damage. Delimiters, digits and line ends are ASCII in every language.
 */
function byNul(head: Buffer): Encoding {
  const nul = [0, 0] as [number, number]
  for (let at = head.indexOf(0); at !== -1; at = head.indexOf(0, at + 1)) nul[at % 2 === 0 ? 0 : 1] += 1
  const [even, odd] = nul
  const enough = head.length / 20
  if (head[1] === 0 && odd > enough && odd > 10 * even) return 'utf-16le'
  return head[0] === 0 && even > enough && even > 10 * odd ? 'utf-16be' : 'utf-8'
}

/**
 * What to say of a row that is not valid in the encoding it was read in, and what to do about it.
 * @param head UTF-8 as read: where it has characters beyond ASCII and all are valid, the file is UTF-8 and the row damaged
 */
export function invalidEncodingMessage(encoding: Encoding, asked: AskedEncoding, head: Buffer): string {
  const invalid = `the row is not valid ${SPELLED[encoding] ?? encoding}`
  if (encoding === 'iso-8859-1')
    return `${invalid}; the file may be windows-1252: say so in \`read.encoding\``
  if (encoding !== 'utf-8') return `${invalid}; the file is damaged, or \`read.encoding\` is wrong`
  const lines = head.subarray(0, head.lastIndexOf(LF) + 1)
  const proven = !isAscii(lines) && isUtf8(lines)
  return asked !== 'auto' || proven
    ? `${invalid}; export the file as UTF-8`
    : `${invalid}; say in the mapping which encoding the file has, for example \`encoding: windows-1252\`, or export it as UTF-8`
}

const SPELLED: Readonly<Record<string, string>> = {
  'utf-8': 'UTF-8',
  'utf-16le': 'UTF-16LE',
  'utf-16be': 'UTF-16BE',
  'iso-8859-1': 'ISO 8859-1',
}

const INVALID = Buffer.of(0xff)
/** A lone surrogate stands for a byte that has no meaning, until the text is written as UTF-8. */
const MEANINGLESS = '\ud800'
const LONE_SURROGATE = /(\p{Surrogate})/u

/** The content as UTF-8; a byte order mark stays one. */
export function transcode(content: AsyncIterable<Buffer>, encoding: Encoding): AsyncGenerator<Buffer> {
  if (encoding === 'utf-16le' || encoding === 'utf-16be') return fromUtf16(content, encoding === 'utf-16be')
  return fromBytes(content, encoding)
}

/**
 * Control characters of the second half (80 to 9F) are what the WHATWG decoders make of bytes that have no meaning, as the five of
 * windows-1252; ISO 8859-1 has them, but a file that uses them is windows-1252 under a wrong name.
 */
const MEANS_NOTHING = /[\x80-\x9f\ufffd]/g

async function* fromBytes(content: AsyncIterable<Buffer>, encoding: Encoding): AsyncGenerator<Buffer> {
  const decoder = encoding === 'iso-8859-1' ? undefined : new TextDecoder(encoding)
  const decoded = (text: string): Buffer => toUtf8(text.replace(MEANS_NOTHING, MEANINGLESS))
  for await (const chunk of content)
    yield decoded(decoder?.decode(chunk, { stream: true }) ?? chunk.toString('latin1'))
  // A character that the end cuts apart.
  yield decoded(decoder?.decode() ?? '')
}

async function* fromUtf16(content: AsyncIterable<Buffer>, bigEndian: boolean): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of content) {
    const bytes = Buffer.concat([rest, chunk])
    const whole = wholeUnits(bytes, bigEndian)
    rest = bytes.subarray(whole)
    if (whole > 0) yield fromUnits(bytes.subarray(0, whole), bigEndian)
  }
  const paired = rest.length - (rest.length % 2)
  if (paired > 0) yield fromUnits(rest.subarray(0, paired), bigEndian)
  if (paired < rest.length) yield INVALID
}

/** Up to where units are whole and no surrogate pair is cut apart. */
function wholeUnits(bytes: Buffer, bigEndian: boolean): number {
  const even = bytes.length - (bytes.length % 2)
  const high = bytes[bigEndian ? even - 2 : even - 1] ?? 0
  return high >= 0xd8 && high <= 0xdb ? even - 2 : even
}

function fromUnits(bytes: Buffer, bigEndian: boolean): Buffer {
  return toUtf8((bigEndian ? Buffer.from(bytes).swap16() : bytes).toString('utf16le'))
}

function toUtf8(text: string): Buffer {
  if (text.isWellFormed()) return Buffer.from(text)
  const parts = text.split(LONE_SURROGATE)
  return Buffer.concat(parts.map((part, at) => (at % 2 === 1 ? INVALID : Buffer.from(part))))
}
