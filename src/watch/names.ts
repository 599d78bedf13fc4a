/** Meaning of column and test names, from catalog, units and words of four languages (words.yaml). Unknown words are never ignored. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { parseYaml } from '../system/yaml-file.ts'
import type { Catalog } from '../transform/catalog.ts'
import type { Units } from '../transform/units.ts'

interface Naming {
  readonly silent: readonly string[]
  /** Texts in brackets without meaning, without spaces: `y n`, `mm dd yyyy`. */
  readonly asides: readonly string[]
  /** Returns the unit of a text, as a mapping can write it. */
  readonly unitOf: (text: string) => string | undefined
  /** Words for the first, second … of several readings. */
  readonly ordinals: readonly (readonly string[])[]
  /** Units by the last words of names, without spaces. */
  readonly unitWords: ReadonlyMap<string, string>
}

/** Words of a name: `BPSys`, `bp_sys` and `BP sys (mm Hg)` have the same two, and a unit. */
export interface NameWords {
  /** Lower case, without diacritics, silent words, and the unit in brackets. */
  readonly words: readonly string[]
  /** All words before the brackets, and within. */
  readonly outside: readonly string[]
  readonly within: readonly string[]
  readonly remarks: readonly string[]
  readonly unit: string | undefined
  /** Words of `outside` before and after a slash or colon; empty unless there is exactly one. */
  readonly sides: readonly (readonly string[])[]
}

const LONGEST_NAME = 200
const BRACKETS = /[([]([^()[\]]*)[)\]]\s*$/

/** Words before the brackets of a name, and within, without a look at the library of units. */
function wordsOf(name: string) {
  const short = name.slice(0, LONGEST_NAME)
  const bare = short.replace(BRACKETS, '')
  const parts = (BRACKETS.exec(short)?.[1] ?? '').split(/[,;]/).map((part) => part.trim())
  return { bare, parts, outside: wordsIn(bare), within: parts.flatMap(wordsIn) }
}

export function nameWords(name: string, { silent, asides, unitOf }: Naming): NameWords {
  const { bare, parts, outside, within } = wordsOf(name)
  const unit = unitOf(parts.join(',')) ?? parts.map(unitOf).find((one) => one !== undefined)
  const remarks = parts.filter((part) => unitOf(part) === undefined).flatMap(wordsIn)
  const remarked =
    remarks.some((word) => !silent.includes(word)) &&
    unitOf(parts.join(',')) === undefined &&
    !asides.some((aside) => aside.replaceAll(' ', '') === remarks.join(''))
  const words = remarked ? [...outside, ...remarks] : outside
  return {
    words: telling(words, silent),
    outside,
    within,
    remarks: remarked ? remarks : [],
    unit,
    sides: sidesOf(bare),
  }
}

function sidesOf(name: string): string[][] {
  const sides = name.split(/[/:]/).map(wordsIn)
  return sides.length === 2 && sides.every(({ length }) => length > 0) ? sides : []
}

