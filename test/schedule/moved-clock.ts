/** A clock that the test moves: sleepers wake when it passes their time, in order. */
import { untilIdle, watchWork } from '../load/work-under-way.ts'

export interface MovedClock {
  now(): number
  sleep(ms: number, signal: AbortSignal): Promise<void>
  /** Moves it, from sleeper to sleeper; each has gone to sleep again before the next is woken. */
  moveTo(at: number): Promise<void>
  /** Time that work takes: nobody wakes meanwhile. */
  pass(ms: number): void
}

interface Sleeper {
  readonly until: number
  wake(): void
}

export function createMovedClock(start: number): MovedClock {
  let time = start
  const sleepers = new Set<Sleeper>()
  const isAtWork = watchWork()
  const settle = (): Promise<void> => untilIdle(() => !isAtWork())
  return {
    now: () => time,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        const over = (end: () => void): void => {
          sleepers.delete(sleeper)
          signal.removeEventListener('abort', onAbort)
          end()
        }
        const onAbort = (): void => over(() => reject(signal.reason))
        const sleeper: Sleeper = { until: time + ms, wake: () => over(resolve) }
        sleepers.add(sleeper)
        signal.addEventListener('abort', onAbort)
        if (signal.aborted) onAbort()
      }),
    async moveTo(at) {
      for (;;) {
        await settle()
        const next = Math.min(...[...sleepers].map(({ until }) => until))
        if (next > at) break
        time = Math.max(time, next)
        for (const sleeper of [...sleepers].filter(({ until }) => until <= time)) sleeper.wake()
      }
      time = at
      await settle()
    },
    pass(ms) {
      time += ms
    },
  }
}
