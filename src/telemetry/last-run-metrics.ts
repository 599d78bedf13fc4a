/**
 * What the last run of each job came to, as gauges (docs/metrics.md): the same in the metrics of a schedule and in the file that a run
 * leaves for node_exporter's textfile collector.
 */

import { chmod, rename, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Gauge, Registry } from 'prom-client'
import { makeFolder } from '../own-files.ts'

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

export interface LastRunMetrics {
  /** Takes the place of what was told of the job before. */
  tell(run: LastRun): void
  /** The job is on a schedule, and has not run yet: so that an alert on its age holds. */
  never(job: string): void
  /** The job is no more. */
  forget(job: string): void
}

export function registerLastRun(registry: Registry): LastRunMetrics {
  const gauge = (name: string, help: string, labels: readonly string[]): Gauge =>
    new Gauge({ name: `waybill_${name}`, help, labelNames: labels, registers: [registry] })
  const endedAt = gauge('last_run_timestamp_seconds', 'When the last run of the job ended.', ['job'])
  const cleanAt = gauge(
    'last_clean_run_timestamp_seconds',
    'When a run of the job last ended with exit code 0. 0: never, as far as the latest runs tell.',
    ['job'],
  )
  const exit = gauge('last_run_exit_code', 'Exit code of the last run of the job.', ['job'])
  const duration = gauge(
    'last_run_duration_seconds',
    'How long the last run of the job was at work, over all resumptions.',
    ['job'],
  )
  const inDoubt = gauge('records_in_doubt', 'Records of the job that are held in doubt, of all runs.', [
    'job',
  ])
  const exports = gauge('last_run_exports', 'Exports of the last run of the job by state.', ['job', 'state'])
  const rows = gauge('last_run_rows', 'Rows that the last run of the job has read, by outcome.', [
    'job',
    'outcome',
  ])
  const records = gauge('last_run_records', 'Records of the last run of the job by kind and outcome.', [
    'job',
    'kind',
    'outcome',
  ])
  const rejects = gauge(
    'last_run_rejects',
    'Rows and records that the last run of the job has rejected, by stage and code.',
    ['job', 'stage', 'code'],
  )
  const drift = gauge(
    'last_run_drift',
    'In how many respects exports of the last run of the job differ from earlier deliveries, by measure.',
    ['job', 'measure'],
  )
  const leftBehind = gauge(
    'last_run_left_behind',
    'Rows and records that the last run of the job has left behind: new, or known of an earlier run.',
    ['job', 'share'],
  )
  const accounts = gauge('last_run_accounts', 'Accounts that the last run of the job has met, by outcome.', [
    'job',
    'outcome',
  ])
  const careTeams = gauge(
    'last_run_care_teams',
    'Care-team entries that the last run of the job has replaced or removed, what it has left owed, and exports that it could not judge.',
    ['job', 'outcome'],
  )
  const requests = gauge('last_run_requests', 'Requests of the last run of the job by what they were.', [
    'job',
    'request',
  ])
  const told = new Map<string, LastRun>()

  const samplesOf = (run: LastRun): Sample[] => {
    const { job } = run
    const byLabel = (of: Gauge, label: string, counts: Readonly<Record<string, number>>): Sample[] =>
      Object.entries(counts).map(([value, count]) => [of, { job, [label]: value }, count])
    return [
      [endedAt, { job }, run.endedAt / 1000],
      [cleanAt, { job }, (run.cleanEndedAt ?? 0) / 1000],
      [exit, { job }, run.exit],
      [duration, { job }, run.durationMs / 1000],
      [inDoubt, { job }, run.inDoubt],
      ...byLabel(exports, 'state', run.exports),
      ...byLabel(rows, 'outcome', run.rows),
      ...Object.entries(run.records).flatMap(([kind, outcomes]) =>
        Object.entries(outcomes).map(([outcome, count]): Sample => [records, { job, kind, outcome }, count]),
      ),
      ...run.rejects.map(({ stage, code, count }): Sample => [rejects, { job, stage, code }, count]),
      ...byLabel(drift, 'measure', run.drift),
      ...byLabel(leftBehind, 'share', run.leftBehind),
      ...byLabel(accounts, 'outcome', run.accounts),
      ...byLabel(careTeams, 'outcome', run.careTeams),
      ...byLabel(requests, 'request', run.requests),
    ]
  }
  const forget = (job: string): void => {
    for (const gauge of [endedAt, cleanAt]) gauge.remove({ job })
    const last = told.get(job)
    if (last === undefined) return
    for (const [of, labels] of samplesOf(last)) of.remove(labels)
    told.delete(job)
  }
  return {
    tell(run) {
      forget(run.job)
      for (const [of, labels, value] of samplesOf(run)) of.set(labels, value)
      told.set(run.job, run)
    },
    never(job) {
      for (const gauge of [endedAt, cleanAt]) gauge.set({ job }, 0)
    },
    forget,
  }
}

type Sample = readonly [gauge: Gauge, labels: Readonly<Record<string, string>>, value: number]

/** Written whole or not at all: the collector may read at any instant. It reads what ends in `.prom`, which the copy in the making does not. */
export async function writeLastRun(path: string, run: LastRun): Promise<void> {
  const registry = new Registry()
  registerLastRun(registry).tell(run)
  const text = await registry.metrics()
  const making = `${path}.${process.pid}.tmp`
  makeFolder(dirname(path))
  try {
    await writeFile(making, text)
    // The collector is another user, and nothing in it is secret.
    await chmod(making, 0o644)
    await rename(making, path)
  } finally {
    await rm(making, { force: true })
  }
}
