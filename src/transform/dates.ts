/**
 * Dates and times of exports (luxon, IANA zones). A form that does not fit, a local time that daylight saving skips, or one that it doubles is an
 * issue, never a guess.
 *
 * Where a form is digits and signs between them, code of our own reads it: to build a value of luxon takes ten times as long. It gives what luxon
 * gives. A wall-clock time is told as the milliseconds since the epoch at which UTC would show it; NaN stands for none.
 */
import { DateTime, FixedOffsetZone, IANAZone, type Zone } from 'luxon'
import { didYouMean } from '../schema-problems.ts'

export type DateFault = 'date-invalid' | 'date-skipped-by-daylight-saving' | 'date-doubled-by-daylight-saving'

/** An instant in milliseconds since the epoch, with the offset (minutes east of UTC) it was told in; or why there is none. */
export type Instant =
  | { readonly ok: true; readonly at: number; readonly offset: number }
  | { readonly ok: false; readonly code: DateFault }

/** How local times become instants; what is not given is rejected, never guessed. */
export interface InstantOptions {
  /** IANA zone of local times; UTC where not given. */
  readonly zone?: string | undefined
  /** A time that the clocks jumped over: by the offset before the jump (later) or after it (earlier). */
  readonly skipped?: 'reject' | 'forward' | 'backward' | undefined
  /** A time that happened twice. */
  readonly doubled?: 'reject' | 'earlier' | 'later' | undefined
  /** A year or a month alone: `start` takes its first instant. */
  readonly partial?: 'reject' | 'start' | undefined
}

const TOKEN = /^(yyyy|yy|M{1,4}|d{1,2}|H{1,2}|h{1,2}|m{1,2}|s{1,2}|S|SSS|u|a|E{3,4}|Z{1,3})$/

/** Those that forms are mostly made of. */
const COMMON_TOKENS = ['yyyy', 'MM', 'dd', 'HH', 'mm', 'ss', 'SSS', 'ZZ']

const REMEMBERED = 20_000

/** No zone, and names of the one that never changes its clocks. */
const UTC: ReadonlySet<string | undefined> = new Set([undefined, 'UTC', 'GMT', 'Etc/UTC'])

