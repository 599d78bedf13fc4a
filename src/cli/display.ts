/** Display of a run on a terminal: progress while it runs, the summary at the end. */

import { allRecords } from '../model/balance.ts'
import { EXIT, errorAsJson } from '../model/errors.ts'
import type { BeginWatch } from '../runs/begin.ts'
import type { RunWatch } from '../runs/connect-gateway.ts'
import { runJson } from '../runs/listed-runs.ts'
import type { JobEnd, RunStory, RunSummary } from '../story/run-story.ts'
import { summaryLines } from '../story/terminal.ts'
import { leftWords, waitsText } from '../story/words.ts'
import { counted, n, present } from '../system/shown-text.ts'
import type { Logger } from '../telemetry/logger.ts'
import { createProgress, NO_PROGRESS, type Progress } from '../telemetry/progress.ts'
import { type CommandContext, print } from './command-form.ts'
import { createRunReporter } from './run-reporter.ts'
import { errorLines } from './terminal-text.ts'

/** @param quiet true for warnings and errors alone */
export function watchOnTerminal(context: CommandContext, quiet: boolean): RunWatch {
  const { progress, logger } = openDisplay(context, quiet)
  return {
    listener: createRunReporter(progress, logger, context.now),
    onConnected: (words) => progress.note(words),
  }
}

interface DisplayOptions {
  readonly quiet?: true | undefined
  readonly json?: true | undefined
}

/** Watches a run, and prints its summary at the end. */
export const beginOnTerminal = (context: CommandContext, options: DisplayOptions): BeginWatch => ({
  ...watchOnTerminal(context, options.quiet === true),
  onEnd: (end) => reportRun(context, options, end),
  onLook: lookOnTerminal(context, options),
})

function lookOnTerminal(
  context: CommandContext,
  options: DisplayOptions,
): (shown: RunStory | undefined) => void {
  const { terminal: columns, now, writeError: write } = context
  const progress = showsProgress(context, options) ? createProgress({ columns, now, write }) : NO_PROGRESS
  let last = ''
  return (shown) => {
    const words = shown === undefined ? 'Waiting for a worker (waybill worker)' : progressWords(shown.summary)
    if (words !== last) progress.note(words)
    last = words
  }
}

/** False for a log in JSON: foreign lines would break programs that read the log. */
export const showsProgress = ({ settings }: CommandContext, { quiet }: DisplayOptions): boolean =>
  quiet !== true && settings.logFormat !== 'json'

export function progressWords(summary: RunSummary): string {
  const { run, rows, activity } = summary
  const { accepted, unchanged } = allRecords(summary)
  const waits =
    activity?.kind === 'under-way' && activity.waits !== undefined ? `; ${waitsText(activity.waits)}` : ''
  return `Run ${run}: ${counted(rows.read, 'row')} settled, ${n(accepted)} accepted, ${n(unchanged)} unchanged${waits}`
}

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

function reportRun(context: CommandContext, options: DisplayOptions, end: JobEnd): void {
  const { summary, error, exit, resumed } = end
  // The error already reports an early end; warnings already report how exports differ.
  if (options.quiet && error === undefined && exit !== EXIT.ok)
    context.err(
      `Run ${summary.run} of ${summary.job} finished with ${leftWords(summary)}: waybill show ${summary.run}`,
    )
  if (options.json) {
    context.out(
      JSON.stringify({ ...summary, ...present({ resumed: resumed?.summary }), ...errorAsJson(error) }),
    )
    return
  }
  if (!options.quiet) {
    for (const { summary: ended, reasons } of resumed === undefined ? [end] : [resumed, end]) {
      // The error already has this text.
      const { detail: _, ...shown } = ended
      context.out(summaryLines(shown, reasons, context.columns))
    }
  }
  if (error !== undefined) context.err(errorLines(error))
}

/** Prints a run as `waybill show` does. */
export const printRun = (context: CommandContext, run: RunStory, json: true | undefined): void =>
  print(context, json, runJson(run), () => summaryLines(run.summary, run.reasons, context.columns))
