/** All commands in the order of the help: arguments, options, help, and the types of their actions. */

import { resolve as absolute } from 'node:path'
import { InvalidArgumentError } from 'commander'
import type { TokenOwner } from '../../packages/reference-gateway/src/credentials.ts'
import { DURATION } from '../definitions/quantity.ts'
import { ROW_PLACE, readRowPlace } from '../runs/trace.ts'
import { readRate, readSampleSize, readSince, readWholeNumber } from '../runs/typed-words.ts'
import { type ListenAddress, listenAddress } from '../system/settings.ts'
import type { CommandContext, CommandForm } from './command-form.ts'

type CamelCase<Text> = Text extends `${infer First}-${infer Rest}`
  ? `${First}${Capitalize<CamelCase<Rest>>}`
  : Text

type NameOf<Flags> = Flags extends `--${infer Name} ${string}`
  ? CamelCase<Name>
  : Flags extends `--${infer Name}`
    ? CamelCase<Name>
    : never

type Typed<Text> = Text extends `${string}...${'>' | ']'}`
  ? readonly string[]
  : Text extends `${string}<${string}>`
    ? string
    : true

type ValueOf<Flags, Form> = Form extends { readonly read: (...given: never[]) => infer Value }
  ? Value
  : Form extends { readonly choices: readonly (infer Choice)[] }
    ? Choice
    : Flags extends `${string}[${string}]`
      ? string | true
      : Typed<Flags>

type Given = { readonly else: unknown } | { readonly mandatory: true }

type OptionsOf<Forms> = {
  readonly [Flags in keyof Forms as Forms[Flags] extends Given ? NameOf<Flags> : never]: ValueOf<
    Flags,
    Forms[Flags]
  >
} & {
  readonly [Flags in keyof Forms as Forms[Flags] extends Given ? never : NameOf<Flags>]?:
    | ValueOf<Flags, Forms[Flags]>
    | undefined
}

type ArgumentsOf<Forms> = {
  readonly [Name in keyof Forms]: Forms[Name] extends readonly [infer Text, ...unknown[]]
    ? Text extends `[${string}`
      ? Text extends `${string}...]`
        ? readonly string[]
        : string | undefined
      : Typed<Text>
    : never
}

/** Arguments and options for the action of a command, in one object. */
type GivenBy<Form> = (Form extends { readonly arguments: infer Forms } ? ArgumentsOf<Forms> : unknown) &
  (Form extends { readonly options: infer Forms } ? OptionsOf<Forms> : unknown) &
  (Form extends { readonly prints: false } ? unknown : { readonly json?: true | undefined })

const JOB = ['<job>', 'name of a file in the jobs folder, without .yaml'] as const
const RUN = ['<run>', 'id of the run'] as const
const RUN_OR_MANY = ['[run]', 'id of the run; without it, the runs that options choose'] as const
const RUN_OR_LATEST = ['[run]', 'id of the run; without it, the latest'] as const
const NOTE = 'reason, stored in the ledger and shown: no health data'
const AT_JOB = 'at the gateway of this job (default: WAYBILL_GATEWAY_URL)'
const PEOPLE_AT = {
  '--file <ids.csv>': { says: 'CSV with a column partnerAccountId, or accountId', mandatory: true },
  '--job <job>': AT_JOB,
} as const
const QUIET = 'no progress, no summary'
const FILES = 'read these files in place of those the job finds'
const ACCEPT_END = 'accept exports that look cut off (export-cut) as complete'
const ACCEPT_DRIFT = 'accept exports that differ from earlier deliveries'
const BY = 'name to record (default: the user of this machine)'
const SIGNED = { '--by <name>': BY, '--note <text>': NOTE } as const

/** Makes the reader of a typed word. @param demand message for any other word */
const typed =
  <Value>(read: (text: string) => Value | undefined, demand: string) =>
  (text: string): Value => {
    const value = read(text)
    if (value === undefined) throw new InvalidArgumentError(demand)
    return value
  }

