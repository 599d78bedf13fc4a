/** Metrics of the last run of a job: computed from the ledger at the end of a run, and written to a file if the settings name one. */

import { type Ledger, noTallies, type RunRecord } from '../ledger/ledger.ts'
import { noCounts } from '../model/balance.ts'
import { EXIT, type ExitCode, endingOf, reasonOf } from '../model/errors.ts'
import type { RunDependencies } from '../run/events.ts'
import type { JobEnd } from '../run/execute.ts'
import { exitOf, type RunSummary, summarise } from '../story/facts.ts'
import { toLookAt } from '../story/next-steps.ts'
import type { LastRun } from '../telemetry/last-run-metrics.ts'
import type { Application } from './application.ts'

export type Watched = Pick<RunDependencies, 'ledger' | 'gatewayName' | 'home' | 'now'>

export interface LastRunTelling {
  readonly job: string
  /** Receivers of the metrics; without any, no metrics are computed. */
  readonly tell: readonly ((run: LastRun) => void | Promise<void>)[]
  /** True if a refused run counts as a run. */
  readonly refusals: boolean | ((error: unknown) => boolean)
}

/** Number of runs to search for the last clean run. */
const RUNS_LOOKED_AT = 50
/** Number of fires to search for the last refused one: the newest fire may be in progress, or missed. */
const FIRES_LOOKED_AT = 10

/**
 * Runs a job and reports the metrics, also after an early end. A failed report never fails the run.
 * @throws errors of `work`
 */
export async function tellingLastRun<End extends JobEnd>(
  context: Pick<Application, 'logger'>,
  deps: Watched,
  { job, tell, refusals }: LastRunTelling,
  work: () => Promise<End>,
): Promise<End> {
  const quietly = async (exit: ExitCode, summary?: RunSummary): Promise<void> => {
    // The run that holds the job reports itself.
    if (tell.length === 0 || exit === EXIT.jobHeld) return
    try {
      const run = await readLastRun(deps, job, { exit, summary, endedAt: deps.now() })
      for (const one of tell) await one(run)
    } catch (error) {
      const reason = reasonOf(error)
      context.logger.warn(`the metrics of the run cannot be published: ${reason}`, { job })
    }
  }
  try {
    const end = await work()
    await quietly(end.exit, end.summary)
    return end
  } catch (error) {
    if (typeof refusals === 'boolean' ? refusals : refusals(error)) await quietly(endingOf(error).exit)
    throw error
  }
}

/** Writer of the metrics file; empty if the settings name none. */
export function lastRunFile({
  settings: { metricsFile },
}: Pick<Application, 'settings'>): readonly ((run: LastRun) => Promise<void>)[] {
  if (metricsFile === undefined) return []
  return [
    async (run) => {
      const { writeLastRun } = await import('../telemetry/last-run-metrics.ts')
      await writeLastRun(metricsFile.replaceAll('{job}', run.job), run)
    },
  ]
}

/** End of the job's last run, according to the ledger. */
export interface KnownLastRun {
  /** Changes with every new state of the last run. */
  readonly version: string
  readonly endedAt: number
  read(): Promise<LastRun>
}

/** Undefined if no run of the job has ended. A fire stands for a run that the schedule could not start. */
export async function latestEnd(deps: Watched, job: string): Promise<KnownLastRun | undefined> {
  const { ledger, gatewayName, home } = deps
  const jobId = await ledger.jobId(job, gatewayName)
  const inDoubt = await ledger.left.heldRecords(jobId)
  const run = (await runsOf(deps, job)).find(({ ended_at }) => ended_at !== null)
  const endedAt = run?.ended_at ?? 0
  const [refused] = (await ledger.fires.latest(jobId, FIRES_LOOKED_AT)).filter(
    ({ run_id, exit, ended_at }) => run_id === null && exit !== null && (ended_at ?? 0) > endedAt,
  )
  if (refused !== undefined) {
    const end = {
      exit: refused.exit ?? EXIT.defect,
      summary: undefined,
      endedAt: refused.ended_at ?? refused.due,
    }
    const version = `${refused.due} ${inDoubt}`
    return { version, endedAt: end.endedAt, read: () => readLastRun(deps, job, end) }
  }
  if (run === undefined) return undefined
  return {
    version: `${run.id} ${endedAt} ${inDoubt}`,
    endedAt,
    async read() {
      const summary = await summarise(ledger, home, run.id)
      return readLastRun(deps, job, { summary, exit: summary.exit ?? EXIT.defect, endedAt })
    },
  }
}

