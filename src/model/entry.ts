/** A record on its way, and the row that it is of: what transform hands to load. */
import { contentDigits, type Identity, idStart } from './ids.ts'
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

/** A row that is taken into a chunk. */
export interface TakenRow {
  readonly row: MappedRow
  /** Hashed row key. */
  rowKey: string
  /** What the transaction ids of its entries begin with. */
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
 * A record from when it is mapped until its outcome is known. Thousands wait at once until their chunk is settled, and what is kept is what costs,
 * as each collection of garbage moves it: one object, of which its text, hashes and ids are made when they are asked for. The mapping makes it;
 * `createEntries` gives it its hashes and its place.
 */
export class Entry {
  readonly frame: RecordFrame
  /** The mapping's rule, part of the transaction id: `systolic-bp`, `hba1c-2`. */
  readonly rule: string
  readonly facts: RowFacts
  readonly observed: ObservedTime
  /** Of a biometric record: as it stands in the body, a JSON number. */
  readonly value: string | undefined
  /** JSON text for the frame's other holes. */
  readonly said: readonly string[]
  /** Of a list: how many of its code and instant its row has before it, whatever of the row is looked at later. */
  before = 0
  private takenRow: TakenRow | undefined
  /** The content hash: its first four bytes, and its last. */
  first = 0
  last = 0
  /** Hash of its place in the row, 8 hex digits: what stands in the same place later corrects it. */
  ruleHash = ''
  /** Its place in its chunk, from 0. */
  place = 0
  /** Rank among results of one place; the lower one is older, wherever it stands: 0 preliminary, 1 final, 2 corrected. */
  rank = FINAL
  /** Time of issue, which orders results of one place and rank: milliseconds since the epoch; 0 without one. */
  issued = 0

  constructor(
    frame: RecordFrame,
    rule: string,
    facts: RowFacts,
    observed: ObservedTime,
    value: string | undefined,
    said: readonly string[],
  ) {
    this.frame = frame
    this.rule = rule
    this.facts = facts
    this.observed = observed
    this.value = value
    this.said = said
  }

  /** Of a care-team entry. */
  get provider(): NamedProvider | undefined {
    return undefined
  }

  /** Gives it its hashes, and its place in a chunk. */
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

  /** What its transaction id begins with. */
  get idStart(): string {
    return this.taken.idStart
  }

  /** Of its transaction id. */
  get idLength(): number {
    return this.taken.idStart.length + this.rule.length + 9
  }

  /** Writes its transaction id, part by part: no text is made of it. */
  writeId(writer: TextWriter): void {
    writer.often('row', this.taken.idStart)
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

  /** What the gateway keeps apart within an account and a source type when it returns the latest. */
  get seriesCode(): string {
    const { provider, frame } = this
    return provider === undefined ? (frame.codes[0] ?? '') : `npi:${provider.npi}`
  }

  /** Account, code and source type: of two records that share it the gateway returns the latest. Never two of one series in a batch. */
  get series(): string {
    return `${this.facts.account.reference}\u0000${this.seriesCode}\u0000${this.frame.sourceType}`
  }

  get evidence(): Evidence {
    const { frame, provider, value } = this
    const { codes, name, unit } = frame
    return { codes, name: provider?.name ?? name, value, unit, npi: provider?.npi }
  }

  /** What stands in one of the frame's holes: JSON text. */
  inHole(at: number): string {
    const hole = this.frame.holes[at]
    if (hole === 'value') return this.value ?? ''
    if (hole === 'iso') return this.observed.iso
    if (hole === 'epochMs') return String(this.observed.at)
    return (hole === undefined ? undefined : this.said[hole]) ?? ''
  }

  /**
   * The record's JSON text from after the transaction id to the opening quote of the batch id; `load/batches.ts` adds the ids. Its
   * hash is the record's identity: same content, same record.
   */
  get text(): string {
    const { facts, frame } = this
    const { pieces, holes } = frame
    let text = facts.accountJson
    for (let hole = 0; hole < holes.length; hole++) text += `${pieces[hole]}${this.inHole(hole)}`
    return `${text}${pieces[holes.length]}${facts.keyJson}${pieces[holes.length + 1]}`
  }

  /** Of `text`, in UTF-8. */
  get textBytes(): number {
    const { frame, facts, value = '', observed, said } = this
    let bytes = frame.bytes + facts.bytes
    for (const hole of frame.holes) {
      if (hole === 'value') bytes += value.length
      else if (hole === 'iso') bytes += observed.iso.length
      else if (hole === 'epochMs') bytes += String(observed.at).length
      else if (said[hole] !== '') bytes += Buffer.byteLength(said[hole] ?? '')
    }
    return bytes
  }

  /** Writes `text`. */
  writeText(writer: TextWriter): void {
    const { facts, frame, observed } = this
    const { written, holes } = frame
    writer.often('account', facts.accountJson)
    for (let hole = 0; hole <= holes.length; hole++) {
      writer.piece(written[hole] ?? NOTHING)
      const held = holes[hole]
      if (held === 'iso') writer.often('iso', observed.iso)
      else if (held !== undefined) writer.text(this.inHole(hole))
    }
    writer.often('key', facts.keyJson)
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
    said: readonly string[],
    provider: NamedProvider,
  ) {
    super(frame, rule, facts, observed, undefined, said)
    this.named = provider
  }

  override get provider(): NamedProvider {
    return this.named
  }
}

/** The place of a result that the source has taken back: it is never sent. */
export class WithdrawnEntry extends Entry {
  /** Counts it among what is left out, where nothing of it was delivered. */
  readonly leftOut: string

