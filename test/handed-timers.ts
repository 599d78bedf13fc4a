/** Time limits that end when the test says so, however busy the machine is. */
import { readFile } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import timers from 'node:timers/promises'
import { onTestFinished, vi } from 'vitest'

/**
 * Timers of this process wait for the test, until its end. Nothing that is healthy can be late.
 * @returns lets milliseconds pass
 */
export function handInTimers(): (ms: number) => void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  return (ms) => void vi.advanceTimersByTime(ms)
}

/** A limit longer than any test, which holds the place of one that the test ends. */
const NEVER_MS = 2 ** 31 - 1

/**
 * Time limits of so many milliseconds wait for the test, until its end; all other timers go on. A number that nothing else uses names a limit.
 * @returns ends those that are under way
 */
export function holdLimit(ms: number): () => void {
  const { setTimeout: begin, clearTimeout: clear } = globalThis
  const held = new Map<NodeJS.Timeout, () => void>()
  const end = (timer: NodeJS.Timeout): void => {
    held.delete(timer)
    clear(timer)
  }
  vi.stubGlobal('setTimeout', (act: () => void, after?: number, ...more: unknown[]) => {
    if (after !== ms) return Reflect.apply(begin, undefined, [act, after, ...more])
    const timer = begin(act, NEVER_MS).unref()
    held.set(timer, act)
    return timer
  })
  vi.stubGlobal('clearTimeout', end)
  onTestFinished(() => {
    globalThis.setTimeout = begin
    globalThis.clearTimeout = clear
  })
  return () => {
    for (const [timer, act] of [...held]) {
      end(timer)
      act()
    }
  }
}

/**
 * A pause of so many milliseconds by `node:timers/promises` lasts until the test ends it; all others go on.
 * @returns `begun` resolves when somebody pauses
 */
export function holdPause(ms: number): { readonly begun: Promise<void>; end(): void } {
  const [begun, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const { setTimeout: pause } = timers
  const put = (instead: typeof pause): void => {
    timers.setTimeout = instead
    syncBuiltinESMExports()
  }
  put(async <Value>(after?: number, value?: Value, options?: object): Promise<Value> => {
    if (after === ms) begun.resolve()
    await (after === ms ? over.promise : pause(after, undefined, options))
    return value as Value
  })
  onTestFinished(() => put(pause))
  return { begun: begun.promise, end: over.resolve }
}

/** First line of a file that another process writes, once it is there. */
export async function firstLine(file: string): Promise<string> {
  for (;;) {
    const [line = '', ...more] = (await readFile(file, 'utf8').catch(() => '')).split('\n')
    if (more.length > 0) return line
    await timers.setTimeout(2)
  }
}
