/**
 * Result of the last run of each job as gauges (docs/metrics.md): in the metrics of a schedule, and in the file of a run for node_exporter's textfile
 * collector.
 */

import { dirname } from 'node:path'
import { Gauge, Registry } from 'prom-client'
import { makeFolder, writeOwn } from '../system/own-files.ts'

export interface LastRun {
  readonly job: string
  readonly exit: number
  readonly samples: readonly Sample[]
}

/** Number of a gauge, with the values of its labels beside `job`: words and codes of fixed lists. */
export type Sample = readonly [
  gauge: keyof typeof GAUGES,
  labels: Readonly<Record<string, string>>,
  value: number,
]

/** Names without `waybill_`, and the labels of each beside `job`. */
const GAUGES = {
  last_run_timestamp_seconds: ['End of the last run of the job.'],
  last_clean_run_timestamp_seconds: [
    'End of the last run of the job with exit code 0. 0: none known from the latest runs.',
  ],
  last_run_exit_code: ['Exit code of the last run of the job.'],
  last_run_duration_seconds: ['Working time of the last run of the job, over all resumptions.'],
  records_in_doubt: ['Records of the job in doubt, of all runs, without those that wait for one.'],
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
} as const satisfies Readonly<Record<string, readonly [help: string, ...labels: string[]]>>

export function registerLastRun(registry: Registry) {
  const gauges = new Map<string, Gauge>(
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
    tell: ({ job, samples }: LastRun) => tell(job, samples),
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
