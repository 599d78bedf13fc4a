/** Counts, for one run, what gets through and what fails beside a request: so one that fails by itself is told from a gateway at fault. */
import type { OtherRequests, Purpose } from './retry-policy.ts'

/** On so many people the gateway may fail where no other write gets through; where it fails on more, the gateway is at fault. */
const A_FEW = 3
/** So many batches of several people, and halves of them, may fail, once the patience is at its end, before one gets through. */
const MOST_HALVES = 32

/** Tries of one request that the gateway may have taken: time-outs, 5xx, answers that cannot be read. */
export interface LostTries {
  readonly count: number
  /** When the first failed, milliseconds since the epoch. */
  readonly since: number | undefined
  add(at: number): void
  /** @returns facts as of the last try that was added */
  beside(): OtherRequests
}

export type Others = ReturnType<typeof countOthers>

export function countOthers() {
  const through = { read: 0, write: 0 }
  /** Writes that failed since one got through: each registration, and batches as one. */
  const failing = new Set<unknown>()
  /** How often follow-ups failed since one of their operation got through. */
  const followUps = new Map<string, number>()
  /** Given up since a write got through: batches of several people, and people who were alone in theirs. */
  let halvesGivenUp = 0
  const peopleGivenUp = new Set<string>()

  return {
    gotThrough(purpose: Purpose, operation: string): void {
      through[sideOf(purpose)]++
      followUps.delete(operation)
      if (purpose === 'read') return
      failing.clear()
      halvesGivenUp = 0
      peopleGivenUp.clear()
    },
    /** Tells whether a batch may be given up at the end of the patience. @param people those whose records it holds */
    mayGiveUp: (people: ReadonlySet<string>): boolean =>
      people.size === 1 ? peopleGivenUp.union(people).size <= A_FEW : halvesGivenUp < MOST_HALVES,
    gaveUp(people: ReadonlySet<string>): void {
      const [person] = people
      if (people.size !== 1 || person === undefined) halvesGivenUp++
      else peopleGivenUp.add(person)
    },
    /** Tells whether one of this person alone was given up, and no write has got through since: what fails for the next is known. */
    hasGivenUp: (people: ReadonlySet<string>): boolean =>
      people.size === 1 && people.isSubsetOf(peopleGivenUp),
    lostTries(purpose: Purpose, operation: string): LostTries {
      const side = sideOf(purpose)
      let [count, since]: [number, number | undefined] = [0, undefined]
      /** How many of its kind had got through at its first failure, the last but one, and the last. */
      let first = { ...through }
      let [before, last] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
      return {
        get count() {
          return count
        },
        get since() {
          return since
        },
        add(at) {
          if (count++ === 0) {
            since = at
            first = { ...through }
          }
          before = last
          last = through[side]
          if (purpose === 'registration') failing.add(this)
          if (purpose === 'batch') failing.add(purpose)
          if (purpose === 'follow-up') followUps.set(operation, (followUps.get(operation) ?? 0) + 1)
        },
        beside: () => ({
          throughSinceFirst: last > first[side],
          throughSinceLast: last > before,
          anySinceFirst: through.read > first.read || through.write > first.write,
          failuresOfOperation: followUps.get(operation) ?? 0,
          areFewFailing: failing.size <= A_FEW,
        }),
      }
    },
  }
}

const sideOf = (purpose: Purpose): 'read' | 'write' => (purpose === 'read' ? 'read' : 'write')
