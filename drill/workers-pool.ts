/** The workers of a round, each as on a machine of its own: killed, halted and asked to end, at random instants and at named points. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Random } from '../samples/random.ts'
import type { GatewayWatch } from './gateway-watch.ts'
import { RUN_POINTS } from './kill-points.ts'
import type { RunningWaybill } from './processes.ts'
import type { Scene } from './scene.ts'
import type { Takeovers } from './takeovers.ts'

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
const MOST_KILLS = 5
const TIMED = 1

export function openPool(scene: Scene, { count, random, takeovers, gateway }: Filling): Pool {
  let isOver = false
  let isCalm = false
  let started = 0
  let ended = 0
  let kills = 0
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
  /** Kills or halts a worker that holds a job, and waits until others have the job. */
  const time = async (): Promise<void> => {
    for (const [machine, worker] of running) {
      const held = (await takeovers.heldBy(machine)) ?? []
      if (held.length === 0 || isCalm) continue
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
      return
    }
  }
  const strike = async (): Promise<void> => {
    while (!isOver) {
      await delay(random.integer(300, 2_500))
      const [, victim] = [...running].slice(random.integer(0, Math.max(0, running.size - 1)))[0] ?? []
      if (isCalm || isOver || victim === undefined) continue
      if (times.length < TIMED && random.chance(0.5)) {
        await time()
        continue
      }
      const isSpared = kills >= MOST_KILLS
      const how = random.pick(isSpared ? ['ask', 'cut'] : ['kill', 'halt', 'ask', 'ask', 'cut', 'cut'])
      if (how === 'cut') {
        await takeovers.cut()
        continue
      }
      scene.kills.push('instant')
      if (how === 'ask') victim.kill('SIGTERM')
      else kills++
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
