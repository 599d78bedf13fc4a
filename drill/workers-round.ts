/**
 * A round with workers: night for night `waybill run` asks for the job, and workers carry it out over one ledger in PostgreSQL. Workers are killed,
 * halted and asked to end, so is who asks, and the server of the database is (`database.ts`). Killed workers are replaced.
 */
import { channel } from 'node:diagnostics_channel'
import { appendFile, rename, writeFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Random } from '../samples/random.ts'
import { isBackfillRound } from './backfill-plan.ts'
import { DRILL_STREAM } from './exports.ts'
import { isDone, NOTHING_LEFT, nightlyAct, RESUMABLE, runsOf, unexpected } from './nightly-round.ts'
import { isOtherJobsRound } from './other-jobs.ts'
import type { RunningWaybill } from './processes.ts'
import type { Act } from './round.ts'
import { planRound, type RoundPlan } from './round-plan.ts'
import type { Scene } from './scene.ts'
import { wordsOf } from './words-of-runs.ts'

/** A night that lasts longer hangs. */
const LONGEST_NIGHT_MS = 240_000
const RUN = ['run', 'drill', '--json'] as const

/** Plans of which nothing concerns a ledger in a file, or two processes of one job. */
const suits = (plan: RoundPlan): boolean =>
  !plan.shipped &&
  !plan.twoJobs &&
  !plan.lasting &&
  plan.meets === undefined &&
  plan.wipe === undefined &&
  plan.nights.every(({ ledger }) => ledger === undefined)

/** The round of one job alone whose job, exports and faults a round with workers has. */
function planNumber(seed: number, round: number): number {
  let number = 0
  for (let found = 0; found < round; ) {
    number++
    if (!isBackfillRound(number) && !isOtherJobsRound(number) && suits(planRound(seed, number))) found++
  }
  return number
}

/** @param parts in which the workers read each export */
export function workersAct(seed: number, round: number, workers: number, parts: number): Act {
  const number = planNumber(seed, round)
  const act = nightlyAct(seed, number)
  const plan = planRound(seed, number)
  return {
    ...act,
    theme: 'workers',
    async prepare(folder) {
      await act.prepare(folder)
      await appendFile(join(folder, 'jobs/drill.yaml'), `parts: ${parts}\n`)
    },
    async play(scene) {
      const ceiling = watchCeiling(Number(new URL(scene.stage.gateway.url).port))
      const random = new Random(seed, DRILL_STREAM.plan, 1_000_000 + round)
      const pool = openPool(scene, workers, random)
      try {
        let arrived = 0
        for (const night of plan.nights) {
          for (const { name, text } of act.exports.slice(arrived, arrived + night.exports)) {
            const coming = join(scene.stage.folder, 'coming')
            await writeFile(coming, text)
            await rename(coming, join(scene.stage.folder, 'inbox', name))
          }
          arrived += night.exports
          await untilDone(scene, pool, random)
        }
        await scene.setFaults([], 0)
        pool.calm()
        await untilDone(scene, pool, undefined)
      } finally {
        await pool.close()
      }
      const permitted = act.submit.concurrency
      // The one try of an outage passes requests that hang (`src/load/flow.ts`).
      if (ceiling.most() > permitted + 1)
        scene.complaints.push(`${ceiling.most()} requests at once, permitted are ${permitted}`)
      const runs = await knownRuns(scene)
      return { runs, words: await wordsOf(runs), owesNothing: plan.owesNothing }
    },
  }
}

/** Counts the requests that a gateway of this process has under way. */
function watchCeiling(port: number): { most(): number } {
  let underWay = 0
  let most = 0
  channel('http.server.request.start').subscribe((message) => {
    const { request, response } = message as { request: IncomingMessage; response: ServerResponse }
    if (request.socket.localPort !== port || request.url?.startsWith('/_reference') === true) return
    most = Math.max(most, ++underWay)
    response.once('close', () => underWay--)
  })
  return { most: () => most }
}

interface Pool {
  /** Nothing befalls the workers any more. */
  calm(): void
  close(): Promise<void>
}

function openPool(scene: Scene, count: number, random: Random): Pool {
  let isOver = false
  let isCalm = false
  const running = new Set<RunningWaybill>()
  const keepOne = async (): Promise<void> => {
    while (!isOver) {
      const worker = scene.spawn(['worker', '--concurrency', '2'])
      running.add(worker)
      await worker.ended
      running.delete(worker)
      await delay(200)
    }
  }
  const strike = async (): Promise<void> => {
    while (!isOver) {
      await delay(random.integer(600, 4_000))
      const [victim] = [...running].slice(random.integer(0, Math.max(0, running.size - 1)))
      if (isCalm || isOver || victim === undefined) continue
      scene.kills.push('instant')
      const how = random.pick(['kill', 'kill', 'halt', 'ask'])
      if (how === 'kill') victim.kill()
      if (how === 'ask') victim.kill('SIGTERM')
      if (how !== 'halt') continue
      victim.kill('SIGSTOP')
      await delay(random.integer(1_000, 25_000))
      victim.kill('SIGCONT')
    }
  }
  const all = [...Array.from({ length: count }, keepOne), strike()]
  return {
    calm() {
      isCalm = true
    },
    async close() {
      isOver = true
      for (const one of running) {
        one.kill('SIGCONT')
        one.kill()
      }
      await Promise.all(all)
    },
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

/** Asks until the job is done. @param random undefined: nothing befalls who asks */
async function untilDone(scene: Scene, pool: Pool, random: Random | undefined): Promise<void> {
  const endsAt = Date.now() + LONGEST_NIGHT_MS
  let kills = random === undefined ? 0 : random.integer(0, 2)
  let last = ''
  while (Date.now() < endsAt) {
    const ending =
      random !== undefined && kills-- > 0
        ? ({ by: 'instant', afterMs: random.integer(300, 4_000) } as const)
        : undefined
    const ended = await scene.start(RUN, { ending }).end()
    if (ended === undefined) continue
    if (isDone(ended) || NOTHING_LEFT.test(ended.out)) return
    last = ended.out.slice(0, 300) + ended.err.slice(-500)
    if (!RESUMABLE.has(ended.code) && !AWAY.test(last)) {
      pool.calm()
      throw unexpected(ended)
    }
    await delay(500)
  }
  throw new Error(`the night does not end: ${last}`)
}

/** The database was away, or the worker that had the run has ended. */
const AWAY = /ledger-unusable|"interrupted"/
