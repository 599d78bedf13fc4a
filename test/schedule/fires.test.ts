import { IANAZone } from 'luxon'
import { describe, expect, it } from 'vitest'
import { firesAfter, firesBetween } from '../../src/schedule/fires.ts'
import { NIGHTLY, nightsOf, YEARS } from './nights.ts'

const between = (cron: string, zone: string, from: string, to: string): string[] =>
  firesBetween({ cron, zone }, Date.parse(from), Date.parse(to), 10_000).map((at) =>
    new Date(at).toISOString().replace(':00.000Z', 'Z'),
  )

it.each(YEARS)('a year of nights in $zone', (year) => {
  const { zone } = year
  const from = Date.UTC(2026, 0, 1, 0) - 1
  expect(firesBetween({ cron: NIGHTLY, zone }, from, Date.UTC(2026, 11, 31, 23), 1000)).toEqual(
    nightsOf(year),
  )
})

describe('where clocks are set ahead', () => {
  it('times of day that are skipped are due together, at the first instant after the gap', () => {
    expect(between('0,15,30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00Z', '2026-03-30T12:00Z')).toEqual([
      '2026-03-29T01:00Z',
      ...['2026-03-30T00:00Z', '2026-03-30T00:15Z', '2026-03-30T00:30Z'],
    ])
    expect(between('30 2,3 * * *', 'Europe/Berlin', '2026-03-28T12:00Z', '2026-03-29T12:00Z')).toEqual([
      ...['2026-03-29T01:00Z', '2026-03-29T01:30Z'],
    ])
  })

  it('what is due every so many minutes goes on as minutes pass', () => {
    expect(between('*/20 * * * *', 'America/New_York', '2026-03-08T06:30Z', '2026-03-08T07:30Z')).toEqual([
      ...['2026-03-08T06:40Z', '2026-03-08T07:00Z', '2026-03-08T07:20Z'],
    ])
  })

  it('a day that a zone leaves out altogether is due as the next begins', () => {
    // Samoa crossed the date line at the end of 29 December 2011.
    expect(between(NIGHTLY, 'Pacific/Apia', '2011-12-28T20:00Z', '2011-12-31T20:00Z')).toEqual([
      ...['2011-12-29T12:15Z', '2011-12-30T10:00Z', '2011-12-30T12:15Z', '2011-12-31T12:15Z'],
    ])
  })
})

describe('where clocks are set back', () => {
  it('a time of day that comes twice is due the first time', () => {
    expect(between('30 1 * * *', 'America/New_York', '2026-10-31T12:00Z', '2026-11-02T12:00Z')).toEqual([
      ...['2026-11-01T05:30Z', '2026-11-02T06:30Z'],
    ])
  })

  it('what is due every so many minutes is due in both hours', () => {
    expect(between('*/30 * * * *', 'America/New_York', '2026-11-01T04:59Z', '2026-11-01T07:00Z')).toEqual([
      ...['2026-11-01T05:00Z', '2026-11-01T05:30Z', '2026-11-01T06:00Z', '2026-11-01T06:30Z'],
      '2026-11-01T07:00Z',
    ])
  })

  it('past midnight, instants keep their order', () => {
    // Until 2011 clocks in Newfoundland went from 00:01 back to 23:01 of the day before.
    expect(between('0,30 * * * *', 'America/St_Johns', '2010-11-07T01:45Z', '2010-11-07T03:35Z')).toEqual([
      ...['2010-11-07T02:00Z', '2010-11-07T02:30Z', '2010-11-07T03:00Z', '2010-11-07T03:30Z'],
    ])
  })
})

describe('in every zone and year', () => {
  const ZONES = [
    'Australia/Lord_Howe',
    'America/Havana',
    'Africa/Cairo',
    'Africa/Casablanca',
    'Asia/Kathmandu',
  ]
  it.each([...ZONES, 'Pacific/Chatham', 'America/Santiago', 'Etc/UTC'])('%s: once a day', (zone) => {
    const found = firesBetween(
      { cron: '15 0,2 * * *', zone },
      Date.UTC(2024, 0, 2),
      Date.UTC(2026, 0, 2),
      10_000,
    )
    expect(found).toHaveLength(2 * 731)
    const clock = IANAZone.create(zone)
    for (const [at, instant] of found.entries()) {
      expect(instant).toBeGreaterThan(found[at - 1] ?? 0)
      const local = new Date(instant + clock.offset(instant) * 60_000).toISOString().slice(11, 16)
      const isAfterGap = clock.offset(instant) > clock.offset(instant - 1)
      expect(isAfterGap || local === '00:15' || local === '02:15').toBe(true)
    }
  })
})

// 1 January 2026 is a Thursday.
it.each(['Etc/UTC', 'Pacific/Auckland', 'America/Los_Angeles'])(
  '%s: weekdays are those of the zone',
  (zone) => {
    const clock = IANAZone.create(zone)
    const fires = firesBetween(
      { cron: '30 0,23 * * 1', zone },
      Date.UTC(2026, 0, 2),
      Date.UTC(2026, 0, 17),
      10_000,
    )
    expect(fires.map((at) => new Date(at + clock.offset(at) * 60_000).toISOString())).toEqual(
      ['2026-01-05T00:30', '2026-01-05T23:30', '2026-01-12T00:30', '2026-01-12T23:30'].map(
        (local) => `${local}:00.000Z`,
      ),
    )
  },
)

it('a day that comes every four years, or after eight, is found', () => {
  const days = firesAfter({ cron: '0 12 29 2 *', zone: 'Etc/UTC' }, Date.UTC(2095, 0, 1))
  const found = [days.next().value, days.next().value]
  expect(found).toEqual([Date.UTC(2096, 1, 29, 12), Date.UTC(2104, 1, 29, 12)])
})

it('gives the newest where there are more than wanted', () => {
  const timetable = { cron: '* * * * *', zone: 'Etc/UTC' }
  expect(firesBetween(timetable, 0, 600_000, 2)).toEqual([540_000, 600_000])
  expect(firesBetween(timetable, 60_000, 60_000, 2)).toEqual([])
})
