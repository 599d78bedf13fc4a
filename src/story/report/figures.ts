/** Elements of a report: instants, durations, coordinates, names, outcomes, and tables that scroll on a narrow page and fold if long. */
import { DateTime } from 'luxon'
import type { RecordCounts } from '../../model/balance.ts'
import { html, n } from '../../system/shown-text.ts'

/** `Sun 2026-11-01 05:30:09 UTC` */
export const utcText = (at: number): string => `${clock(at, 'utc')} UTC`

/** `Sun 2026-11-01 01:30:09 -04:00`, local time of an IANA zone. */
export const localText = (at: number, zone: string): string =>
  `${clock(at, zone)} ${DateTime.fromMillis(at, { zone }).toFormat('ZZ')}`

const clock = (at: number, zone: string): string =>
  DateTime.fromMillis(at, { zone }).setLocale('en').toFormat('ccc yyyy-MM-dd HH:mm:ss')

const UNITS = [
  { ms: 86_400_000, name: 'd' },
  { ms: 3_600_000, name: 'h' },
  { ms: 60_000, name: 'min' },
  { ms: 1_000, name: 's' },
] as const

/** Milliseconds as `0.4 s`, `12 s`, `3 min 20 s`, `2 h 5 min`: at most the two largest units. */
export function durationText(ms: number): string {
  if (ms < 10_000) return `${Number((ms / 1000).toFixed(1))} s`
  let rest = Math.round(ms / 1000) * 1000
  const parts = UNITS.map(({ ms: unit, name }) => {
    const amount = Math.floor(rest / unit)
    rest -= amount * unit
    return { amount, name }
  })
  const first = parts.findIndex(({ amount }) => amount > 0)
  return parts
    .slice(first, first + 2)
    .filter(({ amount }) => amount > 0)
    .map(({ amount, name }) => `${amount} ${name}`)
    .join(' ')
}

/** A coordinate of a picture, to a tenth of a pixel. */
export const px = (value: number): string => String(Math.round(value * 10) / 10)

/** Text as HTML, with places for line breaks behind `_`, `.` and `/`, except between digits. */
export const nameHtml = (name: string): string =>
  html(name)
    .replaceAll(/(?<![0-9])([_./])(?=[^_./])/g, '$1<wbr>')
    .replaceAll(/(?<=[0-9])([_/])(?![0-9_./])/g, '$1<wbr>')
    // Keeps numbers with hyphens whole: browsers break behind a hyphen.
    .replaceAll(/[0-9]+(?:-[0-9]+)+/g, '<span class="whole">$&</span>')

export const OUTCOMES = {
  mapped: { name: 'mapped', mark: '→' },
  skipped: { name: 'skipped', mark: '–' },
  accepted: { name: 'accepted', mark: '✓' },
  unchanged: { name: 'unchanged', mark: '=' },
  rejected: { name: 'rejected', mark: '×' },
  'in-doubt': { name: 'in doubt', mark: '?' },
  pending: { name: 'pending', mark: '…' },
  unaccounted: { name: 'unaccounted for', mark: '!' },
} as const

/** An outcome; the name is the name of its colour in style.ts, too. */
export type Outcome = keyof typeof OUTCOMES

/** Outcomes of records, in display order. */
export const RECORD_OUTCOMES = ['accepted', 'unchanged', 'rejected', 'in-doubt', 'pending'] as const

export type RecordOutcome = (typeof RECORD_OUTCOMES)[number]

export const countOf = (counts: RecordCounts, outcome: RecordOutcome): number =>
  counts[outcome === 'in-doubt' ? 'inDoubt' : outcome]

const PATTERNED: ReadonlySet<string> = new Set(['rejected', 'in-doubt', 'unaccounted', 'pending'])

/** A box in the colour of an outcome, with its pattern, if any. @param box place and size, as attributes */
export const outcomeBox = (outcome: Outcome | 'neutral', box: string): string =>
  `<rect class="node ${outcome}" ${box}/>${PATTERNED.has(outcome) ? `<rect fill="url(#${outcome}-pattern)" ${box}/>` : ''}`

/** Patterns over the colours of undelivered outcomes, for readers who do not see the colours. Every picture uses them. */
const stripes = (name: string, turn: number, gap: number): string =>
  `<pattern id="${name}-pattern" width="${gap}" height="${gap}" patternUnits="userSpaceOnUse" patternTransform="rotate(${turn})"><path d="M0 0V${gap}" class="over"/></pattern>`

export const PATTERNS = `<svg width="0" height="0" aria-hidden="true" class="patterns"><defs>
${stripes('rejected', 45, 4)}
${stripes('in-doubt', -45, 4)}
${stripes('unaccounted', 0, 3)}
<pattern id="pending-pattern" width="4" height="4" patternUnits="userSpaceOnUse"><circle cx="1" cy="1" r="0.9" class="dot"/></pattern>
</defs></svg>`

interface Column {
  readonly head: string
  /** True for numbers, aligned to the right. */
  readonly number?: true
}

/** Columns of words. */
export const words = (...heads: readonly string[]): Column[] => heads.map((head) => ({ head }))
/** Columns of numbers. */
export const counts = (...heads: readonly string[]): Column[] => heads.map((head) => ({ head, number: true }))

type Line = readonly string[]

interface TableOptions {
  readonly label: string
  readonly columns: readonly Column[]
  readonly lines: readonly Line[]
  readonly total?: Line
  /** Classes. A table of `blocks` shows each line as a block on a narrow page, with the heads beside the cells. */
  readonly kind?: string
}

export function table({ label, columns, lines, total, kind }: TableOptions): string {
  const isOfBlocks = kind?.includes('blocks') === true
  const classOf = (at: number): string =>
    `${columns[at]?.number ? ' class="number"' : ''}${isOfBlocks ? ` data-head="${html(columns[at]?.head ?? '')}"` : ''}`
  const line = (cells: Line): string =>
    `<tr>${cells
      .map((cell, at) =>
        at === 0 ? `<th scope="row"${classOf(at)}>${cell}</th>` : `<td${classOf(at)}>${cell}</td>`,
      )
      .join('')}</tr>`
  const head = columns
    .map(({ head: text, number }) => `<th scope="col"${number ? ' class="number"' : ''}>${html(text)}</th>`)
    .join('')
  return `<div class="scroll" tabindex="0" role="region" aria-label="${html(label)}">
<table${kind === undefined ? '' : ` class="${kind}"`}>
<thead><tr>${head}</tr></thead>
<tbody>
${lines.map(line).join('\n')}
</tbody>${total === undefined ? '' : `\n<tfoot>${line(total)}</tfoot>`}
</table>
</div>`
}

/** A table of the first lines; the others fold behind a line with their count. @param rest words for the others: `more exports` */
export function foldedTable(options: TableOptions, shown: number, rest: string): string {
  const { lines, label } = options
  // A fold for two lines would take more room than the lines.
  if (lines.length <= shown + 2) return table(options)
  const hidden = lines.slice(shown)
  const count = `${n(hidden.length)} ${rest}`
  return `${table({ ...options, lines: lines.slice(0, shown) })}
<details class="rest"><summary>${html(count)}</summary>
${table({ ...options, lines: hidden, label: `${label}, ${count}` })}
</details>`
}

/** Numbers of a picture, for readers who prefer numbers. */
export const numbers = (content: string): string =>
  `<details class="numbers"><summary>In numbers</summary>\n${content}\n</details>`
