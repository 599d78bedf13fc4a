/** Profile of a column's cells: numbers, dates, or words for yes and no. */

import { hasWord, type NameWords, nameWords } from '../../../../src/watch/names.ts'
import type { DateForms } from './find-dates.ts'
import type { Column, SampleTable } from './read-sample.ts'
import type { Vocabulary } from './vocabulary.ts'

export interface ColumnProfile extends NameWords, Column {
  readonly cells: readonly string[]
  readonly filled: readonly string[]
  readonly distinct: ReadonlySet<string>
  readonly numbers: readonly number[]
  /** Number in a cell, by the table's decimal mark. */
  readonly numberOf: (cell: string) => number | undefined
  readonly dates: DateForms | undefined
  /** Words for yes and no, if the column has no other words. */
  readonly yesNo: { readonly yes: readonly string[]; readonly no: readonly string[] } | undefined
}

export interface Profile {
  readonly columns: readonly ColumnProfile[]
  readonly rows: number
  /** Texts that mean nothing. */
  readonly emptyWhen: readonly string[]
  /** Columns with a decimal comma. */
  readonly decimalComma: 'none' | 'all' | 'some'
}

const POINT = /^[<>]?=?\s*[+-]?(?:\d+\.?\d*|\.\d+)$/
const COMMA = /^[<>]?=?\s*[+-]?(?:\d+|\d{1,3}(?:\.\d{3})+),\d+$/
/** Minimum share of numbers in a column of numbers. */
export const MOST = 0.9

export const median = (numbers: readonly number[]): number =>
  [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN

export function profileColumns(table: SampleTable, vocabulary: Vocabulary): Profile {
  const raw = table.columns.map((_, at) => table.rows.map((row) => row[at]?.trim() ?? ''))
  const emptyWhen = findMeaningless(raw.map(withoutEmpty), vocabulary.words.cells)
  const cells = raw.map((column) => column.map((cell) => (emptyWhen.includes(cell) ? '' : cell)))
  const decimalComma = findDecimalComma(cells.map(withoutEmpty))
  const columns = table.columns.map((column, at) =>
    profileColumn(column, cells[at] ?? [], decimalComma === 'all', vocabulary),
  )
  return { columns, rows: table.rows.length, emptyWhen, decimalComma }
}

const withoutEmpty = (cells: readonly string[]): string[] => cells.filter((cell) => cell !== '')

function profileColumn(
  column: Column,
  cells: readonly string[],
  comma: boolean,
  { words, naming, findDates }: Vocabulary,
): ColumnProfile {
  const filled = withoutEmpty(cells)
  const numberOf = (cell: string): number | undefined => readNumber(cell, comma)
  const distinct = new Set(filled)
  const named = nameWords(column.name, naming)
  const yes = words.cells.yes.filter((word) => distinct.has(word))
  const no = words.cells.no.filter((word) => distinct.has(word))
  return {
    ...column,
    ...named,
    cells,
    filled,
    distinct,
    numbers: filled.flatMap((cell) => numberOf(cell) ?? []),
    numberOf,
    dates: findDates(filled, hasWord(named.words, words.dates.numbers)),
    yesNo: yes.length > 0 && yes.length + no.length === distinct.size ? { yes, no } : undefined,
  }
}

function readNumber(cell: string, comma: boolean): number | undefined {
  const bare = cell.replace(/^[<>]?=?\s*/, '')
  if (comma && COMMA.test(cell)) return Number(bare.replaceAll('.', '').replace(',', '.'))
  return POINT.test(cell) ? Number(bare) : undefined
}

/** Texts for nothing, in columns of numbers, dates or words for yes and no. */
function findMeaningless(
  cells: readonly (readonly string[])[],
  { meaningless, yes, no }: Vocabulary['words']['cells'],
): string[] {
  const found = new Set<string>()
  for (const column of cells) {
    const candidates = meaningless.filter((text) => column.includes(text))
    if (candidates.length === 0) continue
    const others = column.filter((cell) => !candidates.includes(cell))
    const plain = others.filter(
      (cell) =>
        [POINT, COMMA, /^\d+[-/.]\d+[-/.]\d+/].some((form) => form.test(cell)) ||
        yes.includes(cell) ||
        no.includes(cell),
    )
    if (others.length > 0 && plain.length >= others.length / 2) for (const text of candidates) found.add(text)
  }
  return meaningless.filter((text) => found.has(text))
}

/** Finds the decimal mark of each column by the majority of its fractions: a single typing error has no effect. */
function findDecimalComma(columns: readonly (readonly string[])[]): Profile['decimalComma'] {
  const marks = columns.map((cells) => {
    const commas = cells.filter((cell) => COMMA.test(cell) && !/,\d{3}$/.test(cell)).length
    return commas - cells.filter((cell) => /^[+-]?\d+\.\d+$/.test(cell)).length
  })
  if (!marks.some((more) => more > 0)) return 'none'
  return marks.some((more) => more < 0) ? 'some' : 'all'
}
