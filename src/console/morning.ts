/** First page: needs, runs of the last nights, runs under way, and the next fires. */
import type { Need } from '../needs/need.ts'
import type { Application } from '../runs/application.ts'
import { type ExplainedJob, explainJobs } from '../runs/expectations.ts'
import { needsJson, readNeeds } from '../runs/needs.ts'
import { type NightRun, type NightState, type Nights, readNights } from '../runs/nights.ts'
import { readAside } from '../runs/put-aside.ts'
import { localTime } from '../schedule/fires.ts'
import { durationText, nameHtml, table, words } from '../story/report/figures.ts'
import { pendingText } from '../story/words.ts'
import { counted, html, iso } from '../system/shown-text.ts'
import { ageText } from '../system/text-table.ts'
import type { Begun } from './actions.ts'
import { actsHtml, onlyKnown, type Page, runLink, stepsHtml, timeHtml, type Viewer } from './layout.ts'
import { actionPath, type Link } from './typed-commands.ts'

const NIGHTS = 30
const FIRES = 8

const STATES: Readonly<Record<NightState, readonly [mark: string, words: string]>> = {
  failed: ['×', 'failed'],
  left: ['!', 'left something behind'],
  stopped: ['…', 'not finished'],
  'under-way': ['▸', 'under way'],
  well: ['✓', 'all accounted for, or settled since'],
}

export async function morningPage(
  application: Application,
  begun: readonly Begun[],
  viewer: Viewer,
): Promise<Page> {
  const needs = await readNeeds(application)
  // An unreadable ledger or folder is among the needs.
  const nights = await readNights(application, NIGHTS).catch(onlyKnown)
  const jobs = (await explainJobs(application, undefined).catch(onlyKnown)) ?? []
  const now = application.now()
  const aside = await readAside(application)
  const sentence = sentenceOf(needs, nights?.jobs.map(({ job }) => job) ?? [])
  return {
    title: sentence,
    isLive: true,
    json: needsJson(needs, aside),
    body: [
      `<h1>${html(sentence)}</h1>`,
      begunSection(begun),
      needsSection(needs, now, viewer),
      asideSection(aside, viewer),
      ...(nights === undefined ? [] : [waitingSection(nights, jobs, now), underWaySection(nights)]),
      ...(nights === undefined ? [] : [nightsSection(nights)]),
      firesSection(jobs),
    ].join('\n'),
  }
}

/** `2 of 9 jobs need you`. Needs without a job belong to the installation. */
function sentenceOf(needs: readonly Need[], jobs: readonly string[]): string {
  const inNeed = new Set(needs.flatMap((need) => need.jobs))
  const all = new Set([...jobs, ...inNeed]).size
  const installation = needs.filter((need) => need.jobs.length === 0).length
  const own = installation === 0 ? '' : `${counted(installation, 'matter')} of the installation`
  if (inNeed.size === 0)
    return own === ''
      ? `Nothing needs you: ${counted(all, 'job')}`
      : `${own} ${installation === 1 ? 'needs' : 'need'} you`
  const verb = inNeed.size === 1 ? 'needs' : 'need'
  return `${inNeed.size} of ${counted(all, 'job')} ${verb} you${own === '' ? '' : `, and ${own}`}`
}

function needsSection(needs: readonly Need[], now: number, viewer: Viewer): string {
  if (needs.length === 0) return ''
  const one = ({ what, since, runs, steps }: Need): string => `<article class="need">
<h3>${html(what)}</h3>
${
  since === undefined
    ? ''
    : `<p class="soft">Since ${timeHtml(since)} (${html(ageText(now - since))})${
        runs.length === 0
          ? ''
          : `, ${runs
              .slice(0, 3)
              .map((run) => `run ${runLink(run)}`)
              .join(', ')}`
      }</p>`
}
${stepsHtml(steps, viewer)}
</article>`
  return `<section id="needs" class="steps">
<h2>${counted(needs.length, 'need')}, oldest first</h2>
${needs.map(one).join('\n')}
${viewer.mayAct ? actsHtml(SEVERAL) : ''}
</section>`
}

/** Actions on several runs at once: their pages choose the runs. */
const SEVERAL: readonly Link[] = [
  { to: actionPath('rerun', {}), words: 'Rerun several' },
  { to: actionPath('reconcile', {}), words: 'Reconcile several' },
  { to: actionPath('acknowledge', {}), words: 'Acknowledge several' },
]

function asideSection(aside: Awaited<ReturnType<typeof readAside>>, { mayAct }: Viewer): string {
  if (aside.length === 0) return ''
  return `<section id="put-aside">
<h2>Put aside <span>runs pass over these exports until their content changes</span></h2>
${table({
  label: 'Exports put aside',
  columns: words('export', 'job', 'by', 'since', 'reason', ...(mayAct ? ['action'] : [])),
  lines: aside.map(({ export: name, job, by, at, note }) => [
    nameHtml(name),
    html(job),
    html(by),
    timeHtml(at),
    html(note ?? ''),
    ...(mayAct
      ? [actsHtml([{ to: actionPath('put-back', { export: name, job }), words: 'Read again', of: name }])]
      : []),
  ]),
  kind: 'rows blocks',
})}
</section>`
}

