/** The commands that deal with what a run has left behind. */
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { SampleSize } from '../runs/verify.ts'
import { json, type Perform } from './context.ts'

export function addLeftBehindCommands(program: Command, perform: Perform): void {
  program
    .command('rerun')
    .description(
      'map again what a run left behind, with the mapping of today, and send it in a run of its own',
    )
    .argument('<run>', 'id of the run')
    .addOption(new Option('--only <what>', 'take up this alone').choices(['rejected', 'in-doubt'] as const))
    .option('--quiet', 'no progress, no summary')
    .addOption(json())
    .addHelpText('after', '\nExample:\n  waybill rerun 20260302T071500Z-4f2a9c --only rejected')
    .action((run: string, options: { only?: 'rejected' | 'in-doubt'; quiet?: true; json?: true }) =>
      perform(async (context) => (await import('./rerun.ts')).rerun(context, { run, ...options })),
    )

  program
    .command('resolve')
    .description('decide on what a run left in doubt, or give up one that cannot be finished')
    .argument('<run>', 'id of the run')
    .option('--accept', 'the gateway has the records: they count as delivered and are not sent')
    .option('--resend', 'send them again, but for those that a last look finds stored')
    .option(
      '--give-up',
      'it is not finished: its export is gone; what it had in hand is looked for, not sent twice',
    )
    .option('--transaction <id...>', 'these records alone')
    .option('--by <name>', 'who decides; without it the user of this machine')
    .option('--note <text>', 'why; it is kept in the ledger and shown: no health data')
    .addOption(json())
    .addHelpText(
      'after',
      '\nExample:\n  waybill resolve 20260302T071500Z-4f2a9c --accept\n  waybill resolve 20260302T071500Z-4f2a9c --resend --transaction 3f9a1c0b2d4e5f60-000123-systolic-bp-9c41d2aa',
    )
    .action(
      (
        run: string,
        options: {
          accept?: true
          resend?: true
          giveUp?: true
          transaction?: string[]
          by?: string
          note?: string
          json?: true
        },
      ) => perform(async (context) => (await import('./rerun.ts')).resolve(context, { run, ...options })),
    )

  program
    .command('reconcile')
    .description('settle by reading profiles what a run left open or in doubt; send nothing')
    .argument('<run>', 'id of the run')
    .option('--verify', 'compare what was accepted with what the profiles show')
    .addOption(
      new Option('--sample <size>', 'with --verify: so many people, or a share of them (20, 5%)').argParser(
        sampleSize,
      ),
    )
    .option('--seed <text>', 'with --sample: decides who is in it; without it the id of the run')
    .addOption(json())
    .addHelpText(
      'after',
      '\nExit code 1: something is in doubt still, differs, or is missing.\n\nExample:\n  waybill reconcile 20260302T071500Z-4f2a9c\n  waybill reconcile 20260302T071500Z-4f2a9c --verify --sample 5%',
    )
    .action((run: string, options: { verify?: true; sample?: SampleSize; seed?: string; json?: true }) =>
      perform(async (context) => (await import('./rerun.ts')).reconcile(context, { run, ...options })),
    )
}

function sampleSize(text: string): SampleSize {
  const [, number = '', percent] = /^(\d{1,9}(?:\.\d+)?)(%?)$/.exec(text) ?? []
  const size = Number(number)
  if (percent === '%' && size > 0 && size <= 100) return { kind: 'share', share: size / 100 }
  if (percent === '' && size >= 1 && Number.isInteger(size)) return { kind: 'people', people: size }
  throw new InvalidArgumentError('It must be a number of people (20) or a share (5%).')
}
