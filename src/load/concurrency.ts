/**
 * How many requests are under way at once: additive increase, multiplicative decrease under the job's ceiling (p-limit keeps the
 * count).
 */
import pLimit from 'p-limit'

export interface Concurrency {
  /** Runs the task when its turn has come. */
  run<T>(task: () => Promise<T>): Promise<T>
  /** The gateway said that it is too much. */
  slowDown(): void
  /** A request went through. */
  speedUp(): void
  readonly allowed: number
}

export function createConcurrency(ceiling: number): Concurrency {
  const limit = pLimit(ceiling)
  let succeeded = 0
  return {
    run: (task) => limit(task),
    slowDown() {
      succeeded = 0
      limit.concurrency = Math.max(1, Math.floor(limit.concurrency / 2))
    },
    speedUp() {
      if (limit.concurrency >= ceiling) return
      succeeded++
      if (succeeded >= limit.concurrency) {
        succeeded = 0
        limit.concurrency++
      }
    },
    get allowed() {
      return limit.concurrency
    },
  }
}
