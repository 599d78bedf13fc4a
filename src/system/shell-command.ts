/** Runs a command of the settings or of a job through `/bin/sh`. Kills the command and its children after a timeout. */
import type { ChildProcess } from 'node:child_process'
import { codeOf, WaybillError } from '../model/errors.ts'
import { assertObeyableCommand } from './obeyed-files.ts'

interface ShellCommand {
  readonly command: string
  readonly timeoutMs: number
  /** The whole environment of the command. */
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly folder?: string
  readonly input?: string
  /** True: reads the output of the command. False: discards the output, which may hold a secret. */
  readonly isRead?: boolean
}

/** Output of the command; or the failure, to follow its name: `failed (exit 7)`. `error`: another user may write to a file in the command. */
type ShellEnd = { readonly out: string } | { readonly why: string; readonly error?: WaybillError }

/** Resolves at the end of the command, or at the end of an output that is read. Never rejects. */
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
      // Loaded here, as most runs start no process.
      const { spawn } = process.getBuiltinModule('node:child_process')
      child = spawn('/bin/sh', ['-c', command], {
        env: environment,
        cwd: folder,
        detached: true,
        stdio: ['pipe', isRead ? 'pipe' : 'ignore', 'ignore'],
      })
    } catch (error) {
      // spawn throws for a variable with NUL, or a variable too long. The message of the error shows the variable.
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
      // A process outside the group may keep the output open.
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
    // A command may leave its input unread.
    child.stdin?.on('error', () => {})
    child.stdin?.end(input)
  })

function killGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // The process has ended in the meantime.
  }
}
