/** Metrics of the last run of a job, from its story (docs/metrics.md). Pure. */
import { noTallies } from '../ledger/ledger.ts'
import { noCounts } from '../model/balance.ts'
import type { LastRun, Sample } from '../telemetry/last-run-metrics.ts'
import { toLookAt } from '../watch/drift-watch.ts'
import { labelledRecords } from './balance.ts'
import { driftByMeasure, groupReasons } from './reasons.ts'
import type { RunStory } from './run-story.ts'

/** End of a run, and what else is known of its job. */
export interface LastEnd {
  readonly job: string
  readonly exit: number
  readonly endedAt: number
  /** Undefined for a run that was refused. */
  readonly story: RunStory | undefined
  /** End of the last run with exit code 0; undefined if unknown. */
  readonly cleanEndedAt: number | undefined
  /** Records of the job in doubt, of all runs: nobody knows whether the gateway has them. */
  readonly inDoubt: number
}

export function lastRunOf({ job, exit, endedAt, story, cleanEndedAt = 0, inDoubt }: LastEnd): LastRun {
  const { summary, reasons = [] } = story ?? {}
  const { rows, records } = summary ?? noCounts()
  const { accounts, careTeams, requests } = summary ?? noTallies()
  const { new: added = 0, known = 0 } = summary?.leftBehind ?? {}
  const by = (gauge: Sample[0], label: string, counts: Readonly<Record<string, number>>): Sample[] =>
    Object.entries(counts).map(([value, count]) => [gauge, { [label]: value }, count])
  const exportsIn = (state: string): number =>
    (summary?.exports ?? []).filter((one) => one.state === state).length
  const samples: Sample[] = [
    ['last_run_timestamp_seconds', {}, endedAt / 1000],
    ['last_clean_run_timestamp_seconds', {}, cleanEndedAt / 1000],
    ['last_run_exit_code', {}, exit],
    ['last_run_duration_seconds', {}, (summary?.durationMs ?? 0) / 1000],
    ['records_in_doubt', {}, inDoubt],
    ...(['finished', 'failed', 'open'] as const).map(
      (state): Sample => ['last_run_exports', { state }, exportsIn(state)],
    ),
    ...by('last_run_rows', 'outcome', {
      mapped: rows.mapped,
      skipped: rows.skipped,
      rejected: rows.rejected,
    }),
    ...labelledRecords(records).map(
      ([kind, outcome, count]): Sample => ['last_run_records', { kind, outcome }, count],
    ),
    ...groupReasons(
      reasons.filter(({ outcome }) => outcome === 'rejected'),
      ['stage', 'code'],
    ).map(
      ({ first: { stage, code }, sum: { count } }): Sample => ['last_run_rejects', { stage, code }, count],
    ),
    ...by('last_run_drift', 'measure', Object.fromEntries(driftByMeasure(toLookAt(summary?.drift ?? [])))),
    ...by('last_run_left_behind', 'share', { new: added, known }),
    ...by('last_run_accounts', 'outcome', accounts),
    ...by('last_run_care_teams', 'outcome', careTeams),
    ...by('last_run_requests', 'request', {
      sent: requests.sent,
      retried: requests.retried,
      'read-back': requests.readBack,
    }),
  ]
  return { job, exit, samples }
}
