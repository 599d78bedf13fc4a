/**
 * What the last run of each job came to, as gauges (docs/metrics.md): the same in the metrics of a schedule and in the file that a run
 * leaves for node_exporter's textfile collector.
 */

import { dirname } from 'node:path'
import { Gauge, Registry } from 'prom-client'
import { makeFolder, writeOwn } from '../own-files.ts'

/** Label values are names of jobs, and words and codes of fixed lists. */
export interface LastRun {
  readonly job: string
  /** Milliseconds since the epoch. */
  readonly endedAt: number
  /** Undefined: none is known. */
  readonly cleanEndedAt: number | undefined
  readonly exit: number
  readonly durationMs: number
  /** Records of the job, of whatever run, that are held because nobody can tell whether the gateway has them. */
  readonly inDoubt: number
  /** Counts by state, */
  readonly exports: Readonly<Record<string, number>>
  /** by outcome, */
  readonly rows: Readonly<Record<string, number>>
  /** by kind and outcome, */
  readonly records: Readonly<Record<string, Readonly<Record<string, number>>>>
  readonly rejects: readonly { readonly stage: string; readonly code: string; readonly count: number }[]
  /** In how many respects exports differ from earlier deliveries, by measure, */
  readonly drift: Readonly<Record<string, number>>
  /** What it left behind: new, or left so by an earlier run. */
  readonly leftBehind: { readonly new: number; readonly known: number }
  readonly accounts: Readonly<Record<string, number>>
  /** by what became of them. */
  readonly careTeams: Readonly<Record<string, number>>
  /** by what they were. */
  readonly requests: Readonly<Record<string, number>>
}

/** Names without `waybill_`, and what each has beside the label `job`. */
const GAUGES: Readonly<Record<string, readonly [help: string, ...labels: string[]]>> = {
  last_run_timestamp_seconds: ['When the last run of the job ended.'],
  last_clean_run_timestamp_seconds: [
    'When a run of the job last ended with exit code 0. 0: never, as far as the latest runs tell.',
  ],
  last_run_exit_code: ['Exit code of the last run of the job.'],
  last_run_duration_seconds: ['How long the last run of the job was at work, over all resumptions.'],
  records_in_doubt: ['Records of the job that are held in doubt, of all runs.'],
  last_run_exports: ['Exports of the last run of the job by state.', 'state'],
  last_run_rows: ['Rows that the last run of the job has read, by outcome.', 'outcome'],
  last_run_records: ['Records of the last run of the job by kind and outcome.', 'kind', 'outcome'],
  last_run_rejects: [
    'Rows and records that the last run of the job has rejected, by stage and code.',
    ...['stage', 'code'],
  ],
  last_run_drift: [
    'In how many respects exports of the last run of the job differ from earlier deliveries, by measure.',
    'measure',
  ],
  last_run_left_behind: [
    'Rows and records that the last run of the job has left behind: new, or known of an earlier run.',
    'share',
  ],
  last_run_accounts: ['Accounts that the last run of the job has met, by outcome.', 'outcome'],
  last_run_care_teams: [
    'Care-team entries that the last run of the job has replaced or removed, what it has left owed, and exports that it could not judge.',
    'outcome',
  ],
  last_run_requests: ['Requests of the last run of the job by what they were.', 'request'],
}

/** The values of its other labels, and the number. */
type Sample = readonly [gauge: string, labels: Readonly<Record<string, string>>, value: number]

function samplesOf(run: LastRun): Sample[] {
  const by = (label: string, counts: Readonly<Record<string, number>>, gauge: string): Sample[] =>
    Object.entries(counts).map(([value, count]) => [gauge, { [label]: value }, count])
  return [
    ['last_run_timestamp_seconds', {}, run.endedAt / 1000],
    ['last_clean_run_timestamp_seconds', {}, (run.cleanEndedAt ?? 0) / 1000],
    ['last_run_exit_code', {}, run.exit],
    ['last_run_duration_seconds', {}, run.durationMs / 1000],
    ['records_in_doubt', {}, run.inDoubt],
    ...by('state', run.exports, 'last_run_exports'),
    ...by('outcome', run.rows, 'last_run_rows'),
    ...Object.entries(run.records).flatMap(([kind, outcomes]) =>
      Object.entries(outcomes).map(
        ([outcome, count]): Sample => ['last_run_records', { kind, outcome }, count],
      ),
    ),
    ...run.rejects.map(({ stage, code, count }): Sample => ['last_run_rejects', { stage, code }, count]),
    ...by('measure', run.drift, 'last_run_drift'),
    ...by('share', run.leftBehind, 'last_run_left_behind'),
    ...by('outcome', run.accounts, 'last_run_accounts'),
    ...by('outcome', run.careTeams, 'last_run_care_teams'),
    ...by('request', run.requests, 'last_run_requests'),
  ]
}

export function registerLastRun(registry: Registry) {
  const gauges = new Map(
    Object.entries(GAUGES).map(([name, [help, ...labels]]) => [
      name,
      new Gauge({ name: `waybill_${name}`, help, labelNames: ['job', ...labels], registers: [registry] }),
    ]),
  )
  const told = new Map<string, readonly Sample[]>()
  const tell = (job: string, samples: readonly Sample[]): void => {
    forget(job)
    for (const [gauge, labels, value] of samples) gauges.get(gauge)?.set({ job, ...labels }, value)
    told.set(job, samples)
  }
  const forget = (job: string): void => {
    for (const [gauge, labels] of told.get(job) ?? []) gauges.get(gauge)?.remove({ job, ...labels })
    told.delete(job)
  }
  return {
    /** Takes the place of what was told of the job before. */
    tell: (run: LastRun) => tell(run.job, samplesOf(run)),
    /** The job is on a schedule, and has not run yet: so that an alert on its age holds. */
    never: (job: string) =>
      tell(job, [
        ['last_run_timestamp_seconds', {}, 0],
        ['last_clean_run_timestamp_seconds', {}, 0],
      ]),
    /** The job is no more. */
    forget,
  }
}

/** Written whole or not at all: the collector may read at any instant. It reads what ends in `.prom`, which the copy in the making does not. */
export async function writeLastRun(path: string, run: LastRun): Promise<void> {
  const registry = new Registry()
  registerLastRun(registry).tell(run)
  const text = await registry.metrics()
  makeFolder(dirname(path))
  // The collector is another user, and nothing in it is secret.
  writeOwn(path, text, { mode: 0o644 })
}
