/**
 * The instants at which a cron line is due in a time zone. Pure.
 *
 * A line that names hours means times of day: each of them is due once on each of its days. One that daylight saving skips is due at the
 * first instant after the gap; one that comes twice, the first time. A line for every hour (hours are `*`) goes by the minutes that
 * pass: nothing is due in a gap, and what comes twice is due twice. See docs/decisions/0017-daylight-saving.md.
 *
 * What a cron line says: five fields of numbers, as node-cron reads them. Instants are shown by its zone.
 */
import { DateTime, IANAZone } from 'luxon'
import { validateDetailed } from 'node-cron'

/** When a job is due: a cron line of five fields, and the IANA zone that it is read in. */
export interface Timetable {
  readonly cron: string
  readonly zone: string
}

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
/** Offsets from UTC are between these (tz database: Niue and Baker to Kiribati), also across a change of the date line. */
const WEST = 12 * HOUR
const EAST = 14 * HOUR

/**
 * All instants after the given one (milliseconds since the epoch), ascending, without end.
 * @param after not among them
 * @throws RangeError for a line or zone that a job file would not be taken with
 */
export function* firesAfter({ cron, zone: name }: Timetable, after: number): Generator<number, never> {
  const line = readCronLine(cron)
  const zone = IANAZone.create(name)
  if ('problem' in line || !zone.isValid) throw new RangeError(`"${cron}" in ${name} says no time`)
  let found: number[] = []
  for (let day = Math.floor((after - WEST) / DAY) * DAY; ; day += DAY) {
    // A clock that is set back at midnight takes minutes of the day before into those of the next: they are put in order here.
    const over = found.filter((at) => at < day - EAST)
    found = found.filter((at) => at >= day - EAST)
    yield* over
    const dues = isDay(line, day) ? duesOfDay(line, zone, day) : []
    found = ascending([...found, ...dues.filter((at) => at > after)])
  }
}

/** @param until among them, if it is due @param most the newest so many */
export function firesBetween(timetable: Timetable, after: number, until: number, most: number): number[] {
  const found: number[] = []
  for (const at of firesAfter(timetable, after)) {
    if (at > until) break
    found.push(at)
    if (found.length > most) found.shift()
  }
  return found
}

/** @param day midnight of the calendar day, as if in UTC */
function isDay({ days, months, weekdays }: CronLine, day: number): boolean {
  const date = new Date(day)
  return days.has(date.getUTCDate()) && months.has(date.getUTCMonth() + 1) && weekdays.has(date.getUTCDay())
}

function duesOfDay({ hours, minutes }: CronLine, zone: IANAZone, day: number): number[] {
  const offsets = [day - EAST, day + DAY + WEST].map((at) => offsetOf(zone, at))
  const [before, later] = offsets
  const steady = before === later ? before : undefined
  const everyHour = hours === undefined
  const found: number[] = []
  for (const hour of hours ?? Array.from({ length: 24 }, (_, hour) => hour)) {
    for (const minute of minutes) {
      const local = day + hour * HOUR + minute * MINUTE
      if (steady !== undefined) found.push(local - steady)
      else {
        const [first, ...again] = instantsOf(zone, local)
        if (everyHour) found.push(...(first === undefined ? [] : [first, ...again]))
        else found.push(first ?? endOfGap(zone, local))
      }
    }
  }
  return found
}

/** The instants at which clocks show this local time (as if in UTC): one; none in a gap; two where they are set back. */
function instantsOf(zone: IANAZone, local: number): number[] {
  const offsets = [local - EAST, local + WEST].map((at) => offsetOf(zone, at))
  const instants = offsets.map((offset) => local - offset)
  return ascending(instants.filter((at) => at + offsetOf(zone, at) === local))
}

/** The first instant after the gap that a local time lies in. */
function endOfGap(zone: IANAZone, local: number): number {
  let [before, behind] = [local - EAST, local + WEST]
  const offset = offsetOf(zone, before)
  while (behind - before > 1) {
    const middle = Math.floor((before + behind) / 2)
    if (offsetOf(zone, middle) === offset) before = middle
    else behind = middle
  }
  return behind
}

/** Milliseconds that local clocks are ahead of UTC. */
const offsetOf = (zone: IANAZone, at: number): number => zone.offset(at) * MINUTE

const ascending = (instants: readonly number[]): number[] => [...new Set(instants)].sort((a, b) => a - b)

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

/** `Sun 2026-11-01 01:30 -04:00`, by the clock of the zone. */
export const localTime = (at: number, zone: string): string =>
  DateTime.fromMillis(at, { zone }).setLocale('en').toFormat('ccc yyyy-MM-dd HH:mm ZZ')
