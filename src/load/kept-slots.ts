/** A slot as the ledger keeps it, and as it is decided by. */
import type { ExportOrder, HeldDoubt, KeptSlot, KeptWord } from '../ledger/ledger.ts'
import { FINAL } from '../model/entry.ts'
import { contentDigits, hasSameContent, wordsOf } from '../model/ids.ts'
import { type Content, type Doubt, EMPTY, type Place, type Slot, WITHDRAWN, type Word } from './decide.ts'
import { learn } from './learn.ts'

export const doubtOf = ({ content, isOpen, sentUntil }: HeldDoubt): Doubt => ({
  content,
  state: sentUntil === null ? (isOpen ? 'unreadable' : 'hidden') : 'sent',
})

/** @param orders places of backfilled exports among the nightly ones, by arrival */
export function placeOf(
  orders: ReadonlyMap<number, ExportOrder>,
  { arrival, row, rank, issued }: Pick<Place, 'arrival' | 'row' | 'rank' | 'issued'>,
): Place {
  const { anchor = arrival, day = 0 } = orders.get(arrival) ?? {}
  return { anchor, day, arrival, rank, issued, row }
}

/** @param copy number of the ledger's copy in use @param placed place of a word */
export function slotOf(
  kept: KeptSlot,
  held: readonly HeldDoubt[],
  copy: number,
  placed: (word: KeptWord) => Place,
): Slot {
  const { word, latest } = kept
  const content = contentDigits(kept)
  const said = latest === undefined ? content : latest === 'withdrawn' ? WITHDRAWN : contentDigits(latest)
  return {
    stored: word.isStored ? content : undefined,
    latest: { content: said, place: placed(word), isLate: word.isLate },
    doubts: held.map(doubtOf),
    seen: word.copy === copy ? word.seen : 'nothing',
    isLapsed: word.isLapsed,
  }
}

/** @returns undefined where there is nothing to remember */
export function keptSlot(
  rule: string,
  { stored, latest, seen, isLapsed }: Slot,
  copy: number,
): KeptSlot | undefined {
  const content = stored ?? latest?.content
  if (content === undefined) return undefined
  const { place, isLate } = latest ?? LOST
  const { arrival, row, rank, issued } = place
  const word = { arrival, row, rank, issued, isLate, isStored: stored !== undefined, isLapsed, seen, copy }
  const words = content === WITHDRAWN ? { first: 0, last: 0 } : wordsOf(content)
  const other = latest === undefined || latest.content === content ? undefined : latest.content
  if (latest?.content === WITHDRAWN) return { rule, ...words, word, latest: 'withdrawn' }
  return other === undefined ? { rule, ...words, word } : { rule, ...words, word, latest: wordsOf(other) }
}

/** Place of a word that nobody knows: every other word is newer. */
const LOST: Pick<Word, 'place' | 'isLate'> = {
  place: { anchor: 0, day: 0, arrival: 0, rank: FINAL, issued: 0, row: 0 },
  isLate: true,
}
const LOST_WORD: KeptWord = {
  ...{ arrival: 0, row: 0, rank: FINAL, issued: 0, isLate: true, isStored: true, isLapsed: false },
  ...{ seen: 'nothing', copy: 0 },
}

/** @returns the slots of a row, now that the gateway is known to have the content of one */
export function withStored(kept: readonly KeptSlot[], rule: string, content: Content): KeptSlot[] {
  const known = kept.find((one) => one.rule === rule)
  const { word = LOST_WORD, latest = known } = known ?? {}
  const words = wordsOf(content)
  const isLatest = latest === undefined || (latest !== 'withdrawn' && hasSameContent(latest, words))
  const said = isLatest
    ? {}
    : latest === 'withdrawn'
      ? { latest }
      : { latest: { first: latest.first, last: latest.last } }
  const slot = { rule, ...words, word: { ...word, isStored: true }, ...said }
  return known === undefined ? [...kept, slot] : kept.map((one) => (one === known ? slot : one))
}

/**
 * No other run has spoken since: each of the job first settles what another one has open.
 * @param isTaken true for a content that the gateway has; else it may have it
 * @returns the slots of a row, now that a run is given up that has sent the content of one
 */
export function withSent(
  kept: readonly KeptSlot[],
  sent: { readonly rule: string; readonly content: Content; readonly place: Place },
  isTaken: boolean,
  placed: (word: KeptWord) => Place,
): KeptSlot[] {
  const { rule, content, place } = sent
  const known = kept.find((one) => one.rule === rule)
  const copy = known?.word.copy ?? 0
  const before = known === undefined ? EMPTY : slotOf(known, [], copy, placed)
  const said = learn(before, { what: 'said', incoming: { content, place, isLate: true, isRenewed: true } })
  const now = isTaken ? learn(said, { what: 'accepted before', content }) : said
  const slot = keptSlot(rule, now, copy)
  if (slot === undefined) return [...kept]
  return known === undefined ? [...kept, slot] : kept.map((one) => (one === known ? slot : one))
}
