/**
 * Texts of cells, as stored and not as shown. A number format matters where it makes a number a date, a time, or an id with leading zeros. Pure.
 * Sections are those of ISO/IEC 29500-1 (ECMA-376-1).
 */
import { invalidCell, isCellError, lostDigits, NOT_COMPUTED } from '../model/cell-fault.ts'

/** Meaning of a number format. */
export interface NumberForm {
  /** Least digits of an id. */
  readonly zeros: number
  /** Shows days. */
  readonly date: boolean
  /** Shows hours, minutes or seconds. */
  readonly time: boolean
  /** Counts hours beyond a day. */
  readonly elapsed: boolean
}

export const PLAIN: NumberForm = { zeros: 0, date: false, time: false, elapsed: false }

/** Formats that a file names by number alone (18.8.30; also for Chinese, Japanese and Korean), by a code of equal meaning. */
const BUILT_IN: Readonly<Record<string, (id: number) => boolean>> = {
  'd h': (id) => id === 22,
  '[h]': (id) => id === 46,
  h: (id) => (id >= 18 && id <= 21) || id === 32 || id === 33 || id === 45 || id === 47,
  d: (id) => (id >= 14 && id <= 17) || (id >= 27 && id <= 36) || (id >= 50 && id <= 58),
}

/** @param code as `numFmts` has it */
export const numberForm = (id: number, code: string | undefined): NumberForm =>
  formOf(code ?? Object.entries(BUILT_IN).find(([, has]) => has(id))?.[0] ?? '')

/** Text in a format: quoted, escaped, a blank as wide as a character, a character that fills the cell. */
const LITERAL = /"[^"]*"?|\\.|_.|\*./gs
const ELAPSED = /\[(?:h+|m+|s+)\]/gi

/** AM/PM shows an hour; an exponent is no format of zeros. */
const SPOKEN: Readonly<Record<string, string>> = { a: 'h', e: 'x' }

/** A format code (18.8.31): sections for positive, negative and zero numbers, and for text. */
function formOf(code: string): NumberForm {
  const forms = code
    .replace(LITERAL, '')
    .split(';')
    .slice(0, 3)
    .map((section): NumberForm => {
      const counted = section.replaceAll(ELAPSED, 'h')
      const elapsed = counted !== section
      const bare = counted
        .replaceAll(/\[[^\]]*\]/g, '')
        .replaceAll(
          /general|standard|e[+-]|am\/pm|a\/p/gi,
          (mark) => SPOKEN[mark.charAt(0).toLowerCase()] ?? '',
        )
      // Zeros may be a fraction of a second.
      if (/[0#?]/.test(bare.replaceAll(/s[.,]0+/gi, 's'))) {
        const marks = bare.replaceAll(/[-+() :/$]/g, '')
        return /^0{2,}$/.test(marks) ? { ...PLAIN, zeros: marks.length } : PLAIN
      }
      const time = /[hs]/i.test(bare)
      return { ...PLAIN, date: /[yd]/i.test(bare) || (!time && /m/i.test(bare)), time, elapsed }
    })
  return forms.find(({ date, time }) => date || time) ?? forms[0] ?? PLAIN
}

/** First day of the count (18.17.4.1). */
export interface Epoch {
  /** 1904: day 0 is 1 January 1904; 1900: day 1 is 1 January 1900. */
  readonly from: 1900 | 1904
  /** Counts 29 February 1900, which never was. */
  readonly leap: boolean
}

const DAY = 86_400_000
const LAST_DAY = 2_958_465
const BASE_1904 = Date.UTC(1904, 0, 1)
const BASE_1900 = Date.UTC(1899, 11, 30)

/** ISO 8601: a day, a day with time, a time alone, or hours beyond a day; undefined for no such day. */
function dateText(serial: number, form: NumberForm, { from, leap }: Epoch): string | undefined {
  const stamp = Math.round(serial * DAY)
  if (stamp < 0) return undefined
  if (form.elapsed) {
    const clock = new Date(stamp % DAY).toISOString().slice(13, 23)
    return whole(`${String(Math.floor(stamp / 3_600_000)).padStart(2, '0')}${clock}`)
  }
  const day = Math.floor(stamp / DAY)
  const hasTime = stamp % DAY !== 0
  // Times alone have no day.
  if (day === 0 && (from === 1900 || !form.date)) {
    if (!hasTime && form.date) return undefined
    return whole(new Date(stamp).toISOString().slice(11, 23))
  }
  const isLate = from === 1904 || !leap || day > 60
  if (day > LAST_DAY || (!isLate && day === 60)) return undefined
  const at = new Date(stamp + (from === 1904 ? BASE_1904 : BASE_1900) + (isLate ? 0 : DAY)).toISOString()
  return hasTime || form.time ? whole(at.slice(0, 23)) : at.slice(0, 10)
}

