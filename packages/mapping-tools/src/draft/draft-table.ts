/** Drafts a mapping from a table with a visit or a finding per row. Assembles drafts of every kind. */
import { isTable } from '../../../../src/model/row.ts'
import { isCalled, type Words } from '../../../../src/watch/names.ts'
import { holdsStates } from './coded-rules.ts'
import type { DateForms } from './find-dates.ts'
import { findObserved, linesOfRow, type Observed, observedLines } from './find-observed.ts'
import { type LongMatch, matchLong } from './match-long.ts'
import {
  findReference,
  findRegistration,
  genderCodes,
  type Registered,
  registerLines,
} from './match-persons.ts'
import {
  type Matches,
  matchCareTeams,
  matchConditions,
  matchMeasurements,
  WORDS_OF_WHEN,
} from './match-wide.ts'
import { type ColumnProfile, type Profile, profileColumns } from './profile-columns.ts'
import type { SampleTable } from './read-sample.ts'
import type { Vocabulary } from './vocabulary.ts'
import {
  ask,
  type Draft,
  type DraftLine,
  decide,
  indent,
  keyed,
  line,
  list,
  type Question,
  quoted,
  scalar,
} from './write-draft.ts'

interface Parts extends Omit<Draft, 'row' | 'persons' | 'genders' | 'dates' | 'yesOrNo'> {
  readonly profile: Profile
  readonly identity: readonly DraftLine[]
  readonly skip?: readonly DraftLine[]
  readonly ofRow?: readonly DraftLine[]
  readonly reference: string | undefined
  readonly registered: Registered
  readonly observed: Observed
  readonly sourceType: string
  /** Columns of a provider, by part. */
  readonly providers?: ReadonlyMap<string, string>
}

