/**
 * Counts work: how often each block of the program is executed (V8's precise coverage), and how many elements its own methods of lists and texts
 * go through. Seconds say little on a busy machine; a block that is executed four times as often for twice the input says all.
 */
import { realpathSync } from 'node:fs'
import { Session } from 'node:inspector'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const PROJECT = resolve(import.meta.dirname, '../..')

export interface Work {
  /** How often the block of a function that was executed most was: by file, name and where the function begins. */
  readonly executed: ReadonlyMap<string, number>
  /** Elements that methods of lists and texts went through, by who called them: `includes at src/…`. */
  readonly elements: ReadonlyMap<string, number>
}

export interface Grown {
  readonly place: string
  readonly counts: readonly [half: number, once: number, twice: number]
}

/** Twice the input may take a little more than twice the work: sorting some hundred takes 2.3 times as many comparisons. */
const MOST_GROWTH = 2.5
/** What is done less often is of no matter. */
const LEAST = { blocks: 2_000, elements: 500_000 }

/**
 * What grows by more than the input does, from each piece of work to the next, which is given twice as much. Both the work and what is added to
 * it: what is done from some input on alone grows faster at first.
 */
export function grownBeyond(half: Work, once: Work, twice: Work): Grown[] {
  const grown: Grown[] = []
  const compare = (place: string, least: number, ...counts: Grown['counts']): void => {
    const [first, second, third] = counts
    const isMore = third > MOST_GROWTH * second && third - second > MOST_GROWTH * (second - first)
    if (third > least && isMore) grown.push({ place, counts })
  }
  for (const [place, count] of twice.executed)
    compare(place, LEAST.blocks, half.executed.get(place) ?? 0, once.executed.get(place) ?? 0, count)
  for (const [place, count] of twice.elements)
    compare(place, LEAST.elements, half.elements.get(place) ?? 0, once.elements.get(place) ?? 0, count)
  return grown
}

export interface WorkCounter {
  /** What the work takes, without what was done before. */
  count(work: () => unknown): Promise<Work>
}

interface CoverageRange {
  readonly startOffset: number
  readonly endOffset: number
  readonly count: number
}

interface ScriptCoverage {
  readonly url: string
  readonly functions: readonly { readonly functionName: string; readonly ranges: readonly CoverageRange[] }[]
}

/** To be made before the program is loaded: what was compiled before has no counters within its functions. */
export function createWorkCounter(): WorkCounter {
  const session = new Session()
  session.connect()
  const post = (method: string, parameters: object = {}): { readonly result?: readonly ScriptCoverage[] } => {
    let answer: object | undefined
    session.post(method, parameters, (error, result) => {
      if (error !== null) throw error
      answer = result
    })
    return answer ?? {}
  }
  post('Profiler.enable')
  post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
  const gone = countGoneThrough()
  return {
    async count(work) {
      post('Profiler.takePreciseCoverage')
      gone.clear()
      await work()
      const { result = [] } = post('Profiler.takePreciseCoverage')
      const executed = new Map<string, number>()
      for (const { url, functions } of result) {
        if (!isOfProgram(url)) continue
        for (const { functionName, ranges } of functions) {
          const [whole] = ranges
          if (whole === undefined) continue
          // V8 leaves out a block that is executed as often as the one around it: their sum says nothing.
          const most = Math.max(...ranges.map(({ count }) => count))
          executed.set(`${shortOf(url)} ${functionName} (${whole.startOffset})`, most)
        }
      }
      return { executed, elements: new Map(gone) }
    },
  }
}

/** Modules may lie elsewhere, behind a link. */
const MODULES = realpathSync(join(PROJECT, 'node_modules'))

const shortOf = (url: string): string => {
  const path = fileURLToPath(url)
  return path.startsWith(MODULES)
    ? `node_modules${path.slice(MODULES.length)}`
    : path.slice(PROJECT.length + 1)
}

const isOfProgram = (url: string): boolean =>
  url.startsWith('file:') && /^(src|packages|node_modules)\//.test(shortOf(url))

/** Shorter ones are of no matter. */
const LONG = 200

/** Elements that lists and texts of some length go through where no block of ours is executed for each, by method and by who calls it. */
function countGoneThrough(): Map<string, number> {
  const counts = new Map<string, number>()
  let isNoting = false
  const note = (method: string, length: number): void => {
    if (length < LONG || isNoting) return
    isNoting = true
    noteAt(method, length)
    isNoting = false
  }
  const noteAt = (method: string, length: number): void => {
    const limit = Error.stackTraceLimit
    Error.stackTraceLimit = 9
    const lines = (new Error('here').stack ?? '').split('\n').slice(4)
    Error.stackTraceLimit = limit
    const [place] = lines.flatMap((line) => /(file:[^)]*)/.exec(line)?.[1] ?? [])
    const at = place === undefined ? '' : shortOf(place)
    if (!/^(src|packages|node_modules|test)\//.test(at)) return
    const key = `${method} at ${at}`
    counts.set(key, (counts.get(key) ?? 0) + length)
  }
  const watch = (
    owner: object,
    methods: readonly string[],
    lengthOf: (self: { readonly length: number }, given: readonly unknown[], result: unknown) => number,
  ): void => {
    for (const method of methods) {
      const own: unknown = Reflect.get(owner, method)
      if (typeof own !== 'function') throw new Error(`there is no ${method}`)
      Object.defineProperty(owner, method, {
        configurable: true,
        writable: true,
        value(this: { readonly length: number }, ...given: unknown[]): unknown {
          const result: unknown = Reflect.apply(own, this, given)
          note(method, lengthOf(this, given, result))
          return result
        },
      })
    }
  }
  const own = (self: { readonly length: number }): number => self?.length ?? 0
  watch(Array.prototype, ['includes', 'lastIndexOf', 'concat', 'unshift', 'join'], own)
  // As far as it looks.
  for (const texts of [Array.prototype, String.prototype])
    watch(texts, ['indexOf'], ({ length }, [, from = 0], found) =>
      found === -1 ? length : Number(found) - Number(from),
    )
  // What stands behind it is moved.
  watch(Array.prototype, ['splice'], ({ length }, [from]) => sliced(length, from))
  watch(Array.prototype, ['slice'], ({ length }, [from, to]) => sliced(length, from, to))
  watch(
    String.prototype,
    ['includes', 'split', 'replace', 'replaceAll', 'trim', 'normalize', 'toLowerCase'],
    own,
  )
  // One that is sticky looks at one place.
  watch(RegExp.prototype, ['exec', 'test'], (self, [text]) =>
    self instanceof RegExp && self.sticky ? 0 : String(text).length,
  )
  watch(Buffer, ['concat'], (_, [parts]) =>
    Array.isArray(parts) ? parts.reduce((sum: number, one: Buffer) => sum + one.length, 0) : 0,
  )
  return counts
}

const sliced = (length: number, from: unknown = 0, to: unknown = length): number => {
  const at = (one: unknown): number =>
    Number(one) < 0 ? Math.max(0, length + Number(one)) : Math.min(length, Number(one))
  return Math.max(0, at(to) - at(from))
}
