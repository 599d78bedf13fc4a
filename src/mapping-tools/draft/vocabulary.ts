/** What a draft understands: catalog, units, and the words of people in four languages (words.yaml). */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import type { Catalog } from '../../transform/catalog.ts'
import type { Units } from '../../transform/units.ts'
import { parseYaml } from '../../yaml-file.ts'
import { createDateFinder, type FindDateForms } from './find-dates.ts'
import { createDictionary, type Dictionary, joined, type Naming } from './names.ts'

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
  cells: lists(
    ...(['meaningless', 'yes', 'no', 'female', 'male'] as const),
    ...(['final', 'finalLetters', 'notFinal', 'notFinalLetters'] as const),
  ).and(z.object({ partners: mapOf(z.string()) })),
  silent: Texts,
  asides: Texts,
  reference: lists('people', 'after', 'before', 'others', 'last'),
  register: lists('whose', 'firstName', 'lastName', 'dateOfBirth', 'gender', 'postalCode'),
  lastBesideFirst: mapOf(Texts),
  dates: lists(
    'numbers',
    'observed',
    'found',
    'between',
    'timesOfDay',
    'any',
    'never',
    'forms',
    'days',
    'times',
  ),
  leftOut: Texts,
  totals: Texts,
  otherwise: Texts,
  wide: lists(
    ...(['fasting', 'bloodPressure', 'diagnosed'] as const),
    ...(['providerName', 'providerPhone', 'primary', 'physician', 'physicians'] as const),
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
  readonly naming: Naming
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
  const unitOf = (text: string): string | undefined =>
    units.resolve(text) === undefined ? words.units.words.get(joined(text)) : text
  const naming = { ...words, unitOf, unitWords: words.units.words }
  const own = (entries: ReadonlyMap<string, { readonly name: string }>): Dictionary =>
    createDictionary(naming, [
      ...[...entries].flatMap(([key, { name }]) => [[key, key] as const, [key, name] as const]),
      ...synonyms.filter(([key]) => entries.has(key)),
    ])
  const { forms, days, times } = words.dates
  const findDates = createDateFinder([...forms, ...days.flatMap((day) => times.map((time) => day + time))])
  const [measurements, conditions] = [own(catalog.biometrics), own(catalog.conditions)]
  return { catalog, units, words, naming, measurements, conditions, findDates }
}
