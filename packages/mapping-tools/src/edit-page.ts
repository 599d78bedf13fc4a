/**
 * Page of `waybill mapping edit`: rows beside their outcomes, the fit of the mapping, the changes of the last save. The page holds health data.
 */

import type { Finding, Place } from '../../../src/model/errors.ts'
import { html } from '../../../src/system/shown-text.ts'
import type { ReadName } from '../../../src/transform/compile-context.ts'
import { undecidedLines } from '../../../src/transform/mapping-definition.ts'
import { lineLink, type PreviewedRow, type RowMarks, rowHtml, STYLE } from './preview.ts'

/** Content of the page for a saved mapping. */
export interface EditView {
  readonly rows: readonly { readonly now: PreviewedRow; readonly before: PreviewedRow | undefined }[]
  /** Columns and paths that the mapping reads, with their keys. */
  readonly reads: readonly ReadName[]
  readonly unread: readonly string[]
  readonly fit: readonly string[]
  readonly isSuspicious: boolean
  readonly changes: readonly string[] | undefined
}

/** Problem of a saved mapping that cannot be used. The page keeps the rows of the previous mapping. */
export interface EditProblem {
  readonly message: string
  readonly place: Place | undefined
  readonly findings: readonly Finding[]
}

/** Mapping as saved, valid or not. */
export interface EditSource {
  readonly file: string
  readonly text: string
}

