/** `waybill run`: runs a job now. */
import { EXIT, type WaybillError } from '../errors.ts'
import type { SourceSettings } from '../job/arrival.ts'
import { readJob } from '../job/definition-files.ts'
import { dryRun } from '../job/dry-run.ts'
import { runJob } from '../job/run-job.ts'
import type { RunSummary } from '../job/summary.ts'
import { createIdentity } from '../load/identity.ts'
import type { Settings } from '../settings.ts'
import { createProgress } from '../telemetry/progress.ts'
import type { Action, CommandContext } from './context.ts'
import { describeError, errorAsJson } from './describe-error.ts'
import { dryRunText } from './dry-run-text.ts'
import { createRunReporter } from './run-reporter.ts'
import { summaryText } from './summary-text.ts'

export interface RunCommandOptions {
  readonly job: string
  readonly file?: readonly string[]
  readonly limit?: number
  readonly dryRun?: true
  readonly quiet?: true
  readonly json?: true
}

export const run: Action<RunCommandOptions> = async (context, options) => {
  const { settings } = context
  const job = await readJob(settings, options.job)
  const runOptions = { files: options.file ?? [], limit: options.limit ?? Number.POSITIVE_INFINITY }
  if (options.dryRun) {
    const result = await dryRun(
      settings,
      job,
      createIdentity(context.randomHex(32)),
      runOptions,
      context.now(),
      sourceSettings(settings),
    )
    context.out(options.json ? `${JSON.stringify(result)}\n` : dryRunText(result))
    return result.rows.rejected > 0 ? EXIT.recordsLeftBehind : EXIT.ok
  }
  const ledger = await context.openLedger()
  try {
    const connection = await context.connectGateway()
    try {
      if (!options.quiet) context.err(`Records go to ${connection.describe}.\n`)
      const mode = options.quiet ? 'quiet' : context.terminal ? 'bar' : 'lines'
      const progress = createProgress(mode, context.now, context.err)
      const end = await runJob(
        {
          ledger,
          gateway: connection.gateway,
          gatewayName: connection.name,
          identity: await context.identity(),
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
        },
        job,
        runOptions,
      )
      await report(context, options, end.summary, end.error, (id) => ledger.reasonsOf(id))
      return end.exit
    } finally {
      await connection.close()
    }
  } finally {
    await ledger.close()
  }
}

const sourceSettings = (settings: Settings): SourceSettings => ({
  sftpPassword: settings.sftpPassword,
  keyFile: settings.pgpKeyFile,
  passphraseFile: settings.pgpPassphraseFile,
  verifyKeyFile: settings.pgpVerifyKeyFile,
})

async function report(
  context: CommandContext,
  options: RunCommandOptions,
  summary: RunSummary,
  error: WaybillError | undefined,
  reasonsOf: (run: string) => ReturnType<Awaited<ReturnType<CommandContext['openLedger']>>['reasonsOf']>,
): Promise<void> {
  if (options.json) {
    context.out(`${JSON.stringify({ ...summary, ...(error === undefined ? {} : errorAsJson(error)) })}\n`)
    return
  }
  if (!options.quiet) {
    for (const one of summary.resumed === undefined ? [summary] : [summary.resumed, summary]) {
      context.out(summaryText(one, await reasonsOf(one.run)))
    }
  }
  if (error !== undefined) context.err(describeError(error))
}

/** `20260302T071500Z-4f2a9c`: sorts by time, and is told apart by chance. */
const newRunId = ({ now, randomHex }: CommandContext): string =>
  `${new Date(now()).toISOString().replaceAll(/[-:]|\.\d+/g, '')}-${randomHex(3)}`
