/** The workers of a round, each as on a machine of its own: killed, halted and asked to end, at random instants and at named points. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Random } from '../samples/random.ts'
import type { GatewayWatch } from './gateway-watch.ts'
import { RUN_POINTS } from './kill-points.ts'
import type { RunningWaybill } from './processes.ts'
import type { Scene } from './scene.ts'
import type { Held, Takeovers } from './takeovers.ts'

export interface Pool {
  /** Nothing befalls the workers any more. */
  calm(): void
  /** Milliseconds of each takeover that was timed. */
  readonly takeovers: readonly number[]
  close(): Promise<void>
}

interface Filling {
  readonly count: number
  readonly random: Random
  readonly takeovers: Takeovers
  readonly gateway: Pick<GatewayWatch, 'woke'>
}

/** Kills and halts in a round, and takeovers that are timed: each takes 20 s or more, as nobody knows that the machine is gone. */
const MOST_KILLS = 3
const TIMED = 1
/** Requests to end, and cut connections: each hands the run to another worker at once. */
const MOST_OTHERS = 4

export function openPool(scene: Scene, { count, random, takeovers, gateway }: Filling): Pool {
  let isOver = false
  let isCalm = false
  let started = 0
  let ended = 0
  let kills = 0
  let strikes = 0
  const times: number[] = []
  const running = new Map<string, RunningWaybill>()
  const keepOne = async (): Promise<void> => {
    while (!isOver) {
      const machine = `machine-${++started}`
      const point = random.pick(RUN_POINTS)
      const kill = { point, nth: random.pick([1, 1, 2, 3]) }
      const isKilled = !isCalm && kills < MOST_KILLS && random.chance(0.5)
      if (isKilled) kills++
      const worker = scene.spawn(['worker', '--concurrency', '2'], machine, isKilled ? kill : undefined)
      running.set(machine, worker)
      await worker.ended
      running.delete(machine)
      ended++
      await delay(200)
    }
  }
  /** Kills or halts a worker, and waits until others have its jobs. */
  const time = async (worker: RunningWaybill, held: readonly Held[]): Promise<void> => {
    const isHalted = random.chance(0.5)
    worker.kill(isHalted ? 'SIGSTOP' : 'SIGKILL')
    scene.kills.push('instant')
    const before = ended
    const ms = await takeovers.untilTaken(held)
    const others = ended - before - (isHalted ? 0 : 1)
    gateway.woke()
    worker.kill('SIGCONT')
    // A second worker that has died meanwhile had perhaps begun.
    if (ms !== undefined && others === 0) times.push(ms)
  }
  const strike = async (): Promise<void> => {
    while (!isOver) {
      await delay(random.integer(200, 1_500))
      const all = await takeovers.held()
      const machine = all[0]?.machine ?? ''
      const held = all.filter((one) => one.machine === machine)
      const victim = running.get(machine)
      // Nothing befalls workers without a run.
      if (isCalm || isOver || victim === undefined) continue
      if (times.length < TIMED && random.chance(0.4)) {
        await time(victim, held)
        continue
      }
      const how = random.pick(['kill', 'halt', 'ask', 'ask', 'cut', 'cut'])
      const isMild = how === 'ask' || how === 'cut'
      if (isMild ? strikes >= MOST_OTHERS : kills >= MOST_KILLS) continue
      if (isMild) strikes++
      else kills++
      if (how === 'cut') {
        await takeovers.cut()
        continue
      }
      scene.kills.push('instant')
      if (how === 'ask') victim.kill('SIGTERM')
      if (how === 'kill') victim.kill()
      if (how !== 'halt') continue
      victim.kill('SIGSTOP')
      await delay(random.integer(1_000, 25_000))
      gateway.woke()
      victim.kill('SIGCONT')
    }
  }
  const all = [...Array.from({ length: count }, keepOne), strike()]
  return {
    takeovers: times,
    calm() {
      isCalm = true
    },
    async close() {
      isOver = true
      for (const one of running.values()) {
        one.kill('SIGCONT')
        one.kill()
      }
      await Promise.all(all)
    },
  }
}
