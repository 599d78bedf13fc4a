/**
 * A round with workers: night for night `waybill run` asks for the job, and workers carry it out over one ledger in PostgreSQL. Workers are killed,
 * halted and asked to end, so is who asks, and the server of the database is (`database.ts`). Killed workers are replaced.
 */
import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Random } from '../samples/random.ts'
import { isBackfillRound } from './backfill-plan.ts'
import type { DrawnFault } from './draw-faults.ts'
import { DRILL_STREAM } from './exports.ts'
import { watchGateway } from './gateway-watch.ts'
import {
  deliver,
  isDone,
  jobsOf,
  NOTHING_LEFT,
  nightlyAct,
  RESUMABLE,
  runsOf,
  unexpected,
} from './nightly-round.ts'
import { isOtherJobsRound } from './other-jobs.ts'
import type { Act } from './round.ts'
import { planRound, type RoundPlan } from './round-plan.ts'
import type { Scene } from './scene.ts'
import { watchTakeovers } from './takeovers.ts'
import { wordsOf } from './words-of-runs.ts'
import { openPool, type Pool } from './workers-pool.ts'

/** A night that lasts longer hangs. */
const LONGEST_NIGHT_MS = 240_000
/** The promise of docs/scale.md. */
const TAKEN_WITHIN_MS = 30_000

/** Plans of which nothing concerns a ledger in a file. */
const suits = (plan: RoundPlan): boolean =>
  !plan.shipped &&
  !plan.lasting &&
  plan.meets === undefined &&
  plan.wipe === undefined &&
  plan.nights.every(({ ledger }) => ledger === undefined)

/** The round of one job alone, in each third of two jobs, whose jobs, exports and faults a round with workers has. */
function planNumber(seed: number, round: number): number {
  const isOfTwo = round % 3 === 0
  const nth = isOfTwo ? round / 3 : round - Math.floor(round / 3)
  let number = 0
  for (let found = 0; found < nth; ) {
    number++
    if (isBackfillRound(number) || isOtherJobsRound(number)) continue
    const plan = planRound(seed, number)
    if (suits(plan) && plan.twoJobs === isOfTwo) found++
  }
  return number
}

/** The gateway asks for a wait of three seconds: longer than the processes need to hear of it. */
const ASKS_TO_WAIT: DrawnFault = {
  kind: 'refuse',
  fault: { do: 'refuse', on: 'all', status: 429, retryAfter: 3, when: { chance: 0.2, times: 2 } },
  harm: { refuses: false, refusesPeople: false, hidesProfiles: false },
}

/** @param parts in which the workers read each export */
export function workersAct(seed: number, round: number, workers: number, parts: number): Act {
  const number = planNumber(seed, round)
  const act = nightlyAct(seed, number)
  const plan = planRound(seed, number)
  const random = new Random(seed, DRILL_STREAM.plan, 1_000_000 + round)
  const faults = random.chance(0.5) ? [...act.faults, ASKS_TO_WAIT] : act.faults
  return {
    ...act,
    faults,
    theme: plan.twoJobs ? 'workers-two-jobs' : 'workers',
    async prepare(folder) {
      await act.prepare(folder)
      for (const [job] of jobsOf(plan))
        await appendFile(join(folder, `jobs/${job}.yaml`), `parts: ${parts}\n`)
    },
    async play(scene) {
      const { stage, complaints } = scene
      const gateway = watchGateway(Number(new URL(stage.gateway.url).port))
      const takeovers = watchTakeovers(stage.environment?.['WAYBILL_LEDGER'] ?? '')
      const pool = openPool(scene, { count: workers, random, takeovers, gateway })
      const jobs = jobsOf(plan)
      const untilAllDone = (isStruck: boolean): Promise<unknown> =>
        Promise.all(jobs.map(([job]) => untilDone(scene, pool, ['run', job], isStruck ? random : undefined)))
      try {
        let arrived = 0
        for (const night of plan.nights) {
          const came = act.exports.slice(arrived, arrived + night.exports)
          for (const [nth, one] of came.entries())
            await deliver(join(stage.folder, jobs[nth % jobs.length]?.[1] ?? 'inbox'), one)
          arrived += night.exports
          await untilAllDone(true)
        }
        await scene.setFaults([], 0)
        pool.calm()
        await untilAllDone(false)
        await settle(scene, pool)
      } finally {
        await pool.close()
      }
      const permitted = act.submit.concurrency
      // The one try of an outage passes requests that hang (`src/load/flow.ts`).
      if (gateway.most() > permitted + 1)
        complaints.push(`${gateway.most()} requests at once, permitted are ${permitted}`)
      if (gateway.early() > 0)
        complaints.push(`${gateway.early()} requests while the gateway has asked to wait`)
      scene.takeovers.push(...pool.takeovers)
      scene.holds = gateway.holds()
      for (const ms of pool.takeovers)
        if (ms > TAKEN_WITHIN_MS) complaints.push(`a job was taken over after ${Math.round(ms / 1_000)} s`)
      const runs = await knownRuns(scene)
      return { runs, words: await wordsOf(runs), owesNothing: plan.owesNothing, settled: true }
    },
  }
}

/** Takes up all that runs have left, by workers. A look that ends an older doubt makes the record that has waited for it a rejected one. */
async function settle(scene: Scene, pool: Pool): Promise<void> {
  for (const { run, job, records } of (await knownRuns(scene)).toReversed()) {
    if (Object.values(records).every(({ inDoubt, rejected }) => inDoubt + rejected === 0)) continue
    await untilDone(scene, pool, ['rerun', run], undefined, ['run', job])
  }
}

/** All runs, once the database is there. */
async function knownRuns(scene: Scene): ReturnType<typeof runsOf> {
  const endsAt = Date.now() + LONGEST_NIGHT_MS
  for (;;) {
    const runs = await runsOf(scene).catch((error: unknown) => {
      if (Date.now() > endsAt) throw error
      return []
    })
    if (runs.length > 0) return runs
    await delay(500)
  }
}

/**
 * Types a command until it is done.
 * @param random undefined: nothing befalls who asks
 * @param before typed where a run of the command has begun, and has not ended
 */
async function untilDone(
  scene: Scene,
  pool: Pool,
  args: readonly string[],
  random: Random | undefined,
  before: readonly string[] = args,
): Promise<void> {
  const endsAt = Date.now() + LONGEST_NIGHT_MS
  let kills = random === undefined ? 0 : random.integer(0, 2)
  let last = ''
  while (Date.now() < endsAt) {
    const ending =
      random !== undefined && kills-- > 0
        ? ({ by: 'instant', afterMs: random.integer(300, 4_000) } as const)
        : undefined
    const ended = await scene.start([...args, '--json'], { ending }).end()
    if (ended === undefined) continue
    if (isDone(ended) || NOTHING_LEFT.test(ended.out)) return
    last = ended.out.slice(0, 300) + ended.err.slice(-500)
    if (args !== before && UNFINISHED.test(ended.out)) await untilDone(scene, pool, before, undefined)
    else if (!RESUMABLE.has(ended.code) && !AWAY.test(last)) {
      pool.calm()
      throw unexpected(ended)
    }
    await delay(500)
  }
  throw new Error(`the night does not end: ${last}`)
}

/** The database was away, or the worker that had the run has ended. */
const AWAY = /ledger-unusable|"interrupted"/
const UNFINISHED = /"run-unfinished"/
