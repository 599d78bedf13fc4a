/** Durations, sizes and shares as people write them in a job file: `30m`, `1MiB`, `5%`. */
import { z } from 'zod'

const DURATION_MS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const
const SIZE_BYTES = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3, kB: 1000, MB: 1e6, GB: 1e9 } as const

function quantity<Unit extends string>(units: Readonly<Record<Unit, number>>, example: string) {
  const form = new RegExp(`^(\\d+(?:\\.\\d+)?)\\s*(${Object.keys(units).join('|')})$`)
  return z
    .string()
    .regex(form, `must be a number and a unit (${Object.keys(units).join(', ')}), like ${example}`)
    .transform((text) => {
      const [, amount = '0', unit = ''] = form.exec(text) ?? []
      return Math.round(
        Number(amount) * (Object.entries<number>(units).find(([name]) => name === unit)?.[1] ?? 1),
      )
    })
}

/** Milliseconds. */
export const Duration = quantity(DURATION_MS, '30m')

/** Bytes. */
export const ByteSize = quantity(SIZE_BYTES, '1MiB')

/** A fraction from 0 to 1. */
export const Share = z
  .string()
  .regex(/^(100(\.0+)?|\d{1,2}(\.\d+)?)\s*%$/, 'must be a percentage from 0% to 100%, like 5%')
  .transform((text) => Number.parseFloat(text) / 100)
