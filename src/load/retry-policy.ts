/**
 * What to do after a request that did not succeed. It looks only at the class of the answer (design of the wire:
 * docs/delivery.md), never at names of errors. Pure; the one place that decides on retries.
 */
import type { AnswerClass } from '../gateway/answer-class.ts'

/** First upper bound of a wait, in milliseconds; it doubles with each attempt. */
const FIRST_WAIT_MS = 500
const LONGEST_WAIT_MS = 60_000

export interface Failure {
  readonly class: AnswerClass
  /** Attempts made, this one included. */
  readonly attempt: number
  /** Whether doing it twice is the same as doing it once: reads, registrations, the PCP mark. */
  readonly idempotent: boolean
  readonly tokenRenewed: boolean
}

export type Decision =
  /** Send again after a wait of its own, which gives way to a hold of all (`src/load/breaker.ts`). */
  | { readonly kind: 'retry'; readonly waitMs: number }
  | { readonly kind: 'renew-token' }
  /** The credentials are no good: nothing more is sent in this run. */
  | { readonly kind: 'stop' }
  /** For the caller to deal with: refused, too large, or ambiguous. */
  | { readonly kind: 'give-back' }

/** @param random in [0, 1): full jitter, so that requests that failed together do not return together */
export function decide(failure: Failure, random: () => number): Decision {
  switch (failure.class) {
    case 'not-sent':
      return { kind: 'retry', waitMs: jittered(failure.attempt, random) }
    case 'not-taken':
      // Such an answer holds all requests, this one with them.
      return { kind: 'retry', waitMs: 0 }
    case 'ambiguous':
      return failure.idempotent
        ? { kind: 'retry', waitMs: jittered(failure.attempt, random) }
        : { kind: 'give-back' }
    case 'stale-token':
      return failure.tokenRenewed ? { kind: 'stop' } : { kind: 'renew-token' }
    case 'not-allowed':
      return { kind: 'stop' }
    case 'refused':
    case 'too-large':
    case 'accepted':
    case 'accepted-in-part':
      return { kind: 'give-back' }
  }
}

/** Wait between an answer that never came and the look into the profile, which is also that before a resend. */
export function waitBeforeReadBack(attempt: number, random: () => number): number {
  return jittered(attempt, random)
}

const jittered = (attempt: number, random: () => number): number =>
  random() * Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (attempt - 1))
