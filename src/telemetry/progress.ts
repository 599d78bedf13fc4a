/**
 * Progress of a run on standard error: a bar for each export in a terminal, plain lines elsewhere, nothing when quiet. Draws its own bar: those
 * of libraries take over SIGINT, and change modes of the terminal that a killed process leaves behind. Also rates, and lines for work without
 * a rate.
 */
import { counted, n, shown } from '../system/shown-text.ts'

/** Progress of an export, or of several as one whole. */
export interface ProgressState {
  readonly rows: number
  readonly records: number
  /** Share of the file, or of all files, from 0 to 1. */
  readonly share: number
  readonly at?: { readonly name: string; readonly number: number; readonly of: number } | undefined
}

export interface Progress {
  /** @param state start of the progress: an interrupted run continues with its share */
  start(name: string, state: ProgressState): void
  advance(state: ProgressState): void
  /** Shows a wait in place of the bar; undefined ends it. Repeat the call now and then during a wait. */
  wait(text: string | undefined): void
  /** Writes a line that stays, above the bar. */
  note(text: string): void
  end(state: ProgressState): void
  /** Removes the bar of an export that ends early. */
  stop(): void
}

interface ProgressDisplay {
  /** Current columns of the terminal; false without a terminal: writes plain lines, at most one every five seconds. */
  readonly columns: false | (() => number)
  readonly now: () => number
  readonly write: (text: string) => void
}

export function createProgress(display: ProgressDisplay): Progress {
  const { columns } = display
  const progress = columns === false ? createLines(display) : createBar(display, columns)
  // Escapes first, cuts later: names of exports and words of the log may have any characters.
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
  let waitShownAt: number | undefined
  return {
    start(name, state) {
      open = { name, pace: startPace(now(), state), state, drawnAt: now() }
      if (state.rows > 0) write(`${name}: continues after ${done(state).join(', ')}\n`)
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
      // The log above has a line on the start of the wait.
      waitShownAt = text === undefined ? undefined : (waitShownAt ?? now())
      if (text === undefined || waitShownAt === undefined || now() - waitShownAt < WAIT_LINE_EVERY_MS) return
      waitShownAt = now()
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
    // Leaves the last column free: a full line would wrap.
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

/** A bar as wide as the room allows: drops the name first, then the bar, then the records, then the number of the export. */
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

/** Cuts the middle of a name: names often differ at their ends. */
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
/** Less than 100 before the end. */
const percent = ({ share }: ProgressState): string =>
  `${String(Math.min(99, Math.floor(share * 100))).padStart(2)} %`
const rateText = (rate: number): string => `${n(Math.round(rate))} rows/s`

/** `0:42`, `1:02:03`; `-:--` while no work allows an estimate. */
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
  let shownAt = now() - every
  let isShown = false
  return {
    /** @param text current work */
    at(text: string): void {
      if (now() - shownAt < every) return
      shownAt = now()
      isShown = true
      const line = shown(text)
      write(columns === false ? `${line}\n` : `${CLEAR}${line.slice(0, columns() - 1)}`)
    },
    end(): void {
      if (isShown && columns !== false) write(CLEAR)
      isShown = false
    },
  }
}

export const LINE_EVERY_MS = 5_000
/** Interval of lines on a lasting wait. */
const WAIT_LINE_EVERY_MS = 60_000
const DRAW_EVERY_MS = 100

/** Moves to the start of the line and clears it: ECMA-48, CR and EL. */
const CLEAR = '\r\x1b[2K'

/** Rows of an export, and the share of its file from 0 to 1. */
interface Done {
  readonly rows: number
  readonly share: number
}

type Pace = ReturnType<typeof startPace>

interface Sample extends Done {
  readonly at: number
}

const WINDOW_MS = 30_000
const SAMPLE_EVERY_MS = 300

/** @param before work of an earlier process, which counts for no rate */
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
    get rate(): number {
      return perSecond(last.rows - since().rows, last.at - since().at)
    },
    /** Milliseconds to the end; undefined while no work allows an estimate. */
    get left(): number | undefined {
      const share = last.share - since().share
      return share <= 0 ? undefined : ((1 - last.share) * (last.at - since().at)) / share
    },
    /** Rate from the start to now. */
    whole(at: number, { rows }: Done) {
      const ms = Math.max(0, at - start.at)
      return { ms, rate: perSecond(rows - start.rows, ms) }
    },
  }
}

const perSecond = (rows: number, ms: number): number => (ms <= 0 ? rows : (rows * 1000) / ms)
