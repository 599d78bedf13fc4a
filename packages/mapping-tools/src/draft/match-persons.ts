/** Columns of a person: reference, registration, codes for female and male. */
import { counted } from '../../../../src/system/shown-text.ts'
import { namesOfPeople, REGISTER } from '../../../../src/watch/column-names.ts'
import { isCalled, type Words } from '../../../../src/watch/names.ts'
import { formsText, MONTH_OR_DAY } from './find-observed.ts'
import type { ColumnProfile, Profile } from './profile-columns.ts'
import { ask, type DraftLine, line, note, type Question, scalar } from './write-draft.ts'

/** Returns the column with the earliest of the names; `Patient ID (MRN)` has two names. */
export const columnCalled = (
  columns: readonly ColumnProfile[],
  names: readonly string[],
): ColumnProfile | undefined => {
  const ranks = new Map<string, number>()
  for (const name of names) {
    const called = name.replaceAll(' ', '')
    if (!ranks.has(called)) ranks.set(called, ranks.size)
  }
  const rankOf = (words: readonly string[]): number => ranks.get(words.join('')) ?? ranks.size
  let found: ColumnProfile | undefined
  let best = ranks.size
  for (const column of columns) {
    const { words, outside, within } = column
    const rank = Math.min(rankOf(words), rankOf(within) < ranks.size ? rankOf(outside) : ranks.size)
    if (rank >= best) continue
    found = column
    best = rank
  }
  return found
}

/**
 * Finds the column of the person's reference by name; otherwise the first completely filled column with different cells.
 *
 * @param taken paths of columns with another meaning: measurements, codes, parts of a name
 */
export function findReference(
  { columns, rows }: Profile,
  taken: ReadonlySet<string>,
  { reference: { people, after, before, others, last } }: Words,
): { column: ColumnProfile; sure: boolean } | undefined {
  const names = [
    ...people.flatMap((person) => idsOf(person, { after, before })),
    ...others,
    ...people,
    ...last,
  ]
  const free = columns.filter(({ filled, path }) => filled.length > 0 && !taken.has(path))
  const byName = columnCalled(free, names)
  if (byName !== undefined) return { column: byName, sure: true }
  const whole = free.filter(({ filled, dates }) => filled.length === rows && dates === undefined)
  const column =
    whole.find(({ distinct, words }) => distinct.size === rows && words.includes('id')) ??
    whole.find(({ distinct }) => distinct.size === rows) ??
    whole[0]
  return column && { column, sure: false }
}

/** True if a column is named like a person id; cells are not examined. */
export const namesPerson = (
  { words }: ColumnProfile,
  { people, after, before, others, last }: Words['reference'],
): boolean =>
  isCalled(words, [...people.flatMap((one) => idsOf(one, { after, before })), ...people, ...others, ...last])

const idsOf = (person: string, { after, before }: Pick<Words['reference'], 'after' | 'before'>): string[] => [
  ...after.map((number) => `${person} ${number}`),
  ...before.map((number) => `${number} ${person}`),
]

export type Registered = ReadonlyMap<(typeof REGISTER)[number], ColumnProfile>

export function findRegistration(
  columns: readonly ColumnProfile[],
  { register, reference, lastBesideFirst }: Words,
): Registered {
  const found = new Map<(typeof REGISTER)[number], ColumnProfile>()
  // If the id belongs to another person, an employee may be a spouse.
  const named = reference.people.find(
    (person) => columnCalled(columns, idsOf(person, reference)) !== undefined,
  )
  const people = named === undefined ? register.whose : [...register.whose, named]
  for (const key of REGISTER) {
    const column = columnCalled(columns, namesOfPeople(register[key], people))
    if (column !== undefined) found.set(key, column)
  }
  const beside = lastBesideFirst.get(found.get('firstName')?.words.join('') ?? '')
  const last = found.has('lastName') ? undefined : columnCalled(columns, beside ?? [])
  return last === undefined ? found : found.set('lastName', last)
}

/** Builds the `register` block, or a comment on its missing parts. An earlier mapping may supply them. */
export function registerLines(registered: Registered, words: Words): DraftLine[] {
  const missing = REGISTER.filter((key) => !registered.has(key))
  if (registered.size === 0)
    return [{ ...note('This export has no names, so people cannot be registered from it.'), open: true }]
  if (missing.length > 0) {
    const there = `${[...registered.keys()].join(', ')} ${registered.size === 1 ? 'is' : 'are'} there`
    return [
      { ...note(`To register people, ${missing.join(', ')} would be needed too; ${there}.`), open: true },
    ]
  }
  return [
    line('register:'),
    ...[...registered].map(([key, column]) => {
      if (key === 'gender') return genderLine(column, words)
      if (key === 'dateOfBirth') return birthLine(column)
      return line(`  ${key}: ${scalar(column.path)}`, key === 'postalCode' ? lostZeros(column) : undefined)
    }),
  ]
}

