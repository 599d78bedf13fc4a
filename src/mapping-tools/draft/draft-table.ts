/** A mapping drafted from a table: one wide row a visit, or one row an observation. */
import { careTeamLines } from './match-care-teams.ts'
import { matchConditions } from './match-conditions.ts'
import { type LongMatch, matchLong } from './match-long.ts'
import { matchMeasurements, type Vocabulary } from './match-measurements.ts'
import {
  findObserved,
  findReference,
  findRegistration,
  MONTH_OR_DAY,
  registerLines,
} from './match-persons.ts'
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
  const reference = findReference(profile)
  const observed = findObserved(columns)
  const registered = findRegistration(columns)
  const skip = long === undefined ? skipLines(columns) : { lines: [], used: [] }
  const used = new Set<string>([
    ...[long?.used, wide?.used, conditions?.used].flatMap((paths) => [...(paths ?? [])]),
    ...(careTeams?.providers.keys() ?? []),
    ...skip.used,
    ...[reference?.column, observed, ...registered.values()].flatMap((column) => column?.path ?? []),
  ])
  return {
    name,
    sample,
    kind: `${long === undefined ? 'a row is a visit' : 'a row is one finding, told by a code'}; ${table.rows.length} ${table.rows.length === 1 ? 'row was' : 'rows were'} looked at`,
    notes: table.notes,
    read: table.read,
    row: [
      ...keyLines(profile, reference, observed, long),
      ...registerLines(registered).map(indent),
      ...dateLines(observed),
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
    persons: new Map<string, string>([
      ...(careTeams?.providers ?? []),
      ...(reference === undefined ? [] : [[reference.column.path, 'reference'] as const]),
      ...[...registered].map(([key, column]) => [column.path, key] as const),
    ]),
  }
}

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
  { rows }: Profile,
  reference: { column: ColumnProfile; sure: boolean } | undefined,
  observed: ColumnProfile | undefined,
  long: LongMatch | undefined,
): DraftLine[] {
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
  const unsure =
    reference?.sure === false ? { note: 'DECIDE: no column is named like the id of a person' } : {}
  return [
    ...shared,
    { yaml: `key: ${list(key.length === 0 ? [''] : key)}` },
    { yaml: 'account:' },
    { yaml: `  reference: ${scalar(reference?.column.path ?? '')}`, ...unsure },
  ]
}

/** Before anybody's birth, so that no record with it can pass for one with a date. */
export const NO_DATE: readonly DraftLine[] = [
  { note: 'DECIDE: no column of dates was found. This day is a placeholder.' },
  { yaml: 'observedAt: { constant: "1900-01-01T00:00:00.000Z" }' },
]

export function dateLines(column: ColumnProfile | undefined): DraftLine[] {
  const dates = column?.dates
  if (column === undefined || dates === undefined) return [...NO_DATE]
  const [only = ''] = dates.forms
  const format = dates.forms.length === 1 ? scalar(only) : list(dates.forms)
  const zone = only === 'EPOCH_MS' ? '' : ', zone: UTC'
  const notes: DraftLine[] = []
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
