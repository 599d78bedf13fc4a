/**
 * Dates and times of exports (luxon, IANA zones). A mismatch of the form, or a local time that daylight saving skips or doubles, is
 * an issue, never a guess. A wall-clock time is the milliseconds since the epoch at which UTC would show it; NaN: none.
 * Forms in tokens of luxon (`MM/dd/yyyy HH:mm`) are read faster and stricter than by luxon (docs/decisions/0051-forms-of-dates.md).
 */
import { DateTime, FixedOffsetZone, IANAZone, type Zone } from 'luxon'
import { didYouMean } from '../system/schema-problems.ts'

type DateFault =
  | 'date-invalid'
  | 'date-ambiguous'
  | 'date-skipped-by-daylight-saving'
  | 'date-doubled-by-daylight-saving'

/** Milliseconds since the epoch, with the offset of the text (minutes east of UTC); or the fault. */
export type Instant =
  | { readonly ok: true; readonly at: number; readonly offset: number }
  | { readonly ok: false; readonly code: DateFault }

/** Conversion of local times to instants. Defaults reject. */
interface InstantOptions {
  /** IANA zone of local times; UTC where not given. */
  readonly zone?: string | undefined
  /** A time skipped when the clocks went forward: by the offset before the jump (later) or after (earlier). */
  readonly skipped?: 'reject' | 'forward' | 'backward' | undefined
  /** A time that happened twice. */
  readonly doubled?: 'reject' | 'earlier' | 'later' | undefined
  /** A year or month without a day: `start` takes its first instant. */
  readonly partial?: 'reject' | 'start' | undefined
  /** First year of the hundred for two-digit years. */
  readonly century?: number | undefined
}

/** Limit of cached texts, and of cached days of a zone. */
const REMEMBERED = 20_000

const UTC: ReadonlySet<string | undefined> = new Set([undefined, 'UTC', 'GMT', 'Etc/UTC'])

