/** How long a backfill is likely to take, by what the job's latest runs took. Pure. */

/** What a finished run came to. */
export interface PastRun {
  readonly rows: number
  /** Records made, and those of them that were delivered before and so not sent. */
  readonly made: number
  readonly unchanged: number
  readonly requests: number
  /** Milliseconds at work. */
  readonly durationMs: number
}

export interface Estimate {
  readonly seconds: number
  readonly rowsPerSecond: number
  /** Runs that it is by. */
  readonly runs: number
  /** Whether `--rate` is what it takes its time from. */
  readonly limitedByRate: boolean
}

/**
 * @param rows to read that were not delivered before
 * @param past what a run had delivered before already took it hardly any time, and counts in its share
 * @param perSecond requests at most
 * @returns undefined where no run has sent anything
 */
export function estimate(
  rows: number,
  past: readonly PastRun[],
  perSecond: number | undefined,
): Estimate | undefined {
  const sent = past.flatMap((run) => {
    const fresh = run.made === 0 ? 0 : run.rows * (1 - run.unchanged / run.made)
    return fresh > 0 && run.durationMs > 0 ? [{ ...run, fresh }] : []
  })
  if (sent.length === 0) return undefined
  const fresh = sum(sent.map((run) => run.fresh))
  const rowsPerSecond = (fresh * 1000) / sum(sent.map((run) => run.durationMs))
  const requestsPerRow = sum(sent.map((run) => run.requests)) / fresh
  const free = rows / rowsPerSecond
  const paced = perSecond === undefined ? 0 : (rows * requestsPerRow) / perSecond
  return { seconds: Math.max(free, paced), rowsPerSecond, runs: sent.length, limitedByRate: paced > free }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0)
