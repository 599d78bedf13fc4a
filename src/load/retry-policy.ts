/**
 * What to do after a request that did not succeed. It looks only at the class of the answer (design of the wire:
 * docs/delivery.md), never at names of errors. Pure; the one place that decides on retries.
 */
import type { AnswerClass, GatewayError } from '../gateway/gateway-error.ts'

/** First upper bound of a wait, in milliseconds; it doubles with each attempt. */
const FIRST_WAIT_MS = 500
const LONGEST_WAIT_MS = 60_000

/** So often a batch, or whatever waits for one person, may end in an error of the gateway's own before the others go on without it. */
export const TRIES_OF_A_BATCH = 3
/** So often what can be repeated without harm is tried while others get through, before it is said to fail by itself. */
export const TRIES_OF_ONE = 6
/** So often the question about nobody is asked before it counts as not answered: a gateway may fail it as it fails others. */
export const QUESTIONS_ABOUT_NOBODY = 3
/** A gateway that asks for more before the question is one that answers nobody now. */
export const QUESTION_WAITS_MS = 2_000

/** What a request is for: that decides whether it may be repeated, and what it costs to give it up. */
export type Purpose =
  /** Records, which must not be sent twice. */
  | 'batch'
  /** A person is to be known to the gateway; given up, the records of that person are rejected. */
  | 'registration'
  /** A mark or a deletion behind what is stored; given up, it is owed. */
  | 'follow-up'
  /** Of a profile; given up, it tells nothing. */
  | 'read'

export interface Failure {
  readonly class: AnswerClass
  /** Attempts made, this one included. */
  readonly attempt: number
  /** Of them those that may have been taken, or were: time-outs, 5xx, answers that cannot be read. */
  readonly ambiguous: number
  readonly purpose: Purpose
  /** Whether it went out with a token that had been fetched for it just before. */
  readonly tokenRenewed: boolean
  /** Whether others of its kind, writes or reads, got through since it failed first. */
  readonly othersSinceFirst: boolean
  /** Whether they did since it failed the time before. */
  readonly othersSinceLast: boolean
}

export type Decision =
  /** Send again after a wait of its own, which gives way to a hold of all (`src/load/flow.ts`). */
  | { readonly kind: 'retry'; readonly waitMs: number }
  /** It seems to fail by itself: where the gateway answers a question about nobody, give it back; else send again. */
  | { readonly kind: 'ask'; readonly waitMs: number }
  | { readonly kind: 'renew-token' }
  /** The credentials are no good: nothing more is sent in this run. */
  | { readonly kind: 'stop' }
  /** For the caller to deal with: refused, too large, ambiguous where that must not be repeated, or failing by itself. */
  | { readonly kind: 'give-back' }

/** @param random in [0, 1): full jitter, so that requests that failed together do not return together */
export function decide(failure: Failure, random: () => number): Decision {
  switch (failure.class) {
    case 'not-sent':
      return { kind: 'retry', waitMs: jittered(failure.attempt, random) }
    case 'not-taken':
      // Such an answer holds all requests, this one with them; one that comes too late for that is waited for where it is sent.
      return { kind: 'retry', waitMs: 0 }
    case 'ambiguous':
      return decideAmbiguous(failure, random)
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

function decideAmbiguous(failure: Failure, random: () => number): Decision {
  const { purpose, ambiguous, othersSinceFirst, othersSinceLast } = failure
  if (purpose === 'batch') return { kind: 'give-back' }
  const waitMs = jittered(failure.attempt, random)
  const failsAlone = ambiguous >= TRIES_OF_ONE && (purpose === 'follow-up' || othersSinceFirst)
  if (!failsAlone) return { kind: 'retry', waitMs }
  return othersSinceLast ? { kind: 'give-back' } : { kind: 'ask', waitMs }
}

/** Wait between an answer that never came and the look into the profile, which is also that before a resend. */
export function waitBeforeReadBack(attempt: number, random: () => number): number {
  return jittered(attempt, random)
}

const jittered = (attempt: number, random: () => number): number =>
  random() * Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (attempt - 1))

/** What happened last. */
export interface Cause {
  readonly class: AnswerClass
  /** HTTP status, where there was an answer. */
  readonly status?: number | undefined
  /** The call, and its answer or what was wrong with the connection. */
  readonly what: string
}

/** Failures in a row, of whatever request; or of batches, while reads of profiles get through. */
export interface Outage extends Cause {
  /** When the first of them failed, or the batch went out that has been tried again since. */
  readonly since: number
  /** Requests that failed since. */
  readonly failures: number
  /** Whether a batch waits: then a read that gets through does not end it. */
  readonly ofBatch: boolean
  /** Whether it is worth telling. */
  readonly isNotable: boolean
}

/** A gateway that asks for a second now and then is none that is away. */
const NOTABLE_MS = 2_000

export interface FailureTimes {
  readonly begunAt: number
  readonly now: number
  /** Milliseconds for which nothing is sent now; 0: other requests are tried meanwhile. */
  readonly heldMs: number
}

/** @returns the outage with the failure, notable from when nothing has got through for two seconds, or will not have by the next try */
export function failedAgain(before: Outage | undefined, cause: Cause, times: FailureTimes): Outage {
  const { begunAt, now, heldMs } = times
  const since = before?.since ?? now
  // What hangs is silent from its beginning; the first failure may be one of many seconds.
  const silentMs = now + heldMs - Math.min(since, begunAt)
  return {
    ...cause,
    since,
    failures: (before?.failures ?? 0) + 1,
    ofBatch: before?.ofBatch ?? false,
    isNotable: before?.isNotable === true || (heldMs > 0 && silentMs >= NOTABLE_MS),
  }
}

export interface BatchWait {
  /** When it was first sent. */
  readonly since: number
  readonly now: number
  readonly waitMs: number
  /** When a batch got through last. */
  readonly takenAt: number
}

/** @returns the outage where the batch waits and no other has got through since it was sent; else what there was before */
export function batchWaits(before: Outage | undefined, cause: Cause, wait: BatchWait): Outage | undefined {
  const { since, now, waitMs, takenAt } = wait
  if (takenAt >= since) return before
  return {
    ...cause,
    since: Math.min(before?.since ?? since, since),
    failures: before?.failures ?? 1,
    ofBatch: true,
    isNotable: before?.isNotable === true || now + waitMs - since >= NOTABLE_MS,
  }
}

/** Whether somebody who was told of the one is to be told of the other: what happens is another thing, not just another call. */
export const isNews = (before: Outage | undefined, outage: Outage): boolean =>
  outage.isNotable &&
  (before?.isNotable !== true || before.class !== outage.class || before.status !== outage.status)

export const causeOf = ({ class: answer, status, message }: GatewayError): Cause => ({
  class: answer,
  status,
  what: message,
})
