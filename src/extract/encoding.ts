/**
 * Character encoding of an export: as the mapping says, or as the first bytes prove; never a guess. Other encodings become UTF-8, chunk by
 * chunk.
 */
import { isUtf8 } from 'node:buffer'
import { exportError } from './content.ts'

/**
 * WHATWG name of an encoding by a label (WHATWG Encoding, 4.2, "Names and labels"); undefined for an unknown label. `iso-8859-1` is itself,
 * and not windows-1252.
 */
export function encodingOf(label: string): string | undefined {
  if (label === 'iso-8859-1') return label
  try {
    return new TextDecoder(label).encoding
  } catch {
    return undefined
  }
}

/** Byte order marks (Unicode 16, 2.6 and 23.8). UTF-32 comes first: its mark begins with that of UTF-16. */
const MARKS: readonly { readonly bytes: Buffer; readonly encoding: string }[] = [
  { bytes: Buffer.of(0xff, 0xfe, 0, 0), encoding: 'utf-32' },
  { bytes: Buffer.of(0, 0, 0xfe, 0xff), encoding: 'utf-32' },
  { bytes: Buffer.of(0xef, 0xbb, 0xbf), encoding: 'utf-8' },
  { bytes: Buffer.of(0xff, 0xfe), encoding: 'utf-16le' },
  { bytes: Buffer.of(0xfe, 0xff), encoding: 'utf-16be' },
]

/**
 * Encoding of a content that begins with `head`.
 * @param asked a label, or `auto`: the byte order mark decides, then the NUL that is half of every ASCII character in UTF-16, else UTF-8
 * @throws `export-unreadable`: a mark that contradicts `asked`; UTF-32
 */
export function findEncoding(path: string, head: Buffer, asked: string): string {
  const marked = MARKS.find(({ bytes }) => head.subarray(0, bytes.length).equals(bytes))?.encoding
  if (marked === 'utf-32') throw contradiction(path, marked, 'Have the file exported as UTF-8.')
  if (asked === 'auto') return marked ?? byNul(head)
  const named = encodingOf(asked) ?? asked
  if (marked === undefined && ONE_BYTE.test(named) && isUtf8Beyond(head))
    throw exportError(path, `The export is UTF-8. Read as ${asked}, its names would be garbled.`, {
      remedy: `Leave \`encoding: ${asked}\` out of \`read\`.`,
    })
  if (marked === undefined || marked === named) return named
  throw contradiction(
    path,
    marked,
    `Leave \`encoding: ${asked}\` out of \`read\`: the mark determines the encoding.`,
  )
}

const contradiction = (path: string, marked: string, remedy: string) =>
  exportError(path, `The export begins with the byte order mark of ${marked}.`, { remedy })

/** Encodings with one byte a character. */
const ONE_BYTE = /^(?:windows-1|iso-8859|macintosh|x-mac|koi8|ibm)/

/** True for whole lines of UTF-8 with letters that cannot be chance: of Latin languages, or several. A closing `É”` of windows-1252 is valid, too. */
function isUtf8Beyond(head: Buffer): boolean {
  const lines = head.subarray(0, head.lastIndexOf(10) + 1)
  return isUtf8(lines) && /[\xc2\xc3]|(?:[\x80-\xff][^\x80-\xff]*){4}/.test(lines.toString('latin1'))
}

/**
 * Proof of UTF-16: the first character and a tenth of all units are ASCII, as delimiters, digits and line ends are, and NULs hardly stand
 * elsewhere.
 */
function byNul(head: Buffer): string {
  const nul = [0, 0] as [number, number]
  for (let at = head.indexOf(0); at !== -1; at = head.indexOf(0, at + 1)) nul[at % 2 === 0 ? 0 : 1] += 1
  const [even, odd] = nul
  const enough = head.length / 20
  if (head[1] === 0 && odd > enough && odd > 10 * even) return 'utf-16le'
  return head[0] === 0 && even > enough && even > 10 * odd ? 'utf-16be' : 'utf-8'
}

const INVALID = Buffer.of(0xff)
/** A lone surrogate stands for a byte without meaning until the text is written as UTF-8. */
const MEANINGLESS = '\ud800'
const LONE_SURROGATE = /(\p{Surrogate})/u

/** Converts content to UTF-8; a byte order mark stays. */
export function transcode(content: AsyncIterable<Buffer>, encoding: string): AsyncGenerator<Buffer> {
  if (encoding === 'utf-16le' || encoding === 'utf-16be') return fromUtf16(content, encoding === 'utf-16be')
  return fromBytes(content, encoding)
}

/**
 * WHATWG decoders turn meaningless bytes into control characters (80 to 9F). A file with those of ISO 8859-1 is windows-1252 under a wrong
 * name.
 */
const MEANS_NOTHING = /[\x80-\x9f\ufffd]/g
/**
 * UTF-8 read as an encoding of Latin letters: `Ã©` for `é`. Closing quotes and a space may follow an `Ã` of the text itself.
 */
const TWO_FOR_ONE = /\u00c3(?=[\u00a1-\u00aa\u00ac-\u00ba\u00bc-\u00bf])/g

async function* fromBytes(content: AsyncIterable<Buffer>, encoding: string): AsyncGenerator<Buffer> {
  const decoder = encoding === 'iso-8859-1' ? undefined : new TextDecoder(encoding)
  const decoded = (text: string): Buffer =>
    toUtf8(text.replace(MEANS_NOTHING, MEANINGLESS).replace(TWO_FOR_ONE, MEANINGLESS))
  let held = ''
  for await (const chunk of content) {
    const text = held + (decoder?.decode(chunk, { stream: true }) ?? chunk.toString('latin1'))
    held = text.endsWith('\u00c3') ? '\u00c3' : ''
    yield decoded(text.slice(0, text.length - held.length))
  }
  // A character may be cut by the end.
  yield decoded(held + (decoder?.decode() ?? ''))
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

/** Length up to the last unit that is whole, and no half of a surrogate pair. */
function wholeUnits(bytes: Buffer, bigEndian: boolean): number {
  const even = bytes.length - (bytes.length % 2)
  const high = bytes[bigEndian ? even - 2 : even - 1] ?? 0
  return high >= 0xd8 && high <= 0xdb ? even - 2 : even
}

const fromUnits = (bytes: Buffer, bigEndian: boolean): Buffer =>
  toUtf8((bigEndian ? Buffer.from(bytes).swap16() : bytes).toString('utf16le'))

function toUtf8(text: string): Buffer {
  if (text.isWellFormed()) return Buffer.from(text)
  const parts = text.split(LONE_SURROGATE)
  return Buffer.concat(parts.map((part, at) => (at % 2 === 1 ? INVALID : Buffer.from(part))))
}

const REPLACEMENT = '\ufffd'
const REPLACEMENT_BYTES = '\xef\xbf\xbd'

/** Start of a text up to the first byte that is not UTF-8, which decoding replaces. */
export function validStart(bytes: Buffer): Buffer {
  const text = bytes.toString()
  let end = 0
  let passed = 0
  for (let at = text.indexOf(REPLACEMENT); at !== -1; at = text.indexOf(REPLACEMENT, at + 1)) {
    end += Buffer.byteLength(text.slice(passed, at))
    passed = at
    if (bytes.toString('latin1', end, end + 3) !== REPLACEMENT_BYTES) return bytes.subarray(0, end)
  }
  return bytes
}
