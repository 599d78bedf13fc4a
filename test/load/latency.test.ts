import { expect, it } from 'vitest'
import { type Latency, NO_LATENCY, observe } from '../../src/load/pace.ts'

const window = (latency: Latency, ms: (place: number) => number): Latency =>
  Array.from({ length: 20 }, (_, place) => ms(place)).reduce(observe, latency)
const seen = window(NO_LATENCY, () => 200)

it.each([
  [200, 'good'],
  [440, 'good'],
  [460, 'strained'],
  [690, 'strained'],
  [710, 'overloaded'],
])('a median of %s ms where 200 was the best: %s', (ms, verdict) => {
  expect(window(seen, () => ms).verdict).toBe(verdict)
})

it('is not moved by nine slow answers in twenty, nor by short times however they grow', () => {
  expect(window(seen, (place) => (place % 20 < 9 ? 60_000 : 200)).verdict).toBe('good')
  expect(
    window(
      window(NO_LATENCY, () => 2),
      () => 50,
    ).verdict,
  ).toBe('good')
})

it('gets used to what stays', () => {
  let latency = seen
  let windows = 0
  do {
    latency = window(latency, () => 800)
    windows++
  } while (latency.verdict !== 'good')
  expect(windows).toBeGreaterThan(5)
  expect(windows).toBeLessThan(40)
})
