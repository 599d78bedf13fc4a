/** Where a round is played: its folder, its gateway, and the processes of Waybill that are started, killed and waited for. */
import { join } from 'node:path'
import { z } from 'zod'
import type { Pace } from './draw-faults.ts'
import type { Kill, KillPoint } from './kill-points.ts'
import { type Ended, type GatewayProcess, type RunningWaybill, startWaybill } from './processes.ts'

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
  readonly gateway: GatewayProcess
  /** Runs the program as shipped, at its own pace, instead of the watched one. */
  readonly shipped: boolean
  readonly pace: Pace
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
  processes: number
  struck: Struck
  start(args: readonly string[], plan?: ProcessPlan): ScenePlayer
  /** From now on the gateway does as it should; what struck until then is kept. */
  endFaults(): Promise<void>
}

/** A watched process waits so many times less than it says. */
const HASTE = 20
/** A process that lasts longer hangs. */
const LONGEST_MS = 90_000

export function createScene(stage: Stage): Scene {
  const { folder, mappings, gateway, shipped, pace } = stage
  const home = join(folder, 'home')
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
  return {
    ...{ home, stage, kills: [], passed: [], processes: 0, struck: [] },
    start(args, { ending, halt } = {}) {
      this.processes++
      const watch = {
        haste: HASTE,
        answerWithin: pace.answerWithin ?? 0,
        ...(ending?.by === 'point' ? { kill: ending.kill } : {}),
        ...(halt === undefined ? {} : { halt }),
      }
      const running = startWaybill(folder, environment, shipped ? 'shipped' : watch, args)
      const { halted, goOn, ended } = running
      const killer = setTimeout(() => running.kill(), ending?.by === 'instant' ? ending.afterMs : LONGEST_MS)
      const asker =
        ending?.by === 'request' ? setTimeout(() => running.kill('SIGTERM'), ending.afterMs) : undefined
      const end = async (): Promise<Ended | undefined> => {
        const how = await ended
        clearTimeout(killer)
        clearTimeout(asker)
        for (const [, point] of how.err.matchAll(/^passed (.+)$/gm)) this.passed.push(point as KillPoint)
        const isAsked = ending?.by === 'request' && (how.code === 130 || how.signal === 'SIGTERM')
        if (!isAsked && how.signal !== 'SIGKILL') return how
        if (ending === undefined || (ending.by === 'request' && !isAsked))
          throw new Error(`waybill ${args[0]} hangs: ${how.err.slice(-2000)}`)
        this.kills.push(ending.by === 'point' ? ending.kill.point : ending.by)
        return undefined
      }
      return { halted, goOn, end }
    },
    async endFaults() {
      const answer: unknown = await (await fetch(`${gateway.url}/_reference/faults`)).json()
      this.struck = FaultReport.parse(answer).faults.map(({ do: kind, struck }) => ({ kind, times: struck }))
      await fetch(`${gateway.url}/_reference/faults`, { method: 'DELETE' })
    },
  }
}

const FaultReport = z.object({ faults: z.array(z.object({ do: z.string(), struck: z.int() })) })
