/** What a cron line says: five fields of numbers, as node-cron reads them. Instants are shown by its zone. */

import { DateTime } from 'luxon'
import { validateDetailed } from 'node-cron'

export interface CronLine {
  readonly minutes: readonly number[]
  /** Undefined: every hour. */
  readonly hours: readonly number[] | undefined
  readonly days: ReadonlySet<number>
  /** 1 to 12. */
  readonly months: ReadonlySet<number>
  /** 0 is Sunday. */
  readonly weekdays: ReadonlySet<number>
}

const EXAMPLE = 'write it like "15 2 * * *" (minute, hour, day, month, weekday)'

const FIELDS: Readonly<Record<string, string>> = {
  minute: 'minute',
  hour: 'hour',
  dayOfMonth: 'day',
  month: 'month',
  dayOfWeek: 'weekday',
}

/** @returns the line, or what is wrong with it, with an example */
export function readCronLine(text: string): CronLine | { readonly problem: string } {
  const { fields, errors } = validateDetailed(text)
  const wrong = (what: string) => ({ problem: `${what}; ${EXAMPLE}` })
  if (fields === undefined) {
    const named = errors.flatMap(({ field, value }) =>
      FIELDS[field] === undefined ? [] : [`its ${FIELDS[field]} cannot be "${value}"`],
    )
    return wrong(['is no cron line', ...named].join(', '))
  }
  if (/^\S+(\s+\S+){5}$/.test(text.trim())) return wrong('has a field too many: seconds are not taken')
  const days = new Set(fields.dayOfMonth.filter((day) => typeof day === 'number'))
  const weekdays = new Set(fields.dayOfWeek.filter((day) => typeof day === 'number'))
  const isPlain = [...fields.dayOfMonth, ...fields.dayOfWeek].every((day) => typeof day === 'number')
  if (!isPlain) return wrong('has a day or weekday with L, W or #, which are not taken')
  // crontab(5) takes a day that fits either, other programs one that fits both.
  if (days.size < 31 && weekdays.size < 7)
    return wrong('has both day and weekday, which cron programs read in two ways: leave one of them *')
  const hours = ascending(fields.hour)
  return {
    minutes: ascending(fields.minute),
    hours: hours.length === 24 ? undefined : hours,
    days,
    months: new Set(fields.month),
    weekdays,
  }
}

const ascending = (values: readonly number[]): number[] => [...new Set(values)].sort((a, b) => a - b)

/** `Sun 2026-11-01 01:30 -04:00`, by the clock of the zone. */
export const localTime = (at: number, zone: string): string =>
  DateTime.fromMillis(at, { zone }).setLocale('en').toFormat('ccc yyyy-MM-dd HH:mm ZZ')
