/** Converts slots between the ledger's form and the form used to decide. */
import type { ExportOrder, HeldDoubt, KeptSlot, KeptWord } from '../ledger/ledger.ts'
import { FINAL } from '../model/entry.ts'
import { contentDigits, hasSameContent, wordsOf } from '../model/ids.ts'
import { type Content, type Doubt, EMPTY, type Place, type Slot, WITHDRAWN, type Word } from './decide.ts'
import { learn } from './learn.ts'

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
const LOST_WORD: KeptWord = {
  arrival: 0,
  row: 0,
  rank: FINAL,
  issued: 0,
  isLate: true,
  isStored: true,
  isLapsed: false,
  seen: 'nothing',
  copy: 0,
}
const LOST: Pick<Word, 'place' | 'isLate'> = { place: placeOf(new Map(), LOST_WORD), isLate: true }

/** @returns the slots of a row, once the gateway is known to have the content of one slot */
export function withStored(kept: readonly KeptSlot[], rule: string, content: Content): KeptSlot[] {
  const known = kept.find((one) => one.ruleHash === rule)
  const { word = LOST_WORD, latest = known } = known ?? {}
  const words = wordsOf(content)
  const isLatest = latest === undefined || (latest !== 'withdrawn' && hasSameContent(latest, words))
  const later = isLatest
    ? {}
    : latest === 'withdrawn'
      ? { latest }
      : { latest: { first: latest.first, last: latest.last } }
  const slot = { ruleHash: rule, ...words, word: { ...word, isStored: true }, ...later }
  return withSlot(kept, slot)
}

const withSlot = (kept: readonly KeptSlot[], slot: KeptSlot): KeptSlot[] =>
  kept.some(({ ruleHash }) => ruleHash === slot.ruleHash)
    ? kept.map((one) => (one.ruleHash === slot.ruleHash ? slot : one))
    : [...kept, slot]

/**
 * Restores slots from a run that is given up. No other run has brought words since: each run of the job first settles the open work of earlier runs.
 * @param isTaken true for content that the gateway has, false for content that the gateway may have
 * @returns the slots of a row, with the content that the run had sent
 */
export function withSent(
  kept: readonly KeptSlot[],
  sent: { readonly rule: string; readonly content: Content; readonly place: Place },
  isTaken: boolean,
  placed: (word: KeptWord) => Place,
): KeptSlot[] {
  const { rule, content, place } = sent
  const known = kept.find((one) => one.ruleHash === rule)
  const copy = known?.word.copy ?? 0
  const before = known === undefined ? EMPTY : slotOf(known, [], copy, placed)
  const exported = learn(before, {
    what: 'exported',
    incoming: { content, place, isLate: true, isRenewed: true },
  })
  const now = isTaken ? learn(exported, { what: 'accepted before', content }) : exported
  const slot = keptSlot(rule, now, copy)
  return slot === undefined ? [...kept] : withSlot(kept, slot)
}

/**
 * Marks rules that a given-up run did not send as perhaps the former names of those that it brought into force: nobody knows what its rows lack.
 * @param before slots of a row before the run
 * @param after slots with what the run sent
 */
export function withFormerNames(
  before: readonly KeptSlot[],
  after: readonly KeptSlot[],
  sent: ReadonlySet<string>,
): readonly KeptSlot[] {
  const isInForce = ({ word }: KeptSlot): boolean => word.isStored && !word.isLapsed
  const inForce = new Set(before.filter(isInForce).map(({ ruleHash }) => ruleHash))
  if (!after.some((one) => isInForce(one) && !inForce.has(one.ruleHash))) return after
  return after.map((one) =>
    sent.has(one.ruleHash) || !one.word.isStored
      ? one
      : { ...one, word: { ...one.word, seen: 'nothing', isLapsed: true } },
  )
}
