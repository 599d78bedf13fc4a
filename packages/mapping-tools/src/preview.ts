/** Rows beside their outcomes, for a terminal or as a page. Contains health data. */

import type { Entry, MappedRow, RowOutcome } from '../../../src/model/entry.ts'
import type { Row } from '../../../src/model/row.ts'
import { html, htmlPage, shown } from '../../../src/system/shown-text.ts'
import { withoutOrdinal } from '../../../src/watch/fit-facts.ts'
import { factsOf, registration } from './record-facts.ts'

/** Short form of a record: rule; value, status or provider; date; code. */
export interface PreviewedRecord {
  readonly rule: string
  readonly result: string
  readonly observedAt: string
  readonly code: string
}

export interface PreviewedRow {
  readonly row: number
  readonly line: number
  readonly outcome: RowOutcome['outcome']
  /** Filled cells by column; for JSON, lines of the document without a name. */
  readonly source: readonly (readonly [name: string, text: string])[]
  /** Key, account and registration of a mapped row, or the reason why the person cannot be registered. */
  readonly about: readonly (readonly [name: 'key' | 'account' | 'register', text: string])[]
  readonly records: readonly PreviewedRecord[]
  readonly leftOut: readonly string[]
  readonly faults: readonly { readonly rule?: string; readonly code: string; readonly message: string }[]
}

const LONGEST_SOURCE = 200

export function previewRow(
  row: Row,
  columns: readonly string[] | undefined,
  outcome: RowOutcome,
): PreviewedRow {
  return {
    row: row.row,
    line: row.line,
    outcome: outcome.outcome,
    source: sourceOf(row, columns),
    about: outcome.outcome === 'mapped' ? aboutOf(outcome) : [],
    ...becameOf(outcome),
  }
}

function aboutOf(row: MappedRow): PreviewedRow['about'] {
  const { reference, type } = row.account
  const draft = registration(row)
  const registered =
    draft === undefined
      ? []
      : [typeof draft === 'string' ? `not possible: ${draft}` : Object.values(draft).join(', ')]
  return [
    ['key', row.key],
    ['account', `${type} ${reference}`],
    ...registered.map((text) => ['register', text] as const),
  ]
}

function becameOf(outcome: RowOutcome): Pick<PreviewedRow, 'records' | 'leftOut' | 'faults'> {
  if (outcome.outcome === 'skipped') return { records: [], leftOut: outcome.leftOut, faults: [] }
  if (outcome.outcome === 'rejected') {
    const { code, message } = outcome.issue
    return { records: [], leftOut: [], faults: [{ code, message }] }
  }
  return {
    records: outcome.records.map(inShort),
    leftOut: outcome.leftOut,
    faults: outcome.rejected.map(({ rule, issue }) => ({ rule, code: issue.code, message: issue.message })),
  }
}

function inShort(record: Entry): PreviewedRecord {
  const facts = factsOf(record)
  const result =
    record.kind === 'careTeam'
      ? [facts['npi'], facts['name'], facts['type']].filter((fact) => fact !== undefined).join(' ')
      : (facts['value'] ?? facts['status'] ?? '')
  return {
    rule: record.rule,
    result,
    observedAt: new Date(record.observedAt).toISOString(),
    code: facts['code'] ?? facts['codes'] ?? '',
  }
}

function sourceOf(row: Row, columns: readonly string[] | undefined): (readonly [string, string])[] {
  if (row.kind === 'cells')
    return row.cells.flatMap((cell, at) =>
      cell === '' ? [] : [[columns?.[at] ?? `cell ${at + 1}`, cell] as const],
    )
  const text = row.kind === 'json' ? JSON.stringify(row.value, null, 1) : row.text
  const lines = text.split('\n')
  const first = lines.slice(0, LONGEST_SOURCE).map((line) => ['', line] as const)
  return lines.length > LONGEST_SOURCE
    ? [...first, ['', `… ${lines.length - LONGEST_SOURCE} more lines`]]
    : first
}

const NAMES = 20
const SOURCE = 44
const MOST_LINES = 60

/** Lines for a terminal. @param written JSON of the records, instead of their short form */
export function previewText(row: PreviewedRow, written?: readonly string[]): string[] {
  const widest = Math.min(NAMES, Math.max(0, ...row.source.map(([name]) => name.length)))
  const left = row.source.map(([name, text]) =>
    shown(widest === 0 ? text : `${inWidth(name, widest)}  ${text}`),
  )
  const cut =
    left.length > MOST_LINES ? [...left.slice(0, MOST_LINES), `… ${left.length - MOST_LINES} more`] : left
  const right = [...(written ?? []).map((json) => `→ ${json}`), ...resultLines(row, written === undefined)]
  const head = `── row ${row.row}, line ${row.line}: ${row.outcome} `
  const lines = Array.from({ length: Math.max(cut.length, right.length) }, (_, at) =>
    ` ${inWidth(cut[at] ?? '', SOURCE)} │ ${right[at] ?? ''}`.trimEnd(),
  )
  return [head.padEnd(80, '─'), ...lines, '']
}

