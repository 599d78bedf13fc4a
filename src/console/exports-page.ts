/** Exports of a job by night: rows as bars, empty values by column and medians by rule as lines, each beside its numbers. */
import { scaleLinear } from 'd3-scale'
import type { Application } from '../runs/application.ts'
import { EXPORTS_LISTED, type NightExport, readExports } from '../runs/read-exports.ts'
import { listJobs } from '../runs/scheduled-jobs.ts'
import { counts, foldedTable, nameHtml, numbers, outcomeBox, px, words } from '../story/report/figures.ts'
import { counted, html, n, sizeText } from '../system/shown-text.ts'
import { type Page, runLink, timeHtml } from './layout.ts'

/** Exports with a column of numbers of their own. */
const IN_NUMBERS = 7
const UNFOLDED = 20

const WIDTH = 900
const HEIGHT = 120
const LINE_WIDTH = 120
const LINE_HEIGHT = 20

export async function exportsPage(application: Application, asked: string | undefined): Promise<Page> {
  const jobs = (await listJobs(application.settings)).map(({ name }) => name)
  const job = asked ?? jobs[0]
  const found = job === undefined ? [] : await readExports(application, job)
  const byMapping = Map.groupBy(found, ({ mapping }) => mapping ?? 'a pruned mapping')
  return {
    title: job === undefined ? 'Exports' : `Exports of ${job}`,
    isLive: true,
    json: { job: job ?? null, exports: found },
    body: `<h1>Exports${job === undefined ? '' : ` of ${html(job)}`}</h1>
${jobForm(jobs, job)}
${found.length === 0 ? '<p class="none">No run of the job has read an export yet.</p>' : ''}
${[...byMapping].map(([mapping, all]) => mappingSections(mapping, all)).join('\n')}`,
  }
}

function mappingSections(mapping: string, newestFirst: readonly NightExport[]): string {
  const oldestFirst = newestFirst.toReversed()
  return `<section>
<h2>Rows <span>the latest ${counted(newestFirst.length, 'export')} by ${html(mapping)}, oldest first</span></h2>
${rowsPicture(oldestFirst)}
${numbers(rowsTable(newestFirst))}
</section>
${lines('Empty values', 'share of empty values by column', oldestFirst, ({ empty }) => empty, percent)}
${lines('Medians', 'median by rule, in the unit of the catalog', oldestFirst, ({ medians }) => medians, String)}`
}

function rowsPicture(exports: readonly NightExport[]): string {
  const most = Math.max(1, ...exports.map(({ rows }) => rows.read))
  const y = scaleLinear([0, most], [0, HEIGHT])
  const step = WIDTH / EXPORTS_LISTED
  const bars = exports.flatMap(({ rows }, at) => {
    let top = HEIGHT
    const parts = [
      ['mapped', rows.read - rows.skipped - rows.rejected],
      ['skipped', rows.skipped],
      ['rejected', rows.rejected],
    ] as const
    return parts.map(([outcome, count]) => {
      top -= y(count)
      return outcomeBox(
        outcome,
        `x="${px(at * step)}" y="${px(top)}" width="${px(step - 3)}" height="${px(y(count))}"`,
      )
    })
  })
  return `<ul class="legend"><li><span class="swatch mapped"></span>→ mapped</li><li><span class="swatch skipped"></span>– skipped</li><li><span class="swatch rejected"></span>× rejected</li></ul>
<svg class="bars" viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" aria-hidden="true">${bars.join('')}</svg>
<p class="note">The highest bar: ${counted(most, 'row')}. From ${timeOf(exports[0])} to ${timeOf(exports.at(-1))}, by the begin of the runs.</p>`
}

const timeOf = (one: NightExport | undefined): string =>
  one === undefined ? '' : timeHtml(Date.parse(one.startedAt))

