/**
 * Drafts a mapping from records of several types. Cells have no names, so only their texts suggest a meaning, and each guess is a question.
 * If two cells have the same meaning, no rule is written.
 */
import { holdsStates, isKnown, tableCode } from './coded-rules.ts'
import { assembleDraft, identityLines, KEY_OF_ROW, lookedAt } from './draft-table.ts'
import { findObserved, type Observed, observedLines } from './find-observed.ts'
import { textsAt } from './json-places.ts'
import { type LongMatch, matchLong } from './match-long.ts'
import { findReference } from './match-persons.ts'
import { matchCareTeams } from './match-wide.ts'
import { type ColumnProfile, MOST, type Profile, profileColumns } from './profile-columns.ts'
import { cellNames, type Sample } from './read-sample.ts'
import type { Vocabulary } from './vocabulary.ts'
import { ask, type Draft, type DraftLine, decide, indent, note, step } from './write-draft.ts'

type RecordsSample = Extract<Sample, { kind: 'records' }>

interface Drafted {
  readonly type: string
  readonly profile: Profile
  readonly match: LongMatch | undefined
  readonly observed: Observed
  readonly notes: readonly DraftLine[]
}

type Types = RecordsSample['types']

/** Level of each type except the one that begins a row, with the path to the level. */
const levelsOf = (types: Types): ReadonlyMap<string, readonly [level: string, path: string]> =>
  new Map(
    types.slice(1).map(({ name, above = '' }) => {
      const owner = above === types[0]?.name ? '$' : levelOf(above)
      return [name, [levelOf(name), `${owner}${step(name)}[*]`]] as const
    }),
  )

const levelOf = (type: string): string =>
  /^(?!context$)[a-z]/i.test(type) ? type.toLowerCase() : `type_${type.toLowerCase()}`

export function draftRecords(
  name: string,
  file: string,
  sample: RecordsSample,
  vocabulary: Vocabulary,
): Draft {
  const { types, documents } = sample
  const [row] = types
  const drafted = types.map(({ name: type }) => draftType(type, sample, vocabulary))
  const own = drafted[0]?.profile.columns ?? []
  const columns = drafted.flatMap(({ profile }) => profile.columns)
  const found = drafted.flatMap(({ match }) => match ?? [])
  const [first] = drafted.filter(({ match }) => match !== undefined)
  const observed = first?.observed ?? { column: undefined, candidates: [] }
  const rulesIn = (section: LongMatch['section']): DraftLine[] =>
    drafted.flatMap(({ type, match, observed: its }) => {
      if (match?.section !== section) return []
      const dated = its.column?.path === observed.column?.path ? [] : observedLines(its).map(indent)
      return [decide(`the cells of ${type} are read by their content alone.`), ...match.lines, ...dated]
    })
  const dates = drafted.flatMap(({ match, observed: its }) => (match && its.column ? [its.column.path] : []))
  const used = new Set([...found.flatMap((match) => [...match.used]), ...dates])
  const profile: Profile = {
    columns,
    rows: documents.length,
    emptyWhen: [...new Set(drafted.flatMap((one) => one.profile.emptyWhen))],
    decimalComma: drafted.map((one) => one.profile.decimalComma).find((one) => one !== 'none') ?? 'none',
  }
  const person = findReference({ ...profile, columns: own }, new Set(), vocabulary.words)?.column.path
  const reference = person ?? '$'
  const each = Object.fromEntries(levelsOf(types).values())
  return assembleDraft(
    {
      name,
      sample: file,
      notes: sample.notes,
      reference: person,
      observed,
      profile,
      read: types.length > 1 ? { ...sample.read, each } : sample.read,
      kind: `records of several types; ${lookedAt(documents.length)}`,
      identity: identityLines(
        [reference],
        reference,
        KEY_OF_ROW,
        ask(`which cell of ${row?.name ?? ''} names the person?`),
      ),
      registered: new Map(),
      sourceType: 'laboratory',
      biometrics: [...drafted.flatMap(({ notes }) => notes), ...rulesIn('biometrics')],
      conditions: rulesIn('conditions'),
      careTeams: drafted.flatMap((one) =>
        matchCareTeams(vocabulary, one.profile.columns).lines.map(({ yaml, note: text }) =>
          note([text ?? 'DECIDE:', yaml ?? ''].join(' ')),
        ),
      ),
      found: found.flatMap((match) => match.found),
      coded: used,
      unused: columns.map(({ path }) => path).filter((path) => !used.has(path) && path !== person),
      finding: true,
    },
    vocabulary,
  )
}

