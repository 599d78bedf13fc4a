/** What checks and the comparison with earlier deliveries have found in what went on all the same. */

import { html } from '../html-page.ts'
import { n } from '../shown-text.ts'
import { DRIFT_SHOWN, driftCounts, largestFirst } from './drift-overview.ts'
import { nameHtml } from './file-name.ts'
import type { RunFacts } from './run-facts.ts'
import { foldedTable } from './table.ts'

const SHOWN = 12

export function findingsSection({ summary: { warnings, drift } }: RunFacts): string {
  if (warnings.length + drift.length === 0) return ''
  return `<section id="findings">
<h2>Warnings and drift</h2>
${
  warnings.length === 0
    ? ''
    : foldedTable(
        {
          label: 'Warnings, most frequent first',
          columns: [{ head: 'count', number: true }, { head: 'warning' }],
          lines: warnings.map(({ code, count }) => [n(count), `<code>${html(code)}</code>`]),
          kind: 'short',
        },
        SHOWN,
        'more warnings',
      )
}
${
  drift.length === 0
    ? ''
    : `${drift.length > DRIFT_SHOWN ? `<p>${driftCounts(drift)}. The largest first.</p>\n` : ''}${foldedTable(
        {
          label: 'How exports differ from earlier deliveries',
          columns: [{ head: 'export' }, { head: 'drift' }, { head: 'what' }, { head: 'differs' }],
          lines: largestFirst(drift).map(({ export: name, level, measure, message }) => [
            nameHtml(name),
            ...[level, measure, message].map(html),
          ]),
          kind: 'drift',
        },
        DRIFT_SHOWN,
        'more differences',
      )}`
}
</section>`
}
