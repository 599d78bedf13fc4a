/**
 * What a cron line says, five fields of numbers as node-cron reads them; the instants at which it is due in a time zone; what has come due, and
 * what becomes of fires that were missed. Pure: the clock is handed in.
 *
 * A line that names hours means times of day: each of them is due once on each of its days. One that daylight saving skips is due at the
 * first instant after the gap; one that comes twice, the first time. A line for every hour (hours are `*`) goes by the minutes that
 * pass: nothing is due in a gap, and what comes twice is due twice. See docs/decisions/0017-daylight-saving.md.
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

/** What a job wants made up for: one run for all that were missed, one for each, or nothing. */
export type MissedPolicy = 'once' | 'all' | 'skip'

/** A fire that is begun within this time is no missed one. */
export const ON_TIME_MS = 60_000

/** Fires of one absence that are written down, and made up for, at most: the newest. */
export const MISSED_AT_MOST = 1_000

/** A timetable with the instant up to which its fires are written down. */
export interface SeenTimetable extends Timetable {
  readonly seenUntil: number
}

/**
 * What a wake-up has to write down.
 * @param known what the ledger has of the job; undefined: it is seen for the first time, and nothing was missed
 * @param current what the job file says; undefined: it cannot be read, and what is known holds until it can
 * @returns undefined where nothing has changed
 */
export function comeDue(
  known: SeenTimetable | undefined,
  current: Timetable | undefined,
  now: number,
): { readonly timetable: SeenTimetable; readonly fires: readonly number[] } | undefined {
  if (known === undefined)
    return current && { timetable: { ...timetableOf(current), seenUntil: now }, fires: [] }
  // Up to now what was known held, also where the file has changed since.
  const fires = firesBetween(known, known.seenUntil, now, MISSED_AT_MOST)
  const last = fires.at(-1)
  if (current !== undefined && (current.cron !== known.cron || current.zone !== known.zone))
    return { timetable: { ...timetableOf(current), seenUntil: now }, fires }
  if (last !== undefined) return { timetable: { ...known, seenUntil: last }, fires }
  // The clock was set back: fires are known by their instant, so none comes twice.
  return known.seenUntil > now ? { timetable: { ...known, seenUntil: now }, fires } : undefined
}

const timetableOf = ({ cron, zone }: Timetable): Timetable => ({ cron, zone })

/** Why a fire did not run at its time. */
export interface Hindrance {
  readonly reason: 'not-scheduled' | 'job-held' | 'job-invalid' | 'earlier-first' | 'paused'
  /** Who holds the job, or has paused it, or where its file is wrong. */
  readonly detail: string | null
}

/** A fire that is not over. `interrupted`: its run was, and is to go on. */
export interface OpenFire {
  readonly due: number
  readonly state: 'due' | 'missed' | 'interrupted'
}

export interface Decision<Fire extends OpenFire> {
  /** The fire whose run is to begin now; `late`: to make up for it, `why` where it was not known as missed yet. */
  readonly begin?: { readonly fire: Fire; readonly late: boolean; readonly why?: Hindrance }
  readonly missed: readonly { readonly fire: Fire; readonly why: Hindrance }[]
  /** Fires that get no run; `why` where they were not known as missed yet, `by` the fire whose run makes up for them. */
  readonly skipped: readonly { readonly fire: Fire; readonly why?: Hindrance; readonly by?: number }[]
}

/**
 * What to do about the fires of a job that are not over.
 * @param open oldest first
 * @param policy undefined where the job file cannot be read: that is decided once it can
 * @param hindered why the job cannot run now
 */
export function decide<Fire extends OpenFire>(
  open: readonly Fire[],
  policy: MissedPolicy | undefined,
  now: number,
  hindered: Hindrance | undefined,
): Decision<Fire> {
  const judged = open
    .filter(({ state }) => state !== 'interrupted')
    .map((fire) => {
      const why = whyNotNow(fire, now, hindered)
      return {
        fire,
        late: why !== undefined || fire.state === 'missed',
        ...(why === undefined ? {} : { why }),
      }
    })
  const interrupted = open.find(({ state }) => state === 'interrupted')
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

/** Of a fire that is due while an older one is begun. */
const OTHER_RUN: Hindrance = { reason: 'earlier-first', detail: null }

/** Undefined for a fire that can be run in time, and for one that is known as missed. */
function whyNotNow(
  { due, state }: OpenFire,
  now: number,
  hindered: Hindrance | undefined,
): Hindrance | undefined {
  if (state !== 'due') return undefined
  return now - due < ON_TIME_MS ? hindered : { reason: 'not-scheduled', detail: null }
}
