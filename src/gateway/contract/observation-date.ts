import { z } from 'zod'

/**
 * The forms of a point in time on the wire; all are UTC (Condition record: "All dates are normalised to and expressed in
 * UTC"). A biometric is sent and echoed with `IsoInstant`, a condition is sent with `EpochMs`, a care team entry is sent
 * with `EpochMsText`; reads give `InstantAsRead`.
 */

/** ISO 8601, UTC, exactly three digits of milliseconds: `2024-03-01T14:05:00.000Z`. */
export const IsoInstant = z.iso.datetime({ precision: 3 })
export type IsoInstant = z.infer<typeof IsoInstant>

/** Milliseconds since 1970-01-01T00:00:00Z as a JSON number; negative before that day. */
export const EpochMs = z.int()
export type EpochMs = z.infer<typeof EpochMs>

/** Milliseconds since 1970-01-01T00:00:00Z as a string of digits. */
export const EpochMsText = z
  .string()
  .regex(/^-?\d{1,16}$/, 'Expected epoch milliseconds as a string of digits')
export type EpochMsText = z.infer<typeof EpochMsText>

/**
 * A date in an answer. Documented as epoch milliseconds in a string (biometric read), a string of unstated form
 * (condition) and a number (care team); every one of them is accepted everywhere. Read it with `epochMsOf`.
 */
export const InstantAsRead = z.union([z.string(), z.number()])
export type InstantAsRead = z.infer<typeof InstantAsRead>

/** Epoch milliseconds of any of the forms above; undefined where it is none of them. ISO dates without a zone are UTC. */
export function epochMsOf(instant: unknown): number | undefined {
  if (typeof instant === 'number') return Number.isFinite(instant) ? instant : undefined
  if (typeof instant !== 'string') return undefined
  if (EpochMsText.safeParse(instant).success) return Number(instant)
  const zoned =
    /T.*(?:Z|[+-]\d{2}:?\d{2})$/i.test(instant) || !instant.includes('T') ? instant : `${instant}Z`
  const parsed = /^\d{4}-\d{2}-\d{2}/.test(instant) ? Date.parse(zoned) : Number.NaN
  return Number.isNaN(parsed) ? undefined : parsed
}
