/**
 * All commands of the command line, in the order of the help, and what their actions are; and, with arguments, options and help, those that keep
 * an installation well, check its mappings, and serve a gateway to try things against.
 */
import { InvalidArgumentError } from 'commander'
import { DURATION } from '../definitions/quantity.ts'
import type { TokenOwner } from '../reference-gateway/credentials.ts'
import type { CommandContext, CommandForm, GivenBy } from './command-form.ts'
import { JOB, RUN_COMMANDS, RUN_OR_LATEST, wholeNumber } from './run-commands.ts'

/** Options of `gateway` that say how it serves. */
const SERVING = [
  ...['port', 'data', 'apiKey', 'token', 'bind'],
  ...['assessment', 'faults', 'uploadLifetime', 'open', 'seed', 'attached'],
]
const MAPPING = ['<mapping>', 'name of a file in the mappings folder, or a path'] as const
const EXPORT = ['<export>', 'path of an export'] as const
const MEMBERS = { '--members <pattern>': 'of an archive, read the file with such a name' } as const

const INSTALLATION_COMMANDS = {
  init: {
    says: 'make a folder in which the sample job runs; overwrites nothing',
    arguments: { folder: ['[folder]', 'where; without it, here'] },
    examples: ['mkdir screenings && cd screenings && waybill init'],
    settings: 'as-they-are',
  },
  completion: {
    says: 'print what a shell needs to complete commands, options, jobs and mappings',
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
      samples: ['<sample...>', 'paths of exports, also packed or encrypted; several are judged together'],
    },
    options: {
      ...MEMBERS,
      '--name <name>': 'of the mapping; without it, from the first file name',
      '--out <path>': 'where to write it; without it, NAME.yaml in the mappings folder',
    },
    examples: ['waybill mapping init samples/inbox/acme_screening_20260302.csv --name acme'],
  },
  'mapping check': {
    says: 'report every problem of mappings and their cases, with file, line and key',
    arguments: {
      mappings: ['[mapping...]', 'names of files in the mappings folder, or paths; without any, all'],
    },
    options: {
      '--export <path>': 'say how it fits this export: columns, and what each rule gives',
      ...MEMBERS,
      '--rows <n>': { says: 'of the export, look at so many rows', read: wholeNumber, else: 10_000 },
    },
    examples: ['waybill mapping check acme-onsite --export samples/inbox/acme_screening_20260302.csv'],
  },
  'mapping test': {
    says: 'run the cases beside mappings: rows, and what is to become of them',
    arguments: {
      mappings: [
        '[mapping...]',
        'names of files in the mappings folder, or paths; without any, all that have cases',
      ],
    },
    options: { '--update': 'write what came out into the cases, for review as a diff' },
    examples: [
      'waybill mapping test',
      'waybill mapping test acme-onsite --update && git diff mappings/acme-onsite.cases.yaml',
    ],
  },
  'mapping diff': {
    says: 'show which records would change; prints health data, sends nothing',
    arguments: {
      before: ['<old>', MAPPING[1]],
      after: ['<new>', 'the same, of the mapping that is to take its place'],
      sample: ['<export>', 'path of an export to try both on'],
    },
    options: {
      '--examples <n>': { says: 'how many changes to show', read: wholeNumber, else: 10 },
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
      '--row <n>': { says: 'only this row', read: wholeNumber },
      '--limit <n>': { says: 'how many rows', read: wholeNumber, else: 3 },
      ...MEMBERS,
      '--full': 'records as the JSON that would be sent',
      '--html <file>': 'write a page instead of printing',
    },
    examples: [
      'waybill mapping preview acme-onsite samples/inbox/acme_screening_20260302.csv --row 17',
      'waybill mapping preview acme-onsite samples/inbox/acme_screening_20260302.csv --limit 50 --html preview.html',
    ],
  },
  'mapping edit': {
    says: 'a page on this machine that shows rows as records and follows the mapping as you save it',
    arguments: { mapping: MAPPING, sample: EXPORT },
    options: {
      '--port <n>': { says: 'port of 127.0.0.1; 0 takes a free one', read: wholeNumber, else: 0 },
      '--limit <n>': {
        says: 'how many rows; as many that have something rejected are added',
        ...{ read: wholeNumber, else: 50 },
      },
      ...MEMBERS,
    },
    note: 'It shows health data, to whoever opens the address that it prints. Nothing is sent. Ctrl-C ends it.',
    examples: ['waybill mapping edit acme-onsite samples/inbox/acme_screening_20260302.csv'],
    prints: false,
  },
  doctor: {
    says: 'check settings, home, ledger, key, clock, gateway, token, jobs and mappings; change nothing',
    options: {
      '--sources': 'also list what lies on the SFTP servers and in the S3 buckets of jobs',
    },
    note: 'Exit code 0: all is well or worth a warning, 2: something must be put right, 3: the gateway cannot be had.',
    examples: ['waybill doctor --sources'],
    settings: 'as-they-are',
  },
  report: {
    says: 'write what became of a run as one HTML page, to keep or to mail; it holds no health data',
    arguments: { run: RUN_OR_LATEST },
    options: { '--out <file>': 'where to; without it, RUN.html in this folder' },
    note: 'An earlier report of the same run is replaced, any other file is left alone.',
    examples: ['waybill report', 'waybill report 20260302T071500Z-4f2a9c --out /reports/monday.html'],
  },
  expect: {
    says: 'say whether the exports have arrived that jobs expect by now, and tell who is to be told',
    arguments: { job: ['[job]', 'name of a job; without it, all jobs that expect anything'] },
    options: { '--quiet': 'print nothing of what has arrived as it should' },
    note: 'Exit code 0: they have, 1: some are missing or strangely small, 2: nobody could look, or a job file is wrong.',
    examples: ['waybill expect nightly-screenings'],
  },
  notify: {
    says: 'send a test notification to all targets of a job',
    arguments: { job: JOB },
    note: 'Exit code 0: all have taken it, 1: some have not, 2: the job names none, or a setting is missing.',
    examples: ['waybill notify nightly-screenings'],
  },
  backup: {
    says: 'copy the ledger, also while a run is on',
    arguments: { file: ['<file>', 'where to; never overwritten'] },
    note: 'The key of the installation is not in it: keep that, too.',
    examples: ['waybill backup /backups/ledger-2026-03-02.sqlite'],
  },
  restore: {
    says: 'restore a backup of a ledger that is lost or damaged',
    arguments: { file: ['<file>', 'file of `waybill backup`'] },
    note: 'Never replaces a whole ledger with deliveries. Runs read profiles before they send records that the backup does not know.',
    examples: ['waybill restore /backups/ledger-2026-03-02.sqlite'],
  },
  prune: {
    says: 'remove receipts, rejects and ledger detail of old runs; what was delivered stays known',
    options: {
      '--older-than <age>': { says: 'runs that ended so long ago, like 180d', read: age, mandatory: true },
      '--dry-run': 'count what would go; change nothing',
    },
    examples: ['waybill prune --older-than 180d --dry-run'],
  },
  gateway: {
    says: 'serve the reference gateway on loopback, to try things against',
    options: {
      '--port <n>': { says: 'port to listen on; 0 takes a free one', read: wholeNumber, else: 8790 },
      '--data <file>': 'keep the data in this SQLite file (default: in memory)',
      '--api-key <key...>': 'keys to accept (default: any)',
      '--token <token...>': 'bearer tokens to accept (default: any)',
      '--bind <token=reference...>': {
        says: 'let a bearer token stand for a user in the paged test: a partnerAccountId, or accountId:ID',
        read: binding,
      },
      '--assessment <file>': 'serve the age assessment of this YAML file',
      '--faults <file>': 'let things go wrong as this fault plan says (docs/faults.md)',
      '--upload-lifetime <duration>': {
        says: 'how long an upload address takes its document',
        else: '30m',
      },
      '--seed <file>': {
        says: 'begin with the people of this CSV, and what is made up of them',
        not: ['attached'],
      },
      '--open': 'take records of accounts that are not registered too',
      '--attached': 'for programs: read credentials from standard input, and end when that ends',
      '--check <url>': {
        says: 'serve nothing: say where the gateway at this address differs',
        not: SERVING,
      },
      '--account <reference>': 'with --check: read this account too (partnerAccountId, or accountId:ID)',
      '--known-account': {
        says: 'with --check: read an account that the ledger knows at this gateway',
        not: ['account'],
      },
      '--made-up-users':
        'with --check, on a staging gateway: also store, under users that it registers and deletes',
    },
    note: 'The paged test answers for the user that the bearer token stands for. Bind tokens here, or while it runs with\nPOST /_reference/tokens {"token": …, "account": {"reference": …, "type": "partnerAccountId"}}; such a token is accepted\nbeside those of --token.',
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
 * `accountId:ID`; the token may end in `=` (RFC 6750 section 2.1). Undefined where it has another form.
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

/** What is said of commands that have commands. */
export const GROUPS: Readonly<Record<string, string>> = {
  accounts: 'who has which account; erase accounts',
  mapping: 'check, test, compare and preview mapping files',
}

/** What the action of a command is handed beside its context. */
export type Options<Name extends CommandName> = GivenBy<(typeof COMMANDS)[Name]>

/** A command's action: returns its exit code. */
export type Action<Name extends CommandName> = (
  context: CommandContext,
  options: Options<Name>,
) => Promise<number>
