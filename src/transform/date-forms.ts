/**
 * Forms of dates in tokens of luxon: `MM/dd/yyyy HH:mm`. A form of digits and signs is read character by character, any other by a
 * regular expression. Both are faster and stricter than luxon: luxon reads `15:10 AM`, and ignores AM in a 24-hour form.
 */
import { didYouMean } from '../system/schema-problems.ts'

export const DAY = 86_400_000

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
export function tokensFault(format: string): string | undefined {
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
export function wallClock([
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
 * Compiles any form accepted by tokensFault. Letters match in either case; a space matches one or more spaces of any width. A
 * repeated part must have the same value each time, and the day of the week must be right for the date.
 * @param century first year of the hundred for `yy`
 */
export function compileTokens(format: string, century = CENTURY): (text: string) => ReadTokens {
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
export function minutesOf(offset: string): number {
  const digits = offset.slice(1).replace(':', '')
  const minutes =
    digits.length < 3 ? Number(digits) * 60 : Number(digits.slice(0, -2)) * 60 + Number(digits.slice(-2))
  return offset.startsWith('-') ? 0 - minutes : minutes
}
