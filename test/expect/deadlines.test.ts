import { expect, test } from 'vitest'
import { latestDeadline } from '../../src/expect/judge.ts'

const at = (text: string): number => Date.parse(text)
const shown = (instant: number): string => new Date(instant).toISOString().slice(0, 16)

test.each([
  // A night; the very instant; a weekend; the night without a half past two; the night with two half past one.
  [
    '30 1 * * *',
    'America/New_York',
    '2026-03-03T12:00Z',
    ['2026-03-02T06:30', '2026-03-03T06:30', '2026-03-04T06:30'],
  ],
  [
    '30 1 * * *',
    'America/New_York',
    '2026-03-03T06:30Z',
    ['2026-03-02T06:30', '2026-03-03T06:30', '2026-03-04T06:30'],
  ],
  [
    '30 1 * * *',
    'America/New_York',
    '2026-03-03T06:29Z',
    ['2026-03-01T06:30', '2026-03-02T06:30', '2026-03-03T06:30'],
  ],
  [
    '0 6 * * 1-5',
    'Europe/Berlin',
    '2026-03-01T12:00Z',
    ['2026-02-26T05:00', '2026-02-27T05:00', '2026-03-02T05:00'],
  ],
  [
    '30 2 * * *',
    'America/New_York',
    '2026-03-08T12:00Z',
    ['2026-03-07T07:30', '2026-03-08T07:00', '2026-03-09T06:30'],
  ],
  [
    '30 1 * * *',
    'America/New_York',
    '2026-11-01T12:00Z',
    ['2026-10-31T05:30', '2026-11-01T05:30', '2026-11-02T06:30'],
  ],
  // Each minute; each month; each year; each leap year.
  ['* * * * *', 'Etc/UTC', '2026-03-03T12:00Z', ['2026-03-03T11:59', '2026-03-03T12:00', '2026-03-03T12:01']],
  ['0 6 1 * *', 'Etc/UTC', '2026-03-03T12:00Z', ['2026-02-01T06:00', '2026-03-01T06:00', '2026-04-01T06:00']],
  ['0 6 1 2 *', 'Etc/UTC', '2026-03-03T12:00Z', ['2025-02-01T06:00', '2026-02-01T06:00', '2027-02-01T06:00']],
  [
    '0 6 29 2 *',
    'Etc/UTC',
    '2026-03-03T12:00Z',
    ['2020-02-29T06:00', '2024-02-29T06:00', '2028-02-29T06:00'],
  ],
])('"%s" in %s, seen at %s', (cron, zone, now, expected) => {
  const found = latestDeadline({ cron, zone }, at(now))
  expect(found && [found.previous, found.due, found.next].map(shown)).toEqual(expected)
})
