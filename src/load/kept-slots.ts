/** A slot as the ledger keeps it, and as it is decided by. */
import type { HeldDoubt, KeptSlot, KeptWord } from '../ledger/ledger.ts'
import { FINAL } from '../model/entry.ts'
import { contentDigits, hasSameContent, wordsOf } from '../model/ids.ts'
import { type Content, type Doubt, type Place, type Slot, WITHDRAWN, type Word } from './decide.ts'

export const doubtOf = ({ content, isOpen }: HeldDoubt): Doubt => ({
  content,
  state: isOpen ? 'unreadable' : 'hidden',
})

/** @param copy number of the ledger's copy in use @param placeOf place of a word */
export function slotOf(
  kept: KeptSlot,
  held: readonly HeldDoubt[],
  copy: number,
  placeOf: (word: KeptWord) => Place,
): Slot {
  const { word, latest } = kept
  const content = contentDigits(kept)
  const said = latest === undefined ? content : latest === 'withdrawn' ? WITHDRAWN : contentDigits(latest)
  return {
    stored: word.isStored ? content : undefined,
    latest: { content: said, place: placeOf(word), isLate: word.isLate },
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