export function assembleDraft(parts: Parts, { words }: Vocabulary): Draft {
  const {
    profile,
    identity,
    skip = [],
    ofRow = [],
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
      ...keyed('row.account.register', registerLines(registered, words).map(indent)),
      ...keyed('row.observedAt', observedLines(observed)),
      sourceLine(draft.name, sourceType),
      ...keyed('row.skipWhen', skip),
      ...ofRow,
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

export function sourceLine(name: string, type: string): DraftLine {
  const title = name
    .split('-')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join(' ')
  return line(
    `source: { name: ${scalar(title)}, type: ${type}, sendingSystem: ${scalar(name)} }`,
    ask('name and type are sent with every record'),
  )
}

const timeForms = (form: string): DateForms => ({
  forms: [form],
  ambiguous: false,
  timed: true,
  offset: false,
  unread: 0,
})

export const lookedAt = (rows: number): string =>
  rows === 1 ? '1 row was sampled' : `${rows} rows were sampled`

export function draftTable(name: string, sample: string, table: SampleTable, vocabulary: Vocabulary): Draft {
  const { words } = vocabulary
  const profile = profileColumns(table, vocabulary)
  const { columns } = profile
  const isOfColumns = isTable(String(table.read['format']))
  const measured = matchMeasurements(vocabulary, profile, isOfColumns)
  const coded = matchLong(vocabulary, columns, measured.found.length > 0)
  // An export with measurements in columns has a visit per row; a column of diagnoses is then one more column.
  const long = coded?.section === 'conditions' && measured.found.length > 0 ? undefined : coded
  const { used, ...rules } =
    long === undefined
      ? wideRules(profile, vocabulary, measured, coded)
      : {
          biometrics: [],
          conditions: [],
          careTeams: [],
          [long.section]: long.lines,
          found: long.found,
          coded: long.used,
          used: long.used,
        }
  // Person, key and rows to leave out are read from the row itself.
  const own = table.hasLevels === true ? columns.filter(({ path }) => path.startsWith('$')) : columns
  const registered = findRegistration(own, words)
  // The rule of a result handles its status.
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
  for (const column of [reference?.column, observed.column, observed.time?.column, ...(observed.rest ?? [])])
    if (column) taken.add(column.path)
  const unread = own.filter(({ path }) => !taken.has(path))
  const ofRow = linesOfRow(unread, isOfColumns, words)
  for (const path of ofRow.covered) taken.add(path)
  const one = table.hasLevels === true ? 'an element of a list' : 'a row'
  const kind = `${one} is ${long === undefined ? 'a visit' : 'a finding with a code'}`
  const parts: Parts = {
    ...rules,
    name,
    sample,
    notes: table.notes,
    read: table.read,
    profile,
    registered,
    observed,
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
    ofRow: ofRow.lines,
    unused: columns.filter(({ path }) => !taken.has(path)).map(({ path }) => path),
    finding: long !== undefined,
  }
  return assembleDraft(parts, vocabulary)
}

/** Builds the rules of a table with a visit per row. @param coded column of diagnoses; unused if rules of conditions by name exist */
function wideRules(
  profile: Profile,
  vocabulary: Vocabulary,
  measured: Matches,
  coded: LongMatch | undefined,
) {
  const named = matchConditions(vocabulary, profile.columns)
  const more = coded === undefined || named.found.length > 0 ? [] : [coded]
  const rules = [measured, named, ...more]
  const { lines: careTeams, used, providers } = matchCareTeams(vocabulary, profile.columns)
  const known = new Set(rules.flatMap((one) => [...one.used]))
  return {
    biometrics: measured.lines,
    conditions: [named, ...more].flatMap(({ lines }) => lines),
    careTeams,
    providers,
    coded: known,
    used: new Set([...known, ...used]),
    found: rules.flatMap(({ found }) => found),
  }
}

function keyLines(
  { rows, columns }: Profile,
  reference: { column: ColumnProfile; sure: boolean } | undefined,
  others: readonly (ColumnProfile | undefined)[],
  hasLevels: boolean,
): DraftLine[] {
  // No export has a column `?`, so the check of the mapping reports it.
  const nobody = columns.some(({ path }) => path.startsWith('$')) ? '$' : '?'
  const parts = [reference?.column, ...others].filter((column) => column !== undefined)
  const key = [...new Set(parts.map(({ path }) => path))]
  const keys = Array.from({ length: rows }, (_, at) => JSON.stringify(parts.map(({ filled }) => filled[at])))
  // Only whole columns align row by row.
  const isWhole = !hasLevels && parts.every(({ filled }) => filled.length === rows)
  const shared = isWhole ? rows - new Set(keys).size : 0
  const unsure = `no column is ${reference === undefined ? 'left to identify the person' : 'named like a person id'}`
  return [
    ...(shared === 0
      ? []
      : keyed('row.key', [
          decide(`${shared} of ${rows} rows share their key with another row; is there a better key?`),
        ])),
    ...identityLines(
      key.length === 0 ? [nobody] : key,
      reference?.column.path ?? nobody,
      hasLevels && key.length < 2 ? KEY_OF_ROW : undefined,
      reference?.sure === true ? undefined : ask(unsure),
    ),
  ]
}

export const KEY_OF_ROW = ask('which fields identify a row of the vendor?')

/** Key and account of a row with their questions; the key includes the reference. */
export const identityLines = (
  key: readonly string[],
  reference: string,
  keyAsked?: Question,
  asked?: Question,
): DraftLine[] => [
  {
    ...line(`key: ${list(key)}`, keyAsked),
    key: 'row.key',
    open: keyAsked !== undefined || asked !== undefined,
  },
  line('account:'),
  ...keyed('row.account.reference', [line(`  reference: ${scalar(reference)}`, asked)]),
]

function conventionLines({ emptyWhen, decimalComma }: Profile): DraftLine[] {
  const commas = {
    none: [],
    all: [line('number: { decimal: "," }')],
    some: [
      decide(
        'some numbers have a decimal comma, others a point. Write number: { decimal: "," } in their rules.',
      ),
    ],
  }
  return [
    ...(emptyWhen.length === 0 ? [] : [line(`emptyWhen: ${quoted(emptyWhen)}`)]),
    ...commas[decimalComma],
  ]
}

/** Maximum length of a text that can be a plain status. */
const LONGEST = 80
/** Maximum number of texts to write out. */
const MOST_TEXTS = 8

interface Found {
  readonly column: ColumnProfile
  readonly condition: string
  readonly rows: number
}

interface LeftOut {
  readonly lines: readonly DraftLine[]
  /** Columns of yes and no named after these rows. */
  readonly flags: readonly ColumnProfile[]
}

/** Finds rows to leave out. @param columns without values; a condition on rows may read them */
function rowsLeftOut(columns: readonly ColumnProfile[], { words }: Vocabulary): LeftOut {
  const free = columns.filter(({ path }) => !WORDS_OF_WHEN.includes(path))
  const flags = free.flatMap((column) => byHeading(column, words) ?? [])
  const isOf = createTexts(words.notHeld)
  const others = free.filter((column) => !flags.some((flag) => flag.column === column))
  const found = [...flags, ...others.flatMap((column) => isOf(column) ?? [])]
  const [first, another] = found
  if (first === undefined) return { lines: [], flags: [] }
  const counted = found.map(({ column, rows }) => `${rows} by ${scalar(column.path)}`).join(', ')
  const conditions = found.map(({ condition }) => `{ ${condition} }`)
  const when = another === undefined ? conditions.join() : `{ any: [${conditions.join(', ')}] }`
  return {
    lines: [decide(`rows that are probably not visits: ${counted}. Leave these rows out? skipWhen: ${when}`)],
    flags: flags.map(({ column }) => column),
  }
}

/** A column such as `no_show` with yes and no. */
function byHeading(column: ColumnProfile, { leftOut, wide }: Words): Found | undefined {
  const { path, filled, yesNo } = column
  const bare = column.words.filter((word) => !wide.diagnosed.includes(word))
  if (yesNo === undefined || !(isCalled(column.words, leftOut) || isCalled(bare, leftOut))) return undefined
  const rows = filled.filter((cell) => yesNo.yes.includes(cell)).length
  return { column, rows, condition: `${scalar(path)}: ${quoted(yesNo.yes)}` }
}

/** Finds row states among the texts of a column. A state of every row divides nothing. */
function createTexts({ whole, within }: Words['notHeld']): (column: ColumnProfile) => Found | undefined {
  const entire = new RegExp(`^(?:${whole.join('|')}|${within.join('|')})$`, 'i')
  const any = new RegExp(`^(?:${whole.join('|')})$|${within.join('|')}`, 'i')
  return (column) => {
    const { path, cells, filled, distinct, numbers, dates } = column
    if (filled.length === numbers.length || dates?.unread === 0) return undefined
    const texts = [...distinct].filter((text) => text.length <= LONGEST && any.test(text))
    const found = new Set(texts)
    const rows = filled.filter((cell) => found.has(cell)).length
    if (rows === 0 || rows === cells.length) return undefined
    // The rest of a cell is unknown, and is not shown.
    const isShown = texts.length <= MOST_TEXTS && texts.every((text) => entire.test(text) && !/\d/.test(text))
    const patterns = [...whole.map((one) => `^(?:${one})$`), ...within].filter((one) =>
      texts.some((text) => new RegExp(one, 'i').test(text)),
    )
    const matches = `{ matches: ${JSON.stringify(`(?i)${patterns.join('|')}`)} }`
    return { column, rows, condition: `${scalar(path)}: ${isShown ? quoted(texts) : matches}` }
  }
}
