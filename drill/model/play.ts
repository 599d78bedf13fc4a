/**
 * Plays a history through `decide` and `learn`, against a small gateway. Laws:
 *
 * 1. Nothing is stored while it stands, but what a person has told to send again.
 * 2. In the end the gateway has what the newest export says, or a run has said why not (`excuseOf`, each counted).
 * 3. Each line of a run that ended has one outcome.
 * 4. What is called accepted or unchanged is at the gateway.
 * 5. Nothing newer is stored while a look may still decide on an older record of the job, of its visit or of one before, but on a person's order.
 * 6. In the end a record is in doubt, or waits, only where a request for its visit has had no answer since the last one that had, or where
 *    the ledger is under suspicion.
 */
import {
  type Content,
  type Doubt,
  decide,
  EMPTY,
  type Incoming,
  isOpen,
  type Slot,
  WITHDRAWN,
} from '../../src/load/decide.ts'
import { keptSlot, learnKept, placeOf, slotOf } from '../../src/load/kept-slots.ts'
import { isWorthWriting, lapseAbsent, learn, type SlotEvent, takeOver } from '../../src/load/learn.ts'
import { FOREIGN, Gateway } from './gateway.ts'
import { dayOfName, type History, JOBS, type Line, VISITS, visitOf } from './history.ts'
import { placeOfExport } from './place.ts'

export class Violation extends Error {}
/** The process ends: by a kill, or since it does not get on. */
class Killed extends Error {}

const CHUNK = 2
const TRIES = 3
/** Names of the one rule. */
const RULES = ['a', 'b'] as const

type Outcome = 'accepted' | 'rejected' | 'unchanged' | 'outdated' | 'nothing' | 'withdrawn' | 'hold' | 'wait'

interface File {
  readonly job: number
  readonly name: string
  readonly day: number | undefined
  readonly isBackfill: boolean
  readonly lines: readonly Line[]
  /** Files of one name and the same bytes are one delivery. */
  readonly delivery: string
  /** Rows that a person has corrected in a rejects file; undefined for a whole file. */
  readonly corrected?: readonly number[]
}

interface Reading {
  readonly file: File
  readonly arrival: number
  readonly anchor: number
  readonly mapping: string
}

interface Intent {
  readonly row: number
  readonly slot: string
  readonly content: Content
  state: 'sending' | 'accepted' | 'accepted before' | 'refused'
}

interface OpenExport extends Omit<Reading, 'mapping'> {
  readonly mapping: string
  readonly isRenewed: boolean
  readonly isLate: boolean
  at: number
  intents: Intent[]
}

/** What a ledger keeps of a job. */
interface Memory {
  slots: Map<string, Slot>
  readings: Reading[]
  /** Exports of runs that were given up, which keep their places. */
  left: Omit<Reading, 'mapping'>[]
  open: OpenExport | undefined
}

interface Ledger {
  /** By job. */
  readonly jobs: readonly Memory[]
  nextArrival: number
  /** Account id of the person; undefined until they are registered. */
  accountId: number | undefined
  /** Times that the account of the person was forgotten: from each on, slots have new keys. */
  forgotten: number
  isSuspect: boolean
}

/** What the newest export says of a visit, by the order in which this ledger has read them. */
interface Newest {
  readonly reading: Pick<Reading, 'file' | 'anchor' | 'arrival'>
  readonly line: Line
  readonly row: number
  readonly content: Content
  readonly rule: string
  /** When it was read. */
  readonly at: number
  /** It repeats what the newest export before it said. */
  readonly isRepetition: boolean
  /** The ledger has the place of a late word. */
  readonly isLate: boolean
  /** It repeats a word that is not late: the ledger keeps the place of that word. */
  readonly isUnwritten: boolean
  /** It is of a row that a person has corrected, read once more by another mapping. */
  readonly isOfCorrected: boolean
}

type Policy = 'hold' | 'look' | 'resend'

export type Counts = Record<string, number>

const freshLedger = (): Ledger => ({
  jobs: Array.from({ length: JOBS }, () => ({ slots: new Map(), readings: [], left: [], open: undefined })),
  nextArrival: 1,
  accountId: undefined,
  forgotten: 0,
  isSuspect: false,
})

export function play({ steps, faults }: History): Counts {
  const world = new World(faults)
  for (const step of steps) world.take(step)
  world.end()
  return world.counts
}