/** True for forms with an own offset, without need of a zone. */
export function carriesOffset(format: string): boolean {
  return format === 'EPOCH_MS' || /[Zz]/.test(format.replaceAll(/'[^']*'/g, ''))
}

/** Fault of a form, or undefined. */
export function formatFault(format: string): string | undefined {
  return Object.hasOwn(NAMED_FORMS, format) ? undefined : tokensFault(format)
}

/**
 * Compiles the forms, tried in order, into a parser. A text that two of them read as two instants is ambiguous.
 * @param formats luxon tokens (`MM/dd/yyyy HH:mm`) or names of NAMED_FORMS
 */
export function compileInstant(
  formats: readonly string[],
  options: InstantOptions = {},
): (text: string) => Instant {
  // luxon asks Intl for the offset of any IANA zone, even of UTC.
  const zone = UTC.has(options.zone) ? FixedOffsetZone.utcInstance : IANAZone.create(options.zone ?? '')
  const steadyOffset = compileSteadyOffset(zone)
  const toInstant: Localise = (wall) => {
    if (Number.isNaN(wall)) return INVALID
    const offset = steadyOffset(wall)
    return offset === undefined
      ? inZone(DateTime.fromMillis(wall, { zone: 'UTC' }), zone, options)
      : { ok: true, at: wall - offset * 60_000, offset }
  }
  const forms = formats.map((format) => compileForm(format, toInstant, options))
  const written = forms.filter((_, at) => !SERIALS.has(formats[at] ?? ''))
  return (text) => {
    const found =
      forms
        .values()
        .map((form) => form(text))
        .find(isRead) ?? INVALID
    if (written.length < 2 || !found.ok) return found
    const isOther = (one: Instant): boolean => isRead(one) && !(one.ok && one.at === found.at)
    return written.some((form) => isOther(form(text))) ? AMBIGUOUS : found
  }
}

const isRead = (found: Instant): boolean => found.ok || found.code !== 'date-invalid'
/** Forms of plain numbers: a written date is a number, too. */
const SERIALS: ReadonlySet<string> = new Set(['EPOCH_MS', 'EXCEL', 'EXCEL_1904'])

/** Forms of a calendar day; `century` as in `InstantOptions`. */
interface DayForms {
  readonly format: readonly string[]
  readonly century?: number | undefined
}

/** Compiles forms of a calendar day into its first instant in UTC, whatever the offset; undefined where no form matches. */
export function compileDay({ format, century }: DayForms): (text: string) => number | undefined {
  const parse = compileInstant(format, { century })
  return (text) => {
    const instant = parse(text)
    return instant.ok ? Math.floor((instant.at + instant.offset * 60_000) / DAY) * DAY : undefined
  }
}

/** Nobody examined today was born earlier. Databases write earlier days for a missing date: 0001-01-01, 1753-01-01, 1899-12-30. */
const EARLIEST_BIRTH = Date.UTC(1900, 0, 1)

/** Afternoon of UTC: midnight of the next day at a place in the east, as programs write a day without a time. */
const NEXT_DAY_IN_THE_EAST = /T(?:1[1-9]|2[0-3]):?[0-5]\d.*(?:Z|[+-]00(?::?00)?)$/

/** A year, which a spreadsheet's count of days would place in 1905. */
const YEAR = /^(?:19|20)\d\d$/

/**
 * Compiles forms of a birth date like `compileDay`; also undefined before 1900, for a year alone, and for a time of UTC that may be of
 * the next day.
 * @param bounds `latest`: the last instant that has come, in milliseconds; a later day is undefined
 */
export function compileBirthDate(
  forms: DayForms,
  bounds: { readonly latest: number } = { latest: LAST_DAY },
): (text: string) => number | undefined {
  const dayOf = compileDay(forms)
  return (text) => {
    const day = NEXT_DAY_IN_THE_EAST.test(text) || YEAR.test(text) ? undefined : dayOf(text)
    return day !== undefined && day >= EARLIEST_BIRTH && day <= bounds.latest ? day : undefined
  }
}

/** `YYYY-MM-DD`; undefined without a day, and for years without four digits. */
export function dayText(day: number | undefined): string | undefined {
  const text = day === undefined || Math.abs(day) > LAST_DAY ? '' : new Date(day).toISOString()
  return /^\d{4}-/.test(text) ? text.slice(0, 10) : undefined
}

/** Last instant of a Date (ECMA-262, "Time Values and Time Range"). */
const LAST_DAY = 8.64e15

type Localise = (wall: number) => Instant

function compileForm(format: string, local: Localise, options: InstantOptions): (text: string) => Instant {
  const named = Object.hasOwn(NAMED_FORMS, format) ? NAMED_FORMS[format] : undefined
  const isPartial = options.partial === 'start'
  if (named !== undefined) return (text) => named(text, local, isPartial)
  const digits = compileDigits(format)
  if (digits !== undefined) return (text) => local(digits(text))
  const read = compileTokens(format, options.century)
  return remembering((text) => {
    const { wall, offset } = read(text)
    return offset === undefined ? local(wall) : atOffset(wall, offset)
  })
}

/** Caches a text's instant: regular expressions are slow. */
function remembering(parse: (text: string) => Instant): (text: string) => Instant {
  const remembered = new Map<string, Instant>()
  return (text) => {
    const known = remembered.get(text)
    if (known !== undefined) return known
    const found = parse(text)
    // Invalid texts can have any length: not cached.
    if (!found.ok) return found
    if (remembered.size >= REMEMBERED) remembered.clear()
    remembered.set(text, found)
    return found
  }
}

/**
 * Named forms: ISO 8601, milliseconds since the epoch, HL7 v2 TS (HL7 v2.5.1, 2.A.77), and serial dates of spreadsheets (ECMA-376-1,
 * 18.17.4.1), with 1 January 1900 as day 1 or 1 January 1904 as day 0. The 1900 system counts a 29 February 1900, so serials below 61 are
 * rejected.
 */
const NAMED_FORMS: Readonly<Record<string, (text: string, local: Localise, partial: boolean) => Instant>> = {
  ISO: parseIso,
  EPOCH_MS: (text) => (/^-?\d{1,15}$/.test(text) ? { ok: true, at: Number(text), offset: 0 } : INVALID),
  HL7: parseHl7,
  EXCEL: (text, local) => parseSerial(text, Date.UTC(1899, 11, 30), 61, 2_958_465, local),
  EXCEL_1904: (text, local) => parseSerial(text, Date.UTC(1904, 0, 1), 0, 2_957_003, local),
}

/** A whole calendar day, with or without time and offset; luxon alone would accept a bare time or year and fill in the rest. */
const ISO_DAY = /^\d{4}-?\d{2}-?\d{2}(?:T[\d:.,]+(Z|[+-]\d{2}(?::?[0-5]\d)?)?)?$/
const ISO_PARTIAL = new RegExp(`${ISO_DAY.source}|^\\d{4}(?:-\\d{2})?$`)

function parseIso(text: string, local: Localise, partial: boolean): Instant {
  const read = readIso(text)
  if (read !== undefined)
    return read.offset === undefined ? local(read.wall) : atOffset(read.wall, read.offset)
  const form = (partial ? ISO_PARTIAL : ISO_DAY).exec(text)
  if (form === null) return INVALID
  const wall = DateTime.fromISO(text, { setZone: true, zone: 'UTC' })
  return form[1] === undefined ? local(wall.toMillis()) : absolute(wall)
}

const HL7_TS =
  /^(\d{4})(?:(\d{2})(?:(\d{2})(?:([01]\d|2[0-3])(?:(\d{2})(?:(\d{2})(?:\.(\d{1,4}))?)?)?)?)?)?([+-]\d{2}[0-5]\d)?$/

function parseHl7(text: string, local: Localise, partial: boolean): Instant {
  const match = HL7_TS.exec(text)
  if (match === null) return INVALID
  const [, year, month, day, hour = '0', minute = '0', second = '0', fraction = '0', offset] = match
  if (day === undefined && !partial) return INVALID
  const ms = Math.trunc(Number(`0.${fraction}`) * 1000)
  const parts = [year, month ?? '1', day ?? '1', hour, minute, second].map(Number)
  const wall = wallClock([...parts, ms])
  return offset === undefined ? local(wall) : atOffset(wall, minutesOf(offset))
}

/**
 * Reads days and, as a fraction, the time of day, to the nearest millisecond.
 * @param zero instant of serial 0 in UTC; `first` and `last`: range of valid serials
 */
function parseSerial(text: string, zero: number, first: number, last: number, local: Localise): Instant {
  const match = /^(\d{1,7})(\.\d{1,20})?$/.exec(text)
  const day = Number(match?.[1])
  if (match === null || day < first || day > last) return INVALID
  const wall = zero + day * DAY + Math.round(Number(`0${match[2] ?? ''}`) * DAY)
  return local(wall)
}

/** Easternmost offset in use (Pacific/Kiritimati); no place is further from UTC. */
const WIDEST_OFFSET = 14 * 60

const INVALID: Instant = { ok: false, code: 'date-invalid' }
const AMBIGUOUS: Instant = { ok: false, code: 'date-ambiguous' }

const atOffset = (wall: number, offset: number): Instant =>
  !Number.isNaN(wall) && Math.abs(offset) <= WIDEST_OFFSET
    ? { ok: true, at: wall - offset * 60_000, offset }
    : INVALID

const absolute = (at: DateTime): Instant => atOffset(at.toMillis() + at.offset * 60_000, at.offset)

/**
 * Offset of a zone on days without a clock change nearby. Cached by day: looking up an offset costs more than the rest of a date.
 * @returns minutes, for a wall-clock time; undefined near a change
 */
function compileSteadyOffset(zone: Zone): (wall: number) => number | undefined {
  const known = new Map<number, number | undefined>()
  if (zone.isUniversal) return (wall) => zone.offset(wall)
  return (wall) => {
    const day = Math.floor(wall / DAY)
    if (known.has(day)) return known.get(day)
    const [before, ...later] = [-0.75, 0, 0.5, 1, 1.75].map((at) => zone.offset((day + at) * DAY))
    const offset = later.every((one) => one === before) ? before : undefined
    if (known.size >= REMEMBERED) known.clear()
    known.set(day, offset)
    return offset
  }
}

function inZone(wall: DateTime, zone: Zone, { skipped, doubled }: InstantOptions): Instant {
  const at = wall.setZone(zone, { keepLocalTime: true })
  if (!at.isValid) return INVALID
  if (at.day !== wall.day || at.hour !== wall.hour || at.minute !== wall.minute) {
    if (skipped === 'forward') return aroundChange(wall, zone, 'before')
    return skipped === 'backward'
      ? aroundChange(wall, zone, 'after')
      : { ok: false, code: 'date-skipped-by-daylight-saving' }
  }
  if (at.getPossibleOffsets().length > 1) {
    if (doubled === 'earlier') return aroundChange(wall, zone, 'before')
    return doubled === 'later'
      ? aroundChange(wall, zone, 'after')
      : { ok: false, code: 'date-doubled-by-daylight-saving' }
  }
  return { ok: true, at: at.toMillis(), offset: at.offset }
}

/** Instant of a wall-clock time by the offset before the clocks changed, or after. */
function aroundChange(wall: DateTime, zone: Zone, side: 'before' | 'after'): Instant {
  // The instant lies within the widest offsets of the wall-clock time in UTC: an hour further out the change is past.
  const away = (WIDEST_OFFSET + 60) * 60_000
  const offset = zone.offset(wall.toMillis() + (side === 'before' ? -away : away))
  const at = wall.toMillis() - offset * 60_000
  return { ok: true, at, offset: zone.offset(at) }
}

/** ISO 8601, extended: a day, or a day with a time and an optional offset. */
const ISO = /^(\d{4})-(\d\d)-(\d\d)(?:T(\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,30}))?)?(Z|[+-]\d\d:?[0-5]\d)?)?$/

