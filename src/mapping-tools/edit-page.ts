/**
 * The page of `waybill mapping edit`: rows beside what becomes of them, how the mapping fits, and what the last save changed. It holds
 * health data, and is served to the machine's own browser alone, which is told when what it shows has changed.
 */

import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type Finding, WaybillError } from '../model/errors.ts'
import { html, htmlPage } from '../shown-text.ts'
import type { ReadName } from '../transform/compile-context.ts'
import { type PreviewedRow, rowHtml, STYLE } from './preview.ts'

/** What the page shows of a mapping that was saved. */
export interface EditView {
  readonly rows: readonly { readonly now: PreviewedRow; readonly before: PreviewedRow | undefined }[]
  /** Columns and paths that the mapping reads, each with its key. */
  readonly reads: readonly ReadName[]
  /** Lines of the fit report. */
  readonly fit: readonly string[]
  readonly isSuspicious: boolean
  /** Lines that say what the last save has changed; undefined where nothing was saved yet. */
  readonly changes: readonly string[] | undefined
}

/** The mapping cannot be used as it was saved: what was wrong, above what the page has shown so far. */
export interface EditProblem {
  readonly message: string
  readonly findings: readonly Finding[]
}

export const editPage = (mapping: string, sample: string, view: string): string =>
  htmlPage({
    title: `${mapping}: ${sample}`,
    style: `${STYLE}${EDIT_STYLE}`,
    body: `<header>
<h1>${html(sample)} <span>as ${html(mapping)} maps it</span></h1>
<p>Nothing is sent. <strong>This page holds health data of persons.</strong> It follows the mapping as you save it.</p>
<p><label><input type="checkbox" id="only"> Show only rows with something rejected</label> <span id="ended" hidden>The command has ended: this page follows no more.</span></p>
</header>
<main id="view">${view}</main>`,
    script: SCRIPT,
  })

/** The part of the page that each save makes anew. @param view the last mapping that could be used; undefined where there was none */
export function viewHtml(view: EditView | undefined, problem?: EditProblem): string {
  const rows = view?.rows ?? []
  const reads = view === undefined ? () => [] : readsByRule(view.reads)
  return [
    problem === undefined ? '' : problemHtml(problem),
    view?.changes === undefined || problem !== undefined
      ? ''
      : `<pre class="changes">${view.changes.map(html).join('\n')}</pre>`,
    view === undefined
      ? ''
      : `<details id="fit" open><summary>How it fits${view.isSuspicious ? ': <strong>suspicious</strong>' : ''}</summary><pre>${view.fit.map(html).join('\n')}</pre></details>`,
    ...rows.map(({ now, before }) => rowHtml(now, { reads, before })),
  ].join('\n')
}

const problemHtml = ({ message, findings }: EditProblem): string =>
  `<div id="problem" role="alert"><p><b>${html(message)}</b>. Rows are shown as the mapping before had them.</p><ul>${findings
    .map(
      ({ place, message: found }) =>
        `<li>${place.line === undefined ? '' : `line ${place.line}: `}<code>${html(place.key ?? '')}</code> ${html(found)}</li>`,
    )
    .join('')}</ul></div>`

/** What stands for a name in a shown row: a column, or the last member of a path. */
function shownName(name: string): string {
  const [, quoted] = /\[['"]([^'"]+)['"]\]$/.exec(name) ?? []
  const [, last] = /^[$\w][\w$]*[.[].*?([\w-]+)\]?$/.exec(name) ?? []
  return quoted ?? last ?? name
}

/**
 * Columns by what is made of them. A rule of a list is known by its section alone: it has the reads of all rules of lists.
 */
function readsByRule(reads: readonly ReadName[]): (rule: string) => readonly string[] {
  const byKey = reads.map(({ name, place: { key = '' } }) => ({ key, names: [name, shownName(name)] }))
  const under = (...starts: readonly string[]): string[] =>
    byKey.flatMap(({ key, names }) => (starts.some((start) => key.startsWith(start)) ? names : []))
  const ofRow = { key: 'row.key', account: 'row.account.reference', register: 'row.account.register' }
  return (rule) => {
    if (rule === 'key' || rule === 'account' || rule === 'register') return under(ofRow[rule])
    const named = rule.replace(/-\d+$/, '')
    const own = SECTIONS.flatMap((section) => [rule, named].map((one) => `${section}.${one}`))
    const found = byKey.flatMap(({ key, names }) =>
      own.some((start) => key === start || key.startsWith(`${start}.`)) ? names : [],
    )
    const all = found.length > 0 ? found : under(...SECTIONS.map((section) => `${section}[`))
    return [...new Set([...all, ...under('row.observedAt')])]
  }
}

const SECTIONS = ['biometrics', 'conditions', 'careTeams']

const EDIT_STYLE = `
.only section:not(.failed) { display: none }
.lit { background: color-mix(in srgb, var(--soft) 30%, transparent) }
.new { background: color-mix(in srgb, #2e8b57 25%, transparent) }
.gone { text-decoration: line-through; color: var(--soft) }
#problem { border-left: 4px solid var(--bad); padding: .25rem 1rem; background: var(--tint) }
#view > pre, #fit pre { overflow-x: auto; white-space: pre }
#ended { color: var(--bad) }
`

// Text, as it runs in the page: the project has no types of a browser.
const SCRIPT = `
const view = document.getElementById('view')
const only = document.getElementById('only')
only.addEventListener('change', () => document.body.classList.toggle('only', only.checked))
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
events.addEventListener('message', (event) => { view.innerHTML = JSON.parse(event.data) })
events.addEventListener('error', () => { document.getElementById('ended').hidden = false; events.close() })
`

export interface EditServer {
  /** Address of the page; who does not know it sees nothing. */
  readonly url: string
  /** Sends the part that changed to all open pages. */
  show(part: string): void
  close(): Promise<void>
}

/**
 * Serves the page to browsers of this machine, and tells them when what it shows has changed.
 * @param token stands in the address: other users of the machine reach loopback, too
 * @param page the whole page as it is now
 * @throws WaybillError `usage-wrong` where the port is taken
 */
export async function startEditServer(port: number, token: string, page: () => string): Promise<EditServer> {
  const open = new Set<ServerResponse>()
  const server = createServer((request, response) => {
    response.setHeader('cache-control', 'no-store')
    response.setHeader('referrer-policy', 'no-referrer')
    response.setHeader('x-content-type-options', 'nosniff')
    response.setHeader('x-frame-options', 'DENY')
    const asked = isOurs(request) && request.method === 'GET' ? request.url : undefined
    if (asked === `/${token}/`) {
      response.setHeader('content-type', 'text/html; charset=utf-8')
      response.end(page())
    } else if (asked === `/${token}/events`) {
      response.setHeader('content-type', 'text/event-stream')
      response.flushHeaders()
      open.add(response)
      response.on('close', () => open.delete(response))
    } else {
      response.statusCode = 404
      response.end()
    }
  })
  /** A name that somebody has turned to loopback (DNS rebinding) is not this address. */
  const isOurs = ({ headers }: IncomingMessage): boolean => headers.host === host()
  const host = (): string => {
    const address = server.address()
    return `127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
  }
  server.listen(port, '127.0.0.1')
  await once(server, 'listening').catch((cause: unknown) => {
    throw new WaybillError('usage-wrong', `port ${port} cannot be listened on`, { cause })
  })
  return {
    url: `http://${host()}/${token}/`,
    show(part) {
      for (const response of open) response.write(`data: ${JSON.stringify(part)}\n\n`)
    },
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}
