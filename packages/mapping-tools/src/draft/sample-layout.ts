/**
 * Layout of the lines of a flat file. Pure. Recognises records of several types by their first cell, and their nesting by order alone; and
 * lines above and below the rows of a table: titles, a line of units, totals.
 */
import type { Vocabulary } from './vocabulary.ts'

export interface RecordType {
  readonly name: string
  /** Type of the enclosing record; undefined for the type that begins a row. */
  readonly above: string | undefined
  /** Number of cells after the type. */
  readonly cells: number
}

export interface RecordTypes {
  /** Types, each after its enclosing type; the first begins a row. */
  readonly types: readonly RecordType[]
  /** Types of lines before the first row and after the last. */
  readonly skip: readonly string[]
  /** Cell with the number of rows, from 1 after the type, in a line after the last row. */
  readonly count: { readonly type: string; readonly cell: number } | undefined
}

interface Line {
  readonly type: string
  readonly cells: readonly string[]
}

const CODE = /^[A-Za-z0-9_]{1,8}$/
const MOST_TYPES = 12
/** Minimum share of lines of a type with full width; the others lack cells at their end. */
const ALIKE = 0.95

/**
 * Recognises records of several types. Undefined for other lines, such as rows of a CSV.
 *
 * @param records cells of the lines
 * @param whole true if these are all lines of the file
 */
export function recordTypesOf(
  records: readonly (readonly string[])[],
  whole: boolean,
): RecordTypes | undefined {
  const lines = records.map((cells): Line => ({ type: cells[0]?.trim() ?? '', cells }))
  const byType = Map.groupBy(lines, ({ type }) => type)
  if (byType.size < 2 || byType.size > MOST_TYPES || ![...byType.keys()].every((type) => CODE.test(type)))
    return undefined
  // Level names are lower case.
  if (new Set([...byType.keys()].map((type) => type.toLowerCase())).size < byType.size) return undefined
  const isOnce = ({ type }: Line): boolean => byType.get(type)?.length === 1
  const first = lines.findIndex((line) => !isOnce(line))
  const end = lines.findLastIndex((line) => !isOnce(line)) + 1
  const row = lines[first]?.type
  if (row === undefined) return undefined
  const [head, body, tail] = [lines.slice(0, first), lines.slice(first, end), lines.slice(end)]
  const rows = grouped(body, row)
  const types = [...new Set(body.map(({ type }) => type))]
  const widths = new Map([...byType].map(([type, its]) => [type, widthOf(its)]))
  // A header is as wide as the rows below.
  const differ =
    types.length > 1
      ? new Set(types.map((type) => widths.get(type))).size > 1
      : head.length > 0 && head.every(({ type }) => widths.get(type) !== widths.get(row))
  if (!differ || types.some((type) => widths.get(type) === undefined)) return undefined
  // A type that occurs only after the last row is a separate list, not a part of rows.
  const last = rows.at(-1) ?? []
  const isListed = (type: string): boolean =>
    rows.length > 2 &&
    type !== row &&
    !rows.some((one) => one !== last && one.some((line) => line.type === type))
  if (types.some(isListed)) return undefined
  const above = placesOf(rows, types, row)
  return {
    types: types.map((name) => ({ name, above: above.get(name), cells: (widths.get(name) ?? 1) - 1 })),
    skip: [...new Set([...head, ...tail].map(({ type }) => type))],
    count: whole ? countIn(tail, rows.length) : undefined,
  }
}

/** Width of most lines, if none is wider; undefined for mixed widths, or lines without cells. */
function widthOf(lines: readonly Line[]): number | undefined {
  const widest = lines.reduce((most, { cells }) => Math.max(most, cells.length), 0)
  const alike = lines.filter(({ cells }) => cells.length === widest).length
  return widest > 1 && alike >= lines.length * ALIKE ? widest : lines.length === 1 ? widest : undefined
}

/** Groups of lines, each from a line of the type to the next. */
function grouped(lines: readonly Line[], type: string): Line[][] {
  const groups: Line[][] = []
  for (const line of lines)
    if (line.type === type) groups.push([line])
    else groups.at(-1)?.push(line)
  return groups
}

