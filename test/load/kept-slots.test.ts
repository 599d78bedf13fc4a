/** Law: the ledger's form of a slot gives the slot back. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { KeptSlot } from '../../src/ledger/ledger.ts'
import { EMPTY, type Place, type Slot, WITHDRAWN } from '../../src/load/decide.ts'
import { keptSlot, learnKept, slotOf } from '../../src/load/kept-slots.ts'
import type { SlotEvent } from '../../src/load/learn.ts'

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

const INCOMING = { ...WORD, isRenewed: true, place: { ...PLACE, arrival: 2, rank: 1, issued: 0, row: 1 } }

it.each<[string, Partial<Slot> | undefined, readonly SlotEvent[], Partial<Slot>, boolean]>([
  [
    'sent, a rule that the row did not have',
    undefined,
    [{ what: 'accepted before', content: B }],
    { stored: A },
    true,
  ],
  [
    'sent, a rule that came back',
    { stored: A, isLapsed: true },
    [{ what: 'accepted before', content: A }],
    { stored: B },
    true,
  ],
  [
    'found, a rule that the row did not have',
    undefined,
    [{ what: 'shown', content: B }],
    { stored: A },
    true,
  ],
  ['sent without an answer', undefined, [{ what: 'sending', content: B }], { stored: A }, true],
  ['a rule that was in force before', { stored: A }, [{ what: 'shown', content: B }], { stored: A }, false],
  ['heard alone', undefined, [{ what: 'exported', incoming: INCOMING }], { stored: A }, false],
  ['sent, beside a rule that was heard alone', undefined, [{ what: 'shown', content: B }], {}, false],
])(
  'of a row one rule was %s: another rule that the row may lack may be its former name',
  (_name, before, events, other, isFormer) => {
    const keep = (rule: string, slot: Partial<Slot>): KeptSlot => {
      const kept = keptSlot(rule, { ...EMPTY, seen: 'whole', latest: WORD, ...slot }, 3)
      if (kept === undefined) throw new Error('there is something to remember')
      return kept
    }
    const others = keep('other', other)
    const kept = [...(before === undefined ? [] : [keep('one', before)]), others]
    const own = events.map((event) => ['one', event] as const)
    const { records } = learnKept({ kept, held: [] }, own, placed)
    const word = isFormer ? { ...others.word, seen: 'nothing', isLapsed: true } : others.word
    expect(records.find(({ ruleHash }) => ruleHash === 'other')).toEqual({ ...others, word })
  },
)

it('a record accepted by a run that is given up ends the doubts of its slot', () => {
  const doubt = (content: string, rule = 'one') => ({ content, rule, isOpen: true, sentUntil: null })
  const held = [doubt(A), doubt(B), doubt(A, 'other')]
  const events: SlotEvent[] = [
    { what: 'exported', incoming: { ...INCOMING, content: B } },
    { what: 'accepted before', content: B },
  ]
  const { ended } = learnKept(
    { kept: [], held },
    events.map((event) => ['one', event] as const),
    placed,
  )
  expect([...ended]).toEqual([[A, 'supersede']])
})

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

const OTHERS = slotWith('other', undefined, C)

it.each<[string, KeptSlot | undefined, string, readonly unknown[]]>([
  ['unknown', undefined, A, [A, A, 'whole']],
  ['only heard of', slotWith('rule', undefined, A), A, [A, A, 'whole']],
  ['only heard of, otherwise', slotWith('rule', undefined, B), A, [A, B, 'whole']],
  ['stored', slotWith('rule', A, A), A, [A, A, 'whole']],
  ['stored, otherwise', slotWith('rule', B, B), A, [A, B, 'whole']],
  ['stored, otherwise, and to be this', slotWith('rule', B, A), A, [A, A, 'whole']],
  ['stored, otherwise, and to be yet another', slotWith('rule', B, C), A, [A, C, 'whole']],
  ['withdrawn', slotWith('rule', B, WITHDRAWN), A, [A, WITHDRAWN, 'whole']],
])('content that the gateway has is stored in a slot that was %s', (_, known, content, expected) => {
  const before = [...(known === undefined ? [] : [known]), OTHERS]
  const kept = learnKept({ kept: before, held: [] }, [['rule', { what: 'shown', content }]], placed).records
  const own = ['rule', ...expected]
  const others = ['other', undefined, C, 'whole']
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
  const events: [string, SlotEvent][] = [
    ['rule', { what: 'exported', incoming: { content: A, place, isLate: true, isRenewed: true } }],
    ['rule', { what: isTaken ? 'accepted before' : 'sending', content: A }],
  ]
  const before = [OTHERS, ...(known === undefined ? [] : [known])]
  const kept = learnKept({ kept: before, held: [] }, events, placed).records
  expect(asRead(kept)).toEqual([
    ['other', undefined, C, 'whole'],
    ['rule', ...expected],
  ])
  // Nightly exports may have repeated the word without a trace.
  const isLatest = place === LATER
  expect(kept.at(-1)?.word.isLate).toBe(isLatest)
})
