/** What commands that send, or read back, have in common: ledger, gateway and the rest of what a run is handed. */
import type { SourceSettings } from '../job/arrival.ts'
import type { RunDependencies } from '../job/run-dependencies.ts'
import type { Settings } from '../settings.ts'
import { createProgress } from '../telemetry/progress.ts'
import type { CommandContext } from './context.ts'
import { createRunReporter } from './run-reporter.ts'

/** Opens ledger and gateway, and closes them when the work is done, however it ends. */
export async function withRunDependencies<Result>(
  context: CommandContext,
  quiet: boolean,
  work: (deps: RunDependencies) => Promise<Result>,
): Promise<Result> {
  const { settings } = context
  const ledger = await context.openLedger()
  try {
    const connection = await context.connectGateway()
    try {
      if (!quiet) context.err(`Records go to ${connection.describe}.\n`)
      const mode = quiet ? 'quiet' : context.terminal ? 'bar' : 'lines'
      const progress = createProgress(mode, context.now, context.err)
      return await work({
        ledger,
        gateway: connection.gateway,
        gatewayName: connection.name,
        identity: await context.identity((await ledger.runs(1)).length > 0),
        folders: settings,
        home: settings.home,
        sources: sourceSettings(settings),
        events: createRunReporter(progress, context.logger),
        now: context.now,
        random: context.random,
        sleep: context.sleep,
        newRunId: () => newRunId(context),
        owner: context.owner,
        isDead: context.isDead,
        interrupt: context.interrupt,
      })
    } finally {
      await connection.close()
    }
  } finally {
    await ledger.close()
  }
}

export const sourceSettings = (settings: Settings): SourceSettings => ({
  sftpPassword: settings.sftpPassword,
  keyFile: settings.pgpKeyFile,
  passphraseFile: settings.pgpPassphraseFile,
  verifyKeyFile: settings.pgpVerifyKeyFile,
})

/** `20260302T071500Z-4f2a9c`: sorts by time, and is told apart by chance. */
const newRunId = ({ now, randomHex }: CommandContext): string =>
  `${new Date(now()).toISOString().replaceAll(/[-:]|\.\d+/g, '')}-${randomHex(3)}`
