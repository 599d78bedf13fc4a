/**
 * Meaning of a cron line (five fields of numbers, as node-cron reads them): instants in a time zone, fires that have come due, decisions on
 * missed fires. Pure: the clock is handed in.
 *
 * A line with hours means times of day, a line for every hour (hours are `*`) counts the minutes that pass
 * (docs/decisions/0017-daylight-saving.md).
 */
import { DateTime, IANAZone } from 'luxon'
import { validateDetailed } from 'node-cron'

/** Timetable of a job: a cron line of five fields, and an IANA zone. */
export interface Timetable {
  readonly cron: string
  readonly zone: string
}

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
/** Range of offsets from UTC (tz database: Niue and Baker to Kiribati), also across a change of the date line. */
const WEST = 12 * HOUR
const EAST = 14 * HOUR

/**
 * Yields all instants after the given one (milliseconds since the epoch), ascending, without end.
 * @param after not included
 * @throws RangeError for a line or zone that is invalid in a job file
 */
export function* firesAfter({ cron, zone: name }: Timetable, after: number): Generator<number, never> {
  const line = readCronLine(cron)
  const zone = IANAZone.create(name)
  if ('problem' in line || !zone.isValid) throw new RangeError(`"${cron}" in ${name} is not a timetable`)
  let found: number[] = []
  for (let day = Math.floor((after - WEST) / DAY) * DAY; ; day += DAY) {
    // A clock set back at midnight moves minutes of one day into the next: sorts them.
    const over = found.filter((at) => at < day - EAST)
    found = found.filter((at) => at >= day - EAST)
    yield* over
    const dues = isDay(line, day) ? duesOfDay(line, zone, day) : []
    found = ascending([...found, ...dues.filter((at) => at > after)])
  }
}

/** @param until included @param most keeps the newest fires */
export function firesBetween(timetable: Timetable, after: number, until: number, most: number): number[] {
  const found: number[] = []
  for (const at of firesAfter(timetable, after)) {
    if (at > until) break
    found.push(at)
    if (found.length > most) found.shift()
  }
  return found
}

/** First instant after the given one at which clocks of the zone show the time of day, as a cron line means it. @param time `06:00` */
export const timeOfDayAfter = (time: string, zone: string, after: number): number =>
  firesAfter(timetableOfDay(time, zone), after).next().value