/** Enclosing type of each type: the deepest that always precedes and owns it. */
function placesOf(
  rows: readonly Line[][],
  types: readonly string[],
  row: string,
): Map<string, string | undefined> {
  const above = new Map<string, string | undefined>([[row, undefined]])
  for (const type of types) {
    if (type === row) continue
    const known = [...above.keys()].reverse()
    above.set(type, known.find((other) => other === row || owns(other, type, rows, above)) ?? row)
  }
  return above
}

function owns(
  other: string,
  type: string,
  rows: readonly Line[][],
  above: ReadonlyMap<string, string | undefined>,
): boolean {
  const groups = rows.flatMap((row) => {
    const parent = above.get(other)
    return parent === undefined ? [row] : grouped(row, parent)
  })
  const places = groups.map((lines) => ({
    others: lines.flatMap((line, at) => (line.type === other ? [at] : [])),
    own: lines.flatMap((line, at) => (line.type === type ? [at] : [])),
  }))
  const always = rows.every((row) => {
    const at = row.findIndex((line) => line.type === type)
    return at === -1 || row.slice(0, at).some((line) => line.type === other)
  })
  const filled = places.filter(({ own }) => own.length > 0)
  const begun = filled.every(({ others, own }) => (others[0] ?? Infinity) < (own[0] ?? 0))
  const between = filled.some(({ others, own }) => own.some((at) => at < (others.at(-1) ?? 0)))
  return always && begun && (between || filled.every(({ others }) => others.length === 1))
}

function countIn(lines: readonly Line[], rows: number): RecordTypes['count'] {
  const found = lines.flatMap(({ type, cells }) =>
    cells.flatMap((cell, at) =>
      at > 0 && /^\d+$/.test(cell.trim()) && Number(cell) === rows ? [{ type, cell: at }] : [],
    ),
  )
  return found.length === 1 ? found[0] : undefined
}

type Cells = readonly string[]

const filledOf = (cells: Cells): string[] => cells.map((cell) => cell.trim()).filter((cell) => cell !== '')
const NUMBER = /^[<>]?\s*[+-]?\d+(?:[.,]\d+)?$/

/** Minimum share of columns that a header names; padded titles name only one. */
const NAMED = 0.5

/**
 * Index of the header below titles of the same width.
 *
 * @param records cells of the first records
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

/** Records below a header that are not rows. */
export interface BelowHeader {
  readonly skip: number
  /** Name of a column with its unit: `Weight (lb)`. */
  readonly called: (name: string, at: number) => string
  readonly notes: readonly string[]
}

/** Examines the records below a header. @param records cells of the first records below the header */
export function belowHeader(records: readonly Cells[], vocabulary: Pick<Vocabulary, 'naming'>): BelowHeader {
  const [first = [], ...others] = records
  const zones = zonesOfIds(others[0] ?? [])
  const units = unitsIn(first, others, vocabulary)
  const isQuestions = zones === undefined && units === undefined && areQuestions(first, others)
  if (zones !== undefined || isQuestions)
    return {
      skip: isQuestions ? 1 : 2,
      called: (name, at) => (NUMBERED.test(name) ? first[at]?.trim() || name : name),
      notes: [
        `${isQuestions ? 'DECIDE: t' : 'T'}he lines below the header come from a survey tool, and are not rows.`,
        ...(zones ?? []).map((zone) => `DECIDE: the third line gives the time zone ${zone}. Is it right?`),
      ],
    }
  if (units === undefined) return { skip: 0, called: (name) => name, notes: [] }
  const rest = filledOf(first).length - units.size
  return {
    skip: 1,
    called: (name, at) => (units.has(at) ? `${name} (${units.get(at)})` : name),
    notes: [
      rest === 0
        ? 'The record below the header names units: it is not a row.'
        : `DECIDE: the record below the header names ${units.size} units and ${rest} other texts: it is not read as a row.`,
    ],
  }
}

