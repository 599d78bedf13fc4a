/** HTML pages that need nothing else: no font, no address, and no script but the one that is given. */
import { hash } from 'node:crypto'
import { shown } from './shown-text.ts'

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Text as HTML, in one line. */
export const html = (text: string): string =>
  shown(text).replaceAll(/[&<>"']/g, (mark) => ENTITIES[mark] ?? '')

export interface HtmlPage {
  /** Plain text. */
  readonly title: string
  /** Name → plain text, for programs that look at the page. */
  readonly meta?: Readonly<Record<string, string>>
  /** CSS. */
  readonly style: string
  /** HTML. */
  readonly body: string
  /** JavaScript that follows the body; it may ask the server that the page came from, and no other. */
  readonly script?: string
}

/** A whole page. Its policy lets a browser load nothing and run nothing else, whatever stands in it. */
export const htmlPage = ({ title, meta = {}, style, body, script }: HtmlPage): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'${script === undefined ? '' : `; connect-src 'self'; script-src 'sha256-${hash('sha256', script, 'base64')}'`}">
${Object.entries(meta)
  .map(([name, content]) => `<meta name="${html(name)}" content="${html(content)}">\n`)
  .join('')}<title>${html(title)}</title>
<style>${style}</style>
</head>
<body>
${body}${script === undefined ? '' : `\n<script>${script}</script>`}
</body>
</html>
`
