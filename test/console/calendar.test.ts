/** Calendar of a range of days: months, marks, and the most important of a day. */
import { expect, test } from 'vitest'
import { type CalendarDay, calendarHtml } from '../../src/console/calendar.ts'

const day = (date: string, look: CalendarDay['look']): CalendarDay => ({
  ...{ date, mark: `(${look})`, words: `it was ${look}`, look },
})
const html = (from: string, to: string, days: readonly CalendarDay[] = []): string =>
  calendarHtml('Exports by day', { from, to }, days, 'export')

/** Texts of the days with something on them. */
const titles = (text: string): string[] =>
  [...text.matchAll(/class="night [\w-]+" title="([^"]+)"/g)].map(([, said = '']) => said)
const months = (text: string): string[] =>
  [...text.matchAll(/<caption>([^<]+)</g)].map(([, month = '']) => month)

const BY_IMPORTANCE = ['failed', 'left', 'under-way', 'pending', 'unchanged', 'well'] as const

test('of a day with several, the most important is shown, whatever came first', () => {
  for (const [at, worst] of BY_IMPORTANCE.entries()) {
    const all = BY_IMPORTANCE.slice(at).map((look) => day('2026-03-02', look))
    const several = all.length === 1 ? '' : `, ${all.length} exports`
    for (const days of [all, all.toReversed()])
      expect(titles(html('2026-03-01', '2026-03-03', days))).toEqual([
        `2026-03-02: it was ${worst}${several}`,
      ])
  }
})

test('a range has each of its months, and a long one its latest 36', () => {
  expect(months(html('2026-01-31', '2026-03-01'))).toEqual(['2026-01', '2026-02', '2026-03'])
  const three = html('2023-04-30', '2026-03-01')
  expect([months(three).length, three.includes('The latest')]).toEqual([36, false])
  const longer = html('2023-03-31', '2026-03-01')
  expect([months(longer).length, months(longer)[0], months(longer).at(-1)]).toEqual([
    36,
    '2023-04',
    '2026-03',
  ])
  expect(longer).toContain('The latest 36 of 37 months.')
})

test('a week begins on Monday, and a day without anything says so', () => {
  // 2 March 2026 is a Monday.
  const rows = [...html('2026-03-01', '2026-03-03').matchAll(/<tr>(.*?)<\/tr>/g)].map(([, row = '']) => row)
  expect(rows[1]).toMatch(/^(<td><\/td>){6}<td>.*2026-03-01: no export/)
  expect(rows[2]).toMatch(/^<td>.*2026-03-02: no export.*<td>.*2026-03-03.*(<td><\/td>){5}$/)
})
