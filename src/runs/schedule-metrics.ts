/** Counts events of the schedule and of its runs, and serves the counts (docs/metrics.md). */
import { statSync } from 'node:fs'
import type { Job } from '../definitions/definition-files.ts'
import type { FireRecord, Ledger, Tallies } from '../ledger/ledger.ts'
import type { Counts } from '../model/balance.ts'
import type { Need } from '../needs/need.ts'
import type { RunListener } from '../run/events.ts'
import { firesAfter, type Timetable } from '../schedule/fires.ts'
import type { ScheduleEvents, ScheduleParts } from '../schedule/schedule-parts.ts'
import { labelledRecords } from '../story/balance.ts'
import { freeBytes } from '../system/own-files.ts'
import type { ListenAddress } from '../system/settings.ts'
import type { LastRun } from '../telemetry/last-run-metrics.ts'
import type { Counted, Metrics } from '../telemetry/metrics.ts'
import { type Application, lastBackupAt, ledgerFile } from './application.ts'
import { type KnownLastRun, latestEnd, type Watched } from './last-run.ts'

/** @throws `settings-invalid` if the address is unavailable */
export async function openScheduleMetrics(
  { version, interrupt, logger }: Pick<Application, 'version' | 'interrupt' | 'logger'>,
  address: ListenAddress,
) {
  const { createMetrics, serveMetrics } = await import('../telemetry/metrics.ts')
  const metrics = createMetrics(version)
  const isEnding = (): boolean => interrupt.aborted
  let hindrance: () => Promise<string | undefined> = async () => 'the schedule is starting'
  const server = await serveMetrics({ ...address, metrics, version, isEnding, hindrance: () => hindrance() })
  logger.info(`metrics are served at ${server.url}/metrics`)
  return {
    metrics,
    close: server.close,
    /** @param look returns the reason why the schedule cannot work, if any; until the first look, the schedule is not ready */
    ready(look: typeof hindrance) {
      hindrance = look
    },
  }
}

/** Publishes the last run of each job whenever the jobs are listed and the ledger has changed, also by other processes. */
export function watchJobs(
  { logger }: Pick<Application, 'logger'>,
  deps: Omit<Watched, 'gatewayName'> & Pick<ScheduleParts<Job>, 'gatewayOf'>,
  metrics: Metrics,
): { listed(jobs: readonly { readonly name: string }[]): Promise<void> } {
  const known = new Map<string, KnownLastRun | undefined>()
  const look = async (job: string): Promise<void> => {
    const before = known.get(job)
    const now = await latestEnd({ ...deps, gatewayName: deps.gatewayOf(job) }, job)
    // A resumed run has not ended; the run before is not the last.
    const isNews =
      now !== undefined && now.version !== before?.version && now.endedAt >= (before?.endedAt ?? 0)
    if (isNews) metrics.lastRun(await now.read())
    else if (before === undefined) metrics.neverRan(job)
    known.set(job, isNews ? now : before)
  }
  return {
    async listed(jobs) {
      const names = new Set(jobs.map(({ name }) => name))
      for (const gone of [...known.keys()].filter((name) => !names.has(name))) {
        known.delete(gone)
        metrics.forgetLastRun(gone)
      }
      for (const job of names) {
        const isNew = !known.has(job)
        try {
          await look(job)
        } catch {
          if (!isNew) continue
          known.set(job, undefined)
          logger.warn('the metrics of the last run cannot be read from the ledger', { job })
        }
      }
    },
  }
}

/** Publishes the state of ledger and home with each listing. Never throws: an unreadable value keeps its last state. */
export async function tellInstallation(
  { settings }: Pick<Application, 'settings'>,
  ledger: Ledger,
  metrics: Metrics,
  needs: () => Promise<readonly Need[]>,
): Promise<void> {
  const { home } = settings
  try {
    metrics.installation({
      freeBytes: freeBytes(home),
      file:
        settings.ledger === undefined
          ? { bytes: statSync(ledgerFile({ settings })).size, lastBackupAt: await lastBackupAt(home) }
          : undefined,
      ...(await ledger.overview.standing()),
      needs: (await needs()).map(({ cause }) => cause),
    })
  } catch {
    // The schedule itself reports problems of home and ledger.
  }
}

