/** A mapping drafted from a table: one wide row a visit, or one row a finding. */
import { matchLong } from './coded-rules.ts'
import type { DateForms } from './find-dates.ts'
import { findObserved, observedLines } from './find-observed.ts'
import { findReference, findRegistration, genderCodes, registerLines } from './match-persons.ts'
import { matchCareTeams, matchConditions, matchMeasurements } from './match-wide.ts'
import { type ColumnProfile, type Profile, profileColumns } from './profile-columns.ts'
import type { SampleTable } from './read-sample.ts'
import { isCalled, type Vocabulary } from './vocabulary.ts'
import { type Draft, type DraftLine, indent, line, list, note, quoted, scalar } from './write-draft.ts'

/** What the draft says of the rules, and which columns they speak of. */
interface Rules extends Pick<Draft, 'biometrics' | 'conditions' | 'careTeams' | 'found' | 'coded'> {
  /** The column of a code, where a row is one finding. */
  readonly code: ColumnProfile | undefined
  readonly providers: ReadonlyMap<string, string>
  readonly used: readonly string[]
}

export function draftTable(name: string, sample: string, table: SampleTable, vocabulary: Vocabulary): Draft {
  const { words } = vocabulary
  const profile = profileColumns(table, vocabulary)
  const { columns } = profile
  const { code, providers, coded, used, ...rules } =
    longRules(profile, vocabulary) ?? wideRules(profile, vocabulary)
  const registered = findRegistration(columns, words)
  const gender = registered.get('gender')
  const skipped = code === undefined ? columnsLeftOut(columns, vocabulary) : []
  const taken = new Set([...used, ...[...skipped, ...registered.values()].map(({ path }) => path)])
  const reference = findReference(profile, taken, words)
  const observed = findObserved(columns, reference?.column, words)
  for (const column of [reference?.column, observed.column]) if (column) taken.add(column.path)
  return {
    ...rules,
    name,
    sample,
    kind: `${code === undefined ? 'a row is a visit' : 'a row is one finding, told by a code'}; ${table.rows.length} ${table.rows.length === 1 ? 'row was' : 'rows were'} looked at`,
    notes: table.notes,
    read: table.read,
    row: [
      ...keyLines(profile, reference, observed.column, code),
      ...registerLines(registered, words).map(indent),
      ...observedLines(observed),
      sourceLine(name, 'screening'),
      ...skipped.map(({ path, yesNo }) =>
        note(`DECIDE: leave these rows out? skipWhen: { ${scalar(path)}: ${quoted(yesNo?.yes ?? [])} }`),
      ),
      ...conventionLines(profile),
    ],
    unused: columns.filter(({ path }) => !taken.has(path)).map(({ path }) => path),
    finding: code !== undefined,
    coded,
    persons: new Map<string, string>([
      ...providers,
      ...(reference === undefined ? [] : [[reference.column.path, 'reference'] as const]),
      ...[...registered].map(([key, column]) => [column.path, key] as const),
    ]),
    genders: gender === undefined ? [] : genderCodes(gender, words).codes.map(([text]) => text),
    dates: datesOf([
      observed.column,
      registered.get('dateOfBirth'),
      ...columns.filter(({ path }) => coded.has(path)),
    ]),
    yesOrNo: [...words.cells.yes, ...words.cells.no],
  }
}

function longRules({ columns }: Profile, vocabulary: Vocabulary): Rules | undefined {
  const match = matchLong(vocabulary, columns)
  if (match === undefined) return undefined
  const { code, section, lines, found, used } = match
  return {
    ...{ biometrics: [], conditions: [], careTeams: [], [section]: lines },
    ...{ code, found, coded: used, used: [...used], providers: new Map() },
  }
}

function wideRules(profile: Profile, vocabulary: Vocabulary): Rules {
  const measured = matchMeasurements(vocabulary, profile)
  const conditions = matchConditions(vocabulary, profile.columns)
  const careTeams = matchCareTeams(vocabulary, profile.columns)
  const coded = new Set([...measured.used, ...conditions.used])
  return {
    ...{ biometrics: measured.lines, conditions: conditions.lines, careTeams: careTeams.lines },
    ...{ code: undefined, found: [...measured.found, ...conditions.found], coded },
    ...{ used: [...coded, ...careTeams.used], providers: careTeams.providers },
  }
}

/** In which forms columns have their dates, by path. */
export const datesOf = (columns: readonly (ColumnProfile | undefined)[]): ReadonlyMap<string, DateForms> =>
  new Map(
    columns.flatMap((column) => (column?.dates === undefined ? [] : [[column.path, column.dates] as const])),
  )

export function sourceLine(name: string, type: string): DraftLine {
  const title = name
    .split('-')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join(' ')
  return line(
    `source: { name: ${scalar(title)}, type: ${type}, sendingSystem: ${scalar(name)} }`,
    'DECIDE: name and type go out with every record',
  )
}

function keyLines(
  { rows, columns }: Profile,
  reference: { column: ColumnProfile; sure: boolean } | undefined,
  observed: ColumnProfile | undefined,
  code: ColumnProfile | undefined,
): DraftLine[] {
  // The check of a mapping says that an export has no such column.
  const nobody = columns.some(({ path }) => path.startsWith('$')) ? '$' : '?'
  const parts = [reference?.column, observed, code].filter((column) => column !== undefined)
  const key = [...new Set(parts.map(({ path }) => path))]
  const keys = Array.from({ length: rows }, (_, at) => JSON.stringify(parts.map(({ filled }) => filled[at])))
  // Only whole columns lie row by row beside each other.
  const shared = parts.every(({ filled }) => filled.length === rows) ? rows - new Set(keys).size : 0
  const unsure =
    reference === undefined
      ? 'DECIDE: no column is left that could name the person'
      : 'DECIDE: no column is named like the id of a person'
  return [
    ...(shared === 0
      ? []
      : [note(`DECIDE: ${shared} of ${rows} rows share their key with another row; is there a better one?`)]),
    line(`key: ${list(key.length === 0 ? [nobody] : key)}`),
    line('account:'),
    line(
      `  reference: ${scalar(reference?.column.path ?? nobody)}`,
      reference?.sure === true ? undefined : unsure,
    ),
  ]
}

export function conventionLines({ emptyWhen, decimalComma }: Profile): DraftLine[] {
  const commas: Readonly<Record<typeof decimalComma, readonly DraftLine[]>> = {
    none: [],
    all: [line('number: { decimal: "," }')],
    some: [
      note(
        'DECIDE: some numbers have a decimal comma, others a point. Write number: { decimal: "," } in their rules.',
      ),
    ],
  }
  return [
    ...(emptyWhen.length === 0 ? [] : [line(`emptyWhen: ${quoted(emptyWhen)}`)]),
    ...commas[decimalComma],
  ]
}

/** Columns that may say that a row is none. */
const columnsLeftOut = (columns: readonly ColumnProfile[], { words }: Vocabulary): ColumnProfile[] =>
  columns.filter((column) => isCalled(column.words, words.leftOut) && column.yesNo !== undefined)
