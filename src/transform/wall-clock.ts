/**
 * Wall-clock times read by code of our own where a form is digits and signs between them: to build a value of luxon takes ten times as
 * long. It gives what luxon gives. A wall-clock time is told as the milliseconds since the epoch at which UTC would show it; NaN stands
 * for none.
 */

const DAY = 86_400_000
const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
/** Of the Gregorian calendar, until it repeats. */
const CYCLE = { years: 400, ms: 146_097 * DAY }

/** @param month from 1. Hour 24 is the end of the day, and takes nothing behind it */
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
export function minutesOf(offset: string): number {
  const minutes = Number(offset.slice(1, 3)) * 60 + Number(offset.slice(-2))
  return offset.startsWith('-') ? 0 - minutes : minutes
}
