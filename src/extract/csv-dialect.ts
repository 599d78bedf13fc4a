/** A CSV dialect in bytes: what cutting records and taking them apart go by. */
import type { CsvDefinition } from './csv-definition.ts'

/** No byte has this value: a mark that the dialect does not have is never met. */
const NONE = -1

export interface Dialect {
  /** One byte, as all marks. */
  readonly delimiter: number
  /** -1: there are no quotes. */
  readonly quote: number
  /** -1: a quote is escaped by another one, and nothing else is escaped. */
  readonly escapedBy: number
  /** Whether a quote inside a cell that does not begin with one is text. */
  readonly lenient: boolean
  /** What a comment line begins with. */
  readonly comment: Buffer | undefined
}

/** @param delimiter the one that the definition gives, or that was found */
export function dialectOf(read: CsvDefinition, delimiter: string): Dialect {
  const escapedBy = read.escape === 'doubled' || read.escape === read.quote ? undefined : read.escape
  return {
    delimiter: delimiter.charCodeAt(0),
    quote: read.quote === 'none' ? NONE : read.quote.charCodeAt(0),
    escapedBy: escapedBy === undefined ? NONE : escapedBy.charCodeAt(0),
    lenient: read.quotes === 'lenient',
    comment: read.comment === undefined ? undefined : Buffer.from(read.comment),
  }
}