class World {
  readonly counts: Counts = {}
  private readonly gateway = new Gateway()
  private ledger = freshLedger()
  private copy:
    | {
        readonly ledger: Ledger
        readonly newest: Map<number, Newest>
        readonly lost: Set<string>
        readonly undecided: Map<string, Set<Content>>
      }
    | undefined
  private readonly inbox = new Map<string, File>()
  private readonly faults: readonly number[]
  private faultAt = 0
  private policy: Policy = 'hold'
  /** Answers of this night are lost. */
  private isUnanswered = false
  /** The process is killed before it settles its next chunk. */
  private dies = false
  /** The job at work. */
  private job = 0
  private readonly mappings = Array.from({ length: JOBS }, () => 0)
  private readonly rules = Array.from({ length: JOBS }, () => 'a')
  private backfills = 0
  /** What readers of the files would expect, by visit. */
  private newest = new Map<number, Newest>()
  /** Outcome that a run has told last, by delivery and row. */
  private readonly told = new Map<string, Outcome>()
  /** Rows in rejects files, by delivery and row. */
  private readonly rejects = new Set<string>()
  /** What was stored last since the backup, by visit; and what ledgers that are lost have stored last. */
  private sinceCopy = new Map<number, Content>()
  private readonly byLost = new Map<number, Content>()
  private wasForgotten = false
  /** By visit, when something was last sent under one name of the rule while another content stood under the other name. */
  private readonly unlinked = new Map<number, number>()
  /** By slot, when a profile last could not tell, as it was unreadable or showed something newer. */
  private readonly untold = new Map<string, number>()
  /** Number of words read and of records sent. */
  private now = 0
  /** By slot, what may be there without an answer since the last one. */
  private readonly unanswered = new Map<string, Set<Content>>()
  /** By slot, what was sent without an answer, and what no look has decided since. */
  private undecided = new Map<string, Set<Content>>()
  /** Slots of visits that the gateway has lost, and of which no profile was read since. */
  private lost = new Set<string>()
  /** A ledger that knew nothing of the person has met them where a record of others hid all of ours. */
  private isMetBehindOthers = false

  constructor(faults: readonly number[]) {
    this.faults = faults
  }

  private get mapping(): number {
    return this.mappings[this.job] ?? 0
  }

  private get rule(): string {
    return this.rules[this.job] ?? 'a'
  }

  /** What the ledger keeps of the job at work. */
  private get own(): Memory {
    const own = this.ledger.jobs[this.job]
    if (own === undefined) throw new RangeError(`there is no job ${this.job}`)
    return own
  }

  private count(what: string): void {
    this.counts[what] = (this.counts[what] ?? 0) + 1
  }

  private fault(): number {
    return this.faults[this.faultAt++] ?? 0
  }

  take(step: History['steps'][number]): void {
    if ('job' in step) this.job = step.job
    switch (step.what) {
      case 'deliver':
        this.isUnanswered = step.isUnanswered === true
        this.dies = step.dies === true
        this.deliver(step.name, step.lines)
        this.isUnanswered = false
        this.dies = false
        return
      case 'night':
        this.night(step.only === undefined ? undefined : this.nameOf(step.only))
        return
      case 'look':
      case 'resend':
        this.withPolicy(step.what, () => this.night())
        return
      case 'backfill':
        this.backfill(step.day, step.lines)
        return
      case 'read again': {
        const file = this.inbox.get(this.nameOf(step.name))
        if (file !== undefined) this.attempt(() => this.read(file, true))
        return
      }
      case 'give up':
        this.giveUp()
        return
      case 'back up':
        this.sinceCopy = new Map()
        this.copy = structuredClone({
          ...{ ledger: this.ledger, newest: this.newest },
          ...{ lost: this.lost, undecided: this.undecided },
        })
        return
      case 'restore':
        this.restore()
        return
      case 'lose ledger':
      case 'change key':
        this.ledger = freshLedger()
        this.newest = new Map()
        this.undecided = new Map()
        return
      case 'change mapping':
      case 'change mapping back':
        if (this.own.open === undefined) this.mappings[this.job] = step.what === 'change mapping' ? 1 : 0
        return
      case 'rename rule':
        if (this.own.open === undefined) this.rules[this.job] = this.rule === 'a' ? 'b' : 'a'
        return
      case 'reconcile':
      case 'accept':
        this.settleDoubts(step.what)
        return
      case 'correct rejects':
        this.attempt(() => this.correctRejects(this.nameOf(step.name), step.lines))
        return
      case 'archive': {
        const name = this.nameOf(step.name)
        if (
          this.own.open?.file.name !== name &&
          this.own.readings.some(({ file }) => file === this.inbox.get(name))
        )
          this.inbox.delete(name)
        return
      }
      case 'erase person':
        this.erase()
        return
      case 'reissue account':
        this.erase()
        this.gateway.store(1, FOREIGN)
        return
      case 'other job registers':
        this.gateway.isRegistered = true
        return
      case 'lose records':
        for (const visit of this.gateway.lose())
          for (const rule of RULES)
            for (const lost of [this.lost, this.copy?.lost]) lost?.add(this.keyOf(visit, rule))
        return
    }
  }

  private nameOf(name: number): string {
    return `job ${this.job} name ${name}`
  }

  private fileOf(file: Omit<File, 'job' | 'delivery'>): File {
    const { job } = this
    const lines = file.lines.map((line) => ({ ...line, visit: visitOf(job, line) }))
    return { ...file, job, lines, delivery: `${file.name} ${JSON.stringify(lines)}` }
  }

  private deliver(name: number, lines: readonly Line[]): void {
    const file = this.fileOf({ name: this.nameOf(name), day: dayOfName(name), isBackfill: false, lines })
    this.inbox.set(file.name, file)
    this.night()
  }

  private backfill(day: number | undefined, lines: readonly Line[]): void {
    const file = this.fileOf({ name: `old ${this.backfills++}`, day, isBackfill: true, lines })
    this.attempt(() => this.read(file, true))
  }

  private withPolicy(policy: Policy, work: () => void): void {
    this.policy = policy
    work()
    this.policy = 'hold'
  }

