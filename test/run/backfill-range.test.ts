import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { BackfillRange } from '../../src/ledger/ledger.ts'
import { backfillText } from '../../src/ledger/sqlite/runs.ts'
import { backfillCommand, inRange, openBeside, rangeOf, readRange } from '../../src/run/backfill-range.ts'

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

  it.each([
    ['01.02.2026', '2026-02-01'],
    ['1.2.2026', '2026-02-01'],
    ['20260201', '2026-02-01'],
    ['2026-2-1', '2026-02-01'],
    ['2026/02/01', '2026-02-01'],
    ['2026-02', '2026-02-01'],
    // Nobody knows which of the two is the month.
    ['03/04/2026', '2026-02-01'],
    ['31.02.2026', '2026-02-01'],
  ])('is told how to write its first day, %s', (written, meant) => {
    expect(read(written, '2026-03-31')).toThrow(
      expect.objectContaining({ remedy: expect.stringContaining(`Write it as ${meant}`) }),
    )
  })

  it.each([
    ['28.02.2026', '2026-02-28'],
    ['2026-02', '2026-02-28'],
    ['2024-02', '2024-02-29'],
  ])('is told how to write its last day, %s', (written, meant) => {
    expect(read('2024-01-01', written)).toThrow(
      expect.objectContaining({ remedy: expect.stringContaining(`Write it as ${meant}`) }),
    )
  })

  it('is not said to be of another form where its day does not exist', () => {
    expect(read('2026-02-29', '2026-03-31')).toThrow('is no day of the calendar')
    expect(read('01.02.2026', '2026-03-31')).not.toThrow('is no day of the calendar')
  })
})

describe('what a backfill was begun with', () => {
  const days = { from: '2026-01-01', to: '2026-03-31' }
  it.each<[BackfillRange, string]>([
    [days, ''],
    [{ ...days, rate: 0.5 }, ' --rate 0.5'],
    [{ ...days, acceptDrift: true }, ' --accept-drift'],
    [{ ...days, acceptEnd: true }, ' --accept-end'],
    [
      { ...days, in: '/archive/two words', rate: 12, acceptDrift: true, acceptEnd: true },
      " --in '/archive/two words' --rate 12 --accept-drift --accept-end",
    ],
  ])('is kept in its run, and typed again: %j', (range, options) => {
    const kept = rangeOf({ backfill: backfillText(range), backfill_folder: range.in ?? null })
    expect(kept).toEqual(range)
    expect(backfillCommand('nightly', kept ?? days)).toBe(
      `waybill backfill nightly --from 2026-01-01 --to 2026-03-31${options}`,
    )
  })

  it('is in no ordinary run', () => {
    expect(rangeOf({ backfill: null, backfill_folder: null })).toBeUndefined()
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
    expect(openBeside(begun)('/in/a.zip')).toBe(open)
  })
})
