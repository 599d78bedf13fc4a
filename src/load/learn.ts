/** Event that changes the memory of a slot: events are the only way to change a slot. */
import { isDeepStrictEqual } from 'node:util'
import { FINAL } from '../model/entry.ts'
import { type Content, type Doubt, type Incoming, type Slot, WITHDRAWN, type Word } from './decide.ts'

export type SlotEvent =
  /** An export gives the word. All lines of a chunk are learned before any is decided. */
  | { what: 'exported'; incoming: Incoming }
  /** The bytes of the content may have left. */
  | { what: 'sending'; content: Content }
  | { what: 'accepted' | 'refused'; content: Content }
  /** The gateway had taken the content before the ledger came under suspicion: a later record may have replaced it. */
  | { what: 'accepted before'; content: Content }
  /** The profile shows the content, or another rule of the row has brought it. */
  | { what: 'shown'; content: Content }
  /** The profile shows nothing of the slot, and nothing that would hide the slot. */
  | { what: 'absent' }
  /**
   * The profile, asked for the content, shows another record of the instant, shows a newer record, or is unreadable. `isSuspect`: the content may
   * have been sent.
   */
  | {
      readonly what: 'other' | 'hidden' | 'unreadable'
      readonly content: Content
      readonly isSuspect: boolean
    }
  /** Another rule of the row was sent, and the row lacks this rule. */
  | { what: 'lapsed' }

const SEEN = { seen: 'whole', isLapsed: false } as const

export function learn(slot: Slot, event: SlotEvent): Slot {
  switch (event.what) {
    case 'exported':
      return learnExported(slot, event.incoming)
    case 'sending':
      return sending(slot, event.content)
    // The record was sent behind all records in doubt, and supersedes them.
    case 'accepted':
      return { ...slot, stored: event.content, doubts: [], ...SEEN }
    case 'accepted before':
      return { ...slot, stored: event.content, doubts: [], seen: 'nothing', isLapsed: false }
    // Content in doubt before may be stored all the same.
    case 'refused':
      return {
        ...slot,
        doubts: slot.doubts.flatMap((one) =>
          one.content !== event.content ? [one] : one.isAgain ? [hide(one)] : [],
        ),
      }
    case 'shown':
      return { ...slot, stored: event.content, doubts: without(slot, event.content).map(hide), ...SEEN }
    case 'absent':
      return { ...slot, stored: undefined, doubts: [], ...SEEN }
    case 'other':
    case 'hidden':
      return notShown(slot, event)
    case 'unreadable':
      return event.isSuspect ? withDoubt(slot, event.content, 'unreadable') : slot
    case 'lapsed':
      return slot.stored === undefined ? slot : { ...slot, seen: 'nothing', isLapsed: true }
  }
}

function learnExported(slot: Slot, incoming: Incoming): Slot {
  const { content, place, isLate, isRenewed } = incoming
  const { latest } = slot
  const order = latest === undefined ? 1 : orderOf(incoming, latest)
  const isRepeated = latest?.content === content
  if (order < 0 || (order === 0 && (isRepeated || !isRenewed))) return slot
  const isNews = !isRepeated || latest.isNews === true
  return { ...slot, latest: { content, place, isLate, ...(isNews ? { isNews } : {}) } }
}

/**
 * Order of a word and the latest word; below zero where the word is older. A preliminary result is older than any other result of the slot, in
 * whatever export: messages arrive out of order (HL7 v2, table 0085: no P follows F).
 */
export function orderOf({ content, place, isRenewed }: Incoming, latest: Word): number {
  const other = latest.place
  if (place.arrival !== other.arrival)
    return (
      Number(place.rank > 0) - Number(other.rank > 0) ||
      place.anchor - other.anchor ||
      place.day - other.day ||
      place.arrival - other.arrival
    )
  // An export read again only repeats the rows before its latest word.
  if (place.row < other.row && !isRenewed) return -1
  if (place.row === other.row) return 0
  const isWithdrawal = content === WITHDRAWN || latest.content === WITHDRAWN
  return (isWithdrawal ? 0 : place.rank - other.rank) || place.issued - other.issued || place.row - other.row
}

/**
 * Checks whether to save a slot once its chunk is settled. Most of a cumulative export repeats stored content, and is not saved. A repetition is
 * saved after a late word, where a preliminary result is final now, and for a result that is corrected or has a time of issue: the export may hold an
 * older word below.
 */
export function isWorthWriting(before: Slot, after: Slot): boolean {
  if (before === after) return false
  const { latest: was, ...others } = before
  const { latest: is, ...now } = after
  if (was?.content !== is?.content || !isDeepStrictEqual(others, now)) return true
  if (was === undefined || is === undefined) return false
  const issuedBefore = is.place.arrival === was.place.arrival ? was.place.issued : 0
  return (
    is.isNews === true ||
    was.isLate ||
    is.place.rank > Math.min(was.place.rank, FINAL) ||
    is.place.issued > issuedBefore
  )
}

