/** How long a backfill is likely to take, by what the job's latest runs took. Pure. */

/** What a run came to. */
export interface PastRun {
  readonly rows: number
  /** Records made, and those of them that were delivered before and so not sent. */
  readonly made: number
  readonly unchanged: number
  readonly requests: number
  /** Milliseconds at work. */
  readonly durationMs: number
}

/** Rows to read: such as were not delivered before, and such as were. */
export interface RowsToRead {
  readonly fresh: number
  readonly known: number
}

export interface Estimate {
  readonly seconds: number
  /** New rows; undefined where there are none, and no run has sent anything. */
  readonly rowsPerSecond?: number
  /** Rows that were delivered before: read, mapped and recognised, and not sent. */
  readonly knownRowsPerSecond: number
  /** Runs that it is by. */
  readonly runs: number
  /** Whether `--rate` is what it takes its time from. */
  readonly limitedByRate: boolean
}

/** A run of which so much was delivered before tells how fast that is read. */
const MOSTLY_UNCHANGED = 0.95

/**
 * @param past where no run has read mostly what was delivered before, such rows count as slow as those of all runs together: they are no slower
 * @param perSecond requests at most
 * @returns undefined where no run tells
 */
export function estimate(
  { fresh, known }: RowsToRead,
  past: readonly PastRun[],
  perSecond: number | undefined,
): Estimate | undefined {
  const told = past.filter((run) => run.rows > 0 && run.made > 0 && run.durationMs > 0)
  const sent = told.flatMap((run) => {
    const sentRows = run.rows * (1 - run.unchanged / run.made)
    return sentRows > 0 ? [{ ...run, sentRows }] : []
  })
  if (told.length === 0 || (fresh > 0 && sent.length === 0)) return undefined
  const reading = told.filter(({ made, unchanged }) => unchanged / made >= MOSTLY_UNCHANGED)
  const msPerKnown = msPerRow(reading.length > 0 ? reading : told)
  const toRead = (known * msPerKnown) / 1000
  const knownRowsPerSecond = 1000 / msPerKnown
  if (sent.length === 0)
    return { seconds: toRead, knownRowsPerSecond, runs: told.length, limitedByRate: false }
  const sentRows = sum(sent.map((run) => run.sentRows))
  const atWork = sent.map(({ rows, durationMs, sentRows: own }) => {
    const read = reading.length > 0 ? (rows - own) * msPerKnown : 0
    return Math.max(durationMs - read, (durationMs * own) / rows)
  })
  const rowsPerSecond = (sentRows * 1000) / sum(atWork)
  const requestsPerRow = sum(sent.map((run) => run.requests)) / sentRows
  const free = fresh / rowsPerSecond
  const paced = perSecond === undefined ? 0 : (fresh * requestsPerRow) / perSecond
  return {
    seconds: Math.max(free, paced) + toRead,
    ...{ rowsPerSecond, knownRowsPerSecond, runs: told.length, limitedByRate: paced > free },
  }
}

const msPerRow = (runs: readonly PastRun[]): number =>
  sum(runs.map(({ durationMs }) => durationMs)) / sum(runs.map(({ rows }) => rows))

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0)
