/** Counts, for one run, what gets through and what fails beside a request: by that a request that fails by itself is told from a gateway at fault. */
import type { OtherRequests, Purpose } from './retry-policy.ts'

/** On so many people the gateway may fail where no other write gets through; where it fails on more, the gateway is at fault. */
const A_FEW = 3
/** So many batches of several people, and halves of them, may fail, once the patience is at its end, before one gets through. */
const MOST_HALVES = 32

export class Others {
  readonly through = { read: 0, write: 0 }
  /** Writes that failed since one got through: each registration, and batches as one. */
  readonly failing = new Set<unknown>()
  /** How often follow-ups failed since one of their operation got through: where all of them do, each is tried half as often. */
  readonly followUps = new Map<string, number>()
  /** Batches of several people that were given up since a write got through. */
  private halvesGivenUp = 0
  /** People who were alone in theirs. */
  private readonly peopleGivenUp = new Set<string>()

  gotThrough(purpose: Purpose, operation: string): void {
    this.through[sideOf(purpose)]++
    this.followUps.delete(operation)
    if (purpose === 'read') return
    this.failing.clear()
    this.halvesGivenUp = 0
    this.peopleGivenUp.clear()
  }

  /**
   * Tells whether a batch may be given up at the end of the patience. Of several records halves are tried, which may get through.
   * @param people those whose records it holds
   */
  mayGiveUp(people: ReadonlySet<string>): boolean {
    if (people.size !== 1) return this.halvesGivenUp < MOST_HALVES
    return this.peopleGivenUp.union(people).size <= A_FEW
  }

  /** Counts a batch that is given up. */
  gaveUp(people: ReadonlySet<string>): void {
    if (people.size !== 1) this.halvesGivenUp++
    else for (const person of people) this.peopleGivenUp.add(person)
  }

  /** Tells whether one of this person alone was given up, and no write has got through since: what fails for the next is known. */
  hasGivenUp(people: ReadonlySet<string>): boolean {
    return people.size === 1 && people.isSubsetOf(this.peopleGivenUp)
  }

  get areFewFailing(): boolean {
    return this.failing.size <= A_FEW
  }
}

/** The lost tries of one request: answered with a time-out, a 5xx, what cannot be read. Others are counted beside them. */
export class LostTries {
  count = 0
  /** When the first failed, milliseconds since the epoch. */
  since: number | undefined
  private readonly others: Others
  private readonly purpose: Purpose
  private readonly operation: string
  /** How many of its kind had got through when it failed first, and last. */
  private first = { read: Number.POSITIVE_INFINITY, write: Number.POSITIVE_INFINITY }
  private last = Number.POSITIVE_INFINITY
  private throughSinceFirst = false
  private throughSinceLast = false

  constructor(others: Others, purpose: Purpose, operation: string) {
    this.others = others
    this.purpose = purpose
    this.operation = operation
  }

  /** Counts a try. */
  add(at: number): void {
    const { purpose, operation } = this
    const { through, failing, followUps } = this.others
    const side = sideOf(purpose)
    this.throughSinceFirst = through[side] > this.first[side]
    this.throughSinceLast = through[side] > this.last
    if (this.count === 0) this.first = { ...through }
    this.last = through[side]
    this.since ??= at
    this.count++
    if (purpose === 'registration') failing.add(this)
    if (purpose === 'batch') failing.add(purpose)
    if (purpose === 'follow-up') followUps.set(operation, (followUps.get(operation) ?? 0) + 1)
  }

  /** @returns the facts since the last try */
  beside(): OtherRequests {
    const { throughSinceFirst, throughSinceLast, first } = this
    const { through, followUps, areFewFailing } = this.others
    return {
      ...{ throughSinceFirst, throughSinceLast, areFewFailing },
      anySinceFirst: through.read > first.read || through.write > first.write,
      failuresOfOperation: followUps.get(this.operation) ?? 0,
    }
  }
}

const sideOf = (purpose: Purpose): 'read' | 'write' => (purpose === 'read' ? 'read' : 'write')
