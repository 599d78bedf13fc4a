/**
 * Decides the step after a failed or missing answer: one table, whose first matching line gives the step (docs/delivery.md, "After a failure").
 * Uses the class of the answer, never names of errors. Pure.
 */
import type { AnswerClass } from '../gateway/gateway-error.ts'
import { retryAfterWait } from './flow.ts'

/** First upper bound of a wait, in milliseconds; doubled with each try. */
const FIRST_WAIT_MS = 500
const LONGEST_WAIT_MS = 60_000
/** Age below which a token has not expired: after a refusal, a new one would be refused, too. */
const FRESH_MS = 60_000
/** Tries of a batch, or of requests for one person, before the rest goes on without it. */
const TRIES_OF_A_BATCH = 3
/** Tries of an idempotent request, while other requests succeed, before it fails by itself. */
const TRIES_OF_ONE = 6

/** Purpose of a request: decides whether a repeat is safe, and the cost of giving up. */
export type Purpose =
  /** Creates records, which must not be sent twice. */
  | 'batch'
  /** Registers a person; given up, the person's records are rejected. */
  | 'registration'
  /** Sends a mark or a deletion after stored records; given up, the step is owed. */
  | 'follow-up'
  /** Reads a profile; given up, nothing is learned. */
  | 'read'

/** Counts beside a lost request. */
interface OtherRequests {
  /** True where requests of the same kind, writes or reads, succeeded since the first loss, and since the try before. */
  readonly throughSinceFirst: boolean
  readonly throughSinceLast: boolean
  /** True where writes or reads succeeded since the first loss. */
  readonly anySinceFirst: boolean
  /** Failures of follow-ups of the operation since its last success. */
  readonly failuresOfOperation: number
  /** True where three at most fail since the last successful write: registrations, and batches as one. */
  readonly areFewFailing: boolean
}

/** Counts beside a batch, since the last successful write. */
interface OtherBatches {
  /** True after a batch of the same person alone was given up: the next would fail, too. */
  readonly isKnownToFail: boolean
  /** True while few batches are given up. */
  readonly mayBeGivenUp: boolean
}

interface Asked {
  /** Milliseconds left of the patience. */
  readonly leftMs: number
  /** Result of the health probe; undefined before the probe. */
  readonly answersNobody: boolean | undefined
}

/** Failed request. `leftMs` of a lost batch counts from the first failed batch after the last success. */
export interface FailedRequest extends Asked {
  readonly class: AnswerClass
  readonly purpose: Purpose
  /** Tries made, including the present one. */
  readonly tries: number
  /** Tries that the gateway may have taken. */
  readonly lost: number
  /** Milliseconds since the token was renewed for this request; Infinity without a renewal. */
  readonly tokenAgeMs: number
  readonly retryAfterMs: number | undefined
  /** Milliseconds of the present hold, and the part requested by the gateway (`src/load/flow.ts`). */
  readonly heldMs: number
  readonly askedMs: number
  readonly others: OtherRequests
}

/** Unanswered batch of records, or page of a test, before a look at the profiles. `leftMs` counts from the first try. */
export interface LostBatch extends Asked, OtherBatches {
  readonly isPage: boolean
  readonly tries: number
  /** True where the gateway answered, even with an error. */
  readonly isAnswered: boolean
}

/** Records of a batch absent from the profiles. */
interface AbsentRecords {
  /** True after an answer of success. */
  readonly isAccepted: boolean
  readonly status: number | null
  readonly tries: number
  readonly isGivenUp: boolean
  /** True where another batch succeeded since the first try. */
  readonly othersTaken: boolean
  readonly records: number
}

/** Steps of the table. `resends`: number of resends counted for a half; a half that fails once more is halved at once. */
type Decision =
  | { kind: 'retry' | 'read'; waitMs: number }
  | { kind: 'halve'; resends: number }
  | { kind: 'renew-token' | 'ask' | 'give-back' | 'give-up' | 'stop' | 'end' }