/** Timetable of a time of day, each day. @param time `06:00` */
export function timetableOfDay(time: string, zone: string): Timetable {
  const [hour, minute] = time.split(':').map(Number)
  return { cron: `${minute} ${hour} * * *`, zone }
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

/** Instants of a local time (as if in UTC): one; none in a gap; two when clocks are set back. */
function instantsOf(zone: IANAZone, local: number): number[] {
  const offsets = [local - EAST, local + WEST].map((at) => offsetOf(zone, at))
  const instants = offsets.map((offset) => local - offset)
  return ascending(instants.filter((at) => at + offsetOf(zone, at) === local))
}

/** First instant after the gap around a local time. */
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

/** Offset of local clocks from UTC, in milliseconds, positive for clocks ahead. */
const offsetOf = (zone: IANAZone, at: number): number => zone.offset(at) * MINUTE

const ascending = (instants: readonly number[]): number[] => [...new Set(instants)].sort((a, b) => a - b)

interface CronLine {
  readonly minutes: readonly number[]
  /** Undefined for every hour. */
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

/** @returns the line, or its problem with an example */
export function readCronLine(text: string): CronLine | { readonly problem: string } {
  const { fields, errors } = validateDetailed(text)
  const wrong = (what: string) => ({ problem: `${what}; ${EXAMPLE}` })
  if (fields === undefined) {
    const named = errors.flatMap(({ field, value }) =>
      FIELDS[field] === undefined ? [] : [`its ${FIELDS[field]} cannot be "${value}"`],
    )
    return wrong(['is not a cron line', ...named].join(', '))
  }
  if (/^\S+(\s+\S+){5}$/.test(text.trim())) return wrong('has a field too many: seconds are not supported')
  const days = new Set(fields.dayOfMonth.filter((day) => typeof day === 'number'))
  const weekdays = new Set(fields.dayOfWeek.filter((day) => typeof day === 'number'))
  const isPlain = [...fields.dayOfMonth, ...fields.dayOfWeek].every((day) => typeof day === 'number')
  if (!isPlain) return wrong('has a day or weekday with L, W or #, which are not supported')
  // crontab(5) takes a day that matches either field, other programs a day that matches both.
  if (days.size < 31 && weekdays.size < 7)
    return wrong('has both day and weekday, which cron programs read in two ways: set one of them to *')
  const hours = ascending(fields.hour)
  return {
    minutes: ascending(fields.minute),
    hours: hours.length === 24 ? undefined : hours,
    days,
    months: new Set(fields.month),
    weekdays,
  }
}

/** `Sun 2026-11-01 01:30 -04:00`, local time of the zone. */
export const localTime = (at: number, zone: string): string =>
  DateTime.fromMillis(at, { zone }).setLocale('en').toFormat('ccc yyyy-MM-dd HH:mm ZZ')

/** Policy of a job for missed fires: one run for all, one run for each, or none. */
export type MissedPolicy = 'once' | 'all' | 'skip'

/** Longest delay of a fire in time; a later one was missed. */
export const ON_TIME_MS = 60_000

/** Most fires of one absence to store and run late: the newest. */
const MISSED_AT_MOST = 1_000

/** A timetable, and the last instant whose fires are stored. */
interface SeenTimetable extends Timetable {
  readonly seenUntil: number
}

/**
 * Finds the changes to store at a wake-up.
 * @param known timetable in the ledger; undefined for a new job, which has missed nothing
 * @param current timetable in the job file; undefined for an unreadable file: the known timetable then holds
 * @returns undefined for no change
 */
export function comeDue(
  known: SeenTimetable | undefined,
  current: Timetable | undefined,
  now: number,
): { readonly timetable: SeenTimetable; readonly fires: readonly number[] } | undefined {
  if (known === undefined)
    return current && { timetable: { ...timetableOf(current), seenUntil: now }, fires: [] }
  // The known timetable holds up to now, even if the file has changed since.
  const fires = firesBetween(known, known.seenUntil, now, MISSED_AT_MOST)
  const last = fires.at(-1)
  if (current !== undefined && (current.cron !== known.cron || current.zone !== known.zone))
    return { timetable: { ...timetableOf(current), seenUntil: now }, fires }
  if (last !== undefined) return { timetable: { ...known, seenUntil: last }, fires }
  // After the clock was set back, fires keep their instants, so that none is stored twice.
  return known.seenUntil > now ? { timetable: { ...known, seenUntil: now }, fires } : undefined
}

const timetableOf = ({ cron, zone }: Timetable): Timetable => ({ cron, zone })

/** Reason why a fire did not run at its time. */
export interface Hindrance {
  readonly reason: 'not-scheduled' | 'job-held' | 'job-invalid' | 'earlier-first' | 'paused'
  /** Holder of the job, person who paused it, or problem of its file. */
  readonly detail: string | null
}

/** A fire without an end. `interrupted`: its run was interrupted, and is to continue; `retrying`: its next try is due. */
interface OpenFire {
  readonly due: number
  readonly state: 'due' | 'missed' | 'interrupted' | 'retrying'
}

interface Decision<Fire extends OpenFire> {
  /** Fire to start now. `late`: a missed fire; `why` for a fire not stored as missed yet. */
  readonly begin?: { readonly fire: Fire; readonly late: boolean; readonly why?: Hindrance }
  readonly missed: readonly { readonly fire: Fire; readonly why: Hindrance }[]
  /** Fires without a run; `why` for fires not stored as missed yet, `by` the fire whose run covers them. */
  readonly skipped: readonly { readonly fire: Fire; readonly why?: Hindrance; readonly by?: number }[]
}

/**
 * Decides about the fires of a job without an end.
 * @param open oldest first
 * @param policy undefined for an unreadable job file: the decision waits
 * @param hindered reason why the job cannot run now
 */
export function decide<Fire extends OpenFire>(
  open: readonly Fire[],
  policy: MissedPolicy | undefined,
  now: number,
  hindered: Hindrance | undefined,
): Decision<Fire> {
  const judged = open
    .filter(({ state }) => state === 'due' || state === 'missed')
    .map((fire) => {
      const why = whyNotNow(fire, now, hindered)
      return {
        fire,
        late: why !== undefined || fire.state === 'missed',
        ...(why === undefined ? {} : { why }),
      }
    })
  const interrupted = open.find(({ state }) => state === 'interrupted' || state === 'retrying')
  const candidates = policy === 'skip' ? judged.filter(({ late }) => !late) : judged
  const next = candidates.at(policy === 'once' ? -1 : 0)
  const begin = interrupted === undefined ? next : { fire: interrupted, late: false }
  const begins = hindered === undefined && begin !== undefined ? { begin } : {}
  const rest = judged
    .filter(({ fire }) => fire !== begins.begin?.fire)
    .map((one) => (one.late ? one : { ...one, why: OTHER_RUN }))
  if (policy === 'skip') return { ...begins, missed: [], skipped: rest }
  if (policy === 'once' && begins.begin !== undefined && begin === next) {
    const { due } = begins.begin.fire
    return { ...begins, missed: [], skipped: rest.map((one) => ({ ...one, by: due })) }
  }
  const missed = rest.flatMap(({ fire, why }) => (why === undefined ? [] : [{ fire, why }]))
  return { ...begins, missed, skipped: [] }
}

/** Reason for a fire that is due while an older fire starts. */
const OTHER_RUN: Hindrance = { reason: 'earlier-first', detail: null }

/** Reason why a fire cannot run now; undefined for a fire in time, and for a fire stored as missed. */
function whyNotNow(
  { due, state }: OpenFire,
  now: number,
  hindered: Hindrance | undefined,
): Hindrance | undefined {
  if (state !== 'due') return undefined
  return now - due < ON_TIME_MS ? hindered : { reason: 'not-scheduled', detail: null }
}
