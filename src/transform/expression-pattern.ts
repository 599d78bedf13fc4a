/** Regular expressions within expressions, on RE2 as all others (pattern.ts), in the form in which JSONata asks them. */
import { RE2JS } from 're2js'
import { spend } from './expression-bounds.ts'

/** Characters that one search may look through with the simplest expression. */
const MOST_TEXT = 2_000_000

/** Units of a search, beside what it looks through. */
const SEARCH = 20

const compiled = new WeakMap<RegExp, RE2JS>()

/** What JSONata needs of a RegExp with the flag `g`. */
export class LinearPattern {
  lastIndex = 0
  readonly #expression: RE2JS

  /** @throws Error where RE2 does not know what the expression uses */
  constructor(written: RegExp) {
    const { source, ignoreCase, multiline } = written
    const flags = (ignoreCase ? RE2JS.CASE_INSENSITIVE : 0) | (multiline ? RE2JS.MULTILINE : 0)
    this.#expression = compiled.get(written) ?? RE2JS.compile(source, flags)
    compiled.set(written, this.#expression)
  }

  exec(text: string): ((string | undefined)[] & { readonly index: number }) | null {
    const from = this.lastIndex
    const cost = 1 + this.#expression.programSize() / 16
    // Paid for in full where nothing matches; else for what was looked through.
    if (text.length - from > MOST_TEXT / cost) spend(Number.POSITIVE_INFINITY)
    const matcher = this.#expression.matcher(text)
    const found = matcher.find(from)
    this.lastIndex = found ? matcher.end() : 0
    spend(SEARCH + ((found ? matcher.end() : text.length) - from) * cost)
    if (!found) return null
    const groups = Array.from(
      { length: this.#expression.groupCount() + 1 },
      (_, at) => matcher.group(at) ?? undefined,
    )
    return Object.assign(groups, { index: matcher.start() })
  }
}
