/** A run: the sections of the report, batches in time, and actions; and the log lines of a run. */
import { scaleLinear } from 'd3-scale'
import type { Application } from '../runs/application.ts'
import { logOfRun, runJson } from '../runs/listed-runs.ts'
import { detailOfRun, type ShownBatch } from '../runs/run-detail.ts'
import { leftIn } from '../story/balance.ts'
import { nextSteps } from '../story/next-steps.ts'
import { counts, foldedTable, numbers, outcomeBox, px, words } from '../story/report/figures.ts'
import { readExplanations, reportParts } from '../story/report/report-page.ts'
import type { RunSummary } from '../story/run-story.ts'
import { counted, html, n } from '../system/shown-text.ts'
import { logLineText } from '../telemetry/logger.ts'
import { actsHtml, type Page, runLink, stepsHtml, timeHtml, type Viewer } from './layout.ts'
import { ACTION_COMMANDS, type ActionName, actionPath, type Link } from './typed-commands.ts'

const BATCHES = 200
const LOG_LINES = 500

export async function runPage(application: Application, name: string, viewer: Viewer): Promise<Page> {
  const { facts, batches } = await detailOfRun(application, name, BATCHES)
  const { summary, reasons } = facts
  const { head, notes, sections } = reportParts(facts, {
    writtenAt: application.now(),
    version: application.version,
    nextSteps: [],
    explanations: await readExplanations(),
  })
  // This page follows a run under way.
  const steps = summary.activity?.kind === 'under-way' ? [] : nextSteps(summary, reasons)
  const codes = [...new Set(reasons.filter(({ outcome }) => outcome !== 'held-back').map(({ code }) => code))]
  const own = sections.map(({ id, body }) => (id === 'reasons' ? body + rowLinks(summary.run, codes) : body))
  return {
    title: `${summary.job} ${summary.run}`,
    isLive: true,
    json: runJson({ summary, reasons }),
    body: [
      // The frame has a header of its own.
      head.replace(/^<header>/, '<div class="head">').replace(/<\/header>$/, '</div>'),
      actsHtml([
        ...(viewer.mayAct ? runActions(summary) : []),
        { to: `${pathOf(summary.run)}/log`, words: 'Log lines' },
        { to: `${pathOf(summary.run)}/report`, words: 'Report as a file' },
      ]),
      linked(notes),
      ...(steps.length === 0
        ? []
        : [`<section id="next" class="steps"><h2>Next steps</h2>\n${stepsHtml(steps, viewer)}</section>`]),
      decisionsSection(summary),
      ...own,
      batchesSection(batches),
    ].join('\n'),
  }
}

/** Ids of other runs in the notes (origin, later runs) as links. */
const linked = (notes: string): string =>
  notes.replaceAll(/<code>(\d{8}T\d{6}Z-\w+)<\/code>/g, (_, run: string) => runLink(run))

function decisionsSection({ decided = [] }: RunSummary): string {
  if (decided.length === 0) return ''
  const lines = decided.map(
    ({ decision, by, at, code, note }) =>
      `<li>${timeHtml(Date.parse(at))}: ${html(decision)}${code === undefined ? '' : ` <code>${html(code)}</code>`}, by ${html(by)}${note === undefined ? '' : `: ${html(note)}`}</li>`,
  )
  return `<section id="decisions"><h2>Decisions</h2>
<ul>${lines.join('')}</ul></section>`
}

const pathOf = (run: string): string => `/runs/${encodeURIComponent(run)}`

function runActions(summary: RunSummary): Link[] {
  const { run, job, activity, state, acknowledged = [] } = summary
  const to = (action: ActionName, words: string): Link => ({ to: actionPath(action, { run }), words })
  const ofJob = (action: ActionName): Link => ({
    to: actionPath(action, { job }),
    words: `${ACTION_COMMANDS[action].says} ${job}`,
  })
  if (activity?.kind === 'under-way') return [to('stop', 'Stop')]
  if (state === 'running' || state === 'interrupted')
    return [ofJob('resume'), ofJob('run'), to('give-up', 'Give up')]
  const { rows, rejected, inDoubt } = leftIn(summary)
  return [
    ofJob('run'),
    ...(rows + rejected + inDoubt === 0 && state === 'finished'
      ? []
      : [to('rerun', 'Rerun'), to('acknowledge', 'Acknowledge')]),
    ...acknowledged.map(({ code }) => ({
      to: actionPath('undo-acknowledge', { run, reason: code }),
      words: `Withdraw the acknowledgement${code === undefined ? '' : ` of ${code}`}`,
    })),
    to('reconcile', 'Reconcile'),
    ...(inDoubt === 0 && summary.reason !== 'given-up'
      ? []
      : [to('accept', 'Accept'), to('resend', 'Resend')]),
  ]
}