const wordsIn = (text: string): string[] =>
  plainLetters(text.replaceAll('%', ' percent '))
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll(/([A-Z]+)([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .replaceAll(/(?<=\p{L}{3})einheit(?:en)?\b/gu, ' $&')
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '')

/** Words of a text, joined. */
export const joined = (text: string): string => wordsIn(text).join('')

function telling(words: readonly string[], silent: readonly string[]): readonly string[] {
  const left = words.filter((word) => !silent.includes(word))
  return left.length > 0 ? left : words
}

/** Removes diacritics: `Größe` becomes `Grosse`, as exports spell names both ways. */
const plainLetters = (text: string): string =>
  text.replaceAll('ß', 'ss').replaceAll('µ', 'u').normalize('NFD').replaceAll(/\p{M}/gu, '')

/** True if the words are one of the names; spaces have no meaning: `sys bp` equals `sysbp`. */
export const isCalled = (words: readonly string[], names: readonly string[]): boolean => {
  const called = words.join('')
  return names.some((name) => name.replaceAll(' ', '') === called)
}

/** True if a word matches a pattern; `*` at an end matches any letters. */
export const hasWord = (words: readonly string[], patterns: readonly string[]): boolean =>
  words.some((word) =>
    patterns.some((pattern) => {
      if (pattern.endsWith('*')) return word.startsWith(pattern.slice(0, -1))
      return pattern.startsWith('*') ? word.endsWith(pattern.slice(1)) : word === pattern
    }),
  )

/** Meaning of a name. */
export type NameMatch =
  | {
      readonly kind: 'is'
      readonly keys: readonly string[]
      readonly unit: string | undefined
      /** Number of a reading; default 1. */
      readonly ordinal: number
    }
  /** Known name with unknown words: `Weight (goal)`. */
  | { readonly kind: 'like'; readonly keys: readonly string[] }

/** Catalog keys by name. */
export interface Dictionary {
  keysOf(words: readonly string[]): readonly string[]
  /** Looks up a name; undefined if it has no known words. @param leftOut words to ignore around the name */
  match(name: NameWords, leftOut?: readonly string[]): NameMatch | undefined
}

function createDictionary(
  naming: Naming,
  synonyms: Iterable<readonly [key: string, name: string]>,
): Dictionary {
  const keys = new Map<string, Set<string>>()
  const shortened = new Map<string, Set<string>>()
  const formsOf = (words: readonly string[]): string[] => [words.join(''), [...words].sort().join(' ')]
  const add = (to: typeof keys, words: readonly string[], key: string): void => {
    for (const form of formsOf(words)) {
      const there = to.get(form)
      if (there === undefined) to.set(form, new Set([key]))
      else there.add(key)
    }
  }
  for (const [key, name] of synonyms) {
    const { outside, within } = wordsOf(name)
    for (const words of [outside, [...outside, ...within]]) {
      add(keys, words, key)
      add(shortened, telling(words, naming.silent), key)
    }
  }
  const keysOf: Dictionary['keysOf'] = (words) => {
    const [together = '', sorted = ''] = formsOf(words)
    const find = (known: typeof keys): ReadonlySet<string> | undefined =>
      known.get(together) ?? known.get(sorted)
    return words.length === 0 ? [] : [...(find(keys) ?? find(shortened) ?? [])]
  }
  /** Returns the first way of splitting the words that has a meaning, the whole first. */
  const taken = (words: readonly string[]): NameMatch | undefined => {
    for (const cut of withoutUnit(words, naming))
      for (const { called, ordinal } of [
        { called: cut.words, ordinal: 1 },
        withoutOrdinal(cut.words, naming),
      ]) {
        const found = keysOf(called)
        if (found.length > 0) return { kind: 'is', keys: found, unit: cut.unit, ordinal }
      }
    return undefined
  }
  return {
    keysOf,
    match({ outside, within, remarks, unit, sides }, leftOut = []) {
      const kept = (words: readonly string[]): readonly string[] =>
        words.filter((word) => !leftOut.includes(word))
      const read = (words: readonly string[]): NameMatch | undefined =>
        taken(kept(words)) ?? taken(telling(kept(words), naming.silent))
      const ratio = ratioOf(sides, read)
      if (ratio !== undefined) return ratio
      const whole = within.length === 0 ? undefined : read([...outside, ...within])
      if (whole !== undefined) return whole
      const beside = remarks.length === 0 ? undefined : read([...outside, ...remarks])
      if (beside?.kind === 'is') return { ...beside, unit: unit ?? beside.unit }
      const bare = read(outside)
      const words = telling(kept([...outside, ...within]), naming.silent)
      const alike = (): NameMatch | undefined => likeness(words, keysOf)
      if (bare?.kind !== 'is') return alike()
      const same = keysOf(within)
      if (same.length > 0 && same.every((key) => bare.keys.includes(key))) return bare
      return remarks.length > 0 ? { kind: 'like', keys: bare.keys } : { ...bare, unit: unit ?? bare.unit }
    },
  }
}

/** Matches `Chol/HDL`, a ratio with the denominator last; undefined for a single measurement. */
function ratioOf(
  sides: NameWords['sides'],
  read: (words: readonly string[]) => NameMatch | undefined,
): NameMatch | undefined {
  const [above, below] = sides.map(read)
  if (above?.kind !== 'is' || below?.kind !== 'is') return undefined
  if (above.keys.some((key) => below.keys.includes(key))) return undefined
  const ratio = read([...sides.flat(), 'ratio'])
  if (ratio?.kind === 'is') {
    const [key = '', another] = ratio.keys
    const isOver = below.keys.some((one) => key.includes(`-${one.split('-')[0]}-`))
    if (another === undefined && isOver) return ratio
  }
  return { kind: 'like', keys: [...above.keys, ...below.keys] }
}

/** Minimum length of a name; shorter names occur in too many words. */
const SHORTEST = 3

/** Longest run of words that is a name. */
function likeness(words: readonly string[], keysOf: Dictionary['keysOf']): NameMatch | undefined {
  for (let length = words.length - 1; length > 0; length--)
    for (let from = 0; from + length <= words.length; from++) {
      const run = words.slice(from, from + length)
      const keys = run.join('').length < SHORTEST ? [] : keysOf(run)
      if (keys.length > 0) return { kind: 'like', keys }
    }
  return undefined
}

function withoutUnit(
  words: readonly string[],
  { unitWords }: Naming,
): { readonly words: readonly string[]; readonly unit?: string }[] {
  const cut = [3, 2, 1].flatMap((length) => {
    const unit = words.length > length ? unitWords.get(words.slice(-length).join('')) : undefined
    return unit === undefined ? [] : [{ words: words.slice(0, -length), unit }]
  })
  return [{ words }, ...cut]
}

/** Removes an ordinal: `sbp 1`, `bpxsy1`, `1st sbp`, `sbp second` are readings of a series. */
export function withoutOrdinal(
  words: readonly string[],
  { ordinals }: Pick<Naming, 'ordinals'>,
): { called: readonly string[]; ordinal: number } {
  const [, bare = '', digit] = /^(.*?)(\d)$/.exec(words.at(-1) ?? '') ?? []
  if (digit !== undefined)
    return { called: [...words.slice(0, -1), ...(bare === '' ? [] : [bare])], ordinal: Number(digit) }
  const ordinalOf = (word: string | undefined): number =>
    ordinals.findIndex((all) => all.includes(word ?? '')) + 1
  const [before, behind] = [ordinalOf(words[0]), ordinalOf(words.at(-1))]
  if (words.length < 2 || before + behind === 0) return { called: words, ordinal: 1 }
  return before > 0
    ? { called: words.slice(1), ordinal: before }
    : { called: words.slice(0, -1), ordinal: behind }
}

const Texts = z.array(z.string())
const lists = <const Keys extends readonly [string, ...string[]]>(...keys: Keys) =>
  z.record(z.enum(keys), Texts)
/** Names of a column, and last words of names. */
const Called = lists('names', 'ending')
/** Map instead of an object: texts of an export could be names of Object.prototype. */
const mapOf = <Value extends z.ZodType>(value: Value) =>
  z.record(z.string(), value).transform((entries) => new Map(Object.entries(entries)))
const Bounds = z.tuple([z.coerce.number(), z.coerce.number()])

const Words = z.strictObject({
  cells: lists(
    ...(['meaningless', 'yes', 'no', 'female', 'male'] as const),
    ...(['final', 'finalLetters', 'notFinal', 'notFinalLetters', 'withdrawn', 'withdrawnLetters'] as const),
  ).and(z.object({ partners: mapOf(z.string()) })),
  silent: Texts,
  asides: Texts,
  ordinals: z.array(Texts),
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
  notHeld: lists('whole', 'within'),
  totals: Texts,
  otherwise: Texts,
  wide: lists(
    ...(['fasting', 'notFasting', 'bloodPressure', 'diagnosed', 'beside', 'how'] as const),
    ...(['providerName', 'providerPhone', 'primary', 'physician', 'physicians'] as const),
  ),
  ofRow: lists('alone', 'remark', 'about', 'date', 'person', 'ordinal', 'unit').and(
    z.object({ texts: z.record(z.enum(['date', 'person', 'unit']), z.string()) }),
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
    unconverted: mapOf(z.string()),
    usual: mapOf(mapOf(Bounds)),
  }),
})
export type Words = z.infer<typeof Words>

const FILE = fileURLToPath(new URL('words.yaml', import.meta.url))

/** Read with the first names. @throws `catalog-invalid` if the file was changed */
let shippedWords: Words | undefined
const readWords = (): Words =>
  (shippedWords ??= parseYaml(readFileSync(FILE, 'utf8'), FILE, Words, 'catalog-invalid', 'text').value)

/** Names known to the catalog and words.yaml, with their meaning. */
export interface KnownNames {
  readonly catalog: Catalog
  readonly units: Units
  readonly words: Words
  readonly naming: Naming
  readonly measurements: Dictionary
  readonly conditions: Dictionary
}

/** @param synonyms pairs of catalog key and name (`mappings/catalog/synonyms.csv`) */
export function knownNames(
  catalog: Catalog,
  units: Units,
  synonyms: readonly (readonly [key: string, name: string])[],
  words: Words = readWords(),
): KnownNames {
  const unitOf = (text: string): string | undefined =>
    units.resolve(text) === undefined ? words.units.words.get(joined(text)) : text
  const naming = { ...words, unitOf, unitWords: words.units.words }
  const own = (entries: ReadonlyMap<string, { readonly name: string }>): Dictionary =>
    createDictionary(naming, [
      ...[...entries].flatMap(([key, { name }]) => [[key, key] as const, [key, name] as const]),
      ...synonyms.filter(([key]) => entries.has(key)),
    ])
  let measurements: Dictionary | undefined
  let conditions: Dictionary | undefined
  return {
    catalog,
    units,
    words,
    naming,
    // Made with the first name to look up: exports of JSON have none.
    get measurements() {
      measurements ??= own(catalog.biometrics)
      return measurements
    },
    get conditions() {
      conditions ??= own(catalog.conditions)
      return conditions
    },
  }
}
