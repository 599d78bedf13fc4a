/** Regular expressions within expressions, on RE2 as all others (pattern.ts), in the form in which JSONata asks them. */
import { RE2JS } from 're2js'

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
    const matcher = this.#expression.matcher(text)
    if (!matcher.find(this.lastIndex)) {
      this.lastIndex = 0
      return null
    }
    this.lastIndex = matcher.end()
    const groups = Array.from(
      { length: this.#expression.groupCount() + 1 },
      (_, at) => matcher.group(at) ?? undefined,
    )
    return Object.assign(groups, { index: matcher.start() })
  }
}
