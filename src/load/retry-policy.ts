/**
 * Decides what follows from an answer that is no success, or from none: one table, of which the first line that holds gives the step
 * (docs/delivery.md, "What follows from a failure"). It looks at the class of the answer, never at names of errors. Pure.
 */
import type { AnswerClass } from '../gateway/gateway-error.ts'
import { asTold } from './flow.ts'

/** First upper bound of a wait, in milliseconds; it doubles with each try. */
const FIRST_WAIT_MS = 500
const LONGEST_WAIT_MS = 60_000
/** A token that was fetched so shortly before has not run out: where it is refused, the next one would be, too. */
const FRESH_MS = 60_000
/** Tries of a batch, or of whatever waits for one person, before the others go on without it. */
const TRIES_OF_A_BATCH = 3
/** Tries of what can be repeated without harm, while others get through, before it fails by itself. */
const TRIES_OF_ONE = 6
/** Tries of the question about nobody: a gateway may fail it as it fails others. */
export const QUESTIONS_ABOUT_NOBODY = 3
/** A gateway that asks for more before the question is one that answers nobody now. */
export const QUESTION_WAITS_MS = 2_000

/** Tells whether a request may be repeated, and what it costs to give it up. */
export type Purpose =
  /** Records, which must not be sent twice. */
  | 'batch'
  /** A person is to be known to the gateway; given up, the records of that person are rejected. */
  | 'registration'
  /** A mark or a deletion behind what is stored; given up, it is owed. */
  | 'follow-up'
  /** Of a profile; given up, it tells nothing. */
  | 'read'

/** Counts beside a request that was lost. */
export interface OtherRequests {
  /** Others of its kind, writes or reads, got through since it was lost first, and since the try before. */
  readonly throughSinceFirst: boolean
  readonly throughSinceLast: boolean
  /** Writes or reads got through since it was lost first. */
  readonly anySinceFirst: boolean
  /** Failures of follow-ups of its operation since one of them got through. */
  readonly failuresOfOperation: number
  /** Three at most fail since a write got through: registrations, and batches as one. */
  readonly areFewFailing: boolean
}

/** Counts beside a batch, since a write got through. */
export interface OtherBatches {
  /** One of the same person alone was given up: the failure of the next is known. */
  readonly isKnownToFail: boolean
  /** Few others were given up. */
  readonly mayBeGivenUp: boolean
}

interface Asked {
  /** Milliseconds that are left of the patience. */
  readonly leftMs: number
  /** The gateway's answer to the question about nobody; undefined: not asked yet. */
  readonly answersNobody: boolean | undefined
}

/** `leftMs` of a lost batch: since none was taken. */
export interface FailedRequest extends Asked {
  readonly of: 'request'
  readonly class: AnswerClass
  readonly purpose: Purpose
  /** Tries made, this one included. */
  readonly tries: number
  /** Tries that the gateway may have taken. */
  readonly lost: number
  /** Milliseconds since the token was fetched for this request; Infinity: it was not. */
  readonly tokenAgeMs: number
  readonly retryAfterMs: number | undefined
  /** Milliseconds for which nothing is sent now, and those of them that the gateway has asked for (`src/load/flow.ts`). */
  readonly heldMs: number
  readonly askedMs: number
  readonly others: OtherRequests
}

/** A batch of records, or a page of a test, without an answer, before it is looked for. `leftMs`: since it was first sent. */
export interface LostBatch extends Asked, OtherBatches {
  readonly of: 'lost batch'
  readonly isPage: boolean
  readonly tries: number
  /** The gateway answered, if only with an error. */
  readonly isAnswered: boolean
}

/** Records of a batch that the profiles do not show. */
export interface AbsentRecords {
  readonly of: 'absent records'
  /** The answer was one of success. */
  readonly isAccepted: boolean
  readonly status: number | null
  readonly tries: number
  readonly isGivenUp: boolean
  /** Another batch was taken since theirs was first sent. */
  readonly othersTaken: boolean
  readonly records: number
}

export type Facts = FailedRequest | LostBatch | AbsentRecords

/** Steps of the table. `resends`: how often a half counts as sent again; one that fails once more is halved at once. */
export type Decision =
  | { readonly kind: 'retry' | 'read'; readonly waitMs: number }
  | { readonly kind: 'halve'; readonly resends: number }
  | { readonly kind: 'renew-token' | 'ask' | 'give-back' | 'give-up' | 'stop' | 'end' }

const GIVE_BACK: Decision = { kind: 'give-back' }
const ASK: Decision = { kind: 'ask' }
const GIVE_UP: Decision = { kind: 'give-up' }
const HALVE: Decision = { kind: 'halve', resends: TRIES_OF_A_BATCH - 2 }
const END: Decision = { kind: 'end' }

/** @param random in [0, 1): full jitter, so that requests that failed together do not return together */
export function decide(facts: Facts, random: () => number): Decision {
  switch (facts.of) {
    case 'request':
      return decideRequest(facts, random)
    case 'lost batch':
      return decideLost(facts, random)
    case 'absent records':
      return decideAbsent(facts)
  }
}

/** Tells that others need not wait for a request any more, and are tried before it. */
export const isLate = (lost: number): boolean => lost >= TRIES_OF_A_BATCH

/** @returns undefined where the answer says nothing of the credentials */
export function ofCredentials(kind: AnswerClass, tokenAgeMs: number): Decision | undefined {
  if (kind === 'not-allowed' || (kind === 'stale-token' && tokenAgeMs < FRESH_MS)) return { kind: 'stop' }
  return kind === 'stale-token' ? { kind: 'renew-token' } : undefined
}

function decideRequest(facts: FailedRequest, random: () => number): Decision {
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

/** @returns milliseconds until the next try: as long as all are held, but what the gateway has not asked for gives way to the end of the patience */
function waitOf(facts: FailedRequest, random: () => number): number {
  const { heldMs, askedMs, leftMs, retryAfterMs } = facts
  if (heldMs > 0) return leftMs > 0 ? Math.min(heldMs, Math.max(leftMs, askedMs)) : heldMs
  // Sending was held and is no more since the request left: its own answer alone holds it.
  if (retryAfterMs !== undefined) return asTold(retryAfterMs, random)
  return facts.class === 'not-taken' ? 0 : jittered(facts.tries, random)
}

function decideLost(facts: LostBatch, random: () => number): Decision {
  const { tries, leftMs, answersNobody } = facts
  if (facts.isPage && isLate(tries)) return GIVE_UP
  const isOver = leftMs <= 0 || (isLate(tries) && facts.isKnownToFail)
  if (answersNobody === true && facts.mayBeGivenUp) return HALVE
  if (isOver && facts.isAnswered && facts.mayBeGivenUp && answersNobody === undefined) return ASK
  if (leftMs <= 0) return END
  return { kind: 'read', waitMs: Math.min(jittered(tries, random), leftMs) }
}

function decideAbsent({ isAccepted, isGivenUp, othersTaken, ...facts }: AbsentRecords): Decision {
  if (isAccepted && facts.tries > 1) return GIVE_UP
  const failsAlone = (facts.status ?? 0) >= 500 && isLate(facts.tries) && othersTaken
  if (!isGivenUp && !failsAlone) return { kind: 'retry', waitMs: 0 }
  return facts.records > 1 ? HALVE : GIVE_UP
}

const jittered = (tries: number, random: () => number): number =>
  random() * Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (tries - 1))
