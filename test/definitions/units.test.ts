import { expect, it } from 'vitest'
import { BYTE_SIZE, DURATION } from '../../src/definitions/quantity.ts'

it.each([
  [DURATION, { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }],
  [
    BYTE_SIZE,
    {
      ...{ B: 1, KiB: 1024, MiB: 1_048_576, GiB: 1_073_741_824 },
      ...{ kB: 1_000, MB: 1_000_000, GB: 1_000_000_000 },
    },
  ],
])('each unit is as large as its name says, and every one is offered', (quantity, units) => {
  for (const [unit, size] of Object.entries(units)) {
    expect(quantity.read(`3${unit}`), unit).toBe(3 * size)
    expect(quantity.read(`0.5 ${unit}`), unit).toBe(Math.round(size / 2))
  }
  expect(quantity.demand('x')).toBe(`must be a number and a unit (${Object.keys(units).join(', ')}), like x`)
  expect(quantity.read('3')).toBeUndefined()
})
