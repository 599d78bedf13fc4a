/** Backfill: the plan of a range of days as a calendar, and the progress and rate of backfills that have begun. */
import { WaybillError } from '../model/errors.ts'
import { tryBackfill } from '../runs/actions.ts'
import type { Application } from '../runs/application.ts'
import { type BackfillPlan, backfillPlanJson, type PlannedExport } from '../runs/backfill-plan.ts'
import { type BegunBackfill, type BegunExport, readBackfills } from '../runs/backfills.ts'
import { listJobs } from '../runs/scheduled-jobs.ts'
import { counts, durationText, foldedTable, nameHtml, numbers, words } from '../story/report/figures.ts'
import { counted, html, n, sizeText } from '../system/shown-text.ts'
import { type CalendarDay, calendarHtml } from './calendar.ts'
import { actsHtml, errorPage, type Page, runLink, timeHtml, type Viewer } from './layout.ts'
import { actionPath } from './typed-commands.ts'

const UNFOLDED = 20

interface BackfillQuestion {
  readonly job: string | undefined
  /** Days, both included. */
  readonly from: string | undefined
  readonly to: string | undefined
}

export async function backfillPage(
  application: Application,
  asked: BackfillQuestion,
  { mayAct }: Viewer,
): Promise<Page> {
  const begun = await readBackfills(application)
  const jobs = (await listJobs(application.settings)).map(({ name }) => name)
  const { job, from, to } = asked
  const plan = job && from && to ? await planned(application, { job, from, to }) : undefined
  return {
    title: 'Backfill',
    // A plan reads all exports of the range: no event repeats that.
    isLive: plan === undefined,
    json:
      plan === undefined ? { backfills: begun } : plan instanceof WaybillError ? {} : backfillPlanJson(plan),
    body: `<h1>Backfill</h1>
<p>A plan opens and counts all exports of the days. Nothing is sent.</p>
${planForm(jobs, asked)}
${plan === undefined ? '' : plan instanceof WaybillError ? `<section role="alert">${errorPage(plan).body.replaceAll('h1>', 'h2>')}</section>` : planSection(plan, mayAct)}
${begun.map((one) => begunSection(one, mayAct)).join('\n')}`,
  }
}

const planned = (
  application: Application,
  { job, from, to }: { readonly job: string; readonly from: string; readonly to: string },
): Promise<BackfillPlan | WaybillError> =>
  tryBackfill(application, job, { from, to }, () => {}).catch((error: unknown) => {
    if (error instanceof WaybillError) return error
    throw error
  })

const planForm = (jobs: readonly string[], { job, from = '', to = '' }: BackfillQuestion): string =>
  `<form method="get" action="/backfill" class="inline">
<label>Job <select name="job">${jobs.map((one) => `<option${one === job ? ' selected' : ''}>${html(one)}</option>`).join('')}</select></label>
<label>First day <input type="date" name="from" value="${html(from)}" required></label>
<label>Last day <input type="date" name="to" value="${html(to)}" required></label>
<button>Show the plan</button></form>`

const PLANNED = {
  done: { mark: '✓', words: 'done by the unfinished backfill', look: 'well' },
  known: { mark: '=', words: 'delivered before', look: 'unchanged' },
  toRead: { mark: '→', words: 'to be read', look: 'pending' },
  error: { mark: '×', words: 'cannot be read', look: 'failed' },
} as const

function stateOf({ done, deliveredBefore, error }: PlannedExport): keyof typeof PLANNED {
  if (error !== undefined) return 'error'
  return done === true ? 'done' : deliveredBefore ? 'known' : 'toRead'
}

