/** The command line (commander): one file a command, loaded when it is called, so that `--help` answers at once. */
import { Command, InvalidArgumentError, Option, type OutputConfiguration } from 'commander'
import { bindingOf, type TokenOwner } from '../reference-gateway/credentials.ts'
import { type ListenAddress, listenAddress } from '../settings.ts'
import { addBackfillCommand } from './backfill-program.ts'
import { json, type Perform, positiveNumber, wholeNumber } from './context.ts'
import { addLeftBehindCommands } from './left-behind-program.ts'
import { addMappingCommands } from './mapping-program.ts'
import { addOperateCommands } from './operate-program.ts'

/** Options of `gateway` that say how it serves. */
const SERVING = [
  ...['port', 'data', 'apiKey', 'token', 'bind'],
  ...['assessment', 'faults', 'uploadLifetime', 'open', 'attached'],
]

/** @param output where help and errors of use are written; default: the streams of the process */
export function createProgram(version: string, perform: Perform, output: OutputConfiguration = {}): Command {
  const program = new Command('waybill')
    .configureOutput(output)
    .description(
      'Carries health-screening exports into a health-profile gateway and proves what became of every row.',
    )
    .version(version)
    .exitOverride()
    .configureHelp({ showGlobalOptions: false })
    .showHelpAfterError('  What to do: See the form of the command and an example with --help.')
    .addHelpText(
      'after',
      '\nExit codes: 0 all accepted or unchanged, 1 something was rejected or is in doubt, 2 wrong use, settings or files,\n3 gateway unreachable or credentials refused, 4 stopped by stopWhen, 5 another run holds the job, 70 a defect of Waybill,\n130 interrupted.',
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
    .option('--quiet', 'no progress, no summary')
    .addOption(json())
    .addHelpText(
      'after',
      '\nExample:\n  waybill run nightly-screenings\n  waybill run nightly-screenings --file samples/inbox/acme_screening_20260302.csv --json',
    )
    .action(
      (
        job: string,
        options: {
          file?: string[]
          limit?: number
          acceptDrift?: true
          lookFirst?: true
          dryRun?: true
          quiet?: true
          json?: true
        },
      ) => perform(async (context) => (await import('./run.ts')).run(context, { job, ...options })),
    )

  addBackfillCommand(program, perform)

  program
    .command('schedule')
    .description('run jobs when they are due, until interrupted')
    .option('--explain [job]', 'run nothing: show the last fires and the next five, of one job or of all')
    .option('--metrics <address>', 'serve metrics there: a port of loopback (9464), or host:port', address)
    .addOption(json())
    .addHelpText(
      'after',
      '\nJobs are read again each minute. SIGTERM ends it: what is under way is finished, and goes on at the next start.\n\nExample:\n  waybill schedule --metrics 9464\n  waybill schedule --explain nightly-screenings',
    )
    .action((options: { explain?: string | true; metrics?: ListenAddress; json?: true }) =>
      perform(async (context) => (await import('./schedule.ts')).schedule(context, options)),
    )

  program
    .command('runs')
    .description('list runs, newest first')
    .option('--limit <n>', 'how many', positiveNumber, 20)
    .option('--job <job>', 'those of this job alone')
    .option('--failed', 'those alone that did not come to their end, or have left something behind')
    .addOption(json())
    .addHelpText(
      'after',
      '\nExample:\n  waybill runs --limit 5\n  waybill runs --job nightly-screenings --failed',
    )
    .action((options: { limit: number; job?: string; failed?: true; json?: true }) =>
      perform(async (context) => (await import('./runs.ts')).runs(context, options)),
    )

  program
    .command('show')
    .description('show what became of a run: its balance, and why things were rejected')
    .argument('[run]', 'id of the run; without it, the latest')
    .addOption(json())
    .addHelpText('after', '\nExample:\n  waybill show\n  waybill show 20260302T071500Z-4f2a9c')
    .action((run: string | undefined, options: { json?: true }) =>
      perform(async (context) => (await import('./runs.ts')).show(context, { run, ...options })),
    )

  program
    .command('trace')
    .description('lead from a transaction id back to export, line, rule, batch, tries and answer')
    .argument('<transaction>', 'a transaction id, as the gateway stores it')
    .addOption(json())
    .addHelpText('after', '\nExample:\n  waybill trace 3f9a1c0b2d4e5f60-000123-systolic-bp-9c41d2aa')
    .action((transaction: string, options: { json?: true }) =>
      perform(async (context) => (await import('./runs.ts')).trace(context, { transaction, ...options })),
    )

  addLeftBehindCommands(program, perform)

  addMappingCommands(program, perform)

  addOperateCommands(program, perform)

  program
    .command('gateway')
    .description('serve the reference gateway on loopback, to try things against')
    .option('--port <n>', 'port to listen on; 0 takes a free one', wholeNumber, 8790)
    .option('--data <file>', 'keep the data in this SQLite file (default: in memory)')
    .option('--api-key <key...>', 'keys to accept (default: any)')
    .option('--token <token...>', 'bearer tokens to accept (default: any)')
    .option(
      '--bind <token=reference...>',
      'let a bearer token stand for a user in the paged test: a partnerAccountId, or accountId:ID',
      binding,
    )
    .option('--assessment <file>', 'serve the age assessment of this YAML file')
    .option('--faults <file>', 'let things go wrong as this fault plan says (docs/faults.md)')
    .option('--upload-lifetime <duration>', 'how long an upload address takes its document', '30m')
    .option('--open', 'take records of accounts that are not registered too')
    .option('--attached', 'for programs: read credentials from standard input, and end when that ends')
    .addOption(
      new Option('--check <url>', 'serve nothing: say where the gateway at this address differs').conflicts(
        SERVING,
      ),
    )
    .option(
      '--account <reference>',
      'with --check: read this account too (partnerAccountId, or accountId:ID)',
    )
    .addOption(json())
    .addHelpText(
      'after',
      '\nThe paged test answers for the user that the bearer token stands for. Bind tokens here, or while it runs with\nPOST /_reference/tokens {"token": …, "account": {"reference": …, "type": "partnerAccountId"}}; such a token is accepted\nbeside those of --token.\n\nExample:\n  waybill gateway --port 8790 --data gateway.sqlite\n  waybill gateway --bind token-1=participant-17 token-2=accountId:4711\n  waybill gateway --check https://gateway.example/api --account participant-17',
    )
    .action(
      (options: {
        port: number
        data?: string
        apiKey?: string[]
        token?: string[]
        bind?: Record<string, TokenOwner>
        assessment?: string
        faults?: string
        uploadLifetime: string
        open?: true
        attached?: true
        check?: string
        account?: string
        json?: true
      }) => perform(async (context) => (await import('./gateway.ts')).gateway(context, options)),
    )
  return program
}

function address(text: string): ListenAddress {
  const found = listenAddress(text)
  if (found === undefined) throw new InvalidArgumentError('It must be a port, or host:port.')
  return found
}

function binding(text: string, before: Record<string, TokenOwner> = {}): Record<string, TokenOwner> {
  const bound = bindingOf(text)
  if (bound === undefined) throw new InvalidArgumentError('It must be TOKEN=REFERENCE.')
  return { ...before, [bound.token]: bound.owner }
}
