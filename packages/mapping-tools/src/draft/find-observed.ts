/** Finds the column of the observation date by its name, confirmed by its dates; never guesses. */
import { counted } from '../../../../src/system/shown-text.ts'
import { compileInstant } from '../../../../src/transform/dates.ts'
import { PLACEHOLDER_INSTANT } from '../../../../src/transform/mapping-definition.ts'
import { isZone } from '../../../../src/transform/zones.ts'
import { type PartOfRow, partOfRow } from '../../../../src/watch/column-names.ts'
import { hasWord, isCalled, type Words } from '../../../../src/watch/names.ts'
import { holdsStates } from './coded-rules.ts'
import type { ColumnProfile } from './profile-columns.ts'
import { ask, type DraftLine, decide, line, list, note, scalar } from './write-draft.ts'

export interface Observed {
  /** Undefined if no name decides between several. */
  readonly column: ColumnProfile | undefined
  /** Possible columns, if none is found. */
  readonly candidates: readonly ColumnProfile[]
  /** The name is a date's, with unknown words. */
  readonly doubtful?: boolean
  /** Paths of JSON to the date; the first with content is read. */
  readonly paths?: readonly string[]
  readonly time?: TimeColumn | undefined
  /** Columns of AM and PM, of offsets, of zones. */
  readonly rest?: readonly ColumnProfile[] | undefined
}

/** Column of times of day. */
export interface TimeColumn {
  readonly column: ColumnProfile
  readonly form: string | undefined
}

/**
 * Finds the column.
 *
 * @param reference column of the person's reference
 * @param finding true if a row is a finding
 */
export function findObserved(
  columns: readonly ColumnProfile[],
  reference: ColumnProfile | undefined,
  words: Words,
  finding: boolean,
): Observed {
  const { found, any, between, timesOfDay, never } = words.dates
  const observed = [...words.dates.observed, ...found]
  const dated = columns.filter(({ dates }) => dates !== undefined)
  const instants = new Map(dated.map((column) => [column, instantsOf(column)]))
  const newest = Math.max(...[...instants.values()].map((sorted) => sorted.at(-1) ?? -Infinity))
  const candidates = dated.filter(
    (column) =>
      !hasWord(column.words, never) &&
      !(looksLikeBirths(instants.get(column) ?? [], newest) && !changesWithin(column, reference)),
  )
  /** Rank of a name: the first of `observed` is the likeliest, any other date the least likely. */
  const rankOf = ({ words }: ColumnProfile): number => {
    const at = observed.findIndex((word) => words.includes(word))
    if (at !== -1) return at
    return hasWord(words, any) ? observed.length : Infinity
  }
  const ranks = candidates.map((column) => ({ column, rank: rankOf(column) }))
  const best = Math.min(...ranks.map(({ rank }) => rank))
  const [winner, another] = ranks.filter(({ rank }) => rank === best)
  if (winner === undefined || another !== undefined || best === Infinity)
    return { column: undefined, candidates }
  const { column } = winner
  const known = [...words.dates.observed, ...(finding ? found : []), ...any, ...between, ...timesOfDay]
  const doubtful = column.outside.some((word) => !hasWord([word], known))
  const time = timeBeside(column, columns, words)
  return { column, candidates: [], doubtful, time, rest: restBeside(column, time, columns) }
}

const TIME_FORMS: readonly (readonly [form: string, looksLike: RegExp])[] = [
  ['HH:mm', /^\d{2}:\d{2}$/],
  ['H:mm', /^\d{1,2}:\d{2}$/],
  ['HH:mm:ss', /^\d{2}:\d{2}:\d{2}$/],
  ['H:mm:ss', /^\d{1,2}:\d{2}:\d{2}$/],
  ['h:mm a', /^\d{1,2}:\d{2} [AP]M$/i],
  ['h:mm:ss a', /^\d{1,2}:\d{2}:\d{2} [AP]M$/i],
  ["HH'h'mm", /^\d{2}h\d{2}$/i],
  ["H'h'mm", /^\d{1,2}h\d{2}$/i],
  ['HHmm', /^(?:[01]\d|2[0-3])[0-5]\d$/],
  // Numbers lose leading zeros.
  ['Hmm', /^(?:1?\d|2[0-3])[0-5]\d$/],
]

/** Finds the column of the time of day: with the same name as the day, or directly beside. */
function timeBeside(
  day: ColumnProfile,
  columns: readonly ColumnProfile[],
  { dates: { timesOfDay, any } }: Words,
): TimeColumn | undefined {
  if (day.dates?.timed !== false) return undefined
  const bare = ({ words }: ColumnProfile): string =>
    words.filter((word) => !hasWord([word], timesOfDay) && !hasWord([word], any)).join('')
  const times = columns.filter(
    ({ words, filled, dates }) => filled.length > 0 && dates === undefined && hasWord(words, timesOfDay),
  )
  const column =
    times.find((time) => bare(time) === bare(day)) ??
    times.find((time) => Math.abs(columns.indexOf(time) - columns.indexOf(day)) === 1)
  return (
    column && {
      column,
      form: TIME_FORMS.find(([, looksLike]) => column.filled.every((cell) => looksLike.test(cell)))?.[0],
    }
  )
}

