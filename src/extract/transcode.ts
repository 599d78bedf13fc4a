/**
 * Turns content in another encoding into UTF-8, chunk by chunk. What has no meaning in the source encoding becomes the
 * byte FF, which no UTF-8 has: so the row it stands in is found invalid as any other is, and nothing is replaced unseen.
 */
import type { Encoding } from './encoding.ts'

const INVALID = Buffer.of(0xff)
/** A lone surrogate stands for a byte that has no meaning, until the text is written as UTF-8. */
const MEANINGLESS = '\ud800'
const LONE_SURROGATE = /(\p{Surrogate})/u

/** The content as UTF-8; a byte order mark stays one. */
export function transcode(
  content: AsyncIterable<Buffer>,
  encoding: Exclude<Encoding, 'utf-8'>,
): AsyncGenerator<Buffer> {
  if (encoding === 'windows-1252') return fromBytes(content, windows1252)
  if (encoding === 'iso-8859-1') return fromBytes(content, iso88591)
  return fromUtf16(content, encoding === 'utf-16be')
}

const decoder = new TextDecoder('windows-1252')

/** The WHATWG decoder gives control characters for the five bytes that windows-1252 leaves undefined. */
function windows1252(bytes: Buffer): string {
  return decoder.decode(bytes).replace(/[\x81\x8d\x8f\x90\x9d]/g, MEANINGLESS)
}

/** ISO/IEC 8859-1 has no characters at 80 to 9F; a file that uses them is windows-1252 under a wrong name. */
function iso88591(bytes: Buffer): string {
  return bytes.toString('latin1').replace(/[\x80-\x9f]/g, MEANINGLESS)
}

async function* fromBytes(
  content: AsyncIterable<Buffer>,
  decode: (bytes: Buffer) => string,
): AsyncGenerator<Buffer> {
  for await (const chunk of content) yield toUtf8(decode(chunk))
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
