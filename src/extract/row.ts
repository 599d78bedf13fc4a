/**
 * What extract hands to transform: rows with their origin.
 * A value is never coerced on the way: CSV cells are text; in JSON every number is the text that stood in the file
 * (`5.10` stays `5.10`, a 20-digit id keeps its digits).
 */

/** Where a row stands in its export, so that anything said of it can be looked up. */
export interface Origin {
  /** Ordinal of the row among the export's data rows, from 1. Unreadable rows count; a header does not. */
  readonly row: number
  /** Physical line on which the row starts, from 1. */
  readonly line: number
  /** Offset in bytes of the row's first byte, in the decoded (decompressed) content, from 0. */
  readonly byteOffset: number
}

/** A CSV row whose number of cells is that of the header. */
export interface CsvRow extends Origin {
  readonly kind: 'cells'
  readonly cells: readonly string[]
}

/** JSON as read: numbers are their source text (a string); null is null. */
export type JsonValue = string | boolean | null | readonly JsonValue[] | { readonly [key: string]: JsonValue }

/** One JSON document (one line of NDJSON). */
export interface JsonRow extends Origin {
  readonly kind: 'json'
  readonly value: JsonValue
  /** The line as it came, for the rejects file. */
  readonly text: string
}

/** Why a row could not be read as a row. */
export type RowFault =
  | 'row-too-short'
  | 'row-too-long'
  | 'row-quote-broken'
  | 'row-quote-not-closed'
  | 'row-too-large'
  | 'row-json-invalid'
  | 'row-encoding-invalid'

/** A stretch of the export that is counted as a row but cannot be mapped. */
export interface UnreadableRow extends Origin {
  readonly kind: 'unreadable'
  readonly fault: RowFault
  /** What was found, without any cell's content: `7 cells where the header has 24`. */
  readonly message: string
  /** The bytes as they came, decoded, cut at 64 KiB: for the rejects file alone. */
  readonly text: string
  /** The cells, where the row could be split (too short, too long). */
  readonly cells?: readonly string[]
}

export type Row = CsvRow | JsonRow | UnreadableRow
