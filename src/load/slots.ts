/**
 * Slots of a chunk: the ledger's memory of its rows, the chunk's words, and results learned while loading. Nearly all rows are new, or known as a
 * whole, and need no look at their slots.
 */
import type {
  DeliveredRow,
  ExportOrder,
  HeldDoubt,
  KeptSlot,
  KeptWord,
  RenamedRule,
  RowToSave,
  Suspicion,
} from '../ledger/ledger.ts'
import { type Entry, FINAL, type MappedRow, WithdrawnEntry } from '../model/entry.ts'
import { type ContentWords, hasSameContent, type RowPrint } from '../model/ids.ts'
import type { EntryOutcome } from '../model/outcome.ts'
import { DATE_ONLY_MS } from './accounts.ts'
import { type Content, EMPTY, type Incoming, type Place, type Slot, WITHDRAWN } from './decide.ts'
import { doubtOf, keptSlot, placeOf, slotOf } from './kept-slots.ts'
import {
  endedDoubts,
  isWorthWriting,
  lapseAbsent,
  learn,
  type Remembered,
  type SlotEvent,
  takeOver,
} from './learn.ts'

/** Hash of a row's cells, under the mapping and the version of the program: it tells rows that come again unchanged before they are mapped. */
export type CellsHash = (cells: readonly string[]) => ContentWords

/** Recency of an export. */
export interface Speaks {
  /** Number of the export: a later export has a higher number. */
  readonly arrival: number
  /** True for an export read before, in whole or in part. */
  readonly isAgain: boolean
  readonly isBackfill: boolean
  /** True for an export read with another mapping than last, or corrected by hand. */
  readonly isRenewed: boolean
  /** Places of backfilled exports among the nightly exports, by arrival. */
  readonly orders: ReadonlyMap<number, ExportOrder>
  readonly hashOf: CellsHash
}

/** Rows and ended doubts to save in the ledger once a chunk is settled. */
export interface LearnedSlots {
  readonly delivered: readonly RowToSave[]
  /** Contents no longer in doubt: superseded by a newer content, or absent. */
  readonly ended: ReadonlyMap<string, 'supersede' | 'miss'>
  /** Rules whose doubts are another rule's by now. */
  readonly renamed: readonly RenamedRule[]
  /** Contents of which the chunk decides doubts of earlier runs, too: sent before a run was given up, or waiting. */
  readonly asked: ReadonlySet<string>
  /** Undelivered contents with a newer word in the chunk. */
  readonly outdated: ReadonlySet<string>
}

type RowSlots = Map<string, Remembered>

const NOTHING_KNOWN: readonly never[] = []

export class ChunkSlots {
  private readonly memory: Memory
  private readonly entries: readonly Entry[]
  private readonly speaks: Speaks
  private readonly suspicion: Suspicion
  private readonly rows = new Map<string, RowSlots>()
  /** Verdicts on the rows, by the place of an entry. */
  private readonly usual: readonly ('new' | 'known' | undefined)[]
  /** Rules in the chunk, with their contents, by row key. */
  private readonly exported = new Map<string, Map<string, Set<Content>>>()
  /** Withdrawals that a person was notified of before. */
  private readonly reported = new Set<Entry>()
  /** Rules of slots for results in lists. */
  private readonly listed = new Set<string>()
  /** Records that repeat an earlier record of the chunk. */
  private readonly repeated = new Set<Entry>()
  /** First record heard of each row key. */
  private readonly firstOf = new Map<string, Entry>()
  private readonly renamed: RenamedRule[] = []
  /** Outcomes learned last: of one row behind those of the other. */
  private learned: readonly EntryOutcome[] = []

  constructor(memory: Memory, entries: readonly Entry[], speaks: Speaks, suspicion: Suspicion) {
    this.memory = memory
    this.entries = entries
    this.speaks = speaks
    this.suspicion = suspicion
    this.usual = usualRows(entries, memory, suspicion, speaks.arrival)
  }

