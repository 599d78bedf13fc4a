/** The commands that keep an installation well, check its mappings, and serve a gateway to try things against. */
import { InvalidArgumentError, Option } from 'commander'
import { DURATION } from '../definitions/quantity.ts'
import type { TokenOwner } from '../reference-gateway/credentials.ts'
import { type WaybillCommand, wholeNumber } from './context.ts'

/** Options of `gateway` that say how it serves. */
const SERVING = [
  ...['port', 'data', 'apiKey', 'token', 'bind'],
  ...['assessment', 'faults', 'uploadLifetime', 'open', 'seed', 'attached'],
]

export function addInstallationCommands(program: WaybillCommand): void {
  program
    .command('init')
    .description('make a folder in which the sample job runs; overwrites nothing')
    .argument('[folder]', 'where; without it, here')
    .examples('mkdir screenings && cd screenings && waybill init')
    .performs(['folder'], async () => (await import('./installation.ts')).init, 'as-they-are')
  program
    .command('completion')
    .description('print what a shell needs to complete commands, options, jobs and mappings')
    .argument('<shell>', 'bash, zsh or fish')
    .examples('source <(waybill completion bash)')
    .performs(['shell'], async () => (await import('./completion.ts')).completion, 'as-they-are', false)
  program
    .command('complete', { hidden: true })
    .argument('[words...]')
    .performs(
      ['words'],
      async () => (await import('./completion.ts')).complete(program),
      'as-they-are',
      false,
    )
  const mapping = program.command('mapping').description('check, test, compare and preview mapping files')
  mapping
    .command('init')
    .description('draft a mapping and its cases from a sample export; overwrites nothing')
    .argument('<sample>', 'path of an export: CSV, NDJSON or JSON')
    .option('--name <name>', 'of the mapping; without it, from the file name')
    .option('--out <path>', 'where to write it; without it, NAME.yaml in the mappings folder')
    .examples('waybill mapping init samples/inbox/acme_screening_20260302.csv --name acme')
    .performs(['sample'], async () => (await import('./mapping-init.ts')).mappingInit)
  mapping
    .command('check')
    .description('report every problem of mappings and their cases, with file, line and key')
    .argument('[mapping...]', 'names of files in the mappings folder, or paths; without any, all')
    .option('--export <path>', 'say how it fits this export: columns, and what each rule gives')
    .option('--rows <n>', 'of the export, look at so many rows', wholeNumber, 10_000)
    .examples('waybill mapping check acme-onsite --export samples/inbox/acme_screening_20260302.csv')
    .performs(['mappings'], async () => (await import('./mapping-check.ts')).mappingCheck)
  mapping
    .command('test')
    .description('run the cases beside mappings: rows, and what is to become of them')
    .argument(
      '[mapping...]',
      'names of files in the mappings folder, or paths; without any, all that have cases',
    )
    .option('--update', 'write what came out into the cases, for review as a diff')
    .examples(
      'waybill mapping test',
      'waybill mapping test acme-onsite --update && git diff mappings/acme-onsite.cases.yaml',
    )
    .performs(['mappings'], async () => (await import('./mapping-test.ts')).mappingTest)
  mapping
    .command('diff')
    .description('show which records would change; prints health data, sends nothing')
    .argument('<old>', 'name of a file in the mappings folder, or a path')
    .argument('<new>', 'the same, of the mapping that is to take its place')
    .argument('<export>', 'path of an export to try both on')
    .option('--examples <n>', 'how many changes to show', wholeNumber, 10)
    .examples(
      'git show HEAD:mappings/acme-onsite.yaml > before.yaml',
      'waybill mapping diff before.yaml acme-onsite samples/inbox/acme_screening_20260302.csv',
    )
    .performs(['before', 'after', 'sample'], async () => (await import('./mapping-diff.ts')).mappingDiff)
  mapping
    .command('preview')
    .description('show rows of an export as records; prints health data, sends nothing')
    .argument('<mapping>', 'name of a file in the mappings folder, or a path')
    .argument('<export>', 'path of an export')
    .option('--row <n>', 'only this row', wholeNumber)
    .option('--limit <n>', 'how many rows', wholeNumber, 3)
    .option('--full', 'records as the JSON that would be sent')
    .option('--html <file>', 'write a page instead of printing')
    .examples(
      'waybill mapping preview acme-onsite samples/inbox/acme_screening_20260302.csv --row 17',
      'waybill mapping preview acme-onsite samples/inbox/acme_screening_20260302.csv --limit 50 --html preview.html',
    )
    .performs(['mapping', 'sample'], async () => (await import('./mapping-preview.ts')).mappingPreview)
  mapping
    .command('edit')
    .description('a page on this machine that shows rows as records and follows the mapping as you save it')
    .argument('<mapping>', 'name of a file in the mappings folder, or a path')
    .argument('<export>', 'path of an export')
    .option('--port <n>', 'port of 127.0.0.1; 0 takes a free one', wholeNumber, 0)
    .option('--limit <n>', 'how many rows; as many that have something rejected are added', wholeNumber, 50)
    .note(
      'It shows health data, to whoever opens the address that it prints. Nothing is sent. Ctrl-C ends it.',
    )
    .examples('waybill mapping edit acme-onsite samples/inbox/acme_screening_20260302.csv')
    .performs(
      ['mapping', 'sample'],
      async () => (await import('./mapping-edit.ts')).mappingEdit,
      'in-order',
      false,
    )

  program
    .command('doctor')
    .description('look over settings, home, ledger, clock, gateway, token, jobs and mappings; change nothing')
    .option('--sources', 'also list what lies on the SFTP servers and in the S3 buckets of jobs')
    .note(
      'Exit code 0: all is well or worth a warning, 2: something must be put right, 3: the gateway cannot be had.',
    )
    .examples('waybill doctor --sources')
    .performs([], async () => (await import('./installation.ts')).doctor, 'as-they-are')

  program
    .command('report')
    .description('write what became of a run as one HTML page, to keep or to mail; it holds no health data')
    .argument('[run]', 'id of the run; without it, the latest')
    .option('--out <file>', 'where to; without it, RUN.html in this folder')
    .note('An earlier report of the same run is replaced, any other file is left alone.')
    .examples('waybill report', 'waybill report 20260302T071500Z-4f2a9c --out /reports/monday.html')
    .performs(['run'], async () => (await import('./report.ts')).report)

  program
    .command('expect')
    .description('say whether the exports have arrived that jobs expect by now, and tell who is to be told')
    .argument('[job]', 'name of a job; without it, all jobs that expect anything')
    .option('--quiet', 'print nothing of what has arrived as it should')
    .note(
      'Exit code 0: they have, 1: some are missing or strangely small, 2: nobody could look, or a job file is wrong.',
    )
    .examples('waybill expect nightly-screenings')
    .performs(['job'], async () => (await import('./expect.ts')).expect)

  program
    .command('notify')
    .description('send a test notification to all targets of a job')
    .argument('<job>', 'name of a file in the jobs folder, without .yaml')
    .note('Exit code 0: all have taken it, 1: some have not, 2: the job names none, or a setting is missing.')
    .examples('waybill notify nightly-screenings')
    .performs(['job'], async () => (await import('./notify.ts')).notify)

  program
    .command('backup')
    .description('copy the ledger, also while a run is on')
    .argument('<file>', 'where to; never overwritten')
    .note('The key of the installation is not in it: keep that, too.')
    .examples('waybill backup /backups/ledger-2026-03-02.sqlite')
    .performs(['file'], async () => (await import('./installation.ts')).backup)

  program
    .command('prune')
    .description('remove receipts, rejects and ledger detail of old runs; what was delivered stays known')
    .addOption(
      new Option('--older-than <age>', 'runs that ended so long ago, like 180d')
        .argParser(age)
        .makeOptionMandatory(),
    )
    .option('--dry-run', 'count what would go; change nothing')
    .examples('waybill prune --older-than 180d --dry-run')
    .performs([], async () => (await import('./installation.ts')).prune)

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
    .addOption(
      new Option('--seed <file>', 'begin with the people of this CSV, and what is made up of them').conflicts(
        'attached',
      ),
    )
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
    .addOption(
      new Option(
        '--known-account',
        'with --check: read an account that the ledger knows at this gateway',
      ).conflicts('account'),
    )
    .option(
      '--made-up-users',
      'with --check, on a staging gateway: also store, under users that it registers and deletes',
    )
    .note(
      'The paged test answers for the user that the bearer token stands for. Bind tokens here, or while it runs with\nPOST /_reference/tokens {"token": …, "account": {"reference": …, "type": "partnerAccountId"}}; such a token is accepted\nbeside those of --token.',
    )
    .examples(
      'waybill gateway --port 8790 --data gateway.sqlite',
      'waybill gateway --bind token-1=participant-17 token-2=accountId:4711',
      'waybill gateway --seed people.csv',
      'waybill gateway --check https://gateway.example/api --account participant-17',
    )
    .performs([], async () => (await import('./gateway.ts')).gateway)
}

function age(text: string): number {
  const ms = DURATION.read(text)
  if (ms === undefined) throw new InvalidArgumentError(`It ${DURATION.demand('180d')}.`)
  return ms
}

function binding(text: string, before: Record<string, TokenOwner> = {}): Record<string, TokenOwner> {
  const bound = bindingOf(text)
  if (bound === undefined) throw new InvalidArgumentError('It must be TOKEN=REFERENCE.')
  return { ...before, [bound.token]: bound.owner }
}

/**
 * Reads a binding: `TOKEN=REFERENCE`, where REFERENCE is a partner account id or
 * `accountId:ID`; the token may end in `=` (RFC 6750 section 2.1). Undefined where it has another form.
 */
export function bindingOf(text: string): { readonly token: string; readonly owner: TokenOwner } | undefined {
  const [, token, accountId, partnerAccountId] = /^([^\s=]+=*)=(?:accountId:(.+)|([^=].*))$/s.exec(text) ?? []
  if (token === undefined) return undefined
  if (accountId !== undefined) return { token, owner: { reference: accountId, type: 'accountId' } }
  if (partnerAccountId === undefined || partnerAccountId === 'accountId:') return undefined
  return { token, owner: { reference: partnerAccountId, type: 'partnerAccountId' } }
}
