/** The processes of a round: the reference gateway, and Waybill. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { z } from 'zod'
import type { Watch } from './waybill-process.ts'

const PROJECT = join(import.meta.dirname, '..')
const SHIPPED = join(PROJECT, 'bin/waybill.js')
/** The watched program, as it is written. */
export const WATCHED = join(import.meta.dirname, 'waybill-process.ts')

const Listening = z.object({ url: z.string() })

export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly out: string
  readonly err: string
}

export interface GatewayProcess {
  readonly url: string
  stop(): Promise<void>
}

/** @param args beside `--port 0 --json` */
export async function startGateway(folder: string, args: readonly string[]): Promise<GatewayProcess> {
  const child = spawn(process.execPath, [SHIPPED, 'gateway', '--port', '0', '--json', ...args], {
    cwd: folder,
    env: { PATH: process.env['PATH'] },
  })
  const over = gather(child)
  const said = await Promise.race([
    once(child.stdout, 'data'),
    over.then(({ err }) => {
      throw new Error(`the reference gateway did not start: ${err}`)
    }),
  ])
  const { url } = Listening.parse(JSON.parse(String(said[0])))
  return {
    url,
    async stop() {
      child.kill('SIGTERM')
      await over
    },
  }
}

export interface RunningWaybill {
  /** Default: SIGKILL. */
  kill(signal?: NodeJS.Signals): void
  /** Resolves when it has halted itself, or has ended. */
  readonly halted: Promise<void>
  /** From now on it is never left halted. */
  goOn(): void
  readonly ended: Promise<Ended>
}

/**
 * Starts `waybill …`: as shipped, or watched.
 * @param watched the file of the watched program
 */
export function startWaybill(
  folder: string,
  environment: Readonly<Record<string, string>>,
  watched: string,
  watch: Watch | 'shipped',
  args: readonly string[],
): RunningWaybill {
  const entry = watch === 'shipped' ? [SHIPPED] : [watched, JSON.stringify(watch)]
  const child = spawn(process.execPath, [...entry, ...args], {
    cwd: folder,
    env: { PATH: process.env['PATH'], ...environment },
  })
  const ended = gather(child)
  return {
    kill: (signal = 'SIGKILL') => child.kill(signal),
    halted: Promise.race([haltOf(child), ended.then(() => {})]),
    goOn() {
      child.kill('SIGCONT')
      // It may halt later, or be about to.
      const again = setInterval(() => child.kill('SIGCONT'), 100)
      ended.finally(() => clearInterval(again))
    },
    ended,
  }
}

function haltOf(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    child.stderr?.on('data', (text: Buffer) => {
      if (/^halted /m.test(text.toString())) resolve()
    })
  })
}

async function gather(child: ChildProcess): Promise<Ended> {
  let out = ''
  let err = ''
  child.stdout?.on('data', (text: Buffer) => {
    out += text.toString()
  })
  child.stderr?.on('data', (text: Buffer) => {
    err += text.toString()
  })
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null]
  return { code, signal, out, err }
}