  /** Learns the words of entries before any is decided; skips usual rows. */
  hear(entries: readonly Entry[], withdrawn: readonly WithdrawnEntry[]): void {
    const keys = new Set(withdrawn.map(({ rowKey }) => rowKey))
    const unusual = entries.filter(({ place, rowKey }) => this.usual[place] === undefined || keys.has(rowKey))
    this.hearAll([...unusual, ...withdrawn].sort((a, b) => a.row.row - b.row.row))
  }

  /** Learns the words of usual rows with an unusual record. @param some of their records */
  hearRowsOf(some: readonly Entry[]): void {
    if (some.length === 0) return
    const keys = new Set(some.flatMap((entry) => (this.usualOf(entry) === undefined ? [] : [entry.rowKey])))
    this.hearAll(this.entries.filter(({ rowKey }) => keys.has(rowKey)))
  }

  private hearAll(heard: readonly Entry[]): void {
    for (const entry of heard) {
      const rules = this.exported.get(entry.rowKey) ?? new Map<string, Set<Content>>()
      this.exported.set(entry.rowKey, rules)
      const contents = rules.get(entry.ruleHash) ?? new Set()
      if (contents.has(contentOf(entry))) this.repeated.add(entry)
      rules.set(entry.ruleHash, contents.add(contentOf(entry)))
      if (!this.firstOf.has(entry.rowKey)) this.firstOf.set(entry.rowKey, entry)
      if (entry.frame.listedAs !== undefined) this.listed.add(entry.ruleHash)
    }
    for (const entry of heard) {
      const slot = this.takeOver(entry)
      const incoming = this.incomingOf(entry)
      const { latest } = slot.now
      // A withdrawal that this chunk brings, and repeats, is one that nobody was notified of.
      const wasWithdrawn = latest?.content === WITHDRAWN && latest.isNews !== true
      if (incoming.content === WITHDRAWN && wasWithdrawn) this.reported.add(entry)
      slot.now = learn(slot.now, { what: 'exported', incoming })
    }
  }

  get isAgain(): boolean {
    return this.speaks.isAgain
  }

  /** True for a record whose row key was known, or appeared earlier, with different content. */
  isCorrection(entry: Entry): boolean {
    const { rowKey, row } = entry
    if (this.usualOf(entry) === 'new' || this.repeated.has(entry)) return false
    const first = this.firstOf.get(rowKey)
    if (first !== undefined && first.row.row !== row.row) return true
    const known = this.memory.delivered.get(rowKey)
    return known?.some(({ word }) => word.isStored) === true
  }

  /** Verdict on the row of the entry; undefined where each record is decided by itself. */
  usualOf(entry: Entry): 'new' | 'known' | undefined {
    return this.exported.size > 0 && this.exported.has(entry.rowKey) ? undefined : this.usual[entry.place]
  }

  /** True for a stored record, or a record superseded by a newer word. */
  isSettled(entry: Entry): boolean {
    const usual = this.usualOf(entry)
    if (usual !== undefined) return usual === 'known'
    const slot = this.of(entry)
    return slot.stored === entry.content || slot.latest?.content !== entry.content
  }

  /** True where the ledger has the record, and so its receipt: a look that finds it there gives no other. */
  isStored(entry: Entry): boolean {
    return this.usualOf(entry) === 'known' || this.of(entry).stored === entry.content
  }

  /** True for a record in doubt that an earlier process has seen in the profile. */
  wasShown({ kind, rowKey, content }: Entry): boolean {
    const isShown = (one: HeldDoubt): boolean => one.content === content && one.sentUntil === 0
    return kind !== 'careTeam' && this.memory.held.get(rowKey)?.some(isShown) === true
  }

  /** True for a record that is not stored, or that a later word of the row corrects. */
  isReplaced(entry: Entry): boolean {
    if (this.usualOf(entry) !== undefined) return false
    return !this.isStored(entry) || this.of(entry).latest?.content !== entry.content
  }

