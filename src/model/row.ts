/**
 * Rows with their origin: the hand-over from extract to transform.
 * No value is coerced on the way: CSV cells are text; in JSON every number keeps the text of the file (`5.10` stays `5.10`, a 20-digit id
 * keeps its digits).
 */

/** Place of a row in the export, to look the row up. */
export interface Origin {
  /** Ordinal of the row among the export's data rows, from 1. Unreadable rows count; a header does not. */
  readonly row: number
  /** Physical line on which the row starts, from 1. In CSV a line ends with LF, CR LF or CR, in JSON with LF. In a sheet: the row number. */
  readonly line: number
  /**
   * Offset of the row's first byte, from 0, in the decoded content (decompressed, converted to UTF-8). In a sheet: offset in characters of
   * the sheet's part.
   */
  readonly byteOffset: number
}

/** A row of CSV or of a sheet with as many cells as the header. */
export interface CsvRow extends Origin {
  readonly kind: 'cells'
  readonly cells: readonly string[]
}

/** JSON as read: numbers are their source text (a string); null is null. */
export type JsonValue = string | boolean | null | readonly JsonValue[] | { readonly [key: string]: JsonValue }

/** One JSON document (a line of NDJSON, a file), one element of a list in it, or one HL7 v2 message as such a document. */
export interface JsonRow extends Origin {
  readonly kind: 'json'
  readonly value: JsonValue
  /** The document or element as read, without surrounding white space, for the rejects file; a message as JSON. */
  readonly text: string
  /** Values that the mapping read from the document around the list (`read.context`), by name. */
  readonly context?: JsonValue
}

/**
 * Reason why a row could not be read (docs/reasons.md). `row-quote-not-closed`: the row is the physical line of the opening quote.
 * `rest-unreadable`: a single row for the rest of a file.
 */
export type RowFault =
  | 'row-too-short'
  | 'row-too-long'
  | 'row-quote-broken'
  | 'row-quote-not-closed'
  | 'row-too-large'
  | 'row-json-invalid'
  | 'row-message-invalid'
  | 'row-record-misplaced'
  | 'row-member-missing'
  | 'rest-unreadable'
  | 'row-encoding-invalid'
  | 'row-place-unclear'

/** Part of the export that counts as a row but cannot be mapped. */
export interface UnreadableRow extends Origin {
  readonly kind: 'unreadable'
  readonly fault: RowFault
  /** Description without cell content: `7 cells where the header has 24`. */
  readonly message: string
  /** Original bytes, cut at 64 KiB, for the rejects file only. Read as Latin-1 where not UTF-8. */
  readonly text: string
  /** Cells, if the row could be split (too short, too long). */
  readonly cells?: readonly string[]
}

export type Row = CsvRow | JsonRow | UnreadableRow

/** True for formats whose rows are cells under columns. */
export const isTable = (format: string): boolean => format === 'csv' || format === 'xlsx'