/** True where the gateway has the slot's stored content, as no other rule of the row was sent in its place. */
const isInForce = ({ stored, isLapsed }: Slot): boolean => stored !== undefined && !isLapsed

const mayTakeForce = ({ before, now }: Remembered): boolean =>
  now.doubts.some(({ isNew }) => isNew) || (isInForce(now) && !isInForce(before))

/** Slot before and after some events. */
export interface Remembered {
  readonly before: Slot
  now: Slot
}

/**
 * Learns that a rule absent from a row may be the former name of a rule that has come into force, or may have.
 * @param listed rules of lists: each export shows a different part of a list
 */
export function lapseAbsent(
  slots: ReadonlyMap<string, Remembered>,
  present: Pick<ReadonlySet<string>, 'has'>,
  listed: Pick<ReadonlySet<string>, 'has'>,
): void {
  const hasTaken = [...slots].some(
    ([rule, one]) => present.has(rule) && !listed.has(rule) && mayTakeForce(one),
  )
  if (!hasTaken) return
  for (const [rule, slot] of slots) if (!present.has(rule)) slot.now = learn(slot.now, { what: 'lapsed' })
}

/** @returns doubts that ended, and whose content is not stored */
export function endedDoubts(slots: Iterable<Remembered>): Map<Content, 'supersede' | 'miss'> {
  const ended = new Map<Content, 'supersede' | 'miss'>()
  for (const { before, now } of slots)
    for (const { content } of before.doubts) {
      if (now.stored === content || now.doubts.some((one) => one.content === content)) continue
      // The newest word is still to be delivered.
      const isOver = now.stored !== undefined && content !== now.latest?.content
      ended.set(content, isOver ? 'supersede' : 'miss')
    }
  return ended
}

function sending(slot: Slot, content: Content): Slot {
  const isAgain = slot.doubts.some((one) => one.content === content)
  const doubt = { content, state: 'sent' as const, isNew: true as const, ...(isAgain ? { isAgain } : {}) }
  return { ...slot, doubts: [...without(slot, content), doubt] }
}

function notShown(
  slot: Slot,
  { what, content, isSuspect }: Extract<SlotEvent, { what: 'other' | 'hidden' | 'unreadable' }>,
): Slot {
  // A newer record hides the whole slot. Another record of the instant may be any content in doubt: each is looked for by itself.
  const doubts = what === 'hidden' ? slot.doubts.map(hide) : slot.doubts
  if (slot.stored === content)
    return what === 'other' ? { ...slot, stored: undefined, doubts } : { ...slot, doubts, seen: 'stored' }
  return isSuspect ? withDoubt({ ...slot, doubts }, content, 'hidden') : { ...slot, doubts }
}

function withDoubt(slot: Slot, content: Content, state: Doubt['state']): Slot {
  if (slot.stored === content) return slot
  const known = slot.doubts.find((one) => one.content === content)
  return { ...slot, doubts: [...without(slot, content), { ...known, content, state }] }
}

const without = ({ doubts }: Slot, content: Content): readonly Doubt[] =>
  doubts.filter((one) => one.content !== content)

/** Closes a doubt: the profile was read, and will not show the content later. */
const hide = (one: Doubt): Doubt => ({ ...one, state: 'hidden' })

/**
 * Takes over the slot of a renamed rule: a rule missing from the row, with the content stored or in doubt. A rule with stored content takes over
 * doubts alone, if the other has the content in doubt: nobody knows whose content is the later.
 * @param others slots of the row whose rules the row lacks
 * @returns the new slot, and the old; `isWhole` where nothing is left of the old
 */
export function takeOver<One extends Slot>(
  slot: Slot,
  content: Content,
  others: readonly One[],
): { slot: Slot; from: One; isWhole: boolean } | undefined {
  const hasOwn = isInForce(slot)
  const from = others.find((one) =>
    hasOwn && one.stored !== undefined
      ? false
      : one.stored === content || one.doubts.some((doubt) => doubt.content === content),
  )
  if (from === undefined) return undefined
  const doubts = [...slot.doubts, ...from.doubts.map((one) => ({ ...one, isNew: true as const }))]
  if (slot.stored !== undefined && from.stored !== content)
    return { slot: { ...slot, doubts }, from, isWhole: false }
  const { stored, latest, seen, isLapsed } = from
  const taken = { stored, latest, doubts, seen, isLapsed }
  // A word under the new name may be newer or older.
  const word = slot.latest && { ...slot.latest, isRenewed: false }
  const now = word === undefined ? taken : learn(taken, { what: 'exported', incoming: word })
  return { slot: now, from, isWhole: true }
}
