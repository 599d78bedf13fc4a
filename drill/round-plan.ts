/** What happens in a round of one job alone, drawn from seed and number alone: job, exports, faults, kills. Pure. */
import { Random } from '../samples/random.ts'
import { type DrawnFault, drawFaults, faultsBefore, type Pace } from './draw-faults.ts'
import { DRILL_STREAM, type ExportsPlan } from './exports.ts'
import { RUN_POINTS } from './kill-points.ts'
import type { Ending } from './scene.ts'

export interface RoundPlan {
  readonly exports: ExportsPlan
  readonly submit: { readonly concurrency: number; readonly records: number }
  /** Runs the program as shipped, at its own pace, instead of the watched one. */
  readonly shipped: boolean
  readonly pace: Pace
  /** Of the processes that are killed, in their order; the next ones may go on. */
  readonly endings: readonly Ending[]
  readonly faults: readonly DrawnFault[]
  readonly faultSeed: number
  /** A second process is started beside the first that may go on. */
  readonly rival: boolean
  /** Once all is over, the same exports are run again, without faults. */
  readonly again: boolean
}

/** Milliseconds that a watched process waits for an answer; 5 s of waiting take a twentieth of it. */
export const WATCHED: Pace = { answerWithin: 250, late: 120 }
export const SHIPPED: Pace = { answerWithin: undefined, late: 1_000 }

export function planRound(seed: number, round: number): RoundPlan {
  const random = new Random(seed, DRILL_STREAM.plan, round)
  const shipped = random.chance(0.1)
  const pace = shipped ? SHIPPED : WATCHED
  const rows = sizeOf(random)
  // One named point a round in turn, so that none is left to chance, with a fault that leads there where it takes one.
  const point = RUN_POINTS[(round - Math.floor((round + 1) / 4)) % RUN_POINTS.length] ?? 'before-intent'
  const named: Ending = { by: 'point', kill: { point, nth: random.pick([1, 1, 2]) } }
  const kills = random.pick([0, 0, 1, 2])
  const endings = Array.from({ length: kills }, () => drawEnding(random, shipped))
  return {
    exports: {
      exports: random.integer(1, 3),
      rows,
      people: Math.max(3, Math.ceil(rows * random.pick([0.2, 0.7, 1.5]))),
      dirt: random.chance(0.5),
    },
    submit: {
      concurrency: random.integer(1, 8),
      records: random.pick([1, 5, 20, 60, 250].filter((count) => count * 25 > rows) as [number, ...number[]]),
    },
    shipped,
    pace,
    endings: shipped ? [drawEnding(random, true), ...endings] : [named, ...endings],
    faults: [
      ...(shipped ? [] : faultsBefore(point)),
      ...Array.from({ length: random.pick([0, 1, 1, 2, 3]) }, () => drawFaults(random, pace)).flat(),
    ],
    faultSeed: random.integer(1, 1_000_000),
    rival: random.chance(0.06),
    again: random.chance(0.2),
  }
}

/** Mostly small; now and then more than one chunk. */
function sizeOf(random: Random): number {
  const size = random.next()
  if (size < 0.75) return random.integer(8, 30)
  return size < 0.97 ? random.integer(30, 80) : random.integer(350, 450)
}

/** Near the beginning mostly, where every point is passed. */
const nthOf = (random: Random): number => random.pick([1, 1, 1, 2, 3, random.integer(1, 12)])

function drawEnding(random: Random, shipped: boolean): Ending {
  if (shipped || random.chance(0.3)) return { by: 'instant', afterMs: random.integer(150, 900) }
  return { by: 'point', kill: { point: random.pick(RUN_POINTS), nth: nthOf(random) } }
}