  private night(only?: string): void {
    this.attempt(() => {
      for (const [name, file] of [...this.inbox].sort(([a], [b]) => (a < b ? -1 : 1)))
        if (file.job === this.job && (only === undefined || only === name)) this.read(file, false)
    })
  }

  /** What was left open goes first. */
  private attempt(work: () => void): void {
    try {
      if (this.own.open !== undefined) this.goOn(this.own.open)
      work()
    } catch (error) {
      if (!(error instanceof Killed)) throw error
      this.count('killed')
    }
  }

  /** Intents are learned at once, with their slots: no other memory of a run that was given up is kept. */
  private giveUp(): void {
    const { own } = this
    const { open } = own
    if (open === undefined) return
    const sent = open.intents.flatMap((intent) => {
      const line = open.file.lines[intent.row]
      return line === undefined || intent.state === 'refused' ? [] : [{ ...intent, line }]
    })
    for (const [visit, ofRow] of Map.groupBy(sent, ({ line }) => line.visit)) {
      const events = ofRow.flatMap(({ row, slot, content, state, line }): [string, SlotEvent][] => {
        const rule = slot[1] ?? ''
        const incoming = { ...this.incomingOf(open, row, line), isLate: true, isRenewed: true }
        const what = state === 'sending' ? state : 'accepted before'
        return [
          [rule, { what: 'exported', incoming }],
          [rule, { what, content }],
        ]
      })
      this.learnOutside(visit, events, true)
      for (const [at, { slot, content, state }] of ofRow.entries()) {
        const isOver = ofRow.some((one, other) => other > at && one.slot === slot && one.state !== 'sending')
        if (state !== 'sending') this.undecided.delete(slot)
        else if (!isOver) {
          this.tell(slot, { what: 'sending', content })
          const learned = this.slot(slot)
          own.slots.set(slot, { ...learned, doubts: learned.doubts.map(keptDoubt) })
        }
      }
    }
    for (const row of open.file.lines.keys()) this.told.set(`${open.file.delivery} ${row}`, 'rejected')
    own.left = [...own.left, open]
    own.open = undefined
  }

  /** A look at the profiles of what is in doubt, or a person's word; each doubt by itself, as the ledger has it. */
  private settleDoubts(what: 'reconcile' | 'accept'): void {
    const { own, gateway, ledger } = this
    if (own.open !== undefined || ledger.accountId !== gateway.accountId) return
    for (const [key, { doubts }] of [...own.slots]) {
      if (key.slice(2) !== String(ledger.forgotten)) continue
      const visit = Number(key[0])
      for (const { content } of doubts) {
        const verdict =
          what === 'reconcile'
            ? this.fault() % 5 === 1
              ? 'unreadable'
              : verdictOf(gateway, visit, content)
            : gateway.last(visit) === content
              ? 'accept'
              : 'hidden'
        this.count(`${what}: ${verdict}`)
        if (verdict === 'shown' || verdict === 'accept') {
          const event = { what: verdict === 'shown' ? verdict : ('accepted before' as const), content }
          this.learnOutside(visit, [[key[1] ?? '', event]])
          this.undecided.delete(key)
        } else if (verdict !== 'absent') continue
        this.undecided.get(key)?.delete(content)
        const slot = this.slot(key)
        own.slots.set(key, { ...slot, doubts: slot.doubts.filter((one) => one.content !== content) })
      }
    }
  }

  /** Events outside of chunks, for all slots of a visit. Of its doubts those end that the events end, or bring. */
  private learnOutside(
    visit: number,
    events: readonly (readonly [string, SlotEvent])[],
    isOfRun = false,
  ): void {
    for (const [rule, { what }] of events)
      if (what === 'shown' || what === 'accepted before') this.noteUnlinked(this.keyOf(visit, rule), visit)
    const { slots } = this.own
    const placed = this.placed()
    const kept = RULES.flatMap((rule) => keptSlot(rule, this.slot(this.keyOf(visit, rule)), COPY) ?? [])
    const held = RULES.flatMap((rule) => {
      const { doubts } = this.slot(this.keyOf(visit, rule))
      return doubts.map(({ content, state }) => ({
        rule,
        content,
        isOpen: isOpen({ content, state }),
        sentUntil: state === 'sent' ? 0 : null,
      }))
    })
    const { records, ended } = learnKept({ kept, held: isOfRun ? held : [] }, events, placed)
    for (const one of records) {
      const key = this.keyOf(visit, one.ruleHash)
      const doubts = this.slot(key).doubts.filter(
        ({ content }) =>
          !ended.has(content) &&
          !events.some(([, event]) => event.what === 'accepted before' && event.content === content),
      )
      slots.set(key, { ...slotOf(one, [], COPY, placed), doubts })
    }
  }

  /** Places by the number of an export, as the ledger has them. */
  private placed() {
    const { readings, left, open } = this.own
    const orders = new Map(
      [...readings, ...left, ...(open === undefined ? [] : [open])].map(({ arrival, anchor, file }) => [
        arrival,
        { anchor, day: dayOf(anchor, arrival, file) },
      ]),
    )
    return (word: Parameters<typeof placeOf>[1]) => placeOf(orders, word)
  }

