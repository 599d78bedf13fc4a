/** Outage of a gateway: since when nothing gets through, by request and by batch, and what is told of it. One for each run. */
import type { AnswerClass, GatewayError } from '../gateway/gateway-error.ts'
import type { Purpose } from './retry-policy.ts'

/** Last failure. */
export interface Cause {
  readonly class: AnswerClass
  /** HTTP status, where there was an answer. */
  readonly status?: number | undefined
  /** The call, and its answer or what was wrong with the connection. */
  readonly what: string
}

export const causeOf = ({ class: answer, status, message }: GatewayError): Cause => ({
  class: answer,
  status,
  what: message,
})

/** Failures in a row, of any request; or of batches, while reads get through. */
export interface Outage extends Cause {
  /** First failure, or first try of the batch that waits. */
  readonly since: number
  readonly failures: number
  /** A batch waits: a read that gets through does not end it. */
  readonly ofBatch: boolean
  readonly isNotable: boolean
}

export interface ToldOutage extends Outage {
  readonly isOver: boolean
  /** End of the run, unless something gets through. */
  readonly givesUpAt: number
}

/** Occasional waits of a second are not an outage. */
const NOTABLE_MS = 2_000

/**
 * @param times heldMs: milliseconds for which nothing is sent now; 0: other requests are tried meanwhile
 * @returns the outage with the failure, notable from when nothing has got through for two seconds, or will not have by the next try
 */
export function failedAgain(
  before: Outage | undefined,
  cause: Cause,
  { begunAt, now, heldMs }: Record<'begunAt' | 'now' | 'heldMs', number>,
): Outage {
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

/**
 * @param wait since: when the batch was first sent; takenAt: when one got through last
 * @returns the outage where the batch waits and no other has got through since it was sent; else what there was before
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

/** Tells that another thing happens, not just another call. */
export const isNews = (before: Outage | undefined, outage: Outage): boolean =>
  outage.isNotable &&
  (before?.isNotable !== true || before.class !== outage.class || before.status !== outage.status)

export interface OutageOptions {
  /** Milliseconds in which nothing gets through, or one batch does not, after which the run ends as interrupted. */
  readonly patienceMs: number
  readonly now: () => number
  /** Told of the beginning of a notable outage, of another cause, and of its end. */
  readonly onOutage: (outage: ToldOutage) => void
}

export type OutageWatch = ReturnType<typeof watchOutage>

export function watchOutage({ patienceMs, now, onOutage }: OutageOptions) {
  let outage: Outage | undefined
  let takenAt = Number.NEGATIVE_INFINITY
  const tell = (told: Outage, isOver: boolean): void =>
    onOutage({ ...told, isOver, givesUpAt: told.since + patienceMs })
  const goesOn = (next: Outage | undefined): void => {
    if (next !== undefined && isNews(outage, next)) tell(next, false)
    outage = next
  }
  const watch = {
    /** Moment of the first failure in a row, not of the last answer: a long stretch in which there was nothing to send is no silence. */
    failingSince: undefined as number | undefined,
    /** Moment since which batches fail and none was taken: reads that get through, and tell nothing, are no sign that more should be sent. */
    noneTakenSince: undefined as number | undefined,
    gotThrough(purpose: Purpose): void {
      watch.failingSince = undefined
      if (purpose === 'batch') {
        takenAt = now()
        watch.noneTakenSince = undefined
      }
      if (outage?.ofBatch !== true || purpose === 'batch') watch.end()
    },
    /** @param begunAt when the request left */
    failed(cause: Cause, begunAt: number, heldMs: number): void {
      const at = now()
      watch.failingSince ??= at
      goesOn(failedAgain(outage, cause, { begunAt, now: at, heldMs }))
    },
    /** @param since when the batch was first sent */
    batchWaits(cause: Cause, since: number, waitMs: number): void {
      goesOn(batchWaits(outage, cause, { since, now: now(), waitMs, takenAt }))
    },
    end(): void {
      if (outage?.isNotable === true) tell(outage, true)
      outage = undefined
    },
  }
  return watch
}