  of(entry: Entry): Slot {
    const { now } = this.remembered(entry)
    // A list shows an account's care teams as a whole: each doubt is separate.
    if (entry.kind !== 'careTeam' || now.doubts.length === 0) return now
    return { ...now, doubts: now.doubts.filter(({ content }) => content === entry.content) }
  }

  /** Slot before the chunk. */
  before(entry: Entry): Slot {
    return this.remembered(entry).before
  }

  incomingOf(entry: Entry): Incoming {
    const { arrival, isAgain, isBackfill, isRenewed } = this.speaks
    const { rank, issued } = entry
    const word = { arrival, row: entry.row.row, rank, issued }
    return { content: contentOf(entry), place: this.placeOf(word), isLate: isAgain || isBackfill, isRenewed }
  }

  /** True for a record repeated and stored under another rule of its row. */
  isTwin(entry: Entry): boolean {
    const content = contentOf(entry)
    const rules = this.exported.get(entry.rowKey) ?? new Map<string, ReadonlySet<Content>>()
    return [...rules].some(
      ([rule, contents]) =>
        rule !== entry.ruleHash &&
        contents.has(content) &&
        this.rowOf(entry.rowKey).get(rule)?.now.stored === content,
    )
  }

  /** True where the entry's rule had another name meanwhile, under which the content may have been sent. @param start first digits of the content */
  isOfOtherName(entry: Entry, start: string): boolean {
    const rules = this.exported.get(entry.rowKey)
    return (
      this.of(entry).isLapsed &&
      [...this.rowOf(entry.rowKey)].some(
        ([rule, { now }]) =>
          rules?.has(rule) !== true &&
          [now.stored, ...now.doubts.map(({ content }) => content)].some((one) => one?.startsWith(start)),
      )
    )
  }

  /** True for a withdrawal that a person was notified of before. */
  isReported(entry: Entry): boolean {
    return this.reported.has(entry)
  }

  learn(entry: Entry, event: SlotEvent): void {
    const slot = this.remembered(entry)
    slot.now = learn(slot.now, event)
  }

  /**
   * Learns outcomes.
   * @param outcomes in the order of the chunk; for new rows the whole chunk at once
   * @param isBefore true for an outcome from before the ledger came under suspicion
   */
  learnOutcomes(outcomes: readonly EntryOutcome[], isBefore: (outcome: EntryOutcome) => boolean): void {
    this.learned = outcomes
    for (let at = 0; at < outcomes.length; at++) {
      const one = outcomes[at]
      if (one === undefined || this.usualOf(one.entry) !== undefined) continue
      this.learnOutcome(one, isBefore(one))
    }
  }

  private learnOutcome(one: EntryOutcome, isEarlier: boolean): void {
    const { entry } = one
    const event = eventOf(one, isEarlier)
    if (event === undefined) return
    // Sent again without success, a record stays in doubt.
    if ('batchId' in one && one.batchId !== null)
      this.learn(entry, { what: 'sending', content: entry.content })
    this.learn(entry, event)
  }

  /** Collects the rows and ended doubts to save in the ledger. */
  toKeep(): LearnedSlots {
    const plain = [...this.plainRows(), ...this.printedRows()]
    const others = [...this.rows].flatMap(([rowKey, slots]) => this.keptRow(rowKey, slots) ?? [])
    const slots = [...this.rows.values()].flatMap((row) => [...row.values()])
    return {
      delivered: [...plain, ...others],
      ended: endedDoubts(slots),
      renamed: this.renamed,
      ...this.undelivered(slots),
    }
  }

