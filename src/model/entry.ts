/** A record in flight and its row: the hand-over from transform to load. */
import { contentDigits, type Identity, idStart, type RowPrint } from './ids.ts'
import type {
  AccountKey,
  Evidence,
  Issue,
  MedicalRequest,
  NamedProvider,
  ObservedTime,
  RecordFrame,
  RecordKind,
  RegistrationDraft,
  RejectedRecord,
  RowFacts,
  SentAccount,
  TestAnswer,
  Warning,
} from './record.ts'
import type { CsvRow, JsonRow, Origin } from './row.ts'
import { pieceOf, type TextWriter } from './text-writer.ts'

interface TakenRow {
  readonly row: MappedRow
  /** Hashed row key. */
  rowKey: string
  /** Common start of the transaction ids of the row's entries. */
  readonly idStart: string
}

const NOT_TAKEN = 'the record has no place in a chunk yet'

export const FINAL = 1

/** @param key the row's key for the vendor */
export function createRowFacts({ reference, type, sponsor }: SentAccount, key: string): RowFacts {
  const accountJson = `"account":${JSON.stringify({ reference, type, sponsor })}`
  const keyJson = JSON.stringify(key)
  const bytes = Buffer.byteLength(accountJson) + Buffer.byteLength(keyJson)
  return { account: { reference, type }, accountJson, keyJson, bytes }
}

/**
 * A record, from mapping until its outcome is known. Thousands wait in memory until their chunk is settled, and each garbage collection
 * moves all of them. An entry is therefore a single object, and makes its text, hashes and ids on demand. The mapping creates the entry;
 * `createEntries` sets hashes and place.
 */
export class Entry {
  readonly frame: RecordFrame
  /** The mapping's rule, part of the transaction id: `systolic-bp`, `hba1c-2`. */
  readonly rule: string
  readonly facts: RowFacts
  readonly observed: ObservedTime
  /** Value of a biometric record as written in the body, a JSON number. */
  readonly value: string | undefined
  /** JSON text for the other holes of the frame. */
  readonly texts: readonly string[]
  /** In a list: number of earlier results of the row with the code and instant of this entry. Results that the run does not look at count, too. */
  before = 0
  private takenRow: TakenRow | undefined
  /** Content hash: the first four bytes and the last four. */
  first = 0
  last = 0
  /** Hash of the place in the row, 8 hex digits: a later value in this place corrects the record. */
  ruleHash = ''
  /** Place in the chunk, from 0. */
  place = 0
  /** Rank among results of one place: 0 preliminary, 1 final, 2 corrected. The lower rank is older, wherever its row stands. */
  rank = FINAL
  /** Time of issue, which orders results of one place and rank: milliseconds since the epoch; 0 without one. */
  issued = 0

  constructor(
    frame: RecordFrame,
    rule: string,
    facts: RowFacts,
    observed: ObservedTime,
    value: string | undefined,
    texts: readonly string[],
  ) {
    this.frame = frame
    this.rule = rule
    this.facts = facts
    this.observed = observed
    this.value = value
    this.texts = texts
  }

  /** Set for a care-team entry only. */
  get provider(): NamedProvider | undefined {
    return undefined
  }

  /** Sets the hashes and the place in a chunk. */
  take(taken: TakenRow, identity: Identity, place: number): void {
    const words = identity.contentWords(this)
    this.takenRow = taken
    this.first = words[0] ?? 0
    this.last = words[1] ?? 0
    this.ruleHash = placeOf(identity, this)
    this.place = place
  }

  private get taken(): TakenRow {
    if (this.takenRow === undefined) throw new Error(NOT_TAKEN)
    return this.takenRow
  }

  get row(): MappedRow {
    return this.taken.row
  }

  /** Hashed row key. */
  get rowKey(): string {
    return this.taken.rowKey
  }

  /** Changes the key of all records of the row. */
  set rowKey(rowKey: string) {
    this.taken.rowKey = rowKey
  }

  /** Content hash, 16 hex digits. */
  get content(): string {
    if (this.takenRow === undefined) throw new Error(NOT_TAKEN)
    return contentDigits(this)
  }

  /** `<export id>-<row>-<rule>-<content>`. */
  get transactionId(): string {
    return `${this.taken.idStart}${this.rule}-${this.content.slice(0, 8)}`
  }

  /** Start of the transaction id. */
  get idStart(): string {
    return this.taken.idStart
  }

  get idLength(): number {
    return this.taken.idStart.length + this.rule.length + 9
  }

  /** Writes the transaction id part by part, without building a string. */
  writeId(writer: TextWriter): void {
    writer.text(this.taken.idStart)
    writer.text(this.rule)
    writer.digits(this.first)
  }

