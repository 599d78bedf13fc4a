/** Counts successes and failures of a run, to distinguish a request that fails by itself from a gateway at fault. */
import type { OtherBatches, OtherRequests, Purpose } from './retry-policy.ts'

/** Most people on whom the gateway may fail while no write succeeds; with more people, the gateway is at fault. */
const A_FEW = 3
/** Most batches of several people, and halves, that may fail at the end of the patience before a batch succeeds. */
const MOST_HALVES = 32

export function countOthers() {
  const through = { read: 0, write: 0 }
  /** Writes that failed since the last success: each registration, and all batches as one. */
  const failing = new Set<unknown>()
  /** Failures of follow-ups since the last success of their operation. */
  const followUps = new Map<string, number>()
  /** Batches of several people, and people alone in their batch, given up since the last successful write. */
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
    /** @param people with records in a batch */
    besideBatch: (people: ReadonlySet<string>): OtherBatches => ({
      isKnownToFail: people.size === 1 && people.isSubsetOf(peopleGivenUp),
      mayBeGivenUp:
        people.size === 1 ? peopleGivenUp.union(people).size <= A_FEW : halvesGivenUp < MOST_HALVES,
    }),
    gaveUp(people: ReadonlySet<string>): void {
      const [person] = people
      if (people.size !== 1 || person === undefined) halvesGivenUp++
      else peopleGivenUp.add(person)
    },
    /** Tries of one request that the gateway may have taken: timeouts, 5xx, unreadable answers. */
    lostTries(purpose: Purpose, operation: string) {
      const side = sideOf(purpose)
      /** Counts of successes at the first failure of the request; successes of its kind at the last failure but one, and at the last. */
      let first = through
      let [before, last] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
      const tries = {
        count: 0,
        /** Time of the first failure, milliseconds since the epoch. */
        since: undefined as number | undefined,
        add(at: number): void {
          if (tries.count++ === 0) {
            tries.since = at
            first = { ...through }
          }
          before = last
          last = through[side]
          if (purpose === 'registration') failing.add(tries)
          if (purpose === 'batch') failing.add(purpose)
          if (purpose === 'follow-up') followUps.set(operation, (followUps.get(operation) ?? 0) + 1)
        },
        /** @returns facts as of the last try added */
        beside: (): OtherRequests => ({
          throughSinceFirst: last > first[side],
          throughSinceLast: last > before,
          anySinceFirst: through.read > first.read || through.write > first.write,
          failuresOfOperation: followUps.get(operation) ?? 0,
          areFewFailing: failing.size <= A_FEW,
        }),
      }
      return tries
    },
  }
}

const sideOf = (purpose: Purpose): 'read' | 'write' => (purpose === 'read' ? 'read' : 'write')