/** Columns that complete a time such as `10:00`. */
function restBeside(
  { dates }: ColumnProfile,
  time: TimeColumn | undefined,
  columns: readonly ColumnProfile[],
): ColumnProfile[] {
  const form = time?.form ?? (dates?.timed === true ? (dates.forms[0] ?? '') : '')
  if (dates?.offset === true || !/H+:mm/.test(form)) return []
  const [halves, places] = [
    columns.filter(holdsHalves),
    columns.filter((one) => holdsZones(one) || holdsOffsets(one)),
  ]
  return [halves, places].flatMap((some) => (some.length === 1 ? some : []))
}

/** Instants of the column, ascending. */
function instantsOf({ distinct, dates }: ColumnProfile): number[] {
  const parse = compileInstant(dates?.forms ?? [])
  return [...distinct]
    .flatMap((cell) => {
      const instant = parse(cell)
      return instant.ok ? [instant.at] : []
    })
    .sort((a, b) => a - b)
}

const YEAR = 365.25 * 86_400_000
/** Years: visits of an export span few, births span decades, mostly far before the newest date. */
const BIRTHS_SPAN = 20
const BIRTHS_LIE_BACK = 15

function looksLikeBirths(sorted: readonly number[], newest: number): boolean {
  const [first = 0] = sorted
  const last = sorted.at(-1) ?? 0
  const middle = sorted[Math.floor(sorted.length / 2)] ?? newest
  return last - first > BIRTHS_SPAN * YEAR && newest - middle > BIRTHS_LIE_BACK * YEAR
}

/** True if most people with several rows have several dates: then these are not birth dates. */
function changesWithin({ filled }: ColumnProfile, reference: ColumnProfile | undefined): boolean {
  // Only whole columns align row by row.
  if (reference === undefined || reference.filled.length !== filled.length) return false
  const people = Map.groupBy(filled.keys(), (at) => reference.filled[at])
  const several = [...people.values()].filter(({ length }) => length > 1)
  const changing = several.filter((rows) => new Set(rows.map((at) => filled[at])).size > 1)
  return changing.length > 0 && changing.length > several.length / 2
}

/** First day that a mapping accepts by default. */
const EARLIEST = Date.UTC(1990, 0, 1)

/** Day before anybody's birth, so that no record passes with it. */
const PLACEHOLDER = line(`observedAt: { constant: "${PLACEHOLDER_INSTANT}" }`)

const MONTH_FIRST = 'month first or day first? The sample has no number above 12; ask the vendor'
export const MONTH_OR_DAY = ask(MONTH_FIRST)

/** Lines of `observedAt`, with questions. */
export function observedLines({
  column,
  candidates,
  doubtful,
  time,
  rest = [],
  paths = [],
}: Observed): DraftLine[] {
  const dates = column?.dates
  if (column === undefined || dates === undefined) {
    const named = candidates.map(({ path, dates: its }) => `${scalar(path)} (${its?.forms.join(', ')})`)
    const why =
      named.length === 0
        ? 'no column is the observation date.'
        : `which column is the observation date? ${named.join(' or ')}: the names do not decide.`
    return [decide(`${why} This day is a placeholder.`), PLACEHOLDER]
  }
  const { forms, unread, ambiguous, offset, timed } = dates
  const [only = ''] = forms
  const notes: DraftLine[] = []
  if (doubtful === true)
    notes.push(decide(`does ${scalar(column.path)} contain the observation date? No other date is likelier.`))
  if (unread > 0)
    notes.push(note(`${unread} of the sampled cells have another form; their rows are rejected.`))
  const early = instantsOf(column).filter((at) => at < EARLIEST).length
  if (early > 0)
    notes.push(
      decide(
        `${counted(early, 'different date')} before 1990 would be rejected. If they are right, add since: with the first day.`,
      ),
    )
  if (only === 'EXCEL') notes.push(decide('spreadsheet days: counted since 1900 or since 1904 (EXCEL_1904)?'))
  else if (ambiguous) notes.push(decide(MONTH_FIRST))
  const zoned = only !== 'EPOCH_MS'
  const place = rest.find(holdsZones)
  const behind = rest.filter((one) => one !== place)
  const zone = `zone: ${place === undefined ? 'UTC' : `{ from: ${scalar(place.path)} }`}`
  const whole = (form: string): string =>
    behind.reduce((text, one) => (holdsHalves(one) ? `${text.replaceAll('H', 'h')} a` : `${text} ZZ`), form)
  if (zoned && (offset || behind.some(holdsOffsets)))
    notes.push(note('Every time has an offset; the zone applies to times without.'))
  else if (zoned && place === undefined)
    notes.push(
      decide(
        `which time zone? Write it like America/New_York; UTC is a placeholder.${timed || time?.form !== undefined ? '' : ' Days begin at midnight there.'}`,
      ),
    )
  if (time !== undefined && (time.form === undefined || only === 'EXCEL'))
    notes.push(
      decide(`${scalar(time.column.path)} is next to the date: is it the time of day? It is not read.`),
    )
  else if (time?.form !== undefined) {
    const { form } = time
    const days = forms.map((day) => DAYS_OF.get(day) ?? day)
    const missing = time.column.filled.length < column.filled.length
    const both = [...days.map((day) => whole(`${day} ${form}`)), ...(missing ? days : [])]
    return [...notes, joined([column, time.column, ...behind], both, zone)]
  }
  if (behind.length > 0) return [...notes, joined([column, ...behind], forms.map(whole), zone)]
  const format = `format: ${formsText(forms)}${zoned ? `, ${zone}` : ''}`
  const from = paths.length > 1 ? `firstOf: ${list(paths)}` : `from: ${scalar(column.path)}`
  return [...notes, line(`observedAt: { ${from}, ${format} }`)]
}

