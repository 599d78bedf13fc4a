/** Outage of a gateway: start of the silence, by request and by batch, and its notices. One for each run. */
import type { AnswerClass, GatewayError } from '../gateway/gateway-error.ts'
import type { Purpose } from './retry-policy.ts'

/** Last failure. */
export interface Cause {
  readonly class: AnswerClass
  /** HTTP status, where there was an answer. */
  readonly status?: number | undefined
  /** The call, and its answer or the fault of the connection. */
  readonly what: string
}

export const causeOf = ({ class: answer, status, message }: GatewayError): Cause => ({
  class: answer,
  status,
  what: message,
})

/** Failures in a row, of any request; or of batches, while reads succeed. */
interface Outage extends Cause {
  /** First failure, or first try of the waiting batch. */
  readonly since: number
  readonly failures: number
  /** True while a batch waits: a successful read does not end the outage. */
  readonly ofBatch: boolean
  readonly isNotable: boolean
}

export interface ReportedOutage extends Outage {
  readonly isOver: boolean
  /** End of the run, unless a request succeeds. */
  readonly givesUpAt: number
}

/**
 * Least patience with a gateway that answers 429 alone, in milliseconds: it is there. One that refuses half of all requests at random goes on so
 * for 24 tries once in 16 million.
 */
const SLOWED_MS = 5 * 60_000
const TOO_MANY_REQUESTS = 429

/** Occasional waits of a second are not an outage. */
const NOTABLE_MS = 2_000

/**
 * @param times heldMs: milliseconds for which nothing is sent now; 0: other requests are tried meanwhile
 * @returns the outage with the failure, notable once two seconds without a success have passed, or will have passed by the next try
 */
export function failedAgain(
  before: Outage | undefined,
  cause: Cause,
  { begunAt, now, heldMs }: Record<'begunAt' | 'now' | 'heldMs', number>,
): Outage {
  const since = before?.since ?? now
  // A hanging request is silent from its start: its first failure may come after many seconds.
  const silentMs = now + heldMs - Math.min(since, begunAt)
  return {
    ...cause,
    since,
    failures: (before?.failures ?? 0) + 1,
    ofBatch: before?.ofBatch ?? false,
    isNotable: before?.isNotable === true || (heldMs > 0 && silentMs >= NOTABLE_MS),
  }
}

/**
 * @param wait since: first try of the batch; takenAt: last success of a batch
 * @returns the outage where the batch waits and no other batch has succeeded since its first try; else the outage before
 */
export function batchWaits(
  before: Outage | undefined,
  cause: Cause,
  { since, now, waitMs, takenAt }: Record<'since' | 'now' | 'waitMs' | 'takenAt', number>,
): Outage | undefined {
  if (takenAt >= since) return before
  return {
    ...cause,
    since: Math.min(before?.since ?? since, since),
    failures: before?.failures ?? 1,
    ofBatch: true,
    isNotable: before?.isNotable === true || now + waitMs - since >= NOTABLE_MS,
  }
}

/** True for a new kind of failure, not just another call. */
export const isNews = (before: Outage | undefined, outage: Outage): boolean =>
  outage.isNotable &&
  (before?.isNotable !== true || before.class !== outage.class || before.status !== outage.status)

export interface OutageOptions {
  /** Milliseconds without a success, or without one for a batch, until the run ends as interrupted. */
  readonly patienceMs: number
  readonly now: () => number
  /** Called at the start of a notable outage, with a new cause, and at its end. */
  readonly onOutage: (outage: ReportedOutage) => void
}

export function watchOutage({ patienceMs, now, onOutage }: OutageOptions) {
  let outage: Outage | undefined
  let takenAt = Number.NEGATIVE_INFINITY
  /** True while the failures in a row are answers 429. */
  let isSlowedAlone = false
  const patience = (): number => (isSlowedAlone ? Math.max(patienceMs, SLOWED_MS) : patienceMs)
  const report = (one: Outage, isOver: boolean): void =>
    onOutage({ ...one, isOver, givesUpAt: one.since + patience() })
  const goesOn = (next: Outage | undefined): void => {
    if (next !== undefined && isNews(outage, next)) report(next, false)
    outage = next
  }
  const watch = {
    /** Milliseconds of failures in a row until the run ends. */
    patienceMs: patience,
    /** Time of the first failure in a row, not of the last answer: a long time with nothing to send is not a silence. */
    failingSince: undefined as number | undefined,
    /** Time since which batches fail and none succeeds: successful reads alone are no reason to send more. */
    noneTakenSince: undefined as number | undefined,
    gotThrough(purpose: Purpose): void {
      watch.failingSince = undefined
      isSlowedAlone = false
      if (purpose === 'batch') {
        takenAt = now()
        watch.noneTakenSince = undefined
      }
      if (outage?.ofBatch !== true || purpose === 'batch') watch.end()
    },
    /** @param begunAt time when the request left */
    failed(cause: Cause, begunAt: number, heldMs: number): void {
      const at = now()
      const isFirst = watch.failingSince === undefined
      if (cause.status === TOO_MANY_REQUESTS) isSlowedAlone ||= isFirst
      else {
        if (isSlowedAlone) watch.failingSince = undefined
        isSlowedAlone = false
      }
      watch.failingSince ??= at
      goesOn(failedAgain(outage, cause, { begunAt, now: at, heldMs }))
    },
    /** @param since first try of the batch */
    batchWaits(cause: Cause, since: number, waitMs: number): void {
      goesOn(batchWaits(outage, cause, { since, now: now(), waitMs, takenAt }))
    },
    end(): void {
      if (outage?.isNotable === true) report(outage, true)
      outage = undefined
    },
  }
  return watch
}