  /** Rows known as a whole, under another print or none. */
  private printedRows(): DeliveredRow[] {
    const { prints, delivered } = this.memory
    if (prints === undefined) return []
    const printed: DeliveredRow[] = []
    let last: MappedRow | undefined
    for (const entry of this.entries) {
      const { row, rowKey } = entry
      if (row === last) continue
      last = row
      if (this.usualOf(entry) !== 'known') continue
      const [records, before, print] = [delivered.get(rowKey), prints.get(rowKey), this.printOf(row)]
      if (records === undefined || print === undefined) continue
      if (before === undefined || !hasSameContent(before, print)) printed.push({ rowKey, records, print })
    }
    return printed
  }

  private printOf(row: MappedRow): RowPrint | undefined {
    return printOf(row, this.speaks.hashOf)
  }

  private undelivered(slots: readonly Remembered[]): Pick<LearnedSlots, 'asked' | 'outdated'> {
    const asked = new Set<string>()
    const outdated = new Set<string>()
    for (const doubts of this.memory.held.values())
      for (const { content, sentUntil } of doubts) if (sentUntil !== null) asked.add(content)
    for (const { before, now } of slots) {
      const { content } = before.latest ?? {}
      if (content === undefined || content === before.stored) continue
      if (before.doubts.some((one) => one.content === content)) continue
      const isLatest = now.latest?.content === content
      ;(isLatest ? asked : outdated).add(content)
    }
    return { asked, outdated }
  }

  /** Rows of new keys, each nearly always accepted as a whole. */
  private plainRows(): RowToSave[] {
    const { learned } = this
    const rows: RowToSave[] = []
    for (let from = 0, to = 0; from < learned.length; from = to) {
      const first = learned[from]?.entry
      while (to < learned.length && learned[to]?.entry.row === first?.row) to++
      if (first === undefined || this.usualOf(first) !== 'new') continue
      const kept = this.plainRow(first, from, to)
      if (kept === undefined) this.hearApart(learned.slice(from, to))
      else rows.push(kept)
    }
    return rows
  }

  /** Row of a new key; undefined where not all of it was accepted alike. @param to behind its last outcome */
  private plainRow(first: Entry, from: number, to: number): RowToSave | undefined {
    for (let at = from; at < to; at++) {
      const one = this.learned[at]
      if (one?.outcome !== 'accepted' || !isAsNew(one.entry, first)) return undefined
    }
    const { arrival, isAgain, isBackfill } = this.speaks
    const { copy } = this.suspicion
    const { row, rowKey, rank, issued } = first
    const word: KeptWord = {
      arrival,
      row: row.row,
      rank,
      issued,
      isLate: isAgain || isBackfill,
      isStored: true,
      isLapsed: false,
      seen: 'whole',
      copy,
    }
    if (to - from < row.records.length)
      return { rowKey, records: this.learned.slice(from, to).map(({ entry }) => entry), word }
    const { records } = row
    const print = word.isLate ? undefined : this.printOf(row)
    return print === undefined ? { rowKey, records, word } : { rowKey, records, word, print }
  }

  /** Learns the outcomes of a row record by record. */
  private hearApart(outcomes: readonly EntryOutcome[]): void {
    this.hearAll(outcomes.map(({ entry }) => entry))
    for (const one of outcomes) this.learnOutcome(one, false)
  }

  private keptRow(rowKey: string, slots: RowSlots): DeliveredRow | undefined {
    const rules = this.exported.get(rowKey)
    if (rules !== undefined) lapseAbsent(slots, rules, this.listed)
    if (![...slots.values()].some(({ before, now }) => isWorthWriting(before, now))) return undefined
    const { copy } = this.suspicion
    const now = this.firstOf.get(rowKey)?.rowKey ?? rowKey
    // The person was forgotten meanwhile: the new key has no facts of the former account.
    const kept =
      now === rowKey ? [...slots] : [...slots].filter(([, one]) => one.now.stored !== one.before.stored)
    const records = kept.flatMap(([rule, one]) => keptSlot(rule, one.now, copy) ?? [])
    return records.length === 0 ? undefined : { rowKey: now, records }
  }

