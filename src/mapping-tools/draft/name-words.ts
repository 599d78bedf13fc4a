/** The words in a column's name: `BPSys`, `bp_sys` and `BP sys (mm Hg)` are the same two, and a unit. */

export interface NameWords {
  /** Lower case, without marks above letters, without the text in brackets and without words that say nothing. */
  readonly words: readonly string[]
  /** What stands in brackets: mostly a unit. */
  readonly bracketed: string | undefined
}

const SAY_NOTHING = new Set([
  'value',
  'val',
  'result',
  'results',
  'measured',
  'reading',
  'lab',
  'level',
  'serum',
  'wert',
  'messwert',
  'ergebnis',
  'valeur',
  'resultat',
  'valor',
  'resultado',
])
const LONGEST_NAME = 200

export function nameWords(name: string): NameWords {
  const short = name.slice(0, LONGEST_NAME)
  const bracketed = /[([]([^()[\]]*)[)\]]\s*$/.exec(short)?.[1]?.trim()
  const words = plainLetters(short)
    .replace(/[([][^()[\]]*[)\]]\s*$/, '')
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll(/([A-Z]+)([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '')
  const telling = words.filter((word) => !SAY_NOTHING.has(word))
  return { words: telling.length > 0 ? telling : words, bracketed: bracketed || undefined }
}

/** `Größe` and `Prénom` as `Grosse` and `Prenom`: exports are written with marks above letters and without. */
const plainLetters = (text: string): string =>
  text.replaceAll('ß', 'ss').replaceAll('µ', 'u').normalize('NFD').replaceAll(/\p{M}/gu, '')

/** Words without what lies between them: `sys bp` and `sysbp` are one. */
export const joined = (words: readonly string[]): string => words.join('')

/** The same words in whatever order. */
const sorted = (words: readonly string[]): string => [...words].sort().join(' ')

/** Which keys a name stands for. */
export interface Dictionary {
  keysOf(words: readonly string[]): readonly string[]
}

/** @param synonyms pairs of key and name; the words of a key are a name of it, too */
export function createDictionary(synonyms: Iterable<readonly [key: string, name: string]>): Dictionary {
  const keys = new Map<string, Set<string>>()
  const add = (form: string, key: string): void => {
    const there = keys.get(form)
    if (there === undefined) keys.set(form, new Set([key]))
    else there.add(key)
  }
  for (const [key, name] of synonyms) {
    const { words } = nameWords(name)
    for (const form of new Set([joined(words), sorted(words)])) add(form, key)
  }
  return {
    keysOf: (words) =>
      words.length === 0 ? [] : [...(keys.get(joined(words)) ?? keys.get(sorted(words)) ?? [])],
  }
}
