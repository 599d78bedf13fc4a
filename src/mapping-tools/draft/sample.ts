/** What a sample export looks like to the draft: a table of texts, whether it came as CSV or as flat JSON. */

/** A column of the table. */
export interface Column {
  /** As a mapping reads it: a column of CSV, a path into JSON. */
  readonly path: string
  /** What it is called, to be matched with the catalog: the path's last word, or the column itself. */
  readonly name: string
}

export interface SampleTable {
  /** The lines of the mapping's `read` block. */
  readonly read: readonly string[]
  /** What was seen of the file as a whole and has to be decided. */
  readonly notes: readonly string[]
  readonly columns: readonly Column[]
  readonly rows: readonly (readonly string[])[]
}

/** Rows that are looked at. */
export const SAMPLED_ROWS = 5000

/** One line of a draft: YAML, a comment behind it, or a comment alone. */
export interface DraftLine {
  readonly yaml?: string
  readonly note?: string
}

const SAFE = /^[A-Za-z_$][A-Za-z0-9_$]*(?:[ ./-][A-Za-z0-9_$]+)*$/
const MEANS_SOMETHING_ELSE = /^(?:true|false|null|yes|no|on|off)$/i

/** A text as YAML takes it for a string, in a flow collection too; on one line, whatever stands in it. */
export const scalar = (text: string): string =>
  SAFE.test(text) && !MEANS_SOMETHING_ELSE.test(text) ? text : JSON.stringify(text)

export const list = (texts: readonly string[]): string => `[${texts.map(scalar).join(', ')}]`
