/**
 * Who a process is among all that share a ledger. A host name and a process number do not say it: two containers may have the same of both. So the
 * owner that the ledger keeps is `host:pid`, which people are shown, and behind it what tells this process from every other one.
 */
import { hash } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'

export interface ProcessIdentity {
  /** `host:pid#…`, of no other process that ever was. */
  readonly owner: string
  /**
   * Whether nobody is at work any more on what that process holds. Of one whose number is counted elsewhere nothing is known: only its heartbeat tells.
   * True of this process itself: it asks for what it is not at work on, and what it seems to hold it could not let go, as the disk was full.
   */
  readonly isDead: (owner: string) => boolean
}

/** What a machine tells of its processes. */
export interface ProcessTable {
  /** Where the process numbers are counted, in hex digits: differs with each start of the machine and each PID namespace; undefined where that cannot be told. */
  readonly place: string | undefined
  readonly isThere: (pid: number) => boolean
  /** When the process was begun, in ticks since the machine was; undefined where that cannot be told. */
  readonly begunAt: (pid: number) => string | undefined
}

/** @param token of chance: tells the process apart where its machine does not */
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
      if (owner === own) return true
      const other = /:(?<pid>\d+)#(?<place>[0-9a-f]+)\.(?<begun>\d+)$/.exec(owner)?.groups
      if (other === undefined || other['place'] !== place) return false
      const number = Number(other['pid'])
      if (!isThere(number)) return true
      // A process number is given out again, and so is that of a namespace; not at the same instant.
      const begunNow = begunAt(number)
      return begunNow !== undefined && begunNow !== other['begun']
    },
  }
}

/** The table that Linux keeps (proc_pid_stat(5), namespaces(7)); of another system it says nothing. */
export function processTable(pid: number, proc = '/proc'): ProcessTable {
  const statOf = (name: string): { number: string; begun: string | undefined } | undefined => {
    const text = quietly(() => readFileSync(join(proc, name, 'stat'), 'latin1'))
    // The second field is the program's name in parentheses, with whatever it holds; the twenty-second is the start.
    return text === undefined
      ? undefined
      : { number: text.slice(0, text.indexOf(' ')), begun: afterName(text)[19] }
  }
  const boot = quietly(() => readFileSync(join(proc, 'sys/kernel/random/boot_id'), 'latin1').trim())
  const namespace = quietly(() => readlinkSync(join(proc, 'self/ns/pid')))
  // Another namespace's table may be mounted here: its numbers name other processes.
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
