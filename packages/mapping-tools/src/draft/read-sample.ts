/** Reads the first rows of a sample, and recognises its form: JSON, HL7 v2, records, or CSV and its dialect. */
import { openExport } from '../../../../src/extract/open-export.ts'
import { readDefinition } from '../../../../src/extract/read-definition.ts'
import { WaybillError } from '../../../../src/model/errors.ts'
import type { JsonValue, Row, RowFault } from '../../../../src/model/row.ts'
import type { Vocabulary } from './vocabulary.ts'
import type { ReadBlock } from './write-draft.ts'

export interface Column {
  /** Column of CSV, or path into JSON. */
  readonly path: string
  /** Name to match with the catalog: the column, or the last word of the path. */
  readonly name: string
}

/** A sample as a table of texts, from CSV or JSON. */
export interface SampleTable {
  readonly read: ReadBlock
  readonly notes: readonly string[]
  readonly columns: readonly Column[]
  readonly rows: readonly (readonly string[])[]
  /** Rows are elements of a level; paths from `$` enclose several elements. */
  readonly hasLevels?: boolean
}

export type Sample =
  | { readonly kind: 'table'; readonly table: SampleTable }
  | {
      readonly kind: 'json'
      readonly format: 'json' | 'ndjson' | 'hl7v2'
      readonly documents: readonly JsonValue[]
    }
  | {
      /** Lines of several types, as documents; cells are named `cell_1` and so on. */
      readonly kind: 'records'
      readonly read: ReadBlock
      readonly notes: readonly string[]
      readonly types: RecordTypes['types']
      readonly documents: readonly JsonValue[]
    }

/** Limits of a sample, for quick drafts. */
const SAMPLED_ROWS = 5000
const SAMPLED_BYTES = 16 * 1024 ** 2
const SAMPLED_COLUMNS = 5000

/** Reads a sample. @throws WaybillError as opening an export does; `export-unreadable` for neither CSV nor JSON */
export async function readSample(
  path: string,
  vocabulary: Pick<Vocabulary, 'naming' | 'words'>,
): Promise<Sample> {
  const messages = await messagesOf(path)
  if (messages !== undefined) return { kind: 'json', format: 'hl7v2', documents: messages }
  const ndjson = await documentsOf(path, 'ndjson')
  if (ndjson !== undefined && (ndjson.length > 1 || /\.(ndjson|jsonl)(\.\w+)?$/i.test(path)))
    return { kind: 'json', format: 'ndjson', documents: ndjson }
  const json = ndjson ?? (await documentsOf(path, 'json'))
  if (json !== undefined) return { kind: 'json', format: 'json', documents: json }
  return (await readRecordsSample(path)) ?? { kind: 'table', table: await readCsvSample(path, vocabulary) }
}

/** Names of the cells of a record, by position. */
export const cellNames = (cells: number): string[] =>
  Array.from({ length: cells }, (_, at) => `cell_${at + 1}`)

/** Reads records of several types; undefined for other files. */
async function readRecordsSample(path: string): Promise<Sample | undefined> {
  const encoding = await encodingOf(path)
  for (const delimiter of DELIMITERS) {
    const dialect = { ...encoding, delimiter }
    const lines = await openSample(path, { ...RAW, ...dialect })
    const found = recordTypesOf(lines.rows.map(cellsOf), lines.whole)
    if (found === undefined) continue
    const { types, skip, count } = found
    const [row] = types
    if (row === undefined) continue
    const skipped = skip.filter((type) => type !== count?.type)
    const read = {
      format: 'records',
      ...dialect,
      row: row.name,
      ...(skipped.length === 0 ? {} : { skip: skipped }),
      ...(count === undefined ? {} : { count }),
      types: Object.fromEntries(
        types.map(({ name, above, cells }) => {
          const columns = cellNames(cells)
          return [name, above === undefined || above === row.name ? columns : { in: above, columns }]
        }),
      ),
    }
    const { rows } = await openSample(path, read)
    const levels = types.flatMap(({ name, above }) =>
      above === undefined ? [] : [`${name} belongs to ${above}`],
    )
    return {
      kind: 'records',
      types,
      read,
      notes: [
        ...encodingNotes(encoding, lines.rows),
        `DECIDE: these look like records of several types, named by their first cell: ${[`${row.name} begins a row`, ...levels].join(', ')}, judging by the order of the lines alone.`,
        ...(skip.length === 0
          ? []
          : [`DECIDE: lines of ${skip.join(', ')} are above or below the rows, and are not rows.`]),
        ...faultNotes(rows),
      ],
      documents: rows.flatMap((one) => (one.kind === 'json' ? [one.value] : [])),
    }
  }
  return undefined
}

