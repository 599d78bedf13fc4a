/**
 * Matches the most frequent answer: every sent record, in the order of the request, echoed with the sent values. The scan works on bytes
 * and builds no values. Any other answer is read as a whole, and judged by `matchAnswer`. `matchAnswer` would accept every record that is
 * accepted here, with the same ids. If an object names a member twice, the last one counts, as with `JSON.parse`.
 */
import { accountIdOfEntity } from '../gateway/contract/account.ts'
import { epochMsOf } from '../gateway/contract/shared-objects.ts'
import type { Entry } from '../model/entry.ts'
import type { AccountIds } from '../model/outcome.ts'
import type { RecordFrame } from '../model/record.ts'
import { hexDigit, type Piece, pieceOf } from '../model/text-writer.ts'

/**
 * @param entries in the order of the request
 * @param answer the body as received
 * @returns for each entry the gateway's id of the record, undefined if absent; undefined for any other answer
 */
type MatchInOrder = (
  entries: readonly Entry[],
  answer: Uint8Array,
  accountIds: AccountIds,
) => readonly (string | undefined)[] | undefined

/** Remembers the form of the gateway's echoes, for speed only: the result does not depend on the form. */
export function createMatchInOrder(): MatchInOrder {
  const forms: EchoForms = { layouts: new Map(), readLast: new Map() }
  return (entries, answer, accountIds) => {
    try {
      return idsOf(new JsonScan(answer), entries, accountIds, forms)
    } catch (error) {
      if (error === OTHERWISE) return undefined
      throw error
    }
  }
}

interface EchoForms {
  readonly layouts: Map<RecordFrame, EchoLayout>
  /** The last echo that was read field by field. */
  readonly readLast: Map<RecordFrame, ReadEcho>
}

/** Section "Envelope": `code` mirrors the status, as a number or as text; `errors` is empty on success. */
function idsOf(
  scan: JsonScan,
  entries: readonly Entry[],
  accountIds: AccountIds,
  forms: EchoForms,
): (string | undefined)[] {
  let ids: (string | undefined)[] | undefined
  for (let more = scan.enterObject(); more; more = scan.nextMember()) {
    if (scan.isLast('code')) {
      const code = scan.isText() ? Number(scan.text()) : scan.number()
      if (!(code >= 200 && code < 300)) throw OTHERWISE
    } else if (scan.isLast('data')) ids = readEchoes(scan, entries, accountIds, forms)
    else if (scan.isLast('errors')) {
      if (!scan.skipNull() && scan.enterArray()) throw OTHERWISE
    } else scan.skip()
  }
  scan.end()
  if (ids === undefined) throw OTHERWISE
  return ids
}

function readEchoes(
  scan: JsonScan,
  entries: readonly Entry[],
  accountIds: AccountIds,
  forms: EchoForms,
): (string | undefined)[] {
  const ids: (string | undefined)[] = []
  const reader = new EchoReader(scan, accountIds, forms)
  for (let more = scan.enterArray(); more; more = scan.nextItem()) {
    const entry = entries[ids.length]
    if (entry === undefined) throw OTHERWISE
    ids.push(reader.read(entry))
  }
  if (ids.length !== entries.length) throw OTHERWISE
  return ids
}

class EchoReader {
  readonly #scan: JsonScan
  readonly #accountIds: AccountIds
  readonly #forms: EchoForms
  /** Marks of the current echo; undefined if its form is not to be learned. */
  #marks: Mark[] | undefined
  /** Offset of the current echo. */
  #from = 0
  readonly #compared: ComparedAnswer

  constructor(scan: JsonScan, accountIds: AccountIds, forms: EchoForms) {
    this.#scan = scan
    this.#forms = forms
    this.#accountIds = accountIds
    this.#compared = new ComparedAnswer(scan.bytes, accountIds)
  }