const GIVE_BACK: Decision = { kind: 'give-back' }
const ASK: Decision = { kind: 'ask' }
const GIVE_UP: Decision = { kind: 'give-up' }
const HALVE: Decision = { kind: 'halve', resends: TRIES_OF_A_BATCH - 2 }
const END: Decision = { kind: 'end' }

/** True where other requests need not wait for a request any more, and are tried first. */
export const isLate = (lost: number): boolean => lost >= TRIES_OF_A_BATCH

/** @returns undefined where the answer does not concern the credentials */
export function ofCredentials(kind: AnswerClass, tokenAgeMs: number): Decision | undefined {
  if (kind === 'not-allowed' || (kind === 'stale-token' && tokenAgeMs < FRESH_MS)) return { kind: 'stop' }
  return kind === 'stale-token' ? { kind: 'renew-token' } : undefined
}

/** @param random in [0, 1): full jitter, so that requests failing together do not return together */
export function decide(facts: FailedRequest, random: () => number): Decision {
  const { purpose, lost, leftMs, others, answersNobody } = facts
  const isLost = facts.class === 'ambiguous'
  const credentials = ofCredentials(facts.class, facts.tokenAgeMs)
  if (credentials !== undefined) return credentials
  if (!isLost && facts.class !== 'not-sent' && facts.class !== 'not-taken') return GIVE_BACK
  if (isLost && purpose === 'batch') return leftMs < 0 ? END : GIVE_BACK
  if (isLost && answersNobody === true) return GIVE_UP
  const seemsToFail =
    purpose === 'follow-up'
      ? lost >= TRIES_OF_ONE || (isLate(lost) && others.failuresOfOperation >= TRIES_OF_ONE)
      : lost >= TRIES_OF_ONE && others.throughSinceFirst
  if (isLost && seemsToFail && others.throughSinceLast) return GIVE_UP
  if (isLost && seemsToFail && answersNobody === undefined) return ASK
  const waitMs = waitOf(facts, random)
  if (waitMs === 0 || waitMs <= leftMs) return { kind: 'retry', waitMs }
  const isRegistration = purpose === 'registration'
  if (isLost && !isRegistration && others.anySinceFirst) return GIVE_UP
  const mayAsk = isLost && (!isRegistration || others.areFewFailing)
  return mayAsk && answersNobody === undefined ? ASK : END
}

/** @returns milliseconds until the next try: the length of the hold, cut to the end of the patience, except for the part requested by the gateway */
function waitOf(facts: FailedRequest, random: () => number): number {
  const { heldMs, askedMs, leftMs, retryAfterMs } = facts
  if (heldMs > 0) return leftMs > 0 ? Math.min(heldMs, Math.max(leftMs, askedMs)) : heldMs
  // The hold has ended since the request left: only the request's own answer delays it.
  if (retryAfterMs !== undefined) return retryAfterWait(retryAfterMs, random)
  return facts.class === 'not-taken' ? 0 : jittered(facts.tries, random)
}

/** @param random as for `decide` */
export function decideLost(facts: LostBatch, random: () => number): Decision {
  const { tries, leftMs, answersNobody } = facts
  if (facts.isPage && isLate(tries)) return GIVE_UP
  const isOver = leftMs <= 0 || (isLate(tries) && facts.isKnownToFail)
  if (answersNobody === true && facts.mayBeGivenUp) return HALVE
  if (isOver && facts.isAnswered && facts.mayBeGivenUp && answersNobody === undefined) return ASK
  if (leftMs <= 0) return END
  return { kind: 'read', waitMs: Math.min(jittered(tries, random), leftMs) }
}

export function decideAbsent({ isAccepted, isGivenUp, othersTaken, ...facts }: AbsentRecords): Decision {
  if (isAccepted && facts.tries > 1) return GIVE_UP
  const failsAlone = (facts.status ?? 0) >= 500 && isLate(facts.tries) && othersTaken
  if (!isGivenUp && !failsAlone) return { kind: 'retry', waitMs: 0 }
  return facts.records > 1 ? HALVE : GIVE_UP
}

const jittered = (tries: number, random: () => number): number =>
  random() * Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (tries - 1))

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
