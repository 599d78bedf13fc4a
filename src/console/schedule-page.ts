/** Schedule: the last and next fires of each job, its expectations and its pause. */
import type { Application } from '../runs/application.ts'
import { type ExplainedJob, explainJobs } from '../runs/expectations.ts'
import { DEADLINE_WORDS, explainedJson, fireWords, scheduleWords } from '../runs/explained-schedule.ts'
import { localTime } from '../schedule/fires.ts'
import { table, words } from '../story/report/figures.ts'
import { waitsText } from '../story/words.ts'
import { html } from '../system/shown-text.ts'
import { actsHtml, codeHtml, type Page, runLink, timeHtml, type Viewer } from './layout.ts'
import { actionPath, type Link } from './typed-commands.ts'

export async function schedulePage(application: Application, viewer: Viewer): Promise<Page> {
  const jobs = await explainJobs(application, undefined)
  return {
    title: 'Schedule',
    isLive: true,
    json: { jobs: jobs.map(explainedJson) },
    body: `<h1>Schedule</h1>
${jobs.length === 0 ? '<p class="none">No job has a schedule.</p>' : jobs.map((job) => jobSection(job, viewer)).join('\n')}`,
  }
}

function jobSection(explained: ExplainedJob, viewer: Viewer): string {
  const { job, schedule, problem, pause, current, last, next, zone, expected } = explained
  const what =
    schedule === undefined
      ? problem === undefined
        ? 'no schedule'
        : `cannot run: ${problem.code}`
      : scheduleWords(schedule)
  return `<section id="job-${html(job)}">
<h2>${html(job)} <span>${html(what)}</span></h2>
${problem === undefined ? '' : `<p>${html(problem.message)}. ${codeHtml(problem.remedy)}</p>`}
${pause === undefined ? '' : `<p class="notice">Paused by ${html(pause.by)} since ${timeHtml(pause.at)}${pause.until === null ? '' : ` until ${timeHtml(pause.until)}`}${pause.note === null ? '' : `: ${html(pause.note)}`}</p>`}
${current === undefined ? '' : `<p>Under way: run ${runLink(current.run)} since ${timeHtml(Date.parse(current.since))}${current.waits === undefined ? '' : `; it ${html(waitsText(current.waits))}`}</p>`}
${viewer.mayAct ? actsHtml(actionsOf(explained)) : ''}
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

function actionsOf({ job, problem, pause, current }: ExplainedJob): Link[] {
  const to = (action: string, words: string): Link => ({
    to: actionPath(action, { job }),
    words: `${words} ${job}`,
  })
  return [
    pause === undefined ? to('pause', 'Pause') : to('unpause', 'End the pause of'),
    ...(current === undefined && problem === undefined ? [to('run', 'Run')] : []),
    ...(current === undefined
      ? []
      : [{ to: actionPath('stop', { run: current.run }), words: `Stop ${job}` }]),
  ]
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
  columns: words(zone, 'UTC', ...(hasState ? ['state', 'result'] : [])),
  lines: fires.map(([at, state, said]) => [
    html(localTime(at, zone)),
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
