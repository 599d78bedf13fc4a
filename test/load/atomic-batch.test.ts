import { expect, it } from 'vitest'
import { spokenFor } from '../../src/load/delivery.ts'
import type { Verdict } from '../../src/model/outcome.ts'
import { people } from './made-up-entries.ts'

const [S, A, U] = ['stored', 'absent', 'unknown'] as const

it.each([
  ['one that was found speaks for the others', [U, S, U], [S, S, S]],
  ['one that was not found does, too', [A, U, U], [A, A, A]],
  ['nobody speaks where nobody can tell', [U, U, U], [U, U, U]],
  ['those that contradict each other speak for themselves', [S, A, U], [S, A, U]],
] as const)('%s', (_name, before, after) => {
  const batch = people(3)
  const verdicts = new Map(batch.map((entry, at) => [entry, before[at] ?? U] as [typeof entry, Verdict]))
  const spoken = (batchesAreAtomic: boolean) => {
    const told = spokenFor({ batchesAreAtomic }, batch, verdicts)
    return batch.map((entry) => told.get(entry))
  }
  expect(spoken(true)).toEqual(after)
  expect(spoken(false)).toEqual(before)
})
