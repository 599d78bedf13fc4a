/** What checks and the comparison with earlier deliveries have found in what went on all the same. Then what to do next. */

import type { ExportDrift } from '../run/drift.ts'
import type { Step } from '../run/next-steps.ts'
import { html, n } from '../shown-text.ts'
import { counts, foldedTable, nameHtml, words } from './figures.ts'
import type { RunFacts } from './run-facts.ts'

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
          columns: [...counts('count'), ...words('warning')],
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
          columns: words('export', 'drift', 'what', 'differs'),
          lines: largestFirst(drift).map(({ export: name, level, measure, message }) => [
            nameHtml(name),
            ...[level, measure, message].map(html),
          ]),
          kind: 'stacked drift',
        },
        DRIFT_SHOWN,
        'more differences',
      )}`
}
</section>`
}

export function nextSection(steps: readonly Step[]): string {
  if (steps.length === 0) return ''
  const shown = steps.map(({ say, commands }) =>
    [
      `<p>${html(say)}</p>`,
      ...(commands.length === 0 ? [] : [`<pre>${commands.map(html).join('\n')}</pre>`]),
    ].join('\n'),
  )
  return `<section id="next" class="steps">
<h2>What to do next</h2>
${shown.join('\n')}
</section>`
}

/** Differences shown; the rest is counted. */
export const DRIFT_SHOWN = 5

const LEVELS: readonly ExportDrift['level'][] = ['stop', 'accepted', 'warn']

/** What stops an export first, then by how far it is from what is usual. */
export const largestFirst = (drift: readonly ExportDrift[]): ExportDrift[] =>
  drift.toSorted((a, b) => LEVELS.indexOf(a.level) - LEVELS.indexOf(b.level) || sizeOf(b) - sizeOf(a))

/** Other columns have no measure: they count as if all were different. */
const sizeOf = ({ change = 1 }: ExportDrift): number => change

/** `311 differences in 295 exports: rows 250, empty 61`: most frequent first. */
export function driftCounts(drift: readonly ExportDrift[]): string {
  const exports = new Set(drift.map((one) => one.export)).size
  const measures = [...Map.groupBy(drift, ({ measure }) => measure)]
    .sort(([, a], [, b]) => b.length - a.length)
    .map(([measure, all]) => `${measure} ${n(all.length)}`)
  return `${n(drift.length)} differences in ${exports === 1 ? 'one export' : `${n(exports)} exports`}: ${measures.join(', ')}`
}