  /** Reads an echo; returns the gateway's id. @throws OTHERWISE if the echo may belong to another record */
  read(entry: Entry): string | undefined {
    const { frame } = entry
    const scan = this.#scan
    const layout = this.#forms.layouts.get(frame)
    const from = scan.place
    const to = layout === undefined ? -1 : this.#compared.endOf(layout, from, entry)
    if (to !== -1) {
      scan.goTo(to)
      return this.#compared.id
    }
    this.#marks = frame.kind === 'careTeam' ? undefined : []
    this.#from = from
    const id = this.#readFields(entry)
    if (this.#marks !== undefined) this.#learn(frame, this.#marks)
    return id
  }

  /** A gateway may change the form of its echoes: the last two echoes read field by field give the form. */
  #learn(frame: RecordFrame, marks: readonly Mark[]): void {
    const { layouts, readLast } = this.#forms
    const read = { text: this.#scan.textFrom(this.#from), marks }
    const last = readLast.get(frame)
    const layout = last && layoutOf(last, read)
    if (layout !== undefined) layouts.set(frame, layout)
    readLast.set(frame, read)
  }

  /** Marks the last text or number. */
  #mark(kind: PlaceKind): void {
    const [from, to] = this.#scan.span
    this.#marks?.push({ kind, from: from - this.#from, to: to - this.#from })
  }

  #readFields(entry: Entry): string | undefined {
    const scan = this.#scan
    const { transactionId, frame, provider, kind, value } = entry
    let isNamed = false
    let isNamedBySource = false
    let id: string | undefined
    for (let more = scan.enterObject(); more; more = scan.nextMember()) {
      if (scan.isLast('transactionId')) isNamed = this.#isNamed(transactionId)
      else if (scan.isLast('id')) id = this.#readId()
      else if (scan.isLast('name')) this.#must(scan.equals(provider?.name ?? frame.name))
      else if (scan.isLast('unit') && frame.unit !== undefined) this.#must(scan.equals(frame.unit))
      else if (scan.isLast('value') && value !== undefined) this.#readValue(value)
      else if (scan.isLast('observationDate')) this.#must(this.#readInstant(entry) === entry.observedAt)
      else if (scan.isLast('codes') && kind !== 'careTeam') this.#readCodes(frame.codes)
      else if (scan.isLast('account') && kind !== 'careTeam') this.#readAccount(entry)
      else if (scan.isLast('npi') && provider !== undefined) this.#must(scan.equals(provider.npi))
      else if (scan.isLast('userId') && kind === 'careTeam') {
        // An unknown id must agree with the rest of the answer: `matchAnswer` checks.
        const userId = this.#accountIds(entry.account)
        if (userId === undefined) throw OTHERWISE
        this.#must(scan.equals(userId))
      } else if (scan.isLast('source')) isNamedBySource = this.#readSource(transactionId)
      else this.#skip()
    }
    this.#must(isNamed || isNamedBySource)
    return id
  }

  #must(holds: boolean): true {
    if (!holds) throw OTHERWISE
    return true
  }

  #skip(kind: PlaceKind = 'text'): void {
    this.#scan.skip(() => this.#mark(kind))
  }

  #isNamed(transactionId: string): true {
    this.#must(this.#scan.equals(transactionId))
    this.#mark('transactionId')
    return true
  }

  #readId(): string | undefined {
    if (!this.#scan.isText()) {
      this.#skip()
      return undefined
    }
    const id = this.#scan.text()
    this.#mark('id')
    return id
  }

  #readValue(value: string): void {
    this.#must(this.#scan.number() === Number(value))
    if (this.#scan.isLast(value)) this.#mark('value')
    else this.#marks = undefined
  }

  #readInstant({ observedAt }: Entry): number | undefined {
    const scan = this.#scan
    if (scan.isText()) {
      const text = scan.text()
      this.#mark('instant')
      return epochMsOf(text)
    }
    const ms = scan.number()
    if (scan.isLast(String(observedAt))) this.#mark('epochMs')
    else this.#marks = undefined
    return ms
  }

  #readCodes(codes: readonly string[]): void {
    const scan = this.#scan
    let hasCode = false
    for (let more = scan.enterArray(); more; more = scan.nextItem()) {
      let isSent = false
      for (let inner = scan.enterObject(); inner; inner = scan.nextMember()) {
        if (scan.isLast('code')) isSent = scan.equals(...codes)
        else this.#skip()
      }
      hasCode ||= isSent
    }
    this.#must(hasCode)
  }

  /** Accepts the account as sent, or by the resolved id. */
  #readAccount({ account }: Entry): void {
    const scan = this.#scan
    let isType = false
    let isReference = false
    let type: string = account.type
    let id = account.reference
    for (let more = scan.enterObject(); more; more = scan.nextMember()) {
      if (scan.isLast('type')) {
        isType = scan.equals(account.type)
        type = isType ? account.type : scan.textRead()
      } else if (scan.isLast('reference')) {
        isReference = scan.equals(account.reference)
        id = isReference ? account.reference : scan.textRead()
        this.#mark(isReference ? 'reference' : 'accountId')
      } else this.#skip()
    }
    if (isType && isReference) return
    this.#must(type === 'accountId' || type === 'entity')
    this.#must(accountIdOfEntity(id) === this.#accountIds(account))
    // An echo that names the account by an id, equal to the sent reference, is no pattern to learn.
    if (isReference) this.#marks = undefined
  }

  /** Returns true if the source names the record; throws if the source names another. */
  #readSource(transactionId: string): boolean {
    const scan = this.#scan
    let isNamed = false
    for (let more = scan.enterObject(); more; more = scan.nextMember()) {
      if (!scan.isLast('meta')) {
        this.#skip()
        continue
      }
      isNamed = false
      for (let inner = scan.enterObject(); inner; inner = scan.nextMember()) {
        if (scan.isLast('persistentRecordId')) isNamed = this.#isNamed(transactionId)
        else if (scan.isLast('batchId')) this.#skip('batchId')
        else this.#skip()
      }
    }
    return isNamed
  }
}

