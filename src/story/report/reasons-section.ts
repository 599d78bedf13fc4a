/**
 * Reasons for rows and records left behind, most frequent first. A reason of many rules or exports is one line. Meanings and remedies come from
 * docs/reasons.md, which is part of the program. Below: warnings, differences from earlier deliveries, and next steps.
 */

import { readFile } from 'node:fs/promises'
import { wordsOf } from '../../ledger/concerns.ts'
import type { Reason } from '../../ledger/ledger.ts'
import { shipped } from '../../system/shipped.ts'
import { html, n } from '../../system/shown-text.ts'
import type { ExportDrift } from '../../watch/drift.ts'
import type { RunSummary } from '../facts.ts'
import { addKnown, knownWords, leftBehindWords } from '../known.ts'
import type { Step } from '../next-steps.ts'
import { counts, foldedTable, nameHtml, OUTCOMES, words } from './figures.ts'
import type { RunFacts } from './run-facts.ts'

const SHOWN = 20
const NAMED = 4

export function reasonsSection({ summary, reasons }: RunFacts, explanations: Explanations): string {
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
      columns: [...counts('count'), ...words('', 'reason', 'where')],
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
    `<span class="share ${html(outcome)}" style="width:${((100 * count) / most).toFixed(2)}%"></span>`,
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

export interface MergedReason
  extends Pick<
    Reason,
    'outcome' | 'stage' | 'code' | 'field' | 'message' | 'count' | 'settled' | 'known' | 'knownSince'
  > {
  /** Null for the row as a whole. */
  readonly rules: readonly (string | null)[]
  readonly exports: readonly string[]
}

/** Merges equal reasons of rules and exports, most frequent first. */
export function mergeReasons(reasons: readonly Reason[]): MergedReason[] {
  const same = Map.groupBy(reasons, ({ outcome, stage, code, field, message }) =>
    JSON.stringify([outcome, stage, code, field, message]),
  )
  return [...same.values()]
    .flatMap((group) => {
      const [first] = group
      if (first === undefined) return []
      const { outcome, stage, code, field, message } = first
      return [
        {
          outcome,
          stage,
          code,
          field,
          message,
          ...addKnown(group),
          settled: group.reduce((sum, { settled }) => sum + settled, 0),
          rules: [...new Set(group.map(({ rule }) => rule))],
          exports: [...new Set(group.map(({ exportName }) => exportName))],
        },
      ]
    })
    .sort((a, b) => b.count - a.count)
}

/** Explanation in Markdown: words, and code between backquotes. */
export interface Explanation {
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
export const explained = (markdown: string, { job, run }: { readonly job: string; readonly run: string }) =>
  html(markdown.replaceAll(/\[([^\]]+)\]\([^)]*\)/g, '$1')).replaceAll(
    /`([^`]+)`/g,
    (_, code: string) => `<code>${code.replace(/\bRUN\b/, html(run)).replace(/\bJOB\b/, html(job))}</code>`,
  )

const EXAMPLES_SHOWN = 12

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

/** Most differences to show; the others are counted. */
export const DRIFT_SHOWN = 5

const LEVELS: readonly ExportDrift['level'][] = ['stop', 'accepted', 'warn']

/** Differences that stop an export first, then by their distance from the usual. */
export const largestFirst = (drift: readonly ExportDrift[]): ExportDrift[] =>
  drift.toSorted((a, b) => LEVELS.indexOf(a.level) - LEVELS.indexOf(b.level) || sizeOf(b) - sizeOf(a))

/** Size of a difference; other columns have no measure, and count as all different. */
const sizeOf = ({ change = 1 }: ExportDrift): number => change

/** `311 differences in 295 exports: rows 250, empty 61`: most frequent first. */
export function driftCounts(drift: readonly ExportDrift[]): string {
  const exports = new Set(drift.map((one) => one.export)).size
  const measures = [...Map.groupBy(drift, ({ measure }) => measure)]
    .sort(([, a], [, b]) => b.length - a.length)
    .map(([measure, all]) => `${measure} ${n(all.length)}`)
  return `${n(drift.length)} differences in ${exports === 1 ? 'one export' : `${n(exports)} exports`}: ${measures.join(', ')}`
}