const rowsTable = (exports: readonly NightExport[]): string =>
  foldedTable(
    {
      label: 'Rows by export, newest first',
      columns: [...words('export', 'run', 'begun'), ...counts('rows', 'skipped', 'rejected', 'size')],
      lines: exports.map(({ run, startedAt, export: name, state, bytes, rows }) => [
        `${nameHtml(name)}${state === 'finished' ? '' : ` (${state === 'failed' ? 'not read' : 'not read to the end'})`}`,
        runLink(run),
        timeHtml(Date.parse(startedAt)),
        n(rows.read),
        n(rows.skipped),
        n(rows.rejected),
        sizeText(bytes),
      ]),
      kind: 'rows blocks',
    },
    UNFOLDED,
    'earlier exports',
  )

const percent = (share: number): string => `${Number((100 * share).toFixed(1))} %`

/** A line for each name, and the latest values as numbers. Names that never change come last. */
function lines(
  heading: string,
  says: string,
  exports: readonly NightExport[],
  valuesOf: (one: NightExport) => Readonly<Record<string, number>> | undefined,
  shown: (value: number) => string,
): string {
  const profiled = exports.flatMap((one) => {
    const values = valuesOf(one)
    return values === undefined ? [] : [{ one, values }]
  })
  const names = [...new Set(profiled.flatMap(({ values }) => Object.keys(values)))]
  if (names.length === 0) return ''
  const latest = profiled.slice(-IN_NUMBERS).reverse()
  const spread = (name: string): number => {
    const all = profiled.flatMap(({ values }) => values[name] ?? [])
    return Math.max(...all) - Math.min(...all)
  }
  const ordered = names.toSorted((a, b) => Number(spread(b) > 0) - Number(spread(a) > 0))
  return `<section>
<h2>${heading} <span>${says}</span></h2>
${foldedTable(
  {
    label: heading,
    columns: [
      ...words('name', `${counted(profiled.length, 'export')}, oldest first`),
      ...counts(...latest.map(({ one }) => headOf(one, latest))),
    ],
    lines: ordered.map((name) => [
      nameHtml(name),
      linePicture(profiled.map(({ values }) => values[name])),
      ...latest.map(({ values }) => (values[name] === undefined ? '' : shown(values[name]))),
    ]),
    kind: 'rows',
  },
  UNFOLDED,
  'more',
)}
</section>`
}

/** Day of the run; with its time where two runs of a day are shown. */
function headOf({ startedAt }: NightExport, shown: readonly { readonly one: NightExport }[]): string {
  const day = startedAt.slice(5, 10)
  const isOnly = shown.filter(({ one }) => one.startedAt.slice(5, 10) === day).length === 1
  return isOnly ? day : `${day} ${startedAt.slice(11, 16)}`
}

function linePicture(values: readonly (number | undefined)[]): string {
  const known = values.flatMap((value) => value ?? [])
  const [low, high] = [Math.min(...known), Math.max(...known)]
  const x = scaleLinear([0, Math.max(1, values.length - 1)], [2, LINE_WIDTH - 2])
  const y = scaleLinear([low, high === low ? low + 1 : high], [LINE_HEIGHT - 3, 3])
  const points = values.flatMap((value, at) => (value === undefined ? [] : [[x(at), y(value)] as const]))
  const dots = points.map(([cx, cy]) => `<circle cx="${px(cx)}" cy="${px(cy)}" r="1.5"/>`)
  return `<svg class="line" viewBox="0 0 ${LINE_WIDTH} ${LINE_HEIGHT}" aria-hidden="true"><polyline points="${points.map((point) => point.map(px).join(',')).join(' ')}"/>${dots.join('')}</svg>`
}

/** Form that chooses one of several jobs; empty for a single job. */
const jobForm = (jobs: readonly string[], chosen: string | undefined): string =>
  jobs.length < 2
    ? ''
    : `<form method="get" action="/exports" class="inline"><label>Job <select name="job">${jobs.map((one) => `<option${one === chosen ? ' selected' : ''}>${html(one)}</option>`).join('')}</select></label>
<button>Show</button></form>`
