/** What happens in a round with a backfill, drawn from seed and number alone. Pure. */
import { Random } from '../samples/random.ts'
import type { DatedPlan } from './dated-exports.ts'
import { type DrawnFault, drawFaults, faultsBefore, type Pace } from './draw-faults.ts'
import { DRILL_STREAM } from './exports.ts'
import { BACKFILL_POINTS, KILL_POINTS, type KillPoint } from './kill-points.ts'
import { SHIPPED, WATCHED } from './round-plan.ts'
import type { Ending } from './scene.ts'

/** Another command, begun while the backfill is at work. */
export interface Beside {
  readonly command: 'run' | 'other' | 'rerun' | 'backfill'
  readonly ending: Ending | undefined
}

/** A process of the backfill. */
export interface BackfillProcess {
  readonly ending: Ending | undefined
  /** Begun when it comes to its nth chunk. */
  readonly beside: readonly Beside[]
  readonly nth: number
  /**
   * What comes behind it: the nightly job goes first; what it left is settled by reading profiles, or is given up; or the history is not there for a while, and both
   * commands are tried in vain.
   */
  readonly after: 'run' | 'reconcile' | 'give-up' | 'history-away' | undefined
}

export interface BackfillRoundPlan {
  readonly exports: DatedPlan
  readonly submit: { readonly concurrency: number; readonly records: number }
  readonly shipped: boolean
  readonly pace: Pace
  readonly faults: readonly DrawnFault[]
  readonly faultSeed: number
  /** The history lies in a folder of its own (`--in`); otherwise all lies in the inbox. */
  readonly apart: boolean
  readonly archive: boolean
  /** Requests a second. */
  readonly rate: number | undefined
  /** Nightly runs before the history is there, and how each ends. */
  readonly before: readonly (Ending | undefined)[]
  /** Deliveries of the history, from its last, that come only when the first process is over. */
  readonly late: number
  /** A backfill of a wrong range, which is given up. */
  readonly mistake: { readonly ending: Ending; readonly givingUp: Ending | undefined } | undefined
  readonly processes: readonly BackfillProcess[]
  /** What was left behind is taken up in the end, without faults. */
  readonly rerun: boolean
}

/** Every fourth round. */
export const isBackfillRound = (round: number): boolean => round % 4 === 3

export function planBackfillRound(seed: number, round: number): BackfillRoundPlan {
  const random = new Random(seed, DRILL_STREAM.backfillPlan, round)
  const shipped = random.chance(0.06)
  const rows = random.pick([5, 8, 8, 12, 20])
  const isLarge = random.chance(0.07)
  const point = BACKFILL_POINTS[Math.floor(round / 4) % BACKFILL_POINTS.length] ?? 'before-giving-way'
  const named: Ending = { by: 'point', kill: { point, nth: random.pick([1, 1, 2]) } }
  const drawn = (probability: number): Ending | undefined =>
    random.chance(probability) ? drawEnding(random, shipped) : undefined
  const givesUp = point.endsWith('-give-up')
  const by = whoPasses(point)
  const first: BackfillProcess = {
    ending: by === 'backfill' && !shipped ? named : drawn(0.5),
    beside: [
      {
        command: point === 'while-waiting' ? 'other' : 'run',
        ending: by === 'run' && !shipped ? named : drawn(0.25),
      },
      ...besides(random, drawn, 0.3),
    ],
    nth: random.integer(1, 3),
    after: afterwards(random),
  }
  const more = Array.from({ length: random.integer(0, 3) }, () => ({
    ending: random.chance(0.4) ? drawEnding(random, shipped, true) : drawn(0.4),
    beside: besides(random, drawn, 0.7),
    nth: random.integer(1, 3),
    after: afterwards(random),
  }))
  return {
    exports: {
      history: isLarge ? 3 : random.integer(3, 7),
      nightly: random.integer(1, 2),
      rows: isLarge ? 400 : rows,
      people: Math.max(3, Math.ceil(rows * random.pick([0.3, 1, 3]))),
      dirt: random.chance(0.4),
      doctors: random.pick([0, 3, 6]),
    },
    submit: { concurrency: random.integer(1, 8), records: isLarge ? 250 : random.pick([5, 20, 60, 250]) },
    shipped,
    pace: shipped ? SHIPPED : WATCHED,
    faults: [
      ...(shipped ? [] : faultsBefore(point)),
      ...Array.from({ length: random.pick([0, 1, 1, 2, 3]) }, () =>
        drawFaults(random, shipped ? SHIPPED : WATCHED),
      ).flat(),
    ],
    faultSeed: random.integer(1, 1_000_000),
    apart: random.chance(0.5),
    archive: random.chance(0.3),
    rate: random.chance(0.3) ? random.integer(5, 60) : undefined,
    before: random.chance(0.7) ? [...(random.chance(0.5) ? [drawn(1)] : []), drawn(0.4)] : [],
    mistake:
      givesUp || random.chance(0.35)
        ? { ending: drawEnding(random, shipped, true), givingUp: givesUp && !shipped ? named : undefined }
        : undefined,
    processes: [...(random.chance(0.5) ? [overtaken(random, shipped)] : []), first, ...more],
    rerun: random.chance(0.3),
    late: random.chance(0.3) ? random.integer(1, 2) : 0,
  }
}

/** Left with something under way of which nobody knows, and the nightly job, which has the same in its exports, goes first. */
const overtaken = (random: Random, shipped: boolean): BackfillProcess => ({
  ending: drawEnding(random, shipped, true),
  beside: [],
  nth: 1,
  after: 'run',
})

function afterwards(random: Random): BackfillProcess['after'] {
  const chance = random.next()
  if (chance < 0.4) return 'run'
  if (chance < 0.55) return 'reconcile'
  if (chance < 0.65) return 'give-up'
  return chance < 0.75 ? 'history-away' : undefined
}

/** Points that other processes pass than the backfill itself. */
function whoPasses(point: KillPoint): 'run' | 'backfill' | 'resolve' {
  if (point.endsWith('-ask')) return 'run'
  return point.endsWith('-give-up') ? 'resolve' : 'backfill'
}

function besides(
  random: Random,
  drawn: (probability: number) => Ending | undefined,
  probability: number,
): Beside[] {
  if (!random.chance(probability)) return []
  const commands = ['run', 'run', 'other', 'other', 'rerun', 'backfill'] as const
  return Array.from({ length: random.pick([1, 1, 2]) }, () => ({
    command: random.pick(commands),
    ending: drawn(0.3),
  }))
}

/** Points that leave something under way. */
const IN_THE_MIDDLE = [
  'after-intent',
  'after-bytes',
  'after-answer',
  'after-settlement',
  'before-chunk-settlement',
] as const

function drawEnding(random: Random, shipped: boolean, inTheMiddle = false): Ending {
  if (random.chance(0.12)) return { by: 'request', afterMs: random.integer(400, 1_800) }
  if (shipped || random.chance(0.25)) return { by: 'instant', afterMs: random.integer(400, 1_800) }
  const point = inTheMiddle ? random.pick(IN_THE_MIDDLE) : random.pick(KILL_POINTS)
  return { by: 'point', kill: { point, nth: random.pick([1, 1, 2, 3, random.integer(1, 20)]) } }
}