  private restore(): void {
    if (this.copy === undefined) return
    const { ledger, newest, lost, undecided } = structuredClone(this.copy)
    for (const own of ledger.jobs) {
      for (const [key, slot] of own.slots) own.slots.set(key, { ...slot, seen: 'nothing' as const })
      for (const intent of own.open?.intents ?? [])
        if (intent.state === 'accepted') intent.state = 'accepted before'
    }
    this.ledger = { ...ledger, isSuspect: true }
    this.newest = newest
    this.lost = lost
    this.undecided = undecided
    for (const [visit, content] of this.sinceCopy) this.byLost.set(visit, content)
    this.sinceCopy = new Map()
  }

  private erase(): void {
    const { ledger } = this
    this.gateway.empty()
    this.forget()
    for (const own of ledger.jobs) own.open = undefined
    // A ledger restored later knows words of before, which nobody wants at the gateway any more.
    this.newest = new Map()
    if (this.copy !== undefined) this.copy = { ...this.copy, newest: new Map() }
  }

  /** Forgets the account: what was delivered to it counts no more. */
  private forget(): void {
    this.wasForgotten = true
    this.ledger.forgotten++
    this.ledger.accountId = undefined
  }

  private tell(key: string, event: SlotEvent): void {
    this.own.slots.set(key, learn(this.slot(key), event))
  }

  private slot(key: string): Slot {
    return this.own.slots.get(key) ?? EMPTY
  }

  private keyOf(visit: number, rule = this.rule): string {
    return `${visit}${rule}${this.ledger.forgotten}`
  }

  /** Another content for each job: values of two jobs are never one record. */
  private contentOf({ value }: Line): Content {
    if (value === 0) return WITHDRAWN
    return [String(value).padStart(8, '0'), this.job, this.mapping]
      .map((one) => String(one).padStart(4, '0'))
      .join('')
  }

  private incomingOf(open: OpenExport, row: number, line: Line): Incoming {
    const { arrival, anchor, isLate, isRenewed, file } = open
    const place = {
      anchor,
      day: dayOf(anchor, arrival, file),
      arrival,
      rank: line.rank,
      issued: line.issued,
      row,
    }
    return { content: this.contentOf(line), place, isLate, isRenewed }
  }

  private read(file: File, isBackfill: boolean): void {
    const { ledger, own } = this
    if (own.open !== undefined) return
    const named = own.readings.filter((one) => one.file.name === file.name)
    const known = named.findLast((one) => one.file.delivery === file.delivery)
    // A name that shows other bytes than when it was read last has a new word.
    const speaksAgain = isBackfill
      ? known
      : named.at(-1)?.file.delivery === file.delivery
        ? named.at(-1)
        : undefined
    const arrival = speaksAgain?.arrival ?? ledger.nextArrival++
    const nights = own.readings.filter((one) => !one.file.isBackfill)
    const anchor =
      speaksAgain?.anchor ?? (file.isBackfill ? placeOfExport(file.day, nights.map(asNight)) : arrival)
    const mapping = `${this.mapping}${this.rule}`
    own.open = {
      ...{ file, arrival, anchor, mapping, at: 0, intents: [] },
      isRenewed: speaksAgain !== undefined && known?.mapping !== mapping,
      isLate: known !== undefined || isBackfill,
    }
    this.goOn(own.open)
  }

  /** A person corrects the rejected rows of the file that was read last under a name, and runs the rejects file: the rows keep their places. */
  private correctRejects(name: string, corrections: readonly Line[]): void {
    const { own } = this
    const reading = own.readings.findLast(({ file }) => file.name === name)
    if (reading === undefined || own.open !== undefined) return
    const { file, arrival, anchor } = reading
    const corrected = [...file.lines.keys()].filter((row) => this.rejects.has(`${file.delivery} ${row}`))
    if (corrected.length === 0) return
    const lines = file.lines.map((line, row) => {
      const at = corrected.indexOf(row)
      const correction = corrections[at % corrections.length]
      return at < 0 || correction === undefined ? line : { ...correction, visit: line.visit }
    })
    const delivery = `${file.delivery} corrected ${JSON.stringify(lines)}`
    this.count('rejects are corrected')
    own.open = {
      ...{ file: { ...file, lines, delivery, corrected }, arrival, anchor, at: 0, intents: [] },
      ...{ mapping: `${this.mapping}${this.rule}`, isRenewed: true, isLate: true },
    }
    this.goOn(own.open)
  }

  private goOn(open: OpenExport): void {
    const { own } = this
    const { lines, corrected, delivery } = open.file
    const all = corrected ?? [...lines.keys()]
    while (open.at < all.length) {
      const rows = all.slice(open.at, open.at + CHUNK).flatMap((row) => {
        const line = lines[row]
        return line === undefined ? [] : [{ row, line }]
      })
      for (const { row, line } of rows) if (line.isUnreadable === true) this.note(open, row, line, 'rejected')
      const mapped = rows.filter(({ line }) => line.isUnreadable !== true)
      for (const { row, line } of mapped) this.expect(open, row, line)
      this.chunk(open, mapped)
      for (const { row } of rows)
        if (!this.told.has(`${delivery} ${row}`)) throw new Violation('law 3: a line has no outcome')
      open.at += rows.length
      if (open.at < all.length && this.fault() % 10 === 7) throw new Killed('between chunks')
    }
    const { file, arrival, anchor, mapping } = open
    if (corrected === undefined) own.readings = [...own.readings, { file, arrival, anchor, mapping }]
    own.open = undefined
  }

