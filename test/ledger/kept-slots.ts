/** Made-up slots, as a ledger keeps them. */
import fc from 'fast-check'
import type { KeptSlot, KeptWord } from '../../src/ledger/ledger.ts'
import { wordsOf } from '../../src/model/ids.ts'

export const keptWord = (more: Partial<KeptWord> = {}): KeptWord => ({
  ...{ arrival: 1, row: 1, rank: 1, issued: 0, isLate: false, isStored: true, isLapsed: false },
  ...{ seen: 'whole', copy: 0 },
  ...more,
})

/** @param content 16 hex digits */
export const keptSlot = (rule: string, content: string, more: Partial<KeptWord> = {}): KeptSlot => ({
  ...{ ruleHash: rule, ...wordsOf(content), word: keptWord(more) },
})

/** @param half of a content hash */
export const anySlot = (rule: fc.Arbitrary<string>, half: fc.Arbitrary<number>): fc.Arbitrary<KeptSlot> => {
  const words = { first: half, last: half }
  const word = fc.record({
    arrival: fc.constantFrom(0, 1, 77, 2 ** 32 - 1),
    row: fc.constantFrom(0, 1, 300, 2 ** 31 - 1),
    rank: fc.constantFrom(0, 1, 2),
    issued: fc.constantFrom(0, 1, 1_772_442_600_000, 253_402_300_799_999),
    ...{ isLate: fc.boolean(), isStored: fc.boolean(), isLapsed: fc.boolean() },
    seen: fc.constantFrom('nothing', 'stored', 'whole'),
    copy: fc.constantFrom(0, 1, 63),
  })
  return fc.oneof(
    fc.record({ ruleHash: rule, ...words, word }),
    fc.record({
      ruleHash: rule,
      ...words,
      word,
      latest: fc.oneof(fc.constant('withdrawn' as const), fc.record(words)),
    }),
  )
}
