/** Runs a command of the settings or of a job through `/bin/sh`, and kills it with all that it has started when its time is over. */
import type { ChildProcess } from 'node:child_process'
import { codeOf, WaybillError } from './model/errors.ts'
import { assertObeyableCommand } from './obeyed-files.ts'

export interface ShellCommand {
  /** For `/bin/sh -c`. */
  readonly command: string
  /** Milliseconds. */
  readonly timeoutMs: number
  /** All variables that it has. */
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly folder?: string
  /** For its standard input. */
  readonly input?: string
  /** Whether what it prints is wanted; else it goes nowhere: it may hold a secret. */
  readonly isRead?: boolean
}

/** Output of the command; or the failure, behind "it": `failed (exit 7)`. `error`: another user may write to a file that the command names. */
export type ShellEnd = { readonly out: string } | { readonly why: string; readonly error?: WaybillError }

/** Resolves when it has ended, and where its output is read, when that has. Never rejects. */
export const runShell = ({
  command,
  timeoutMs,
  environment,
  folder,
  input = '',
  isRead = false,
}: ShellCommand): Promise<ShellEnd> =>
  new Promise((resolve) => {
    const notStarted = (error: unknown): ShellEnd => ({ why: `cannot be started (${codeOf(error)})` })
    let child: ChildProcess
    try {
      assertObeyableCommand(command, folder ?? '.', environment)
      // Most runs start no process: what that needs is loaded here.
      const { spawn } = process.getBuiltinModule('node:child_process')
      child = spawn('/bin/sh', ['-c', command], {
        env: environment,
        cwd: folder,
        detached: true,
        stdio: ['pipe', isRead ? 'pipe' : 'ignore', 'ignore'],
      })
    } catch (error) {
      // spawn throws for a variable that holds NUL or is too long. The message of that error shows the variable.
      resolve(
        error instanceof WaybillError ? { why: `is not run: ${error.message}`, error } : notStarted(error),
      )
      return
    }
    const end = (how: ShellEnd): void => {
      clearTimeout(timer)
      resolve(how)
    }
    const timer = setTimeout(() => {
      killGroup(child.pid)
      // What has left the group may hold its output open.
      child.stdout?.destroy()
      end({ why: `took longer than ${timeoutMs / 1000} s, and was killed` })
    }, timeoutMs)
    let out = ''
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      out += text
    })
    child.on('error', (error) => end(notStarted(error)))
    child.on(isRead ? 'close' : 'exit', (code, signal) =>
      end(code === 0 ? { out } : { why: `failed (${code === null ? signal : `exit ${code}`})` }),
    )
    // Who does not want to read need not.
    child.stdin?.on('error', () => {})
    child.stdin?.end(input)
  })

function killGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // It has ended in the meantime.
  }
}