/**
 * Reads common ISO 8601.
 * @returns undefined for rarer forms of ISO 8601 and for any other text; `offset` in minutes, where the text has one
 */
function readIso(text: string): { readonly wall: number; readonly offset: number | undefined } | undefined {
  const found = ISO.exec(text)
  if (found === null) return undefined
  const [, year, month, day, hour = '0', minute = '0', second = '0', fraction = '0', offset] = found
  const ms = Math.floor(Number(`0.${fraction}`) * 1000)
  const parts = [Number(year), Number(month), Number(day), Number(hour), Number(minute), Number(second), ms]
  return {
    wall: wallClock(parts),
    offset: offset === undefined ? undefined : offset === 'Z' ? 0 : minutesOf(offset),
  }
}

const DAY = 86_400_000

/** Parts of a wall-clock time, in the order of `wallClock`. */
const PARTS: readonly string[] = ['year', 'month', 'day', 'hour', 'minute', 'second', 'ms']

/** Tokens of digits: the part, and the number of digits. */
const DIGITS: Readonly<Record<string, readonly [part: string, least: number, most: number]>> = {
  yyyy: ['year', 4, 4],
  yy: ['year', 2, 2],
  MM: ['month', 2, 2],
  M: ['month', 1, 2],
  dd: ['day', 2, 2],
  d: ['day', 1, 2],
  HH: ['hour', 2, 2],
  H: ['hour', 1, 2],
  hh: ['hourOfTwelve', 2, 2],
  h: ['hourOfTwelve', 1, 2],
  mm: ['minute', 2, 2],
  m: ['minute', 1, 2],
  ss: ['second', 2, 2],
  s: ['second', 1, 2],
  SSS: ['ms', 3, 3],
  S: ['ms', 1, 3],
  u: ['ms', 1, 9],
}

