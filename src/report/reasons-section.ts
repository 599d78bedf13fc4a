/** Why rows and records were left behind, most frequent first. */
import { html } from '../html-page.ts'
import { leftBehindWords } from '../job/new-and-known.ts'
import type { Reason } from '../ledger/ledger.ts'
import { knownWords, wordsOf } from '../ledger/reasons.ts'
import { n } from './figures.ts'
import { nameHtml } from './file-name.ts'
import { type MergedReason, mergeReasons } from './merged-reasons.ts'
import { OUTCOMES } from './outcomes.ts'
import type { RunFacts } from './run-facts.ts'
import { foldedTable } from './table.ts'

const SHOWN = 20
const NAMED = 4

export function reasonsSection({ summary, reasons }: RunFacts): string {
  if (reasons.length === 0 && summary.pruned === undefined) return ''
  return `<section id="reasons">
<h2>Why rows and records were left behind</h2>
${reasons.length === 0 ? '<p class="none">Reasons are gone: the detail of the run was pruned.</p>' : [...leftBehindWords(summary).map((words) => `<p>New: ${html(words)}.</p>`), reasonsTable(reasons)].join('\n')}
</section>`
}

function reasonsTable(reasons: readonly Reason[]): string {
  const merged = mergeReasons(reasons)
  const most = merged[0]?.count ?? 0
  return foldedTable(
    {
      label: 'Reasons, most frequent first',
      columns: [{ head: 'count', number: true }, { head: '' }, { head: 'reason' }, { head: 'where' }],
      lines: merged.map((reason) => lineOf(reason, most)),
      kind: 'stacked reasons',
    },
    SHOWN,
    'more reasons',
  )
}

function lineOf(
  { outcome, stage, code, field, message, count, settled, known, knownSince, rules, exports }: MergedReason,
  most: number,
): string[] {
  const before = known === 0 ? '' : `, ${knownWords(known, knownSince)}`
  const since = settled === 0 ? '' : `, ${n(settled)} settled since by later runs`
  const face = Object.entries(OUTCOMES).find(([name]) => name === outcome)?.[1]
  return [
    n(count),
    `<span class="share ${html(outcome)}" style="width:${((100 * count) / most).toFixed(2)}%"></span>`,
    `<code>${html(code)}</code> <span class="outcome">${html(face === undefined ? outcome : `${face.mark} ${face.name}`)}, ${html(stage)}${before}${since}</span><br>${html(wordsOf({ field, message }))}`,
    `${names(
      rules.map((rule) => html(rule ?? 'the row as a whole')),
      'rules',
    )}<br><span class="soft name">${names(exports.map(nameHtml), 'exports')}</span>`,
  ]
}

/** @param all as HTML */
const names = (all: readonly string[], what: string): string =>
  all.length > NAMED
    ? `${all.slice(0, NAMED - 1).join(', ')} and ${n(all.length - NAMED + 1)} more ${what}`
    : all.join(', ')
