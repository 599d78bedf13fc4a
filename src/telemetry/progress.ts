/**
 * Progress while a run works, on standard error: a bar for each export in a terminal, plain lines elsewhere, nothing when quiet. The bar
 * is drawn here: those of libraries go back to a cursor position that lines above them have moved, hide the cursor, turn off line wrapping
 * and take over SIGINT, all of which is left behind in the terminal when a process is killed. Also how fast it goes on, and lines for what
 * has no rate.
 */
import { counted, n, shown } from '../shown-text.ts'

/** Of an export, or of several that are one whole. */
export interface ProgressState {
  readonly rows: number
  readonly records: number
  /** Of the file, or of all files, from 0 to 1. */
  readonly share: number
  /** Of several: the one that it is at. */
  readonly at?: { readonly name: string; readonly number: number; readonly of: number } | undefined
}

export interface Progress {
  /** @param state where it stands: a run that was interrupted goes on with its share */
  start(name: string, state: ProgressState): void
  advance(state: ProgressState): void
  /** What it waits for, in the place of the bar until that is over (undefined); to be said again now and then while it lasts. */
  wait(text: string | undefined): void
  /** A line that stays, above the bar. */
  note(text: string): void
  end(state: ProgressState): void
  /** The export ends before its time: its bar is taken away. */
  stop(): void
}

export interface ProgressDisplay {
  /** Of the terminal, as it is now; false: there is none, and plain lines are written, one every five seconds at most. */
  readonly columns: false | (() => number)
  /** Milliseconds. */
  readonly now: () => number
  readonly write: (text: string) => void
}

export function createProgress(display: ProgressDisplay): Progress {
  const { columns } = display
  const progress = columns === false ? createLines(display) : createBar(display, columns)
  // Names of exports and words of the log are whatever others have written; a line is cut to its width as it is shown.
  const shownState = (state: ProgressState): ProgressState =>
    state.at === undefined ? state : { ...state, at: { ...state.at, name: shown(state.at.name) } }
  return {
    ...progress,
    start: (name, state) => progress.start(shown(name), shownState(state)),
    advance: (state) => progress.advance(shownState(state)),
    wait: (text) => progress.wait(text === undefined ? undefined : shown(text)),
    note: (text) => progress.note(shown(text)),
    end: (state) => progress.end(shownState(state)),
  }
}

const ignore = (): void => {}
/** Shows nothing. */
export const NO_PROGRESS: Progress = {
  start: ignore,
  advance: ignore,
  wait: ignore,
  note: ignore,
  end: ignore,
  stop: ignore,
}

interface OpenExport {
  readonly name: string
  readonly pace: Pace
  state: ProgressState
  drawnAt: number
}

function createLines({ now, write }: ProgressDisplay): Progress {
  let open: OpenExport | undefined
  let waitSaidAt: number | undefined
  return {
    start(name, state) {
      open = { name, pace: startPace(now(), state), state, drawnAt: now() }
      if (state.rows > 0) write(`${name}: goes on behind ${done(state).join(', ')}\n`)
    },
    advance(state) {
      if (open === undefined) return
      open.pace.look(now(), state)
      if (now() - open.drawnAt < LINE_EVERY_MS) return
      open.drawnAt = now()
      const { rate, left } = open.pace
      const name = state.at === undefined ? open.name : `${placeText(state.at)}, ${state.at.name}`
      write(`${name}: ${[...done(state), percent(state), rateText(rate), leftText(left)].join(', ')}\n`)
    },
    wait(text) {
      // That it waits is in a line of the log above, to begin with.
      waitSaidAt = text === undefined ? undefined : (waitSaidAt ?? now())
      if (text === undefined || waitSaidAt === undefined || now() - waitSaidAt < WAIT_LINE_EVERY_MS) return
      waitSaidAt = now()
      write(`${text}\n`)
    },
    note: (text) => write(`${text}\n`),
    end(state) {
      if (open !== undefined) write(`${summary(open, state, now())}\n`)
      open = undefined
    },
    stop() {
      open = undefined
    },
  }
}

function createBar({ now, write }: ProgressDisplay, columns: () => number): Progress {
  let open: OpenExport | undefined
  let waiting: string | undefined
  const draw = (): void => {
    if (open === undefined) return
    open.drawnAt = now()
    // The last column stays free: there a terminal would go on to the next line.
    const room = columns() - 1
    write(`${CLEAR}${waiting === undefined ? barLine(open, room) : waiting.slice(0, room)}`)
  }
  return {
    start(name, state) {
      open = { name, pace: startPace(now(), state), state, drawnAt: now() }
      draw()
    },
    advance(state) {
      if (open === undefined) return
      open.state = state
      open.pace.look(now(), state)
      if (now() - open.drawnAt >= DRAW_EVERY_MS) draw()
    },
    wait(text) {
      if (text === waiting) return
      waiting = text
      draw()
    },
    note(text) {
      write(`${open === undefined ? '' : CLEAR}${text}\n`)
      draw()
    },
    end(state) {
      if (open !== undefined) write(`${CLEAR}${summary(open, state, now())}\n`)
      open = undefined
    },
    stop() {
      if (open !== undefined) write(CLEAR)
      open = undefined
    },
  }
}

