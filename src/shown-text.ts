/**
 * Text that others have written (names of files, columns, words of a server) as a terminal, a log, a mail or a page may show it: in one
 * line, as the characters that it has, in the order in which they stand.
 */

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

/** A line, or lines: none of them is more than one, whatever it holds. */
export type Lines = string | readonly string[]

/** Writes lines. Whatever commands print goes through here. */
export const linePrinter =
  (write: (text: string) => void) =>
  (lines: Lines): void => {
    const all = typeof lines === 'string' ? [lines] : lines
    if (all.length > 0) write(`${all.map(shown).join('\n')}\n`)
  }
