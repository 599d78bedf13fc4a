/** What the cells of a column are: how many are filled, which are numbers, dates, or words for yes and no. */
import { type DateForms, findDateForms } from './find-dates.ts'
import { type NameWords, nameWords } from './name-words.ts'
import type { Column, SampleTable } from './sample.ts'

export interface ColumnProfile extends NameWords, Column {
  /** Cells that hold something, without those that mean nothing. */
  readonly filled: readonly string[]
  readonly distinct: ReadonlySet<string>
  /** Those of `filled` that are numbers. */
  readonly numbers: readonly number[]
  readonly dates: DateForms | undefined
  /** The words for yes and no that occur, where no other does. */
  readonly yesNo: { readonly yes: readonly string[]; readonly no: readonly string[] } | undefined
}

export interface Profile {
  readonly columns: readonly ColumnProfile[]
  readonly rows: number
  /** Texts that mean nothing, in the order of MEANINGLESS. */
  readonly emptyWhen: readonly string[]
  /** Numbers have a decimal comma: in none of them, in all, or in some columns alone. */
  readonly decimalComma: 'none' | 'all' | 'some'
}

const MEANINGLESS = [
  ...[
    'NA',
    'N/A',
    'n/a',
    'na',
    '#N/A',
    'NaN',
    'nan',
    'NULL',
    'Null',
    'null',
    'None',
    'none',
    'ND',
    'nd',
    'NR',
    'QNS',
  ],
  ...['k.A.', 'k. A.', 'keine Angabe', 'n.b.', 'n. b.', 'unbekannt', 'fehlt', 'entf.', 'N.D.', 'n.d.'],
  ...['inconnu', 'non fait', 's/d', 'desconocido'],
  ...['-', '--', '.', '?', '""', 'not done', 'Not done', 'missing', 'Missing', 'unknown', 'Unknown', '\\N'],
]
const YES = [
  ...['Y', 'y', 'YES', 'Yes', 'yes', 'TRUE', 'True', 'true', 'T', 'X', 'x', '1'],
  ...[
    'J',
    'j',
    'JA',
    'Ja',
    'ja',
    'O',
    'o',
    'OUI',
    'Oui',
    'oui',
    'S',
    's',
    'SI',
    'Si',
    'si',
    'SÍ',
    'Sí',
    'sí',
  ],
]
const NO = [
  ...['N', 'n', 'NO', 'No', 'no', 'FALSE', 'False', 'false', 'F', '0', ''],
  ...['NEIN', 'Nein', 'nein', 'NON', 'Non', 'non'],
]
/** Words for yes and no, in whatever column they stand. */
export const YES_OR_NO: ReadonlySet<string> = new Set([...YES, ...NO])

const POINT = /^[<>]?=?\s*[+-]?(?:\d+\.?\d*|\.\d+)$/
const COMMA = /^[<>]?=?\s*[+-]?(?:\d+|\d{1,3}(?:\.\d{3})+),\d+$/
/** Of the cells of a column that mean something, this share must be numbers for it to be one of numbers. */
export const MOST = 0.9

export const median = (numbers: readonly number[]): number =>
  [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN

export function profileColumns(table: SampleTable): Profile {
  const cells = table.columns.map((_, at) =>
    table.rows.map((row) => row[at]?.trim() ?? '').filter((cell) => cell !== ''),
  )
  const emptyWhen = findMeaningless(cells)
  const meaningless = new Set(emptyWhen)
  const filled = cells.map((column) => column.filter((cell) => !meaningless.has(cell)))
  const decimalComma = findDecimalComma(filled)
  const columns = table.columns.map((column, at) =>
    profileColumn(column, filled[at] ?? [], decimalComma === 'all'),
  )
  return { columns, rows: table.rows.length, emptyWhen, decimalComma }
}

function profileColumn(column: Column, filled: readonly string[], comma: boolean): ColumnProfile {
  const distinct = new Set(filled)
  const named = nameWords(column.name)
  const yes = YES.filter((word) => distinct.has(word))
  const no = NO.filter((word) => distinct.has(word))
  return {
    ...column,
    ...named,
    filled,
    distinct,
    numbers: filled.flatMap((cell) => numberOf(cell, comma) ?? []),
    dates: findDateForms(filled, named.words),
    yesNo: yes.length > 0 && yes.length + no.length === distinct.size ? { yes, no } : undefined,
  }
}

function numberOf(cell: string, comma: boolean): number | undefined {
  if (comma && COMMA.test(cell)) return Number(bare(cell).replaceAll('.', '').replace(',', '.'))
  return POINT.test(cell) ? Number(bare(cell)) : undefined
}

const bare = (cell: string): string => cell.replace(/^[<>]?=?\s*/, '')

/** Texts for nothing: where most other cells of the column are numbers, dates or words for yes and no. */
function findMeaningless(cells: readonly (readonly string[])[]): string[] {
  const found = new Set<string>()
  for (const column of cells) {
    const candidates = MEANINGLESS.filter((text) => column.includes(text))
    if (candidates.length === 0) continue
    const others = column.filter((cell) => !candidates.includes(cell))
    const plain = others.filter(
      (cell) =>
        POINT.test(cell) ||
        COMMA.test(cell) ||
        /^\d+[-/.]\d+[-/.]\d+/.test(cell) ||
        YES.includes(cell) ||
        NO.includes(cell),
    )
    if (others.length > 0 && plain.length >= others.length / 2) for (const text of candidates) found.add(text)
  }
  return MEANINGLESS.filter((text) => found.has(text))
}

/** A column has the mark that most of its fractions have: one cell that was typed otherwise changes nothing. */
function findDecimalComma(columns: readonly (readonly string[])[]): Profile['decimalComma'] {
  const fractions = (cells: readonly string[], mark: '.' | ','): number =>
    cells.filter((cell) =>
      mark === ',' ? COMMA.test(cell) && !/,\d{3}$/.test(cell) : /^[+-]?\d+\.\d+$/.test(cell),
    ).length
  const marks = columns.map((cells) => fractions(cells, ',') - fractions(cells, '.'))
  if (!marks.some((more) => more > 0)) return 'none'
  return marks.some((more) => more < 0) ? 'some' : 'all'
}
