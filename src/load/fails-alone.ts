/**
 * Whether a request fails by itself, while the gateway takes others of its kind, or the gateway is at fault. What gets through and
 * what fails is counted here for one run; what follows from it is decided by `src/load/retry-policy.ts`.
 */
import { type Failure, type Purpose, TRIES_OF_A_BATCH, TRIES_OF_ONE } from './retry-policy.ts'

/** On so many people the gateway may fail where no other write gets through; where it fails on more, the gateway is at fault. */
const A_FEW = 3
/** So many batches of several people, and halves of them, may fail, once the patience is at its end, before one gets through. */
const MOST_HALVES = 32

export interface Others {
  gotThrough(purpose: Purpose, operation: string): void
  /**
   * Whether a batch may be given up at the end of the patience. Of several records halves are tried, which may get through.
   * @param people those whose records it holds
   */
  mayGiveUpBatch(people: ReadonlySet<string>): boolean
  /** Whether one of this person alone was given up, and no write has got through since: what fails for the next is known. */
  hasGivenUp(people: ReadonlySet<string>): boolean
  /** A request that is about to be sent. */
  request(purpose: Purpose, operation: string): Alone
}

/** One request, over all of its tries. */
export interface Alone {
  /** Tries that may have been taken, or were. */
  readonly ambiguous: number
  /** When the first of them failed, milliseconds since the epoch. */
  readonly since: number | undefined
  /** Counts such a try. */
  failed(at: number): Pick<Failure, 'ambiguous' | 'othersSinceFirst' | 'othersSinceLast'>
  /** Whether it may be given up at the end of the patience: `ask` where the gateway then answers a question about nobody. */
  atEnd(): 'give-up' | 'ask' | 'stop'
}

export function countOthers(): Others {
  const through = { read: 0, write: 0 }
  /** Writes that failed since one got through: each registration, and batches as one. */
  const failing = new Set<unknown>()
  /** How often follow-ups failed since one of their operation got through: where all of them do, each is tried half as often. */
  const followUps = new Map<string, number>()

  /** Since a write got through: batches of several people, and people who were alone in theirs. */
  const noneGivenUp = () => ({ batches: 0, people: new Set<string>() })
  let givenUp = noneGivenUp()

  return {
    gotThrough(purpose, operation) {
      through[sideOf(purpose)]++
      if (purpose !== 'read') {
        failing.clear()
        givenUp = noneGivenUp()
      }
      followUps.delete(operation)
    },
    mayGiveUpBatch(people) {
      const [person, ...more] = people
      if (person !== undefined && more.length === 0) givenUp.people.add(person)
      else givenUp.batches++
      return givenUp.batches <= MOST_HALVES && givenUp.people.size <= A_FEW
    },
    hasGivenUp: (people) => people.size === 1 && people.isSubsetOf(givenUp.people),
    request(purpose, operation) {
      const side = sideOf(purpose)
      let first: { readonly at: number; readonly through: typeof through } | undefined
      let last = 0
      let ambiguous = 0
      const alone: Alone = {
        get ambiguous() {
          return ambiguous
        },
        get since() {
          return first?.at
        },
        failed(at) {
          const othersSinceFirst = first !== undefined && through[side] > first.through[side]
          const othersSinceLast = first !== undefined && through[side] > last
          first ??= { at, through: { ...through } }
          last = through[side]
          ambiguous++
          if (purpose === 'registration') failing.add(alone)
          if (purpose === 'batch') failing.add(purpose)
          if (purpose === 'follow-up') followUps.set(operation, (followUps.get(operation) ?? 0) + 1)
          const isEnough = ambiguous >= TRIES_OF_A_BATCH && (followUps.get(operation) ?? 0) >= TRIES_OF_ONE
          return {
            ambiguous: isEnough ? Math.max(ambiguous, TRIES_OF_ONE) : ambiguous,
            othersSinceFirst,
            othersSinceLast,
          }
        },
        atEnd() {
          if (first === undefined || purpose === 'batch') return 'stop'
          if (purpose === 'registration') return failing.size <= A_FEW ? 'ask' : 'stop'
          const { read, write } = first.through
          return through.read > read || through.write > write ? 'give-up' : 'ask'
        },
      }
      return alone
    },
  }
}

const sideOf = (purpose: Purpose): 'read' | 'write' => (purpose === 'read' ? 'read' : 'write')
