/** Law: the ledger's form of a slot gives the slot back. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { EMPTY, type Place, type Slot, WITHDRAWN } from '../../src/load/decide.ts'
import { keptSlot, slotOf } from '../../src/load/kept-slots.ts'

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
