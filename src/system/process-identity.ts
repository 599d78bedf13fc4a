/**
 * Identity of a process among all processes with the same ledger. Host name and process number are not enough: two containers may share both. The
 * owner in the ledger is therefore `host:pid`, for people, and a suffix that is unique to the process.
 */
import { hash } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'

interface ProcessIdentity {
  /** `host:pid#…`: unique among all processes, also ended ones. */
  readonly owner: string
  /**
   * True if the owner has ended, so that its leases are free. False where the answer is unknown, as for a process of another place: only the heartbeat
   * tells. False for this process, which may run several jobs at once: a lease that a release has left (full disk) ends by itself.
   */
  readonly isDead: (owner: string) => boolean
}

/** Processes of a machine. */
interface ProcessTable {
  /** Namespace of the process numbers, in hex digits: differs for each boot of the machine and each PID namespace; undefined if unknown. */
  readonly place: string | undefined
  readonly isThere: (pid: number) => boolean
  /** Start of the process, in ticks since the boot of the machine; undefined if unknown. */
  readonly begunAt: (pid: number) => string | undefined
}

/** @param token random text: identifies the process where the machine cannot */
export function identify(host: string, pid: number, token: string, table: ProcessTable): ProcessIdentity {
  const { place, isThere, begunAt } = table
  const begun = begunAt(pid)
  const own =
    place === undefined || begun === undefined
      ? `${host}:${pid}#${token}`
      : `${host}:${pid}#${place}.${begun}`
  return {
    owner: own,
    isDead(owner) {
      const other = /:(?<pid>\d+)#(?<place>[0-9a-f]+)\.(?<begun>\d+)$/.exec(owner)?.groups
      if (other === undefined || other['place'] !== place) return false
      const number = Number(other['pid'])
      if (!isThere(number)) return true
      // The system reuses process numbers, and a new namespace may reuse the number of an old one; never with the same start.
      const begunNow = begunAt(number)
      return begunNow !== undefined && begunNow !== other['begun']
    },
  }
}

/** Process table of Linux (proc_pid_stat(5), namespaces(7)); empty on other systems. */
export function processTable(pid: number, proc = '/proc'): ProcessTable {
  const statOf = (name: string): { number: string; begun: string | undefined } | undefined => {
    const text = quietly(() => readFileSync(join(proc, name, 'stat'), 'latin1'))
    // The second field is the program's name in parentheses, with any characters; the twenty-second is the start.
    return text === undefined
      ? undefined
      : { number: text.slice(0, text.indexOf(' ')), begun: afterName(text)[19] }
  }
  const boot = quietly(() => readFileSync(join(proc, 'sys/kernel/random/boot_id'), 'latin1').trim())
  const namespace = quietly(() => readlinkSync(join(proc, 'self/ns/pid')))
  // The table of another namespace may be mounted here: its numbers name other processes.
  const isOurs = statOf('self')?.number === String(pid)
  return {
    place:
      isOurs && boot !== undefined && namespace !== undefined
        ? hash('sha256', `${boot} ${namespace}`, 'hex').slice(0, 12)
        : undefined,
    isThere,
    begunAt: (one) => (isOurs ? statOf(String(one))?.begun : undefined),
  }
}

const afterName = (stat: string): string[] => stat.slice(stat.lastIndexOf(')') + 2).split(' ')

function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH')
  }
}

function quietly(read: () => string): string | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
