/** Values that a person types, for options of commands and fields of the console. Undefined for another form. */
import { DateTime } from 'luxon'
import { Duration } from '../definitions/export-definition.ts'
import type { SampleSize } from './reconcile.ts'

/** Converts `now` to the chosen instant, both in milliseconds since the epoch. */
export type Since = (now: number) => number

/** An age before now (`7d`), or the start of a day in UTC (`2026-03-02`). */
export function readSince(text: string): Since | undefined {
  const day = DateTime.fromFormat(text, 'yyyy-MM-dd', { zone: 'utc' })
  if (day.isValid) return () => day.toMillis()
  const duration = Duration.safeParse(text)
  return duration.success ? (now) => now - duration.data : undefined
}

/** Requests a second: `5`, `0.5`. */
export function readRate(text: string): number | undefined {
  const perSecond = /^\d{1,6}(?:\.\d{1,3})?$/.test(text) ? Number(text) : 0
  return perSecond > 0 ? perSecond : undefined
}

export const readWholeNumber = (text: string): number | undefined =>
  /^\d{1,9}$/.test(text) ? Number(text) : undefined

/** A number of people (`20`), or a share of them (`5%`). */
export function readSampleSize(text: string): SampleSize | undefined {
  const [, number = '', percent] = /^(\d{1,9}(?:\.\d+)?)(%?)$/.exec(text) ?? []
  const size = Number(number)
  if (percent === '%' && size > 0 && size <= 100) return { kind: 'share', share: size / 100 }
  return percent === '' && size >= 1 && Number.isInteger(size) ? { kind: 'people', people: size } : undefined
}