const WORDS = /^(?:M{3,4}|a|E{3,4}|Z{1,3})$/

const COMMON_TOKENS = ['yyyy', 'MM', 'dd', 'HH', 'mm', 'ss', 'SSS', 'ZZ']

/** A text in quotes, letters of one kind, or another character. */
const PIECES = /'([^']*)'|([A-Za-z])\2*|./gs

/**
 * Fault of a form, or undefined. A form may hold known tokens only, and must give the whole day: luxon would fill the rest from
 * today's date.
 */
function tokensFault(format: string): string | undefined {
  const bare = format.replaceAll(/'[^']*'/g, ' ')
  if (bare.includes("'")) return `"${format}" has an unclosed quote`
  const tokens: string[] = bare.match(/([A-Za-z])\1*/g) ?? []
  const unknown = tokens.find((token) => !Object.hasOwn(DIGITS, token) && !WORDS.test(token))
  if (unknown !== undefined)
    return `"${unknown}" in "${format}" is no token${didYouMean(unknown, COMMON_TOKENS)}: write a form like MM/dd/yyyy HH:mm, with text in 'quotes'`
  if (!['y', 'M', 'd'].every((letter) => tokens.some((token) => token.startsWith(letter))))
    return `"${format}" needs year, month and day (yyyy, MM, dd)`
  if (tokens.some((token) => token.startsWith('h')) && !tokens.includes('a'))
    return `"${format}" has hours without half of the day: add a, or write HH for 24 hours`
  return endsNowhere(format)
    ? `"${format}" does not separate its numbers: write MM, dd, HH, mm, or a sign between them`
    : undefined
}

