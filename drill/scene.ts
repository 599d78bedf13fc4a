/** Where a round is played: its folder, its gateway, and the processes of Waybill that are started, killed and waited for. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { z } from 'zod'
import { ENDPOINTS } from '../src/gateway/contract/endpoints.ts'
import type { DrawnFault, Pace } from './draw-faults.ts'
import { MARK } from './exports.ts'
import type { Kill, KillPoint } from './kill-points.ts'
import { restartMachine } from './machine-restart.ts'
import { type Ended, type RunningWaybill, startWaybill } from './processes.ts'

/** How a process of the round ends. */
export type Ending =
  /** At a point of its way. */
  | { readonly by: 'point'; readonly kill: Kill }
  /** So many milliseconds after its start. */
  | { readonly by: 'instant'; readonly afterMs: number }
  /** Asked to end (SIGTERM), so many milliseconds after its start. */
  | { readonly by: 'request'; readonly afterMs: number }

export interface Stage {
  readonly folder: string
  /** A folder with the drill's mappings and the catalog. */
  readonly mappings: string
  readonly gateway: { readonly url: string }
  /** The file of the watched program. */
  readonly watched: string
  /** Runs the program as shipped, at its own pace, instead of the watched one. */
  readonly shipped: boolean
  readonly pace: Pace
  /** Settings beside those of every round. */
  readonly environment?: Readonly<Record<string, string>> | undefined
}

export interface ProcessPlan {
  /** Undefined: it may go on to its end. */
  readonly ending?: Ending | undefined
  /** Where it stops until it is let go on. */
  readonly halt?: Kill | undefined
}

/** A kind of fault, and how often it struck. */
export type Struck = readonly { readonly kind: string; readonly times: number }[]

export interface ScenePlayer extends Pick<RunningWaybill, 'halted' | 'goOn'> {
  /** @returns undefined where it was killed as planned @throws Error where it hangs */
  end(): Promise<Ended | undefined>
}

export interface Scene {
  readonly home: string
  readonly stage: Stage
  /** Kills that came about: by point, and otherwise. */
  readonly kills: (KillPoint | 'instant' | 'request')[]
  /** Points that were told of, whenever one was passed. */
  readonly passed: KillPoint[]
  /** What Waybill said, and must not say. */
  readonly complaints: string[]
  processes: number
  /** WAYBILL_KEY of the processes that are started from now on. */
  key: string
  /** How often the machine was started again. */
  boot: number
  /** Milliseconds of each takeover of a job that was timed. */
  readonly takeovers: number[]
  /** Waits that the gateway has asked of all workers. */
  holds: number
  /** Of the last run that ended by itself. */
  lastExit: number | null
  struck: Struck
  /** What all processes have said on standard error. */
  heard: string
  /** Requests that came to the gateway until its faults began anew. */
  requests: number
  /** Reads that `waybill reconcile` says it has made: no run counts them. */
  reads: number
  start(args: readonly string[], plan?: ProcessPlan): ScenePlayer
  /** A process of a machine of its own, that is killed from outside, and at the point. */
  spawn(args: readonly string[], machine: string, kill: Kill | undefined): RunningWaybill
  /** Once every process was killed. */
  restartMachine(): Promise<void>
  /** From now on the gateway fails like that, or does as it should; what struck until then is kept. */
  setFaults(faults: readonly DrawnFault[], seed: number): Promise<void>
  /** Complains where a run that is not over is called balanced; asks once. */
  lookAtUnfinished(): Promise<void>
  /** Complains of health data in what the home holds, but for rejects. */
  searchHome(): Promise<void>
}

/** A watched process waits so many times less than it says. */
const HASTE = 20
/** A process that lasts longer hangs. One request at a time, answered slowly and refused by chance, is two minutes of work: the pace goes by the clock. */
const LONGEST_MS = 240_000

/**
 * Strikes every request that a run counts, and does nothing but count. A run that ends because its credentials are refused asks for the age of
 * nobody, to name the refused one: no run counts that question.
 */
const COUNTER = {
  on: Object.keys(ENDPOINTS).filter((name) => name !== 'readAgeResult'),
  do: 'slow',
  ms: 0,
}

