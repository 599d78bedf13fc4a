/** Rows of a reason: positions, rules and transactions. */
import type { Application } from '../runs/application.ts'
import { type LeftRow, rowsOfReason } from '../runs/run-detail.ts'
import { counts, nameHtml, table, words } from '../story/report/figures.ts'
import { html, n } from '../system/shown-text.ts'
import { actsHtml, type Page, runLink, transactionLink, type Viewer } from './layout.ts'
import { actionPath } from './typed-commands.ts'

const ROWS = 500

export async function reasonPage(
  application: Application,
  name: string,
  code: string,
  { mayAct }: Viewer,
): Promise<Page> {
  const found = await rowsOfReason(application, name, code, ROWS)
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
${mayAct ? actsHtml([{ to: actionPath('acknowledge', { run, reason: code }), words: `Acknowledge ${code}` }]) : ''}
${
  rows.length === 0
    ? '<p class="none">The run left no row for this reason, or its detail was pruned.</p>'
    : `${table({
        label: `Rows of ${code}`,
        columns: [...counts('row', 'line'), ...words('export', 'rule', 'today', 'transaction')],
        lines: rows.map(line),
        kind: 'rows',
      })}${hasMore ? `<p class="note">The first ${n(rows.length)}. The rejects file has all.</p>` : ''}`
}`,
  }
}