  /** Slot of an entry; takes over the slot of the rule's former name. */
  private takeOver(entry: Entry): Remembered {
    const { rowKey, ruleHash } = entry
    const slots = this.rowOf(rowKey)
    const slot = this.remembered(entry)
    const rules = this.exported.get(rowKey)
    const others = [...slots].flatMap(([rule, { now }]) =>
      rules?.has(rule) === true ? [] : [{ ...now, rule }],
    )
    const taken = takeOver(slot.now, contentOf(entry), others)
    if (taken === undefined) return slot
    const { rule: from, doubts } = taken.from
    const { before: former, now: left } = slots.get(from) ?? { before: EMPTY, now: EMPTY }
    if (taken.isWhole) slots.delete(from)
    else slots.set(from, { before: { ...former, doubts: [] }, now: { ...left, doubts: [] } })
    if (doubts.length > 0) this.renamed.push({ rowKey, from, to: ruleHash })
    const before = { ...slot.before, doubts: [...slot.before.doubts, ...former.doubts] }
    const renamed = { before, now: taken.slot }
    slots.set(ruleHash, renamed)
    return renamed
  }

  private remembered({ rowKey, ruleHash }: Entry): Remembered {
    const slots = this.rowOf(rowKey)
    const known = slots.get(ruleHash) ?? { before: EMPTY, now: EMPTY }
    slots.set(ruleHash, known)
    return known
  }

  private rowOf(rowKey: string): RowSlots {
    const known = this.rows.get(rowKey)
    if (known !== undefined) return known
    const kept = this.memory.delivered.get(rowKey) ?? NOTHING_KNOWN
    const held = Map.groupBy(this.memory.held.get(rowKey) ?? NOTHING_KNOWN, ({ rule }) => rule)
    const slots: RowSlots = new Map()
    for (const record of kept) {
      const { copy } = this.suspicion
      const slot = slotOf(record, held.get(record.ruleHash) ?? [], copy, (word) => this.placeOf(word))
      slots.set(record.ruleHash, { before: slot, now: slot })
    }
    for (const [rule, doubts] of held) {
      if (slots.has(rule)) continue
      const slot = { ...EMPTY, doubts: doubts.map(doubtOf) }
      slots.set(rule, { before: slot, now: slot })
    }
    this.rows.set(rowKey, slots)
    return slots
  }

  private placeOf(word: Pick<Place, 'arrival' | 'row' | 'rank' | 'issued'>): Place {
    return placeOf(this.speaks.orders, word)
  }
}

const isAsNew = (one: Entry, other: Entry): boolean => one.rank === other.rank && one.issued === other.issued

const contentOf = (entry: Entry): Content => (entry instanceof WithdrawnEntry ? WITHDRAWN : entry.content)

/** Event of an outcome; undefined where nothing is learned. */
function eventOf(one: EntryOutcome, isEarlier: boolean): SlotEvent | undefined {
  const { content } = one.entry
  switch (one.outcome) {
    case 'accepted':
      return { what: isEarlier ? 'accepted before' : 'accepted', content }
    case 'unchanged':
      return one.found === true ? { what: 'shown', content } : undefined
    case 'rejected':
      return one.batchId === null ? undefined : { what: 'refused', content }
    case 'in-doubt':
      if (one.isBehind) return undefined
      return { what: one.isAsked ? 'unreadable' : 'hidden', content, isSuspect: true }
  }
}

/**
 * @returns the print of a row whose records are all stored; undefined for a row of which more must be known than its slots: left-out or rejected parts,
 * warnings, care teams, and records with a place of their own in time
 */
function printOf(
  { source, records, rejected, leftOut, warnings, withdrawn }: MappedRow,
  hashOf: CellsHash,
): RowPrint | undefined {
  if (source.kind !== 'cells' || withdrawn !== undefined) return undefined
  if (rejected.length + leftOut.length + warnings.length > 0) return undefined
  let biometrics = 0
  let conditions = 0
  for (const { kind, rank, issued } of records) {
    if (rank > FINAL || issued !== 0) return undefined
    if (kind === 'biometric') biometrics++
    else if (kind === 'condition') conditions++
    else return undefined
  }
  return { biometrics, conditions, ...hashOf(source.cells) }
}

