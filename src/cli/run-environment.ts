/** What commands that send, or read back, have in common: ledger, gateway and the rest of what a run is handed. */
import type { TransportOptions } from '../gateway/transport.ts'
import type { SourceSettings } from '../job/arrival.ts'
import type { RunDependencies } from '../job/run-dependencies.ts'
import type { Settings } from '../settings.ts'
import type { Logger } from '../telemetry/logger.ts'
import { createProgress, NO_PROGRESS, type Progress } from '../telemetry/progress.ts'
import type { CommandContext } from './context.ts'
import { createRunReporter } from './run-reporter.ts'

/**
 * Opens ledger and gateway, and closes them when the work is done, however it ends.
 * @param onRequest told of every request to the gateway
 */
export async function withRunDependencies<Result>(
  context: CommandContext,
  quiet: boolean,
  work: (deps: RunDependencies) => Promise<Result>,
  onRequest?: TransportOptions['onRequest'],
): Promise<Result> {
  const { settings } = context
  const ledger = await context.openLedger()
  try {
    const connection = await context.connectGateway(onRequest)
    try {
      const { progress, logger } = openDisplay(context, quiet)
      progress.note(`Records go to ${connection.describe}.`)
      return await work({
        ledger,
        gateway: connection.gateway,
        gatewayName: connection.name,
        identity: await context.identity((await ledger.runs(1)).length > 0),
        folders: settings,
        home: settings.home,
        sources: sourceSettings(settings),
        events: createRunReporter(progress, logger, context.now),
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

/**
 * What a person sees of a run while it is on, and the log beside it: standard error shows one of the two, but for warnings and errors,
 * which are always told (docs/logging.md).
 */
function openDisplay(context: CommandContext, quiet: boolean): { progress: Progress; logger: Logger } {
  const { settings, logger, now, writeError: write } = context
  if (quiet) return { progress: NO_PROGRESS, logger: logger.beside(write) }
  if (settings.logFormat === 'json') return { progress: NO_PROGRESS, logger }
  // What is logged in full without a file is logged here.
  const inFull = settings.logLevel === 'debug' && settings.logFile === undefined
  const progress = createProgress({ columns: !inFull && context.terminal, now, write })
  return { progress, logger: inFull ? logger : logger.beside((line) => progress.note(line.trimEnd())) }
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