function resultLines({ about, records, leftOut, faults }: PreviewedRow, withRecords: boolean): string[] {
  const shownRecords = withRecords ? records : []
  const rules = Math.max(
    0,
    ...records.map(({ rule }) => rule.length),
    ...faults.map(({ rule }) => rule?.length ?? 0),
  )
  const longest = Math.max(0, ...shownRecords.map((record) => record.result.length))
  return [
    ...about.map(([name, text]) => `· ${name.padEnd(8)} ${text}`),
    ...shownRecords.map(
      ({ rule, result: text, observedAt, code }) =>
        `→ ${rule.padEnd(rules)}  ${text.padEnd(longest)}  ${observedAt}  ${code}`,
    ),
    ...leftOut.map((why) => `– left out: ${why}`),
    ...faults.map(({ rule, code, message }) =>
      rule === undefined ? `✗ ${code}: ${message}` : `✗ ${rule.padEnd(rules)}  ${code}: ${message}`,
    ),
  ]
}

const inWidth = (text: string, width: number): string =>
  text.length > width ? `${text.slice(0, width - 1)}…` : text.padEnd(width)

/** HTML page without scripts, fonts and addresses. @param mapping and `sample`: their names */
export function previewPage(mapping: string, sample: string, rows: readonly PreviewedRow[]): string {
  return htmlPage({
    title: `${mapping}: ${sample}`,
    style: STYLE,
    body: `<header>
<h1>${html(sample)} <span>as ${html(mapping)} maps it</span></h1>
<p>${totals(rows)}. Nothing was sent. <strong>This page holds health data of persons</strong>: store it only where the export may be stored.</p>
</header>
<main>
${rows.map((row) => rowHtml(row)).join('\n')}
</main>`,
  })
}

/** `3 rows: 2 mapped, 1 rejected; 5 records made, 1 rejected` */
function totals(rows: readonly PreviewedRow[]): string {
  const outcomes = [...Map.groupBy(rows, ({ outcome }) => outcome)].map(
    ([outcome, same]) => `${same.length} ${outcome}`,
  )
  const mapped = rows.filter(({ outcome }) => outcome === 'mapped')
  const made = mapped.reduce((sum, { records }) => sum + records.length, 0)
  const failed = mapped.reduce((sum, { faults }) => sum + faults.length, 0)
  return `${rows.length} ${rows.length === 1 ? 'row' : 'rows'}: ${outcomes.join(', ')}; ${made} ${made === 1 ? 'record' : 'records'} made, ${failed} rejected`
}

/** Marks on a row, for a page with changes. */
export interface RowMarks {
  readonly reads: (rule: string) => readonly string[]
  readonly line: (rule: string) => number | undefined
  readonly before: PreviewedRow | undefined
}

/** Row as HTML. @param marks links between columns and records, and changes */
export function rowHtml(row: PreviewedRow, marks?: RowMarks): string {
  const named = row.source.some(([name]) => name !== '')
  const source = named
    ? `<dl>${row.source.map(([name, text]) => `<dt${nameMark(name, marks)}>${html(name)}</dt><dd${nameMark(name, marks)}>${html(text)}</dd>`).join('')}</dl>`
    : `<pre>${row.source.map(([, text]) => lineHtml(text, marks)).join('\n')}</pre>`
  const parts = marks === undefined ? '' : ` data-parts="${html(JSON.stringify(partsOf(row)))}"`
  return `<section class="${row.outcome}"${parts}>
<h2>Row ${row.row} <span>line ${row.line}, ${row.outcome}</span></h2>
<div class="source">${source}</div>
<div class="records">${aboutHtml(row, marks)}${recordsHtml(row, marks)}${leftOutHtml(row)}${faultsHtml(row, marks)}</div>
</section>`
}

/** State, rule and reason of each part of a row, for filters; '' if there is none. */
function partsOf({ outcome, records, faults, leftOut }: PreviewedRow): string[][] {
  const parts = [
    ...records.map(({ rule }) => ['accepted', withoutOrdinal(rule), '']),
    ...faults.map(({ rule = '', code }) => ['rejected', withoutOrdinal(rule), code]),
    ...leftOut.map((why) => ['left out', '', why]),
  ]
  return parts.length > 0 ? parts : [[outcome === 'skipped' ? 'left out' : 'accepted', '', '']]
}

/** Link to a line of the mapping on the same page. */
export const lineLink = (line: number): string => `<a href="#line-${line}">line ${line}</a>`

const nameMark = (name: string, marks: RowMarks | undefined): string =>
  marks === undefined ? '' : ` data-name="${html(name)}"`

/** Line of JSON, with the name of its member. */
function lineHtml(text: string, marks: RowMarks | undefined): string {
  const [, name] = /^\s*"((?:[^"\\]|\\.)*)":/.exec(text) ?? []
  return name === undefined || marks === undefined
    ? html(text)
    : `<span${nameMark(name, marks)}>${html(text)}</span>`
}

