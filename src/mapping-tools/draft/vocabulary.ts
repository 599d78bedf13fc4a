/** What a draft understands: catalog, units, and the words of people in four languages (words.yaml). */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import type { Catalog } from '../../transform/catalog.ts'
import type { Units } from '../../transform/units.ts'
import { parseYaml } from '../../yaml-file.ts'
import { createDateFinder, type FindDateForms } from './find-dates.ts'

const Texts = z.array(z.string())
const lists = <const Keys extends readonly [string, ...string[]]>(...keys: Keys) =>
  z.record(z.enum(keys), Texts)
/** Names of a column, and last words of names. */
const Called = lists('names', 'ending')
/** A map, since what is looked up in it is a text of the export, which can be the name of what every object has. */
const mapOf = <Value extends z.ZodType>(value: Value) =>
  z.record(z.string(), value).transform((entries) => new Map(Object.entries(entries)))
const Bounds = z.tuple([z.coerce.number(), z.coerce.number()])

/** The form of words.yaml, which says what each of them is. */
const Words = z.strictObject({
  cells: lists('meaningless', 'yes', 'no', 'final', 'female', 'male').and(
    z.object({ partners: mapOf(z.string()) }),
  ),
  silent: Texts,
  reference: lists('people', 'after', 'before', 'others', 'last'),
  register: lists('firstName', 'lastName', 'dateOfBirth', 'gender', 'postalCode'),
  lastBesideFirst: mapOf(Texts),
  dates: lists('numbers', 'observed', 'any', 'never', 'forms', 'days', 'times'),
  leftOut: Texts,
  wide: lists(
    ...(['fasting', 'bloodPressure', 'diagnosed'] as const),
    ...(['providerName', 'providerPhone', 'primary', 'physicians'] as const),
  ),
  long: z.strictObject({
    value: Called,
    unit: Called,
    range: Called,
    status: Called,
    clinicalStatus: Called,
    ended: Called,
    test: Texts,
  }),
  units: z.strictObject({
    words: mapOf(z.string()),
    alternatives: mapOf(Texts),
    usual: mapOf(mapOf(Bounds)),
  }),
})
export type Words = z.infer<typeof Words>

const FILE = fileURLToPath(new URL('words.yaml', import.meta.url))

/** @throws WaybillError `catalog-invalid` where the file is not as it is shipped */
export const readWords = (): Words =>
  parseYaml(readFileSync(FILE, 'utf8'), FILE, Words, 'catalog-invalid', 'text').value

/** What names are matched with. */
export interface Vocabulary {
  readonly catalog: Catalog
  readonly units: Units
  readonly words: Words
  readonly measurements: Dictionary
  readonly conditions: Dictionary
  readonly findDates: FindDateForms
}

/** @param synonyms pairs of catalog key and name (`mappings/catalog/synonyms.csv`) */
export function createVocabulary(
  catalog: Catalog,
  units: Units,
  synonyms: readonly (readonly [key: string, name: string])[],
  words: Words = readWords(),
): Vocabulary {
  const own = (entries: ReadonlyMap<string, { readonly name: string }>): Dictionary =>
    createDictionary(words, [
      ...[...entries].flatMap(([key, { name }]) => [[key, key] as const, [key, name] as const]),
      ...synonyms.filter(([key]) => entries.has(key)),
    ])
  const { forms, days, times } = words.dates
  const findDates = createDateFinder([...forms, ...days.flatMap((day) => times.map((time) => day + time))])
  const [measurements, conditions] = [own(catalog.biometrics), own(catalog.conditions)]
  return { catalog, units, words, measurements, conditions, findDates }
}

/** The words in a column's name: `BPSys`, `bp_sys` and `BP sys (mm Hg)` are the same two, and a unit. */
export interface NameWords {
  /** Lower case, without marks above letters, without the text in brackets and without words that say nothing. */
  readonly words: readonly string[]
  /** What stands in brackets: mostly a unit. */
  readonly bracketed: string | undefined
}

const LONGEST_NAME = 200

export function nameWords(name: string, { silent }: Words): NameWords {
  const short = name.slice(0, LONGEST_NAME)
  const bracketed = /[([]([^()[\]]*)[)\]]\s*$/.exec(short)?.[1]?.trim()
  const words = plainLetters(short)
    .replace(/[([][^()[\]]*[)\]]\s*$/, '')
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll(/([A-Z]+)([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '')
  const telling = words.filter((word) => !silent.includes(word))
  return { words: telling.length > 0 ? telling : words, bracketed: bracketed || undefined }
}

/** `Größe` and `Prénom` as `Grosse` and `Prenom`: exports are written with marks above letters and without. */
const plainLetters = (text: string): string =>
  text.replaceAll('ß', 'ss').replaceAll('µ', 'u').normalize('NFD').replaceAll(/\p{M}/gu, '')

/** Whether a column is called by one of the names; spaces say nothing: `sys bp` and `sysbp` are one. */
export const isCalled = (words: readonly string[], names: readonly string[]): boolean => {
  const called = words.join('')
  return names.some((name) => name.replaceAll(' ', '') === called)
}

/** Whether one of the words is one of the patterns, in which `*` stands for any letters at its end. */
export const hasWord = (words: readonly string[], patterns: readonly string[]): boolean =>
  words.some((word) =>
    patterns.some((pattern) => {
      if (pattern.endsWith('*')) return word.startsWith(pattern.slice(0, -1))
      return pattern.startsWith('*') ? word.endsWith(pattern.slice(1)) : word === pattern
    }),
  )

/** Which catalog keys a name stands for. */
export interface Dictionary {
  keysOf(words: readonly string[]): readonly string[]
}

/** @param synonyms pairs of key and name, whose words are known in whatever order */
function createDictionary(
  vocabulary: Words,
  synonyms: Iterable<readonly [key: string, name: string]>,
): Dictionary {
  const keys = new Map<string, Set<string>>()
  const formsOf = (words: readonly string[]): string[] => [words.join(''), [...words].sort().join(' ')]
  for (const [key, name] of synonyms)
    for (const form of formsOf(nameWords(name, vocabulary).words)) {
      const there = keys.get(form)
      if (there === undefined) keys.set(form, new Set([key]))
      else there.add(key)
    }
  return {
    keysOf(words) {
      const [together, sorted] = formsOf(words).map((form) => keys.get(form))
      return words.length === 0 ? [] : [...(together ?? sorted ?? [])]
    },
  }
}
