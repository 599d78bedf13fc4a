/** Schedule: the last and next fires of each job, its expectations and its pause. */
import type { Application } from '../runs/application.ts'
import { type ExplainedJob, explainJobs } from '../runs/expectations.ts'
import { DEADLINE_WORDS, explainedJson, fireWords, scheduleWords } from '../runs/explained-schedule.ts'
import { type FireCalendar, type FireResult, readFireCalendars } from '../runs/fire-calendar.ts'
import { listJobs } from '../runs/scheduled-jobs.ts'
import { localTime } from '../schedule/fires.ts'
import { counts, numbers, table, words } from '../story/report/figures.ts'
import { waitsText } from '../story/words.ts'
import { html, n } from '../system/shown-text.ts'
import { type CalendarDay, calendarHtml } from './calendar.ts'
import { actsHtml, codeHtml, type Page, runLink, timeHtml, type Viewer } from './layout.ts'
import { ACTION_COMMANDS, type ActionName, actionPath, type Link } from './typed-commands.ts'

export async function schedulePage(application: Application, viewer: Viewer): Promise<Page> {
  const jobs = await explainJobs(application, undefined)
  const calendars = await readFireCalendars(application, jobs)
  const named = new Set(jobs.map(({ job }) => job))
  const others = (await listJobs(application.settings)).filter(({ name }) => !named.has(name))
  return {
    title: 'Schedule',
    isLive: true,
    json: { jobs: jobs.map(explainedJson) },
    body: `<h1>Schedule</h1>
${jobs.length === 0 ? '<p class="none">No job has a schedule.</p>' : jobs.map((job) => jobSection(job, calendars.get(job.job), viewer)).join('\n')}
${others.map(({ name }) => unscheduledSection(name, viewer)).join('\n')}`,
  }
}

const OF_ANY_JOB = ['run', 'count', 'notify'] as const

const unscheduledSection = (job: string, { mayAct }: Viewer): string => `<section id="job-${html(job)}">
<h2>${html(job)} <span>no schedule</span></h2>
${mayAct ? actsHtml(OF_ANY_JOB.map((action) => toJob(action, job))) : ''}
</section>`

function jobSection(explained: ExplainedJob, calendar: FireCalendar | undefined, viewer: Viewer): string {
  const { job, problem, pause, current, last, next, zone, expected } = explained
  const what = scheduleWords(explained)
  return `<section id="job-${html(job)}">
<h2>${html(job)} <span>${html(what)}</span></h2>
${problem === undefined ? '' : `<p>${html(problem.message)}. ${codeHtml(problem.remedy)}</p>`}
${pause === undefined ? '' : `<p class="notice">Paused by ${html(pause.by)} since ${timeHtml(pause.at)}${pause.until === null ? '' : ` until ${timeHtml(pause.until)}`}${pause.note === null ? '' : `: ${html(pause.note)}`}</p>`}
${current === undefined ? '' : `<p>Under way: run ${runLink(current.run)} since ${timeHtml(Date.parse(current.since))}${current.waits === undefined ? '' : `; it ${html(waitsText(current.waits))}`}</p>`}
${viewer.mayAct ? actsHtml(actionsOf(explained)) : ''}
${calendar === undefined ? '' : firesCalendar(job, zone, calendar)}
${firesTable(
  'Next fires',
  zone,
  next.map((at) => [at, '', '']),
)}
${firesTable(
  'Last fires',
  zone,
  last.map((fire) => [fire.due, fire.state, linked(fireWords(fire), fire.run_id)]),
)}
${expectations(expected)}
</section>`
}

const toJob = (action: ActionName, job: string): Link => ({
  to: actionPath(action, { job }),
  words: `${ACTION_COMMANDS[action].says} ${job}`,
})

function actionsOf({ job, problem, pause, current, expected }: ExplainedJob): Link[] {
  const isIdle = current === undefined && problem === undefined
  const actions: ActionName[] = [
    pause === undefined ? 'pause' : 'unpause',
    ...(isIdle ? (['run', 'count'] as const) : []),
    ...(problem === undefined ? (['notify'] as const) : []),
    ...(expected.length === 0 ? [] : (['expect'] as const)),
  ]
  return [
    ...actions.map((action) => toJob(action, job)),
    ...(current === undefined
      ? []
      : [{ to: actionPath('stop', { run: current.run }), words: `Stop ${job}` }]),
  ]
}

const RESULTS: Readonly<Record<FireResult, Omit<CalendarDay, 'date'>>> = {
  well: { mark: '✓', words: 'ran, all accounted for', look: 'well' },
  left: { mark: '!', words: 'left something behind', look: 'left' },
  failed: { mark: '×', words: 'failed', look: 'failed' },
  open: { mark: '▸', words: 'not ended', look: 'under-way' },
  missed: { mark: '–', words: 'missed', look: 'pending' },
  next: { mark: '→', words: 'to come', look: 'unchanged' },
}

function firesCalendar(job: string, zone: string, { from, to, fires }: FireCalendar): string {
  const days = fires.map(({ date, result }): CalendarDay => ({ date, ...RESULTS[result] }))
  const lines = [...Map.groupBy(fires, ({ date, result }) => `${date} ${result}`).values()].flatMap((all) =>
    all.slice(0, 1).map(({ date, result }) => [html(date), RESULTS[result].words, n(all.length)]),
  )
  return `<h3>Calendar <span>days of ${html(zone)}</span></h3>
${calendarHtml(`Fires of ${job} by day`, { from, to }, days, 'fire')}
${numbers(
  table({
    label: `Fires of ${job} by day, in numbers`,
    columns: [...words('day', 'result'), ...counts('fires')],
    lines,
    kind: 'short',
  }),
)}`
}

const linked = (said: string, run: string | null): string =>
  run === null ? html(said) : html(said).replace(html(run), () => runLink(run))

function firesTable(
  label: string,
  zone: string,
  fires: readonly (readonly [at: number, state: string, said: string])[],
): string {
  if (fires.length === 0) return ''
  const hasState = fires.some(([, state]) => state !== '')
  return `<h3>${label}</h3>
${table({
  label,
  columns: words(...(zone === 'UTC' ? [] : [zone]), 'UTC', ...(hasState ? ['state', 'result'] : [])),
  lines: fires.map(([at, state, said]) => [
    ...(zone === 'UTC' ? [] : [html(localTime(at, zone))]),
    timeHtml(at),
    ...(hasState ? [html(state), said] : []),
  ]),
  kind: 'short',
})}`
}

function expectations(expected: ExplainedJob['expected']): string {
  if (expected.length === 0) return ''
  return `<h3>Expected exports</h3>
${table({
  label: 'Expected exports',
  columns: words('exports', 'next by', 'last look'),
  lines: expected.map(({ key, expect, last, next }) => [
    html(key.source),
    html(localTime(next, expect.zone)),
    last === undefined
      ? ''
      : html(
          `${localTime(last.due, expect.zone)}: ${DEADLINE_WORDS[last.state]} (${last.arrived} of ${last.expected})`,
        ),
  ]),
  kind: 'short',
})}`
}
