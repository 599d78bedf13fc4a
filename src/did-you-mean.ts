/** What somebody meant who wrote a word that is not known. */
import { closestMatch } from 'leven'

/**
 * `; did you mean "x"?`, to be put behind a message; or '' where no known word is near. Near is one letter of three
 * that is wrong, letters in another order (`jsno`), or a word that is a part of the other (`a1c`, `hba1c`).
 */
export function didYouMean(word: string, known: Iterable<string>): string {
  const words = [...known]
  const small = new Map(words.map((one) => [one.toLowerCase(), one]))
  const written = word.toLowerCase()
  const maxDistance = Math.max(1, Math.floor(written.length / 3))
  const keys = [...small.keys()]
  const near =
    closestMatch(written, keys, { maxDistance }) ??
    keys.find((one) => sorted(one) === sorted(written)) ??
    holding(written, keys)
  return near === undefined ? '' : `; did you mean "${small.get(near)}"?`
}

const sorted = (word: string): string => [...word].sort().join('')

/** The shortest word that one is a part of, or that is a part of it. Words of two letters are in too many. */
function holding(written: string, words: readonly string[]): string | undefined {
  const [shortest] = words
    .filter((one) =>
      one.length > written.length
        ? written.length > 2 && one.includes(written)
        : one.length > 2 && written.includes(one),
    )
    .sort((a, b) => a.length - b.length)
  return shortest
}
