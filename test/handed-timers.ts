/** Time limits that end when the test says so, however busy the machine is. */
import { readFile } from 'node:fs/promises'
import { setImmediate as turnOfTheLoop } from 'node:timers/promises'
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

/** First line of a file that another process writes, once it is there. */
export async function firstLine(file: string): Promise<string> {
  for (;;) {
    const [line = '', ...more] = (await readFile(file, 'utf8').catch(() => '')).split('\n')
    if (more.length > 0) return line
    await turnOfTheLoop()
  }
}
