/** When a nightly job of 2026 is due, by the published days on which clocks are changed, not by a library. */
const DAY = 86_400_000

/** 02:15 of each night; `summer` has the hours that clocks are ahead of UTC from the first to the last night of summer time. */
interface Year {
  readonly zone: string
  readonly winter: number
  readonly summer: { readonly hours: number; readonly first: string; readonly last: string }
  /** The night in which 02:15 is skipped, and the end of the gap. */
  readonly skipped: { readonly night: string; readonly end: string }
}

export const YEARS: readonly Year[] = [
  {
    zone: 'America/New_York',
    winter: -5,
    // Clocks go back at 02:00 on 1 November: 02:15 comes once, in winter time.
    summer: { hours: -4, first: '2026-03-09', last: '2026-10-31' },
    skipped: { night: '2026-03-08', end: '2026-03-08T07:00:00Z' },
  },
  {
    zone: 'Europe/Berlin',
    winter: 1,
    // Clocks go back at 03:00 on 25 October: 02:15 comes twice, the first time in summer time.
    summer: { hours: 2, first: '2026-03-30', last: '2026-10-25' },
    skipped: { night: '2026-03-29', end: '2026-03-29T01:00:00Z' },
  },
]

export const NIGHTLY = '15 2 * * *'

export function nightsOf({ winter, summer, skipped }: Year): number[] {
  return Array.from({ length: 365 }, (_, night) => {
    const midnight = Date.UTC(2026, 0, 1) + night * DAY
    const date = new Date(midnight).toISOString().slice(0, 10)
    if (date === skipped.night) return Date.parse(skipped.end)
    const hours = date >= summer.first && date <= summer.last ? summer.hours : winter
    return midnight + (2.25 - hours) * 3_600_000
  })
}
