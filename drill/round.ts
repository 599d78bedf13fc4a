/** One round of the drill: a job, a gateway that fails, processes that are killed, and the judgement at the end. */
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import type { Harm } from './draw-faults.ts'
import type { DrillExport } from './export-book.ts'
import { drillExports } from './exports.ts'
import { readStore } from './gateway-store.ts'
import type { KillPoint } from './kill-points.ts'
import {
  type Ended,
  type GatewayProcess,
  type RunningWaybill,
  startGateway,
  startWaybill,
} from './processes.ts'
import { type Ending, planRound, type RoundPlan } from './round-plan.ts'
import { readReceipts, readRejects, Summary } from './statements.ts'
import { judgeRound, type Verdict } from './verdict.ts'

export interface RoundEnd extends Verdict {
  readonly plan: RoundPlan
  /** Where its files are; gone where there is nothing to look for. */
  readonly folder: string
  readonly processes: number
  /** Kills that came about: by point, and `instant`. */
  readonly kills: readonly (KillPoint | 'instant')[]
  /** Of each fault of the plan how often it struck. */
  readonly struck: readonly { readonly kind: string; readonly times: number }[]
}

/** A watched process waits so many times less than it says. */
const HASTE = 20
/** More processes than this, and the job does not end by itself. */
const MOST_PROCESSES = 14
/** A process that lasts longer hangs. */
const LONGEST_MS = 90_000

/** With a summary; an unexpected error ends with 1 too. */
const DONE: ReadonlySet<number | null> = new Set([0, 1])
/** Stopped, to be resumed: the gateway refused the credentials or could not be reached; another one holds the job. */
const RESUMABLE: ReadonlySet<number | null> = new Set([3, 5])

/** @param mappings a folder with the drill's mappings and the catalog */
export async function runRound(
  seed: number,
  round: number,
  folder: string,
  mappings: string,
): Promise<RoundEnd> {
  const plan = planRound(seed, round)
  const exports = drillExports(seed, round, plan.exports)
  await rm(folder, { recursive: true, force: true })
  await writeJob(folder, plan, exports)
  const data = join(folder, 'gateway.sqlite')
  const gateway = await startGateway(folder, [
    ...['--data', data],
    ...(plan.faults.length === 0 ? [] : ['--faults', join(folder, 'faults.json')]),
  ])
  const scene: Scene = {
    folder,
    plan,
    gateway,
    home: join(folder, 'home'),
    mappings,
    kills: [],
    processes: 0,
  }
  let struck: RoundEnd['struck'] = []
  let summary: Summary | undefined
  const faults: string[] = []
  try {
    summary = await untilDone(scene, plan.endings, plan.rival)
    struck = await struckOf(gateway)
    if (plan.again) {
      await fetch(`${gateway.url}/_reference/faults`, { method: 'DELETE' })
      summary = await untilDone(scene, [], false)
    }
  } catch (error) {
    faults.push(error instanceof Error ? error.message : String(error))
  } finally {
    await gateway.stop()
  }
  const last = summary === undefined ? [] : [...(summary.resumed?.exports ?? []), ...summary.exports]
  const verdict = judgeRound({
    exports,
    stored: readStore(data),
    summaries: new Map(last.map((one) => [one.name, one])),
    rejects: new Map(
      await Promise.all(last.map(async (one) => [one.name, await readRejects(one.rejects)] as const)),
    ),
    receipts: await readReceipts(scene.home),
    harm: harmOf(plan),
  })
  faults.push(...verdict.faults)
  if (faults.length === 0) await rm(folder, { recursive: true })
  return { ...verdict, faults, plan, folder, processes: scene.processes, kills: scene.kills, struck }
}

interface Scene {
  readonly folder: string
  readonly home: string
  readonly mappings: string
  readonly plan: RoundPlan
  readonly gateway: GatewayProcess
  readonly kills: (KillPoint | 'instant')[]
  processes: number
}

