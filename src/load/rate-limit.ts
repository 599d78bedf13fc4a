/**
 * A ceiling on requests a second that somebody has asked for, whatever the gateway takes: requests leave at even distances, and none is
 * made up for, so that in no second more of them leave. Pure.
 */
export interface RateLimit {
  /** Milliseconds from one request to the next; 0: there is no ceiling. */
  readonly distanceMs: number
  /** When the next request may leave. */
  readonly nextAt: number
}

export const rateLimit = (perSecond: number | undefined): RateLimit => ({
  distanceMs: perSecond === undefined ? 0 : 1_000 / perSecond,
  nextAt: Number.NEGATIVE_INFINITY,
})

export const mayBegin = ({ nextAt }: RateLimit): number => nextAt

export const rateBegun = (limit: RateLimit, now: number): RateLimit =>
  limit.distanceMs === 0 ? limit : { ...limit, nextAt: now + limit.distanceMs }