  /** Observation date, milliseconds since the epoch. */
  get observedAt(): number {
    return this.observed.at
  }

  get kind(): RecordKind {
    return this.frame.kind
  }

  get account(): AccountKey {
    return this.facts.account
  }

  get sourceType(): string {
    return this.frame.sourceType
  }

  get primary(): boolean | undefined {
    return this.provider?.primary
  }

  /** Key by which the gateway selects the latest record within an account and a source type. */
  get seriesCode(): string {
    const { provider, frame } = this
    return provider === undefined ? (frame.codes[0] ?? '') : `npi:${provider.npi}`
  }

  /** Account, code and source type: the gateway returns the latest record of a series. A batch never holds two records of one series. */
  get series(): string {
    return `${this.facts.account.reference}\u0000${this.seriesCode}\u0000${this.frame.sourceType}`
  }

  get evidence(): Evidence {
    const { frame, provider, value } = this
    const { codes, name, unit } = frame
    return { codes, name: provider?.name ?? name, value, unit, npi: provider?.npi }
  }

  /** JSON text for a hole of the frame. */
  inHole(at: number): string {
    const hole = this.frame.holes[at]
    if (hole === undefined) return ''
    // Numbers first: V8 compares texts with texts faster than with anything.
    if (typeof hole === 'number') return this.texts[hole] ?? ''
    if (hole === 'value') return this.value ?? ''
    return hole === 'iso' ? this.observed.iso : String(this.observed.at)
  }

  /**
   * JSON text of the record, from behind the transaction id to the opening quote of the batch id; `load/batches.ts` adds the ids. The hash
   * of this text is the identity of the record: same content, same record.
   */
  get text(): string {
    const { facts, frame } = this
    const { pieces, holes } = frame
    let text = facts.accountJson
    for (let hole = 0; hole < holes.length; hole++) text += `${pieces[hole]}${this.inHole(hole)}`
    return `${text}${pieces[holes.length]}${facts.keyJson}${pieces[holes.length + 1]}`
  }

  /** Length of `text` in UTF-8. */
  get textBytes(): number {
    const { frame, facts, value = '', observed, texts } = this
    let bytes = frame.bytes + facts.bytes
    for (const hole of frame.holes) {
      if (typeof hole === 'number') {
        const { [hole]: text = '' } = texts
        if (text !== '') bytes += Buffer.byteLength(text)
      } else if (hole === 'value') bytes += value.length
      else bytes += hole === 'iso' ? observed.iso.length : String(observed.at).length
    }
    return bytes
  }

  /** Writes `text`. */
  writeText(writer: TextWriter): void {
    const { facts, frame } = this
    const { written, holes } = frame
    writer.text(facts.accountJson)
    for (let hole = 0; hole <= holes.length; hole++) {
      writer.piece(written[hole] ?? NOTHING)
      const held = holes[hole]
      if (held !== undefined) writer.text(this.inHole(hole))
    }
    writer.text(facts.keyJson)
    writer.piece(written[holes.length + 1] ?? NOTHING)
  }
}

const NOTHING = pieceOf('')

export class RequestEntry extends Entry {
  readonly request: MedicalRequest

  constructor(
    frame: RecordFrame,
    rule: string,
    facts: RowFacts,
    observed: ObservedTime,
    request: MedicalRequest,
  ) {
    super(frame, rule, facts, observed, undefined, [request.body, String(request.isWithdrawn)])
    this.request = request
  }
}

export class AnswersEntry extends Entry {
  readonly answers: readonly TestAnswer[]

  constructor(
    frame: RecordFrame,
    rule: string,
    facts: RowFacts,
    observed: ObservedTime,
    answers: readonly TestAnswer[],
  ) {
    super(frame, rule, facts, observed, undefined, [JSON.stringify(answers)])
    this.answers = answers
  }
}

export class CareTeamEntry extends Entry {
  private readonly named: NamedProvider

  constructor(
    frame: RecordFrame,
    rule: string,
    facts: RowFacts,
    observed: ObservedTime,
    texts: readonly string[],
    provider: NamedProvider,
  ) {
    super(frame, rule, facts, observed, undefined, texts)
    this.named = provider
  }

  override get provider(): NamedProvider {
    return this.named
  }
}

/** Place of a result that the source has withdrawn: never sent. */
export class WithdrawnEntry extends Entry {
  /** Reason under which the result counts as left out, if none of it was delivered. */
  readonly leftOut: string

  constructor(frame: RecordFrame, rule: string, facts: RowFacts, observed: ObservedTime, leftOut: string) {
    super(frame, rule, facts, observed, undefined, [])
    this.leftOut = leftOut
  }
}

