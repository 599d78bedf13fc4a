/** The command line (commander): one file a command, loaded when it is called, so that `--help` answers at once. */
import { InvalidArgumentError, Option, type OutputConfiguration } from 'commander'
import type { ShownState } from '../runs/listed-runs.ts'
import type { SampleSize } from '../runs/verify.ts'
import { type ListenAddress, listenAddress } from '../settings.ts'
import { type Perform, positiveNumber, since, WaybillCommand, wholeNumber } from './context.ts'
import { addInstallationCommands } from './installation-program.ts'

const RUN_STATES: readonly ShownState[] = ['under-way', 'stopped', 'interrupted', 'finished', 'failed']

/** @param output where help and errors of use are written; default: the streams of the process */
export function createProgram(
  version: string,
  perform: Perform,
  output: OutputConfiguration = {},
): WaybillCommand {
  const program = new WaybillCommand(perform, 'waybill')
    .configureOutput(output)
    .description(
      'Carries health-screening exports into a health-profile gateway and proves what became of every row.',
    )
    .version(version)
    .exitOverride()
    .configureHelp({ showGlobalOptions: false })
    .showHelpAfterError('  What to do: See the form of the command and an example with --help.')
    .note(
      'Exit codes: 0 all accepted or unchanged, 1 something was rejected or is in doubt, 2 wrong use, settings or files,\n3 gateway unreachable or credentials refused, 4 stopped by stopWhen, 5 another run holds the job, 6 a collection could not\nbe delivered, 70 a defect of Waybill, 130 interrupted.',
    )

  program
    .command('run')
    .description('run a job now; an unfinished run of it is finished first')
    .argument('<job>', 'name of a file in the jobs folder, without .yaml')
    .option('--file <path...>', 'take these files instead of those that the job finds')
    .option('--limit <rows>', 'take so many rows of each export at most', wholeNumber)
    .option('--accept-drift', 'take exports as they are, however they differ from earlier deliveries')
    .option('--look-first', 'read profiles before sending: the ledger has lost what was delivered')
    .option('--dry-run', 'map and count; send nothing, write nothing')
    .option('--watch', 'where another process runs the job, follow that run to its end')
    .option('--quiet', 'no progress, no summary')
    .examples(
      'waybill run nightly-screenings',
      'waybill run nightly-screenings --file samples/inbox/acme_screening_20260302.csv --json',
    )
    .performs(['job'], async () => (await import('./run.ts')).run)

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
    .note('It gives way to other runs at the same gateway. What was delivered before is not sent again.')
    .examples(
      'waybill backfill nightly-screenings --from 2026-01-01 --to 2026-03-31 --dry-run',
      'waybill backfill nightly-screenings --from 2026-01-01 --to 2026-03-31 --in /archive/acme --rate 5',
    )
    .performs(['job'], async () => (await import('./backfill.ts')).backfill)

  program
    .command('schedule')
    .description('run jobs when they are due, until interrupted')
    .option('--explain [job]', 'run nothing: show the last fires and the next five, of one job or of all')
    .option('--metrics <address>', 'serve metrics there: a port of loopback (9464), or host:port', address)
    .note(
      'Jobs are read again each minute. SIGTERM ends it: what is under way is finished, and goes on at the next start.',
    )
    .examples('waybill schedule --metrics 9464', 'waybill schedule --explain nightly-screenings')
    .performs([], async () => (await import('./schedule.ts')).schedule)

  program
    .command('runs')
    .description('list runs, newest first')
    .option('--limit <n>', 'how many', positiveNumber, 20)
    .option('--page <n>', 'which page of them, from the newest', positiveNumber, 1)
    .option('--job <job>', 'those of this job alone')
    .option('--failed', 'those alone that did not come to their end, or have left something behind')
    .option('--since <when>', 'those begun since then: a day (UTC), or how long ago, like 7d', since)
    .addOption(new Option('--state <state>', 'those in this state alone').choices(RUN_STATES))
    .examples('waybill runs --limit 5', 'waybill runs --job nightly-screenings --failed')
    .performs([], async () => (await import('./runs.ts')).runs)

  program
    .command('show')
    .description('show what became of a run: its balance, and why things were rejected')
    .argument('[run]', 'id of the run; without it, the latest')
    .examples('waybill show', 'waybill show 20260302T071500Z-4f2a9c')
    .performs(['run'], async () => (await import('./runs.ts')).show)

  program
    .command('watch')
    .description('follow a run that is under way, in whatever process, until it ends; then show it')
    .argument('[run]', 'id of the run; without it, the latest')
    .note('Ctrl-C ends the watching, not the run.')
    .examples('waybill watch latest')
    .performs(['run'], async () => (await import('./control.ts')).watch)

  program
    .command('logs')
    .description('show what the log file says of a run, oldest first')
    .argument('[run]', 'id of the run; without it, the latest')
    .note('It reads WAYBILL_LOG_FILE and the files that were put aside.')
    .examples('waybill logs 20260302T071500Z-4f2a9c')
    .performs(['run'], async () => (await import('./runs.ts')).logs)

  program
    .command('stop')
    .description('stop a run that is under way, in whatever process; the next run of its job goes on with it')
    .argument('<run>', 'id of the run, or latest')
    .option('--by <name>', 'who stops it; without it the user of this machine')
    .note('What is under way is finished. It waits until the run has ended.')
    .examples('waybill stop 20260302T071500Z-4f2a9c')
    .performs(['run'], async () => (await import('./control.ts')).stop)

  program
    .command('pause')
    .description('keep the schedule from beginning anything of a job; what is under way ends by itself')
    .argument('<job>', 'name of a file in the jobs folder, without .yaml')
    .option('--by <name>', 'who pauses it; without it the user of this machine')
    .option('--note <text>', 'why; it is kept in the ledger and shown: no health data')
    .examples('waybill pause nightly-screenings --note "the vendor is moving"')
    .performs(['job'], async () => (await import('./control.ts')).pause)

  program
    .command('resume')
    .description('let the schedule go on with a job that was paused')
    .argument('<job>', 'name of a file in the jobs folder, without .yaml')
    .examples('waybill resume nightly-screenings')
    .performs(['job'], async () => (await import('./control.ts')).resume)

  program
    .command('trace')
    .description('lead from a transaction id back to export, line, rule, batch, tries and answer')
    .argument('[transaction]', 'a transaction id, as the gateway stores it')
    .option(
      '--person <reference>',
      'all records of a person, as the exports name them; looked for in exports that are still there, and kept nowhere',
    )
    .option(
      '--row <export:row>',
      'all records of a row of the latest export of that name, like acme_20260302.csv:17',
      exportRow,
    )
    .examples('waybill trace 3f9a1c0b2d4e5f60-000123-systolic-bp-9c41d2aa')
    .performs(['transaction'], async () => (await import('./runs.ts')).trace)

  program
    .command('rerun')
    .description(
      'map again what a run left behind, with the mapping of today, and send it in a run of its own',
    )
    .argument('<run>', 'id of the run')
    .addOption(new Option('--only <what>', 'take up this alone').choices(['rejected', 'in-doubt'] as const))
    .option('--quiet', 'no progress, no summary')
    .examples('waybill rerun 20260302T071500Z-4f2a9c --only rejected')
    .performs(['run'], async () => (await import('./rerun.ts')).rerun)

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
    .examples(
      'waybill resolve 20260302T071500Z-4f2a9c --accept',
      'waybill resolve 20260302T071500Z-4f2a9c --resend --transaction 3f9a1c0b2d4e5f60-000123-systolic-bp-9c41d2aa',
    )
    .performs(['run'], async () => (await import('./rerun.ts')).resolve)

  program
    .command('acknowledge')
    .description(
      'say of what a run left rejected or unread that it stays as it is: it leaves `runs --failed`',
    )
    .argument('[run]', 'id of the run; without it, name a reason')
    .option('--reason <code>', 'what was left for this reason alone; without a run, by all runs so far')
    .option('--undo', 'take it back')
    .option('--by <name>', 'who says so; without it the user of this machine')
    .option('--note <text>', 'why; it is kept in the ledger and shown: no health data')
    .examples(
      'waybill acknowledge 20260302T071500Z-4f2a9c --note "the vendor cannot correct them"',
      'waybill acknowledge --reason code-unknown',
    )
    .performs(['run'], async () => (await import('./rerun.ts')).acknowledge)

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
    .note('Exit code 1: something is in doubt still, differs, or is missing.')
    .examples(
      'waybill reconcile 20260302T071500Z-4f2a9c',
      'waybill reconcile 20260302T071500Z-4f2a9c --verify --sample 5%',
    )
    .performs(['run'], async () => (await import('./rerun.ts')).reconcile)

  const accounts = program.command('accounts').description('who has which account; erase accounts')
  accounts
    .command('export')
    .description(
      'write partner ids beside the account ids of the gateway, for the people of the exports of a job',
    )
    .argument('<job>', 'name of a file in the jobs folder, without .yaml')
    .requiredOption('--out <file>', 'where to write it: CSV, readable by its owner alone')
    .option('--file <path...>', 'take these files instead of those that the job finds')
    .examples('waybill accounts export roster --out crosswalk.csv')
    .performs(['job'], async () => (await import('./accounts.ts')).accountsExport)

  accounts
    .command('erase')
    .description('delete accounts at the gateway, for good, and what the ledger knows of these people')
    .requiredOption('--file <ids.csv>', 'CSV with a column partnerAccountId, or accountId')
    .option('--job <job>', 'at the gateway of this job; without it, that of WAYBILL_GATEWAY_URL')
    .option('--dry-run', 'count them, and delete nothing')
    .option('--yes', 'do not ask')
    .note('Exit code 1: the gateway refused some of them.')
    .examples('waybill accounts erase --file leavers.csv --dry-run')
    .performs([], async () => (await import('./accounts.ts')).accountsErase)

  addInstallationCommands(program)

  return program
}

