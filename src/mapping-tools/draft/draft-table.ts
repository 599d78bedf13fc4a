/** A mapping drafted from a table, one wide row a visit, or one row a finding; and what every draft is put together from. */
import { holdsStates, type LongMatch, matchLong } from './coded-rules.ts'
import type { DateForms } from './find-dates.ts'
import { findObserved, type Observed, observedLines } from './find-observed.ts'
import {
  findReference,
  findRegistration,
  genderCodes,
  type Registered,
  registerLines,
} from './match-persons.ts'
import { type Matches, matchCareTeams, matchConditions, matchMeasurements } from './match-wide.ts'
import type { Vocabulary } from './names.ts'
import { type ColumnProfile, type Profile, profileColumns } from './profile-columns.ts'
import type { SampleTable } from './read-sample.ts'
import { rowsLeftOut } from './rows-left-out.ts'
import { type Draft, type DraftLine, indent, line, list, note, quoted, scalar } from './write-draft.ts'

/** A draft of which the row block is still to be written, and what is known for that. */
interface Parts extends Omit<Draft, 'row' | 'persons' | 'genders' | 'dates' | 'yesOrNo'> {
  readonly profile: Profile
  /** The lines of the row's key and account, and of rows to leave out. */
  readonly identity: readonly DraftLine[]
  readonly skip?: readonly DraftLine[]
  readonly reference: string | undefined
  readonly registered: Registered
  readonly observed: Observed
  readonly sourceType: string
  /** Columns by what they tell of a provider. */
  readonly providers?: ReadonlyMap<string, string>
}

/** The draft, whatever the sample is. */
export function assembleDraft(parts: Parts, { words }: Vocabulary): Draft {
  const {
    profile,
    identity,
    skip = [],
    reference,
    registered,
    observed,
    sourceType,
    providers = [],
    ...draft
  } = parts
  const gender = registered.get('gender')
  const coded = profile.columns.filter(({ path }) => draft.coded.has(path))
  const dated = [observed.column, registered.get('dateOfBirth'), ...coded]
  return {
    ...draft,
    row: [
      ...identity,
      ...registerLines(registered, words).map(indent),
      ...observedLines(observed),
      sourceLine(draft.name, sourceType),
      ...skip,
      ...conventionLines(profile),
    ],
    persons: new Map<string, string>([
      ...providers,
      ...(reference === undefined ? [] : [[reference, 'reference'] as const]),
      ...[...registered].map(([key, column]) => [column.path, key] as const),
    ]),
    genders: gender === undefined ? [] : genderCodes(gender, words).codes.map(([code]) => code),
    dates: new Map([
      ...(observed.time?.form === undefined
        ? []
        : [[observed.time.column.path, timeForms(observed.time.form)] as const]),
      ...dated.flatMap((column) =>
        column?.dates === undefined ? [] : [[column.path, column.dates] as const],
      ),
    ]),
    yesOrNo: [...words.cells.yes, ...words.cells.no],
  }
}

/** @param name of the mapping */
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

const timeForms = (form: string): DateForms => ({
  ...{ forms: [form], ambiguous: false, timed: true, offset: false, unread: 0 },
})

export const lookedAt = (rows: number): string =>
  rows === 1 ? '1 row was looked at' : `${rows} rows were looked at`

