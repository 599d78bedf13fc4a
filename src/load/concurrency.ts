/**
 * How many requests may be under way at once: additive increase, multiplicative decrease (Chiu and Jain 1989), between 1 and the
 * ceiling. Pure.
 */
export interface Concurrency {
  readonly ceiling: number
  readonly allowed: number
  /** Requests that got through since the last change; as many as are allowed make it grow by one. */
  readonly succeeded: number
  /** When it was lowered last: what was sent before that says nothing about the present. Milliseconds. */
  readonly loweredAt: number
}

/** Begins at the ceiling: a gateway that bears it is never made to wait for it. */
export function beginConcurrency(ceiling: number): Concurrency {
  return { ceiling, allowed: ceiling, succeeded: 0, loweredAt: Number.NEGATIVE_INFINITY }
}

/** A ceiling below the present one changes nothing: it is that of a job that sends less than another. */
export function raiseCeiling(concurrency: Concurrency, ceiling: number): Concurrency {
  if (ceiling <= concurrency.ceiling) return concurrency
  const unhindered = concurrency.allowed === concurrency.ceiling
  return { ...concurrency, ceiling, allowed: unhindered ? ceiling : concurrency.allowed }
}

/** A request got through, as fast as it should. */
export function grow(concurrency: Concurrency): Concurrency {
  const { allowed, ceiling } = concurrency
  if (allowed >= ceiling) return concurrency
  const succeeded = concurrency.succeeded + 1
  return succeeded >= allowed
    ? { ...concurrency, allowed: allowed + 1, succeeded: 0 }
    : { ...concurrency, succeeded }
}

/** @param factor in [0, 1): what is left; of one round of requests only the first lowers it */
export function lower(
  concurrency: Concurrency,
  factor: number,
  { startedAt, now }: { readonly startedAt: number; readonly now: number },
): Concurrency {
  if (startedAt < concurrency.loweredAt) return concurrency
  const allowed = Math.max(1, Math.floor(concurrency.allowed * factor))
  return { ...concurrency, allowed, succeeded: 0, loweredAt: now }
}
