/**
 * Reasons for rows and records left behind, most frequent first. A reason of many rules or exports is one line. Meanings and remedies come from
 * docs/reasons.md, which is part of the program. Below: warnings, differences from earlier deliveries, and next steps.
 */
import { readFile } from 'node:fs/promises'
import type { Reason } from '../../ledger/ledger.ts'
import { wordsOf } from '../../ledger/runs.ts'
import { shipped } from '../../system/shipped.ts'
import { html, n } from '../../system/shown-text.ts'
import type { Step } from '../next-steps.ts'
import { DRIFT_SHOWN, largestFirst, type MergedReason, mergeReasons } from '../reasons.ts'
import type { DetailedStory, RunSummary } from '../run-story.ts'
import { driftCounts, knownWords, leftBehindWords } from '../words.ts'
import { counts, foldedTable, nameHtml, OUTCOMES, words } from './figures.ts'

const SHOWN = 20
const NAMED = 4

export function reasonsSection({ summary, reasons }: DetailedStory, explanations: Explanations): string {
  if (reasons.length === 0 && summary.pruned === undefined) return ''
  return `<section id="reasons">
<h2>Reasons for rows and records left behind</h2>
${leftBehindWords(summary)
  .map((words) => `<p>New: ${html(words)}.</p>\n`)
  .join('')}${
  reasons.length === 0
    ? '<p class="none">Reasons are gone: the detail of the run was pruned.</p>'
    : `${reasonsTable(reasons, explanations)}
${meanings(summary, new Set(reasons.map(({ code }) => code)), explanations)}
<p class="note">All codes: <code>docs/reasons.md</code>, which comes with the program.</p>`
}
</section>`
}

/** Meanings of the codes in the table. */
function meanings(summary: RunSummary, codes: ReadonlySet<string>, explanations: Explanations): string {
  const found = [...codes].flatMap((code) => {
    const explanation = explanations.get(code)
    return explanation === undefined ? [] : [{ code, ...explanation }]
  })
  if (found.length === 0) return ''
  const one = ({ code, means, remedy }: (typeof found)[number]): string =>
    `<dt id="reason-${html(code)}"><code>${html(code)}</code></dt>
<dd>${explained(means, summary)}${remedy === '' ? '' : `<br><span class="soft">What to do:</span> ${explained(remedy, summary)}`}</dd>`
  return `<h3>Meanings and remedies</h3>
<dl class="meanings">
${found.map(one).join('\n')}
</dl>`
}

function reasonsTable(reasons: readonly Reason[], explanations: Explanations): string {
  const merged = mergeReasons(reasons)
  const most = merged[0]?.count ?? 0
  return foldedTable(
    {
      label: 'Reasons, most frequent first',
      columns: [...counts('count'), ...words('share', 'reason', 'where')],
      lines: merged.map((reason) => lineOf(reason, most, explanations)),
      kind: 'stacked reasons',
    },
    SHOWN,
    'more reasons',
  )
}

function lineOf(
  { outcome, stage, code, field, message, count, settled, rules, exports, ...known }: MergedReason,
  most: number,
  explanations: Explanations,
): string[] {
  const face = Object.entries(OUTCOMES).find(([name]) => name === outcome)?.[1]
  const facts = [
    face === undefined ? outcome : `${face.mark} ${face.name}`,
    stage,
    ...knownWords(known),
    ...(settled === 0 ? [] : [`${n(settled)} settled since by later runs`]),
  ]
  return [
    n(count),
    `<svg class="share ${html(outcome)}" viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true"><rect width="${Math.max(2, (100 * count) / most).toFixed(2)}" height="1"/></svg>`,
    `${explanations.has(code) ? `<a href="#reason-${html(code)}"><code>${html(code)}</code></a>` : `<code>${html(code)}</code>`} <span class="outcome">${html(facts.join(', '))}</span><br>${html(wordsOf({ field, message }))}`,
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

/** Explanation in Markdown: words, and code between backquotes. */
interface Explanation {
  readonly means: string
  /** Empty for nothing to do. */
  readonly remedy: string
}

/** Explanations by code. */
export type Explanations = ReadonlyMap<string, Explanation>

/** Empty for a program without the page: the report then names only the page. */
export const readExplanations = async (): Promise<Explanations> =>
  explanationsOf(await readFile(shipped('docs/reasons.md'), 'utf8').catch(() => ''))

/** @param page Markdown: rows of tables with a code, or several codes of one meaning, in the first cell */
function explanationsOf(page: string): Explanations {
  const rows = [...page.matchAll(/^\| ((?:`[a-z-]+`(?:, )?)+) \| (.*) \|$/gm)]
  return new Map(
    rows.flatMap(([, codes = '', cells = '']) => {
      const [means = '', remedy = ''] = cells.split(' | ').map((cell) => cell.replace(/^\* /, ''))
      return [...codes.matchAll(/`([^`]+)`/g)].map(([, code = '']) => [code, { means, remedy }] as const)
    }),
  )
}

/** Explanation as HTML. Links become plain words, as the page travels alone. @param run replaces RUN in commands */
const explained = (markdown: string, { job, run }: { readonly job: string; readonly run: string }) =>
  html(markdown.replaceAll(/\[([^\]]+)\]\([^)]*\)/g, '$1')).replaceAll(
    /`([^`]+)`/g,
    (_, code: string) => `<code>${code.replace(/\bRUN\b/, html(run)).replace(/\bJOB\b/, html(job))}</code>`,
  )

const EXAMPLES_SHOWN = 12

export function findingsSection({ summary: { warnings, drift } }: DetailedStory): string {
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
        EXAMPLES_SHOWN,
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
<h2>Next steps</h2>
${shown.join('\n')}
</section>`
}
