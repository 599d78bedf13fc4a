/** What stands above and below the rows of a table and is no row: titles, a line of units, totals. Pure. */
import type { Vocabulary } from './vocabulary.ts'

type Cells = readonly string[]

const filledOf = (cells: Cells): string[] => cells.map((cell) => cell.trim()).filter((cell) => cell !== '')
const NUMBER = /^[<>]?\s*[+-]?\d+(?:[.,]\d+)?$/

/** Share of its columns that a header names, at least: a title that a spreadsheet has padded with delimiters names one. */
const NAMED = 0.5

/**
 * Index of the header, where titles of the same width stand above it.
 * @param records the first ones; cells of all of them
 */
export function headerBehindTitles(records: readonly Cells[]): number | undefined {
  const width = Math.max(0, ...records.map((cells) => cells.length))
  const names = (cells: Cells): boolean => filledOf(cells).length > width * NAMED
  const at = records.findIndex(names)
  const header = records[at]
  return at < 1 || width < 3 || header === undefined || header.length < width || hasNumber(header)
    ? undefined
    : at
}

const hasNumber = (cells: Cells): boolean => filledOf(cells).some((cell) => NUMBER.test(cell))

/**
 * The unit of each column, by its index, where the record below the header names units and nothing else; `[lb]` and `(lb)` are `lb`.
 * @param first below the header
 * @param second the first row then: under some unit a number must stand
 */
export function unitsBelowHeader(
  first: Cells | undefined,
  second: Cells | undefined,
  { naming }: Pick<Vocabulary, 'naming'>,
): ReadonlyMap<number, string> | undefined {
  if (first === undefined || second === undefined) return undefined
  const units = first.map((cell) => cell.trim().replace(/^[([](.*)[)\]]$/, '$1'))
  const told = [...units.entries()].filter(([, text]) => text !== '')
  if (told.length === 0 || told.some(([, text]) => /^\d/.test(text) || naming.unitOf(text) === undefined))
    return undefined
  const measured = told.some(([at]) => NUMBER.test(second[at]?.trim() ?? ''))
  return measured ? new Map(told) : undefined
}

/** The last records of a file that are totals. */
export interface Totals {
  /** How many records. */
  readonly length: number
  /** For `read.trailer`: a regular expression that each of them matches and no row does, and the cell, from 1, that counts the rows. */
  readonly match: string
  readonly cell: number | undefined
  /** Their first words, as they stand, each once. */
  readonly words: readonly string[]
}

/** More are no totals. */
const MOST_TOTALS = 5

/**
 * @param records all of the file's, below its header
 * @param words that totals begin with, in small letters
 */
export function totalsBelow(records: readonly Cells[], words: readonly string[]): Totals | undefined {
  const wordOf = (cells: Cells | undefined): string | undefined => {
    const [first = ''] = /^\p{L}+/u.exec(cells?.[0]?.trim() ?? '') ?? []
    return words.includes(first.toLowerCase()) ? first : undefined
  }
  const rows = records.slice(0, records.findLastIndex((cells) => wordOf(cells) === undefined) + 1)
  const found = [...new Set(records.slice(rows.length).flatMap((cells) => wordOf(cells) ?? []))]
  const length = records.length - rows.length
  // A person may be called so: what also begins a row tells nothing.
  const begins = (cells: Cells): boolean => found.some((word) => cells[0]?.trim().startsWith(word))
  if (length < 1 || length > MOST_TOTALS || rows.length === 0 || rows.some(begins)) return undefined
  const counts = (records[rows.length] ?? []).flatMap((cell, at) =>
    /^\D*(\d{1,15})\D*$/.exec(cell)?.[1] === String(rows.length) ? [at + 1] : [],
  )
  const [cell, another] = counts
  const match = `^"?${found.length === 1 ? found[0] : `(?:${found.join('|')})`}`
  return { length, words: found, match, cell: another === undefined ? cell : undefined }
}
