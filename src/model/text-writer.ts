/**
 * Writes text as bytes, for requests and receipts by the million: most of the text is the same for each record. Constant text is kept as
 * bytes, and a stretch that is written can be repeated. A runtime call for each short text would cost more than the bytes.
 */

/** Constant text. */
export interface Piece {
  readonly bytes: Uint8Array
  /**
   * `bytes` in words of eight, without the rest. Eight bytes of UTF-8 are never NaN as a double, and never zero in text: equal numbers are
   * equal bytes.
   */
  readonly words: Float64Array
}

export function pieceOf(text: string, encoding: 'utf8' | 'latin1' = 'utf8'): Piece {
  const bytes = Buffer.from(text, encoding)
  const words = Float64Array.from({ length: bytes.length >> 3 }, (_, at) => bytes.readDoubleLE(at * 8))
  return { bytes, words }
}

/** Longer text is encoded, or copied, faster by a single call. */
const SHORT_TEXT = 24
const SHORT_PIECE = 16
const HYPHEN = 0x2d

export const hexDigit = (value: number): number => (value < 10 ? 0x30 : 0x57) + value

export class TextWriter {
  readonly #bytes: Buffer
  readonly #view: DataView
  /** Offset of the next byte. */
  at = 0

  /** @param bytes with room for the whole output */
  constructor(bytes: Buffer) {
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  /** Bytes written so far. */
  get written(): Buffer {
    return this.#bytes.subarray(0, this.at)
  }

  piece({ bytes }: Piece): void {
    const { at } = this
    if (bytes.length > SHORT_PIECE) this.#bytes.set(bytes, at)
    else for (let byte = 0; byte < bytes.length; byte++) this.#bytes[at + byte] = bytes[byte] ?? 0
    this.at = at + bytes.length
  }

  /** Writes a text in UTF-8. */
  text(text: string): void {
    const { at } = this
    if (text.length > SHORT_TEXT) {
      this.at += this.#bytes.write(text, at)
      return
    }
    for (let unit = 0; unit < text.length; unit++) {
      const code = text.charCodeAt(unit)
      if (code >= 0x80) {
        this.at = at + this.#bytes.write(text, at)
        return
      }
      this.#bytes[at + unit] = code
    }
    this.at = at + text.length
  }

  /** Repeats written bytes. */
  repeat(from: number, length: number): void {
    this.#bytes.copyWithin(this.at, from, from + length)
    this.at += length
  }

  /** Copies a short stretch of written bytes over another. */
  copy(from: number, to: number, length: number): void {
    let done = 0
    for (; done + 8 <= length; done += 8)
      this.#view.setFloat64(to + done, this.#view.getFloat64(from + done, true), true)
    for (; done < length; done++) this.#bytes[to + done] = this.#bytes[from + done] ?? 0
  }

  /** Overwrites written bytes. @param text ASCII only */
  put(to: number, text: string): void {
    for (let unit = 0; unit < text.length; unit++) this.#bytes[to + unit] = text.charCodeAt(unit)
  }

  /** Overwrites written bytes with a number as 8 hex digits. */
  putDigits(to: number, value: number): void {
    for (let byte = 0; byte < 4; byte++) {
      const digits = HEX_PAIRS[(value >>> (24 - 8 * byte)) & 0xff] ?? 0
      this.#bytes[to + 2 * byte] = digits >>> 8
      this.#bytes[to + 2 * byte + 1] = digits & 0xff
    }
  }

  /** Writes a hyphen, and a number as 8 hex digits. */
  digits(value: number): void {
    this.#bytes[this.at] = HYPHEN
    this.putDigits(this.at + 1, value)
    this.at += 9
  }
}

/** Hex digits of each byte, the first digit in the upper eight bits. */
const HEX_PAIRS = Uint16Array.from(
  { length: 256 },
  (_, byte) => (hexDigit(byte >>> 4) << 8) | hexDigit(byte & 15),
)