  private expect(open: OpenExport, row: number, line: Line): void {
    const before = this.newest.get(line.visit)
    const content = this.contentOf(line)
    const now = {
      reading: open,
      line,
      row,
      content,
      rule: this.rule,
      isRepetition: before?.content === content,
      ...writtenOf(before, content, open.isLate),
      isOfCorrected: false,
      at: ++this.now,
    }
    const order = before === undefined ? 1 : compareNewest(now, before, open.isRenewed)
    // A row that a person has corrected stays so, until the export is mapped otherwise.
    if (order < 0 || (order === 0 && !open.isRenewed && !now.isRepetition)) return
    const isCorrected = order === 0 && before?.reading.file.corrected !== undefined
    // A repetition leaves the place of its row as it was.
    const isOfRejects = isCorrected || open.file.corrected !== undefined
    if (before !== undefined && order === 0 && isOfRejects && now.isRepetition) {
      this.newest.set(line.visit, { ...before, rule: now.rule, at: now.at })
      return
    }
    const isOfCorrected = isCorrected || (order === 0 && before?.isOfCorrected === true)
    this.newest.set(line.visit, structuredClone({ ...now, isOfCorrected }))
  }

  private chunk(open: OpenExport, rows: readonly { readonly row: number; readonly line: Line }[]): void {
    const before = this.own.slots
    const lost = new Set(this.lost)
    const undecided = structuredClone(this.undecided)
    // What is learned is written down when the chunk is settled; a process that is killed leaves its intents alone.
    this.own.slots = new Map(before)
    try {
      this.work(open, rows)
      if (this.dies) throw new Killed('all is written down, and the chunk is not settled')
    } catch (error) {
      this.own.slots = before
      this.lost = lost
      this.undecided = undecided
      this.noteDecided(open.intents)
      throw error
    }
    for (const { line } of rows) this.lapse(line.visit, before)
    const { slots } = this.own
    for (const [key, slot] of before) {
      const now = slots.get(key)
      if (now !== undefined && !isWorthWriting(slot, now)) slots.set(key, slot)
    }
    const placed = this.placed()
    for (const [key, slot] of slots) {
      const kept = keptSlot(key, slot, COPY)
      const doubts = slot.doubts.map(keptDoubt)
      slots.set(key, { ...(kept === undefined ? EMPTY : slotOf(kept, [], COPY, placed)), doubts })
    }
    open.intents = []
  }

  private work(open: OpenExport, rows: readonly { readonly row: number; readonly line: Line }[]): void {
    const refused = new Set<number>()
    for (const { row, line } of rows) {
      const incoming = this.incomingOf(open, row, line)
      this.takeOver(line, incoming)
      this.tell(this.keyOf(line.visit), { what: 'exported', incoming })
    }
    // Behind the words, as in the program: a rule takes over its former slot before it learns what was sent under the new name.
    for (const { row, slot, content, state } of open.intents) {
      this.tell(slot, { what: 'sending', content })
      this.tell(slot, { what: state, content })
      if (state === 'refused') refused.add(row)
    }
    // A slot taken over brings what was undecided before these answers.
    this.noteDecided(open.intents)
    const { forgotten } = this.ledger
    // An older visit goes before a newer one, a line before those below it; nothing more goes to a stale account.
    for (const { row, line } of rows.toSorted((a, b) => a.line.visit - b.line.visit || a.row - b.row))
      if (refused.has(row) || this.ledger.forgotten !== forgotten) this.note(open, row, line, 'rejected')
      else this.settle(open, row, line)
  }

  private takeOver(line: Line, incoming: Incoming): void {
    const { slots } = this.own
    const former = this.otherOf(line.visit)
    const taken = takeOver(this.slot(this.keyOf(line.visit)), incoming.content, [this.slot(former)])
    if (taken === undefined) return
    const moved = this.undecided.get(former) ?? []
    this.undecided.set(this.keyOf(line.visit), this.undecidedOf(this.keyOf(line.visit)).union(new Set(moved)))
    this.undecided.delete(former)
    slots.set(this.keyOf(line.visit), taken.slot)
    if (taken.isWhole) slots.delete(former)
    else slots.set(former, { ...taken.from, doubts: [] })
    if (taken.isWhole && this.lost.delete(former)) this.lost.add(this.keyOf(line.visit))
  }

  /** Where the rule was sent under one name, or may have been, its other name may have stood for it. */
  private lapse(visit: number, before: ReadonlyMap<string, Slot>): void {
    const { slots } = this.own
    const row = new Map(
      RULES.flatMap((rule) => {
        const key = this.keyOf(visit, rule)
        const now = slots.get(key)
        return now === undefined ? [] : [[rule, { key, before: before.get(key) ?? EMPTY, now }] as const]
      }),
    )
    lapseAbsent(row, new Set([this.rule]), new Set())
    for (const { key, now } of row.values()) slots.set(key, now)
  }