/** Removes an empty fraction of a second. */
const whole = (text: string): string => text.replace(/\.000$/, '')

/** A date as text (18.18.11, `d`). Midnight is left out if the format shows no time. */
const ISO = /^(?:(\d{4}-\d{2}-\d{2})(?:T|$))?T?(?:(\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)(Z|[+-]\d{2}:\d{2})?)?$/

const isDay = (text: string): boolean => {
  const at = Date.parse(`${text}T00:00Z`)
  // 30 February is the second of March.
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(text)
}

function isoText(text: string, { date, time }: NumberForm): string | undefined {
  const [, day, clock, zone = ''] = ISO.exec(text) ?? []
  if (day === undefined && clock === undefined) return undefined
  if (day !== undefined && !isDay(day)) return undefined
  if (clock === undefined) return day
  if (day !== undefined && date && !time && zone === '' && /^00:00(?::00(?:\.0+)?)?$/.test(clock)) return day
  return `${day === undefined ? '' : `${day}T`}${clock.replace(/\.0+$/, '')}${zone}`
}

const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/
/** A double does not hold every larger whole number. */
const SIXTEEN_DIGITS = 1e15

/** Shortest decimal of a double, without exponent. */
function decimalText(value: number): string {
  const text = String(value === 0 ? 0 : value)
  if (!text.includes('e')) return text
  const [, sign = '', first = '', rest = '', power = ''] = /^(-?)(\d)(?:\.(\d+))?e([+-]\d+)$/.exec(text) ?? []
  const exponent = Number(power)
  const digits = first + rest
  return exponent < 0
    ? `${sign}0.${'0'.repeat(-exponent - 1)}${digits}`
    : `${sign}${digits.padEnd(exponent + 1, '0')}`
}

/** A cell as stored. */
interface StoredCell {
  /** Attribute `t` (18.18.11). */
  readonly type: string
  /** Text of `v`. */
  readonly value: string | undefined
  /** Text of `is`. */
  readonly inline: string | undefined
  readonly hasFormula: boolean
  readonly form: NumberForm
}

/** Text in the table of shared strings by index. */
export type SharedText = (index: number) => string | undefined

/** Text of a cell, or a marker for none (`cellFault`). */
export function cellText(cell: StoredCell, shared: SharedText, epoch: Epoch): string {
  const { type, value, inline, hasFormula, form } = cell
  if (type === 'inlineStr') return inline ?? (value === undefined ? '' : unescaped(value))
  if (value === undefined) return hasFormula ? NOT_COMPUTED : ''
  if (type === 'str') return unescaped(value)
  const stored = value.trim()
  if (stored === '') return hasFormula ? NOT_COMPUTED : ''
  switch (type) {
    case 's':
      return (/^\d+$/.test(stored) ? shared(Number(stored)) : undefined) ?? invalidCell(stored)
    case 'b':
      if (stored === '1' || stored === 'true') return 'TRUE'
      return stored === '0' || stored === 'false' ? 'FALSE' : invalidCell(stored)
    case 'e':
      return isCellError(stored) ? stored : invalidCell(stored)
    case 'd':
      return isoText(stored, form) ?? invalidCell(stored)
    case 'n':
      return NUMBER.test(stored) ? numberText(Number(stored), stored, form, epoch) : invalidCell(stored)
    default:
      return invalidCell(stored)
  }
}

function numberText(value: number, stored: string, form: NumberForm, epoch: Epoch): string {
  if (!Number.isFinite(value)) return invalidCell(stored)
  if (form.date || form.time) return dateText(value, form, epoch) ?? invalidCell(stored)
  const isWhole = Number.isInteger(value)
  if (isWhole && Math.abs(value) >= SIXTEEN_DIGITS) return lostDigits(stored)
  if (!isWhole || form.zeros === 0) return decimalText(value)
  const digits = String(Math.abs(value)).padStart(form.zeros, '0')
  return value < 0 ? `-${digits}` : digits
}

/** Replaces escapes like `_x000D_` (22.9.2.19), except NUL. */
export const unescaped = (text: string): string =>
  text.includes('_x')
    ? text.replaceAll(/_x([0-9A-Fa-f]{4})_/g, (written, code: string) =>
        code === '0000' ? written : String.fromCharCode(Number.parseInt(code, 16)),
      )
    : text
