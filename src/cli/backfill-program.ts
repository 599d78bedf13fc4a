/** The command that loads years of exports. */
import { type Command, InvalidArgumentError } from 'commander'
import { json, type Perform } from './context.ts'

export function addBackfillCommand(program: Command, perform: Perform): void {
  program
    .command('backfill')
    .description('run a job over its exports of a range of days, oldest first; typed again, it goes on')
    .argument('<job>', 'name of a file in the jobs folder, without .yaml')
    .requiredOption('--from <day>', 'first day of the range, by the names of the exports, like 2026-01-01')
    .requiredOption('--to <day>', 'last day of the range, itself included')
    .option('--in <folder>', 'take the exports that lie in this folder, not where the job finds them')
    .option('--rate <n>', 'requests a second that are sent at most, like 5 or 0.5', rate)
    .option('--accept-drift', 'take exports as they are, however they differ from earlier deliveries')
    .option('--dry-run', 'print the plan: exports, sizes, rows, time; send nothing, write nothing')
    .option('--quiet', 'no progress, no summary')
    .addOption(json())
    .addHelpText(
      'after',
      '\nIt gives way to other runs at the same gateway. What was delivered before is not sent again.\n\nExample:\n  waybill backfill nightly-screenings --from 2026-01-01 --to 2026-03-31 --dry-run\n  waybill backfill nightly-screenings --from 2026-01-01 --to 2026-03-31 --in /archive/acme --rate 5',
    )
    .action(
      (
        job: string,
        options: {
          from: string
          to: string
          in?: string
          rate?: number
          acceptDrift?: true
          dryRun?: true
          quiet?: true
          json?: true
        },
      ) => perform(async (context) => (await import('./backfill.ts')).backfill(context, { job, ...options })),
    )
}

function rate(text: string): number {
  const perSecond = /^\d{1,6}(?:\.\d{1,3})?$/.test(text) ? Number(text) : 0
  if (perSecond > 0) return perSecond
  throw new InvalidArgumentError('It must be a number of requests a second, like 5 or 0.5.')
}
