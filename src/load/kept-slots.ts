/** Converts slots between the ledger's form and the form used to decide. */
import type { ExportOrder, HeldDoubt, KeptSlot, KeptWord } from '../ledger/ledger.ts'
import { FINAL } from '../model/entry.ts'
import { contentDigits, wordsOf } from '../model/ids.ts'
import { type Doubt, EMPTY, type Place, type Slot, WITHDRAWN, type Word } from './decide.ts'
import { endedDoubts, lapseAbsent, learn, type Remembered, type SlotEvent } from './learn.ts'

export const doubtOf = ({ content, isOpen, sentUntil }: HeldDoubt): Doubt => ({
  content,
  state: sentUntil === null ? (isOpen ? 'unreadable' : 'hidden') : 'sent',
})

/** @param orders places of backfilled exports among the nightly exports, by arrival */
export function placeOf(
  orders: ReadonlyMap<number, ExportOrder>,
  { arrival, row, rank, issued }: Pick<Place, 'arrival' | 'row' | 'rank' | 'issued'>,
): Place {
  const { anchor = arrival, day = 0 } = orders.get(arrival) ?? {}
  return { anchor, day, arrival, rank, issued, row }
}

/** @param copy number of the ledger's copy in use @param placed returns the place of a word */
export function slotOf(
  kept: KeptSlot,
  held: readonly HeldDoubt[],
  copy: number,
  placed: (word: KeptWord) => Place,
): Slot {
  const { word, latest } = kept
  const content = contentDigits(kept)
  const newest = latest === undefined ? content : latest === 'withdrawn' ? WITHDRAWN : contentDigits(latest)
  return {
    stored: word.isStored ? content : undefined,
    latest: { content: newest, place: placed(word), isLate: word.isLate },
    doubts: held.map(doubtOf),
    seen: word.copy === copy ? word.seen : 'nothing',
    isLapsed: word.isLapsed,
  }
}

/** @returns undefined where there is nothing to remember */
export function keptSlot(
  ruleHash: string,
  { stored, latest, seen, isLapsed }: Slot,
  copy: number,
): KeptSlot | undefined {
  const content = stored ?? latest?.content
  if (content === undefined) return undefined
  const { place, isLate } = latest ?? LOST
  const { arrival, row, rank, issued } = place
  const word = { arrival, row, rank, issued, isLate, isStored: stored !== undefined, isLapsed, seen, copy }
  const words = content === WITHDRAWN ? { first: 0, last: 0 } : wordsOf(content)
  const slot = { ruleHash, ...words, word }
  if (latest === undefined || (latest.content === content && content !== WITHDRAWN)) return slot
  return { ...slot, latest: latest.content === WITHDRAWN ? 'withdrawn' : wordsOf(latest.content) }
}

/** Lost word: every other word is newer. */
const LOST: Pick<Word, 'place' | 'isLate'> = {
  place: placeOf(new Map(), { arrival: 0, row: 0, rank: FINAL, issued: 0 }),
  isLate: true,
}

/**
 * Learns events outside of chunks, as of a look at the profile. A row may lack rules without an event.
 * @returns the slots of the row, and ended doubts
 */
export function learnKept(
  known: { kept: readonly KeptSlot[]; held: readonly HeldDoubt[] },
  events: readonly (readonly [rule: string, event: SlotEvent])[],
  placed: (word: KeptWord) => Place,
): { records: readonly KeptSlot[]; ended: ReturnType<typeof endedDoubts> } {
  const slots = new Map<string, Remembered & { copy: number }>()
  const held = Map.groupBy(known.held, ({ rule }) => rule)
  const remember = (rule: string, slot: Slot, copy = 0): void => {
    const before = { ...slot, doubts: (held.get(rule) ?? []).map(doubtOf) }
    slots.set(rule, { before, now: before, copy })
  }
  for (const one of known.kept) remember(one.ruleHash, slotOf(one, [], one.word.copy, placed), one.word.copy)
  for (const [rule, event] of events) {
    if (!slots.has(rule)) remember(rule, EMPTY)
    const slot = slots.get(rule)
    if (slot !== undefined) slot.now = learn(slot.now, event)
  }
  lapseAbsent(slots, new Map(events), new Map())
  const records = [...slots].flatMap(([rule, { now, copy }]) => keptSlot(rule, now, copy) ?? [])
  return { records, ended: endedDoubts(slots.values()) }
}