export function draftTable(name: string, sample: string, table: SampleTable, vocabulary: Vocabulary): Draft {
  const { words } = vocabulary
  const profile = profileColumns(table, vocabulary)
  const { columns } = profile
  const measured = matchMeasurements(vocabulary, profile)
  const coded = matchLong(vocabulary, columns, measured.found.length > 0)
  // Whoever writes measurements in columns writes a row a visit: a column of diagnoses is one more of these.
  const long = coded?.section === 'conditions' && measured.found.length > 0 ? undefined : coded
  const { used, ...rules } =
    long === undefined ? wideRules(profile, vocabulary, measured, coded) : longRules(long)
  // Person, key and what leaves a row out are read from the row itself.
  const own = table.hasLevels === true ? columns.filter(({ path }) => path.startsWith('$')) : columns
  const registered = findRegistration(own, words)
  // States of a result are kept, or not, by its rule.
  const valued = long === undefined ? measured.used : new Set([long.code.path])
  const { lines: skip, flags } = rowsLeftOut(
    own.filter(
      (column) => !valued.has(column.path) && !(long?.used.has(column.path) && holdsStates(column, words)),
    ),
    vocabulary,
  )
  const taken = new Set([...used, ...[...flags, ...registered.values()].map(({ path }) => path)])
  const reference = findReference({ ...profile, columns: own }, taken, words)
  const observed = findObserved(columns, reference?.column, words, long !== undefined)
  for (const column of [reference?.column, observed.column, observed.time?.column])
    if (column) taken.add(column.path)
  const one = table.hasLevels === true ? 'an element of a list' : 'a row'
  const kind = `${one} is ${long === undefined ? 'a visit' : 'one finding, told by a code'}`
  const parts: Parts = {
    ...rules,
    ...{ name, sample, notes: table.notes, read: table.read, profile, registered, observed },
    kind: `${kind}; ${lookedAt(table.rows.length)}`,
    identity: keyLines(
      profile,
      reference,
      [observed.column, long?.code].filter((column) => column !== undefined && own.includes(column)),
      table.hasLevels === true,
    ),
    reference: reference?.column.path,
    sourceType: 'screening',
    skip,
    unused: columns.filter(({ path }) => !taken.has(path)).map(({ path }) => path),
    finding: long !== undefined,
  }
  return assembleDraft(parts, vocabulary)
}

/** What the draft says of the rules, and which columns they speak of. */
interface Rules
  extends Pick<Parts, 'biometrics' | 'conditions' | 'careTeams' | 'found' | 'coded' | 'providers'> {
  readonly used: readonly string[]
}

function longRules({ section, lines, found, used }: LongMatch): Rules {
  return {
    ...{ biometrics: [], conditions: [], careTeams: [], [section]: lines },
    ...{ found, coded: used, used: [...used] },
  }
}

/** @param coded a column of diagnoses, which rules of conditions by name leave no place for */
function wideRules(
  profile: Profile,
  vocabulary: Vocabulary,
  measured: Matches,
  coded: LongMatch | undefined,
): Rules {
  const named = matchConditions(vocabulary, profile.columns)
  const conditions =
    coded === undefined || named.found.length > 0
      ? named
      : { ...coded, lines: [...named.lines, ...coded.lines], used: new Set([...named.used, ...coded.used]) }
  const { lines, used, providers } = matchCareTeams(vocabulary, profile.columns)
  const known = new Set([...measured.used, ...conditions.used])
  return {
    ...{
      biometrics: measured.lines,
      conditions: conditions.lines,
      careTeams: lines,
      providers,
      coded: known,
    },
    ...{ found: [...measured.found, ...conditions.found], used: [...known, ...used] },
  }
}

function keyLines(
  { rows, columns }: Profile,
  reference: { column: ColumnProfile; sure: boolean } | undefined,
  others: readonly (ColumnProfile | undefined)[],
  hasLevels: boolean,
): DraftLine[] {
  // The check of a mapping says that an export has no such column.
  const nobody = columns.some(({ path }) => path.startsWith('$')) ? '$' : '?'
  const parts = [reference?.column, ...others].filter((column) => column !== undefined)
  const key = [...new Set(parts.map(({ path }) => path))]
  const keys = Array.from({ length: rows }, (_, at) => JSON.stringify(parts.map(({ filled }) => filled[at])))
  // Only whole columns lie row by row beside each other.
  const isWhole = !hasLevels && parts.every(({ filled }) => filled.length === rows)
  const shared = isWhole ? rows - new Set(keys).size : 0
  const unsure =
    reference === undefined
      ? 'DECIDE: no column is left that could name the person'
      : 'DECIDE: no column is named like the id of a person'
  return [
    ...(shared === 0
      ? []
      : [note(`DECIDE: ${shared} of ${rows} rows share their key with another row; is there a better one?`)]),
    line(
      `key: ${list(key.length === 0 ? [nobody] : key)}`,
      hasLevels && key.length < 2 ? 'DECIDE: what tells a row of the vendor from all others?' : undefined,
    ),
    line('account:'),
    line(
      `  reference: ${scalar(reference?.column.path ?? nobody)}`,
      reference?.sure === true ? undefined : unsure,
    ),
  ]
}

function conventionLines({ emptyWhen, decimalComma }: Profile): DraftLine[] {
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