const since = typed(readSince, 'It must be a day, like 2026-03-02 (UTC), or how long ago, like 7d or 12h.')
const wholeNumber = typed(readWholeNumber, 'It must be a whole number.')
const positiveNumber = typed(
  (text) => (/^[1-9]\d{0,8}$/.test(text) ? Number(text) : undefined),
  'It must be a whole number from 1 on.',
)
const exportRow = typed(readRowPlace, ROW_PLACE)
const address = typed(listenAddress, 'It must be a port, or host:port.')
const rate = typed(readRate, 'It must be a number of requests a second, like 5 or 0.5.')
const sampleSize = typed(readSampleSize, 'It must be a number of people (20) or a share (5%).')
const age = typed(DURATION.read, `It ${DURATION.demand('180d')}.`)

const SINCE = { says: 'only runs started since a day (UTC) or within an age, like 7d', read: since } as const

/** Options that choose several runs among those of `needs`. */
const MANY = {
  '--job <job>': 'all runs of this job with rejects or records in doubt',
  '--reason <code>': 'only runs with rejects or doubts for this reason',
  '--export <name>': 'only runs that read an export of this name',
  '--since <when>': SINCE,
} as const

const RUN_COMMANDS = {
  run: {
    says: 'run a job now; its unfinished run is finished first',
    arguments: { job: JOB },
    options: {
      '--file <path...>': FILES,
      '--limit <rows>': { says: 'read at most this many rows of each export', read: wholeNumber },
      '--accept-drift': ACCEPT_DRIFT,
      '--accept-end': ACCEPT_END,
      '--look-first': 'read profiles before sending: the ledger has lost deliveries',
      '--new-ledger': {
        says: 'start a new ledger: this home has never delivered anything',
        not: ['lookFirst', 'newKey'],
      },
      '--new-key': 'replace the key of the ledger: read profiles before sending',
      '--dry-run': 'map and count; send nothing, write nothing',
      '--watch': 'if another process runs the job, follow that run to its end',
      '--quiet': QUIET,
    },
    examples: [
      'waybill run nightly-screenings',
      'waybill run nightly-screenings --file samples/inbox/acme_screening_20260302.csv --json',
    ],
  },
  backfill: {
    says: 'run a job over its exports of a range of days, oldest first; repeat the command to continue',
    arguments: { job: JOB },
    options: {
      '--from <day>': {
        says: 'first day of the range, by the names of the exports, like 2026-01-01',
        mandatory: true,
      },
      '--to <day>': { says: 'last day of the range, included', mandatory: true },
      '--in <folder>': 'read the exports in this folder, not at the source of the job',
      '--rate <n>': { says: 'most requests to send a second, like 5 or 0.5', read: rate },
      '--accept-drift': ACCEPT_DRIFT,
      '--accept-end': ACCEPT_END,
      '--dry-run': 'print the plan: exports, sizes, rows, time; send nothing, write nothing',
      '--quiet': QUIET,
    },
    note: 'Other runs at the same gateway go first. Delivered records are not sent again.',
    examples: [
      'waybill backfill nightly-screenings --from 2026-01-01 --to 2026-03-31 --dry-run',
      'waybill backfill nightly-screenings --from 2026-01-01 --to 2026-03-31 --in /archive/acme --rate 5',
    ],
  },
  schedule: {
    says: 'run jobs when they are due, until interrupted',
    options: {
      '--explain [job]': 'run nothing: show the last fires and the next five, of one job or of all',
      '--metrics <address>': {
        says: 'serve metrics at this address: a port of loopback (9464), or host:port',
        read: address,
      },
    },
    note: 'Jobs are read again each minute. SIGTERM ends the schedule: work in flight is finished, and the next start continues.',
    examples: ['waybill schedule --metrics 9464', 'waybill schedule --explain nightly-screenings'],
  },
  worker: {
    says: 'run jobs for other machines, over a ledger in PostgreSQL, until interrupted',
    options: {
      '--concurrency <n>': { says: 'runs at once', read: wholeNumber, else: 1 },
    },
    note: 'SIGTERM ends the worker: work in flight is finished, and another worker continues the run.',
    examples: ['waybill worker --concurrency 4'],
    prints: false,
  },
  needs: {
    says: 'list everything that needs somebody, with the commands that end it',
    options: {
      '--job <job>': 'only what concerns this job',
      '--exit-code': 'exit with 1 if anything is listed',
    },
    examples: ['waybill needs', 'waybill needs --job nightly-screenings --json'],
  },
  console: {
    says: 'serve pages for a browser on this machine: needs, runs, schedule, and actions on them',
    options: {
      '--listen <address>': {
        says: 'port or host:port, or unix:PATH for a socket (default: 127.0.0.1:9470)',
        read: listenPlace,
      },
      '--read-only': { says: 'refuse all actions, and write nothing', not: ['healthData'] },
      '--health-data': 'show values of rows, too; each look is in the audit',
    },
    note: 'Prints an address that opens one session. Ctrl-C ends the command, and interrupts the runs that it has begun.',
    examples: ['waybill console', 'waybill console --listen 127.0.0.1:9500 --read-only'],
    prints: false,
  },
  runs: {
    says: 'list runs, newest first',
    options: {
      '--limit <n>': { says: 'runs to show', read: positiveNumber, else: 20 },
      '--page <n>': { says: 'page to show; page 1 has the newest runs', read: positiveNumber, else: 1 },
      '--job <job>': 'only runs of this job',
      '--failed': 'only runs that need a person: unfinished, failed, or with rejects or doubts',
      '--since <when>': SINCE,
      '--state <state>': {
        says: 'only runs in this state',
        choices: ['under-way', 'stopped', 'interrupted', 'finished', 'failed'],
      },
    },
    examples: ['waybill runs --limit 5', 'waybill runs --job nightly-screenings --failed'],
  },
  audit: {
    says: 'list decisions, stops, pauses, erasures and exports of people, with name, time and reason',
    options: {
      '--job <job>': 'only actions on this job and its runs',
      '--since <when>': {
        says: 'only actions since a day (UTC) or within an age, like 7d',
        read: since,
      },
    },
    note: 'People of exports appear by hash alone. `waybill prune` spares the records for WAYBILL_AUDIT_KEEP.',
    examples: ['waybill audit --since 7d', 'waybill audit --job nightly-screenings --json'],
  },
  show: {
    says: 'show a run: its balance, and the reasons for rejects',
    arguments: { run: RUN_OR_LATEST },
    options: {
      '--reason <code>': 'list the rows and records left behind for this reason instead',
      '--values': 'with --reason: print the cells of the rows, which are health data',
    },
    examples: ['waybill show', 'waybill show 20260302T071500Z-4f2a9c --reason value-not-a-number'],
  },
  'in-doubt': {
    says: 'list records in doubt, with the request that sent each and the last look at the profile',
    examples: ['waybill in-doubt'],
  },
  exports: {
    says: 'list the exports that a job has read: rows, empty values and medians by night',
    arguments: { job: JOB },
    examples: ['waybill exports nightly-screenings --json'],
  },
  backfills: {
    says: 'list the latest backfills, with progress by day and rate',
    examples: ['waybill backfills'],
  },
  watch: {
    says: 'follow a running job, in any process, until it ends; then show it',
    arguments: { run: RUN_OR_LATEST },
    note: 'Ctrl-C ends the display, not the run.',
    examples: ['waybill watch latest'],
  },
  logs: {
    says: 'show the log lines of a run, oldest first',
    arguments: { run: RUN_OR_LATEST },
    note: 'Reads WAYBILL_LOG_FILE and its earlier, renamed files.',
    examples: ['waybill logs 20260302T071500Z-4f2a9c'],
  },
  stop: {
    says: 'stop a running job, in any process; the next run of the job continues it',
    arguments: { run: ['<run>', 'id of the run, or latest; or the job, for its run in progress'] },
    options: SIGNED,
    note: 'Work in flight is finished. The command waits for the end of the run.',
    examples: ['waybill stop nightly-screenings', 'waybill stop 20260302T071500Z-4f2a9c'],
  },
  pause: {
    says: 'stop the schedule from starting a job; a running one finishes',
    arguments: { job: JOB },
    options: {
      '--until <time>': 'end of the pause, in the zone of the schedule: 06:00, 2026-03-02T06:00, or 2h',
      ...SIGNED,
    },
    examples: [
      'waybill pause nightly-screenings --note "the vendor is moving"',
      'waybill pause nightly-screenings --until 06:00',
    ],
  },
  unpause: {
    says: 'let the schedule start a paused job again',
    arguments: { job: JOB },
    options: SIGNED,
    examples: ['waybill unpause nightly-screenings'],
  },
  resume: {
    says: 'continue the interrupted run of a job; read no new exports',
    arguments: { job: JOB },
    options: {
      '--backfill': 'continue its interrupted backfill instead',
      '--quiet': QUIET,
    },
    examples: ['waybill resume nightly-screenings', 'waybill resume nightly-screenings --backfill'],
  },
  trace: {
    says: 'show where a record came from and what the gateway answered',
    arguments: { transaction: ['[transaction]', 'a transaction id, as the gateway stores it'] },
    options: {
      '--person <reference>':
        'all records of a person, by the reference in the exports; searches the remaining exports, stores nothing',
      '--row <export:row>': {
        says: 'all records of a row of the latest export with this name, like acme_20260302.csv:17',
        read: exportRow,
      },
    },
    examples: ['waybill trace 3f9a1c0b2d4e5f60-000123-systolic-bp-9c41d2aa'],
  },
  rerun: {
    says: "retry a run's rejected and in-doubt records with the current mapping, as a new run",
    arguments: { run: RUN_OR_MANY },
    options: {
      '--only <what>': { says: 'retry only these', choices: ['rejected', 'in-doubt'] },
      ...MANY,
      '--dry-run': 'list the runs, retry nothing',
      '--quiet': QUIET,
    },
    examples: [
      'waybill rerun 20260302T071500Z-4f2a9c --only rejected',
      'waybill rerun --job nightly-screenings --reason unit-unknown --since 7d',
    ],
  },
  resolve: {
    says: 'decide on records in doubt, or give up a run that cannot be finished',
    arguments: { run: RUN },
    options: {
      '--accept': 'the gateway has the records: count them as delivered, send nothing',
      '--resend': 'send the records again, unless a last read finds them stored',
      '--give-up':
        'do not finish the run, its export is gone; later runs look up its records in flight before they send',
      '--transaction <id...>': 'only these records',
      ...SIGNED,
    },
    examples: [
      'waybill resolve 20260302T071500Z-4f2a9c --accept',
      'waybill resolve 20260302T071500Z-4f2a9c --resend --transaction 3f9a1c0b2d4e5f60-000123-systolic-bp-9c41d2aa',
    ],
  },
  acknowledge: {
    says: "accept a run's rejects as final; the run leaves `needs` and `runs --failed`",
    arguments: { run: ['[run]', 'id of the run; required without --reason or --job'] },
    options: {
      '--reason <code>': 'only rows and records with this reason; without a run, in all runs so far',
      '--job <job>': 'all runs of this job so far, and its refused start',
      '--export <name>': 'only runs that read an export of this name',
      '--since <when>': SINCE,
      '--dry-run': 'list the runs, acknowledge nothing',
      '--undo': { says: 'withdraw the acknowledgement', not: ['since', 'export', 'dryRun'] },
      ...SIGNED,
    },
    examples: [
      'waybill acknowledge 20260302T071500Z-4f2a9c --note "the vendor cannot correct them"',
      'waybill acknowledge --reason code-unknown',
    ],
  },
  'put-aside': {
    says: 'skip an unreadable export in later runs, until its content changes',
    arguments: { export: ['<export>', 'name of the export, as `waybill needs` shows it'] },
    options: {
      '--reason <text>': NOTE,
      '--job <job>': 'job that found the export, if several have one of this name',
      '--undo': 'let runs read the export again',
      '--by <name>': BY,
    },
    note: 'The file itself stays where it is. `waybill run JOB --file` reads it all the same.',
    examples: ['waybill put-aside acme_20260302.csv --reason "the vendor sends a new one"'],
  },
  reconcile: {
    says: 'read profiles to find out whether unanswered records arrived; sends nothing',
    arguments: { run: RUN_OR_MANY },
    options: {
      ...MANY,
      '--dry-run': 'list the runs, read nothing',
      '--verify': 'compare accepted records with the profiles',
      '--sample <size>': {
        says: 'with --verify: number or share of the people to check (20, 5%)',
        read: sampleSize,
      },
      '--seed <text>': 'with --sample: selects the people (default: the id of the run)',
    },
    note: 'Exit code 1: something is still in doubt, differs, or is missing.',
    examples: [
      'waybill reconcile 20260302T071500Z-4f2a9c',
      'waybill reconcile 20260302T071500Z-4f2a9c --verify --sample 5%',
    ],
  },
  'accounts export': {
    says: 'write the partner id and account id of each person in the exports of a job',
    arguments: { job: JOB },
    options: {
      '--out <file>': { says: 'file to write: CSV, readable by its owner alone', mandatory: true },
      '--file <path...>': FILES,
      ...SIGNED,
    },
    examples: ['waybill accounts export roster --out crosswalk.csv'],
  },
  'accounts confirm': {
    says: 'confirm that a reference is one person, though exports gave several birth dates for it',
    options: {
      '--file <ids.csv>': {
        says: 'CSV with a column partnerAccountId, or accountId, and perhaps dateOfBirth',
        mandatory: true,
      },
      '--job <job>': AT_JOB,
      ...SIGNED,
    },
    note: 'For records left behind as reference-shared. Sends nothing.',
    examples: ['waybill accounts confirm --file confirmed.csv'],
  },
  'accounts forget': {
    says: 'forget account ids: runs register the people again, and send missing records again',
    options: {
      ...PEOPLE_AT,
      ...SIGNED,
    },
    note: 'For accounts that the gateway lost or gave to others. Sends nothing.',
    examples: ['waybill accounts forget --file stale.csv'],
  },
  'accounts erase': {
    says: 'delete accounts at the gateway for good, and the data of these people in the ledger',
    options: {
      ...PEOPLE_AT,
      '--dry-run': 'count them, delete nothing',
      '--yes': 'do not ask',
      ...SIGNED,
    },
    note: 'Exit code 1: the gateway refused some of them.',
    examples: ['waybill accounts erase --file leavers.csv --dry-run'],
  },
} as const satisfies Record<string, CommandForm>