/** Whether a luxon format tells the offset itself, so that no zone is needed. */
export function carriesOffset(format: string): boolean {
  return format === 'EPOCH_MS' || /[Zz]/.test(format.replaceAll(/'[^']*'/g, ''))
}

/**
 * What is wrong with a form, or undefined. luxon takes unknown letters for text and fills what a form leaves out from
 * today's date, so a form may hold known tokens only and must tell the whole day.
 */
export function formatFault(format: string): string | undefined {
  if (Object.hasOwn(NAMED_FORMS, format)) return undefined
  const bare = format.replaceAll(/'[^']*'/g, ' ')
  if (bare.includes("'")) return `"${format}" opens a quote that it does not close`
  const tokens = [...bare.matchAll(/([A-Za-z])\1*/g)].map(([token]) => token)
  const unknown = tokens.find((token) => !TOKEN.test(token))
  if (unknown !== undefined)
    return `"${unknown}" in "${format}" is no token${didYouMean(unknown, COMMON_TOKENS)}: a form reads like MM/dd/yyyy HH:mm, text in it stands in 'quotes'`
  if (!['y', 'M', 'd'].every((letter) => tokens.some((token) => token.startsWith(letter)))) {
    return `"${format}" must tell year, month and day (yyyy, MM, dd)`
  }
  const onTwelve = tokens.some((token) => token.startsWith('h'))
  return onTwelve && !tokens.includes('a')
    ? `"${format}" must tell morning from afternoon: add a, or write HH for 24 hours`
    : undefined
}

/** Whether a form can be given to the year or month alone. */
export function takesPartial(format: string): boolean {
  return format === 'HL7' || format === 'ISO'
}

/**
 * Compiles the forms, tried in order, into a parser.
 * @param formats luxon tokens (`MM/dd/yyyy HH:mm`) or names of NAMED_FORMS
 */
export function compileInstant(
  formats: readonly string[],
  options: InstantOptions = {},
): (text: string) => Instant {
  // luxon asks Intl for the offset of any IANA zone, even of this one.
  const zone = UTC.has(options.zone) ? FixedOffsetZone.utcInstance : IANAZone.create(options.zone ?? '')
  const steadyOffset = compileSteadyOffset(zone)
  const toInstant: Localise = (wall) => {
    if (Number.isNaN(wall)) return INVALID
    const offset = steadyOffset(wall)
    return offset === undefined
      ? inZone(DateTime.fromMillis(wall, { zone: 'UTC' }), zone, options)
      : { ok: true, at: wall - offset * 60_000, offset }
  }
  const forms = formats.map((format) => compileForm(format, toInstant, options.partial === 'start'))
  return (text) => {
    let found = INVALID
    for (const form of forms) {
      found = form(text)
      if (found.ok || found.code !== 'date-invalid') break
    }
    return found
  }
}

/** What costs much to read is read once for each text. */
function remembering(parse: (text: string) => Instant): (text: string) => Instant {
  const remembered = new Map<string, Instant>()
  return (text) => {
    const known = remembered.get(text)
    if (known !== undefined) return known
    const found = parse(text)
    // What does not fit can be of any length, and is not kept.
    if (!found.ok) return found
    if (remembered.size >= REMEMBERED) remembered.clear()
    remembered.set(text, found)
    return found
  }
}

/** Compiles forms of a calendar date into a parser that gives `YYYY-MM-DD` as it stood there, whatever its offset; or undefined. */
export function compileCalendarDate(formats: readonly string[]): (text: string) => string | undefined {
  const parse = compileInstant(formats)
  return (text) => {
    const instant = parse(text)
    const day = instant.ok ? new Date(instant.at + instant.offset * 60_000).toISOString() : ''
    return /^\d{4}-/.test(day) ? day.slice(0, 10) : undefined
  }
}

/** A wall-clock time as an instant. */
type Localise = (wall: number) => Instant

function compileForm(format: string, local: Localise, partial: boolean): (text: string) => Instant {
  const named = Object.hasOwn(NAMED_FORMS, format) ? NAMED_FORMS[format] : undefined
  if (named !== undefined) return (text) => named(text, local, partial)
  const digits = compileDigits(format)
  if (digits !== undefined) return (text) => local(digits(text))
  const parser = DateTime.buildFormatParser(format, { locale: 'en-US' })
  return remembering(
    carriesOffset(format)
      ? (text) => absolute(DateTime.fromFormatParser(text, parser, { setZone: true }))
      : (text) => local(DateTime.fromFormatParser(text, parser, { zone: 'UTC' }).toMillis()),
  )
}

/**
 * Forms with a name: ISO 8601, milliseconds since the epoch, HL7 v2 TS (HL7 v2.5.1, 2.A.77), and serial dates of
 * spreadsheets, whose day 1 is 1 January 1900, or whose day 0 is 1 January 1904 (ECMA-376-1, 18.17.4.1). Of the first,
 * serials below 61 lie before 1 March 1900, where the system counts a day that never was: they are refused.
 */
const NAMED_FORMS: Readonly<Record<string, (text: string, local: Localise, partial: boolean) => Instant>> = {
  ISO: parseIso,
  EPOCH_MS: (text) => (/^-?\d{1,15}$/.test(text) ? { ok: true, at: Number(text), offset: 0 } : INVALID),
  HL7: parseHl7,
  EXCEL: (text, local) => parseSerial(text, Date.UTC(1899, 11, 30), 61, 2_958_465, local),
  EXCEL_1904: (text, local) => parseSerial(text, Date.UTC(1904, 0, 1), 0, 2_957_003, local),
}

/** A whole calendar day, with or without time and offset; luxon alone would take a bare time or year and fill in the rest. */
const ISO_DAY = /^\d{4}-?\d{2}-?\d{2}(?:T[\d:.,]+(Z|[+-]\d{2}(?::?[0-5]\d)?)?)?$/
const ISO_PARTIAL = new RegExp(`${ISO_DAY.source}|^\\d{4}(?:-\\d{2})?$`)

function parseIso(text: string, local: Localise, partial: boolean): Instant {
  const read = readIso(text)
  if (read !== undefined) return read.offset === undefined ? local(read.wall) : told(read.wall, read.offset)
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
  return offset === undefined ? local(wall) : told(wall, minutesOf(offset))
}

const DAY = 86_400_000

/**
 * Days and, behind the point, the part of the day, to the nearest millisecond.
 * @param zero the instant of serial 0 in UTC; `first` and `last`: the serials that are days from there
 */
function parseSerial(text: string, zero: number, first: number, last: number, local: Localise): Instant {
  const match = /^(\d{1,7})(\.\d{1,20})?$/.exec(text)
  const day = Number(match?.[1])
  if (match === null || day < first || day > last) return INVALID
  const wall = zero + day * DAY + Math.round(Number(`0${match[2] ?? ''}`) * DAY)
  return local(wall)
}

/** The easternmost offset in use (Pacific/Kiritimati); no place is further from UTC. */
const WIDEST_OFFSET = 14 * 60

const INVALID: Instant = { ok: false, code: 'date-invalid' }

/** A wall-clock time that tells its offset. */
const told = (wall: number, offset: number): Instant =>
  !Number.isNaN(wall) && Math.abs(offset) <= WIDEST_OFFSET
    ? { ok: true, at: wall - offset * 60_000, offset }
    : INVALID

const absolute = (at: DateTime): Instant => told(at.toMillis() + at.offset * 60_000, at.offset)

/**
 * The offset of a zone on the days on which its clocks do not change, nor on those around them: asked once for each day, as
 * asking costs more than all else of a date.
 * @returns for a wall-clock time, given in UTC, its offset in minutes; undefined where a change is near
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

/** The wall-clock time by the offset that held before the clocks changed, or after. */
function aroundChange(wall: DateTime, zone: Zone, side: 'before' | 'after'): Instant {
  // The instant lies within the widest offsets of the same wall-clock time in UTC: an hour further out the change is past.
  const away = (WIDEST_OFFSET + 60) * 60_000
  const offset = zone.offset(wall.toMillis() + (side === 'before' ? -away : away))
  const at = wall.toMillis() - offset * 60_000
  return { ok: true, at, offset: zone.offset(at) }
}

const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
/** Of the Gregorian calendar, until it repeats. */
const CYCLE = { years: 400, ms: 146_097 * DAY }

/** @param month from 1. Hour 24 is the end of the day, and takes nothing behind it */
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
  // Of the years 0 to 99, Date.UTC makes 1900 to 1999.
  return Date.UTC(year + CYCLE.years, month - 1, day, hour, minute, second, ms) - CYCLE.ms
}

