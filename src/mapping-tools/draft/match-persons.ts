/** Whose row it is: reference and registration. */
import { genderLine } from './gender-codes.ts'
import { joined } from './name-words.ts'
import { LAST_BESIDE_FIRST, REFERENCE, REGISTER } from './person-words.ts'
import type { ColumnProfile, Profile } from './profile-columns.ts'
import { type DraftLine, list, scalar } from './sample.ts'

/** The first column that is called by one of the names; spaces within them say nothing. */
export const named = (
  columns: readonly ColumnProfile[],
  names: readonly string[],
): ColumnProfile | undefined => {
  for (const name of names) {
    const found = columns.find(({ words }) => joined(words) === name.replaceAll(' ', ''))
    if (found !== undefined) return found
  }
  return undefined
}

/**
 * The column that names the person; by its name, else the first whose cells are all filled and different.
 * @param taken paths of columns that are something else: measurements, codes, parts of a name
 */
export function findReference(
  { columns, rows }: Profile,
  taken: ReadonlySet<string>,
): { column: ColumnProfile; sure: boolean } | undefined {
  const free = columns.filter(({ filled, path }) => filled.length > 0 && !taken.has(path))
  const byName = named(free, REFERENCE)
  if (byName !== undefined) return { column: byName, sure: true }
  const whole = free.filter(({ filled, dates }) => filled.length === rows && dates === undefined)
  const column =
    whole.find(({ distinct, words }) => distinct.size === rows && words.includes('id')) ??
    whole.find(({ distinct }) => distinct.size === rows) ??
    whole[0]
  return column && { column, sure: false }
}

type RegisterKey = keyof typeof REGISTER

export type Registered = ReadonlyMap<RegisterKey, ColumnProfile>

export function findRegistration(columns: readonly ColumnProfile[]): Registered {
  const found = new Map<RegisterKey, ColumnProfile>()
  for (const key of Object.keys(REGISTER) as RegisterKey[]) {
    const column = named(columns, REGISTER[key])
    if (column !== undefined) found.set(key, column)
  }
  const first = found.get('firstName')
  if (first === undefined || found.has('lastName')) return found
  const last = named(columns, LAST_BESIDE_FIRST[joined(first.words)] ?? [])
  return last === undefined ? found : new Map([...found, ['lastName', last]])
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
