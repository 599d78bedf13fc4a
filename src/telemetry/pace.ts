/** How fast an export goes on, and when it will be done: by what was done in the last half minute. Pure; times are in milliseconds. */

/** Of an export: rows, and the share of its file from 0 to 1. */
export interface Done {
  readonly rows: number
  readonly share: number
}

export interface Pace {
  look(now: number, done: Done): void
  /** Rows a second, of late. */
  readonly rate: number
  /** Undefined while nothing was done by which it could be told. */
  readonly left: number | undefined
  /** From the start to now. */
  whole(now: number, done: Done): { readonly ms: number; readonly rate: number }
}

interface Sample extends Done {
  readonly at: number
}

const WINDOW_MS = 30_000

/** @param before what an earlier process has done: it counts for no rate */
export function startPace(now: number, before: Done): Pace {
  const start: Sample = { at: now, rows: before.rows, share: before.share }
  let samples: readonly Sample[] = [start]
  let last = start
  const since = (): Sample => samples[0] ?? start
  return {
    look(at, { rows, share }) {
      last = { at, rows, share }
      const old = samples.findLastIndex((sample) => sample.at <= at - WINDOW_MS)
      samples = [...samples.slice(Math.max(0, old)), last]
    },
    get rate() {
      return perSecond(last.rows - since().rows, last.at - since().at)
    },
    get left() {
      const share = last.share - since().share
      return share <= 0 ? undefined : ((1 - last.share) * (last.at - since().at)) / share
    },
    whole(at, { rows }) {
      const ms = Math.max(0, at - start.at)
      return { ms, rate: perSecond(rows - start.rows, ms) }
    },
  }
}

const perSecond = (rows: number, ms: number): number => (ms <= 0 ? rows : (rows * 1000) / ms)