async function readLastRun(
  deps: Watched,
  job: string,
  { exit, summary, endedAt }: { exit: number; summary: RunSummary | undefined; endedAt: number },
): Promise<LastRun> {
  const { ledger } = deps
  const { rows, records } = summary ?? noCounts()
  const states = (summary?.exports ?? []).map(({ state }) => state)
  const { accounts, careTeams, requests } = summary ?? noTallies()
  return {
    job,
    exit,
    endedAt,
    cleanEndedAt: exit === EXIT.ok ? endedAt : await lastCleanEnd(deps, job),
    durationMs: summary?.durationMs ?? 0,
    inDoubt: await ledger.left.heldRecords(await ledger.jobId(job, deps.gatewayName)),
    exports: Object.fromEntries(
      ['finished', 'failed', 'open'].map((state) => [state, states.filter((one) => one === state).length]),
    ),
    rows: { mapped: rows.mapped, skipped: rows.skipped, rejected: rows.rejected },
    records: Object.fromEntries(
      Object.entries(records).map(([kind, { accepted, rejected, unchanged, inDoubt, pending }]) => [
        KIND_LABELS[kind] ?? kind,
        { accepted, rejected, unchanged, 'in-doubt': inDoubt, pending },
      ]),
    ),
    rejects: summary === undefined ? [] : await rejectsOf(ledger, summary.run),
    drift: driftOf(summary),
    leftBehind: { new: summary?.leftBehind?.new ?? 0, known: summary?.leftBehind?.known ?? 0 },
    accounts: { ...accounts },
    careTeams: { ...careTeams },
    requests: { sent: requests.sent, retried: requests.retried, 'read-back': requests.readBack },
  }
}

const driftOf = (summary: RunSummary | undefined): LastRun['drift'] =>
  Object.fromEntries(
    [...Map.groupBy(toLookAt(summary?.drift ?? []), ({ measure }) => measure)].map(([measure, all]) => [
      measure,
      all.length,
    ]),
  )

/** Spelling in labels. */
export const KIND_LABELS: Readonly<Record<string, string>> = { careTeam: 'care-team' }

async function rejectsOf(ledger: Pick<Ledger, 'reasonsOf'>, run: string): Promise<LastRun['rejects']> {
  const reasons = (await ledger.reasonsOf(run)).filter(({ outcome }) => outcome === 'rejected')
  const groups = Map.groupBy(reasons, ({ stage, code }) => `${stage} ${code}`)
  return [...groups.values()].flatMap((group) => {
    const [first] = group
    if (first === undefined) return []
    const { stage, code } = first
    return [{ stage, code, count: group.reduce((sum, { count }) => sum + count, 0) }]
  })
}

async function lastCleanEnd(deps: Watched, job: string): Promise<number | undefined> {
  for (const run of await runsOf(deps, job)) {
    if (run.state !== 'finished' || run.ended_at === null) continue
    if (exitOf(await summarise(deps.ledger, deps.home, run.id)) === EXIT.ok) return run.ended_at
  }
  return undefined
}

const runsOf = async ({ ledger, gatewayName }: Watched, job: string): Promise<RunRecord[]> =>
  (await ledger.runs(RUNS_LOOKED_AT, { job })).filter(({ gateway }) => gateway === gatewayName)
