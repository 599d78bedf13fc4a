import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { throughputOf } from '../../../src/story/report/throughput-section.ts'
import type { WorkSpan } from '../../../src/story/run-story.ts'
import { made } from './sample-facts.ts'

const span = (from: number, to: number, accepted: number, paused = 0): WorkSpan => ({
  from,
  to,
  paused,
  rows: accepted,
  records: made({ accepted }),
})

describe('throughput', () => {
  test('what a span came to is spread over it', () => {
    const { worked, bins } = throughputOf([span(0, 2000, 100), span(2000, 4000, 300)], 4000, 4)
    expect(worked).toBe(4000)
    expect(bins.map(({ records }) => records.accepted)).toEqual([50, 50, 150, 150])
    expect(bins.map(({ at, length }) => [at, length])).toEqual([
      [0, 1000],
      [1000, 1000],
      [2000, 1000],
      [3000, 1000],
    ])
  })

  test('a pause is told, and takes no room; a short wait is not', () => {
    const { worked, bins, pauses } = throughputOf(
      [span(0, 1000, 10, 999), span(1000, 2000, 10, 86_400_000), span(2000, 4000, 10)],
      4000,
      2,
    )
    expect(worked).toBe(4000)
    expect(pauses).toEqual([{ at: 1000, length: 86_400_000 }])
    expect(bins.map(({ rows }) => rows)).toEqual([20, 10])
  })

  test('work of which nothing was settled takes its time', () => {
    const { bins } = throughputOf([span(0, 1000, 10)], 4000, 2)
    expect(bins.map(({ rows, length }) => [rows, length])).toEqual([
      [10, 2000],
      [0, 2000],
    ])
  })

  test('what took no time is counted where it lies', () => {
    const { bins } = throughputOf([span(0, 1000, 10), span(1000, 1000, 7)], 1000, 2)
    expect(bins.map(({ rows }) => rows)).toEqual([5, 12])
  })

  test('no work, no bins', () => {
    expect(throughputOf([], 0, 10)).toEqual({ worked: 0, bins: [], pauses: [] })
    expect(throughputOf([span(0, 0, 3)], 0, 10).bins).toEqual([])
  })

  test('nothing is lost in spreading, whatever the spans are', () => {
    const lengths = fc.array(fc.record({ work: fc.nat(50_000), count: fc.nat(5000) }), {
      minLength: 1,
    })
    fc.assert(
      fc.property(lengths, fc.integer({ min: 1, max: 80 }), (parts, count) => {
        let at = 0
        const spans = parts.map(({ work, count: done }) => {
          const from = at
          at = from + work
          return span(from, at, done)
        })
        const worked = at
        const { bins } = throughputOf(spans, worked, count)
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
