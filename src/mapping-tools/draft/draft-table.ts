/** A mapping drafted from a table: one wide row a visit, or one row an observation. */
import { PLACEHOLDER_INSTANT } from '../../transform/mapping-definition.ts'
import type { DateForms } from './find-dates.ts'
import { findObserved } from './find-observed.ts'
import { genderCodes } from './gender-codes.ts'
import { careTeamLines } from './match-care-teams.ts'
import { matchConditions } from './match-conditions.ts'
import { type LongMatch, matchLong } from './match-long.ts'
import { matchMeasurements, type Vocabulary } from './match-measurements.ts'
import { findReference, findRegistration, MONTH_OR_DAY, registerLines } from './match-persons.ts'
import { type ColumnProfile, type Profile, profileColumns } from './profile-columns.ts'
import { type DraftLine, list, type SampleTable, scalar } from './sample.ts'
import type { Draft } from './write-draft.ts'

export function draftTable(name: string, sample: string, table: SampleTable, vocabulary: Vocabulary): Draft {
  const profile = profileColumns(table)
  const { columns } = profile
  const long = matchLong(vocabulary, columns)
  const wide = long === undefined ? matchMeasurements(vocabulary, profile) : undefined
  const conditions = long === undefined ? matchConditions(vocabulary, columns) : undefined
  const careTeams = long === undefined ? careTeamLines(columns) : undefined
  const registered = findRegistration(columns)
  const skip = long === undefined ? skipLines(columns) : { lines: [], used: [] }
  const coded = new Set([long?.used, wide?.used, conditions?.used].flatMap((paths) => [...(paths ?? [])]))
  const taken = new Set([
    ...coded,
    ...(careTeams?.used ?? []),
    ...skip.used,
    ...[...registered.values()].map(({ path }) => path),
  ])
  const reference = findReference(profile, taken)
  const { column: observed, candidates } = findObserved(columns, reference?.column)
  const used = new Set([...taken, ...[reference?.column, observed].flatMap((column) => column?.path ?? [])])
  return {
    name,
    sample,
    kind: `${long === undefined ? 'a row is a visit' : 'a row is one finding, told by a code'}; ${table.rows.length} ${table.rows.length === 1 ? 'row was' : 'rows were'} looked at`,
    notes: table.notes,
    read: table.read,
    row: [
      ...keyLines(profile, reference, observed, long),
      ...registerLines(registered).map(indent),
      ...dateLines(observed, candidates),
      {
        yaml: `source: { name: ${scalar(title(name))}, type: screening, sendingSystem: ${scalar(name)} }`,
        note: 'DECIDE: name and type go out with every record',
      },
      ...skip.lines,
      ...conventionLines(profile),
    ],
    biometrics: long?.biometrics ?? wide?.lines ?? [],
    conditions: long?.conditions ?? conditions?.lines ?? [],
    careTeams: careTeams?.lines ?? [],
    unused: columns.filter(({ path }) => !used.has(path)).map(({ path }) => path),
    found: [...(long?.found ?? wide?.found ?? []), ...(conditions?.found ?? [])],
    finding: long !== undefined,
    coded,
    persons: new Map<string, string>([
      ...(careTeams?.providers ?? []),
      ...(reference === undefined ? [] : [[reference.column.path, 'reference'] as const]),
      ...[...registered].map(([key, column]) => [column.path, key] as const),
    ]),
    genders: genderCodes(registered.get('gender')),
    dates: datesOf([
      observed,
      registered.get('dateOfBirth'),
      ...columns.filter(({ path }) => coded.has(path)),
    ]),
  }
}

/** In which forms columns have their dates, by path. */
export const datesOf = (columns: readonly (ColumnProfile | undefined)[]): ReadonlyMap<string, DateForms> =>
  new Map(
    columns.flatMap((column) => (column?.dates === undefined ? [] : [[column.path, column.dates] as const])),
  )

export const title = (name: string): string =>
  name
    .split('-')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join(' ')

const indent = ({ yaml, note }: DraftLine): DraftLine => ({
  ...(yaml === undefined ? {} : { yaml: `  ${yaml}` }),
  ...(note === undefined ? {} : { note }),
})

