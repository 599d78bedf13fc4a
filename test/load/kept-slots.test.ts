/** Law: the ledger's form of a slot gives the slot back. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { KeptSlot } from '../../src/ledger/ledger.ts'
import { EMPTY, type Place, type Slot, WITHDRAWN } from '../../src/load/decide.ts'
import { keptSlot, slotOf, withFormerNames, withSent, withStored } from '../../src/load/kept-slots.ts'

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

const C = '00000000ffffffff'

/** Slot of a rule: the stored content, and the latest word. */
function slotWith(rule: string, stored: string | undefined, latest: string): KeptSlot {
  const slot = { ...EMPTY, stored, latest: { ...WORD, content: latest }, seen: 'whole' } as const
  return keptSlot(rule, slot, 3) ?? expect.fail('there is something to remember')
}

const asRead = (kept: readonly KeptSlot[]) =>
  kept.map((one) => {
    const { stored, latest, seen } = slotOf(one, [], one.word.copy, placed)
    return [one.ruleHash, stored, latest?.content, seen]
  })

const OTHERS = slotWith('other', C, C)

it.each<[string, KeptSlot | undefined, string, readonly unknown[]]>([
  ['unknown', undefined, A, [A, A, 'nothing']],
  ['only heard of', slotWith('rule', undefined, A), A, [A, A, 'whole']],
  ['only heard of, otherwise', slotWith('rule', undefined, B), A, [A, B, 'whole']],
  ['stored', slotWith('rule', A, A), A, [A, A, 'whole']],
  ['stored, otherwise', slotWith('rule', B, B), A, [A, B, 'whole']],
  ['stored, otherwise, and to be this', slotWith('rule', B, A), A, [A, A, 'whole']],
  ['stored, otherwise, and to be yet another', slotWith('rule', B, C), A, [A, C, 'whole']],
  ['withdrawn', slotWith('rule', B, WITHDRAWN), A, [A, WITHDRAWN, 'whole']],
])('content that the gateway has is stored in a slot that was %s', (_, known, content, expected) => {
  const kept = withStored([...(known === undefined ? [] : [known]), OTHERS], 'rule', content)
  const own = ['rule', ...expected]
  const others = ['other', C, C, 'whole']
  expect(asRead(kept)).toEqual(known === undefined ? [others, own] : [own, others])
})

const LATER = { ...WORD.place, arrival: 2 }
const EARLIER = { ...WORD.place, arrival: 0, anchor: 6 }

it.each<[string, KeptSlot | undefined, Place, boolean, readonly unknown[]]>([
  ['taken, of no earlier slot', undefined, LATER, true, [A, A, 'nothing']],
  ['perhaps taken, of no earlier slot', undefined, LATER, false, [undefined, A, 'nothing']],
  ['taken, in the place of another', slotWith('rule', B, B), LATER, true, [A, A, 'nothing']],
  ['perhaps taken, in the place of another', slotWith('rule', B, B), LATER, false, [B, A, 'whole']],
  ['taken, older than the latest word', slotWith('rule', B, B), EARLIER, true, [A, B, 'nothing']],
])('a run that is given up has sent content that was %s', (_, known, place, isTaken, expected) => {
  const sent = { rule: 'rule', content: A, place }
  const kept = withSent([OTHERS, ...(known === undefined ? [] : [known])], sent, isTaken, placed)
  expect(asRead(kept)).toEqual([
    ['other', C, C, 'whole'],
    ['rule', ...expected],
  ])
  // Nightly exports may have repeated the word without a trace.
  const isLatest = place === LATER
  expect(kept.at(-1)?.word.isLate).toBe(isLatest)
})
