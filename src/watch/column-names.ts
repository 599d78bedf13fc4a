/** Meaning of a column by its name alone: part of a registration, part of a row, companion of a value. */
import { isCalled, type KnownNames, type NameWords, nameWords, type Words } from './names.ts'

export const REGISTER = ['firstName', 'lastName', 'dateOfBirth', 'gender', 'postalCode'] as const
type RegisterKey = (typeof REGISTER)[number]

/** Names of a column, also with the person before or after. */
export const namesOfPeople = (names: readonly string[], people: readonly string[]): string[] => [
  ...names,
  ...people.flatMap((one) => names.flatMap((name) => [`${one} ${name}`, `${name} ${one}`])),
]

/** Fields of a registration by the name of a column. */
export const registeredAs = (words: readonly string[], { register }: Words): RegisterKey[] =>
  REGISTER.filter((key) => isCalled(words, namesOfPeople(register[key], register.whose)))

/** Subject of a column: a part of the row. */
export type PartOfRow = 'value' | 'remark' | 'date' | 'person' | 'unit'

/** Part of a row by the name of a column; undefined for unknown names. */
export function partOfRow({ outside }: NameWords, { ofRow, wide }: Words): PartOfRow | undefined {
  const part = (['date', 'person', 'unit'] as const).find((one) => isCalled(outside, ofRow[one]))
  if (part !== undefined) return part
  const rest = outside.filter((word) => !ofRow.about.includes(word))
  if (rest.length > 0 && rest.every((word) => ofRow.remark.includes(word))) return 'remark'
  // Alone, `state` belongs to an address, `prefix` to a name.
  const flags = rest.length < outside.length ? [...wide.beside, ...ofRow.alone] : ofRow.alone
  const isFlag = rest.length > 0 && rest.every((word) => flags.includes(word))
  return isFlag || isCalled(outside, ofRow.alone) ? 'value' : undefined
}

/** True if a name consists of a value's name and further words: `glucose_flag` for `glucose`, `ferritin sign` for `ferritin_ng_ml`. */
export function isBeside(
  value: NameWords,
  other: NameWords,
  { words, naming }: Pick<KnownNames, 'words' | 'naming'>,
): boolean {
  const cut = [3, 2, 1, 0].find(
    (length) => length === 0 || naming.unitWords.has(value.outside.slice(-length).join('')),
  )
  const stem = value.outside.slice(0, Math.max(1, value.outside.length - (cut ?? 0)))
  const rest = other.outside.slice(stem.length)
  return (
    rest.length > 0 &&
    stem.every((word, at) => other.outside[at] === word) &&
    rest.every((word) => [...words.wide.beside, ...words.wide.how].includes(word))
  )
}

/** Unread columns that belong to the value of a column, or name the same measurement. */
export const columnsBeside = (
  column: string,
  key: string,
  unread: readonly string[],
  names: KnownNames,
): string[] => {
  const value = nameWords(column, names.naming)
  return unread.filter((one) => {
    const name = nameWords(one, names.naming)
    const match = names.measurements.match(name)
    return isBeside(value, name, names) || (match?.kind === 'is' && match.keys.includes(key))
  })
}
