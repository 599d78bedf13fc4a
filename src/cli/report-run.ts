/** Tells what a run came to: as JSON, or as a summary with reasons, and what ended it before its time. */
import type { JobEnd } from '../job/carry-out.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { CommandContext } from './context.ts'
import { describeError, errorAsJson } from './describe-error.ts'
import { summaryText } from './summary-text.ts'

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
