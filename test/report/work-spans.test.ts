import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { PAUSE_MS, throughputOf, type WorkSpan, workedFrom } from '../../src/report/work-spans.ts'
import { made } from './sample-facts.ts'

const span = (from: number, to: number, accepted: number): WorkSpan => ({
  from,
  to,
  rows: accepted,
  records: made({ accepted }),
})

describe('throughput', () => {
  test('what a span came to is spread over it', () => {
    const { worked, bins } = throughputOf([span(0, 2000, 100), span(2000, 4000, 300)], 4)
    expect(worked).toBe(4000)
    expect(bins.map(({ records }) => records.accepted)).toEqual([50, 50, 150, 150])
    expect(bins.map(({ at, length }) => [at, length])).toEqual([
      [0, 1000],
      [1000, 1000],
      [2000, 1000],
      [3000, 1000],
    ])
  })

  test('a pause is cut out, and told; a short wait is not', () => {
    const day = 86_400_000
    const { worked, bins, pauses } = throughputOf(
      [span(0, 1000, 10), span(1500, 2000, 10), span(day, day + 2000, 10)],
      2,
    )
    expect(worked).toBe(4000)
    expect(pauses).toEqual([{ at: 2000, length: day - 2000 }])
    expect(bins.map(({ rows }) => rows)).toEqual([20, 10])
  })

  test('what took no time is counted where it lies', () => {
    const { bins } = throughputOf([span(0, 1000, 10), span(1000, 1000, 7)], 2)
    expect(bins.map(({ rows }) => rows)).toEqual([5, 12])
  })

  test('no work, no bins', () => {
    expect(throughputOf([], 10)).toEqual({ worked: 0, bins: [], pauses: [] })
    expect(throughputOf([span(5, 5, 3)], 10).bins).toEqual([])
  })

  test('nothing is lost in spreading, whatever the spans are', () => {
    const lengths = fc.array(
      fc.record({ wait: fc.nat(200_000), work: fc.nat(50_000), count: fc.nat(5000) }),
      {
        minLength: 1,
      },
    )
    fc.assert(
      fc.property(lengths, fc.integer({ min: 1, max: 80 }), (parts, count) => {
        let at = 0
        const spans = parts.map(({ wait, work, count: done }) => {
          const from = at + wait
          at = from + work
          return span(from, at, done)
        })
        const { worked, bins } = throughputOf(spans, count)
        const sum = (numbers: number[]): number => numbers.reduce((total, one) => total + one, 0)
        if (worked === 0) return
        expect(sum(bins.map(({ rows }) => rows))).toBeCloseTo(sum(parts.map((one) => one.count)), 4)
        expect(sum(bins.map(({ length }) => length))).toBeCloseTo(worked, 4)
        for (const { rows, records } of bins) {
          expect(rows).toBeGreaterThanOrEqual(0)
          expect(records.accepted).toBeCloseTo(rows, 6)
        }
      }),
    )
  })
})

describe('since when there was work', () => {
  const start = 1_000_000
  test.each([
    ['without signs, from the end of what was before', [], start],
    ['signs close together are no pause', [start + 1000, start + 50_000], start],
    [
      'after a pause, from the first sign',
      [start + 10, start + 10 + 2 * PAUSE_MS],
      start + 10 + 2 * PAUSE_MS,
    ],
    ['after the last pause of two', [start + 2 * PAUSE_MS, start + 4 * PAUSE_MS], start + 4 * PAUSE_MS],
    ['signs before and after do not count', [0, start + 10 * PAUSE_MS], start],
  ])('%s', (_, signs, expected) => {
    expect(workedFrom(start, start + 5 * PAUSE_MS, signs)).toBe(expected)
  })
})
