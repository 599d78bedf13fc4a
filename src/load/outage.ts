/** Outage of a gateway: start of the silence, by request and by batch, and its notices. One for each run. */
import type { AnswerClass, GatewayError } from '../gateway/gateway-error.ts'
import type { Purpose } from './retry-policy.ts'

/** Last failure. */
export interface Cause {
  readonly class: AnswerClass
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
  /** Reports a new kind of failure, not just another call. */
  const goesOn = (next: Outage): void => {
    const before = outage
    outage = next
    if (!next.isNotable) return
    if (before?.isNotable !== true || before.class !== next.class || before.status !== next.status)
      report(next, false)
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
    /**
     * The outage is notable once two seconds without a success have passed, or will have passed by the next try.
     * @param begunAt time when the request left: a hanging request is silent from its start
     * @param heldMs milliseconds for which nothing is sent now; 0: other requests are tried meanwhile
     */
    failed(cause: Cause, begunAt: number, heldMs: number): void {
      const at = now()
      const isFirst = watch.failingSince === undefined
      if (cause.status === TOO_MANY_REQUESTS) isSlowedAlone ||= isFirst
      else {
        if (isSlowedAlone) watch.failingSince = undefined
        isSlowedAlone = false
      }
      watch.failingSince ??= at
      const { since = at, failures = 0, ofBatch = false, isNotable = false } = outage ?? {}
      const silentMs = at + heldMs - Math.min(since, begunAt)
      const isSilent = heldMs > 0 && silentMs >= NOTABLE_MS
      goesOn({ ...cause, since, failures: failures + 1, ofBatch, isNotable: isNotable || isSilent })
    },
    /**
     * Ignored where another batch has succeeded since the first try.
     * @param since first try of the batch
     */
    batchWaits(cause: Cause, since: number, waitMs: number): void {
      if (takenAt >= since) return
      const { failures = 1, isNotable = false } = outage ?? {}
      const isLong = now() + waitMs - since >= NOTABLE_MS
      goesOn({
        ...cause,
        since: Math.min(outage?.since ?? since, since),
        failures,
        ofBatch: true,
        isNotable: isNotable || isLong,
      })
    },
    end(): void {
      if (outage?.isNotable === true) report(outage, true)
      outage = undefined
    },
  }
  return watch
}
