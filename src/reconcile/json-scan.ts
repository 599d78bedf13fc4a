/**
 * Walks JSON in place, byte by byte, without building values (RFC 8259), for answers that mostly need a comparison with the request.
 * Stricter than JSON: unexpected text throws `OTHERWISE`, and the caller reads the whole text instead.
 */

/** Thrown for unexpected text, or for text that is not JSON. */
export const OTHERWISE = new Error('the text is not as expected')

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
/** Nesting of an answer stays well below; deeper nesting would exhaust the stack. */
const DEEPEST = 32

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/
const ESCAPED = /^(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/

/**
 * Steps through objects and arrays:
 *
 *     for (let more = scan.enterObject(); more; more = scan.nextMember()) {
 *       if (scan.isKey('id')) id = scan.text()
 *       else scan.skip()
 *     }
 */
export class JsonScan {
  readonly bytes: Buffer
  #at = 0
  /** Last string: offset of the first byte, and of the byte behind the last. */
  #from = 0
  #to = 0
  #isEscaped = false

  constructor(bytes: Uint8Array) {
    this.bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  /** Offset of the next value. */
  get place(): number {
    this.#next()
    return this.#at
  }

  /** Text read since a place, one character for each byte. */
  textFrom(place: number): string {
    return this.bytes.toString('latin1', place, this.#at)
  }

  /** Continues behind a value that another reader has read. */
  goTo(place: number): void {
    this.#at = place
  }

  /** Last text or number: offset of the first byte, and of the byte behind the last. */
  get span(): readonly [from: number, to: number] {
    return [this.#from, this.#to]
  }

  /** Steps into an object, to the first member; false if the object is empty. */
  enterObject(): boolean {
    this.#take(OPEN_OBJECT)
    if (this.#next() !== CLOSE_OBJECT) return this.#key()
    this.#at++
    return false
  }

  /** Steps to the next member, behind the last value; false at the end of the object. */
  nextMember(): boolean {
    if (!this.#goesOn(CLOSE_OBJECT)) return false
    return this.#key()
  }

  /** Steps into an array, to the first item; false if the array is empty. */
  enterArray(): boolean {
    this.#take(OPEN_ARRAY)
    if (this.#next() !== CLOSE_ARRAY) return true
    this.#at++
    return false
  }

  nextItem(): boolean {
    return this.#goesOn(CLOSE_ARRAY)
  }

  /** Compares the name of the member. ASCII only. */
  isKey(name: string): boolean {
    return this.#isLast(name)
  }

  /** True if the value is a text. */
  isText(): boolean {
    return this.#next() === QUOTE
  }

  /** Returns the value, a text without escapes. */
  text(): string {
    this.#string()
    return this.textRead()
  }

  /** Compares the value with a text, ASCII without escapes. `textRead` returns the value in either case. */
  equals(text: string): boolean {
    this.#string()
    return !this.#isEscaped && this.#isLast(text)
  }

  /** Compares the value with several texts, like `equals`. */
  equalsAny(texts: readonly string[]): boolean {
    this.#string()
    return !this.#isEscaped && texts.some((text) => this.#isLast(text))
  }

  /** Returns the last text. */
  textRead(): string {
    if (this.#isEscaped) throw OTHERWISE
    return this.bytes.toString('utf8', this.#from, this.#to)
  }

  /** Compares the value with a number in JSON form, in any notation. */
  equalsNumber(text: string): boolean {
    this.#number()
    return this.#isLast(text) || Number(this.#lastText()) === Number(text)
  }

  /** Returns the value, a number. */
  number(): number {
    this.#number()
    return Number(this.#lastText())
  }

  /** Compares the written form of the last text or number. ASCII only. */
  stoodAs(text: string): boolean {
    return this.#isLast(text)
  }

  /** Skips the value. @param onText called for each text in the value; `span` gives the place */
  skip(onText?: () => void, depth = 0): void {
    if (depth > DEEPEST) throw OTHERWISE
    const byte = this.#next()
    if (byte === QUOTE) {
      this.#string()
      onText?.()
    } else if (byte === OPEN_OBJECT)
      for (let more = this.enterObject(); more; more = this.nextMember()) this.skip(onText, depth + 1)
    else if (byte === OPEN_ARRAY)
      for (let more = this.enterArray(); more; more = this.nextItem()) this.skip(onText, depth + 1)
    else if (!this.#word('null') && !this.#word('true') && !this.#word('false')) this.#number()
  }

  /** Skips a null; false for any other value. */
  skipNull(): boolean {
    this.#next()
    return this.#word('null')
  }

  /** Asserts that no text follows the value. */
  end(): void {
    this.#next()
    if (this.#at < this.bytes.length) throw OTHERWISE
  }

  #goesOn(close: number): boolean {
    const byte = this.#next()
    this.#at++
    if (byte === COMMA) return true
    if (byte !== close) throw OTHERWISE
    return false
  }

  #key(): true {
    this.#string()
    // An escaped name may equal an expected name.
    if (this.#isEscaped) throw OTHERWISE
    this.#take(COLON)
    return true
  }

  /** Skips white space; returns the next byte, 0 at the end. */
  #next(): number {
    for (;;) {
      const byte = this.bytes[this.#at] ?? 0
      if (byte > 0x20 || (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09)) return byte
      this.#at++
    }
  }

  #take(byte: number): void {
    if (this.#next() !== byte) throw OTHERWISE
    this.#at++
  }

  #string(): void {
    this.#take(QUOTE)
    const { bytes } = this
    let at = this.#at
    this.#from = at
    this.#isEscaped = false
    for (;;) {
      const byte = bytes[at] ?? 0
      if (byte === QUOTE) break
      if (byte < 0x20) throw OTHERWISE
      if (byte === BACKSLASH) {
        this.#isEscaped = true
        const [escaped] = ESCAPED.exec(bytes.toString('latin1', at + 1, at + 6)) ?? []
        if (escaped === undefined) throw OTHERWISE
        at += escaped.length
      }
      at++
    }
    this.#to = at
    this.#at = at + 1
  }

  #lastText(): string {
    return this.bytes.toString('latin1', this.#from, this.#to)
  }

  #number(): void {
    this.#next()
    const from = this.#at
    const { bytes } = this
    let at = from
    let isPlain = true
    for (;;) {
      const byte = bytes[at] ?? 0
      if (byte >= 0x30 && byte <= 0x39) at++
      else if (byte === 0x2e || byte === 0x2d || byte === 0x2b || byte === 0x65 || byte === 0x45) {
        isPlain = false
        at++
      } else break
    }
    this.#at = at
    this.#from = from
    this.#to = at
    const isWhole = isPlain && at > from && (at === from + 1 || bytes[from] !== 0x30)
    if (!isWhole && !NUMBER.test(this.#lastText())) throw OTHERWISE
  }

  #word(word: string): boolean {
    if (!this.#isAt(word, this.#at, this.#at + word.length)) return false
    this.#at += word.length
    return true
  }

  #isLast(text: string): boolean {
    return this.#isAt(text, this.#from, this.#to)
  }

  #isAt(text: string, from: number, to: number): boolean {
    if (to - from !== text.length) return false
    const { bytes } = this
    for (let at = 0; at < text.length; at++) {
      const unit = text.charCodeAt(at)
      // A byte of 0x80 or more is part of another character.
      if (unit >= 0x80 || bytes[from + at] !== unit) return false
    }
    return true
  }
}