/** Reads HL7 v2; undefined for other files. */
const messagesOf = (path: string): Promise<JsonValue[] | undefined> =>
  documentsOf(path, 'hl7v2').catch((error: unknown) => {
    if (error instanceof WaybillError && error.code === 'export-unreadable') return undefined
    throw error
  })

/** Reads objects or lists; undefined for other content. */
async function documentsOf(
  path: string,
  format: 'json' | 'ndjson' | 'hl7v2',
): Promise<JsonValue[] | undefined> {
  const { rows } = await openSample(path, { format })
  const documents = rows.flatMap((row) => (row.kind === 'json' ? [row.value] : []))
  const structured = documents.every((document) => typeof document === 'object' && document !== null)
  return structured && documents.length > rows.length / 2 ? documents : undefined
}

export interface OpenedSample {
  readonly columns: readonly string[]
  readonly notes: readonly string[]
  readonly rows: readonly Row[]
  /** True if the sample has no more rows. */
  readonly whole: boolean
}

/** Reads the first rows, with a `read` block. */
export async function openSample(path: string, read: object): Promise<OpenedSample> {
  const opened = await openExport(path, readDefinition.parse(read))
  const rows: Row[] = []
  const { columns = [], notes = [] } = opened
  for await (const block of opened.rows())
    for (const row of block) {
      const isTooFar = row.byteOffset - (rows[0]?.byteOffset ?? row.byteOffset) > SAMPLED_BYTES
      if (rows.length === SAMPLED_ROWS || isTooFar) return { columns, notes, rows, whole: false }
      rows.push(row)
    }
  return { columns, notes, rows, whole: true }
}

interface Dialect {
  readonly format: 'csv'
  readonly encoding?: string
  readonly delimiter: string
  readonly quotes?: 'lenient'
  readonly header?: 'none' | { readonly line?: number; readonly skip?: number }
  readonly columns?: readonly string[]
  readonly duplicates?: 'number'
  readonly trailer?: Totals
}

const DELIMITERS = [',', ';', '\t', '|']
const LOOKED_AT = 60

/** Reads a CSV in its dialect: proven by extract (encoding, delimiter), or judged here (a preamble, lenient quotes). */
async function readCsvSample(
  path: string,
  vocabulary: Pick<Vocabulary, 'naming' | 'words'>,
): Promise<SampleTable> {
  const found = await findDialect(path)
  const opened = await openSample(path, found)
  const { header } = found
  const records = header === 'none' ? [] : opened.rows.slice(0, LOOKED_AT).map(cellsOf)
  const { skip, called, notes: headerNotes } = belowHeader(records, vocabulary)
  const below = opened.rows.slice(skip)
  const totals = opened.whole ? totalsBelow(below.map(cellsOf), vocabulary.words.totals) : undefined
  const data = below.slice(0, below.length - (totals?.length ?? 0))
  const dialect: Dialect = {
    ...found,
    ...(skip === 0 || header === 'none' ? {} : { header: { ...header, skip } }),
    ...(totals === undefined ? {} : { trailer: totals }),
  }
  const notes = [...encodingNotes(dialect, data), ...headerNotes, ...totalNotes(dialect), ...faultNotes(data)]
  return tableOf(readBlock(dialect), notes, opened.columns, called, data)
}

/** Builds the table. @param called name of a column with its unit @param data rows */
export function tableOf(
  read: ReadBlock,
  notes: readonly string[],
  names: readonly string[],
  called: BelowHeader['called'],
  data: readonly Row[],
): SampleTable {
  const rows = data.flatMap((row) => (row.kind === 'cells' ? [row.cells] : []))
  const more = names.length - SAMPLED_COLUMNS
  const columns = names
    .slice(0, SAMPLED_COLUMNS)
    .flatMap((name, at) => (name === '' ? [] : [{ at, path: name, name: called(name, at) }]))
  return {
    read,
    notes: [...notes, ...(more > 0 ? [`DECIDE: the last ${more} columns were not read.`] : [])],
    columns,
    rows: rows.map((cells) => columns.map(({ at }) => cells[at] ?? '')),
  }
}