const IMPORT_ID = /^\{\s*"ImportId"\s*:/
/** Question names invented by a survey tool. */
const NUMBERED = /^Q(?:ID)?\d/i

/** Zones in the third header line of a survey tool, ids as JSON; undefined for other lines. */
function zonesOfIds(ids: Cells): string[] | undefined {
  const filled = filledOf(ids)
  if (filled.length === 0 || !filled.every((cell) => IMPORT_ID.test(cell))) return undefined
  return [...new Set(filled.flatMap((cell) => /"timeZone"\s*:\s*"([\w/+-]+)"/.exec(cell)?.[1] ?? []))]
}

/** Text without digits, or of several words. */
const WORDS = /^(?:\D+|\D.*\s.*)$/s

/** True if no text is repeated below, and at least two texts of several words are above numbers. */
function areQuestions(first: Cells, below: readonly Cells[]): boolean {
  const filled = [...first.map((cell) => cell.trim()).entries()].filter(([, cell]) => cell !== '')
  const isNumbered = (cells: Cells): boolean => cells.length > 0 && cells.every((cell) => /^\d/.test(cell))
  return (
    filled.every(([at, cell]) => WORDS.test(cell) && !cellsBelow(below, at).includes(cell)) &&
    filled.filter(([at, cell]) => /\s/.test(cell) && isNumbered(cellsBelow(below, at))).length > 1
  )
}

/** Number of records checked for numbers below units. */
const BELOW_UNITS = 20
const cellsBelow = (below: readonly Cells[], at: number): string[] =>
  filledOf(below.slice(0, BELOW_UNITS).map((cells) => cells[at] ?? ''))
/** Remarks in a line of units: `Y/N`, `ICD-10`, `0/1`, `1 = yes`; not numbers, not dates. */
const REMARK = /^(?:\D|\d\s*(?:=|\/\s*\d$))/

/**
 * Units by index of column, if a record has units and few other texts; `[lb]` and `(lb)` mean `lb`.
 *
 * @param below records after it: a number must stand below some unit
 */
function unitsIn(
  first: Cells,
  below: readonly Cells[],
  { naming }: Pick<Vocabulary, 'naming'>,
): ReadonlyMap<number, string> | undefined {
  const texts = first.map((cell) => cell.trim().replace(/^[([](.*)[)\]]$/, '$1'))
  const filled = [...texts.entries()].filter(([, text]) => /[^\s-]/.test(text))
  const isUnit = (text: string): boolean => /^(?:\D|10[*^])/.test(text) && naming.unitOf(text) !== undefined
  const units = new Map(filled.filter(([, text]) => isUnit(text)))
  const rest = filled.filter(([at]) => !units.has(at))
  const cellsAt = (at: number): string[] => cellsBelow(below, at)
  if (![...units.keys()].some((at) => cellsAt(at).some((cell) => NUMBER.test(cell)))) return undefined
  // A row with units repeats them below.
  const isRow =
    rest.length > units.size ||
    [...units.keys()].some((at) => cellsAt(at).length > 0 && !cellsAt(at).some((cell) => /\d/.test(cell))) ||
    rest.some(([at, text]) => !REMARK.test(text) || cellsAt(at).includes(text))
  return rest.length > 0 && isRow ? undefined : units
}

/** Last records of a file that are totals. */
export interface Totals {
  readonly length: number
  /** Value for `read.trailer`: a regular expression that matches each total and no row, and the cell, from 1, with the number of rows. */
  readonly match: string
  readonly cell: number | undefined
  /** First words of the totals, unchanged, without duplicates. */
  readonly words: readonly string[]
}

/** Maximum number of totals. */
const MOST_TOTALS = 5

/**
 * Finds totals at the end.
 *
 * @param records all records below the header
 * @param words first words of totals, in lower case
 */
export function totalsBelow(records: readonly Cells[], words: readonly string[]): Totals | undefined {
  const wordOf = (cells: Cells | undefined): string | undefined => {
    const [first = ''] = /^\p{L}+/u.exec(cells?.[0]?.trim() ?? '') ?? []
    return words.includes(first.toLowerCase()) ? first : undefined
  }
  const rows = records.slice(0, records.findLastIndex((cells) => wordOf(cells) === undefined) + 1)
  const found = [...new Set(records.slice(rows.length).flatMap((cells) => wordOf(cells) ?? []))]
  const length = records.length - rows.length
  // A person's name that also begins rows is not a word of totals.
  const begins = (cells: Cells): boolean => found.some((word) => cells[0]?.trim().startsWith(word))
  if (length < 1 || length > MOST_TOTALS || rows.length === 0 || rows.some(begins)) return undefined
  const counts = (records[rows.length] ?? []).flatMap((cell, at) =>
    /^\D*(\d{1,15})\D*$/.exec(cell)?.[1] === String(rows.length) ? [at + 1] : [],
  )
  const [cell, another] = counts
  const match = `^"?${found.length === 1 ? found[0] : `(?:${found.join('|')})`}`
  return { length, words: found, match, cell: another === undefined ? cell : undefined }
}
