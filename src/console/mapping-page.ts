/** Mappings, to read: the text with its changes since the last run, the effect of these changes on an export, and its rows as records. */

import { errorAsJson, WaybillError } from '../model/errors.ts'
import type { Application } from '../runs/application.ts'
import { noteValuesSeen } from '../runs/audit.ts'
import {
  type Compare,
  type ComparedOutcomes,
  listMappings,
  type MappingSample,
  readSamples,
  viewMapping,
} from '../runs/mapping-samples.ts'
import type { Person } from '../runs/resolve.ts'
import { counts, table, words } from '../story/report/figures.ts'
import { counted, html, n } from '../system/shown-text.ts'
import { actsHtml, codeHtml, errorPage, type Page, runLink, timeHtml, type Viewer } from './layout.ts'

const ROWS = 20

/** Tools for mappings, handed in. */
export interface MappingViews {
  readonly compare: Compare
  /** First rows of the export as records: health data. */
  preview(
    application: Application,
    mapping: string,
    exportRow: number,
    rows: number,
  ): Promise<{ readonly export: string; readonly json: unknown; readonly html: string }>
  /** Lines of the difference between two texts; undefined for equal texts. */
  changes(before: string, now: string): readonly { readonly side: '-' | '+' | ' '; readonly text: string }[]
}

const pathOf = (mapping: string): string => `/mappings/${encodeURIComponent(mapping)}`

export async function mappingsPage(application: Application): Promise<Page> {
  const mappings = await listMappings(application)
  return {
    title: 'Mappings',
    json: { mappings },
    body: `<h1>Mappings</h1>
${
  mappings.length === 0
    ? '<p class="none">The folder has no mappings.</p>'
    : table({
        label: 'Mappings',
        columns: words('mapping', 'jobs', 'state'),
        lines: mappings.map(({ mapping, jobs, problem }) => [
          `<a href="${pathOf(mapping)}">${html(mapping)}</a>`,
          html(jobs.join(', ')),
          problem === undefined ? '✓ valid' : `× ${html(problem)}`,
        ]),
        kind: 'rows',
      })
}`,
  }
}

export async function mappingPage(
  application: Application,
  views: MappingViews,
  mapping: string,
  asked: number | undefined,
  { maySeeValues }: Viewer,
): Promise<Page> {
  const { view, now, before } = await viewMapping(application, views.compare, mapping, asked)
  const { problem, ...shown } = view
  const { file, sample, samples, compared } = view
  return {
    title: `Mapping ${mapping}`,
    json: { ...shown, ...errorAsJson(problem) },
    body: `<h1>Mapping ${html(mapping)}</h1>
<p>Read-only. To edit <code>${html(file)}</code>: <code>waybill mapping edit</code>.</p>
${sample === null ? '<p class="none">No run of the last weeks has read an export with this mapping.</p>' : sampleForm(mapping, samples, sample)}
${sample === null ? '' : comparedSection(mapping, sample, compared ?? problem, maySeeValues)}
${before === undefined ? '' : changesSection(views.changes(before, now))}
<section><h2>Text</h2>
<pre class="code" tabindex="0">${numbered(now)}</pre></section>`,
  }
}

const sampleForm = (
  mapping: string,
  samples: readonly MappingSample[],
  chosen: MappingSample | undefined,
): string => `<form method="get" action="${pathOf(mapping)}" class="inline">
<label>Export <select name="export">${samples.map(({ exportRow, export: name, startedAt }) => `<option value="${exportRow}"${exportRow === chosen?.exportRow ? ' selected' : ''}>${html(name)}, ${html(startedAt.slice(0, 10))}</option>`).join('')}</select></label>
<button>Compare</button></form>`

function comparedSection(
  mapping: string,
  { exportRow, export: name, run, job, startedAt }: MappingSample,
  compared: ComparedOutcomes | WaybillError | undefined,
  maySeeValues: boolean,
): string {
  const preview = {
    to: `${pathOf(mapping)}/rows?export=${exportRow}`,
    words: 'Rows as records (health data)',
  }
  return `<section id="compared">
<h2>Effect of the changes <span>on ${html(name)}, read by run ${runLink(run)} of ${html(job)}, ${timeHtml(Date.parse(startedAt))}</span></h2>
${compared === undefined ? '' : compared instanceof WaybillError ? problemHtml(compared) : outcomesHtml(compared)}
${maySeeValues ? actsHtml([preview]) : ''}
</section>`
}

const problemHtml = (error: WaybillError): string =>
  `<div role="alert">${errorPage(error).body.replaceAll('h1>', 'h3>')}</div>`

function outcomesHtml({ rows, outcomes, rules }: ComparedOutcomes): string {
  if (rows.different === 0)
    return `<p>The current mapping gives the same result for all ${counted(rows.read, 'row')}.</p>`
  return `<p>${n(rows.different)} of ${counted(rows.read, 'row')} differ.</p>
${
  outcomes.length === 0
    ? ''
    : table({
        label: 'Rows with another outcome',
        columns: [...words('were', 'are'), ...counts('rows')],
        lines: outcomes.map((one) => [html(one.before), html(one.after), n(one.rows)]),
        kind: 'short',
      })
}
${table({
  label: 'Records by rule',
  columns: [...words('rule'), ...counts('added', 'removed', 'changed', 'other reason')],
  lines: Object.entries(rules).map(([rule, { added, removed, changed, reason }]) => [
    html(rule),
    ...[added, removed, changed, reason].map(n),
  ]),
  kind: 'short',
})}`
}

function changesSection(lines: ReturnType<MappingViews['changes']>): string {
  const changed = lines.some(({ side }) => side !== ' ')
  const shown = lines.map(
    ({ side, text }) =>
      `<span class="${side === '+' ? 'added' : side === '-' ? 'removed' : ''}">${side} ${html(text)}</span>`,
  )
  return `<section id="changes"><h2>Changes since the run</h2>
${changed ? `<pre class="code" tabindex="0">${shown.join('\n')}</pre>` : '<p>No changes.</p>'}</section>`
}

function numbered(text: string): string {
  const lines = text.trimEnd().split(/\r?\n/)
  const width = String(lines.length).length
  return lines.map((line, at) => `${String(at + 1).padStart(width)}  ${html(line)}`).join('\n')
}

/** Rows of an export as records. The look is in the audit before anything is read. */
export async function previewPage(
  application: Application,
  views: MappingViews,
  mapping: string,
  asked: number | undefined,
  person: Person,
): Promise<Page> {
  const samples = await readSamples(application, mapping)
  const sample = samples.find(({ exportRow }) => exportRow === asked)
  if (sample === undefined)
    throw new WaybillError('export-gone', 'no run of the last weeks has read such an export')
  const { job, run, export: name } = sample
  await noteValuesSeen(application, { job, run, subject: name }, person)
  const { json, html: rows } = await views.preview(application, mapping, sample.exportRow, ROWS)
  return {
    title: `Rows of ${name}`,
    json,
    body: `<h1>Rows of ${html(name)} <span>as ${html(mapping)} maps them today</span></h1>
<p class="alarm"><strong>Health data of people.</strong> ${codeHtml('The look is in `waybill audit`.')} The first ${ROWS} rows.</p>
<div class="preview">${rows}</div>`,
  }
}