/** Receivers of the last run; empty without metrics. */
export const countEnd = (metrics: Metrics | undefined): readonly ((run: LastRun) => void)[] =>
  metrics === undefined
    ? []
    : [
        metrics.lastRun,
        ({ job, exit }) => {
          metrics.count('job_exits', { job, exit: String(exit) })
          // Needed if the run ended before its last event.
          metrics.underWay(job, false)
        },
      ]

export function countSchedule(metrics: Metrics, now: () => number) {
  /** Jobs of the last listing: true if valid. */
  const valid = new Map<string, boolean>()
  const timetables = new Map<string, Timetable>()
  metrics.watchFires(function* () {
    for (const [job, timetable] of timetables) yield [job, firesAfter(timetable, now()).next().value]
  })
  const seen = (job: string, is: boolean): void => {
    valid.set(job, is)
    metrics.jobSeen(job, is)
  }
  const fired = (job: string, { state }: FireRecord): void => metrics.count('fires', { job, state })
  return {
    scheduled(job, timetable) {
      timetables.set(job, timetable)
      seen(job, true)
    },
    unscheduled(job) {
      valid.delete(job)
      timetables.delete(job)
      metrics.jobSeen(job, undefined)
    },
    broken: (job) => seen(job, false),
    trouble(job) {
      if (job === undefined) for (const name of valid.keys()) metrics.jobSeen(name, false)
    },
    recovered() {
      for (const [name, is] of valid) metrics.jobSeen(name, is)
    },
    ended: fired,
    missed: fired,
    skipped: fired,
  } satisfies Partial<ScheduleEvents>
}

/**
 * Counts the events of successive runs. A resumed run counts from the state at which this process resumes it: earlier work is not counted
 * twice.
 */
export function countRuns(metrics: Metrics, job: string) {
  let tallies: Readonly<Tallies> | undefined
  const tallied = createGrowth(metrics)
  const settled = createGrowth(metrics)
  const countTallies = (): void => {
    if (tallies !== undefined) tallied.count(tallyCounts(job, tallies))
  }
  return {
    runStarted(run) {
      tallies = run.tallies
      tallied.begin(tallies === undefined ? [] : tallyCounts(job, tallies))
      metrics.underWay(job, true)
    },
    exportStarted({ counts }) {
      settled.begin(settledCounts(job, counts))
    },
    exportAdvanced({ counts, left }) {
      settled.count(settledCounts(job, counts))
      countTallies()
      for (const { outcome, stage, code } of left())
        if (outcome === 'rejected') metrics.count('rejects', { job, stage, code })
    },
    exportDrifted({ findings }) {
      for (const { measure } of findings) metrics.count('drift', { job, measure })
    },
    exportEnded: () => metrics.count('exports', { job, state: 'finished' }),
    exportFailed: () => metrics.count('exports', { job, state: 'failed' }),
    waiting: (event) => metrics.count('gateway_waits', { class: event.class }),
    runEnded({ state, workedMs }) {
      countTallies()
      metrics.underWay(job, false)
      metrics.runEnded({ job, state, durationMs: workedMs })
    },
  } satisfies RunListener
}

function createGrowth(metrics: Metrics) {
  let before: readonly Counted[] = []
  return {
    begin(now: readonly Counted[]) {
      before = now
    },
    count(now: readonly Counted[]) {
      for (const [at, [name, labels, count = 0]] of now.entries())
        metrics.count(name, labels, count - (before[at]?.[2] ?? 0))
      before = now
    },
  }
}

function tallyCounts(job: string, { accounts, requests }: Readonly<Tallies>): Counted[] {
  const { sent, retried, readBack } = requests
  return [
    ...Object.entries(accounts).map(([outcome, count]): Counted => ['accounts', { job, outcome }, count]),
    ...Object.entries({ sent, retried, 'read-back': readBack }).map(
      ([request, count]): Counted => ['requests', { job, request }, count],
    ),
  ]
}

function settledCounts(job: string, { rows, records }: Counts): Counted[] {
  return [
    ...(['mapped', 'skipped', 'rejected'] as const).map(
      (outcome): Counted => ['rows', { job, outcome }, rows[outcome]],
    ),
    ...labelledRecords(records)
      .filter(([, outcome]) => outcome !== 'pending')
      .map(([kind, outcome, count]): Counted => ['records', { job, kind, outcome }, count]),
  ]
}