/** Finds two numbers of variable length in one run of digits. */
function endsNowhere(format: string): boolean {
  let open = 0
  for (const [piece, quoted] of format.matchAll(PIECES)) {
    const digits = quoted === undefined ? DIGITS[piece] : undefined
    if (digits !== undefined) open += digits[1] < digits[2] ? 1 : 0
    // An offset begins with a sign.
    else if (quoted === undefined && piece.startsWith('Z')) open = 1
    else if (!/^\d+$/.test(quoted ?? piece)) open = 0
    if (open > 1) return true
  }
  return false
}

const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
/** Length of the cycle of the Gregorian calendar. */
const CYCLE = { years: 400, ms: 146_097 * DAY }

/** Milliseconds of a wall-clock time; NaN for none. @param month from 1. Hour 24 ends the day; minutes, seconds and milliseconds must be 0 */
function wallClock([
  year = Number.NaN,
  month = 1,
  day = 1,
  hour = 0,
  minute = 0,
  second = 0,
  ms = 0,
]: readonly number[]): number {
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  const last = month === 2 && isLeap ? 29 : (DAYS[month - 1] ?? 0)
  const isTime = minute < 60 && second < 60 && (hour < 24 || (hour === 24 && minute + second + ms === 0))
  if (!isTime || day < 1 || day > last) return Number.NaN
  // Date.UTC takes the years 0 to 99 for 1900 to 1999.
  return Date.UTC(year + CYCLE.years, month - 1, day, hour, minute, second, ms) - CYCLE.ms
}

/** Digits of a part, or a character between parts, in upper case. */
type Step = { readonly part: number; readonly least: number; readonly most: number } | number

/**
 * Compiles a form of digits and ASCII characters.
 * @returns undefined for any other form, or where a reader without backtracking cannot see the end of a number
 */
export function compileDigits(format: string): ((text: string) => number) | undefined {
  const steps = stepsOf(format)
  if (steps === undefined) return undefined
  const parts = [0, 1, 1, 0, 0, 0, 0]
  return (text) => {
    let at = 0
    for (const step of steps) {
      if (typeof step === 'number') {
        if (upper(text.charCodeAt(at++)) !== step) return Number.NaN
        continue
      }
      let value = 0
      const first = at
      for (; at - first < step.most; at++) {
        const digit = text.charCodeAt(at) - 0x30
        if (!(digit >= 0 && digit <= 9)) break
        value = value * 10 + digit
      }
      if (at - first < step.least) return Number.NaN
      parts[step.part] = value
    }
    return at === text.length ? wallClock(parts) : Number.NaN
  }
}

function stepsOf(format: string): Step[] | undefined {
  const steps: Step[] = []
  const given = new Set<number>()
  for (const [piece, quoted] of format.matchAll(PIECES)) {
    const before = steps.at(-1)
    const isOpen = typeof before === 'object' && before.least < before.most
    const [name, least = 0, most = 0] = DIGITS[piece] ?? []
    const part = PARTS.indexOf(name ?? '')
    // Two-digit years and fractions need a calculation.
    if (part >= 0 && !/^(?:yy|S|u)$/.test(piece)) {
      if (isOpen || given.has(part)) return undefined
      given.add(part)
      steps.push({ part, least, most })
      continue
    }
    const between = quoted ?? piece
    if (quoted === '' || (quoted === undefined && /[A-Za-z]/.test(piece))) return undefined
    if (/[^\u0020-\u007e]/.test(between) || (isOpen && /^\d/.test(between))) return undefined
    for (let at = 0; at < between.length; at++) steps.push(upper(between.charCodeAt(at)))
  }
  return [0, 1, 2].every((part) => given.has(part)) ? steps : undefined
}

const upper = (unit: number): number => (unit >= 0x61 && unit <= 0x7a ? unit - 0x20 : unit)

/** First year of the century of two-digit years, where the mapping gives none: as in luxon. */
const CENTURY = 1961

const MONTHS = [
  ...['january', 'february', 'march', 'april', 'may', 'june', 'july', 'august', 'september'],
  ...['october', 'november', 'december'],
]
const WEEKDAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday']
const shortOf = (names: readonly string[]): readonly string[] => names.map((name) => name.slice(0, 3))

/** Part of a token, pattern of its texts, and the number of a text. */
type TokenReader = readonly [part: string, pattern: string, read: (text: string) => number]