  /** Slot of the rule under its other name. */
  private otherOf(visit: number): string {
    return this.keyOf(visit, this.rule === 'a' ? 'b' : 'a')
  }

  /** Decides, acts and learns until the line has an outcome. */
  private settle(open: OpenExport, row: number, line: Line): void {
    const key = this.keyOf(line.visit)
    const incoming = this.incomingOf(open, row, line)
    let isAsked = false
    for (let tries = 0; tries <= 2 * TRIES; tries++) {
      const step = decide(this.slot(key), incoming.content, this.around(line, isAsked))
      this.count(`step: ${step}`)
      const isStale = (step === 'ask' || step === 'send') && this.isStale()
      if (isStale) {
        this.note(open, row, line, 'rejected')
        return
      }
      if (step === 'ask') {
        this.ask(key, line.visit, incoming.content)
        isAsked = true
      } else if (step === 'send') {
        if (this.meets()) continue
        const outcome = this.send(open, row, line)
        if (outcome !== undefined) {
          this.note(open, row, line, outcome)
          return
        }
        isAsked = false
      } else if (step !== 'refuse') {
        this.note(open, row, line, step)
        return
      }
    }
    throw new Killed('patience')
  }

  private around({ visit }: Line, isAsked: boolean) {
    const { ledger } = this
    return {
      isAsked,
      isSuspect: ledger.isSuspect,
      isBehindDoubt: this.isBehindDoubt(visit),
      isTwin: false,
      isReported: false,
      isRefused: false,
      doubts: this.policy,
    }
  }

  /** Whether a look may still decide on an older record of the job, under the account as it is known now. */
  private isBehindDoubt(visit: number): boolean {
    return [...this.own.slots].some(
      ([key, { doubts }]) =>
        Number(key[0]) < visit && key.slice(2) === String(this.ledger.forgotten) && doubts.some(isOpen),
    )
  }

  /** Whether the gateway turns out to know the person, with records that may be ours: then all is decided once more. */
  private meets(): boolean {
    const { ledger, gateway } = this
    if (ledger.accountId !== undefined) return false
    ledger.accountId = gateway.accountId
    if (ledger.isSuspect || !gateway.isRegistered) return false
    if (!gateway.showsOurs()) {
      this.isMetBehindOthers ||= gateway.shown() !== undefined
      return false
    }
    ledger.isSuspect = true
    return true
  }

  /** Whether the account that the ledger knows is gone, as answers say: what was delivered to it counts no more, and a person is told. */
  private isStale(): boolean {
    const { ledger, gateway } = this
    if (ledger.accountId === undefined || ledger.accountId === gateway.accountId) return false
    this.forget()
    return true
  }

  private ask(key: string, visit: number, content: Content): void {
    const { ledger, gateway } = this
    const isSuspect = ledger.isSuspect || this.slot(key).doubts.some((one) => one.content === content)
    const what =
      this.isUnanswered || this.fault() % 5 === 1 ? 'unreadable' : verdictOf(gateway, visit, content)
    this.count(`profile: ${what}`)
    // A run that was given up has sent it.
    if (what === 'shown') this.noteUnlinked(key, visit)
    if (what === 'hidden' || what === 'unreadable') this.untold.set(key, ++this.now)
    else if (what !== 'other' || this.slot(key).stored === content) this.lost.delete(key)
    if (what === 'other') this.undecided.get(key)?.delete(content)
    else if (what !== 'unreadable') this.undecided.delete(key)
    this.tell(key, what === 'absent' ? { what } : { what, content, isSuspect })
  }

  private noteDecided(intents: readonly Intent[]): void {
    for (const { slot, content, state } of intents)
      if (state === 'sending') this.undecided.set(slot, new Set([...this.undecidedOf(slot), content]))
      else if (state === 'refused') this.undecided.get(slot)?.delete(content)
      else this.undecided.delete(slot)
  }

  private undecidedOf(key: string): ReadonlySet<Content> {
    return this.undecided.get(key) ?? new Set()
  }

  /** Content comes into force under one name of the rule, and other content was sent under the other. */
  private noteUnlinked(key: string, visit: number): void {
    const other = this.slot(this.otherOf(visit))
    const { stored, isLapsed } = this.slot(key)
    if ((stored === undefined || isLapsed) && (other.stored !== undefined || other.doubts.length > 0))
      this.unlinked.set(visit, ++this.now)
  }

  /** @returns undefined where nobody knows whether it was stored */
  private send(open: OpenExport, row: number, line: Line): Outcome | undefined {
    const key = this.keyOf(line.visit)
    const content = this.contentOf(line)
    const fault = this.isUnanswered ? 2 : this.fault() % 10
    if (fault === 9) throw new Killed('before the intent is written')
    this.noteUnlinked(key, line.visit)
    const intent: Intent = { row, slot: key, content, state: 'sending' }
    open.intents = [...open.intents, intent]
    this.tell(key, { what: 'sending', content })
    const unanswered = this.unanswered.get(key) ?? new Set()
    const wasUnanswered = unanswered.has(content)
    this.unanswered.set(key, unanswered.add(content))
    const before = this.undecidedOf(key)
    this.undecided.set(key, new Set([...before, content]))
    if (fault === 1) {
      if (!wasUnanswered) unanswered.delete(content)
      intent.state = 'refused'
      this.undecided.get(key)?.delete(content)
      this.tell(key, { what: 'refused', content })
      return 'rejected'
    }
    if (fault === 8) throw new Killed('before its bytes leave')
    if (fault !== 3) this.store(line.visit, content, before)
    if (fault === 4) throw new Killed('stored, and not answered')
    if (fault === 2 || fault === 3) return undefined
    if (fault === 5) throw new Killed('answered, and not written down')
    unanswered.clear()
    this.undecided.delete(key)
    this.lost.delete(key)
    intent.state = 'accepted'
    this.tell(key, { what: 'accepted', content })
    if (fault === 6) throw new Killed('written down, and the chunk is not settled')
    return 'accepted'
  }