const readsMark = (rule: string, marks: RowMarks | undefined): string =>
  marks === undefined ? '' : ` data-reads="${html(JSON.stringify(marks.reads(rule)))}"`

function aboutHtml({ about }: PreviewedRow, marks: RowMarks | undefined): string {
  if (about.length === 0) return ''
  const were = new Set((marks?.before?.about ?? about).map(([name, text]) => `${name} ${text}`))
  const lines = about.map(([name, text]) => {
    const isNew = were.has(`${name} ${text}`) ? '' : ' class="new"'
    return `<dt>${name}</dt><dd${isNew}${readsMark(name, marks)}>${html(text)}</dd>`
  })
  return `<dl class="about">${lines.join('')}</dl>`
}

const cellsOf = ({ rule, result, observedAt, code }: PreviewedRecord): string =>
  `<th scope="row">${html(rule)}</th><td>${html(result)}</td><td>${html(observedAt)}</td><td>${html(code)}</td>`

function recordsHtml({ records, faults }: PreviewedRow, marks: RowMarks | undefined): string {
  const before = marks?.before?.records ?? records
  const [now, were] = [new Set(records.map(cellsOf)), new Set(before.map(cellsOf))]
  const gone = before.filter((record) => !now.has(cellsOf(record)))
  if (records.length + gone.length === 0) return faults.length === 0 ? '<p class="none">No record.</p>' : ''
  const line = (kind: string) => (record: PreviewedRecord) =>
    `<tr${kind}${readsMark(record.rule, marks)}>${cellsOf(record)}</tr>`
  const lines = [
    ...records.map((record) => line(were.has(cellsOf(record)) ? '' : ' class="new"')(record)),
    ...gone.map(line(' class="gone"')),
  ]
  return `<table>
<thead><tr><th scope="col">rule</th><th scope="col">value</th><th scope="col">observed</th><th scope="col">code</th></tr></thead>
<tbody>${lines.join('\n')}</tbody>
</table>`
}

const leftOutHtml = ({ leftOut }: PreviewedRow): string =>
  leftOut.length === 0 ? '' : `<p class="none">Left out: ${html(leftOut.join(', '))}</p>`

function faultsHtml({ faults }: PreviewedRow, marks: RowMarks | undefined): string {
  if (faults.length === 0) return ''
  const lines = faults.map(({ rule, code, message }) => {
    const line = rule === undefined ? undefined : marks?.line(rule)
    const at = line === undefined ? '' : ` (${lineLink(line)})`
    return `<li${rule === undefined ? '' : readsMark(rule, marks)}>${rule === undefined ? '' : `<b>${html(rule)}</b>${at} `}<code>${html(code)}</code> ${html(message)}</li>`
  })
  return `<ul>${lines.join('')}</ul>`
}

export const STYLE = `
:root { color-scheme: light dark; --ink: #1c2430; --soft: #5b6675; --line: #d9dee5; --ground: #fff; --bad: #a3341f; --tint: #f6f8fa }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e8ee; --soft: #98a3b1; --line: #333c47; --ground: #14181d; --bad: #ef8b76; --tint: #1b2128 }
}
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 80rem; padding: 2rem 1.25rem; background: var(--ground); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif }
h1 { font-size: 1.4rem; margin: 0 }
h2 { font-size: 1rem; margin: 0 0 .5rem; grid-column: 1 / -1 }
h1 span, h2 span { color: var(--soft); font-weight: normal }
section { display: grid; grid-template-columns: minmax(0, 2fr) minmax(0, 3fr); gap: 0 2rem; padding: 1.25rem 0;
  border-top: 1px solid var(--line) }
dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .1rem 1rem; margin: 0 }
dt { color: var(--soft) }
dd { margin: 0 }
.about { margin-bottom: .5rem }
dd, td, li, pre { overflow-wrap: anywhere; white-space: pre-wrap; unicode-bidi: isolate }
pre { margin: 0; font-size: .8rem; max-height: 30rem; overflow: auto; background: var(--tint); padding: .75rem }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums }
th, td { text-align: left; vertical-align: top; padding: .15rem .75rem .15rem 0; font-weight: normal }
thead th, .none { color: var(--soft) }
tbody th { font-weight: 600 }
ul { list-style: none; margin: .5rem 0 0; padding: 0; color: var(--bad) }
.skipped ul { color: var(--soft) }
section.rejected { border-left: 4px solid var(--bad); margin-left: calc(-1rem - 4px); padding-left: 1rem }
.rejected h2 span { color: var(--bad) }
@media (min-width: 60rem) { td:nth-child(3) { white-space: nowrap } }
@media (max-width: 46rem) { section { grid-template-columns: minmax(0, 1fr); gap: .75rem } }
@media print {
  body { padding: 0; font-size: 10pt; max-width: none }
  section { break-inside: avoid }
  pre { max-height: none }
}
`
