/** The exports of a run: what became of the rows of each. */

import { html } from '../html-page.ts'
import { allRecords } from '../model/balance.ts'
import { n } from '../shown-text.ts'
import { nameHtml } from './file-name.ts'
import type { ExportFacts, RunFacts } from './run-facts.ts'
import { foldedTable } from './table.ts'

const SHOWN = 12

const READINGS: Readonly<Record<ExportFacts['reading'], string>> = {
  whole: '',
  selected: 'rows that were left behind',
  rejects: 'a corrected rejects file',
}

export function exportsSection({ exports }: RunFacts): string {
  if (exports.length === 0) return ''
  const order = mostLeftFirst(exports)
  const many = exports.length > SHOWN ? ', those with most left behind first' : ''
  return `<section id="exports">
<h2>Exports${many === '' ? '' : ` <span>${n(exports.length)}${many}</span>`}</h2>
${foldedTable(
  {
    label: 'Exports, and what became of their rows',
    columns: [
      { head: 'export' },
      ...['rows', 'mapped', 'skipped', 'rejected', 'records', 'not delivered'].map((head) => ({
        head,
        number: true as const,
      })),
      { head: 'state' },
    ],
    lines: order.map(lineOf),
    kind: 'exports',
  },
  SHOWN,
  'more exports',
)}
</section>`
}

/** Rows and records that were left behind; more than any number of them, an export that could not be used. */
export const troubleOf = ({ error, counts }: Pick<ExportFacts, 'error' | 'counts'>): number =>
  error === undefined ? counts.rows.rejected + notDelivered(counts) : Number.POSITIVE_INFINITY

/** Two that could not be used are equal: infinities have no difference. */
export const mostLeftFirst = <One extends Pick<ExportFacts, 'error' | 'counts'>>(
  exports: readonly One[],
): One[] => exports.toSorted((a, b) => Math.sign(troubleOf(b) - troubleOf(a)) || 0)

/** Records that were rejected, are in doubt or pending. */
export function notDelivered(counts: ExportFacts['counts']): number {
  const { rejected, inDoubt, pending } = allRecords(counts)
  return rejected + inDoubt + pending
}

function lineOf({ name, counts, state, error, reading }: ExportFacts): string[] {
  const { read, mapped, skipped, rejected } = counts.rows
  const how = READINGS[reading]
  return [
    `${nameHtml(name)}${how === '' ? '' : ` <span class="soft">${how}</span>`}`,
    ...[read, mapped, skipped, rejected, allRecords(counts).made, notDelivered(counts)].map(n),
    error === undefined ? html(state) : `<strong>${html(state)}</strong> <code>${html(error)}</code>`,
  ]
}