/** Cells of a row, including rows that are too short or too long. */
export const cellsOf = (row: Row): readonly string[] => (row.kind === 'json' ? [] : (row.cells ?? []))

function totalNotes({ trailer }: Dialect): string[] {
  if (trailer === undefined) return []
  return [
    `DECIDE: the file ends with probable totals (${trailer.words.map((word) => `"${word}"`).join(', ')}), not rows. With read.trailer, a file without totals is refused as cut off: does every file have them?`,
  ]
}

async function findDialect(path: string): Promise<Dialect> {
  const plain: Dialect = { format: 'csv', delimiter: 'auto', duplicates: 'number' }
  const marked: Dialect = { ...plain, ...(await encodingOf(path)) }
  // Quotes within cells (heights in feet) hide the delimiters.
  const lenient: Dialect = { ...marked, quotes: 'lenient' }
  const found =
    (await asItStands(path, marked)) ??
    (await asItStands(path, lenient)) ??
    (await behindPreamble(path, [marked, lenient]))
  return settled(path, found ?? ((await attempt(path, marked)) === undefined ? plain : marked))
}

/** Header in the first line, or below titles; undefined if few rows can be read. */
async function asItStands(path: string, dialect: Dialect): Promise<Dialect | undefined> {
  const opened = await attempt(path, dialect)
  const readable = opened?.rows.filter(({ kind }) => kind === 'cells').length ?? 0
  const isUsable = opened !== undefined && opened.columns.length > 1 && readable >= opened.rows.length / 2
  return isUsable ? behindTitles(path, await pinned(path, dialect, opened.columns)) : undefined
}

/** Most frequent single-byte encoding. Other encodings look the same, so a person has to check. */
const ONE_BYTE = 'windows-1252'
const BEYOND_ASCII = /[^\p{ASCII}\ufeff]/u

/** Reads every record, of any width: no header hides bytes or cells. */
const RAW = { format: 'csv', header: 'none', columns: ['-'] } as const

/**
 * Returns a single-byte encoding if no row beyond ASCII is UTF-8; otherwise nothing. With a valid row, other rows are damaged: letters of
 * another encoding hardly ever form UTF-8.
 */
async function encodingOf(path: string): Promise<Pick<Dialect, 'encoding'>> {
  const isInvalid = hasFault('row-encoding-invalid')
  const { rows } = await openSample(path, RAW)
  const isValid = rows.some((row) => row.kind === 'cells' && BEYOND_ASCII.test(row.cells.join()))
  if (isValid || !rows.some(isInvalid)) return {}
  const read = await attempt(path, { ...RAW, encoding: ONE_BYTE })
  // Rows with a NUL stay unreadable, and a byte order mark proves UTF-8.
  const isBetter = read !== undefined && read.rows.filter(isInvalid).length < rows.filter(isInvalid).length
  return isBetter ? { encoding: ONE_BYTE } : {}
}

const MOST_LETTERS = 30

/** Notes the letters beyond ASCII, without names of people, for checking the encoding. */
function encodingNotes({ encoding }: Pick<Dialect, 'encoding'>, rows: readonly Row[]): string[] {
  if (encoding === undefined) return []
  const letters = new Set(
    rows.flatMap((row) => [...cellsOf(row).join('')].filter((one) => BEYOND_ASCII.test(one))),
  )
  const shown = [...letters].sort().slice(0, MOST_LETTERS).join(' ')
  return [
    `DECIDE: the file is not UTF-8. Read as ${encoding}, its letters beyond ASCII are: ${shown}. If its language has others, name its encoding (windows-1250, iso-8859-15, shift_jis …).`,
  ]
}

/** Undefined if the `read` block does not fit. @throws WaybillError for an empty or unreadable file */
export async function attempt(path: string, read: object): Promise<OpenedSample | undefined> {
  try {
    return await openSample(path, read)
  } catch (error) {
    if (error instanceof WaybillError && error.code === 'export-unreadable' && error.cause === undefined)
      return undefined
    throw error
  }
}

const hasFault =
  (...faults: RowFault[]) =>
  (row: Row): boolean =>
    row.kind === 'unreadable' && faults.includes(row.fault)

