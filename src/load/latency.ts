/**
 * Whether answers take much longer than the best that was seen of their kind: then requests queue at the gateway, and fewer at once lose
 * nothing (as in TCP Vegas). It judges medians of windows, so that single slow answers, and a machine that is busy for a
 * moment, change nothing. Pure.
 */
export interface Latency {
  /** Median, in milliseconds, of the fastest window; undefined until one is full. It drifts up, as gateways change. */
  readonly best: number | undefined
  readonly samples: readonly number[]
  readonly verdict: Verdict
}

/** `good`: more at once may be tried; `strained`: no more; `overloaded`: fewer. */
export type Verdict = 'good' | 'strained' | 'overloaded'

const WINDOW = 20
/** Between the two bounds nothing changes, so that it does not swing from one to the other. */
const STRAINED = { factor: 2, slackMs: 50 }
const OVERLOADED = { factor: 3, slackMs: 100 }
/** How far the best drifts with each window that is slower. */
const DRIFT = 1.05

export const NO_LATENCY: Latency = { best: undefined, samples: [], verdict: 'good' }

/** @returns with an empty window where this answer filled it: the verdict is new then */
export function observe({ best, samples, verdict }: Latency, ms: number): Latency {
  if (samples.length + 1 < WINDOW) return { best, samples: [...samples, ms], verdict }
  const median = [...samples, ms].sort((a, b) => a - b)[WINDOW / 2] ?? ms
  const beyond = ({ factor, slackMs }: typeof STRAINED): boolean =>
    best !== undefined && median > factor * best + slackMs
  return {
    best: best === undefined ? median : Math.min(median, best * DRIFT),
    samples: [],
    verdict: beyond(OVERLOADED) ? 'overloaded' : beyond(STRAINED) ? 'strained' : 'good',
  }
}
