/** What commands that send, or read back, have in common: ledger, gateway and the rest of what a run is handed. */
import type { TransportOptions } from '../gateway/transport.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { SourceSettings } from '../run/arrival.ts'
import type { RunDependencies } from '../run/dependencies.ts'
import { createRunEvents } from '../run/events.ts'
import type { JobEnd } from '../run/execute.ts'
import type { Settings } from '../settings.ts'
import type { Logger } from '../telemetry/logger.ts'
import { createProgress, NO_PROGRESS, type Progress } from '../telemetry/progress.ts'
import type { CommandContext, GatewayConnection } from './context.ts'
import { describeError, errorAsJson } from './describe-error.ts'
import { createRunReporter } from './run-reporter.ts'
import { summaryText } from './summary-text.ts'

/** What runs at any gateway are handed. */
export type Surroundings = Omit<RunDependencies, 'gateway' | 'gatewayName'>

/**
 * Opens ledger and gateway, and closes them when the work is done, however it ends.
 * @param gateway as `chooseGateway` gives it
 */
export function withRunDependencies<Result>(
  context: CommandContext,
  quiet: boolean,
  gateway: string,
  work: (deps: RunDependencies) => Promise<Result>,
): Promise<Result> {
  return withGateways(context, { quiet }, async (_, at) => work(await at(gateway)))
}

export interface GatewayWatch {
  readonly quiet: boolean
  /** Told of every request to a gateway. */
  readonly onRequest?: TransportOptions['onRequest'] | undefined
}

/**
 * The same for runs at several gateways.
 * @param work given what leads to a gateway: it is connected when it is first asked for
 */
export async function withGateways<Result>(
  context: CommandContext,
  { quiet, onRequest }: GatewayWatch,
  work: (common: Surroundings, at: (gateway: string) => Promise<RunDependencies>) => Promise<Result>,
): Promise<Result> {
  const { settings } = context
  const ledger = await context.openLedger()
  const connections = new Map<string, Promise<GatewayConnection>>()
  try {
    const { progress, logger } = openDisplay(context, quiet)
    const connect = async (name: string): Promise<GatewayConnection> => {
      const connection = await context.connectGateway(name, onRequest)
      progress.note(`Records go to ${connection.describe}.`)
      return connection
    }
    const common: Surroundings = {
      ledger,
      identity: await context.identity((await ledger.runs(1)).length > 0),
      folders: settings,
      home: settings.home,
      sources: sourceSettings(settings),
      events: createRunEvents(createRunReporter(progress, logger, context.now)),
      now: context.now,
      random: context.random,
      sleep: context.sleep,
      newRunId: () => newRunId(context),
      owner: context.owner,
      isDead: context.isDead,
      interrupt: context.interrupt,
    }
    return await work(common, async (name) => {
      const connecting = connections.get(name) ?? connect(name)
      connections.set(name, connecting)
      // What could not be begun is begun anew when it is asked for again.
      connecting.catch(() => connections.delete(name))
      const { gateway } = await connecting
      return { ...common, gateway, gatewayName: name }
    })
  } finally {
    for (const connection of connections.values()) await connection.then((one) => one.close()).catch(() => {})
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

export async function reportRun(
  context: CommandContext,
  options: { readonly quiet?: true | undefined; readonly json?: true | undefined },
  ledger: Pick<Ledger, 'reasonsOf'>,
  { summary, error }: Pick<JobEnd, 'summary' | 'error'>,
): Promise<void> {
  if (options.json) {
    context.out(JSON.stringify({ ...summary, ...(error === undefined ? {} : errorAsJson(error)) }))
    return
  }
  if (!options.quiet) {
    for (const one of summary.resumed === undefined ? [summary] : [summary.resumed, summary]) {
      // Its words are told as those of the error.
      const { detail: _, ...shown } = one
      context.out(summaryText(shown, await ledger.reasonsOf(one.run), context.columns))
    }
  }
  if (error !== undefined) context.err(describeError(error))
}
