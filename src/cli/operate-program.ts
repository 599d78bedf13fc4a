/** The commands that keep an installation well: look it over, report what it did, back it up, clear out what is old. */
import { type Command, InvalidArgumentError, Option } from 'commander'
import { Duration } from '../definitions/export-definition.ts'
import { json, type Perform } from './context.ts'

export function addOperateCommands(program: Command, perform: Perform): void {
  program
    .command('doctor')
    .description('look over settings, home, ledger, clock, gateway, token, jobs and mappings; change nothing')
    .option('--sources', 'also list what lies on the SFTP servers and in the S3 buckets of jobs')
    .addOption(json())
    .addHelpText(
      'after',
      '\nExit code 0: all is well or worth a warning, 2: something must be put right, 3: the gateway cannot be had.\n\nExample:\n  waybill doctor --sources',
    )
    .action((options: { sources?: true; json?: true }) =>
      perform(async (context) => (await import('./doctor.ts')).doctor(context, options), 'as-they-are'),
    )

  program
    .command('report')
    .description('write what became of a run as one HTML page, to keep or to mail; it holds no health data')
    .argument('[run]', 'id of the run; without it, the latest')
    .option('--out <file>', 'where to; without it, RUN.html in this folder')
    .addOption(json())
    .addHelpText(
      'after',
      '\nAn earlier report of the same run is replaced, any other file is left alone.\n\nExample:\n  waybill report\n  waybill report 20260302T071500Z-4f2a9c --out /reports/monday.html',
    )
    .action((run: string | undefined, options: { out?: string; json?: true }) =>
      perform(async (context) => (await import('./report.ts')).report(context, { run, ...options })),
    )

  program
    .command('expect')
    .description('say whether the exports have arrived that jobs expect by now, and tell who is to be told')
    .argument('[job]', 'name of a job; without it, all jobs that expect anything')
    .option('--quiet', 'print nothing of what has arrived as it should')
    .addOption(json())
    .addHelpText(
      'after',
      '\nExit code 0: they have, 1: some are missing or strangely small, 2: nobody could look, or a job file is wrong.\n\nExample:\n  waybill expect nightly-screenings',
    )
    .action((job: string | undefined, options: { quiet?: true; json?: true }) =>
      perform(async (context) => (await import('./expect.ts')).expect(context, { job, ...options })),
    )

  program
    .command('notify')
    .description('send a test notification to all targets of a job')
    .argument('<job>', 'name of a file in the jobs folder, without .yaml')
    .addOption(json())
    .addHelpText(
      'after',
      '\nExit code 0: all have taken it, 1: some have not, 2: the job names none, or a setting is missing.\n\nExample:\n  waybill notify nightly-screenings',
    )
    .action((job: string, options: { json?: true }) =>
      perform(async (context) => (await import('./notify.ts')).notify(context, { job, ...options })),
    )

  program
    .command('backup')
    .description('copy the ledger, also while a run is on')
    .argument('<file>', 'where to; never overwritten')
    .addOption(json())
    .addHelpText(
      'after',
      '\nThe key of the installation is not in it: keep that, too.\n\nExample:\n  waybill backup /backups/ledger-2026-03-02.sqlite',
    )
    .action((file: string, options: { json?: true }) =>
      perform(async (context) => (await import('./prune.ts')).backup(context, { file, ...options })),
    )

  program
    .command('prune')
    .description('remove receipts, rejects and ledger detail of old runs; what was delivered stays known')
    .addOption(
      new Option('--older-than <age>', 'runs that ended so long ago, like 180d')
        .argParser(age)
        .makeOptionMandatory(),
    )
    .option('--dry-run', 'count what would go; change nothing')
    .addOption(json())
    .addHelpText('after', '\nExample:\n  waybill prune --older-than 180d --dry-run')
    .action((options: { olderThan: number; dryRun?: true; json?: true }) =>
      perform(async (context) => (await import('./prune.ts')).prune(context, options)),
    )
}

function age(text: string): number {
  const { data, error } = Duration.safeParse(text)
  if (data === undefined)
    throw new InvalidArgumentError(
      `It ${error?.issues[0]?.message.replace('30m', '180d') ?? 'must be a duration, like 180d'}.`,
    )
  return data
}
