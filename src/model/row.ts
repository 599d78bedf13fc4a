/**
 * What extract hands to transform: rows with their origin.
 * A value is never coerced on the way: CSV cells are text; in JSON every number is the text that stood in the file
 * (`5.10` stays `5.10`, a 20-digit id keeps its digits).
 */

/** Where a row stands in its export, so that anything said of it can be looked up. */
export interface Origin {
  /** Ordinal of the row among the export's data rows, from 1. Unreadable rows count; a header does not. */
  readonly row: number
  /** Physical line on which the row starts, from 1. In CSV a line ends with LF, CR LF or CR, in JSON with LF. Of a sheet, the number of the row. */
  readonly line: number
  /** Offset in bytes of the row's first byte, from 0, in the decoded content: decompressed, and UTF-8 whatever it was. Of a sheet, in characters of its part. */
  readonly byteOffset: number
}

/** A row of CSV, or of a sheet, whose number of cells is that of the header. */
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
  /** The document or element as it came, without white space around it, for the rejects file; a message as JSON. */
  readonly text: string
  /** What the mapping has read of the document around the list (`read.context`), by name. */
  readonly context?: JsonValue
}

/**
 * Why a row could not be read as a row. A quote is broken when it stands where RFC 4180 allows none; it is not closed when
 * its record would run to the end of the file, over 1 MiB, or into text on a later line: then the row is the physical line
 * that opened it. Too large is a CSV line over 1 MiB, an NDJSON line, a JSON element or an HL7 v2 message over 16 MiB. JSON is invalid, too,
 * when an object names a key twice. `rest-unreadable` is one row for all that follows in a JSON file, since behind this
 * place nobody can tell where its elements begin. `row-place-unclear` is a row of a workbook whose number, or one of whose cells, comes twice.
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

/** A stretch of the export that is counted as a row but cannot be mapped. */
export interface UnreadableRow extends Origin {
  readonly kind: 'unreadable'
  readonly fault: RowFault
  /** What was found, without any cell's content: `7 cells where the header has 24`. */
  readonly message: string
  /** The bytes as they came, cut at 64 KiB: for the rejects file alone. Read as Latin-1 where they are not UTF-8. */
  readonly text: string
  /** The cells, where the row could be split (too short, too long). */
  readonly cells?: readonly string[]
}

export type Row = CsvRow | JsonRow | UnreadableRow

/** Whether the rows of a format are cells under columns. */
export const isTable = (format: string): boolean => format === 'csv' || format === 'xlsx'
