import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { inRange, isOpen, readRange } from '../../src/job/backfill-range.ts'

describe('a range', () => {
  const read = (from: string, to: string) => () => readRange(from, to, 'waybill backfill nightly')
  it.each([
    ['2026-01-01', '2026-03-31'],
    ['2026-01-01', '2026-01-01'],
    // In a leap year, and over the days on which clocks are set in New York and Berlin.
    ['2024-02-29', '2024-03-31'],
    ['1999-12-31', '2000-01-01'],
  ])('may be %s to %s', (from, to) => {
    expect(read(from, to)()).toEqual({ from, to })
  })

  it.each([
    ['2026-02-29', '2026-03-31', '--from 2026-02-29'],
    ['2026-01-01', '2026-04-31', '--to 2026-04-31'],
    ['2026-1-1', '2026-03-31', '--from 2026-1-1'],
    ['20260101', '2026-03-31', '--from 20260101'],
    ['yesterday', '2026-03-31', '--from yesterday'],
    ['2026-01-01T00:00', '2026-03-31', '--from'],
    ['2026-01-01', '', '--to'],
    ['2026-03-31', '2026-01-01', '(2026-01-01) before it begins (2026-03-31)'],
  ])('may not be %s to %s', (from, to, words) => {
    expect(read(from, to)).toThrow(words)
    expect(read(from, to)).toThrow(
      expect.objectContaining({
        code: 'usage-wrong',
        remedy: expect.stringContaining('waybill backfill nightly --from 2026-01-01 --to 2026-03-31'),
      }),
    )
  })
})

const dayOf = (day: number): string =>
  new Date(Date.UTC(2024, 0, 1) + day * 86_400_000).toISOString().slice(0, 10)
const compact = (date: string): string => date.replaceAll('-', '')

describe('the exports of a range', () => {
  it('are ordered by date, then by name, and each of them is there once, whatever the sources', () => {
    const names = fc.uniqueArray(
      fc.record({
        vendor: fc.constantFrom('acme', 'b', 'zeta'),
        day: fc.integer({ min: 0, max: 800 }),
        part: fc.constantFrom('', '_2', '.gz'),
      }),
      { selector: ({ vendor, day, part }) => `${vendor} ${day} ${part}`, maxLength: 60 },
    )
    const day = fc.integer({ min: 0, max: 800 })
    fc.assert(
      fc.property(names, day, day, (exports, one, other) => {
        const [from, to] = [dayOf(Math.min(one, other)), dayOf(Math.max(one, other))]
        const found = exports.map(({ vendor, day, part }) => {
          const name = `${vendor}_${compact(dayOf(day))}.csv${part}`
          return { found: { vendor, day, part }, name, match: `${vendor}_{date:yyyyMMdd}.csv*` }
        })
        const taken = inRange(found, { from, to })
        const wanted = exports.filter(({ day }) => from <= dayOf(day) && dayOf(day) <= to)
        expect(new Set(taken.map((one) => one.found))).toEqual(new Set(wanted))
        expect(taken).toHaveLength(wanted.length)
        for (const [at, { found, name, date }] of taken.entries()) {
          expect(date).toBe(dayOf(found.day))
          const next = taken[at + 1]
          if (next === undefined) continue
          expect(date <= next.date).toBe(true)
          if (date === next.date) expect(name < next.name).toBe(true)
        }
      }),
    )
  })

  it('of a month without days count as of its first', () => {
    const found = ['202601', '202602', '202603'].map((month) => {
      return { found: month, name: `lab_${month}.csv`, match: 'lab_{date:yyyyMM}.csv' }
    })
    const months = (from: string, to: string) => inRange(found, { from, to }).map((one) => one.found)
    expect(months('2026-01-02', '2026-02-28')).toEqual(['202602'])
    expect(months('2026-01-01', '2026-03-01')).toEqual(['202601', '202602', '202603'])
  })
})

describe('of a delivery there is something left to take', () => {
  it.each([
    ['nothing was begun', [], true],
    ['another one was', ['/in/b.csv'], true],
    ['it was begun itself', ['/in/a.zip', '/in/b.csv'], false],
    ['a member of it was begun last', ['/in/b.csv', '/in/a.zip!1.csv'], true],
    ['members of it were begun, and then another one', ['/in/a.zip!1.csv', '/in/b.csv'], false],
    ['the name of another one begins as its own does', ['/in/a.zip2', '/in/b.csv'], true],
  ])('%s', (_when, begun, open) => {
    expect(isOpen('/in/a.zip', begun)).toBe(open)
  })
})