  constructor(frame: RecordFrame, rule: string, facts: RowFacts, observed: ObservedTime, leftOut: string) {
    super(frame, rule, facts, observed, undefined, [])
    this.leftOut = leftOut
  }
}

/** The record as it was sent from another export: under the transaction id that it had there. */
export const sentUnder = (entry: Entry, transactionId: string): Entry =>
  Object.create(entry, { transactionId: { value: transactionId } })

/**
 * A list may grow, shrink and be sorted otherwise from one export to the next: which of its results stands second says nothing. Of one list those of
 * one instant are told apart by their order; another instant is another result, and corrects none.
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

/** Appends the withdrawn results of a row, if there are any. @param withdrawn of the chunk, so far */
export function createWithdrawn(
  identity: Identity,
  exportId: string,
  outcome: RowOutcome,
  withdrawn: WithdrawnEntry[],
): void {
  const row = asMapped(outcome)
  if (row?.withdrawn !== undefined) append(identity, exportId, row, row.withdrawn, withdrawn)
}

/** The key of a row with its person: two people to whom a mapping gives one key say nothing of each other. */
export const keyOfPerson = ({ key, account }: Pick<MappedRow, 'key' | 'account'>): string =>
  `${key}\n${account.type}\n${account.reference}`

function append<One extends Entry>(
  identity: Identity,
  exportId: string,
  row: MappedRow,
  records: readonly One[],
  entries: One[],
): One[] {
  const taken = { row, rowKey: identity.rowKey(keyOfPerson(row)), idStart: idStart(exportId, row.row) }
  for (const record of records) {
    record.take(taken, identity, entries.length)
    entries.push(record)
  }
  return entries
}

/** Row keys of entries, each once. Those of a row follow each other. */
export function rowKeysOf(entries: readonly Entry[]): string[] {
  const keys = new Set<string>()
  let last: MappedRow | undefined
  for (const { row, rowKey } of entries) {
    if (row !== last) keys.add(rowKey)
    last = row
  }
  return [...keys]
}

export interface MappedRow extends Origin {
  readonly outcome: 'mapped'
  /** The row as it came: for whoever must keep what it holds out of a message. */
  readonly source: CsvRow | JsonRow
  /** The row's key for the vendor, its parts joined by `|`. */
  readonly key: string
  readonly account: AccountKey
  /** First instant of the person's day of birth, in UTC, milliseconds; -Infinity where the row does not tell it. */
  readonly born: number
  /** First and last name of the person, joined by `|`; empty where the row does not give both. */
  readonly name: () => string
  /** Makes the registration data, which is needed only where the person is not known yet; undefined if the mapping has none. */
  readonly register: () => RegistrationDraft | undefined
  readonly records: readonly Entry[]
  readonly rejected: readonly RejectedRecord[]
  /** What the mapping leaves out of the row on purpose: why, once for each element or rule. */
  readonly leftOut: readonly string[]
  /** Places of results that the source has taken back, without their values; each is among what is left out. */
  readonly withdrawn?: readonly WithdrawnEntry[] | undefined
  readonly warnings: readonly Warning[]
}

export interface SkippedRow extends Origin {
  readonly outcome: 'skipped'
  /** Which condition of the mapping left it out. */
  readonly reason: string
  /** The same for each element of the row. */
  readonly leftOut: readonly string[]
  readonly warnings: readonly Warning[]
  /** Where all rules have left it out: whose row it is. */
  readonly account?: AccountKey
  /** The row as it is mapped, where results of it are withdrawn. */
  readonly mapped?: MappedRow
}

export interface RejectedRow extends Origin {
  readonly outcome: 'rejected'
  readonly issue: Issue
  /** Whose row it is, where that can be told. */
  readonly account?: AccountKey
}

/** Exactly one outcome for each row read: rows read = mapped + skipped + rejected. */
export type RowOutcome = MappedRow | SkippedRow | RejectedRow

/** The row as it is mapped, where anything of it can come into a chunk. */
export const asMapped = (outcome: RowOutcome): MappedRow | undefined =>
  outcome.outcome === 'skipped' ? outcome.mapped : outcome.outcome === 'mapped' ? outcome : undefined