/**
 * Content of a place. Each place must hold the record's own value, with three exceptions: the gateway chooses `id`; nobody compares `text`
 * or `batchId`, and a batch id changes soon.
 */
type PlaceKind =
  | 'transactionId'
  | 'value'
  | 'instant'
  | 'epochMs'
  | 'reference'
  | 'accountId'
  | 'id'
  | 'batchId'
  | 'text'

/** Place in an echo, from byte to byte. Texts come without quotes. */
interface Mark {
  readonly kind: PlaceKind
  readonly from: number
  readonly to: number
}

/** An echo that was read field by field. */
interface ReadEcho {
  /** In Latin-1: an index is a byte offset. */
  readonly text: string
  /** In the order of the text. */
  readonly marks: readonly Mark[]
}

interface EchoLayout {
  /** Text around the places: one piece more than places. */
  readonly pieces: readonly Piece[]
  readonly places: readonly PlaceKind[]
}

/**
 * Form of a gateway's echoes of one kind of record: constant text, and places that differ from echo to echo. Two echoes, read field by
 * field, teach the form; further echoes are compared with the form in a few steps. An echo that does not match exactly is read field by
 * field again.
 * @returns undefined if the echoes differ in more than the places
 */
function layoutOf(one: ReadEcho, other: ReadEcho): EchoLayout | undefined {
  if (one.marks.length !== other.marks.length) return undefined
  const pieces: string[] = []
  const places: PlaceKind[] = []
  let piece = ''
  let at = 0
  let otherAt = 0
  for (const [index, mark] of one.marks.entries()) {
    const otherMark = other.marks[index]
    if (mark.kind !== otherMark?.kind) return undefined
    const before = one.text.slice(at, mark.from)
    if (before !== other.text.slice(otherAt, otherMark.from)) return undefined
    const held = one.text.slice(mark.from, mark.to)
    piece += before
    // Text that nobody compares, if equal in both echoes, is probably constant.
    if (mark.kind === 'text' && held === other.text.slice(otherMark.from, otherMark.to)) piece += held
    else {
      pieces.push(piece)
      places.push(mark.kind)
      piece = ''
    }
    at = mark.to
    otherAt = otherMark.to
  }
  const rest = one.text.slice(at)
  if (rest !== other.text.slice(otherAt)) return undefined
  return { pieces: [...pieces, piece + rest].map((text) => pieceOf(text, 'latin1')), places }
}

