/** When nothing gets through to the gateway, as one run sees it: since when, and why. Pure; instants in milliseconds since the epoch. */
import type { AnswerClass } from '../gateway/answer-class.ts'
import type { GatewayError } from '../gateway/gateway-error.ts'

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