const named = (part: string, names: readonly string[], first = 0): TokenReader => [
  part,
  names.join('|'),
  (text) => names.indexOf(text.toLowerCase()) + first,
]
/** `Z`, `+5`, `+05`, `+05:30`, `-0330`. */
const OFFSET: TokenReader = [
  'offset',
  String.raw`Z|[+-](?:\d{2}[0-5]\d|\d{1,2}:[0-5]\d|\d{1,2})`,
  (text) => (/^z$/i.test(text) ? 0 : minutesOf(text)),
]
const READERS: Readonly<Record<string, TokenReader>> = {
  MMMM: named('month', MONTHS, 1),
  MMM: named('month', shortOf(MONTHS), 1),
  a: named('half', ['am', 'pm']),
  EEE: named('weekday', shortOf(WEEKDAYS)),
  EEEE: named('weekday', WEEKDAYS),
  Z: OFFSET,
  ZZ: OFFSET,
  ZZZ: OFFSET,
}

function readerOf(token: string, century: number): TokenReader | undefined {
  const digits = DIGITS[token]
  if (digits === undefined) return READERS[token]
  const [part, least, most] = digits
  const read = (text: string): number => {
    if (token === 'yy') return century + ((((Number(text) - century) % 100) + 100) % 100)
    return token === 'u' ? Math.floor(Number(`0.${text}`) * 1000) : Number(text)
  }
  return [part, String.raw`\d{${least},${most}}`, read]
}

/** `wall`: NaN where the text does not match; `offset`: minutes, where the form has one. */
interface ReadTokens {
  readonly wall: number
  readonly offset: number | undefined
}

const UNREAD: ReadTokens = { wall: Number.NaN, offset: undefined }

/**
 * Compiles any form accepted by tokensFault. Letters match in either case; a space matches spaces of any width. Repeated parts must have
 * one value, and the day of the week must be right for the date.
 * @param century first year of the hundred for `yy`
 */
function compileTokens(format: string, century = CENTURY): (text: string) => ReadTokens {
  const given: TokenReader[] = []
  let pattern = ''
  for (const [piece, quoted] of format.matchAll(PIECES)) {
    const reader = quoted === undefined ? readerOf(piece, century) : undefined
    if (reader === undefined) {
      pattern += (quoted === '' ? "'" : (quoted ?? piece)).replaceAll(/[^\w ]/g, String.raw`\$&`)
      continue
    }
    given.push(reader)
    pattern += `(${reader[1]})`
  }
  const expression = new RegExp(`^${pattern.replaceAll(/ +/g, String.raw`[ \u00a0\u202f]+`)}$`, 'i')
  return (text) => {
    const found = expression.exec(text)
    if (found === null) return UNREAD
    const parts: Record<string, number> = {}
    for (const [at, [part, , read]] of given.entries()) {
      const value = read(found[at + 1] ?? '')
      if ((parts[part] ?? value) !== value) return UNREAD
      parts[part] = value
    }
    return { wall: wallOf(parts), offset: parts['offset'] }
  }
}

function wallOf({
  hourOfTwelve,
  half,
  year = Number.NaN,
  month = 0,
  day = 0,
  hour = hourOfTwelve === undefined ? 0 : hourOn24(hourOfTwelve, half),
  ...parts
}: Readonly<Record<string, number>>): number {
  const { minute = 0, second = 0, ms = 0, weekday } = parts
  const wall = wallClock([year, month, day, hour, minute, second, ms])
  const isHour = hourOfTwelve === undefined || hour === hourOn24(hourOfTwelve, half)
  const isHalf = half === undefined || (half === 1 ? hour >= 12 : hour < 12)
  const isDay = weekday === undefined || new Date(wall).getUTCDay() === weekday
  return isHour && isHalf && isDay ? wall : Number.NaN
}

/** Hour 0 is valid after midnight, but not after noon. */
function hourOn24(hour: number, half = 0): number {
  if (hour > 12 || (hour === 0 && half === 1)) return Number.NaN
  return (hour % 12) + half * 12
}

/** Minutes east of UTC. @param offset like `+05:30`, `-0330`, `+5` */
function minutesOf(offset: string): number {
  const digits = offset.slice(1).replace(':', '')
  const minutes =
    digits.length < 3 ? Number(digits) * 60 : Number(digits.slice(0, -2)) * 60 + Number(digits.slice(-2))
  return offset.startsWith('-') ? 0 - minutes : minutes
}