/** Tokens of luxon that are so many digits, and which part of a wall-clock time they tell. */
const TOKENS: Readonly<Record<string, readonly [part: number, least: number, most: number]>> = {
  yyyy: [0, 4, 4],
  MM: [1, 2, 2],
  M: [1, 1, 2],
  dd: [2, 2, 2],
  d: [2, 1, 2],
  HH: [3, 2, 2],
  H: [3, 1, 2],
  mm: [4, 2, 2],
  m: [4, 1, 2],
  ss: [5, 2, 2],
  s: [5, 1, 2],
  SSS: [6, 3, 3],
}

/** One digit or several of a part, or a character that stands between them, in upper case. */
type Step = { readonly part: number; readonly least: number; readonly most: number } | number

/** @returns undefined where the form is not digits and ASCII alone, or its numbers end nowhere that a reader without a way back can see */
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
  const told = new Set<number>()
  for (const [piece, quoted] of format.matchAll(/'([^']+)'|([A-Za-z])\2*|./gs)) {
    const before = steps.at(-1)
    const isOpen = typeof before === 'object' && before.least < before.most
    const token = TOKENS[piece]
    if (token !== undefined) {
      const [part, least, most] = token
      if (isOpen || told.has(part)) return undefined
      told.add(part)
      steps.push({ part, least, most })
      continue
    }
    const between = quoted ?? piece
    if (quoted === undefined && /[A-Za-z']/.test(piece)) return undefined
    if (/[^\u0020-\u007e]/.test(between) || (isOpen && /^\d/.test(between))) return undefined
    for (let at = 0; at < between.length; at++) steps.push(upper(between.charCodeAt(at)))
  }
  return [0, 1, 2].every((part) => told.has(part)) ? steps : undefined
}

const upper = (unit: number): number => (unit >= 0x61 && unit <= 0x7a ? unit - 0x20 : unit)

/** ISO 8601, extended: a day, or a day with a time, which may tell its offset. */
const ISO = /^(\d{4})-(\d\d)-(\d\d)(?:T(\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,30}))?)?(Z|[+-]\d\d:?[0-5]\d)?)?$/

/** @returns undefined for what is written in another way, which may be ISO 8601 too; `offset` in minutes, where it is told */
export function readIso(
  text: string,
): { readonly wall: number; readonly offset: number | undefined } | undefined {
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

/** Minutes east of UTC. @param offset like `+05:30` or `-0330` */
function minutesOf(offset: string): number {
  const minutes = Number(offset.slice(1, 3)) * 60 + Number(offset.slice(-2))
  return offset.startsWith('-') ? 0 - minutes : minutes
}
