/**
 * All commands of the command line, in the order of the help, and the types of their actions. Arguments, options and help of the commands that
 * maintain an installation, check its mappings, or serve a gateway for trials.
 */
import { InvalidArgumentError } from 'commander'
import type { TokenOwner } from '../../packages/reference-gateway/src/credentials.ts'
import { DURATION } from '../definitions/quantity.ts'
import type { CommandContext, CommandForm, GivenBy } from './command-form.ts'
import { JOB, RUN_COMMANDS, RUN_OR_LATEST, wholeNumber } from './run-commands.ts'

/** Options of `gateway` about serving. */
const SERVING = [
  ...['port', 'data', 'apiKey', 'token', 'bind'],
  ...['assessment', 'faults', 'uploadLifetime', 'open', 'seed', 'attached'],
]
const MAPPING = ['<mapping>', 'name of a file in the mappings folder, or a path'] as const
const EXPORT = ['<export>', 'path of an export'] as const
const MEMBERS = { '--members <pattern>': 'read the file in an archive whose name matches' } as const

const INSTALLATION_COMMANDS = {
  init: {
    says: 'make a folder with a sample job that runs; overwrites nothing',
    arguments: { folder: ['[folder]', 'folder to use (default: this one)'] },
    examples: ['mkdir screenings && cd screenings && waybill init'],
    settings: 'as-they-are',
  },
  completion: {
    says: 'print a shell completion script',
    arguments: { shell: ['<shell>', 'bash, zsh or fish'] },
    examples: ['source <(waybill completion bash)'],
    settings: 'as-they-are',
    prints: false,
  },
  complete: {
    says: '',
    arguments: { words: ['[words...]'] },
    settings: 'as-they-are',
    prints: false,
    hidden: true,
  },
  'mapping init': {
    says: 'draft a mapping and its cases from sample exports; overwrites nothing',
    arguments: {
      samples: ['<sample...>', 'paths of exports, also packed or encrypted; several are analysed together'],
    },
    options: {
      ...MEMBERS,
      '--name <name>': 'name of the mapping (default: from the first file name)',
      '--out <path>': 'file to write (default: NAME.yaml in the mappings folder)',
    },
    examples: ['waybill mapping init samples/inbox/acme_screening_20260302.csv --name acme'],
  },
  'mapping list': {
    says: 'list the mappings of the folder, with the jobs that use each',
    examples: ['waybill mapping list'],
  },
  'mapping show': {
    says: 'show the exports that a mapping has read, and the effect of its changes since',
    arguments: { mapping: ['<mapping>', 'name of a file in the mappings folder'] },
    options: {
      '--sample <n>': {
        says: 'number of the export to compare with, as listed (default: the latest)',
        read: wholeNumber,
      },
    },
    examples: ['waybill mapping show acme-onsite'],
  },
  'mapping check': {
    says: 'report every problem of mappings and their cases, with file, line and key',
    arguments: {
      mappings: ['[mapping...]', 'names of files in the mappings folder, or paths (default: all)'],
    },
    options: {
      '--export <path>': 'also compare with this export: columns, and results of each rule',
      ...MEMBERS,
      '--rows <n>': { says: 'rows of the export to read', read: wholeNumber, else: 10_000 },
    },
    examples: ['waybill mapping check acme-onsite --export samples/inbox/acme_screening_20260302.csv'],
  },
  'mapping test': {
    says: 'run mapping tests: the cases beside mappings',
    arguments: {
      mappings: ['[mapping...]', 'names of files in the mappings folder, or paths (default: all with cases)'],
    },
    options: { '--update': 'write the results into the cases, for review as a diff' },
    examples: [
      'waybill mapping test',
      'waybill mapping test acme-onsite --update && git diff mappings/acme-onsite.cases.yaml',
    ],
  },
  'mapping diff': {
    says: 'show which records would change; prints health data, sends nothing',
    arguments: {
      before: ['<old>', MAPPING[1]],
      after: ['<new>', 'name or path of the mapping to replace it'],
      sample: ['<export>', 'path of an export to map with both'],
    },
    options: {
      '--examples <n>': { says: 'changes to show', read: wholeNumber, else: 10 },
      ...MEMBERS,
    },
    examples: [
      'git show HEAD:mappings/acme-onsite.yaml > before.yaml',
      'waybill mapping diff before.yaml acme-onsite samples/inbox/acme_screening_20260302.csv',
    ],
  },
  'mapping preview': {
    says: 'show rows of an export as records; prints health data, sends nothing',
    arguments: { mapping: MAPPING, sample: EXPORT },
    options: {
      '--row <n>': { says: 'show only this row', read: wholeNumber },
      '--limit <n>': { says: 'rows to show', read: wholeNumber, else: 3 },
      ...MEMBERS,
      '--full': 'show records as the JSON to send',
      '--html <file>': 'write a page instead of printing',
    },
    examples: [
      'waybill mapping preview acme-onsite samples/inbox/acme_screening_20260302.csv --row 17',
      'waybill mapping preview acme-onsite samples/inbox/acme_screening_20260302.csv --limit 50 --html preview.html',
    ],
  },
  'mapping edit': {
    says: 'serve a page on this machine with rows as records, updated when you save the mapping',
    arguments: { mapping: MAPPING, sample: EXPORT },
    options: {
      '--port <n>': { says: 'port of 127.0.0.1; 0 takes a free one', read: wholeNumber, else: 0 },
      '--limit <n>': {
        says: 'rows to show, plus as many rejected rows',
        read: wholeNumber,
        else: 50,
      },
      ...MEMBERS,
    },
    note: 'The page shows health data to everyone who has the printed address. Sends nothing. Ctrl-C ends the command.',
    examples: ['waybill mapping edit acme-onsite samples/inbox/acme_screening_20260302.csv'],
    prints: false,
  },
  doctor: {
    says: 'check settings, home, ledger, key, clock, gateway, token, jobs and mappings; change nothing',
    options: {
      '--sources': 'also list the files on the SFTP servers and in the S3 buckets of jobs',
    },
    note: 'Exit code 0: no problems (warnings allowed), 2: something needs repair, 3: gateway unavailable.',
    examples: ['waybill doctor --sources'],
    settings: 'as-they-are',
  },
  report: {
    says: 'write the result of a run as one HTML page, without health data',
    arguments: { run: RUN_OR_LATEST },
    options: { '--out <file>': 'file to write (default: RUN.html in this folder)' },
    note: 'Replaces an earlier report of the same run, but no other file.',
    examples: ['waybill report', 'waybill report 20260302T071500Z-4f2a9c --out /reports/monday.html'],
  },
  expect: {
    says: 'check that expected exports have arrived; notify if not',
    arguments: { job: ['[job]', 'name of a job (default: all jobs that expect exports)'] },
    options: { '--quiet': 'print nothing about exports that arrived as expected' },
    note: 'Exit code 0: all have arrived, 1: some are missing or strangely small, 2: the check failed, or a job file is wrong.',
    examples: ['waybill expect nightly-screenings'],
  },
  notify: {
    says: 'send a test notification to all targets of a job, and the notices that wait or were given up',
    arguments: { job: JOB },
    note: 'Exit code 0: all targets accepted it, 1: some did not, 2: the job has no target, or a setting is missing.',
    examples: ['waybill notify nightly-screenings'],
  },
  backup: {
    says: 'copy the ledger, also during a run',
    arguments: { file: ['<file>', 'file to write; never overwritten'] },
    note: 'The copy does not contain the key of the installation: back up the key, too.',
    examples: ['waybill backup /backups/ledger-2026-03-02.sqlite'],
  },
  restore: {
    says: 'restore a backup of a lost or damaged ledger',
    arguments: { file: ['<file>', 'file of `waybill backup`'] },
    note: 'Never replaces an intact ledger with deliveries. Runs read profiles before they send records missing from the backup.',
    examples: ['waybill restore /backups/ledger-2026-03-02.sqlite'],
  },
  'ledger copy': {
    says: 'move the ledger of the home to PostgreSQL, for several machines',
    options: {
      '--to <address>': {
        says: 'address of an empty database, as in WAYBILL_LEDGER',
        mandatory: true,
      },
    },
    note: 'No run may be under way. Afterwards the file refuses all runs; set WAYBILL_LEDGER to the address. To continue an\ninterrupted copy, repeat the command.',
    examples: ['waybill ledger copy --to postgres://waybill@db.example/waybill'],
  },
  prune: {
    says: 'remove receipts, rejects and ledger detail of old runs; deliveries stay known',
    options: {
      '--older-than <age>': {
        says: 'age of the runs since their end, like 180d',
        read: age,
        mandatory: true,
      },
      '--dry-run': 'count the data to remove; change nothing',
    },
    examples: ['waybill prune --older-than 180d --dry-run'],
  },
  gateway: {
    says: 'serve the reference gateway on loopback, for trials',
    options: {
      '--port <n>': { says: 'port to listen on; 0 takes a free one', read: wholeNumber, else: 8790 },
      '--data <file>': 'keep the data in this SQLite file (default: in memory)',
      '--api-key <key...>': 'keys to accept (default: any)',
      '--token <token...>': 'bearer tokens to accept (default: any)',
      '--bind <token=reference...>': {
        says: 'user of a bearer token in the paged test: a partnerAccountId, or accountId:ID',
        read: binding,
      },
      '--assessment <file>': 'serve the age assessment of this YAML file',
      '--faults <file>': 'inject the faults of this plan (docs/faults.md)',
      '--upload-lifetime <duration>': {
        says: 'lifetime of an upload address',
        else: '30m',
      },
      '--seed <file>': {
        says: 'start with the people in this CSV and invented records for them',
        not: ['attached'],
      },
      '--open': 'accept records of unregistered accounts, too',
      '--attached': 'for programs: read credentials from standard input, and end at its end',
      '--check <url>': {
        says: 'serve nothing; report how the gateway at this address differs from the interface',
        not: SERVING,
      },
      '--account <reference>': 'with --check: also read this account (partnerAccountId, or accountId:ID)',
      '--known-account': {
        says: 'with --check: read an account of this gateway from the ledger',
        not: ['account'],
      },
      '--made-up-users':
        'with --check, on a staging gateway: also store records, for users that it registers and deletes',
    },
    note: 'The paged test answers for the user of the bearer token. Bind tokens here, or during its run with\nPOST /_reference/tokens {"token": …, "account": {"reference": …, "type": "partnerAccountId"}}; such a token is accepted\nbeside those of --token.',
    examples: [
      'waybill gateway --port 8790 --data gateway.sqlite',
      'waybill gateway --bind token-1=participant-17 token-2=accountId:4711',
      'waybill gateway --seed people.csv',
      'waybill gateway --check https://gateway.example/api --account participant-17',
    ],
  },
} as const satisfies Record<string, CommandForm>

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
 * `accountId:ID`; the token may end in `=` (RFC 6750 section 2.1). Undefined for another form.
 */