function exportRow(text: string): { readonly name: string; readonly row: number } {
  const [, name = '', row = ''] = /^(.+):([1-9]\d{0,8})$/.exec(text) ?? []
  if (name !== '') return { name, row: Number(row) }
  throw new InvalidArgumentError('It must be the name of an export and a row, like acme_20260302.csv:17.')
}

function address(text: string): ListenAddress {
  const found = listenAddress(text)
  if (found === undefined) throw new InvalidArgumentError('It must be a port, or host:port.')
  return found
}

function rate(text: string): number {
  const perSecond = /^\d{1,6}(?:\.\d{1,3})?$/.test(text) ? Number(text) : 0
  if (perSecond > 0) return perSecond
  throw new InvalidArgumentError('It must be a number of requests a second, like 5 or 0.5.')
}

function sampleSize(text: string): SampleSize {
  const [, number = '', percent] = /^(\d{1,9}(?:\.\d+)?)(%?)$/.exec(text) ?? []
  const size = Number(number)
  if (percent === '%' && size > 0 && size <= 100) return { kind: 'share', share: size / 100 }
  if (percent === '' && size >= 1 && Number.isInteger(size)) return { kind: 'people', people: size }
  throw new InvalidArgumentError('It must be a number of people (20) or a share (5%).')
}
