/** Whether a record's date can be right, by the clock and by the person's date of birth. Pure. */
import type { Issue, PreparedRecord } from '../model/record.ts'
import type { Checker } from './checks.ts'

const HOUR = 3_600_000
/** Clocks go wrong, and a zone may be told wrongly: nothing is called future before a day has passed. */
const TOLERANCE = 24 * HOUR
/** The day of birth begins nowhere earlier than 14 hours before it does in UTC (Pacific/Kiritimati). */
const EARLIEST_ZONE = 14 * HOUR

const FUTURE: Issue = {
  stage: 'transform',
  code: 'date-in-future',
  message: 'the date lies more than a day in the future',
}
const UNBORN: Issue = {
  stage: 'transform',
  code: 'date-before-birth',
  message: "the date lies before the person's date of birth",
}

/** @param born first instant of the day of birth in UTC, milliseconds; -Infinity where it is not known */
export type DateCheck = (record: PreparedRecord, born: number) => Issue | undefined

/** @param now milliseconds since the epoch */
export function compileDateCheck(checks: Checker, now: number): DateCheck {
  const latest = checks.effects['future-date'] === 'off' ? Number.POSITIVE_INFINITY : now + TOLERANCE
  return ({ kind, rule, observedAt }, born) => {
    if (observedAt > latest) return checks.found('future-date', kind, rule, FUTURE)
    if (observedAt < born - EARLIEST_ZONE) return checks.found('before-birth', kind, rule, UNBORN)
    return undefined
  }
}