function planSection(plan: BackfillPlan, mayAct: boolean): string {
  const { job, gateway, backfill, exports, bytes, rows, deliveredBefore, without, unmatched, unfinished } =
    plan
  const { from, to } = backfill
  const days = exports.map((one): CalendarDay => ({ date: one.date, ...PLANNED[stateOf(one)] }))
  const facts = [
    `${counted(exports.length, 'export')}, ${sizeText(bytes)}, ${counted(rows, 'row')}`,
    `Delivered before: ${counted(deliveredBefore.exports, 'export')} with ${counted(deliveredBefore.rows, 'row')}; of these, only changed records are sent`,
    estimateWords(plan),
    `${counted(without.count, without.unit)} of ${n(without.of)} without an export`,
    ...(unmatched.length === 0
      ? []
      : [`${counted(unmatched.length, 'file')} left out by name: ${unmatched.slice(0, 5).join(', ')}`]),
    ...(unfinished === undefined ? [] : [`Run ${unfinished.run} is unfinished, and is continued`]),
  ]
  return `<section id="plan">
<h2>Plan for ${html(job)} <span>${html(from)} to ${html(to)}, gateway ${html(gateway)}</span></h2>
<ul>${facts.map((one) => `<li>${html(one)}</li>`).join('')}</ul>
${mayAct ? actsHtml([{ to: actionPath('backfill', { job, from, to }), words: `Backfill ${job}` }]) : ''}
${calendarHtml('Exports of the plan by day', { from, to }, days, 'export')}
${numbers(
  foldedTable(
    {
      label: 'Exports of the plan',
      columns: [...words('date', 'export'), ...counts('size', 'rows'), ...words('state')],
      lines: exports.map((one) => [
        html(one.date),
        nameHtml(one.name),
        sizeText(one.bytes),
        one.rows === undefined ? '' : n(one.rows),
        one.error === undefined
          ? PLANNED[stateOf(one)].words
          : `${html(one.error.code)}: ${html(one.error.message)}`,
      ]),
      kind: 'rows',
    },
    UNFOLDED,
    'more exports',
  ),
)}
</section>`
}

function estimateWords({ estimate }: BackfillPlan): string {
  if (estimate === undefined) return 'Time unknown: no run of the job shows its speed at this gateway'
  const { seconds, rowsPerSecond, runs } = estimate
  const speed = rowsPerSecond === undefined ? '' : ` at ${counted(Math.round(rowsPerSecond), 'row')} a second`
  return `About ${durationText(1000 * seconds)}${speed}, as in the latest ${counted(runs, 'run')}`
}

const BEGUN: Readonly<Record<BegunExport['state'], Omit<CalendarDay, 'date'>>> = {
  finished: { mark: '✓', words: 'read to the end', look: 'well' },
  open: { mark: '▸', words: 'begun', look: 'under-way' },
  failed: { mark: '×', words: 'not read', look: 'failed' },
}

function begunSection(one: BegunBackfill, mayAct: boolean): string {
  const { run, job, state, isUnderWay, startedAt, backfill, exports, rows, durationMs } = one
  const days = exports.flatMap(({ date, state: of }): CalendarDay[] =>
    date === undefined ? [] : [{ date, ...BEGUN[of] }],
  )
  const { from, to } = backfill
  const rate = durationMs === 0 ? '' : `, ${counted(Math.round((1000 * rows) / durationMs), 'row')} a second`
  const isOpen = !isUnderWay && (state === 'running' || state === 'interrupted')
  return `<section id="run-${html(run)}">
<h2>${html(job)} <span>run ${runLink(run)}, ${html(from)} to ${html(to)}, begun ${timeHtml(Date.parse(startedAt))}</span></h2>
<p>${isUnderWay ? 'Under way' : state === 'running' ? 'Stopped' : html(state.replace(/^./, (first) => first.toUpperCase()))}: ${n(exports.filter(({ state: of }) => of === 'finished').length)} of ${counted(exports.length, 'begun export')} read to the end, ${counted(rows, 'row')} settled in ${durationText(durationMs)} of work${rate}.</p>
${isOpen && mayAct ? actsHtml([{ to: actionPath('backfill', { job, from, to }), words: `Continue the backfill of ${job}` }]) : ''}
${calendarHtml(`Exports of run ${run} by day`, backfill, days, 'export')}
${numbers(
  foldedTable(
    {
      label: `Exports of run ${run}`,
      columns: [...words('date', 'export'), ...counts('rows'), ...words('state')],
      lines: exports.map(({ name, date = '', state: of, reason, rows: own }) => [
        html(date),
        nameHtml(name),
        n(own),
        `${BEGUN[of].words}${reason === undefined ? '' : `: ${html(reason)}`}`,
      ]),
      kind: 'rows',
    },
    UNFOLDED,
    'more exports',
  ),
)}
</section>`
}
