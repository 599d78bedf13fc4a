/** Display of a run on a terminal: progress while it runs, the summary at the end. */

import type { Reason } from '../ledger/ledger.ts'
import { EXIT } from '../model/errors.ts'
import type { JobEnd } from '../run/execute.ts'
import type { RunWatch } from '../runs/connect-gateway.ts'
import type { BeginWatch } from '../runs/run-job.ts'
import { leftOf } from '../story/notices.ts'
import { summaryLines } from '../story/terminal.ts'
import type { Logger } from '../telemetry/logger.ts'
import { createProgress, NO_PROGRESS, type Progress } from '../telemetry/progress.ts'
import type { CommandContext } from './command-form.ts'
import { createRunReporter } from './run-reporter.ts'
import { errorAsJson, errorLines } from './terminal-text.ts'

/** @param quiet true for warnings and errors alone */
export function watchOnTerminal(context: CommandContext, quiet: boolean): RunWatch {
  const { progress, logger } = openDisplay(context, quiet)
  return {
    listener: createRunReporter(progress, logger, context.now),
    onConnected: (words) => progress.note(words),
  }
}

/** Watches a run, and prints its summary at the end. */
export const beginOnTerminal = (
  context: CommandContext,
  options: { readonly quiet?: true | undefined; readonly json?: true | undefined },
): BeginWatch => ({
  ...watchOnTerminal(context, options.quiet === true),
  onEnd: (end, reasonsOf) => reportRun(context, options, reasonsOf, end),
})

/**
 * Progress of a run, and the log beside it: standard error shows one of the two; warnings and errors are shown in any case
 * (docs/logging.md).
 */
function openDisplay(context: CommandContext, quiet: boolean): { progress: Progress; logger: Logger } {
  const { settings, logger, now, writeError: write } = context
  if (quiet) return { progress: NO_PROGRESS, logger: logger.beside(write) }
  if (settings.logFormat === 'json') return { progress: NO_PROGRESS, logger }
  // A full log without a log file goes to standard error.
  const inFull = settings.logLevel === 'debug' && settings.logFile === undefined
  const progress = createProgress({ columns: !inFull && context.terminal, now, write })
  return { progress, logger: inFull ? logger : logger.beside((line) => progress.note(line.trimEnd())) }
}

async function reportRun(
  context: CommandContext,
  options: { readonly quiet?: true | undefined; readonly json?: true | undefined },
  reasonsOf: (run: string) => Promise<readonly Reason[]>,
  { summary, error, exit }: JobEnd,
): Promise<void> {
  // The error already reports an early end; warnings already report how exports differ.
  if (options.quiet && error === undefined && exit !== EXIT.ok)
    context.err(
      `Run ${summary.run} of ${summary.job} finished with ${leftOf(summary)}: waybill show ${summary.run}`,
    )
  if (options.json) {
    context.out(JSON.stringify({ ...summary, ...errorAsJson(error) }))
    return
  }
  if (!options.quiet) {
    for (const one of summary.resumed === undefined ? [summary] : [summary.resumed, summary]) {
      // The error already has this text.
      const { detail: _, ...shown } = one
      context.out(summaryLines(shown, await reasonsOf(one.run), context.columns))
    }
  }
  if (error !== undefined) context.err(errorLines(error))
}
