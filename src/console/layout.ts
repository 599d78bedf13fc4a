/** Frame of all pages of the console, and elements of several pages. Parameters are plain text, unless named as HTML. */
import { WaybillError } from '../model/errors.ts'
import type { Step } from '../story/next-steps.ts'
import { PATTERNS, utcText } from '../story/report/figures.ts'
import { html, iso } from '../system/shown-text.ts'
import { actionOf, type Link, pageOf } from './typed-commands.ts'

export interface Page {
  readonly title: string
  readonly body: string
  /** JSON of the page, equal to the JSON of the command. */
  readonly json: unknown
  /** True for a page with live updates. */
  readonly isLive?: boolean
}

/** Reader of a page, with permissions. */
export interface Viewer {
  readonly csrf: string
  readonly name: string
  readonly mayAct: boolean
  /** True for a person who may see values of rows: health data. */
  readonly maySeeValues: boolean
}

const PAGES = [
  ['/', 'This morning'],
  ['/in-doubt', 'In doubt'],
  ['/exports', 'Exports'],
  ['/backfill', 'Backfill'],
  ['/mappings', 'Mappings'],
  ['/trace', 'Trace'],
  ['/schedule', 'Schedule'],
  ['/system', 'System'],
] as const

/** @param path of the page, to mark it in the list of pages */
export function framed(
  { title, body, isLive = false }: Omit<Page, 'json'>,
  viewer: Viewer | undefined,
  { path, notice }: { readonly path?: string; readonly notice?: string | undefined } = {},
): string {
  const isCurrent = (to: string): boolean =>
    to === path || (to === '/mappings' && path?.startsWith(to) === true)
  const link = ([to, name]: (typeof PAGES)[number]): string =>
    `<li><a href="${to}"${isCurrent(to) ? ' aria-current="page"' : ''}>${name}</a></li>`
  const bar =
    viewer === undefined
      ? ''
      : `<header class="bar"><nav aria-label="Pages"><ul>${PAGES.map(link).join('')}</ul></nav>
<p id="live" role="status"></p>
<p>${html(viewer.name)}${viewer.mayAct ? '' : ', read only'}</p>
<button type="button" id="zone" class="plain" hidden>Local time</button>
<form method="post" action="/leave">${token(viewer.csrf)}<button class="plain">Sign out</button></form></header>`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${html(title)} · Waybill</title>
<link rel="stylesheet" href="/page.css">
<link rel="icon" href="data:,">
</head>
<body${isLive ? ' data-live' : ''}>
<a class="skip" href="#main">Skip to the content</a>
${PATTERNS}
${bar}
${notice === undefined ? '' : `<section class="notice" aria-label="Result"><p role="status">${html(notice)}</p></section>`}
<main id="main" tabindex="-1">
${body}
</main>${viewer === undefined ? '' : '\n<script src="/page.js"></script>'}
</body>
</html>
`
}

/** Field of a form: proves the session of the form's page. */
export const token = (csrf: string): string => `<input type="hidden" name="csrf" value="${html(csrf)}">`

export function errorPage(error: unknown): Omit<Page, 'json'> {
  if (!(error instanceof WaybillError))
    return {
      title: 'Unexpected error',
      body: '<h1>Unexpected error</h1>\n<p>This is a defect of Waybill. The log of the console has the cause.</p>',
    }
  const { code, message, remedy, findings } = error
  const list = findings.map((one) => `<li>${html(one.message)}</li>`).join('')
  return {
    title: code,
    body: `<h1>${html(message)}</h1>
<p>Error <code>${html(code)}</code>.</p>${list === '' ? '' : `\n<ul>${list}</ul>`}
<p>${codeHtml(remedy)}</p>`,
  }
}

/** Text as HTML, with words between backquotes as code. */
export const codeHtml = (text: string): string => html(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>')
export const timeHtml = (at: number): string => `<time datetime="${iso(at)}">${utcText(at)}</time>`

export const runLink = (run: string): string =>
  `<a href="/runs/${encodeURIComponent(run)}"><code>${html(run)}</code></a>`

export const transactionLink = (id: string): string =>
  `<a href="/trace?${html(new URLSearchParams({ transaction: id }).toString())}"><code>${html(id)}</code></a>`

/** Steps with commands; below each command a link to the action or page. */
export const stepsHtml = (steps: readonly Step[], { mayAct }: Pick<Viewer, 'mayAct'>): string =>
  steps
    .map(({ say, commands }) => {
      const links = commands.flatMap((one) =>
        [pageOf(one) ?? (mayAct ? actionOf(one) : undefined)].flatMap((link) => link ?? []),
      )
      return [
        `<p>${html(say)}</p>`,
        ...(commands.length === 0 ? [] : [`<pre>${commands.map(html).join('\n')}</pre>`]),
        ...(links.length === 0 ? [] : [actsHtml(links)]),
      ].join('\n')
    })
    .join('\n')

export const actsHtml = (links: readonly Link[]): string =>
  links.length === 0
    ? ''
    : `<ul class="acts">${links.map(({ to, words, of }) => `<li><a class="act" href="${html(to)}">${html(words)}${of === undefined ? '' : `<span class="hidden"> ${html(of)}</span>`}</a></li>`).join('')}</ul>`

/** Result for a part of a page that cannot be read: other parts of the page report the error. @throws an unexpected error */
export function onlyKnown(error: unknown): undefined {
  if (!(error instanceof WaybillError)) throw error
}
