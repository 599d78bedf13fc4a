/**
 * Writes text as bytes, for what is written by the million: requests and receipts, of which most is the same for each record. Constant text is
 * kept as bytes, and what was written last in the same place is copied; a call of the runtime for each short text would cost more than its bytes.
 */

/** Constant text. */
export interface Piece {
  readonly bytes: Uint8Array
  /**
   * The same, eight bytes each, without those that are left then. No eight bytes of UTF-8 are NaN as a double, and none of a text are zero: equal
   * numbers are equal bytes.
   */
  readonly words: Float64Array
}

export function pieceOf(text: string, encoding: 'utf8' | 'latin1' = 'utf8'): Piece {
  const bytes = Buffer.from(text, encoding)
  const words = Float64Array.from({ length: bytes.length >> 3 }, (_, at) => bytes.readDoubleLE(at * 8))
  return { bytes, words }
}

/** What is longer is encoded, or copied, quicker by one call. */
const SHORT_TEXT = 24
const SHORT_PIECE = 16
const HYPHEN = 0x2d
export const DIGITS = 8

export const hexDigit = (value: number): number => (value < 10 ? 0x30 : 0x57) + value

/** What often stands in the same place of the record before, too. */
export type Slot = 'account' | 'key' | 'iso' | 'row' | 'answer'

export class TextWriter {
  readonly #bytes: Buffer
  readonly #view: DataView
  readonly #last = new Map<Slot, { text: string; from: number; length: number }>()
  /** Where it goes on. */
  at = 0

  /** @param bytes with room for all that will be written */
  constructor(bytes: Buffer) {
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  /** All that was written. */
  get written(): Buffer {
    return this.#bytes.subarray(0, this.at)
  }

  piece({ bytes }: Piece): void {
    const { at } = this
    if (bytes.length > SHORT_PIECE) this.#bytes.set(bytes, at)
    else for (let byte = 0; byte < bytes.length; byte++) this.#bytes[at + byte] = bytes[byte] ?? 0
    this.at = at + bytes.length
  }

  /** In UTF-8. */
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

  /** The same, of what is likely to be what was written last in the slot. */
  often(slot: Slot, text: string): void {
    const last = this.#last.get(slot)
    const from = this.at
    if (last?.text === text) {
      this.again(last.from, last.length)
      last.from = from
      return
    }
    this.text(text)
    this.#last.set(slot, { text, from, length: this.at - from })
  }

  /** Once more what stands from a place on; quickest for what is short. */
  again(from: number, length: number): void {
    this.copy(from, this.at, length)
    this.at += length
  }

  /** Once more what stands from a place on; quickest for what is long. */
  repeat(from: number, length: number): void {
    this.#bytes.copyWithin(this.at, from, from + length)
    this.at += length
  }

  /** Copies what is written, and short, over what is written elsewhere. */
  copy(from: number, to: number, length: number): void {
    let done = 0
    for (; done + 8 <= length; done += 8)
      this.#view.setFloat64(to + done, this.#view.getFloat64(from + done, true), true)
    for (; done < length; done++) this.#bytes[to + done] = this.#bytes[from + done] ?? 0
  }

  /** Writes over what is written. @param text of ASCII alone */
  put(to: number, text: string): void {
    for (let unit = 0; unit < text.length; unit++) this.#bytes[to + unit] = text.charCodeAt(unit)
  }

  /** The same for a number as 8 hex digits. */
  putDigits(to: number, value: number): void {
    for (let byte = 0; byte < 4; byte++) {
      const digits = HEX_PAIRS[(value >>> (24 - 8 * byte)) & 0xff] ?? 0
      this.#bytes[to + 2 * byte] = digits >>> 8
      this.#bytes[to + 2 * byte + 1] = digits & 0xff
    }
  }

  /** A hyphen, and the number as 8 hex digits. */
  digits(value: number): void {
    this.#bytes[this.at] = HYPHEN
    this.putDigits(this.at + 1, value)
    this.at += 9
  }
}

/** Two hex digits of each byte, the first one in the upper eight bits. */
const HEX_PAIRS = Uint16Array.from(
  { length: 256 },
  (_, byte) => (hexDigit(byte >>> 4) << 8) | hexDigit(byte & 15),
)
