/** Runs a shell command with the notice on its standard input, and a few facts in its environment. */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { type Channel, type Message, NotDelivered, payloadOf, secondsOf } from './notice.ts'

export interface CommandOptions {
  /** For `/bin/sh -c`. */
  readonly command: string
  /** Where it is run; in `/` where that is gone. */
  readonly folder: string
  /** Milliseconds, after which it is killed with all that it has started. */
  readonly timeoutMs: number
  /** Its variables, beside the facts of the notice. */
  readonly environment: Readonly<Record<string, string>>
}

/** What it prints is not read: it may hold a secret. */
export function createCommand({ command, folder, timeoutMs, environment }: CommandOptions): Channel {
  return {
    deliver: (message) =>
      new Promise((resolve, reject) => {
        const child = spawn('/bin/sh', ['-c', command], {
          // Not that of this process, which holds the secrets of the settings.
          env: { ...environment, ...factsOf(message) },
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

const factsOf = ({ id, notice }: Message): Readonly<Record<string, string>> => ({
  WAYBILL_NOTICE_ID: id,
  WAYBILL_NOTICE_KIND: notice.kind,
  WAYBILL_NOTICE_JOB: notice.job,
  WAYBILL_NOTICE_FAILURE: String(notice.failure),
  WAYBILL_NOTICE_TITLE: notice.title,
})

function killGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // It has ended in the meantime.
  }
}
