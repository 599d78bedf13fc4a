/** How text is shown to people: to terminals, logs, mails and pages, as counts, as paths, as words of commands to type. */
import { hash } from 'node:crypto'
import { relative } from 'node:path'

/**
 * What acts instead of being seen: control characters (C0, DEL, C1), format characters (bidirectional controls, of no width, tags), halves
 * of characters, and Unicode's own ends of lines and paragraphs.
 */
const ACTING = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

/** The escapes of JSON (RFC 8259, section 7), so that JSON text stays what it is: `a\nb`, `\u202e`. */
const escaped = (character: string): string =>
  SHORT[character] ??
  Array.from(
    { length: character.length },
    (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`,
  ).join('')

/** In one line, whatever it holds. What was shown before stays as it is. */
export const shown = (text: string): string => text.replaceAll(ACTING, escaped)

/** Several lines, which the caller has put together. */
export const shownLines = (text: string): string => text.split('\n').map(shown).join('\n')

/** What a line is seen as where a terminal shows colours. Its words say the same. */
export type Tone = 'bad' | 'attention' | 'good'

export interface TonedLine {
  readonly text: string
  readonly tone: Tone
}
export type Line = string | TonedLine

/** A line, or lines: none of them is more than one, whatever it holds. */
export type Lines = string | readonly Line[]

/** Puts a line into the colour of its tone, or leaves it as it is. */
export type Paint = (text: string, tone: Tone) => string

/** The line at a place in a tone. */
export const toned = (lines: readonly string[], place: number, tone: Tone): Line[] =>
  lines.map((text, at) => (at === place ? { text, tone } : text))

/** Writes lines. Whatever commands print goes through here. */
export const linePrinter =
  (write: (text: string) => void, paint: Paint = (text) => text) =>
  (lines: Lines): void => {
    const all = typeof lines === 'string' ? [lines] : lines
    const written = all.map((line) =>
      typeof line === 'string' ? shown(line) : paint(shown(line.text), line.tone),
    )
    if (all.length > 0) write(`${written.join('\n')}\n`)
  }

/** Parts of what is told, but for those that are null, undefined or an empty list. */
export const present = <Parts extends object>(parts: Parts) =>
  // The cast is sound: those of no value are left out.
  Object.fromEntries(
    Object.entries(parts).filter(([, part]) =>
      Array.isArray(part) ? part.length > 0 : (part ?? undefined) !== undefined,
    ),
  ) as { readonly [Name in keyof Parts]?: NonNullable<Parts[Name]> }

/** `1,234,567` */
export const n = (count: number): string => count.toLocaleString('en-US')

/** `1 row`, `1,234 rows` */
export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${n(count)} ${count === 1 ? one : many}`

/** `2026-11-01 05:30`, by the clock of UTC. */
export const utcTime = (at: number): string => new Date(at).toISOString().slice(0, 16).replace('T', ' ')

/** Relative to where the command was typed, unless that is longer. */
export function shownPath(path: string): string {
  const short = relative('.', path)
  return short.startsWith('..') ? path : short
}

/**
 * In single quotes where a shell would take it for something else. What a person would not see, or a terminal obey, stands as its
 * bytes, in the quotes that bash, zsh, ksh and POSIX (2024, section 2.2.4) know for that: `$'a\012b'`. In octal, as a
 * digit may follow.
 */
export function shellWord(text: string): string {
  if (/^[\w@%+=:,./-]+$/.test(text)) return text
  if (shown(text) === text) return `'${text.replaceAll("'", `'\\''`)}'`
  const isPlain = (character: string): boolean => shown(character) === character && !/['\\!]/.test(character)
  return `$'${Array.from(text, (character) => (isPlain(character) ? character : octalOf(character))).join('')}'`
}

const octalOf = (character: string): string =>
  Array.from(Buffer.from(character), (byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('')

/** A path, relative to the working folder where that is shorter; one that begins with a dash is not to be taken for an option. */
export function shellPath(path: string): string {
  const short = shownPath(path)
  return shellWord(short.startsWith('-') ? `./${short}` : short)
}

/** Bytes as people read them: `4.2 MB`. */
export function sizeText(bytes: number): string {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB']
  const power = Math.min(units.length - 1, bytes < 1000 ? 0 : Math.floor(Math.log10(bytes) / 3))
  return `${power === 0 ? bytes : (bytes / 1000 ** power).toFixed(1)} ${units[power]}`
}

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