/** Replaces `auto` by the delimiter found, so a later file with another delimiter is refused. */
async function pinned(path: string, dialect: Dialect, columns: readonly string[]): Promise<Dialect> {
  for (const delimiter of DELIMITERS) {
    const opened = await attempt(path, { ...dialect, delimiter })
    if (opened?.columns.join('\n') === columns.join('\n')) return { ...dialect, delimiter }
  }
  return dialect
}

/** Finds a header below titles as wide as the rows: a spreadsheet pads each line with delimiters. */
async function behindTitles(path: string, dialect: Dialect): Promise<Dialect> {
  const { rows } = await openSample(path, { ...dialect, ...RAW })
  const at = headerBehindTitles(rows.slice(0, LOOKED_AT).map(cellsOf))
  const header = at === undefined ? undefined : rows[at]
  return header === undefined ? dialect : { ...dialect, header: { line: header.line } }
}

/** Finds a header below titles narrower than the rows: the first record as wide as most. */
async function behindPreamble(path: string, dialects: readonly Dialect[]): Promise<Dialect | undefined> {
  let best: { dialect: Dialect; rows: number } | undefined
  const tried = dialects.flatMap((one) => DELIMITERS.map((delimiter): Dialect => ({ ...one, delimiter })))
  for (const dialect of tried) {
    const { rows } = await openSample(path, { ...dialect, ...RAW })
    const widths = Map.groupBy(rows.slice(0, LOOKED_AT), (row) => cellsOf(row).length)
    for (const [width, alike] of widths) {
      const [header] = alike
      if (width < 2 || header === undefined || alike.length < 2 || alike.length <= (best?.rows ?? 0)) continue
      best = { dialect: { ...dialect, header: { line: header.line } }, rows: alike.length }
    }
  }
  return best?.dialect
}

/** Completes a dialect: header, repeated names, and quotes that are text. */
async function settled(path: string, dialect: Dialect): Promise<Dialect> {
  const opened = await openSample(path, dialect)
  const { duplicates: _duplicates, ...once } = dialect
  const named = (await attempt(path, once)) === undefined ? dialect : once
  if (
    opened.columns.some((name) =>
      /^[+-]?\d+([.,]\d+)?$|^\d{4}-\d{2}-\d{2}|^\d{1,2}\/\d{1,2}\/\d{2,4}/.test(name),
    )
  ) {
    const columns = opened.columns.map((_, at) => `column_${at + 1}`)
    return { ...once, header: 'none', columns }
  }
  const broken = hasFault('row-quote-broken', 'row-quote-not-closed')
  if (!opened.rows.some(broken)) return named
  const lenient: Dialect = { ...named, quotes: 'lenient' }
  const again = await attempt(path, lenient)
  const fewer = again !== undefined && again.rows.filter(broken).length < opened.rows.filter(broken).length
  return fewer ? lenient : named
}

/** Block without its defaults. */
function readBlock({ format, encoding, delimiter, quotes, header, columns, duplicates, trailer }: Dialect) {
  const cell = trailer?.cell
  return {
    format,
    encoding,
    delimiter: delimiter === ',' ? undefined : delimiter,
    quotes,
    header,
    columns,
    duplicates,
    trailer: trailer && { match: trailer.match, count: cell && { cell } },
  }
}

export function faultNotes(rows: readonly Row[]): string[] {
  const faults = Map.groupBy(
    rows.flatMap((row) => (row.kind === 'unreadable' ? [row] : [])),
    ({ fault }) => fault,
  )
  return [...faults].map(([fault, { length, 0: first }]) => {
    const last = length === 1 && rows.at(-1) === first ? ', the last: a trailer? See read.trailer' : ''
    return `DECIDE: ${length} of ${rows.length} rows cannot be read (${fault}), first on line ${first?.line}${last}.`
  })
}

interface RecordType {
  readonly name: string
  /** Type of the enclosing record; undefined for the type that begins a row. */
  readonly above: string | undefined
  readonly cells: number
}

interface RecordTypes {
  readonly types: readonly RecordType[]
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
const ALIKE = 0.95

/**
 * Recognises records of several types. Undefined for other lines, such as rows of a CSV.
 *
 * @param records cells of the lines
 * @param whole true if these are all lines of the file
 */
function recordTypesOf(records: readonly (readonly string[])[], whole: boolean): RecordTypes | undefined {
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

interface BelowHeader {
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
interface Totals {
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
function totalsBelow(records: readonly Cells[], words: readonly string[]): Totals | undefined {
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