const rowLinks = (run: string, codes: readonly string[]): string =>
  codes.length === 0
    ? ''
    : `<nav aria-label="Rows of a reason">Rows of ${codes.map((code) => `<a href="${pathOf(run)}/reasons/${encodeURIComponent(code)}">${html(code)}</a>`).join(', ')}</nav>`

const WIDTH = 900
const LANE_HEIGHT = 12
const LANES = 6

/** Lane of each batch: the first that is free at its begin, or the one that is free soonest. */
function lanesOf(batches: readonly ShownBatch[], end: number): number[] {
  const freeAt: number[] = []
  return batches.map(({ begun_at, settled_at }) => {
    const free = freeAt.findIndex((at) => at <= begun_at)
    const lane =
      free >= 0 ? free : freeAt.length < LANES ? freeAt.length : freeAt.indexOf(Math.min(...freeAt))
    freeAt[lane] = settled_at ?? end
    return lane
  })
}

function batchesSection(batches: readonly ShownBatch[]): string {
  if (batches.length === 0) return ''
  const begun = Math.min(...batches.map(({ begun_at }) => begun_at))
  const end = Math.max(...batches.map(({ begun_at, settled_at }) => settled_at ?? begun_at))
  const x = scaleLinear([begun, Math.max(end, begun + 1)], [0, WIDTH])
  const lanes = lanesOf(batches, end)
  const bars = batches.map(({ state, answer, begun_at, settled_at }, at) => {
    // A gap tells a batch from the next.
    const width = Math.max(2, x(settled_at ?? end) - x(begun_at) - 1.5)
    const y = (lanes[at] ?? 0) * LANE_HEIGHT
    const box = `x="${px(Math.min(x(begun_at), WIDTH - 2))}" y="${y}" width="${px(width)}" height="${LANE_HEIGHT - 2}"`
    return outcomeBox(outcomeOf(state, answer), box)
  })
  const height = LANE_HEIGHT * (1 + Math.max(...lanes))
  const lines = batches
    .toReversed()
    .map(({ batch_id, kind, records, state, answer, status, attempts, begun_at, settled_at }) => [
      `<code>${html(batch_id)}</code>`,
      html(kind),
      n(records),
      html(state),
      html(answer === null ? 'no answer yet' : `${answer}${status === null ? '' : `, HTTP ${status}`}`),
      n(attempts),
      timeHtml(begun_at),
      settled_at === null ? '' : `${n(settled_at - begun_at)} ms`,
    ])
  return `<section id="batches">
<h2>Batches <span>the latest ${n(batches.length)}, by the time of their begin</span></h2>
<svg class="strip" viewBox="0 0 ${WIDTH} ${height}" preserveAspectRatio="none" aria-hidden="true">${bars.join('')}</svg>
<p class="note">From ${timeHtml(begun)} to ${timeHtml(end)}: ${summed(batches)}.</p>
${numbers(
  foldedTable(
    {
      label: 'Batches, latest first',
      columns: [
        ...words('batch', 'kind'),
        ...counts('records'),
        ...words('state', 'answer'),
        ...counts('tries'),
        ...words('begun', 'took'),
      ],
      lines,
      kind: 'rows blocks',
    },
    20,
    'earlier batches',
  ),
)}
</section>`
}

const summed = (batches: readonly ShownBatch[]): string =>
  [...Map.groupBy(batches, ({ state, answer }) => answer ?? state)]
    .map(([what, all]) => `${n(all.length)} ${html(what)}`)
    .join(', ')

function outcomeOf(state: string, answer: string | null): Parameters<typeof outcomeBox>[0] {
  if (state === 'planned' || state === 'sending') return 'pending'
  if (state === 'split') return 'skipped'
  return answer === 'accepted' ? 'accepted' : answer === null ? 'in-doubt' : 'rejected'
}

export async function logPage(application: Application, name: string): Promise<Page> {
  const lines = await Array.fromAsync(logOfRun(application, name))
  const shown = lines.slice(-LOG_LINES)
  const texts = shown.map(({ run: _, ...line }) => html(logLineText(line)))
  return {
    title: `Log of ${name}`,
    isLive: true,
    json: { lines },
    body: `<h1>Log of run ${runLink(name)}</h1>
${
  lines.length === 0
    ? '<p class="none">The log has no lines of this run: the run started without a log file, or the lines are gone.</p>'
    : `<p class="soft">${shown.length === lines.length ? counted(lines.length, 'line') : `The latest ${n(shown.length)} of ${counted(lines.length, 'line')}`}, oldest first.</p>
<pre class="log" tabindex="0">${texts.join('\n')}</pre>`
}`,
  }
}
