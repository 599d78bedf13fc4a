/** Instants and durations in words, and coordinates. */
import { DateTime } from 'luxon'

/** `Sun 2026-11-01 05:30:09 UTC` */
export const utcText = (at: number): string => `${clock(at, 'utc')} UTC`

/** `Sun 2026-11-01 01:30:09 -04:00`, by the clock of an IANA zone. */
export const localText = (at: number, zone: string): string =>
  `${clock(at, zone)} ${DateTime.fromMillis(at, { zone }).toFormat('ZZ')}`

const clock = (at: number, zone: string): string =>
  DateTime.fromMillis(at, { zone }).setLocale('en').toFormat('ccc yyyy-MM-dd HH:mm:ss')

const UNITS = [
  { ms: 86_400_000, name: 'd' },
  { ms: 3_600_000, name: 'h' },
  { ms: 60_000, name: 'min' },
  { ms: 1_000, name: 's' },
] as const

/** Milliseconds as `0.4 s`, `12 s`, `3 min 20 s`, `2 h 5 min`: the two largest units at most. */
export function durationText(ms: number): string {
  if (ms < 10_000) return `${Number((ms / 1000).toFixed(1))} s`
  let rest = Math.round(ms / 1000) * 1000
  const parts = UNITS.map(({ ms: unit, name }) => {
    const amount = Math.floor(rest / unit)
    rest -= amount * unit
    return { amount, name }
  })
  const first = parts.findIndex(({ amount }) => amount > 0)
  return parts
    .slice(first, first + 2)
    .filter(({ amount }) => amount > 0)
    .map(({ amount, name }) => `${amount} ${name}`)
    .join(' ')
}

/** A coordinate of a picture: a tenth of a pixel is enough. */
export const px = (value: number): string => String(Math.round(value * 10) / 10)