/** Slots and doubts in the ledger, by row key. */
interface Memory {
  readonly delivered: ReadonlyMap<string, readonly KeptSlot[]>
  readonly held: ReadonlyMap<string, readonly HeldDoubt[]>
  /** Prints, where rows are recognised by prints. */
  readonly prints?: ReadonlyMap<string, RowPrint> | undefined
}

/** Most records of a usual row; larger rows are decided record by record. */
const MOST_OF_A_ROW = 40

/** Finds the usual rows. A row key on two rows, two records of equal content, or a doubt make a row unusual. */
function usualRows(
  entries: readonly Entry[],
  { delivered, held }: Memory,
  suspicion: Suspicion,
  arrival: number,
): readonly ('new' | 'known' | undefined)[] {
  // An array that grows from its end would become a hash table.
  const verdicts = new Array<'new' | 'known' | undefined>((entries.at(-1)?.place ?? -1) + 1)
  const rows = new Map<string, MappedRow | undefined>()
  /** Places of the first entries of rows. */
  const starts: number[] = []
  let last: MappedRow | undefined
  for (let at = 0; at < entries.length; at++) {
    const { row, rowKey = '' } = entries[at] ?? {}
    if (row === last) continue
    last = row
    starts.push(at)
    if (!rows.has(rowKey)) rows.set(rowKey, row)
    else if (rows.get(rowKey) !== row) rows.set(rowKey, undefined)
  }
  for (let nth = 0; nth < starts.length; nth++) {
    const { [nth]: from = 0, [nth + 1]: to = entries.length } = starts
    const { row, rowKey = '' } = entries[from] ?? {}
    if (rows.get(rowKey) !== row || held.has(rowKey) || !areDistinct(entries, from, to)) continue
    const known = delivered.get(rowKey)
    const isUsual =
      known === undefined
        ? suspicion.until === undefined ||
          !entries.slice(from, to).some((entry) => isSuspect(suspicion, entry))
        : known.length === to - from &&
          known.every((one, at) => isOf(one, entries[from + at], suspicion, arrival))
    if (!isUsual) continue
    for (let at = from; at < to; at++)
      verdicts[entries[at]?.place ?? 0] = known === undefined ? 'new' : 'known'
  }
  return verdicts
}

/** True for a record whose sending may be missing from a copied ledger. */
export const isSuspect = ({ until }: Suspicion, { observedAt }: Entry): boolean =>
  until !== undefined && observedAt <= until + DATE_ONLY_MS

/** True for a stored record with the last word, whose place needs no update (`isWorthWriting`). */
const isOf = (
  { ruleHash, first, last, word, latest }: KeptSlot,
  entry: Entry | undefined,
  { until, copy }: Suspicion,
  arrival: number,
): boolean =>
  entry !== undefined &&
  ruleHash === entry.ruleHash &&
  hasSameContent({ first, last }, entry) &&
  latest === undefined &&
  word.isStored &&
  !word.isLate &&
  !word.isLapsed &&
  word.rank === entry.rank &&
  (word.arrival === arrival ? word.issued >= entry.issued : entry.issued === 0 && entry.rank <= FINAL) &&
  (until === undefined || (word.seen !== 'nothing' && word.copy === copy))

const isAlike = (one: Entry | undefined, other: Entry | undefined): boolean =>
  one === undefined || other === undefined || hasSameContent(one, other) || one.ruleHash === other.ruleHash

/** True where no two records share content or rule. */
function areDistinct(entries: readonly Entry[], from: number, to: number): boolean {
  if (to - from > MOST_OF_A_ROW) return false
  for (let one = from; one < to; one++)
    for (let other = one + 1; other < to; other++) if (isAlike(entries[one], entries[other])) return false
  return true
}
