/** What all runs of a home say together of the exports: those that have come to their end, and those that were given up. */
import { FOLLOWING, type ListedRun, type Reject, readRejects } from './statements.ts'
import type { Word } from './verdict.ts'

const isGivenUp = ({ state, reason }: Pick<ListedRun, 'state' | 'reason'>): boolean =>
  state === 'failed' && reason === 'given-up'

/** Names of exports that a run had open when it was given up: one as often as that came about. */
export const givenUpIn = (runs: readonly ListedRun[]): string[] =>
  runs
    .filter(isGivenUp)
    .flatMap(({ exports }) => exports.filter(({ state }) => state === 'open').map(({ name }) => name))

/** @throws Error where a run has not come to its end, or does not balance */
export async function wordsOf(runs: readonly ListedRun[]): Promise<Word[]> {
  const words: Word[] = []
  for (const { run, state, reason, balanced, origin, exports } of runs) {
    const isLeft = isGivenUp({ state, reason })
    if (!isLeft && (state !== 'finished' || !balanced))
      throw new Error(`the run ${run} is ${state} (${reason}), balanced: ${balanced}`)
    if (origin !== undefined) continue
    const later = runs.filter((one) => one.origin?.run === run)
    for (const summary of exports) {
      if (isLeft && summary.state === 'open') continue
      const taken = await Promise.all(
        later.flatMap((one) =>
          one.exports.filter(({ name }) => name === summary.name).map(({ rejects }) => readRejects(rejects)),
        ),
      )
      const left = await readRejects(summary.rejects)
      // The newest run comes first: what it says of a record is the last word on it.
      const rejects = left.flatMap((one) => {
        const again = taken.map((some) => some.find(isSame(one)))
        if (!again.includes(undefined)) return [again[0] ?? one]
        // A record that is there is not taken up again: what is to follow it is still owed.
        return FOLLOWING.has(one._stage) ? [one] : []
      })
      words.push({ summary, rejects, atFirst: left })
    }
  }
  return words
}

/** Of the same row and rule: what a later run has taken up and left again. */
const isSame =
  (one: Reject) =>
  (other: Reject): boolean =>
    one._row === other._row && one._rule === other._rule
