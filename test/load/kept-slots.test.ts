/** Law: the ledger's form of a slot gives the slot back. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { KeptSlot } from '../../src/ledger/ledger.ts'
import { EMPTY, type Place, type Slot, WITHDRAWN } from '../../src/load/decide.ts'
import { keptSlot, slotOf, withFormerNames } from '../../src/load/kept-slots.ts'

const PLACE = { anchor: 7, day: 0 }
const content = fc.constantFrom('0123456789abcdef', 'fedcba9876543210', '00000000ffffffff')
const place: fc.Arbitrary<Place> = fc.record({
  anchor: fc.constant(PLACE.anchor),
  day: fc.constant(PLACE.day),
  arrival: fc.integer({ min: 1, max: 9 }),
  rank: fc.nat(2),
  issued: fc.nat(9),
  row: fc.integer({ min: 1, max: 9 }),
})
const A = '0123456789abcdef'
const B = 'fedcba9876543210'
const WORD = { content: A, place: { ...PLACE, arrival: 1, rank: 1, issued: 0, row: 1 }, isLate: false }
const slots: fc.Arbitrary<Slot> = fc.record({
  stored: fc.option(content, { nil: undefined }),
  latest: fc.record({
    content: fc.oneof(content, fc.constant(WITHDRAWN)),
    place,
    isLate: fc.boolean(),
  }),
  doubts: fc.constant([]),
  seen: fc.constantFrom('nothing', 'stored', 'whole'),
  isLapsed: fc.boolean(),
})
const placed = (word: Pick<Place, 'arrival' | 'row' | 'rank' | 'issued'>): Place => ({
  ...PLACE,
  arrival: word.arrival,
  rank: word.rank,
  issued: word.issued,
  row: word.row,
})

it('a slot is remembered as it was; in another copy of the ledger, as nobody has seen it', () => {
  fc.assert(
    fc.property(slots, fc.boolean(), (slot, isSameCopy) => {
      const kept = keptSlot('rule', slot, 3)
      if (kept === undefined) throw new Error('there is something to remember')
      expect(slotOf(kept, [], isSameCopy ? 3 : 4, placed)).toEqual({
        ...slot,
        seen: isSameCopy ? slot.seen : 'nothing',
      })
    }),
  )
  expect(keptSlot('rule', EMPTY, 3)).toBeUndefined()
})

it.each<[string, Partial<Slot> | undefined, Partial<Slot>, Partial<Slot>, boolean]>([
  ['a rule that the row did not have', undefined, { stored: B }, { stored: A }, true],
  ['a rule that came back', { stored: B, isLapsed: true }, { stored: B }, { stored: A }, true],
  ['a rule that was in force before', { stored: A }, { stored: B }, { stored: A }, false],
  ['a rule that may have been sent alone', undefined, { latest: WORD }, { stored: A }, false],
  [
    'a rule that the row did not have, beside one that only was heard',
    undefined,
    { stored: B },
    { latest: WORD },
    false,
  ],
])(
  'a run that was given up has sent %s: the other rule may be its former name, or not',
  (_name, before, now, other, isFormer) => {
    const keep = (rule: string, slot: Partial<Slot>): KeptSlot => {
      const kept = keptSlot(rule, { ...EMPTY, seen: 'whole', latest: WORD, ...slot }, 3)
      if (kept === undefined) throw new Error('there is something to remember')
      return kept
    }
    const others = keep('other', other)
    const sent = keep('sent', now)
    const known = [...(before === undefined ? [] : [keep('sent', before)]), others]
    const word = isFormer ? { ...others.word, seen: 'nothing', isLapsed: true } : others.word
    expect(withFormerNames(known, [sent, others], new Set(['sent']))).toEqual([sent, { ...others, word }])
  },
)
