/** A clock that stands while something is at work, and goes on to the next moment that is waited for when nothing is: waits overlap as they do in life. */
import { untilIdle, watchWork } from './work-under-way.ts'

interface Sleeper {
  readonly at: number
  readonly wake: () => void
}

export interface IdleClock {
  /** Milliseconds since the epoch. */
  now: number
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
}

/** Until the end of the test. @param mayGo whether nothing is under way besides the work of this process that ends by itself */
export function createIdleClock(start: number, mayGo = (): boolean => true): IdleClock {
  const isAtWork = watchWork()
  const sleepers = new Set<Sleeper>()
  let isGoing = false
  const go = async (): Promise<void> => {
    while (sleepers.size > 0) {
      let seen = sleepers.size
      await untilIdle(() => {
        const isSame = seen === sleepers.size
        seen = sleepers.size
        return isSame && mayGo() && !isAtWork()
      })
      // The last sleeper may have been woken by its signal meanwhile: nobody waits for any moment.
      if (sleepers.size === 0) break
      const next = Math.min(...Array.from(sleepers, ({ at }) => at))
      clock.now = Math.max(clock.now, next)
      for (const sleeper of [...sleepers]) if (sleeper.at <= clock.now) sleeper.wake()
    }
    isGoing = false
  }
  const clock: IdleClock = {
    now: start,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason)
        const end = (): void => {
          sleepers.delete(sleeper)
          signal.removeEventListener('abort', fail)
        }
        const fail = (): void => {
          end()
          reject(signal.reason)
        }
        const wake = (): void => {
          end()
          resolve()
        }
        const sleeper = { at: clock.now + ms, wake }
        sleepers.add(sleeper)
        signal.addEventListener('abort', fail)
        if (isGoing) return
        isGoing = true
        void go()
      }),
  }
  return clock
}
