/** Text for people: for terminals, logs, mails and pages, as counts, as paths, as words of commands. */
import { relative } from 'node:path'

/**
 * Characters with an effect in place of a shape: control characters (C0, DEL, C1), format characters (bidirectional controls, zero width, tags),
 * halves of characters, and Unicode's own ends of lines and paragraphs.
 */
const ACTING = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

/** Escapes a character as JSON does (RFC 8259, section 7), so that JSON text keeps its meaning: `a\nb`, `\u202e`. */
const escaped = (character: string): string =>
  SHORT[character] ??
  Array.from(
    { length: character.length },
    (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`,
  ).join('')

/** Escapes a text of any content to one visible line. Shown text does not change when shown again. */
export const shown = (text: string): string => text.replaceAll(ACTING, escaped)

/** Escapes each of several lines, put together by the caller. */
export const shownLines = (text: string): string => text.split('\n').map(shown).join('\n')

/** Colour of a line on a terminal with colours. The words of the line carry the meaning, too. */
export type Tone = 'bad' | 'attention' | 'good'

interface TonedLine {
  readonly text: string
  readonly tone: Tone
}
export type Line = string | TonedLine

/** One line or several. Each element is one line, whatever its content. */
export type Lines = string | readonly Line[]

/** Colours a line by its tone, or returns the line unchanged. */
export type Paint = (text: string, tone: Tone) => string

/** Lines with a tone for the second. */
export const toned = (lines: readonly string[], tone: Tone): Line[] =>
  lines.map((text, at) => (at === 1 ? { text, tone } : text))

/** Writes lines. All output of commands goes through here. */
export const linePrinter =
  (write: (text: string) => void, paint: Paint = (text) => text) =>
  (lines: Lines): void => {
    const all = typeof lines === 'string' ? [lines] : lines
    const written = all.map((line) =>
      typeof line === 'string' ? shown(line) : paint(shown(line.text), line.tone),
    )
    if (all.length > 0) write(`${written.join('\n')}\n`)
  }

/** Parts of an object without those that are null, undefined or an empty list. */
export const present = <Parts extends object>(parts: Parts) =>
  // The cast is sound: parts without value are left out.
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

/** Instant in ISO 8601, UTC, from milliseconds since the epoch: `2026-11-01T05:30:00.000Z`. */
export const iso = (at: number): string => new Date(at).toISOString()

/** `2026-11-01 05:30` in UTC. */
export const utcTime = (at: number): string => iso(at).slice(0, 16).replace('T', ' ')

/** Path relative to the working folder, or the path itself if shorter. */
export function shownPath(path: string): string {
  const short = relative('.', path)
  return short.startsWith('..') ? path : short
}

/**
 * Quotes a word for a shell. A word with invisible or control characters is written with octal escapes in `$'a\012b'`, for bash, zsh, ksh and POSIX
 * (2024, section 2.2.4): octal, as a digit may follow.
 */
export function shellWord(text: string): string {
  if (/^[\w@%+=:,./-]+$/.test(text)) return text
  if (shown(text) === text) return `'${text.replaceAll("'", `'\\''`)}'`
  const isPlain = (character: string): boolean => shown(character) === character && !/['\\!]/.test(character)
  return `$'${Array.from(text, (character) => (isPlain(character) ? character : octalOf(character))).join('')}'`
}

const octalOf = (character: string): string =>
  Array.from(Buffer.from(character), (byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('')

/** Path as a word for a shell, relative to the working folder if shorter. A leading dash gets `./` in front, to be no option. */
export function shellPath(path: string): string {
  const short = shownPath(path)
  return shellWord(short.startsWith('-') ? `./${short}` : short)
}

/** Size for people: `4.2 MB`. */
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

interface HtmlPage {
  readonly title: string
  /** Name → plain text, for programs that read the page. */
  readonly meta?: Readonly<Record<string, string>>
  readonly style: string
  readonly body: string
}

/** A whole page. Its policy allows the browser to load nothing and to run no script, whatever the page contains. */
export const htmlPage = ({ title, meta = {}, style, body }: HtmlPage): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
${Object.entries(meta)
  .map(([name, content]) => `<meta name="${html(name)}" content="${html(content)}">\n`)
  .join('')}<title>${html(title)}</title>
<style>${style}</style>
</head>
<body>
${body}
</body>
</html>
`
