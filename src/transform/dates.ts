/**
 * Dates and times of exports (luxon, IANA zones). A form that does not fit, a local time that daylight saving skips, or one
 * that it doubles is an issue, never a guess.
 */
import { DateTime, FixedOffsetZone, IANAZone, type Zone } from 'luxon'

export type DateFault = 'date-invalid' | 'date-skipped-by-daylight-saving' | 'date-doubled-by-daylight-saving'

/** An instant in milliseconds since the epoch, or why there is none. */
export type Instant = { readonly ok: true; readonly at: number } | { readonly ok: false; readonly code: DateFault }

/** Forms with a name: ISO 8601, milliseconds since the epoch, HL7 v2 TS (HL7 v2.5.1, 2.A.77) to at least the day. */
export const NAMED_FORMS = ['ISO', 'EPOCH_MS', 'HL7'] as const

const REMEMBERED = 20_000

/** Whether a luxon format tells the offset itself, so that no zone is needed. */
export function carriesOffset(format: string): boolean {
  return format === 'EPOCH_MS' || /[Zz]/.test(format.replaceAll(/'[^']*'/g, ''))
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
    if (remembered.size >= REMEMBERED) remembered.clear()
    remembered.set(text, found)
    return found
  }
}

/** Compiles forms of a calendar date into a parser that gives `YYYY-MM-DD`, or undefined. */
export function compileCalendarDate(formats: readonly string[]): (text: string) => string | undefined {
  const parse = compileInstant(formats)
  return (text) => {
    const instant = parse(text)
    return instant.ok ? new Date(instant.at).toISOString().slice(0, 10) : undefined
  }
}

function compileForm(format: string, zone: Zone): (text: string) => Instant {
  switch (format) {
    case 'EPOCH_MS':
      return (text) => (/^-?\d{1,15}$/.test(text) ? { ok: true, at: Number(text) } : { ok: false, code: 'date-invalid' })
    case 'ISO':
      return (text) => {
        const wall = DateTime.fromISO(text, { setZone: true, zone: 'UTC' })
        return /([Zz]|[+-]\d{2}(:?\d{2})?)$/.test(text.slice(10)) ? absolute(wall) : inZone(wall, zone)
      }
    case 'HL7':
      return (text) => parseHl7(text, zone)
    default: {
      const parser = DateTime.buildFormatParser(format, { locale: 'en-US' })
      if (carriesOffset(format)) return (text) => absolute(DateTime.fromFormatParser(text, parser, { setZone: true }))
      return (text) => inZone(DateTime.fromFormatParser(text, parser, { zone: 'UTC' }), zone)
    }
  }
}

const HL7_TS = /^(\d{4})(\d{2})(\d{2})(?:(\d{2})(?:(\d{2})(?:(\d{2})(?:\.(\d{1,4}))?)?)?)?([+-]\d{4})?$/

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
  const minutes = Number(offset.slice(0, 3)) * 60 + Math.sign(Number(`${offset[0]}1`)) * Number(offset.slice(3))
  return absolute(wall.setZone(FixedOffsetZone.instance(minutes), { keepLocalTime: true }))
}

const absolute = (at: DateTime): Instant =>
  at.isValid ? { ok: true, at: at.toMillis() } : { ok: false, code: 'date-invalid' }

/** The wall-clock time (given in UTC) as an instant in the zone; skipped and doubled times are told apart. */
function inZone(wall: DateTime, zone: Zone): Instant {
  if (!wall.isValid) return { ok: false, code: 'date-invalid' }
  const at = wall.setZone(zone, { keepLocalTime: true })
  if (!at.isValid) return { ok: false, code: 'date-invalid' }
  if (at.hour !== wall.hour || at.minute !== wall.minute) return { ok: false, code: 'date-skipped-by-daylight-saving' }
  if (at.getPossibleOffsets().length > 1) return { ok: false, code: 'date-doubled-by-daylight-saving' }
  return { ok: true, at: at.toMillis() }
}