function listenPlace(text: string): ListenAddress | { readonly socket: string } {
  const [, socket] = /^unix:(.+)$/.exec(text) ?? []
  return socket === undefined ? address(text) : { socket: absolute(socket) }
}

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
    note: 'The page shows health data to the browser that opens the printed address first. Sends nothing. Ctrl-C ends the command.',
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

/**
 * Reads a binding: `TOKEN=REFERENCE`, where REFERENCE is a partner account id or
 * `accountId:ID`; the token may end in `=` (RFC 6750 section 2.1).
 */
function binding(text: string, before: Record<string, TokenOwner> = {}): Record<string, TokenOwner> {
  const [, token, accountId, partnerAccountId] = /^([^\s=]+=*)=(?:accountId:(.+)|([^=].*))$/s.exec(text) ?? []
  const reference = accountId ?? partnerAccountId
  if (token === undefined || reference === undefined || partnerAccountId === 'accountId:')
    throw new InvalidArgumentError('It must be TOKEN=REFERENCE.')
  const type = accountId === undefined ? 'partnerAccountId' : 'accountId'
  return { ...before, [token]: { reference, type } }
}

export const COMMANDS = { ...RUN_COMMANDS, ...INSTALLATION_COMMANDS }
export type CommandName = keyof typeof COMMANDS

/** Arguments and options for the action of a command. */
export type Options<Name extends CommandName> = GivenBy<(typeof COMMANDS)[Name]>

/** A command's action: returns its exit code. */
export type Action<Name extends CommandName> = (
  context: CommandContext,
  options: Options<Name>,
) => Promise<number>
