import { DateTime } from 'luxon'
import type { Age, AnswerId } from '../gateway/contract/age-assessment.ts'
import type { ScoringRule } from './assessment-definition.ts'

/** The three ages of section "Age result". */
export interface Ages {
  readonly bioAge: Age
  readonly calendarAge: Age
  /** bioAge less calendarAge: negative where the user is younger than the calendar says. */
  readonly bioAgeDelta: Age
}

/**
 * Scores a complete test by the rule of its file: the calendar age, and the months of every answer chosen, within the
 * bounds; no age is below 0. Illustrative, and of no medical meaning.
 * @param chosen ids of the answers chosen
 * @param dateOfBirth YYYY-MM-DD; the rule's own age where it is not known
 * @param onMs epoch milliseconds of the day on which the test was completed, in UTC
 */
export function score(
  rule: ScoringRule,
  chosen: readonly AnswerId[],
  dateOfBirth: string | undefined,
  onMs: number,
): Ages {
  const { year, month } = rule.ageWithoutDateOfBirth
  const calendar = dateOfBirth === undefined ? year * 12 + month : monthsSince(dateOfBirth, onMs)
  const sum = chosen.reduce<number>((months, id) => months + (rule.months[String(id)] ?? 0), 0)
  const bounded = Math.min(Math.max(sum, -rule.bounds.younger), rule.bounds.older)
  const biological = Math.max(calendar + bounded, 0)
  return {
    bioAge: ageOf(biological),
    calendarAge: ageOf(calendar),
    bioAgeDelta: ageOf(biological - calendar),
  }
}

/** Whole months from a date to the day of an instant, in UTC. */
function monthsSince(date: string, toMs: number): number {
  const utc = { zone: 'utc' }
  const to = DateTime.fromMillis(toMs, utc)
  return Math.max(Math.floor(to.diff(DateTime.fromISO(date, utc), 'months').months), 0)
}

/** Years and months of a number of months. Of a negative one both are negative or 0: -14 is -1 year and -2 months. */
function ageOf(months: number): Age {
  return { year: Math.trunc(months / 12) + 0, month: (months % 12) + 0 }
}
