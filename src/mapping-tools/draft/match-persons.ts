/** Whose row it is: reference, registration, care team; and when it was observed. */
import type { ColumnProfile, Profile } from './profile-columns.ts'
import { type DraftLine, list, scalar } from './sample.ts'

/** The first column that is called by one of the names. */
export const named = (
  columns: readonly ColumnProfile[],
  names: readonly string[],
): ColumnProfile | undefined => {
  for (const name of names) {
    const found = columns.find(({ words }) => words.join(' ') === name)
    if (found !== undefined) return found
  }
  return undefined
}

const PERSON = [
  'participant',
  'patient',
  'member',
  'person',
  'subject',
  'employee',
  'subscriber',
  'user',
  'client',
  'external',
]
const REFERENCE = [
  ...PERSON.flatMap((person) => [
    `${person} id`,
    `${person} number`,
    `${person} no`,
    `${person} identifier`,
    `${person}id`,
  ]),
  ...['mrn', 'medical record number', 'pid', 'seqn', 'emp id', 'empid', ...PERSON, 'id', 'uid', 'identifier'],
]

/** The column that names the person; by its name, else the first whose cells are all filled and different. */
export function findReference({
  columns,
  rows,
}: Profile): { column: ColumnProfile; sure: boolean } | undefined {
  const byName = named(
    columns.filter(({ filled }) => filled.length > 0),
    REFERENCE,
  )
  if (byName !== undefined) return { column: byName, sure: true }
  const whole = columns.filter(({ filled }) => filled.length === rows)
  const column =
    whole.find(
      ({ distinct, dates, words }) => distinct.size === rows && dates === undefined && words.includes('id'),
    ) ??
    whole.find(({ distinct, dates }) => distinct.size === rows && dates === undefined) ??
    whole[0]
  return column && { column, sure: false }
}

const OBSERVED = [
  ...[
    'collected',
    'collection',
    'drawn',
    'draw',
    'screened',
    'screening',
    'visit',
    'visited',
    'exam',
    'examination',
    'observation',
  ],
  ...[
    'observed',
    'measured',
    'measurement',
    'service',
    'dos',
    'encounter',
    'test',
    'specimen',
    'taken',
    'effective',
    'event',
    'start',
    'onset',
  ],
]
const NOT_OBSERVED = new Set([
  'dob',
  'birth',
  'birthdate',
  'death',
  'deathdate',
  'created',
  'updated',
  'modified',
  'export',
  'exported',
  'loaded',
  'stop',
  'end',
  'abatement',
])

/** The column of dates that most likely says when it was observed. */
export function findObserved(columns: readonly ColumnProfile[]): ColumnProfile | undefined {
  const dates = columns.filter(
    ({ dates, words }) => dates !== undefined && !words.some((word) => NOT_OBSERVED.has(word)),
  )
  const rank = ({ words }: ColumnProfile): number => {
    const at = OBSERVED.findIndex((word) => words.includes(word))
    if (at !== -1) return at
    return words.some((word) => ['date', 'datetime', 'timestamp', 'time', 'when'].includes(word)) ? 50 : 100
  }
  return [...dates].sort((a, b) => rank(a) - rank(b))[0]
}

const REGISTER = {
  firstName: [
    'first name',
    'firstname',
    'fname',
    'given name',
    'first',
    'given',
    'pat first name',
    'patient first name',
    'member first name',
  ],
  lastName: [
    'last name',
    'lastname',
    'lname',
    'family name',
    'surname',
    'last',
    'family',
    'patient last name',
    'member last name',
  ],
  dateOfBirth: [
    'dob',
    'date of birth',
    'birth date',
    'birthdate',
    'birth dt',
    'birthday',
    'patient dob',
    'member dob',
  ],
  gender: ['gender', 'sex', 'patient sex', 'patient gender', 'member gender'],
  postalCode: [
    'zip',
    'zip code',
    'zipcode',
    'postal code',
    'postalcode',
    'postcode',
    'postal',
    'home zip',
    'zip5',
  ],
} as const
type RegisterKey = keyof typeof REGISTER

export type Registered = ReadonlyMap<RegisterKey, ColumnProfile>

export function findRegistration(columns: readonly ColumnProfile[]): Registered {
  const found = new Map<RegisterKey, ColumnProfile>()
  for (const key of Object.keys(REGISTER) as RegisterKey[]) {
    const column = named(columns, REGISTER[key])
    if (column !== undefined) found.set(key, column)
  }
  return found
}

/** The `register` block where all of it is there, or a comment that says what is not. */
export function registerLines(registered: Registered): DraftLine[] {
  const missing = (Object.keys(REGISTER) as RegisterKey[]).filter((key) => !registered.has(key))
  if (registered.size === 0)
    return [{ note: 'Nobody is named here, so people cannot be registered from this export.' }]
  if (missing.length > 0)
    return [
      {
        note: `To register people, ${missing.join(', ')} would be needed too; ${[...registered.keys()].join(', ')} ${registered.size === 1 ? 'is' : 'are'} there.`,
      },
    ]
  return [{ yaml: 'register:' }, ...[...registered].map(([key, column]) => registerLine(key, column))]
}

function registerLine(key: RegisterKey, column: ColumnProfile): DraftLine {
  const path = scalar(column.path)
  if (key === 'gender') return genderLine(column)
  if (key !== 'dateOfBirth') return { yaml: `  ${key}: ${path}` }
  const forms = column.dates?.forms.filter((form) => form !== 'EPOCH_MS') ?? []
  if (forms.length === 0)
    return {
      yaml: `  ${key}: ${path}`,
      note: 'DECIDE: which form? For example { from: …, format: MM/dd/yyyy }',
    }
  const short = forms.some((form) => /(?<!y)yy(?!y)/.test(form))
  if (short)
    return {
      yaml: `  ${key}: ${path}`,
      note: 'DECIDE: years have two digits; ask for dates of birth with four',
    }
  const note = column.dates?.ambiguous ? { note: MONTH_OR_DAY } : {}
  return {
    yaml: `  ${key}: { from: ${path}, format: ${forms.length === 1 ? scalar(forms[0] ?? '') : list(forms)} }`,
    ...note,
  }
}

export const MONTH_OR_DAY =
  'DECIDE: month first or day first? No number above 12 in the sample tells; ask the vendor'

const GENDERS: readonly (readonly [female: string, male: string])[] = [
  ['F', 'M'],
  ['f', 'm'],
  ['Female', 'Male'],
  ['female', 'male'],
  ['FEMALE', 'MALE'],
]

function genderLine(column: ColumnProfile): DraftLine {
  const pairs = GENDERS.filter((pair) => pair.some((word) => column.distinct.has(word)))
  const table = pairs.map(([female, male]) => `${scalar(female)}: FEMALE, ${scalar(male)}: MALE`).join(', ')
  const others = [...column.distinct].filter((text) => !pairs.flat().includes(text)).length
  return {
    yaml: `  gender: { from: ${scalar(column.path)}, table: { ${table} } }`,
    ...(others === 0
      ? {}
      : { note: `DECIDE: ${others} other ${others === 1 ? 'code stands' : 'codes stand'} there too` }),
  }
}
