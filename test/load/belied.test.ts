/** Echoes that name an account id that nobody knows: the profile says whether the person has it. */
import { expect, it } from 'vitest'
import { beliedBy, type Delivery } from '../../src/load/delivery.ts'
import type { Matched, Verdict } from '../../src/model/outcome.ts'
import { people } from './made-up-entries.ts'

const VERDICTS: readonly [Verdict, learned: boolean, belied: boolean][] = [
  ['stored', true, false],
  ['absent', false, true],
  ['hidden', false, false],
  ['unreadable', false, false],
]

it.each(VERDICTS)('of one echo, where the record is %s', async (verdict, isLearned, isBelied) => {
  const [entry, other] = people(2)
  if (entry === undefined || other === undefined) throw new Error('two were made')
  const learnedIds = new Map<string, string>()
  const delivery = {
    learnedIds,
    reconciler: { readBack: async () => new Map([[entry, verdict]]) },
    readLagMs: 0,
    pause: async () => {},
    now: () => 0,
  } as unknown as Delivery
  const matched = {
    learned: new Map([[other.account.reference, 'id of several echoes']]),
    unconfirmed: new Map([[entry, 'id of one echo']]),
  } as unknown as Matched
  const belied = await beliedBy(delivery, { accountIds: () => undefined } as never, matched)
  expect([...belied]).toEqual(isBelied ? [entry] : [])
  expect(Object.fromEntries(learnedIds)).toEqual({
    [other.account.reference]: 'id of several echoes',
    ...(isLearned ? { [entry.account.reference]: 'id of one echo' } : {}),
  })
})