/** The whole page; its server serves `EDIT_STYLE` and `EDIT_SCRIPT` as `/page.css` and `/page.js`. */
export const editPage = (mapping: string, sample: string, view: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${html(`${mapping}: ${sample}`)}</title>
<link rel="stylesheet" href="/page.css">
<link rel="icon" href="data:,">
</head>
<body>
<header>
<h1>${html(sample)} <span>as ${html(mapping)} maps it</span></h1>
<p>Nothing is sent. <strong>This page holds health data of persons.</strong> It updates whenever you save the mapping.</p>
<form id="filter"><b>Rows</b> ${['state', 'rule', 'reason'].map((name) => `<label>${name} <select name="${name}"></select></label>`).join(' ')} <output></output></form>
<p id="ended" hidden>The command has ended: this page is no longer updated.</p>
</header>
<main id="view">${view}</main>
<script src="/page.js"></script>
</body>
</html>
`

/** Builds the part of the page that changes with each save. @param view of the last usable mapping, if any */
export function viewHtml(source: EditSource, view: EditView | undefined, problem?: EditProblem): string {
  const {
    changes,
    unread = [],
    fit = [],
    isSuspicious,
    reads = [],
    rows = [],
  }: Partial<EditView> = view ?? {}
  const links = linksOf(reads)
  // Line numbers of the previous mapping do not fit this text.
  const line = problem === undefined ? links.line : () => undefined
  return [
    problem === undefined ? '' : problemHtml(source, problem),
    decisionsHtml(source),
    changes === undefined || problem !== undefined
      ? ''
      : `<pre class="changes">${changes.map(html).join('\n')}</pre>`,
    unread.length === 0 ? '' : `<p id="unread"><b>Unread columns</b>: ${unread.map(html).join(', ')}</p>`,
    view === undefined
      ? ''
      : `<details id="fit" open><summary>Fit${isSuspicious ? ': <strong>suspicious</strong>' : ''}</summary><pre>${fit.map(html).join('\n')}</pre></details>`,
    sourceHtml(source),
    ...rows.map(({ now, before }) => rowHtml(now, { reads: links.reads, line, before })),
  ].join('\n')
}

function problemHtml({ file }: EditSource, { message, place, findings }: EditProblem): string {
  const where = ({ file: named, line }: Place): string => {
    if (line === undefined) return ''
    return named === file ? ` ${lineLink(line)}` : ` ${html(named ?? '')} line ${line}`
  }
  const lines = findings.map(
    (one) => `${where(one.place).trim()} <code>${html(one.place.key ?? '')}</code> ${html(one.message)}`,
  )
  return `<div id="problem" role="alert"><p><b>${html(message)}</b>${where(place ?? {})}. The rows show the previous mapping.</p>${listHtml(lines)}</div>`
}

/** Lines of a draft with an open decision, which prevents every job from running. */
function decisionsHtml({ text }: EditSource): string {
  const asked = undecidedLines(text)
  if (asked.length === 0) return ''
  const written = text.split('\n')
  const lines = asked.map(
    (line) => `${lineLink(line)} <code>${html((written[line - 1] ?? '').trim())}</code>`,
  )
  return `<div id="decisions"><p><b>Open decisions: ${asked.length}</b>. No job runs with the mapping until they are made.</p>${listHtml(lines)}</div>`
}

const listHtml = (items: readonly string[]): string =>
  `<ul>${items.map((item) => `<li>${item}</li>`).join('')}</ul>`

function sourceHtml({ file, text }: EditSource): string {
  const lines = text.trimEnd().split(/\r?\n/)
  const width = String(lines.length).length
  const numbered = lines.map(
    (line, at) => `<span id="line-${at + 1}">${String(at + 1).padStart(width)}  ${html(line)}</span>`,
  )
  return `<details id="mapping"><summary>${html(file)}</summary><pre tabindex="0">${numbered.join('\n')}</pre></details>`
}

/** Name in a shown row: a column, or the last member of a path. */
function shownName(name: string): string {
  const [, quoted] = /\[['"]([^'"]+)['"]\]$/.exec(name) ?? []
  const [, last] = /^[$\w][\w$]*[.[].*?([\w-]+)\]?$/.exec(name) ?? []
  return quoted ?? last ?? name
}

/** Returns columns and mapping line by rule. Rules of a list share the reads of all lists, and have no line. */
function linksOf(reads: readonly ReadName[]): Pick<RowMarks, 'reads' | 'line'> {
  const byKey = reads.map(({ name, place: { key = '', line } }) => ({
    key,
    line,
    names: [name, shownName(name)],
  }))
  const under = (...starts: readonly string[]): string[] =>
    byKey.flatMap(({ key, names }) => (starts.some((start) => key.startsWith(start)) ? names : []))
  const ofRow = { key: 'row.key', account: 'row.account.reference', register: 'row.account.register' }
  const ofRule = (rule: string): typeof byKey => {
    const named = rule.replace(/-\d+$/, '')
    const own = SECTIONS.flatMap((section) => [rule, named].map((one) => `${section}.${one}`))
    return byKey.filter(({ key }) => own.some((start) => key === start || key.startsWith(`${start}.`)))
  }
  return {
    reads(rule) {
      if (rule === 'key' || rule === 'account' || rule === 'register') return under(ofRow[rule])
      const found = ofRule(rule).flatMap(({ names }) => names)
      const all = found.length > 0 ? found : under(...SECTIONS.map((section) => `${section}[`))
      return [...new Set([...all, ...under('row.observedAt')])]
    },
    line: (rule) => ofRule(rule)[0]?.line,
  }
}

const SECTIONS = ['biometrics', 'conditions', 'careTeams']

export const EDIT_STYLE = `${STYLE}
section[hidden] { display: none }
#filter { display: flex; flex-wrap: wrap; gap: .25rem 1rem; align-items: baseline; margin-bottom: 1rem }
#filter select { font: inherit; max-width: 20rem }
a { color: inherit }
summary { cursor: pointer }
:target { background: color-mix(in srgb, #d9a400 35%, transparent) }
#decisions { border-left: 4px solid #d9a400; padding: .25rem 1rem; background: var(--tint) }
#decisions ul { color: inherit }
#fit, #mapping { margin: .5rem 0 }
.lit { background: color-mix(in srgb, var(--soft) 30%, transparent) }
.new { background: color-mix(in srgb, #2e8b57 25%, transparent) }
.gone { text-decoration: line-through; color: var(--soft) }
#problem { border-left: 4px solid var(--bad); padding: .25rem 1rem; background: var(--tint) }
#view > pre, #fit pre { overflow-x: auto; white-space: pre }
#ended { color: var(--bad) }
`

// Written as text, since the project has no browser types.
export const EDIT_SCRIPT = `
const view = document.getElementById('view')
const form = document.getElementById('filter')
const NAMES = ['state', 'rule', 'reason']
const rows = () => [...view.querySelectorAll('section')]
const parts = (row) => JSON.parse(row.dataset.parts)
// A single part must meet all choices: an accepted record of one rule and a rejected record of another are two parts.
const filter = () => {
  const chosen = NAMES.map((name) => form.elements[name].value)
  for (const row of rows())
    row.hidden = !parts(row).some((part) => chosen.every((value, at) => value === '' || value === part[at]))
  const shown = rows().filter((row) => !row.hidden).length
  form.querySelector('output').textContent = shown + ' of ' + rows().length + ' shown'
}
const offer = () => {
  const all = rows().flatMap(parts)
  for (const [at, name] of NAMES.entries()) {
    const select = form.elements[name]
    const values = new Set([select.value, ...all.map((part) => part[at])])
    values.delete('')
    const options = [...values].sort().map((value) => new Option(value, value, false, value === select.value))
    select.replaceChildren(new Option('all', ''), ...options)
  }
  filter()
}
form.addEventListener('change', filter)
offer()
// A link to a line opens the folded text.
document.addEventListener('click', (event) => {
  if (event.target.closest('a[href^="#line-"]') !== null) document.getElementById('mapping').open = true
})
const reads = (element) => JSON.parse(element.dataset.reads)
view.addEventListener('mouseover', (event) => {
  for (const lit of view.querySelectorAll('.lit')) lit.classList.remove('lit')
  const section = event.target.closest('section')
  const from = event.target.closest('[data-reads], [data-name]')
  if (section === null || from === null) return
  from.classList.add('lit')
  for (const one of section.querySelectorAll('[data-reads], [data-name]')) {
    const linked = from.dataset.name === undefined
      ? one.dataset.name !== undefined && reads(from).includes(one.dataset.name)
      : one.dataset.name === from.dataset.name || (one.dataset.reads !== undefined && reads(one).includes(from.dataset.name))
    if (linked) one.classList.add('lit')
  }
})
const events = new EventSource('events')
events.addEventListener('message', (event) => {
  const open = new Map([...view.querySelectorAll('details')].map((one) => [one.id, one.open]))
  view.innerHTML = JSON.parse(event.data)
  for (const one of view.querySelectorAll('details')) one.open = open.get(one.id) ?? one.open
  offer()
})
events.addEventListener('error', () => { document.getElementById('ended').hidden = false; events.close() })
`
