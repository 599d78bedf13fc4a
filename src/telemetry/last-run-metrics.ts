/**
 * Result of the last run of each job as gauges (docs/metrics.md): in the metrics of a schedule, and in the file of a run for node_exporter's textfile
 * collector.
 */

import { dirname } from 'node:path'
import { Gauge, Registry } from 'prom-client'
import { makeFolder, writeOwn } from '../system/own-files.ts'

/** Label values are names of jobs, and words and codes of fixed lists. */
export interface LastRun {
  readonly job: string
  /** Milliseconds since the epoch. */
  readonly endedAt: number
  /** End of the last run with exit code 0; undefined if unknown. */
  readonly cleanEndedAt: number | undefined
  readonly exit: number
  readonly durationMs: number
  /** Records of the job in doubt, of all runs: nobody knows whether the gateway has them. */
  readonly inDoubt: number
  /** Counts by state. */
  readonly exports: Readonly<Record<string, number>>
  /** Counts by outcome. */
  readonly rows: Readonly<Record<string, number>>
  /** Counts by kind and outcome. */
  readonly records: Readonly<Record<string, Readonly<Record<string, number>>>>
  readonly rejects: readonly { readonly stage: string; readonly code: string; readonly count: number }[]
  /** Differences of exports from earlier deliveries, by measure. */
  readonly drift: Readonly<Record<string, number>>
  /** Rows and records left behind: new, or already left by an earlier run. */
  readonly leftBehind: { readonly new: number; readonly known: number }
  readonly accounts: Readonly<Record<string, number>>
  /** Counts by outcome. */
  readonly careTeams: Readonly<Record<string, number>>
  /** Counts by purpose. */
  readonly requests: Readonly<Record<string, number>>
}

/** Names without `waybill_`, and the labels of each beside `job`. */
const GAUGES: Readonly<Record<string, readonly [help: string, ...labels: string[]]>> = {
  last_run_timestamp_seconds: ['End of the last run of the job.'],
  last_clean_run_timestamp_seconds: [
    'End of the last run of the job with exit code 0. 0: none known from the latest runs.',
  ],
  last_run_exit_code: ['Exit code of the last run of the job.'],
  last_run_duration_seconds: ['Working time of the last run of the job, over all resumptions.'],
  records_in_doubt: ['Records of the job in doubt, of all runs.'],
  last_run_exports: ['Exports of the last run of the job by state.', 'state'],
  last_run_rows: ['Rows read by the last run of the job, by outcome.', 'outcome'],
  last_run_records: ['Records of the last run of the job by kind and outcome.', 'kind', 'outcome'],
  last_run_rejects: [
    'Rows and records rejected by the last run of the job, by stage and code.',
    'stage',
    'code',
  ],
  last_run_drift: [
    'Differences of exports of the last run of the job from earlier deliveries, by measure.',
    'measure',
  ],
  last_run_left_behind: [
    'Rows and records left behind by the last run of the job: new, or known from an earlier run.',
    'share',
  ],
  last_run_accounts: ['Accounts of the last run of the job, by outcome.', 'outcome'],
  last_run_care_teams: [
    'Care-team entries replaced or removed by the last run of the job, work still owed, and exports that it could not judge.',
    'outcome',
  ],
  last_run_requests: ['Requests of the last run of the job by purpose.', 'request'],
}

/** A gauge, the values of its other labels, and the number. */
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
  const shown = new Map<string, readonly Sample[]>()
  const tell = (job: string, samples: readonly Sample[]): void => {
    forget(job)
    for (const [gauge, labels, value] of samples) gauges.get(gauge)?.set({ job, ...labels }, value)
    shown.set(job, samples)
  }
  const forget = (job: string): void => {
    for (const [gauge, labels] of shown.get(job) ?? []) gauges.get(gauge)?.remove({ job, ...labels })
    shown.delete(job)
  }
  return {
    /** Replaces the last run of the job. */
    tell: (run: LastRun) => tell(run.job, samplesOf(run)),
    /** Sets the times of a scheduled job without a run to 0, so that an alert on its age works. */
    never: (job: string) =>
      tell(job, [
        ['last_run_timestamp_seconds', {}, 0],
        ['last_clean_run_timestamp_seconds', {}, 0],
      ]),
    /** Removes the gauges of a removed job. */
    forget,
  }
}

/** Writes the file whole or not at all, as the collector may read at any instant: it reads `.prom` files, and the temporary name has another ending. */
export async function writeLastRun(path: string, run: LastRun): Promise<void> {
  const registry = new Registry()
  registerLastRun(registry).tell(run)
  const text = await registry.metrics()
  makeFolder(dirname(path))
  // The collector is another user; the file has no secret.
  writeOwn(path, text, { mode: 0o644 })
}