async function writeJob(folder: string, plan: RoundPlan, exports: readonly DrillExport[]): Promise<void> {
  const { concurrency, records } = plan.submit
  await mkdir(join(folder, 'jobs'), { recursive: true })
  await mkdir(join(folder, 'inbox'))
  await writeFile(
    join(folder, 'jobs/drill.yaml'),
    `job: drill
exports:
  - { from: ../inbox, match: "*.csv", mapping: drill-wide }
  - { from: ../inbox, match: "*.ndjson", mapping: drill-nested }
submit: { concurrency: ${concurrency}, batch: { records: ${records} } }
`,
  )
  for (const { name, text } of exports) await writeFile(join(folder, 'inbox', name), text)
  const faults = { seed: plan.faultSeed, faults: plan.faults.map(({ fault }) => fault) }
  await writeFile(join(folder, 'faults.json'), JSON.stringify(faults, undefined, 2))
}

/** Kills as planned, then starts it again until it is done by itself. @throws Error where it never is */
async function untilDone(scene: Scene, endings: readonly Ending[], rival: boolean): Promise<Summary> {
  for (let nth = 0; nth < MOST_PROCESSES; nth++) {
    const ending = endings[nth]
    const running = start(scene, ending)
    const beside = rival && ending === undefined ? start(scene, undefined) : undefined
    const ended = await endOf(running, ending)
    if (beside !== undefined) await endOf(beside, undefined)
    if (ended.signal === 'SIGKILL' && ending !== undefined) {
      scene.kills.push(ending.by === 'point' ? ending.kill.point : 'instant')
      continue
    }
    if (DONE.has(ended.code) && ended.out !== '') return summaryOf(ended)
    if (!RESUMABLE.has(ended.code))
      throw new Error(`waybill ended with ${ended.code ?? ended.signal}: ${ended.err.slice(-2000)}`)
  }
  throw new Error(`after ${MOST_PROCESSES} processes the job is not done`)
}

function start(scene: Scene, ending: Ending | undefined): RunningWaybill {
  const { folder, home, mappings, gateway, plan } = scene
  scene.processes++
  const environment = {
    WAYBILL_HOME: home,
    WAYBILL_JOBS: join(folder, 'jobs'),
    WAYBILL_MAPPINGS: mappings,
    WAYBILL_GATEWAY_URL: gateway.url,
    WAYBILL_API_KEY: 'drill',
    WAYBILL_ACCESS_TOKEN: 'drill',
    WAYBILL_ACCESS_TOKEN_COMMAND: 'date +%s%N',
    WAYBILL_KEY: 'the same key in every round',
  }
  const watch = {
    haste: HASTE,
    answerWithin: plan.pace.answerWithin ?? 0,
    ...(ending?.by === 'point' ? { kill: ending.kill } : {}),
  }
  return startWaybill(folder, environment, plan.shipped ? 'shipped' : watch, ['run', 'drill', '--json'])
}

async function endOf(running: RunningWaybill, ending: Ending | undefined): Promise<Ended> {
  const killer = setTimeout(() => running.kill(), ending?.by === 'instant' ? ending.afterMs : LONGEST_MS)
  try {
    return await running.ended
  } finally {
    clearTimeout(killer)
  }
}

function summaryOf({ out, err }: Ended): Summary {
  const summary = Summary.parse(JSON.parse(out))
  for (const run of summary.resumed === undefined ? [summary] : [summary, summary.resumed]) {
    if (run.state !== 'finished' || !run.balanced)
      throw new Error(`the run ${run.run} is ${run.state}, balanced: ${run.balanced}; ${err.slice(-2000)}`)
  }
  return summary
}

const FaultReport = z.object({ faults: z.array(z.object({ do: z.string(), struck: z.int() })) })

async function struckOf(gateway: GatewayProcess): Promise<RoundEnd['struck']> {
  const answer: unknown = await (await fetch(`${gateway.url}/_reference/faults`)).json()
  return FaultReport.parse(answer).faults.map(({ do: kind, struck }) => ({ kind, times: struck }))
}

function harmOf({ faults }: RoundPlan): Harm {
  const any = (key: keyof Harm): boolean => faults.some(({ harm }) => harm[key])
  return {
    refuses: any('refuses'),
    refusesPeople: any('refusesPeople'),
    hidesProfiles: any('hidesProfiles'),
    refusesMarks: any('refusesMarks'),
  }
}