  /** @param undecided of its visit, before */
  private store(visit: number, content: Content, undecided: ReadonlySet<Content>): void {
    const { gateway, policy } = this
    if (gateway.last(visit) === content) {
      if (policy === 'resend') this.count('sent again: a person has told so')
      else if (this.isMetBehindOthers) this.count('sent again: a lost ledger, behind a record of others')
      else throw new Violation(`law 1: ${content} is stored while it stands`)
    }
    if (policy !== 'resend' && this.isBehindDoubt(visit))
      throw new Violation(`law 5: ${content} hides an older record that a look may decide`)
    if (policy !== 'resend' && [...undecided].some((one) => one !== content))
      throw new Violation(`law 5: ${content} replaces a record that a look may decide`)
    gateway.store(visit, content)
    this.sinceCopy.set(visit, content)
  }

  private note({ file }: OpenExport, row: number, line: Line, outcome: Outcome): void {
    const content = this.contentOf(line)
    const stored = this.gateway.of(line.visit)
    if (outcome === 'accepted' && !stored.includes(content))
      throw new Violation('law 4: accepted, and not there')
    const isLost = this.lost.has(this.keyOf(line.visit))
    if (outcome === 'unchanged' && content !== WITHDRAWN && !stored.includes(content) && !isLost)
      throw new Violation('law 4: unchanged, and not there')
    if (outcome === 'outdated' && this.slot(this.keyOf(line.visit)).stored === content)
      throw new Violation('law 4: outdated, and known to be there')
    this.told.set(`${file.delivery} ${row}`, outcome)
    if (outcome === 'rejected') this.rejects.add(`${file.delivery} ${row}`)
    else this.rejects.delete(`${file.delivery} ${row}`)
  }

  /** Nothing fails any more; all that lies there is read, looked for, sent again. */
  end(): void {
    this.faultAt = Number.POSITIVE_INFINITY
    const all = (policy: Policy): void => {
      for (this.job = 0; this.job < JOBS; this.job++) this.withPolicy(policy, () => this.night())
    }
    for (const policy of ['hold', 'hold', 'look', 'hold', 'hold'] as const) all(policy)
    this.judge('end')
    for (const policy of ['resend', 'hold'] as const) all(policy)
    this.judge('end, all sent again')
  }

  private judge(when: string): void {
    for (let visit = 0; visit < VISITS * JOBS; visit++) {
      this.job = visit % JOBS
      const wanted = this.newest.get(visit)
      if (wanted === undefined) continue
      if (when === 'end') this.judgeWaiting(visit, wanted)
      const has = this.gateway.last(visit)
      const isThere = has === wanted.content || (wanted.content === WITHDRAWN && has === undefined)
      const why = isThere ? 'right' : this.excuseOf(visit, wanted, when !== 'end')
      this.count(`${when}: ${why ?? 'wrong'}`)
      if (why === undefined)
        throw new Violation(
          `law 2, ${when}: visit ${visit} has ${has}, the newest export says ${wanted.content}; ${JSON.stringify([...this.own.slots])}`,
        )
    }
  }

  private judgeWaiting(visit: number, { reading: { file }, row }: Newest): void {
    if (this.inbox.get(file.name)?.delivery !== file.delivery) return
    const told = this.told.get(`${file.delivery} ${row}`)
    if (told !== 'hold' && told !== 'wait') return
    const { ledger, unlinked } = this
    const unanswered = [...this.unanswered].flatMap(([key, { size }]) => (size > 0 ? [Number(key[0])] : []))
    const isBehind = (other: number): boolean => (told === 'hold' ? other === visit : other <= visit)
    if (ledger.isSuspect || [...unanswered, ...unlinked.keys()].some(isBehind)) return
    throw new Violation(`law 6: visit ${visit} ends with "${told}", and every request for it was answered`)
  }