/** Asks about postal codes of three and four digits among those of five: `04884` is `4884` to a spreadsheet. */
function lostZeros({ filled }: ColumnProfile): Question | undefined {
  const short = filled.filter((cell) => /^\d{3,4}$/.test(cell)).length
  const isMixed = short > 0 && filled.some((cell) => /^\d{5}(?:-?\d{4})?$/.test(cell))
  return ask(isMixed && `${short} of ${filled.length} have fewer than five digits: were zeros dropped?`)
}

function birthLine({ path, dates }: ColumnProfile): DraftLine {
  const forms = dates?.forms.filter((form) => form !== 'EPOCH_MS') ?? []
  const bare = `  dateOfBirth: ${scalar(path)}`
  if (forms.length === 0) return line(bare, ask('which form? For example { from: …, format: MM/dd/yyyy }'))
  const isOfTwo = forms.some((form) => /(?<!y)yy(?!y)/.test(form))
  const century = isOfTwo ? ', century: 1926' : ''
  return line(
    `  dateOfBirth: { from: ${scalar(path)}, format: ${formsText(forms)}${century} }`,
    dates?.ambiguous ? MONTH_OR_DAY : undefined,
    ask(
      isOfTwo && 'years have two digits. Is 26 1926, and 25 2025? Change the century, or ask for four digits',
    ),
  )
}

const isShort = ({ length }: string): boolean => length <= 3

type Gender = 'FEMALE' | 'MALE'
type Coded = readonly (readonly [code: string, gender: Gender])[]

function genderLine(column: ColumnProfile, words: Words): DraftLine {
  const { codes, why } = genderCodes(column, words)
  const known = codes.map(([code]) => code)
  const others = [...column.distinct].filter((text) => !known.includes(text))
  // Longer texts are only counted: their content is unknown.
  const [short, long] = [others.filter(isShort).map(scalar), others.filter((text) => !isShort(text))]
  const asked = [...short, ...(long.length === 0 ? [] : [counted(long.length, 'longer text')])]
  const table = codes.map(([code, gender]) => `${scalar(code)}: ${gender}`).join(', ')
  return line(
    `  gender: { from: ${scalar(column.path)}, table: { ${table} } }`,
    ask(why, asked.length > 0 && `which gender is ${asked.join(', ')}?`),
  )
}

/** ISO/IEC 5218; 0 is not known, 9 not applicable. */
const ISO_5218: Coded = [
  ['1', 'MALE'],
  ['2', 'FEMALE'],
]

/** Word, also in capitals and in lower case. */
const written = (word: string): string[] => [word, word.toUpperCase(), word.toLowerCase()]

/** Texts for female and male, female first, with a question about them. */
export function genderCodes(
  { distinct }: ColumnProfile,
  { cells: { female, male, partners } }: Words,
): { readonly codes: Coded; readonly why?: string } {
  if (distinct.size > 0 && [...distinct].every((text) => /^[0129]$/.test(text)))
    return { codes: ISO_5218, why: '1 is male and 2 female by ISO 5218; does the vendor use ISO 5218?' }
  const genders = new Map<string, Gender>([
    ...female.flatMap(written).map((word) => [word, 'FEMALE'] as const),
    ...male.flatMap(written).map((word) => [word, 'MALE'] as const),
  ])
  const coded = (texts: Iterable<string>): Coded =>
    [...texts].flatMap((text) => {
      const gender = genders.get(text)
      return gender === undefined ? [] : [[text, gender] as const]
    })
  const found = coded(distinct)
  const has = (text: string): boolean => found.some(([code]) => code.toUpperCase() === text)
  if (has('H') && has('M') && !has('F')) {
    const codes = found.map(([code]) => [code, code.toUpperCase() === 'M' ? 'FEMALE' : 'MALE'] as const)
    return { codes: codes.sort(byGender), why: 'H and M are read as hombre and mujer; is this right?' }
  }
  const [only, another] = found
  const pairs = [...partners].flatMap(([one, other]) =>
    written(one).map((word, at) => [word, written(other)[at] ?? '']),
  )
  const pair = another === undefined ? pairs.find((words) => words.includes(only?.[0] ?? '')) : undefined
  const partner = pair?.filter((word) => word !== only?.[0]) ?? []
  return { codes: [...found, ...coded(partner)].sort(byGender) }
}

const byGender = ([, a]: Coded[number], [, b]: Coded[number]): number => a.localeCompare(b)
