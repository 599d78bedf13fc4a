/** Rows of a reason: positions, rules and transactions; and on demand the values, from the rejects file. */
import type { Application } from '../runs/application.ts'
import type { Person } from '../runs/resolve.ts'
import { type LeftRow, rowsOfReason, valuesOfReason } from '../runs/run-detail.ts'
import { counts, nameHtml, table, words } from '../story/report/figures.ts'
import { html, n } from '../system/shown-text.ts'
import { actsHtml, type Page, runLink, transactionLink, type Viewer } from './layout.ts'
import { actionPath } from './typed-commands.ts'

const pathOf = (run: string, code: string): string =>
  `/runs/${encodeURIComponent(run)}/reasons/${encodeURIComponent(code)}`

export async function reasonPage(
  application: Application,
  name: string,
  code: string,
  { mayAct, maySeeValues }: Viewer,
): Promise<Page> {
  const found = await rowsOfReason(application, name, code)
  const { run, job, rows, hasMore } = found
  const line = ({ export: name, row, line: place, rule, state, transactionId }: LeftRow): string[] => [
    n(row),
    n(place),
    nameHtml(name),
    html(rule ?? '(row)'),
    html(state),
    transactionId === undefined ? '' : transactionLink(transactionId),
  ]
  return {
    title: `${code} in ${run}`,
    isLive: true,
    json: found,
    body: `<h1>Rows of <code>${html(code)}</code></h1>
<p>Run ${runLink(run)} of ${html(job)}. Positions and codes alone: values are in the rejects file.</p>
${actsHtml([
  ...(mayAct ? [{ to: actionPath('acknowledge', { run, reason: code }), words: `Acknowledge ${code}` }] : []),
  ...(maySeeValues ? [{ to: `${pathOf(run, code)}/values`, words: 'Show values (health data)' }] : []),
])}
${
  rows.length === 0
    ? '<p class="none">The run left no row for this reason, or its detail was pruned.</p>'
    : `${table({
        label: `Rows of ${code}`,
        columns: [...counts('row', 'line'), ...words('export', 'rule', 'today', 'transaction')],
        lines: rows.map(line),
        kind: 'rows blocks',
      })}${hasMore ? `<p class="note">The first ${n(rows.length)}. The rejects file has all.</p>` : ''}`
}`,
  }
}

export async function valuesPage(
  application: Application,
  name: string,
  code: string,
  person: Person,
): Promise<Page> {
  const found = await valuesOfReason(application, name, code, person)
  const { run, job, rows, hasMore, gone } = found
  return {
    title: `Values for ${code} in ${run}`,
    json: found,
    body: `<h1>Values of <code>${html(code)}</code></h1>
<p class="alarm"><strong>Health data of people.</strong> The look is in <code>waybill audit</code>.</p>
<p>Run ${runLink(run)} of ${html(job)}, from its rejects files. <a href="${html(pathOf(run, code))}">Rows without values</a></p>
${gone.length === 0 ? '' : `<p class="note">Without a rejects file: ${gone.map(nameHtml).join(', ')}.</p>`}
<div class="preview">${rows.map(valuesHtml).join('\n')}</div>
${rows.length === 0 ? '<p class="none">The rejects files have no row for this reason.</p>' : ''}
${hasMore ? `<p class="note">The first ${n(rows.length)}. The rejects file has all.</p>` : ''}`,
  }
}

const valuesHtml = ({
  export: name,
  row,
  rule,
  values,
}: Awaited<ReturnType<typeof valuesOfReason>>['rows'][number]): string => `<section>
<h2>Row ${n(row)} <span>${html(rule ?? '(row)')}, ${nameHtml(name)}</span></h2>
<dl>${values.map(([column, cell]) => `<dt>${html(column)}</dt><dd>${html(cell)}</dd>`).join('')}</dl>
</section>`