/** Returns the record as another export sent it, with the transaction id of that export. */
export const sentUnder = (entry: Entry, transactionId: string): Entry =>
  Object.create(entry, { transactionId: { value: transactionId } })

/**
 * A list may grow, shrink or change its order from one export to the next, hence the position of a result in a list means nothing. Results
 * of one list and instant are told apart by their order. A result of another instant is a different result, and corrects none.
 */
const placeOf = (identity: Identity, { frame: { listedAs }, rule, observedAt, before }: Entry): string =>
  listedAs === undefined ? identity.rule(rule) : identity.listed(`${listedAs}\n${observedAt}\n${before}`)

/** Appends the entries of a row. @param entries of the chunk, so far */
export const createEntries = (
  identity: Identity,
  exportId: string,
  row: MappedRow,
  entries: Entry[] = [],
): Entry[] => append(identity, exportId, row, row.records, entries)

/** Appends the withdrawn results of a row, if any. @param withdrawn of the chunk, so far */
export function createWithdrawn(
  identity: Identity,
  exportId: string,
  outcome: RowOutcome,
  withdrawn: WithdrawnEntry[],
): void {
  const row = asMapped(outcome)
  if (row?.withdrawn !== undefined) append(identity, exportId, row, row.withdrawn, withdrawn)
}

/** Key of a row together with its person: if a mapping gives two people one key, neither row corrects the other. */
export const keyOfPerson = ({ key, account }: Pick<MappedRow, 'key' | 'account'>): string =>
  `${key}\n${account.type}\n${account.reference}`

function append<One extends Entry>(
  identity: Identity,
  exportId: string,
  row: MappedRow,
  records: readonly One[],
  entries: One[],
): One[] {
  if (records.length === 0) return entries
  const taken = { row, rowKey: identity.rowKey(keyOfPerson(row)), idStart: idStart(exportId, row.row) }
  for (const record of records) {
    record.take(taken, identity, entries.length)
    entries.push(record)
  }
  return entries
}

/** Row keys of entries, without duplicates. Entries of a row follow each other. */
export function rowKeysOf(entries: readonly Entry[]): string[] {
  const keys = new Set<string>()
  let last: MappedRow | undefined
  for (let at = 0; at < entries.length; at++) {
    const { row, rowKey = '' } = entries[at] ?? {}
    if (row !== last) keys.add(rowKey)
    last = row
  }
  return [...keys]
}

export interface MappedRow extends Origin {
  readonly outcome: 'mapped'
  /** The row as read, to keep its contents out of messages. */
  readonly source: CsvRow | JsonRow
  /** The row's key for the vendor, parts joined by `|`. */
  readonly key: string
  readonly account: AccountKey
  /** Birth date of the person: first instant of the day in UTC, milliseconds; -Infinity if the row has none. */
  readonly born: number
  /** First and last name of the person, joined by `|`; empty if the row lacks either. */
  readonly name: () => string
  /** Makes the registration data, needed only for an unknown person; undefined if the mapping has none. */
  readonly register: () => RegistrationDraft | undefined
  readonly records: readonly Entry[]
  /** Set for a row recognised as a whole: numbers of its records, which the gateway has, and which are not made. */
  readonly known?: Pick<RowPrint, 'biometrics' | 'conditions'>
  readonly rejected: readonly RejectedRecord[]
  /** Reasons why the mapping leaves parts of the row out on purpose, one for each element or rule. */
  readonly leftOut: readonly string[]
  /** Places of results that the source has withdrawn, without values; each also counts in `leftOut`. */
  readonly withdrawn?: readonly WithdrawnEntry[] | undefined
  readonly warnings: readonly Warning[]
}

export interface SkippedRow extends Origin {
  readonly outcome: 'skipped'
  /** The condition of the mapping that skipped the row. */
  readonly reason: string
  /** Reasons for each element of the row. */
  readonly leftOut: readonly string[]
  readonly warnings: readonly Warning[]
  /** Person of the row, if rules skipped every part. */
  readonly account?: AccountKey
  /** The mapped row, if the source has withdrawn results of it. */
  readonly mapped?: MappedRow
}

export interface RejectedRow extends Origin {
  readonly outcome: 'rejected'
  readonly issue: Issue
  /** Person of the row, if known. */
  readonly account?: AccountKey
}

/** Exactly one outcome for each row read: rows read = mapped + skipped + rejected. */
export type RowOutcome = MappedRow | SkippedRow | RejectedRow

/** Returns the mapped row, if any part of it can enter a chunk. */
export const asMapped = (outcome: RowOutcome): MappedRow | undefined =>
  outcome.outcome === 'skipped' ? outcome.mapped : outcome.outcome === 'mapped' ? outcome : undefined
