/** Instants as people read them. */
import { DateTime } from 'luxon'

/** `Sun 2026-11-01 01:30 -04:00`, by the clock of the zone. */
export const localTime = (at: number, zone: string): string =>
  DateTime.fromMillis(at, { zone }).setLocale('en').toFormat('ccc yyyy-MM-dd HH:mm ZZ')

/** `2026-11-01 05:30` */
export const utcTime = (at: number): string => new Date(at).toISOString().slice(0, 16).replace('T', ' ')