export function bindingOf(text: string): { readonly token: string; readonly owner: TokenOwner } | undefined {
  const [, token, accountId, partnerAccountId] = /^([^\s=]+=*)=(?:accountId:(.+)|([^=].*))$/s.exec(text) ?? []
  if (token === undefined) return undefined
  if (accountId !== undefined) return { token, owner: { reference: accountId, type: 'accountId' } }
  if (partnerAccountId === undefined || partnerAccountId === 'accountId:') return undefined
  return { token, owner: { reference: partnerAccountId, type: 'partnerAccountId' } }
}

export const COMMANDS = { ...RUN_COMMANDS, ...INSTALLATION_COMMANDS }
export type CommandName = keyof typeof COMMANDS

/** Help of groups of commands. */
export const GROUPS: Readonly<Record<string, string>> = {
  accounts: 'export, confirm, forget and erase accounts',
  ledger: 'move the ledger to PostgreSQL',
  mapping: 'check, test, compare and preview mapping files',
}

/** Arguments and options for the action of a command. */
export type Options<Name extends CommandName> = GivenBy<(typeof COMMANDS)[Name]>

/** A command's action: returns its exit code. */
export type Action<Name extends CommandName> = (
  context: CommandContext,
  options: Options<Name>,
) => Promise<number>
