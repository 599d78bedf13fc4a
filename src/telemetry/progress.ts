/** Progress while a run works: a bar for each export in a terminal, plain lines elsewhere, nothing when quiet. On standard error. */
import cliProgress from 'cli-progress'

export interface ProgressState {
  readonly rows: number
  readonly records: number
  /** Of the export, from 0 to 1. */
  readonly share: number
}

export interface Progress {
  start(name: string): void
  advance(state: ProgressState): void
  /** A line that stays above the bar. */
  note(text: string): void
  end(state: ProgressState): void
}

const LINE_EVERY_MS = 5_000

/** @param mode `bar` needs a terminal; `lines` writes at most one every five seconds */
export function createProgress(
  mode: 'bar' | 'lines' | 'quiet',
  now: () => number,
  write: (text: string) => void,
): Progress {
  switch (mode) {
    case 'quiet':
      return { start: ignore, advance: ignore, note: ignore, end: ignore }
    case 'lines':
      return createLines(now, write)
    case 'bar':
      return createBar(now, write)
  }
}

function createLines(now: () => number, write: (text: string) => void): Progress {
  let name = ''
  let startedAt = 0
  let lastAt = 0
  const line = ({ rows, records, share }: ProgressState): string =>
    `${name}: ${rows} rows, ${records} records, ${(share * 100).toFixed(0)} %, ${rate(rows, now() - startedAt)} rows/s\n`
  return {
    start(started) {
      name = started
      startedAt = now()
      lastAt = startedAt
    },
    advance(state) {
      if (now() - lastAt < LINE_EVERY_MS) return
      lastAt = now()
      write(line(state))
    },
    note: (text) => write(`${text}\n`),
    end: (state) => write(line({ ...state, share: 1 })),
  }
}

function createBar(now: () => number, write: (text: string) => void): Progress {
  let bar: cliProgress.SingleBar | undefined
  let startedAt = 0
  const payload = ({ rows, records }: ProgressState) => ({
    rows,
    records,
    rate: rate(rows, now() - startedAt),
  })
  return {
    start(name) {
      startedAt = now()
      bar = new cliProgress.SingleBar(
        {
          // What changes stands first: a narrow terminal cuts off the end.
          format: `{percentage} % [{bar}] {rows} rows, {records} records, {rate} rows/s, {eta_formatted} left  ${name}`,
          barsize: 16,
          hideCursor: true,
          stream: process.stderr,
          etaBuffer: 50,
        },
        cliProgress.Presets.shades_classic,
      )
      bar.start(1000, 0, { rows: 0, records: 0, rate: 0 })
    },
    advance: (state) => bar?.update(Math.round(state.share * 1000), payload(state)),
    note: (text) => write(`\n${text}\n`),
    end(state) {
      bar?.update(1000, payload(state))
      bar?.stop()
      bar = undefined
    },
  }
}

const rate = (rows: number, ms: number): number => (ms <= 0 ? rows : Math.round((rows * 1000) / ms))

const ignore = (): void => {}
