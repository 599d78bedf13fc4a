/**
 * Dates and times of exports (luxon, IANA zones). A form that does not fit, a local time that daylight saving skips, or one
 * that it doubles is an issue, never a guess.
 */
import { DateTime, FixedOffsetZone, IANAZone, type Zone } from 'luxon'

export type DateFault = 'date-invalid' | 'date-skipped-by-daylight-saving' | 'date-doubled-by-daylight-saving'

/** An instant in milliseconds since the epoch, with the offset (minutes east of UTC) it was told in; or why there is none. */
export type Instant =
  | { readonly ok: true; readonly at: number; readonly offset: number }
  | { readonly ok: false; readonly code: DateFault }

/** Forms with a name: ISO 8601, milliseconds since the epoch, HL7 v2 TS (HL7 v2.5.1, 2.A.77) to at least the day. */
export const NAMED_FORMS: readonly string[] = ['ISO', 'EPOCH_MS', 'HL7']

const TOKENS = /^(yyyy|yy|M{1,4}|d{1,2}|H{1,2}|h{1,2}|m{1,2}|s{1,2}|S|SSS|u|a|E{3,4}|Z{1,3})$/

const REMEMBERED = 20_000

/** Whether a luxon format tells the offset itself, so that no zone is needed. */
export function carriesOffset(format: string): boolean {
  return format === 'EPOCH_MS' || /[Zz]/.test(format.replaceAll(/'[^']*'/g, ''))
}

/**
 * What is wrong with a form, or undefined. luxon takes unknown letters for text and fills what a form leaves out from
 * today's date, so a form may hold known tokens only and must tell the whole day.
 */
export function formatFault(format: string): string | undefined {
  if (NAMED_FORMS.includes(format)) return undefined
  const bare = format.replaceAll(/'[^']*'/g, ' ')
  if (bare.includes("'")) return `"${format}" opens a quote that it does not close`
  const tokens = [...bare.matchAll(/([A-Za-z])\1*/g)].map(([token]) => token)
  const unknown = tokens.find((token) => !TOKENS.test(token))
  if (unknown !== undefined)
    return `"${unknown}" in "${format}" is no token: a form reads like MM/dd/yyyy HH:mm, text in it stands in 'quotes'`
  if (!['y', 'M', 'd'].every((letter) => tokens.some((token) => token.startsWith(letter)))) {
    return `"${format}" must tell year, month and day (yyyy, MM, dd)`
  }
  const onTwelve = tokens.some((token) => token.startsWith('h'))
  return onTwelve && !tokens.includes('a')
    ? `"${format}" must tell morning from afternoon: add a, or write HH for 24 hours`
    : undefined
}

export function isZone(zone: string): boolean {
  return IANAZone.isValidZone(zone)
}

/**
 * Compiles the forms, tried in order, into a parser.
 * @param formats luxon tokens (`MM/dd/yyyy HH:mm`) or names of NAMED_FORMS
 * @param zone IANA zone of local times; UTC where not given
 */
export function compileInstant(formats: readonly string[], zone = 'UTC'): (text: string) => Instant {
  const local = IANAZone.create(zone)
  const forms = formats.map((format) => compileForm(format, local))
  const remembered = new Map<string, Instant>()
  return (text) => {
    const known = remembered.get(text)
    if (known !== undefined) return known
    let found: Instant = { ok: false, code: 'date-invalid' }
    for (const form of forms) {
      found = form(text)
      if (found.ok || found.code !== 'date-invalid') break
    }
    // What fits no form can be of any length, and is not kept.
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

function compileForm(format: string, zone: Zone): (text: string) => Instant {
  switch (format) {
    case 'EPOCH_MS':
      return (text) =>
        /^-?\d{1,15}$/.test(text)
          ? { ok: true, at: Number(text), offset: 0 }
          : { ok: false, code: 'date-invalid' }
    case 'ISO':
      return (text) => {
        const form = ISO_DAY.exec(text)
        if (form === null) return { ok: false, code: 'date-invalid' }
        const wall = DateTime.fromISO(text, { setZone: true, zone: 'UTC' })
        return form[1] === undefined ? inZone(wall, zone) : absolute(wall)
      }
    case 'HL7':
      return (text) => parseHl7(text, zone)
    default: {
      const parser = DateTime.buildFormatParser(format, { locale: 'en-US' })
      if (carriesOffset(format))
        return (text) => absolute(DateTime.fromFormatParser(text, parser, { setZone: true }))
      return (text) => inZone(DateTime.fromFormatParser(text, parser, { zone: 'UTC' }), zone)
    }
  }
}

/** A whole calendar day, with or without time and offset; luxon alone would take a bare time or year and fill in the rest. */
const ISO_DAY = /^\d{4}-?\d{2}-?\d{2}(?:T[\d:.,]+(Z|[+-]\d{2}(?::?[0-5]\d)?)?)?$/

const HL7_TS =
  /^(\d{4})(\d{2})(\d{2})(?:([01]\d|2[0-3])(?:(\d{2})(?:(\d{2})(?:\.(\d{1,4}))?)?)?)?([+-]\d{2}[0-5]\d)?$/

function parseHl7(text: string, zone: Zone): Instant {
  const match = HL7_TS.exec(text)
  if (match === null) return { ok: false, code: 'date-invalid' }
  const [, year, month, day, hour = '0', minute = '0', second = '0', fraction = '0', offset] = match
  const wall = DateTime.fromObject(
    {
      year: Number(year),
      month: Number(month),
      day: Number(day),
      hour: Number(hour),
      minute: Number(minute),
      second: Number(second),
      millisecond: Math.trunc(Number(`0.${fraction}`) * 1000),
    },
    { zone: 'UTC' },
  )
  if (offset === undefined) return inZone(wall, zone)
  const minutes =
    Number(offset.slice(0, 3)) * 60 + Math.sign(Number(`${offset[0]}1`)) * Number(offset.slice(3))
  return absolute(wall.setZone(FixedOffsetZone.instance(minutes), { keepLocalTime: true }))
}

/** The easternmost offset in use (Pacific/Kiritimati); no place is further from UTC. */
const WIDEST_OFFSET = 14 * 60

const absolute = (at: DateTime): Instant =>
  at.isValid && Math.abs(at.offset) <= WIDEST_OFFSET
    ? { ok: true, at: at.toMillis(), offset: at.offset }
    : { ok: false, code: 'date-invalid' }

/** The wall-clock time (given in UTC) as an instant in the zone; skipped and doubled times are told apart. */
function inZone(wall: DateTime, zone: Zone): Instant {
  if (!wall.isValid) return { ok: false, code: 'date-invalid' }
  const at = wall.setZone(zone, { keepLocalTime: true })
  if (!at.isValid) return { ok: false, code: 'date-invalid' }
  if (at.day !== wall.day || at.hour !== wall.hour || at.minute !== wall.minute)
    return { ok: false, code: 'date-skipped-by-daylight-saving' }
  if (at.getPossibleOffsets().length > 1) return { ok: false, code: 'date-doubled-by-daylight-saving' }
  return { ok: true, at: at.toMillis(), offset: at.offset }
}