  /** Why the gateway does not have the newest word, as a run has told it. */
  private excuseOf(visit: number, wanted: Newest, isSentAgain: boolean): string | undefined {
    const { file } = wanted.reading
    if (wanted.content === WITHDRAWN) return 'withdrawn: a person was told'
    // Of words that repeat what was said the place is not written: an older export that says the same is taken for as new, once it is mapped anew.
    const { latest, seen } = this.slotOf(visit, wanted)
    const isOfOther = wanted.isRepetition || latest?.place.arrival !== wanted.reading.arrival
    if (isOfOther && this.gateway.last(visit)?.slice(0, 12) === wanted.content.slice(0, 12))
      return 'the same value, read by another mapping'
    if (RULES.some((rule) => this.lost.has(this.keyOf(visit, rule))))
      return 'the gateway has lost it, and nobody has looked'
    if (wanted.isOfCorrected) return 'a corrected row, and its export is mapped otherwise'
    const lies = this.inbox.get(file.name)?.delivery === file.delivery
    const told = this.told.get(`${file.delivery} ${wanted.row}`)
    if (told === 'rejected') return 'rejected: a person was told'
    if (!isSentAgain || !lies) {
      if (told === 'hold' || told === 'wait') return `${told}: a person was told`
    }
    // Of a repeated withdrawal the place is not written either.
    const isOlder = wanted.reading.arrival < (latest?.place.arrival ?? 0)
    if (latest?.content === WITHDRAWN && (wanted.line.rank === 0 || isOlder))
      return 'a preliminary result behind a withdrawal, until it is final'
    const isOfVisit = (line: Line): boolean => line.visit === visit && line.rank === 0
    if (latest?.content === WITHDRAWN && file.lines.some(isOfVisit))
      return 'a preliminary result, its withdrawal and a final one in one export: each is newer than the one before'
    const isBefore = latest?.place.arrival === wanted.reading.arrival && wanted.row < latest.place.row
    if (isBefore && this.wasForgotten) return 'its person was forgotten in the middle of its export'
    if (wanted.isUnwritten && !lies && latest?.isLate === true)
      return 'a backfill between a word and its repetition, of which nothing is written'
    const has = this.gateway.last(visit)
    const isOfLost = has !== undefined && has === this.byLost.get(visit)
    if (this.wasForgotten && has === undefined && told === 'outdated')
      return 'outdated by a record of the former account, before the account was known to be stale'
    if (isOfLost && seen === 'stored')
      return 'a lost ledger has replaced it behind a newer record, where no read shows it'
    if (isOfLost && !lies) return 'a lost ledger has read it, and nothing says it again'
    const unlinkedAt = this.unlinked.get(visit)
    if (
      unlinkedAt !== undefined &&
      this.isKnown(visit, has) &&
      (unlinkedAt > wanted.at || (this.untold.get(this.keyOf(visit, wanted.rule)) ?? 0) > unlinkedAt)
    )
      return 'the rule has another name and another content: nothing links them'
    if (unlinkedAt !== undefined && wanted.line.rank === 0 && (latest?.place.rank ?? 0) > 0)
      return 'a preliminary result behind a final one under the former name of the rule, which has brought other content meanwhile'
    return undefined
  }

  /** Whether the content is known under a name of the rule; nothing may be there instead of what is in doubt. */
  private isKnown(visit: number, content: Content | undefined): boolean {
    return (
      content === undefined ||
      RULES.some((rule) => {
        const { stored, doubts } = this.slot(this.keyOf(visit, rule))
        return stored === content || doubts.some((one) => one.content === content)
      })
    )
  }

  /** Slot of a word; under the present name of its rule where that has taken it over. */
  private slotOf(visit: number, { rule }: Newest): Slot {
    const slot = this.slot(this.keyOf(visit, rule))
    return slot.latest === undefined ? this.slot(this.keyOf(visit)) : slot
  }
}

/** What the ledger keeps of a doubt. */
const keptDoubt = ({ content, state }: Doubt): Doubt => ({ content, state })

/** Number of the ledger's copy: a restored one has seen nothing (`restore`). */
const COPY = 0

/** Written of a word: nothing where it repeats the newest one before it, unless that was late. */
function writtenOf(
  before: Newest | undefined,
  content: Content,
  isLate: boolean,
): Pick<Newest, 'isLate' | 'isUnwritten'> {
  const isUnwritten = before?.content === content && !before.isLate
  return { isLate: isLate && !isUnwritten, isUnwritten }
}

const asNight = ({ arrival, file }: Reading) => ({ arrival, day: file.day })

const dayOf = (anchor: number, arrival: number, { day }: File): number =>
  anchor === arrival ? 0 : (day ?? 0)

/** Below zero where a line is older than the newest one. */
function compareNewest(one: Newest, newest: Newest, isRenewed: boolean): number {
  const [a, b] = [one.reading, newest.reading]
  if (a.arrival !== b.arrival)
    return (
      Number(one.line.rank > 0) - Number(newest.line.rank > 0) ||
      a.anchor - b.anchor ||
      dayOf(a.anchor, a.arrival, a.file) - dayOf(b.anchor, b.arrival, b.file) ||
      a.arrival - b.arrival
    )
  if (one.row === newest.row) return 0
  if (one.row < newest.row && !isRenewed) return -1
  const isWithdrawal = one.content === WITHDRAWN || newest.content === WITHDRAWN
  return (
    (isWithdrawal ? 0 : one.line.rank - newest.line.rank) ||
    one.line.issued - newest.line.issued ||
    one.row - newest.row
  )
}

function verdictOf(
  gateway: Gateway,
  visit: number,
  content: Content,
): 'shown' | 'absent' | 'hidden' | 'other' {
  const shown = gateway.shown()
  if (shown === undefined || shown.visit < visit) return 'absent'
  if (shown.visit > visit) return 'hidden'
  return shown.content === content ? 'shown' : 'other'
}
