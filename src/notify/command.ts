/** Runs a shell command with the notice on its standard input, and a few facts in its environment. */
import { existsSync } from 'node:fs'
import { runShell } from '../system/shell-command.ts'
import { type Channel, type Message, NotDelivered, payloadOf } from './notice.ts'

interface CommandOptions {
  readonly command: string
  /** Working folder; `/` if the folder is gone. */
  readonly folder: string
  readonly timeoutMs: number
  /** Variables of the command, beside the facts of the notice. */
  readonly environment: Readonly<Record<string, string>>
}

export function createCommand({ command, folder, timeoutMs, environment }: CommandOptions): Channel {
  return {
    async deliver(message) {
      const ended = await runShell({
        command,
        timeoutMs,
        folder: existsSync(folder) ? folder : '/',
        // Without the environment of this process, which has the secrets of the settings.
        environment: { ...environment, ...factsOf(message) },
        input: `${payloadOf(message)}\n`,
      })
      if ('why' in ended) throw new NotDelivered(`the command ${ended.why}`, false)
    },
  }
}

const factsOf = ({ id, notice }: Message): Readonly<Record<string, string>> => ({
  WAYBILL_NOTICE_ID: id,
  WAYBILL_NOTICE_KIND: notice.kind,
  WAYBILL_NOTICE_JOB: notice.job,
  WAYBILL_NOTICE_FAILURE: String(notice.failure),
  WAYBILL_NOTICE_TITLE: notice.title,
})
