/** Runs a command to its end and measures it: processor time of all its processes, elapsed time, peak memory, bytes written to disk. Linux. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'

export interface Measured {
  readonly processorS: number
  readonly elapsedS: number
  /** Of the process that had most. */
  readonly peakMB: number
  readonly writtenMB: number
  readonly out: string
}

/** Ticks a second: what /proc counts processor time in, on every Linux since 2.6. */
const TICKS = 100
const LOOK_EVERY_MS = 10

/** @param codes with which it may end. @throws Error where it ends with another */
export async function measure(
  command: string,
  parameters: readonly string[],
  env: Readonly<Record<string, string>> = {},
  codes: readonly number[] = [0],
): Promise<Measured> {
  const before = ofChildren()
  const begun = performance.now()
  const child = spawn(command, parameters, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'], TZ: 'UTC', ...env },
  })
  const said = text(child.stdout)
  const told = text(child.stderr)
  const seen = new Map<string, { peak: number; written: number }>()
  const look = setInterval(() => lookAt(child.pid ?? 0, seen), LOOK_EVERY_MS)
  const [code] = (await once(child, 'exit')) as [number | null]
  clearInterval(look)
  const out = await said
  if (!codes.includes(code ?? -1))
    throw new Error(
      `${command} ${parameters.join(' ')} ended with ${code}:\n${out.slice(0, 2000)}\n${await told}`,
    )
  const all = [...seen.values()]
  return {
    processorS: (ofChildren() - before) / TICKS,
    elapsedS: (performance.now() - begun) / 1000,
    peakMB: Math.max(...all.map(({ peak }) => peak)) / 1024,
    writtenMB: all.reduce((sum, { written }) => sum + written, 0) / 1e6,
    out,
  }
}

/** Ticks of children that are over, and of theirs: fields 16 and 17 of proc_pid_stat(5). */
function ofChildren(): number {
  const stat = readFileSync('/proc/self/stat', 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return Number(fields[13]) + Number(fields[14])
}

function lookAt(pid: number, seen: Map<string, { peak: number; written: number }>): void {
  for (const one of [pid, ...childrenOf(pid)]) {
    try {
      const status = readFileSync(`/proc/${one}/status`, 'utf8')
      const io = readFileSync(`/proc/${one}/io`, 'utf8')
      // Of one that is over and not yet taken notice of, it is gone.
      const peak = Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1] ?? seen.get(String(one))?.peak ?? 0)
      seen.set(String(one), { peak, written: Number(/^write_bytes: (\d+)/m.exec(io)?.[1] ?? 0) })
    } catch {
      // It is over.
    }
  }
}

function childrenOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
      readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
    )
  } catch {
    return []
  }
}

export const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN

/** Processor time and peak memory of a process that runs. */
export function usedBy(pid: number): Pick<Measured, 'processorS' | 'peakMB'> {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const peak = /^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return { processorS: (Number(fields[11]) + Number(fields[12])) / TICKS, peakMB: Number(peak) / 1024 }
}
