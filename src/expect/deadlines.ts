/** When exports must have arrived: the instants of a cron line (docs/decisions/0017-daylight-saving.md). Pure. */
import { firesAfter, firesBetween, type Timetable } from '../schedule/fires.ts'

/** Instants: milliseconds since the epoch. */
export interface Deadline {
  /** The one before: what was there by then counts for that. */
  readonly previous: number
  readonly due: number
  readonly next: number
}

const DAY = 24 * 60 * 60_000
/** How far back is looked for two of them: days, so that each minute is not a million, and decades for a 29th of February. */
const REACHES = [2, 10, 70, 800, 6_000]

/**
 * The latest one that has passed.
 * @param until it may be this instant
 * @returns undefined where there were not two in many years
 */
export function latestDeadline(timetable: Timetable, until: number): Deadline | undefined {
  for (const days of REACHES) {
    const [previous, due] = firesBetween(timetable, until - days * DAY, until, 2)
    if (previous !== undefined && due !== undefined)
      return { previous, due, next: firesAfter(timetable, due).next().value }
  }
  return undefined
}

/** Halfway to the next one: what comes until then after one that was missed is taken to be late for it. */
export const lateUntil = ({ due, next }: Pick<Deadline, 'due' | 'next'>): number => (due + next) / 2