function begunSection(begun: readonly Begun[]): string {
  if (begun.length === 0) return ''
  const one = ({ command, at, run, end }: Begun): string =>
    `<li><code>${html(command)}</code>, ${timeHtml(at)}${run === undefined ? '' : `, run ${runLink(run)}`}: ${html(end ?? 'goes on')}</li>`
  return `<section id="begun">
<h2>Begun on this console</h2>
<ul>${begun.map(one).join('')}</ul>
</section>`
}

/** Runs under way, in any process. */
const underWay = ({ jobs }: Nights) =>
  jobs.flatMap(({ job, runs }) =>
    [...runs.values()]
      .flat()
      .flatMap(({ run, activity }) => (activity?.kind === 'under-way' ? [{ job, run, activity }] : [])),
  )

/** Waits for gateways, within a run or by the schedule until the next try. */
function waitingSection(nights: Nights, jobs: readonly ExplainedJob[], now: number): string {
  const runs = underWay(nights).flatMap(({ job, run, activity: { waits } }) =>
    waits === undefined
      ? []
      : [
          `<li>${html(job)}, run ${runLink(run)}: unavailable since ${timeHtml(Date.parse(waits.since))} (${html(waits.class)}: ${html(waits.what)}); ${html(pendingText(waits.pending))}. The run gives up ${countdownHtml(Date.parse(waits.givesUpAt), now)}.</li>`,
        ],
  )
  const fires = jobs.flatMap(({ job, last }) =>
    last.flatMap(({ state, retry_at: at, run_id: run, error }) =>
      state !== 'retrying' || at === null
        ? []
        : [
            `<li>${html(job)}${run === null ? '' : `, run ${runLink(run)}`}: ${html(error ?? 'unavailable')}. The schedule tries again ${countdownHtml(at, now)}.</li>`,
          ],
    ),
  )
  if (runs.length + fires.length === 0) return ''
  return `<section id="waiting">
<h2>Waiting for the gateway</h2>
<ul>${[...runs, ...fires].join('')}</ul>
</section>`
}

function underWaySection(nights: Nights): string {
  const all = underWay(nights)
  if (all.length === 0) return ''
  const one = ({ job, run, activity: { owner, since } }: (typeof all)[number]): string =>
    `<li>${html(job)}: run ${runLink(run)} since ${timeHtml(Date.parse(since))}, by process ${html(owner)}</li>`
  return `<section id="under-way">
<h2>Under way</h2>
<ul>${all.map(one).join('')}</ul>
</section>`
}

/** The newest night comes first: a narrow page shows it without scrolling. */
function nightsSection({ days: oldestFirst, jobs }: Nights): string {
  const days = oldestFirst.toReversed()
  if (jobs.length === 0)
    return '<section id="nights"><h2>Nights</h2><p class="none">There are no jobs yet.</p></section>'
  const head = days.map(
    (day, at) =>
      `<th scope="col"><span class="hidden">${day}</span><span aria-hidden="true" class="day">${at % 5 === 0 ? day.slice(5) : ''}</span></th>`,
  )
  const line = ({ job, runs }: Nights['jobs'][number]): string =>
    `<tr><th scope="row">${html(job)}</th>${days.map((day) => `<td>${nightCell(job, day, runs.get(day) ?? [])}</td>`).join('')}</tr>`
  const key = Object.entries(STATES).map(
    ([state, [mark, means]]) => `<li><span class="swatch ${state}"></span>${mark} ${means}</li>`,
  )
  return `<section id="nights">
<h2>Nights <span>the last ${days.length} days, newest first, UTC</span></h2>
<div class="scroll" tabindex="0" role="region" aria-label="Jobs by nights">
<table class="nights"><thead><tr><th scope="col"><span class="hidden">job</span></th>${head.join('')}</tr></thead>
<tbody>${jobs.map(line).join('\n')}</tbody></table>
</div>
<ul class="key">${key.join('')}<li>an empty box: no run</li></ul>
</section>`
}

function nightCell(job: string, day: string, runs: readonly NightRun[]): string {
  const order = Object.keys(STATES)
  const [worst] = runs.toSorted((a, b) => order.indexOf(a.state) - order.indexOf(b.state))
  if (worst === undefined) return '<span class="night"><span class="hidden">no run</span></span>'
  const [mark, means] = STATES[worst.state]
  const more = runs.length === 1 ? '' : `, the worst of ${runs.length} runs`
  return `<a class="night ${worst.state}" href="/runs/${encodeURIComponent(worst.run)}" aria-label="${html(`${job}, ${day}: ${means}${more}`)}" title="${html(`${day}: ${means}${more}`)}">${mark}</a>`
}

function firesSection(jobs: readonly ExplainedJob[]): string {
  const fires = jobs
    .flatMap(({ job, next, zone, pause }) =>
      pause === undefined ? next.map((at) => ({ job, at, zone })) : [],
    )
    .sort((a, b) => a.at - b.at)
    .slice(0, FIRES)
  if (fires.length === 0) return ''
  return `<section id="next-fires">
<h2>Next fires</h2>
${table({
  label: 'Next fires',
  columns: words('job', 'at', 'UTC'),
  lines: fires.map(({ job, at, zone }) => [html(job), html(localTime(at, zone)), timeHtml(at)]),
  kind: 'short',
})}
</section>`
}

/** A future instant, and the time until then, counted down by the script. */
const countdownHtml = (at: number, now: number): string =>
  `at ${timeHtml(at)} <span class="soft" data-until="${iso(at)}">(${at > now ? `in ${durationText(at - now)}` : 'due'})</span>`
