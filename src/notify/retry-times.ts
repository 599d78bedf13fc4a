/** When delivery is tried: a few times at once, then at growing intervals, then no more. Pure. */

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/** Waits between the tries of a notification that is new. */
export const QUICK_WAITS_MS = [SECOND, 3 * SECOND] as const

/** A pass is over after so long, whatever receivers do: a run that cron has started must come to its end. */
export const PASS_MS = 10 * SECOND

/** With less than that until then no try is begun. */
export const LEAST_MS = 2 * SECOND

/** A process that has claimed a notification and not said what became of it for so long is dead. */
export const CLAIM_MS = 2 * MINUTE

/** A night and a half: a job that cron runs once a night tries again the next night. */
export const GIVE_UP_AFTER_MS = 36 * HOUR

const INTERVALS_MS = [MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR, 3 * HOUR] as const
const LONGEST_INTERVAL_MS = 6 * HOUR

/**
 * @param attempts those that were made, the last one included
 * @returns undefined where it is given up
 */
export function nextTry(attempts: number, createdAt: number, now: number): number | undefined {
  const next = now + (INTERVALS_MS[attempts - 1] ?? LONGEST_INTERVAL_MS)
  return now - createdAt >= GIVE_UP_AFTER_MS ? undefined : next
}
