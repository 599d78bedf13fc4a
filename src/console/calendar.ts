/** Calendar of a range of days: a table for each month, a row for each week, with a mark for the exports or fires of a day. */
import { html } from '../system/shown-text.ts'

const DAY_MS = 86_400_000
const MONTHS = 36

export interface CalendarDay {
  readonly date: string
  readonly mark: string
  readonly words: string
  readonly look: 'well' | 'unchanged' | 'pending' | 'under-way' | 'left' | 'failed'
}

/** Order of importance, for a day with several. */
const ORDER: readonly CalendarDay['look'][] = ['failed', 'left', 'under-way', 'pending', 'unchanged', 'well']

/** @param range both days are included @param unit thing of a day: `export` */
export function calendarHtml(
  label: string,
  { from, to }: { readonly from: string; readonly to: string },
  days: readonly CalendarDay[],
  unit: string,
): string {
  const byDate = Map.groupBy(days, ({ date }) => date)
  const all = datesOf(from, to)
  const months = [...Map.groupBy(all, (date) => date.slice(0, 7))]
  const shown = months.slice(-MONTHS)
  const kinds = new Map(days.map(({ mark, words, look }) => [words, { mark, look }]))
  const key = [...kinds].map(
    ([words, { mark, look }]) => `<li><span class="swatch ${look}"></span>${mark} ${html(words)}</li>`,
  )
  return `<div class="months" role="group" aria-label="${html(label)}">${shown.map(([month, dates]) => monthHtml(month, dates, byDate, unit)).join('')}</div>
<ul class="key">${key.join('')}<li>an empty box: no ${unit}</li></ul>${
    months.length > shown.length
      ? `<p class="note">The latest ${shown.length} of ${months.length} months.</p>`
      : ''
  }`
}

function datesOf(from: string, to: string): string[] {
  const first = Date.parse(from)
  const count = Math.round((Date.parse(to) - first) / DAY_MS) + 1
  return Array.from({ length: count }, (_, at) => new Date(first + at * DAY_MS).toISOString().slice(0, 10))
}

function monthHtml(
  month: string,
  dates: readonly string[],
  byDate: ReadonlyMap<string, readonly CalendarDay[]>,
  unit: string,
): string {
  const weeks = [...Map.groupBy(dates, weekOf).values()]
  const cells = (week: readonly string[]): string =>
    Array.from({ length: 7 }, (_, weekday) => {
      const date = week.find((one) => weekdayOf(one) === weekday)
      return date === undefined ? '<td></td>' : `<td>${dayHtml(date, byDate.get(date) ?? [], unit)}</td>`
    }).join('')
  return `<table class="month"><caption>${month}</caption><thead><tr>${WEEKDAYS.map((day) => `<th scope="col"><abbr title="${day}">${day.slice(0, 2)}</abbr></th>`).join('')}</tr></thead>
<tbody>${weeks.map((week) => `<tr>${cells(week)}</tr>`).join('')}</tbody></table>`
}

const WEEKDAYS = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'] as const

/** From Monday, 0. */
const weekdayOf = (date: string): number => (new Date(date).getUTCDay() + 6) % 7
const weekOf = (date: string): number => Math.floor(Date.parse(date) / DAY_MS) - weekdayOf(date)

function dayHtml(date: string, all: readonly CalendarDay[], unit: string): string {
  const [worst] = all.toSorted((a, b) => ORDER.indexOf(a.look) - ORDER.indexOf(b.look))
  const number = Number(date.slice(8))
  if (worst === undefined)
    return `<span class="night"><span class="hidden">${date}: no ${unit}</span><span aria-hidden="true">${number}</span></span>`
  const several = all.length === 1 ? '' : `, ${all.length} ${unit}s`
  const said = html(`${date}: ${worst.words}${several}`)
  return `<span class="night ${worst.look}" title="${said}"><span class="hidden">${said}</span><span aria-hidden="true">${number}${worst.mark}</span></span>`
}
