/**
 * The cells of one CSV record that is known to be whole (`csv-frame.ts`), by the same rules that found its end.
 *
 * csv-parse is not used here: its escape character vanishes before any character, so that `C:\temp` would lose its
 * backslash unseen, and it knows no escapes without quotes. Tests compare the two where they agree.
 */
import type { Dialect } from './csv-dialect.ts'

/** A record's text into its cells. */
export type CellSplitter = (record: string) => string[]

/** The dialect's marks as text; those it does not have are empty. */
interface Marks {
  readonly delimiter: string
  readonly quote: string
  readonly escapedBy: string
}

export function cellSplitter(dialect: Dialect): CellSplitter {
  const [delimiter, quote, escapedBy] = [dialect.delimiter, dialect.quote, dialect.escapedBy].map((byte) =>
    byte < 0 ? '' : String.fromCharCode(byte),
  ) as [string, string, string]
  const marks: Marks = { delimiter, quote, escapedBy }
  const literal = unescaper(marks)
  const bare = quote === '' && escapedBy !== ''
  return (record) => {
    const cells: string[] = []
    for (let at = 0; ; at += 1) {
      const quoted = quote !== '' && record.startsWith(quote, at)
      const from = quoted ? at + 1 : at
      const to = quoted
        ? closingQuote(record, from, marks)
        : find(record, from, delimiter, bare ? escapedBy : '')
      const text = record.slice(from, to)
      cells.push(quoted || bare ? literal(text) : text)
      at = quoted ? to + 1 : to
      if (at >= record.length) return cells
    }
  }
}

/** The quote that closes the cell: one that is neither doubled nor escaped. */
function closingQuote(record: string, from: number, { quote, escapedBy }: Marks): number {
  for (let at = from; ; at += 2) {
    at = find(record, at, quote, escapedBy)
    if (!record.startsWith(quote, at + 1)) return at
  }
}

/** The first mark before which no escape stands; the record's length where there is none. */
function find(record: string, from: number, mark: string, escapedBy: string): number {
  if (escapedBy === '') {
    const found = record.indexOf(mark, from)
    return found === -1 ? record.length : found
  }
  for (let at = from; at < record.length; at += 1) {
    if (record.startsWith(escapedBy, at)) at += record.startsWith('\r\n', at + 1) ? 2 : 1
    else if (record.startsWith(mark, at)) return at
  }
  return record.length
}

/** Takes escapes away before a mark of the dialect or a line end; before anything else they are text. */
function unescaper({ delimiter, quote, escapedBy }: Marks): (text: string) => string {
  if (escapedBy === '') return (text) => text.replaceAll(quote + quote, quote)
  const escaped = `${code(escapedBy)}(\\r\\n|[\\r\\n${code(delimiter + escapedBy + quote)}])`
  const pattern = new RegExp(quote === '' ? escaped : `${escaped}|${code(quote + quote)}`, 'g')
  return (text) => text.replace(pattern, (_, mark: string | undefined) => mark ?? quote)
}

/** Characters as a regular expression names them, whatever they mean in one. */
function code(marks: string): string {
  return [...marks].map((mark) => `\\x${mark.charCodeAt(0).toString(16).padStart(2, '0')}`).join('')
}
