/** Runs a shell command with the notice on its standard input, and a few facts in its environment. */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { type Channel, type Message, NotDelivered, secondsOf } from './channel.ts'
import { payloadOf } from './payload.ts'

export interface CommandOptions {
  /** For `/bin/sh -c`. */
  readonly command: string
  /** Where it is run; in `/` where that is gone. */
  readonly folder: string
  /** Milliseconds, after which it is killed with all that it has started. */
  readonly timeoutMs: number
}

/** What it prints is not read: it may hold a secret. */
export function createCommand({ command, folder, timeoutMs }: CommandOptions): Channel {
  return {
    deliver: (message) =>
      new Promise((resolve, reject) => {
        // By `env`, so that the command has the environment that Waybill was started with, and these beside it.
        const args = [...factsOf(message), '/bin/sh', '-c', command]
        const child = spawn('/usr/bin/env', args, {
          cwd: existsSync(folder) ? folder : '/',
          detached: true,
          stdio: ['pipe', 'ignore', 'ignore'],
        })
        let isLate = false
        const timer = setTimeout(() => {
          isLate = true
          killGroup(child.pid)
        }, timeoutMs)
        child.on('error', (error) => {
          clearTimeout(timer)
          const code = 'code' in error ? String(error.code) : 'unknown'
          reject(new NotDelivered(`it cannot be started (${code})`, false))
        })
        child.on('exit', (code, signal) => {
          clearTimeout(timer)
          if (isLate)
            reject(new NotDelivered(`it took longer than ${secondsOf(timeoutMs)}, and was killed`, false))
          else if (code === 0) resolve()
          else reject(new NotDelivered(`it failed (${code === null ? signal : `exit ${code}`})`, false))
        })
        // Who does not want to read need not.
        child.stdin.on('error', () => {})
        child.stdin.end(`${payloadOf(message)}\n`)
      }),
  }
}

const factsOf = ({ id, notice }: Message): string[] =>
  Object.entries({
    ID: id,
    KIND: notice.kind,
    JOB: notice.job,
    FAILURE: String(notice.failure),
    TITLE: notice.title,
  }).map(([name, value]) => `WAYBILL_NOTICE_${name}=${value}`)

function killGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // It has ended in the meantime.
  }
}