/** As much as there is room for: the name goes first, then the bar, then the records, then which one it is. */
function barLine({ name: whole, pace, state }: OpenExport, room: number): string {
  const { rate, left } = pace
  const name = state.at?.name ?? whole
  const [counts = '', records = ''] = done(state)
  const rows = state.at === undefined ? counts : `${placeText(state.at)}, ${counts}`
  const times = `${rateText(rate)}, ${leftText(left)}`
  const lines = [
    ...[20, 10].map((size) => `${percent(state)} ${bar(state.share, size)} ${rows}, ${records}, ${times}`),
    `${percent(state)} ${rows}, ${records}, ${times}`,
    `${percent(state)} ${rows}, ${times}`,
    `${percent(state)} ${rows}, ${leftText(left)}`,
    `${percent(state)} ${counts}, ${leftText(left)}`,
  ]
  const line = lines.find((one) => one.length <= room) ?? `${percent(state)} ${leftText(left)}`.slice(0, room)
  const spare = room - line.length - 2
  if (spare < Math.min(name.length, SHORTEST_NAME)) return line
  return `${line}  ${shortened(name, spare)}`
}

const SHORTEST_NAME = 12

/** What tells names apart often stands at their ends. */
function shortened(name: string, room: number): string {
  if (name.length <= room) return name
  const end = Math.floor((room - 1) / 2)
  return `${name.slice(0, room - 1 - end)}…${name.slice(-end)}`
}

function bar(share: number, size: number): string {
  const complete = Math.round(Math.min(1, share) * size)
  return `[${'█'.repeat(complete)}${'░'.repeat(size - complete)}]`
}

function summary({ name, pace }: OpenExport, state: ProgressState, now: number): string {
  const { ms, rate } = pace.whole(now, state)
  return `${name}: ${done(state).join(', ')} in ${(ms / 1000).toFixed(1)} s, ${rateText(rate)}`
}

const placeText = ({ number, of }: NonNullable<ProgressState['at']>): string => `${n(number)} of ${n(of)}`
const done = ({ rows, records }: ProgressState): string[] => [
  counted(rows, 'row'),
  counted(records, 'record'),
]
/** Not 100 before the end. */
const percent = ({ share }: ProgressState): string =>
  `${String(Math.min(99, Math.floor(share * 100))).padStart(2)} %`
const rateText = (rate: number): string => `${n(Math.round(rate))} rows/s`

/** `0:42`, `1:02:03`; undefined: nothing was done by which it could be told. */
function leftText(ms: number | undefined): string {
  if (ms === undefined) return '-:-- left'
  const seconds = Math.ceil(ms / 1000)
  const hours = Math.floor(seconds / 3600)
  const minutes = Math.floor(seconds / 60) % 60
  const parts = hours > 0 ? [hours, two(minutes)] : [minutes]
  return `${[...parts, two(seconds % 60)].join(':')} left`
}
const two = (value: number): string => String(value).padStart(2, '0')

export function createCounting({ columns, now, write }: ProgressDisplay) {
  const every = columns === false ? LINE_EVERY_MS : DRAW_EVERY_MS
  let saidAt = now() - every
  let isShown = false
  return {
    /** @param text what is being done */
    at(text: string): void {
      if (now() - saidAt < every) return
      saidAt = now()
      isShown = true
      const line = shown(text)
      write(columns === false ? `${line}\n` : `${CLEAR}${line.slice(0, columns() - 1)}`)
    },
    /** Takes the line away. */
    end(): void {
      if (isShown && columns !== false) write(CLEAR)
      isShown = false
    },
  }
}

export const LINE_EVERY_MS = 5_000
/** That it still waits for the same thing. */
export const WAIT_LINE_EVERY_MS = 60_000
export const DRAW_EVERY_MS = 100

/** To the start of the line, and clear it: ECMA-48, CR and EL. */
export const CLEAR = '\r\x1b[2K'

/** Of an export: rows, and the share of its file from 0 to 1. */
export interface Done {
  readonly rows: number
  readonly share: number
}

type Pace = ReturnType<typeof startPace>

interface Sample extends Done {
  readonly at: number
}

const WINDOW_MS = 30_000
const SAMPLE_EVERY_MS = 300

/** @param before what an earlier process has done: it counts for no rate */
function startPace(now: number, before: Done) {
  const start: Sample = { at: now, rows: before.rows, share: before.share }
  let samples: readonly Sample[] = [start]
  let last = start
  const since = (): Sample => samples[0] ?? start
  return {
    look(at: number, { rows, share }: Done): void {
      last = { at, rows, share }
      if (at - (samples.at(-1) ?? start).at < SAMPLE_EVERY_MS) return
      const old = samples.findLastIndex((sample) => sample.at <= at - WINDOW_MS)
      samples = [...samples.slice(Math.max(0, old)), last]
    },
    /** Rows a second, of late. */
    get rate(): number {
      return perSecond(last.rows - since().rows, last.at - since().at)
    },
    /** Undefined while nothing was done by which it could be told. */
    get left(): number | undefined {
      const share = last.share - since().share
      return share <= 0 ? undefined : ((1 - last.share) * (last.at - since().at)) / share
    },
    /** From the start to now. */
    whole(at: number, { rows }: Done) {
      const ms = Math.max(0, at - start.at)
      return { ms, rate: perSecond(rows - start.rows, ms) }
    },
  }
}

const perSecond = (rows: number, ms: number): number => (ms <= 0 ? rows : (rows * 1000) / ms)
