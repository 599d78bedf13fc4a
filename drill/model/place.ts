/** Order of exports: a nightly one is as new as its arrival; a backfilled one belongs behind the last night that is not later than its own day. */

export interface Night {
  /** Row of the export in the ledger. */
  readonly arrival: number
  /** Days since 1970 in its name; undefined without a date. */
  readonly day: number | undefined
}

/**
 * @param day of a backfilled export that no run has read before
 * @param nights nightly exports read so far
 * @returns arrival of the newest night that is not later; 0 where there is none, or no date to tell: below all nights
 */
export function placeOfExport(day: number | undefined, nights: readonly Night[]): number {
  if (day === undefined) return 0
  const earlier = nights.flatMap((night) =>
    night.day !== undefined && night.day <= day ? [night.arrival] : [],
  )
  return Math.max(0, ...earlier)
}