const NONE = -1
const HYPHEN = 0x2d

/** Answer that is compared with layouts, echo by echo. */
class ComparedAnswer {
  readonly #bytes: Buffer
  readonly #view: DataView
  readonly #accountIds: AccountIds
  /** Last text of each kind, and the record of that text: records of a row, and of a batch, share most texts. */
  readonly #last = new Map<PlaceKind, { from: number; to: number; entry: Entry }>()
  /** Start of the transaction ids of a row, and its last offset. */
  #idStart: string | undefined
  #idStartsAt = 0
  /** Id at the gateway in the last compared echo. */
  id: string | undefined

  constructor(bytes: Buffer, accountIds: AccountIds) {
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.#accountIds = accountIds
  }

  /** Offset behind the echo of the record; -1 if the answer does not continue exactly like the layout. */
  endOf({ pieces, places }: EchoLayout, from: number, entry: Entry): number {
    this.id = undefined
    let at = from
    let firstId = NONE
    for (let place = 0; place < places.length; place++) {
      at = this.#behindPiece(pieces[place], at)
      if (at === NONE) return NONE
      const kind = places[place]
      if (kind === 'transactionId') {
        const length = entry.idLength
        const isOurs = firstId === NONE ? this.#isIdAt(at, entry) : this.#isSame(firstId, at, length)
        if (!isOurs) return NONE
        firstId = at
        at += length
      } else if (kind === 'value' || kind === 'epochMs') {
        const { value = '', observedAt } = entry
        const expected = kind === 'value' ? value : String(observedAt)
        if (!this.#isAt(at, expected)) return NONE
        at += expected.length
      } else if (kind !== undefined) at = this.#behindText(kind, at, entry)
      if (at === NONE) return NONE
    }
    return this.#behindPiece(pieces[places.length], at)
  }

  #behindText(kind: PlaceKind, at: number, entry: Entry): number {
    const last = this.#last.get(kind)
    // Includes the closing quote.
    if (
      last !== undefined &&
      saysAlike(kind, entry, last.entry) &&
      this.#isSame(last.from, at, last.to + 1 - last.from)
    ) {
      last.to = at + last.to - last.from
      last.from = at
      last.entry = entry
      return last.to
    }
    const to = endOfText(this.#bytes, at)
    if (to < 0 || !this.#isOf(kind, at, to, entry)) return NONE
    this.#last.set(kind, { from: at, to, entry })
    return to
  }

  #isOf(kind: PlaceKind, at: number, to: number, entry: Entry): boolean {
    const { account, observed, observedAt } = entry
    switch (kind) {
      case 'reference':
        return this.#text(at, to) === account.reference
      case 'instant':
        return this.#text(at, to) === observed.iso || epochMsOf(this.#text(at, to)) === observedAt
      case 'accountId':
        return accountIdOfEntity(this.#text(at, to)) === this.#accountIds(account)
      case 'id':
        this.id = this.#text(at, to)
        return true
      default:
        return true
    }
  }

  #text(from: number, to: number): string {
    return this.#bytes.toString('latin1', from, to)
  }

  #behindPiece(piece: Piece | undefined, from: number): number {
    if (piece === undefined || from + piece.bytes.length > this.#bytes.length) return NONE
    const { words, bytes } = piece
    for (let word = 0; word < words.length; word++)
      if (this.#view.getFloat64(from + 8 * word, true) !== words[word]) return NONE
    for (let byte = 8 * words.length; byte < bytes.length; byte++)
      if (this.#bytes[from + byte] !== bytes[byte]) return NONE
    return from + bytes.length
  }

  /** Compares two stretches of bytes. */
  #isSame(one: number, other: number, length: number): boolean {
    if (other + length > this.#bytes.length) return false
    let at = 0
    for (; at + 8 <= length; at += 8)
      if (this.#view.getFloat64(one + at, true) !== this.#view.getFloat64(other + at, true)) return false
    for (; at < length; at++) if (this.#bytes[one + at] !== this.#bytes[other + at]) return false
    return true
  }

  /** Compares the transaction id part by part, without building a string. */
  #isIdAt(from: number, { idStart, rule, first }: Entry): boolean {
    const isStart =
      idStart === this.#idStart
        ? this.#isSame(this.#idStartsAt, from, idStart.length)
        : this.#isAt(from, idStart)
    if (!isStart) return false
    this.#idStart = idStart
    this.#idStartsAt = from
    let at = from + idStart.length
    if (!this.#isAt(at, rule)) return false
    at += rule.length
    if (this.#bytes[at] !== HYPHEN) return false
    for (let shift = 28; shift >= 0; shift -= 4)
      if (this.#bytes[++at] !== hexDigit((first >>> shift) & 15)) return false
    return true
  }

  #isAt(from: number, text: string): boolean {
    return isAt(this.#bytes, from, text)
  }
}

/** Compares bytes with a text. ASCII only: a byte of a longer character never matches. */
function isAt(bytes: Buffer, from: number, text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit >= 0x80 || bytes[from + at] !== unit) return false
  }
  return true
}

/** True if a text in a place of this kind is right for both records or for neither. */
function saysAlike(kind: PlaceKind, one: Entry, other: Entry): boolean {
  switch (kind) {
    case 'reference':
    case 'accountId':
      return one.account === other.account
    case 'instant':
      return one.observedAt === other.observedAt
    case 'id':
      return false
    default:
      return true
  }
}

/** Offset of the closing quote of plain ASCII text; -1 if the text holds anything else. */
function endOfText(answer: Buffer, from: number): number {
  for (let at = from; at < answer.length; at++) {
    const byte = answer[at] ?? 0
    if (byte === 0x22) return at
    if (byte < 0x20 || byte === 0x5c || byte >= 0x7f) return -1
  }
  return -1
}

/** Thrown for unexpected text, or for text that is not JSON. */
const OTHERWISE = new Error('the text is not as expected')

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
 * Walks JSON in place, byte by byte, without building values (RFC 8259), for answers that mostly need a comparison with the request.
 * Stricter than JSON: unexpected text throws `OTHERWISE`, and the caller reads the whole text instead.
 * Steps through objects and arrays:
 *
 *     for (let more = scan.enterObject(); more; more = scan.nextMember()) {
 *       if (scan.isLast('id')) id = scan.text()
 *       else scan.skip()
 *     }
 */
class JsonScan {
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

  /** Compares the name of the member, or the last text or number as written. ASCII only. */
  isLast(text: string): boolean {
    return this.#to - this.#from === text.length && isAt(this.bytes, this.#from, text)
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

  /** Compares the value with texts, ASCII without escapes. `textRead` returns the value in either case. */
  equals(...texts: readonly string[]): boolean {
    this.#string()
    return !this.#isEscaped && texts.some((text) => this.isLast(text))
  }

  /** Returns the last text. */
  textRead(): string {
    if (this.#isEscaped) throw OTHERWISE
    return this.bytes.toString('utf8', this.#from, this.#to)
  }

  number(): number {
    this.#number()
    return Number(this.#lastText())
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
    if (!isAt(this.bytes, this.#at, word)) return false
    this.#at += word.length
    return true
  }

  #lastText(): string {
    return this.bytes.toString('latin1', this.#from, this.#to)
  }
}
