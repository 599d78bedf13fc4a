/** The commands that run jobs, and that say and decide what became of it: their arguments, options and help. */
import { InvalidArgumentError } from 'commander'
import { Duration } from '../definitions/export-definition.ts'
import type { SampleSize } from '../runs/verify.ts'
import { type ListenAddress, listenAddress } from '../settings.ts'
import type { CommandForm } from './command-form.ts'

export const JOB = ['<job>', 'name of a file in the jobs folder, without .yaml'] as const
const RUN = ['<run>', 'id of the run'] as const
export const RUN_OR_LATEST = ['[run]', 'id of the run; without it, the latest'] as const
const NOTE = 'why; it is kept in the ledger and shown: no health data'
const QUIET = 'no progress, no summary'
const FILES = 'take these files instead of those that the job finds'
const ACCEPT_END = 'take exports that may be cut (export-cut): they are whole as they are'
const ACCEPT_DRIFT = 'take exports as they are, however they differ from earlier deliveries'

export const RUN_COMMANDS = {
  run: {
    says: 'run a job now; an unfinished run of it is finished first',
    arguments: { job: JOB },
    options: {
      '--file <path...>': FILES,
      '--limit <rows>': { says: 'take so many rows of each export at most', read: wholeNumber },
      '--accept-drift': ACCEPT_DRIFT,
      '--accept-end': ACCEPT_END,
      '--look-first': 'read profiles before sending: the ledger has lost what was delivered',
      '--new-ledger': {
        says: 'begin a new ledger: this home has never delivered anything',
        not: ['lookFirst', 'newKey'],
      },
      '--new-key': 'replace the key of the ledger: read profiles before sending',
      '--dry-run': 'map and count; send nothing, write nothing',
      '--watch': 'where another process runs the job, follow that run to its end',
      '--quiet': QUIET,
    },
    examples: [
      'waybill run nightly-screenings',
      'waybill run nightly-screenings --file samples/inbox/acme_screening_20260302.csv --json',
    ],
  },
  backfill: {
    says: 'run a job over its exports of a range of days, oldest first; typed again, it goes on',
    arguments: { job: JOB },
    options: {
      '--from <day>': {
        says: 'first day of the range, by the names of the exports, like 2026-01-01',
        mandatory: true,
      },
      '--to <day>': { says: 'last day of the range, itself included', mandatory: true },
      '--in <folder>': 'take the exports that lie in this folder, not where the job finds them',
      '--rate <n>': { says: 'requests a second that are sent at most, like 5 or 0.5', read: rate },
      '--accept-drift': ACCEPT_DRIFT,
      '--accept-end': ACCEPT_END,
      '--dry-run': 'print the plan: exports, sizes, rows, time; send nothing, write nothing',
      '--quiet': QUIET,
    },
    note: 'It gives way to other runs at the same gateway. What was delivered before is not sent again.',
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
        says: 'serve metrics there: a port of loopback (9464), or host:port',
        read: address,
      },
    },
    note: 'Jobs are read again each minute. SIGTERM ends it: what is under way is finished, and goes on at the next start.',
    examples: ['waybill schedule --metrics 9464', 'waybill schedule --explain nightly-screenings'],
  },
  runs: {
    says: 'list runs, newest first',
    options: {
      '--limit <n>': { says: 'how many', read: positiveNumber, else: 20 },
      '--page <n>': { says: 'which page of them, from the newest', read: positiveNumber, else: 1 },
      '--job <job>': 'those of this job alone',
      '--failed': 'those alone that did not come to their end, or have left something behind',
      '--since <when>': {
        says: 'those begun since then: a day (UTC), or how long ago, like 7d',
        read: since,
      },
      '--state <state>': {
        says: 'those in this state alone',
        choices: ['under-way', 'stopped', 'interrupted', 'finished', 'failed'],
      },
    },
    examples: ['waybill runs --limit 5', 'waybill runs --job nightly-screenings --failed'],
  },
  show: {
    says: 'show what became of a run: its balance, and why things were rejected',
    arguments: { run: RUN_OR_LATEST },
    examples: ['waybill show', 'waybill show 20260302T071500Z-4f2a9c'],
  },
  watch: {
    says: 'follow a run that is under way, in whatever process, until it ends; then show it',
    arguments: { run: RUN_OR_LATEST },
    note: 'Ctrl-C ends the watching, not the run.',
    examples: ['waybill watch latest'],
  },
  logs: {
    says: 'show what the log file says of a run, oldest first',
    arguments: { run: RUN_OR_LATEST },
    note: 'It reads WAYBILL_LOG_FILE and the files that were put aside.',
    examples: ['waybill logs 20260302T071500Z-4f2a9c'],
  },
  stop: {
    says: 'stop a run that is under way, in whatever process; the next run of its job goes on with it',
    arguments: { run: ['<run>', 'id of the run, or latest'] },
    options: { '--by <name>': 'who stops it; without it the user of this machine' },
    note: 'What is under way is finished. It waits until the run has ended.',
    examples: ['waybill stop 20260302T071500Z-4f2a9c'],
  },
  pause: {
    says: 'keep the schedule from beginning anything of a job; what is under way ends by itself',
    arguments: { job: JOB },
    options: { '--by <name>': 'who pauses it; without it the user of this machine', '--note <text>': NOTE },
    examples: ['waybill pause nightly-screenings --note "the vendor is moving"'],
  },
  resume: {
    says: 'let the schedule go on with a job that was paused',
    arguments: { job: JOB },
    examples: ['waybill resume nightly-screenings'],
  },
  trace: {
    says: 'lead from a transaction id back to export, line, rule, batch, tries and answer',
    arguments: { transaction: ['[transaction]', 'a transaction id, as the gateway stores it'] },
    options: {
      '--person <reference>':
        'all records of a person, as the exports name them; looked for in exports that are still there, and kept nowhere',
      '--row <export:row>': {
        says: 'all records of a row of the latest export of that name, like acme_20260302.csv:17',
        read: exportRow,
      },
    },
    examples: ['waybill trace 3f9a1c0b2d4e5f60-000123-systolic-bp-9c41d2aa'],
  },
  rerun: {
    says: 'map again what a run left behind, with the mapping of today, and send it in a run of its own',
    arguments: { run: RUN },
    options: {
      '--only <what>': { says: 'take up this alone', choices: ['rejected', 'in-doubt'] },
      '--quiet': QUIET,
    },
    examples: ['waybill rerun 20260302T071500Z-4f2a9c --only rejected'],
  },
  resolve: {
    says: 'decide on what a run left in doubt, or give up one that cannot be finished',
    arguments: { run: RUN },
    options: {
      '--accept': 'the gateway has the records: they count as delivered and are not sent',
      '--resend': 'send them again, but for those that a last look finds stored',
      '--give-up':
        'it is not finished: its export is gone; what it had in hand is looked for, not sent twice',
      '--transaction <id...>': 'these records alone',
      '--by <name>': 'who decides; without it the user of this machine',
      '--note <text>': NOTE,
    },
    examples: [
      'waybill resolve 20260302T071500Z-4f2a9c --accept',
      'waybill resolve 20260302T071500Z-4f2a9c --resend --transaction 3f9a1c0b2d4e5f60-000123-systolic-bp-9c41d2aa',
    ],
  },
  acknowledge: {
    says: 'say of what a run left rejected or unread that it stays as it is: it leaves `runs --failed`',
    arguments: { run: ['[run]', 'id of the run; without it, name a reason'] },
    options: {
      '--reason <code>': 'what was left for this reason alone; without a run, by all runs so far',
      '--undo': 'take it back',
      '--by <name>': 'who says so; without it the user of this machine',
      '--note <text>': NOTE,
    },
    examples: [
      'waybill acknowledge 20260302T071500Z-4f2a9c --note "the vendor cannot correct them"',
      'waybill acknowledge --reason code-unknown',
    ],
  },
  reconcile: {
    says: 'settle by reading profiles what a run left open or in doubt; send nothing',
    arguments: { run: RUN },
    options: {
      '--verify': 'compare what was accepted with what the profiles show',
      '--sample <size>': {
        says: 'with --verify: so many people, or a share of them (20, 5%)',
        read: sampleSize,
      },
      '--seed <text>': 'with --sample: decides who is in it; without it the id of the run',
    },
    note: 'Exit code 1: something is in doubt still, differs, or is missing.',
    examples: [
      'waybill reconcile 20260302T071500Z-4f2a9c',
      'waybill reconcile 20260302T071500Z-4f2a9c --verify --sample 5%',
    ],
  },
  'accounts export': {
    says: 'write partner ids beside the account ids of the gateway, for the people of the exports of a job',
    arguments: { job: JOB },
    options: {
      '--out <file>': { says: 'where to write it: CSV, readable by its owner alone', mandatory: true },
      '--file <path...>': FILES,
    },
    examples: ['waybill accounts export roster --out crosswalk.csv'],
  },
  'accounts confirm': {
    says: 'say that a reference is one person, though exports gave several birth dates under it',
    options: {
      '--file <ids.csv>': {
        says: 'CSV with a column partnerAccountId, or accountId, and perhaps dateOfBirth',
        mandatory: true,
      },
      '--job <job>': 'at the gateway of this job; without it, that of WAYBILL_GATEWAY_URL',
    },
    note: 'For records left behind as reference-shared. Sends nothing.',
    examples: ['waybill accounts confirm --file confirmed.csv'],
  },
  'accounts forget': {
    says: 'forget account ids of people: they are registered again, and their records sent again if missing',
    options: {
      '--file <ids.csv>': { says: 'CSV with a column partnerAccountId, or accountId', mandatory: true },
      '--job <job>': 'at the gateway of this job; without it, that of WAYBILL_GATEWAY_URL',
    },
    note: 'For accounts that the gateway lost or gave to others. Sends nothing.',
    examples: ['waybill accounts forget --file stale.csv'],
  },
  'accounts erase': {
    says: 'delete accounts at the gateway, for good, and what the ledger knows of these people',
    options: {
      '--file <ids.csv>': { says: 'CSV with a column partnerAccountId, or accountId', mandatory: true },
      '--job <job>': 'at the gateway of this job; without it, that of WAYBILL_GATEWAY_URL',
      '--dry-run': 'count them, and delete nothing',
      '--yes': 'do not ask',
    },
    note: 'Exit code 1: the gateway refused some of them.',
    examples: ['waybill accounts erase --file leavers.csv --dry-run'],
  },
} as const satisfies Record<string, CommandForm>

/** The instant that is meant, in milliseconds since the epoch. @param now the same */
export type Since = (now: number) => number

/** `7d` before now, or the beginning of a day (UTC), `2026-03-02`. */
function since(text: string): Since {
  const day = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(text) : Number.NaN
  if (!Number.isNaN(day)) return () => day
  const duration = Duration.safeParse(text)
  if (duration.success) return (now) => now - duration.data
  throw new InvalidArgumentError('It must be a day, like 2026-03-02 (UTC), or how long ago, like 7d or 12h.')
}

function positiveNumber(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('It must be a whole number from 1 on.')
  return Number(text)
}

export function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.')
  return Number(text)
}

function exportRow(text: string): { readonly name: string; readonly row: number; readonly sheet?: string } {
  const [, name = '', sheet, row = ''] = /^(.+):(?:([^:]+)!)?([1-9]\d{0,8})$/.exec(text) ?? []
  if (name !== '') return { name, row: Number(row), ...(sheet === undefined ? {} : { sheet }) }
  throw new InvalidArgumentError(
    'It must be the name of an export and a row, like acme_20260302.csv:17, or a row of a sheet, like acme.xlsx:Results!17.',
  )
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