function keyLines(
  { rows, columns }: Profile,
  reference: { column: ColumnProfile; sure: boolean } | undefined,
  observed: ColumnProfile | undefined,
  long: LongMatch | undefined,
): DraftLine[] {
  // The check of a mapping says that an export has no such column.
  const nobody = columns.some(({ path }) => path.startsWith('$')) ? '$' : '?'
  const parts = [reference?.column, observed, long?.code].filter((column) => column !== undefined)
  const key = [...new Set(parts.map(({ path }) => path))]
  const whole = parts.every(({ filled }) => filled.length === rows)
  const different = whole
    ? new Set(Array.from({ length: rows }, (_, at) => JSON.stringify(parts.map(({ filled }) => filled[at]))))
        .size
    : undefined
  const shared =
    different === undefined || different === rows
      ? []
      : [
          {
            note: `DECIDE: ${rows - different} of ${rows} rows share their key with another row; is there a better one?`,
          },
        ]
  const note =
    reference === undefined
      ? 'DECIDE: no column is left that could name the person'
      : 'DECIDE: no column is named like the id of a person'
  return [
    ...shared,
    { yaml: `key: ${list(key.length === 0 ? [nobody] : key)}` },
    { yaml: 'account:' },
    {
      yaml: `  reference: ${scalar(reference?.column.path ?? nobody)}`,
      ...(reference?.sure === true ? {} : { note }),
    },
  ]
}

/** Before anybody's birth, so that no record with it can pass for one with a date. */
const PLACEHOLDER = { yaml: `observedAt: { constant: "${PLACEHOLDER_INSTANT}" }` }

export const NO_DATE: readonly DraftLine[] = [
  { note: 'DECIDE: no column says when it was observed. This day is a placeholder.' },
  PLACEHOLDER,
]

/** @param candidates columns of dates where none is the one for certain */
export function dateLines(
  column: ColumnProfile | undefined,
  candidates: readonly ColumnProfile[] = [],
): DraftLine[] {
  const dates = column?.dates
  if (column === undefined || dates === undefined) {
    if (candidates.length === 0) return [...NO_DATE]
    const named = candidates.map(({ path, dates }) => `${scalar(path)} (${dates?.forms.join(', ')})`)
    const note = `DECIDE: which dates say when it was observed? ${named.join(' or ')}: no name tells. This day is a placeholder.`
    return [{ note }, PLACEHOLDER]
  }
  const [only = ''] = dates.forms
  const format = dates.forms.length === 1 ? scalar(only) : list(dates.forms)
  const zone = only === 'EPOCH_MS' ? '' : ', zone: UTC'
  const notes: DraftLine[] = []
  if (dates.unread > 0)
    notes.push({ note: `${dates.unread} of the cells looked at are no such dates; their rows are rejected.` })
  if (only === 'EXCEL')
    notes.push({ note: 'DECIDE: days as a spreadsheet counts them, since 1900 or since 1904 (EXCEL_1904)?' })
  else if (dates.ambiguous) notes.push({ note: MONTH_OR_DAY })
  if (zone !== '')
    notes.push({
      note: dates.offset
        ? 'DECIDE: every time tells its offset; the zone is for those that would not. Of which place are they?'
        : `DECIDE: the clock of which place? Write it like America/New_York; UTC is a placeholder.${dates.timed ? '' : ' Days begin at midnight there.'}`,
    })
  return [...notes, { yaml: `observedAt: { from: ${scalar(column.path)}, format: ${format}${zone} }` }]
}

export function conventionLines({ emptyWhen, decimalComma }: Profile): DraftLine[] {
  return [
    ...(emptyWhen.length === 0
      ? []
      : [{ yaml: `emptyWhen: [${emptyWhen.map((text) => JSON.stringify(text)).join(', ')}]` }]),
    ...(decimalComma === 'all' ? [{ yaml: 'number: { decimal: "," }' }] : []),
    ...(decimalComma === 'some'
      ? [
          {
            note: 'DECIDE: some numbers have a decimal comma, others a point. Write number: { decimal: "," } in their rules.',
          },
        ]
      : []),
  ]
}

const LEFT_OUT =
  /^(no show|noshow|cancelled|canceled|void|voided|deleted|test patient|is test|declined|refused|deceased)$/

/** Columns that may say that a row is none. */
function skipLines(columns: readonly ColumnProfile[]): { lines: DraftLine[]; used: string[] } {
  const found = columns.filter(({ words, yesNo }) => LEFT_OUT.test(words.join(' ')) && yesNo !== undefined)
  return {
    lines: found.map(({ path, yesNo }) => ({
      note: `DECIDE: leave these rows out? skipWhen: { ${scalar(path)}: [${yesNo?.yes.map((word) => JSON.stringify(word)).join(', ')}] }`,
    })),
    used: found.map(({ path }) => path),
  }
}