function joined(columns: readonly ColumnProfile[], forms: readonly string[], zone: string): DraftLine {
  const parts = list(columns.map(({ path }) => path))
  return line(`observedAt: { concat: ${parts}, separator: " ", format: ${formsText(forms)}, ${zone} }`)
}

/** Forms of days, by forms that also read times. */
const DAYS_OF = new Map([
  ['ISO', 'yyyy-MM-dd'],
  ['HL7', 'yyyyMMdd'],
])

export const formsText = (forms: readonly string[]): string =>
  forms.length === 1 ? scalar(forms[0] ?? '') : list(forms)

const isAll = ({ distinct }: ColumnProfile, holds: (text: string) => boolean): boolean =>
  distinct.size > 0 && [...distinct].every(holds)

/** AM and PM, zones and offsets as a mapping reads them. */
const holdsHalves = (column: ColumnProfile): boolean => isAll(column, (text) => /^[ap]m$/i.test(text))
const holdsZones = (column: ColumnProfile): boolean => isAll(column, isZone)
const holdsOffsets = (column: ColumnProfile): boolean =>
  isAll(column, (text) => /^[+-]\d{2}:?[0-5]\d$/.test(text))

/** Part of a row by the texts of a column, whatever it is called. */
function byTexts(column: ColumnProfile, words: Words): PartOfRow | undefined {
  const { texts, ordinal } = words.ofRow
  if (holdsZones(column)) return 'date'
  if (holdsStates(column, words)) return 'value'
  if (isCalled(column.words, ordinal) && isAll(column, (text) => /^\d{1,3}$/.test(text))) return 'person'
  return (['date', 'person', 'unit'] as const).find(
    (part) =>
      (part === 'date' || column.distinct.size > 1) &&
      isAll(column, (text) => new RegExp(`^(?:${texts[part]})$`, 'i').test(text)),
  )
}

const VOIDS = 'does one of these change the meaning of the values of a row, or void them?'
const ASKED = [
  ['date', 'part of the time of a row? Read a zone by zone: { from: … }, with a table for short names.'],
  ['person', 'several people with one reference? If so, join both columns by concat in reference and key.'],
  ['unit', 'the units of a row? If so, read the unit of each rule: unit: { from: …, table: { … } }'],
] as const

/**
 * Lines of the row block about unread columns, and the columns that they speak of.
 * @param isTable true where a mapping can name columns under `ignore`
 */
export function linesOfRow(
  unread: readonly ColumnProfile[],
  isTable: boolean,
  words: Words,
): { readonly lines: readonly DraftLine[]; readonly covered: readonly string[] } {
  const parts = Map.groupBy(unread, (column) =>
    column.filled.length === 0 ? undefined : (partOfRow(column, words) ?? byTexts(column, words)),
  )
  const of = (part: PartOfRow): string[] => (parts.get(part) ?? []).map(({ path }) => path)
  const asked = (paths: readonly string[], question: string): DraftLine[] =>
    paths.length === 0 ? [] : [decide(`${paths.map(scalar).join(', ')}: ${question}`)]
  const values = [...of('value'), ...of('remark')]
  const ignored = isTable && values.length > 0
  return {
    covered: [...values, ...ASKED.flatMap(([part]) => of(part))],
    lines: [
      ...(ignored ? [line(`ignore: ${list(values)}`, ask(VOIDS))] : asked(values, VOIDS)),
      ...ASKED.flatMap(([part, question]) => asked(of(part), question)),
    ],
  }
}