function draftType(type: string, sample: RecordsSample, vocabulary: Vocabulary): Drafted {
  const chain: string[] = []
  const aboveOf = (of: string): string | undefined => sample.types.find(({ name }) => name === of)?.above
  for (let at: string | undefined = type; at !== undefined; at = aboveOf(at)) chain.push(at)
  const profile = profileOf(type, chain, sample, vocabulary)
  const { columns, several } = named(profile.columns, vocabulary)
  const match = several === undefined ? matchLong(vocabulary, columns) : undefined
  const observed = chain
    .map((of) => profileOf(of, chain, sample, vocabulary).columns.map(asDate))
    .map((cells) => findObserved(cells, undefined, vocabulary.words, true))
    .find(({ column, candidates }) => column !== undefined || candidates.length > 0)
  const numbers = columns.filter(({ name }) => name === 'number').map(({ path }) => path)
  const which =
    several === undefined
      ? `${type} has numbers without known codes: what are ${numbers.join(', ')}?`
      : `which cell of ${type} is the ${several.what}: ${several.paths.join(' or ')}?`
  const isAsked = several !== undefined || (match === undefined && numbers.length > 0)
  const notes = isAsked ? [decide(`${which} No rule is written.`)] : []
  return {
    type,
    match,
    notes,
    profile: { ...profile, columns },
    observed: { column: undefined, candidates: [], ...observed, doubtful: true },
  }
}

/** Cells of a type, for each of its records. @param chain the type and its enclosing types */
function profileOf(
  type: string,
  chain: readonly string[],
  { types, documents }: RecordsSample,
  vocabulary: Vocabulary,
): Profile {
  const levels = levelsOf(types)
  const each = Object.fromEntries(
    [...levels].flatMap(([name, level]) => (chain.includes(name) ? [level] : [])),
  )
  const names = cellNames(types.find(({ name }) => name === type)?.cells ?? 0)
  const [owner = '$'] = levels.get(type) ?? []
  const columns = names.map((name) => ({ path: `${owner}.${name}`, name }))
  const rows = textsAt(
    documents,
    each,
    columns.map(({ path }) => path),
  )
  return profileColumns({ read: {}, notes: [], columns, rows }, vocabulary)
}

const asDate = (column: ColumnProfile): ColumnProfile => called(column, 'date')

const called = (column: ColumnProfile, name: string): ColumnProfile => ({
  ...column,
  name,
  words: [name],
  outside: [name],
})

const RANGE = /^(?:[<>]=?\s*[\d.,]+|[\d.,]+\s*-\s*[\d.,]+)$/

/** Names columns by their content. `several` are candidates for the same part of a result. */
function named(
  columns: readonly ColumnProfile[],
  vocabulary: Vocabulary,
): {
  readonly columns: readonly ColumnProfile[]
  readonly several?: { readonly what: string; readonly paths: readonly string[] }
} {
  const { units, words } = vocabulary
  const kindOf = (column: ColumnProfile): string => {
    const { filled, distinct, numbers, dates, path } = column
    const share = (fits: (text: string) => boolean): boolean =>
      distinct.size > 0 && [...distinct].filter(fits).length >= distinct.size * MOST
    if (filled.length === 0) return 'empty'
    if (dates !== undefined) return 'date'
    if (numbers.length >= filled.length * MOST) return isCounted(numbers) ? 'place' : 'number'
    if (share((text) => RANGE.test(text))) return 'range'
    // F, P, C are both units and states.
    if (holdsStates(column, words) || [...distinct].every((text) => words.cells.finalLetters.includes(text)))
      return 'status'
    // H, L, N are both units and flags.
    if (
      [...distinct].some((text) => !/^[A-Z]$/i.test(text)) &&
      share((text) => units.resolve(text) !== undefined)
    )
      return 'unit'
    const named = filled.map((text) => [text, text] as const)
    return isKnown(tableCode(path, named, vocabulary)) ? 'test' : 'text'
  }
  const kinds = columns.map((column) => called(column, kindOf(column)))
  const valued = kinds.map((column) => (column.name === 'number' ? called(column, 'value') : column))
  const coded = matchLong(vocabulary, valued)
  if (coded === undefined) return { columns: kinds }
  const twice = ['value', 'unit', 'range']
    .map((what) => ({
      what,
      paths: valued.flatMap(({ name, path }) => (name === what && path !== coded.code.path ? [path] : [])),
    }))
    .find(({ paths }) => paths.length > 1)
  return coded.section === 'conditions' || twice === undefined
    ? { columns: valued }
    : { columns: kinds, several: twice }
}

/** True for places in a list: 1, 2, 3 …, restarting at 1 in each list. */
const isCounted = (numbers: readonly number[]): boolean =>
  numbers.length > 1 && numbers.every((number, at) => number === 1 || number === (numbers[at - 1] ?? 0) + 1)
