/**
 * Counts work: how often each block of the program is executed (V8's precise coverage), and how many elements its own methods of lists and texts
 * go through. Seconds say little on a busy machine; a block that is executed four times as often for twice the input says all.
 */
import { Session } from 'node:inspector'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const PROJECT = resolve(import.meta.dirname, '../..')

/** How often a block was executed: by where it begins and ends in its file. */
type Block = readonly [from: number, to: number, count: number]

export interface Work {
  /** By file and function. */
  readonly blocks: ReadonlyMap<string, readonly Block[]>
  /** Elements that methods of lists and texts went through, by who called them: `includes at src/…`. */
  readonly elements: ReadonlyMap<string, number>
}

export interface Grown {
  readonly place: string
  readonly counts: readonly [once: number, twice: number]
}

/** What is done more than so many times as often. @param least what is done less often is of no matter */
export function grownBeyond(once: Work, twice: Work, most: number, least: number): Grown[] {
  const grown: Grown[] = []
  const compare = (place: string, before: number, after: number): void => {
    if (after > least && after > most * before) grown.push({ place, counts: [before, after] })
  }
  for (const [place, blocks] of twice.blocks)
    for (const [from, to, count] of blocks) {
      // V8 leaves out a block that is executed as often as the one around it.
      const around = (once.blocks.get(place) ?? []).filter(([start, end]) => start <= from && to <= end)
      const before = around.reduce(
        (best, one) => (one[1] - one[0] < best[1] - best[0] ? one : best),
        around[0] ?? [0, 0, 0],
      )
      compare(`${place}, characters ${from} to ${to}`, before[2], count)
    }
  for (const [place, count] of twice.elements) compare(place, once.elements.get(place) ?? 0, count)
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
      const blocks = new Map<string, readonly Block[]>()
      for (const { url, functions } of result) {
        if (!isOfProgram(url)) continue
        for (const { functionName, ranges } of functions) {
          const [whole] = ranges
          if (whole === undefined) continue
          const found = ranges.map((one): Block => [one.startOffset, one.endOffset, one.count])
          blocks.set(`${shortOf(url)} ${functionName} (${whole.startOffset})`, found)
        }
      }
      return { blocks, elements: new Map(gone) }
    },
  }
}

const shortOf = (url: string): string => fileURLToPath(url).slice(PROJECT.length + 1)

const isOfProgram = (url: string): boolean =>
  url.startsWith('file:') && /^(src|node_modules)\//.test(shortOf(url))

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
    const at = place?.slice(place.indexOf(PROJECT) + PROJECT.length + 1) ?? ''
    if (!/^(src|node_modules)\//.test(at)) return
    const key = `${method} at ${at}`
    counts.set(key, (counts.get(key) ?? 0) + length)
  }
  const watch = (
    owner: object,
    methods: readonly string[],
    lengthOf: (self: { readonly length: number }, given: readonly unknown[]) => number,
  ): void => {
    for (const method of methods) {
      const own: unknown = Reflect.get(owner, method)
      if (typeof own !== 'function') throw new Error(`there is no ${method}`)
      Object.defineProperty(owner, method, {
        configurable: true,
        writable: true,
        value(this: { readonly length: number }, ...given: unknown[]): unknown {
          note(method, lengthOf(this, given))
          return Reflect.apply(own, this, given)
        },
      })
    }
  }
  const own = (self: { readonly length: number }): number => self?.length ?? 0
  watch(Array.prototype, ['includes', 'indexOf', 'lastIndexOf', 'concat', 'splice', 'unshift', 'join'], own)
  watch(Array.prototype, ['slice'], ({ length }, [from, to]) => sliced(length, from, to))
  watch(
    String.prototype,
    ['includes', 'indexOf', 'split', 'replace', 'replaceAll', 'trim', 'normalize', 'toLowerCase'],
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