export function createScene(stage: Stage): Scene {
  const { folder, mappings, gateway, watched, shipped, pace } = stage
  const home = join(folder, 'home')
  const environment = {
    WAYBILL_HOME: home,
    WAYBILL_JOBS: join(folder, 'jobs'),
    WAYBILL_MAPPINGS: mappings,
    WAYBILL_GATEWAY_URL: gateway.url,
    WAYBILL_API_KEY: 'drill',
    WAYBILL_ACCESS_TOKEN: 'drill',
    WAYBILL_ACCESS_TOKEN_COMMAND: 'date +%s%N',
    ...stage.environment,
  }
  const answerWithin = pace.answerWithin ?? 0
  let hasLooked = false
  const faultsUrl = `${gateway.url}/_reference/faults`
  return {
    ...{ home, stage, kills: [], passed: [], complaints: [], struck: [], takeovers: [] },
    holds: 0,
    ...{
      key: 'the same key in every round',
      processes: 0,
      boot: 0,
      lastExit: null,
      requests: 0,
      reads: 0,
      heard: '',
    },
    start(args, { ending, halt } = {}) {
      this.processes++
      const watch = {
        haste: HASTE,
        answerWithin,
        boot: this.boot,
        ...(ending?.by === 'point' ? { kill: ending.kill } : {}),
        ...(halt === undefined ? {} : { halt }),
      }
      const running = startWaybill(
        folder,
        { ...environment, WAYBILL_KEY: this.key },
        watched,
        shipped ? 'shipped' : watch,
        args,
      )
      const { halted, goOn, ended } = running
      const killer = setTimeout(() => running.kill(), ending?.by === 'instant' ? ending.afterMs : LONGEST_MS)
      const asker =
        ending?.by === 'request' ? setTimeout(() => running.kill('SIGTERM'), ending.afterMs) : undefined
      const end = async (): Promise<Ended | undefined> => {
        const how = await ended
        clearTimeout(killer)
        clearTimeout(asker)
        this.heard += how.err
        for (const [, point] of how.err.matchAll(/^passed (.+)$/gm)) this.passed.push(point as KillPoint)
        if (how.out.includes(MARK) || how.err.includes(MARK))
          this.complaints.push(`health data in what waybill ${args[0]} says`)
        const isAsked = ending?.by === 'request' && (how.code === 130 || how.signal === 'SIGTERM')
        if (!isAsked && how.signal !== 'SIGKILL') {
          if (args[0] === 'run') this.lastExit = how.code
          if (args[0] === 'reconcile') this.reads += readsIn(how.out)
          return how
        }
        if (ending === undefined || (ending.by === 'request' && !isAsked))
          throw new Error(`waybill ${args[0]} hangs: ${how.err.slice(-2000)}`)
        this.kills.push(ending.by === 'point' ? ending.kill.point : ending.by)
        return undefined
      }
      return { halted, goOn, end }
    },
    spawn(args, machine, kill) {
      this.processes++
      const settings = { ...environment, WAYBILL_KEY: this.key }
      const watch = { haste: HASTE, answerWithin, boot: 0, machine, ...(kill === undefined ? {} : { kill }) }
      let isStruck = false
      const running = startWaybill(folder, settings, watched, watch, args)
      void running.ended.then(({ err, signal }) => {
        this.heard += err
        if (kill !== undefined && signal === 'SIGKILL' && !isStruck) this.kills.push(kill.point)
        if (err.includes(MARK)) this.complaints.push(`health data in what waybill ${args[0]} says`)
      })
      return {
        ...running,
        kill(by) {
          isStruck = by === undefined || by === 'SIGKILL'
          running.kill(by)
        },
      }
    },
    async restartMachine() {
      this.boot++
      await restartMachine(home)
    },
    async setFaults(faults, seed) {
      const answer: unknown = await (await fetch(faultsUrl)).json()
      const [counter, ...struck] = FaultReport.parse(answer).faults
      this.requests += counter?.matched ?? 0
      this.struck = this.struck.concat(struck.map(({ do: kind, struck: times }) => ({ kind, times })))
      const body = JSON.stringify({ seed, faults: [COUNTER, ...faults.map(({ fault }) => fault)] })
      const taken = await fetch(faultsUrl, { method: 'PUT', headers: JSON_TYPE, body })
      if (!taken.ok) throw new Error(`the fault plan is wrong: ${await taken.text()}`)
    },
    async lookAtUnfinished() {
      if (hasLooked) return
      hasLooked = true
      const shown = await this.start(['show']).end()
      if (/^Balanced: every row/m.test(shown?.out ?? '') && !/: finished/.test(shown?.out ?? ''))
        this.complaints.push('a run that is not over is said to be balanced')
    },
    async searchHome() {
      for (const entry of await readdir(home, { recursive: true, withFileTypes: true })) {
        if (!entry.isFile() || entry.parentPath.includes('/rejects')) continue
        const file = join(entry.parentPath, entry.name)
        const bytes = await readFile(file)
        if ((file.endsWith('.gz') ? gunzipSync(bytes) : bytes).includes(MARK))
          this.complaints.push(`health data in ${file}`)
      }
    },
  }
}

const Reconciled = z.object({ reads: z.int().default(0) })
const readsIn = (out: string): number => (out === '' ? 0 : Reconciled.parse(JSON.parse(out)).reads)

const JSON_TYPE = { 'content-type': 'application/json' }
const FaultReport = z.object({
  faults: z.array(z.object({ do: z.string(), matched: z.int(), struck: z.int() })),
})
